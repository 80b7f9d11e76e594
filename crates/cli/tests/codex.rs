//! The rails inside the real Codex, against a scripted model.

mod drive;
mod project;
mod typed;
mod walls;
