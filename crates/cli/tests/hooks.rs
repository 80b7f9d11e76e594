//! `warp hook EVENT` as a client calls it: JSON on standard input, an exit code and text back.

mod away;
mod chat;
mod client;
mod gate;
mod lifetime;
mod protected;
mod samples;
mod support;
mod watch;
