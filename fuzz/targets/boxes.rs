//! The acceptance criteria and dependencies in an issue's text.
#![no_main]

use engine::{criterion, open_boxes, read_boxes, read_dependencies, with_ticks};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let boxes = read_boxes(text);
    assert!(boxes.items.len() <= text.lines().count().min(500));
    assert!(boxes.checked() <= boxes.items.len());
    for (_, text) in &boxes.items {
        assert!(text.chars().count() <= 300);
    }
    let all: Vec<String> = (0..boxes.items.len()).map(criterion).collect();
    let ticked = with_ticks(text, &open_boxes(text, &all));
    assert_eq!(read_boxes(&ticked).checked(), boxes.items.len());
    assert!(!read_dependencies(text, 42).contains(&42));
});
