//! A state file of the original tools. One that is adopted begins a run like any other.
#![no_main]

use engine::{Settings, view};
use fuzz::{Walk, beginning, wander};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (workflow, adopted) = match view::adopt(text, beginning(Settings::default())) {
        Ok(adopted) => adopted,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert!(!workflow.gives_leave(&adopted.step.run.phase), "adopted into a phase that gives leave");
    assert!(adopted.step.run.receipts.is_empty(), "receipts were carried over");
    // What is shown of the run can be adopted in its turn.
    let shown = view::state_file(&workflow, &adopted.step.run).expect("the run is open");
    view::adopt(&shown.text, beginning(Settings::default())).expect("a state file of our own");
    let mut walk = Walk::from_step(workflow, adopted.step);
    wander(&mut walk, text.as_bytes());
    walk.finish();
});
