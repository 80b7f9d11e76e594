//! The acceptance criteria in an issue's text.
#![no_main]

use engine::read_boxes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let boxes = read_boxes(text);
    assert!(boxes.items.len() <= text.lines().count().min(500));
    assert!(boxes.checked() <= boxes.items.len());
    for (_, criterion) in &boxes.items {
        assert!(criterion.chars().count() <= 300 && text.contains(criterion.as_str()));
    }
});
