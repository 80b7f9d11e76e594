//! The doubles of forges: that they behave as real ones do, and that strangers' clients can live with them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod contract;
mod forgejo;
mod github;
mod strangers;
mod support;
mod woodpecker;
