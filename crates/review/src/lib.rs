//! Reviews of pull requests: what is put to a reviewer, what its answer means, and how it is read back from the forge.
//!
//! A change is split into [`Part`]s of a bounded size ([`diff`]), so that every line is read. The answers to all parts
//! become one [`Judgement`] ([`rules`]), which is posted as a comment ([`comment`]). That comment also carries the
//! [`Ledger`] for the next round: nothing else is stored.
//!
//! Invariants:
//! - A finding of severity `bug` that is open forbids approval.
//! - From the second round on, a finding outside of what has changed since is a follow-up and no reason to refuse.
//! - Only comments of the reviewer's own account count as reviews, and only if they begin with the watermark.

pub mod answer;
pub mod comment;
pub mod diff;
mod finding;
pub mod follow_up;
pub mod rules;

pub use answer::{Answer, Earlier};
pub use comment::{History, Ledger, PastReview, Posted};
pub use diff::{FileDiff, Lines, Part};
pub use finding::{Finding, FollowUp, Known, Place, Severity, Status, Verdict};
pub use rules::{Judgement, judge};
