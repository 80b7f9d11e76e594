//! `warp run` as people start it: the real program, a scripted agent in a process of its own, walls where there are any.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod away;
mod background;
mod baseline;
mod bounds;
mod budgets;
mod copied;
mod criteria;
mod deferred;
mod escapes;
mod faults;
mod guard;
mod header;
mod judged;
mod killed;
mod named_tests;
mod not_run;
mod prepared;
mod proof;
mod pushing;
mod questions;
mod remote;
mod rework;
mod running;
mod second_look;
mod secrets;
mod seen;
mod session;
mod spend;
mod steering;
mod stopped;
mod support;
mod together;
mod unpermitted;
mod unreachable;
mod view;
