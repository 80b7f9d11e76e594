//! `warp run --workflow autonomous-loop FEATURE`: the whole loop without a person, and what it does not let pass.

mod bounds;
mod claude;
mod copied;
mod held;
mod person;
mod sharing;
mod support;
mod whole;
