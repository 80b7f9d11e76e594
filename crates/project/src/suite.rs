//! The project's own tests: which command runs them, and what came of it.

mod running;

pub(crate) use running::{cannot_run, command, found_test_command, run};
pub use running::{test_command, test_project};
