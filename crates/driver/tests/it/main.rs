//! Whole runs that are driven in this process, whatever store and forge are behind their ports.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]
#![expect(clippy::print_stdout, reason = "what was measured is printed")]

mod checks;
mod crash;
mod going_on;
mod limits;
mod loop_crash;
mod together;
mod world;
mod zombie;
