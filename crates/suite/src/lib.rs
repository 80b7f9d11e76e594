//! The project's own tests: which command runs them, what they need, and what came of it.
//!
//! Commands are found by the merge target's files (`find`) and pinned when a run begins. In a slot, what the tests need is
//! installed first (`prepare`); before an agent changes anything they run on the base (`baseline`), and once it is checked
//! that they fail when the source is broken (`proof`). What no change of the code can fix is told apart (`fault`).

pub mod acceptance;
mod baseline;
mod breaking;
mod cache;
mod command;
mod failure;
mod fault;
mod find;
mod fingerprint;
mod judge;
mod leads_back;
mod modes;
mod plan;
mod prepare;
mod proof;
mod report;
mod running;
mod vanished;

pub use baseline::{
    BaselineQuestion, BaselineReport, BaselineResult, KEY, check, environment_question, take,
};
pub use command::{SuggestedCommands, command, found, prepares, test_command};
pub use leads_back::refuse as refuse_what_leads_back;
pub use plan::{Plan, patience};
pub use prepare::{Prepared, is_prepared, use_prepared};
pub use proof::clear_leftovers;
pub use report::{Counts, ReportFile, TestReport, read_reports, report_environment};
pub use running::{cannot_begin, log, remember, run, test_project};

/// Why nothing can be said about a project's tests, in words for whoever wants to run them.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SuiteError(pub String);
