//! The dev environment: the commands of a person, and a demo web project that goes through whole runs.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod commands;
mod demo;
mod ends;
mod running;
mod support;

// SQLite, as it is built here, calls a function that the journal brings along.
use journal as _;
