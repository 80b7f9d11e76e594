//! `warp hook EVENT` as a client calls it: JSON on standard input, an exit code and text back.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod away;
mod chat;
mod client;
mod gate;
mod lifetime;
mod protected;
mod samples;
mod support;
mod watch;
