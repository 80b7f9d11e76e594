//! The rails inside the real Codex, against a scripted model.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod drive;
mod project;
mod typed;
mod walls;
