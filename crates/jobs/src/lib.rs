//! What programs do in phases, better than a model would: a file for each job.
//!
//! [`Context::advance`] does the work of one phase that is the engine's own: it looks, acts, and reports the event. A phase
//! that is an agent's or a person's is described instead ([`Context::next`]). Issues, reports and pull requests are the
//! project's own ([`forge`]). In a workspace of the run's own ([`project::slots`]) warp also makes the branch, and brings the
//! work to the person's repository.
//!
//! Every act is looked for in the world before it is done, so that a phase whose work was cut short can be done again.

mod advance;
mod await_checks;
mod await_review;
mod base;
mod baseline;
mod begin;
mod claim;
mod commit;
mod context;
mod dev;
mod drift;
mod earlier;
mod error;
mod git_hooks;
mod hand_in;
mod held;
mod issue;
mod land;
mod leaving;
mod publish;
mod pulls;
mod pushing;
mod report;
mod revert;
mod review;
mod rework;
mod select;
mod ship;
mod verify;
mod words;

pub use advance::{Done, Wanted, escalation};
pub use baseline::Ready;
pub use context::{Context, on};
pub use dev::ABOUT_DEV;
pub use error::JobError;
pub use hand_in::HandedIn;
pub use land::{Landed, Mend};
pub use leaving::Left;
pub use publish::Published;
pub use pulls::{MergeError, MergedPull, UpdatedPull};
pub use revert::{RevertError, Reverted, ToUndo};
