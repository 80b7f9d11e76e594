//! A workflow's TOML. One that is accepted can be shown and run.
#![no_main]

use engine::{Settings, Workflow, workflow::Proof};
use fuzz::{Walk, wander};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let workflow = match Workflow::parse(text) {
        Ok(workflow) => workflow,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    workflow.table();
    workflow.graph();
    serde_json::to_string(&workflow.shown()).expect("a workflow can be written as JSON");
    let _ = Proof::of(&workflow).to_string();
    let mut walk = Walk::begin(workflow, Settings::default());
    wander(&mut walk, text.as_bytes());
    walk.finish();
});
