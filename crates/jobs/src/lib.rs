//! What programs do in phases, better than a model would: a file for each job.
//!
//! [`Context::advance`] does the work of one phase that is the engine's own and reports what it came to. A phase that is an
//! agent's or a person's is described instead ([`Context::next`]). Issues, reports and pull requests are the
//! project's own ([`forge`]). In a workspace of the run's own ([`project::slots`]) warp also makes the branch, and brings the
//! work to the person's repository.
//!
//! A job has a typed outcome and two functions: `settle` looks in the world whether an attempt that was killed has done it to its
//! end, and `carry_out` does it otherwise. Where nothing outside tells, the job comes to the same when it is done again.

mod advance;
mod await_checks;
mod await_dependencies;
mod await_review;
mod base;
mod baseline;
mod begin;
mod check_docs;
mod check_prerequisites;
mod claim;
mod clean_up;
mod commit;
mod commit_and_merge;
mod context;
mod define_chunks;
mod dev;
mod error;
mod file_report;
mod git_hooks;
mod hand_in;
mod held;
mod issue;
mod job;
mod land;
mod leaving;
mod merge;
mod merge_at_server;
mod open_pull_request;
mod publish;
mod pulls;
mod pushing;
mod report;
mod revert;
mod review;
mod rework;
mod run_final_tests;
mod run_tests;
mod select_work;
mod summarise;
mod take_chunk;
mod tick_criteria;
mod words;

pub use advance::{Done, Stepped, Wanted, escalation};
pub use baseline::Ready;
pub use context::{Context, on};
pub use dev::ABOUT_DEV;
pub use error::JobError;
pub use hand_in::HandedIn;
pub use job::Outcome;
pub use land::{Landed, Mend};
pub use leaving::Left;
pub use merge_at_server::NotGreen;
pub use publish::Published;
pub use pulls::{MergeError, MergedPull, UpdatedPull};
pub use revert::{RevertError, Reverted, ToUndo};
