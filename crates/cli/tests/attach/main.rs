//! `warp run --attach`: an agent in a real tmux, which is a shell script here, and the phases that it writes.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod claude;
mod faults;
mod life;
mod secrets;
mod spend;
mod support;
