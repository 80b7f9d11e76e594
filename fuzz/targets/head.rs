//! The head file. One that is read is written and read again as the same.
#![no_main]

use engine::view::{Head, OPERATIONS};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Some(head) = Head::parse(text) else { return };
    assert_eq!(Head::parse(&head.render()).as_ref(), Some(&head));
    for operation in OPERATIONS {
        head.permission(operation);
    }
});
