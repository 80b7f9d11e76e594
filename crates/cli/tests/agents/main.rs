//! Agents from end to end: behind walls, with hooks by socket, in a project whose run stands in `coding`.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod acp;
mod claude;
mod codex;
mod command;
mod faults;
mod hermetic;
mod logins;
mod opencode;
mod script;
