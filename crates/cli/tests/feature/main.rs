//! `warp run --workflow autonomous-loop FEATURE`: the whole loop without a person, and what it does not let pass.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod bounds;
mod claude;
mod copied;
mod held;
mod person;
mod sharing;
mod support;
mod whole;
