//! The project's own tests: which command runs them, what they need, and what came of it.
//!
//! Commands are found by the merge target's files (`find`) and pinned when a run begins. In a slot, what the tests need is
//! installed first (`prepare`); before an agent changes anything they run on the base (`ready`), and once it is checked
//! that they fail when the source is broken (`proof`). What no change of the code can fix is told apart (`fault`).

mod breaking;
mod cache;
mod command;
mod fault;
mod find;
mod fingerprint;
mod judge;
mod leads_back;
mod modes;
mod plan;
mod prepare;
mod proof;
mod ready;
mod report;
mod running;
mod vanished;

pub use command::test_command;
pub(crate) use command::{Found, command, found, prepares};
pub use plan::Plan;
pub(crate) use prepare::{Prepared, is_prepared};
pub(crate) use proof::clear_leftovers;
pub use ready::{Checked, Ready, check, environment_question};
pub use report::{Counts, ReportFile, TestReport, read_reports, report_environment};
pub use running::test_project;
pub(crate) use running::{cannot_begin, remember, run};

use crate::Shell;
