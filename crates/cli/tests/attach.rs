//! `warp run --attach`: an agent in a real tmux, which is a shell script here, and the phases that it writes.

mod claude;
mod faults;
mod life;
mod secrets;
mod spend;
mod support;
