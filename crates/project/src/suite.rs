//! The project's own tests: which command runs them, and what came of it.

mod leads_back;
mod report;
mod running;

pub use report::{Counts, ReportFile, TestReport, read_reports, report_environment};
pub(crate) use running::{cannot_run, command, found_test_command, run};
pub use running::{test_command, test_project};
