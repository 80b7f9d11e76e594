//! The journal's records, one JSON object a line, folded into a run that can be shown and goes on.
#![no_main]

use engine::{Fold, PhaseName, Record, Workflow};
use fuzz::{Walk, show, wander};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut fold = Fold::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(record) = serde_json::from_slice::<Record>(line) else { continue };
        let json = serde_json::to_vec(&record).expect("a record can be written");
        serde_json::from_slice::<Record>(&json).expect("a record that was written can be read");
        if let Err(error) = fold.add(&record) {
            assert!(!error.to_string().is_empty());
            break;
        }
    }
    let Some((run, text)) = fold.finish() else { return };
    let Ok(workflow) = Workflow::parse(&text) else { return };
    show(&workflow, &run, run.updated_at);
    // A phase that the workflow does not have can only come from a record that nobody made.
    let is_known = |phase: &PhaseName| workflow.phase(phase).is_some();
    if is_known(&run.phase) && run.origin.as_ref().is_none_or(is_known) {
        let mut walk = Walk::resume(workflow, run);
        wander(&mut walk, bytes);
        walk.finish();
    }
});
