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

mod baseline;
mod change;
mod digest;
mod effect;
mod event;
mod facts;
mod gate;
mod held;
mod issue;
pub mod ledger;
mod name;
mod objection;
mod run;
mod settings;
mod shown;
mod signature;
mod step;
mod test_name;
mod time;
pub mod turn;
pub mod view;
mod wait;
pub mod workflow;

pub use baseline::{Baseline, BaselineState, Proof};
pub use change::{Change, Fold, FoldError, Record};
pub use digest::digest;
pub use effect::{Act, Effect};
pub use event::{
    Actor, Ask, Boxes, Breach, Claim, ClaimSeen, CommandResult, CommitSeen, Diff, Event, FileSeen, Line,
    Observations, Probe, Seen, TestsSeen, TestsVerdict,
};
pub use facts::{
    ANSWERED, AccessFacts, AwaitedChecks, CheckResult, ChunkFacts, Entry, Facts, FailureText, Inquiry,
    IssueFacts, Note, NoteKind, PullFacts, Review, Setbacks,
};
pub use gate::Verdict;
pub use held::{COMMIT_GUARD, Held, HeldKind};
pub use issue::{
    criterion, find_cycle, open_boxes, read_boxes, read_dependencies, split_title, visible_text, with_names,
    with_ticks, without_ticks,
};
pub use name::{EventName, PhaseName, RunId};
pub use objection::{ACCEPT, Objection, RefusedEvent};
pub use run::{
    AgentTurn, Artifacts, Branches, Checkpoint, ChunkPlan, ChunkUsage, CompletedChunk, Conversation,
    Decision, DeferredChunk, DevKind, DevSeen, DoomLoop, Failure, Finding, HistoryRow, LoopError, Metrics,
    NamedTest, OfferedTests, Owner, Receipt, Run, Severity, Standing, Trip, Usage, Worker,
};
pub use settings::{
    BadSetting, Key, Kind, Limited, List, Role, Rule, SetBy, Setting, SettingType, Settings, Table, Text,
    Tighter, Word, keys,
};
pub use shown::{is_deceptive, one_line, shown};
pub use signature::failure_signature;
pub use step::{
    Advice, Beginning, CRITERIA, FrozenTests, MOST_CRITERIA, Outcome, PROVIDER, Refused, Step,
    VERIFICATION_GATES, begin, doom_loop, is_document, needs, note_of, step,
};
pub use test_name::names_test;
pub use time::{BadTime, Time, TimeFormat};
pub use wait::{Capped, Wait, WaitKind};
pub use workflow::{Workflow, WorkflowError};
