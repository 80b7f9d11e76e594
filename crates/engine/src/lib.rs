//! The pure core of Warp Drive: workflows as checked data, runs, and what happens to them.
//!
//! [`needs`] names the probes that a decision wants, the caller gathers them, [`step()`] decides. What it
//! decides is a list of [`Change`]s; a run is nothing but those changes folded, so replaying a journal
//! applies decisions and never makes them again.
//!
//! Invariants:
//! - Nothing in this crate reads a clock, a file, the network, the environment or a random number.
//! - The same asks give the same records. An ask that does not fit is refused, never skipped in silence.
//! - A run's size does not grow with its history: every list in it has a bound.

mod change;
mod digest;
mod event;
mod gate;
mod issue;
mod name;
mod run;
mod settings;
mod signature;
mod step;
mod time;
pub mod turn;
pub mod view;
pub mod workflow;

pub use change::{Change, Fold, FoldError, Record};
pub use digest::digest;
pub use event::{
    Actor, Ask, Boxes, Claim, ClaimSeen, CommandResult, CommitSeen, Diff, Event, FileSeen, Line,
    Observations, Probe, Seen,
};
pub use gate::Verdict;
pub use issue::read_boxes;
pub use name::{EventName, PhaseName, RunId};
pub use run::{
    Artifacts, Branches, Checkpoint, ChunkPlan, CompletedChunk, Decision, DoomLoop, Effect, Failure,
    HistoryRow, LoopError, Metrics, Owner, Receipt, Run, Standing, Trip,
};
pub use settings::{BadSetting, Kind, Setting, Settings};
pub use signature::failure_signature;
pub use step::{Advice, Beginning, Outcome, Refused, Step, begin, doom_loop, needs, step};
pub use time::{BadTime, Time};
pub use workflow::{Workflow, WorkflowError};
