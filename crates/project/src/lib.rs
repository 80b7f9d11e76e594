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
mod baseline;
mod claim;
pub mod config;
pub mod criteria;
mod decide;
mod leftover;
mod named;
mod next;
pub mod outlook;
mod ports;
mod probe;
pub mod prompts;
mod pulls;
pub mod pushing;
mod queue;
pub mod rails;
mod reply;
pub mod setup;
pub mod slots;
pub mod spend;
pub mod tools;
mod workspace;

pub use ::workspace::{
    Dirs, Place, PlaceError, Quick, Shell, counted, quick_gate, quick_head, quick_roots, spelled,
};
use ::workspace::{atomic, text};
use adapters::hold;

pub use account::{Account, Stint, StintOutcome};
pub use actor::{actor, is_forged, looks_like_an_agent};
pub use baseline::Ready;
pub use claim::ClaimError;
pub use decide::{DecideError, Decided, Given, Overdue};
pub use leftover::{Left, Leftover};
pub use next::{ABOUT_DEV, Done, HandedIn, Landed, Mend, NextError, Published, Rework, Wanted, escalation};
pub use ports::{person_in, read_markdown};
pub use pulls::{MergeError, MergedPull, UpdatedPull};
pub use queue::{Interrupted, Queued, Taken, When, why_nothing};
pub use reply::{OTHER, read_reply};
pub use workspace::{
    Answer, AskError, BeginError, Current, DEFAULT_WORKFLOW, Edits, Error, Followed, Follower, Request,
    Reset, Workspace, count_edit, find_workflow, workflow_files,
};
