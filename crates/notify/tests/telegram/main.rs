//! Away mode through Telegram, against a double of it: what is sent, what is heard, and that nothing is lost.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod answers;
mod crashes;
mod faults;
mod support;
