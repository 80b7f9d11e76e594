//! The rails inside the real Claude Code, against a scripted model: whole runs, from the first phase to the last.

mod away;
mod coder;
mod drive;
mod project;
mod run;
mod script;
mod secrets;
mod ship;
mod turns;
mod typed;
