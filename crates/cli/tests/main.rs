//! The real binary, end to end: one program of tests, a module for each suite.
//!
//! `cargo xtask test` runs each suite as a process of its own. One of them alone: `cargo test -p cli run::`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod agents;
mod attach;
mod bad_input;
mod bypass;
mod claude;
mod clients;
mod codex;
mod commands;
mod corpus;
mod crash;
mod dev;
mod docs;
mod feature;
mod forges;
mod git_rails;
mod guide;
mod hooks;
mod mcp;
mod next;
mod plugin;
#[path = "../../engine/tests/support/renamed.rs"]
mod renamed;
mod review;
mod run;
mod settings;
mod support;
