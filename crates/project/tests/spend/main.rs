//! The ledger in the user's store.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod booking;
mod broken;
mod many;
mod pools;
mod reserving;
mod session;
mod support;
mod through;
mod transcripts;
