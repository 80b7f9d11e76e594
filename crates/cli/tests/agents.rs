//! Agents from end to end: behind walls, with hooks by socket, in a project whose run stands in `coding`.

mod acp;
mod claude;
mod codex;
mod command;
mod faults;
mod hermetic;
mod logins;
mod opencode;
mod script;
