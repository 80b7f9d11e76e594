//! The outside world: processes, git, the machine.
//!
//! Only this crate starts a process or asks the machine for anything, so nothing else needs either to be
//! tested. Every child has a process group of its own, a deadline, bounded output and a recorded end.

pub mod agent;
pub mod boundary;
pub mod clock;
pub mod copying;
pub mod git;
pub mod history;
pub mod hold;
pub mod http;
pub mod loopback;
pub mod machine;
pub mod plain;
pub mod process;
pub mod refs;
pub mod sandbox;
pub mod scratch;
pub mod secrets;
pub mod service;
pub mod tmux;
pub mod watch;
