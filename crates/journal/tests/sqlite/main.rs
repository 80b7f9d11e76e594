//! What the store in a file promises beyond the contract: it survives what happens to files and processes.

#![expect(clippy::unwrap_used, reason = "a test has no better way to fail")]

mod damage;
mod kill;
mod open;
mod race;
mod repair;
mod support;
mod tamper;
mod watch;
