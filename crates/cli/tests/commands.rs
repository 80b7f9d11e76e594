//! The real binary in a hermetic home: what a person types, sees and gets as an exit code.

mod adopting;
mod agents;
mod config;
mod costing;
mod deceiving;
mod demo;
mod doctor;
mod driving;
mod explaining;
mod head;
mod init;
mod issue;
mod looking;
mod overview;
mod rdb;
mod reporting;
mod slots;
mod state;
mod stopping;
mod views;
mod workflow;

use testkit::Sandbox;

use crate::support::InProject as _;

/// A project with the program under test.
fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_warp"))
}

/// A project with a run that stands in `coding`, with two chunks.
fn coding() -> Sandbox {
    let sandbox = sandbox();
    sandbox.warp_ok(&["state", "init", ".", "--level", "2", "--issue", "42"]);
    sandbox.to_coding(r#"[["AC-01","AC-02"],["AC-03"]]"#);
    sandbox
}

/// Reads what a command printed as JSON.
fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
