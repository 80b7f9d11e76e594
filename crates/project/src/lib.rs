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

mod actor;
mod atomic;
pub mod config;
mod hold;
mod next;
mod place;
mod probe;
pub mod prompts;
mod quick;
pub mod rails;
pub mod setup;
mod spell;
mod text;
mod workspace;

pub use actor::{actor, is_forged, looks_like_an_agent};
pub use next::{Done, NextError, Wanted};
pub use place::{Dirs, Place, PlaceError};
pub use quick::{Quick, quick_gate, quick_head, quick_roots};
pub use spell::spelled;
pub use workspace::{
    Answer, AskError, BeginError, Current, Edits, Error, Request, Reset, Workspace, count_edit,
    find_workflow, workflow_files,
};
