//! A project on disk: its settings, its store, and the one path by which an event is decided, recorded and
//! shown.
//!
//! Every front end takes that path ([`Workspace::ask`]): event, needs, probes, step, journal, views. With no
//! resident process there is nothing else: any number of short-lived processes may take it at once.
//!
//! Invariants:
//! - What is acknowledged is on disk in the journal; heads and state files can be deleted and come back.
//! - A head that exists is not older than the journal: it is removed before an event is recorded and written
//!   after.
//! - A file that a person or a tool may have written is never deleted, only set aside.

mod account;
mod actor;
pub mod admission;
pub mod base;
pub mod brief;
mod claim;
pub mod config;
pub mod criteria;
mod decide;
mod dev_env;
mod dirs;
mod earlier;
pub mod hosting;
mod late;
mod leftover;
mod named;
pub mod outlook;
mod ports;
mod probe;
pub mod prompts;
pub mod pull_work;
pub mod pushing;
mod queue;
pub mod rails;
mod reply;
pub mod report;
mod rework;
pub mod setup;
pub mod slots;
pub mod spend;
pub mod tools;
mod workspace;

pub use ::workspace::{
    HeadLookup, Place, PlaceError, Shell, counted, quick_gate, quick_head, quick_roots, spelled,
};
use ::workspace::{atomic, text};
use adapters::hold;

pub use account::{Account, Stint, StintOutcome, merge_key};
pub use actor::{actor, is_forged, looks_like_an_agent};
pub use claim::ClaimError;
pub use decide::{DecideError, Overdue};
pub use dirs::{Dirs, Hosts, Recorded};
pub use late::{LateAnswer, LateError, LateQuestion};
pub use leftover::{Left, Leftover, unfinished_subject};
pub use ports::{gh, person_in, read_markdown};
pub use queue::{Interrupted, Queued, Taken, When, why_nothing};
pub use reply::{OTHER, read_reply};
pub use rework::{ROUND, Rework};
pub use runs::{Answer, Current, Decided, Followed, Follower, Given, HOLDS};
pub use workspace::{
    AskError, BeginError, DEFAULT_WORKFLOW, Edits, Error, Request, Reset, Workspace, count_edit,
    find_workflow, workflow_files,
};
