//! The acceptance criteria and dependencies in an issue's text.
#![no_main]

use engine::{OPEN_BOX, criterion, open_boxes, read_boxes, read_dependencies};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let boxes = read_boxes(text);
    assert!(boxes.items.len() <= text.lines().count().min(500));
    assert!(boxes.checked() <= boxes.items.len());
    for (_, text) in &boxes.items {
        assert!(text.chars().count() <= 300);
    }
    let all: Vec<String> = (0..boxes.items.len()).map(criterion).collect();
    for at in open_boxes(text, &all) {
        assert_eq!(text.get(at..at + OPEN_BOX.len()), Some(OPEN_BOX));
    }
    assert!(!read_dependencies(text, 42).contains(&42));
});
