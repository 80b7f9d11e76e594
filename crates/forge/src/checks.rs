//! What tests a commit: a server's pipelines, or the project's own command.

mod classify;
mod judge;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{ForgeError, Refusal};

pub(crate) use classify::exit_code;
pub use classify::{Cause, classify};
pub use judge::Contexts;
pub(crate) use judge::{Check, CheckState, Configured, judge};

/// The checks of commits.
pub trait Checks: fmt::Debug {
    /// Returns how the checks of a commit stand. That there are none is no success: the project says so itself.
    fn state(&self, commit: &str) -> Result<ChecksState, ForgeError>;

    /// Returns the last of what a step printed. A log that is not there yet is [`ForgeError::Later`].
    fn log(&self, step: &StepId) -> Result<String, ForgeError>;

    /// Starts the checks of a commit, again if they have run.
    fn restart(&self, commit: &str) -> Result<(), ForgeError>;
}

/// Checks that any thread may ask.
pub type SharedChecks = Arc<dyn Checks + Send + Sync>;

/// The longest log that is returned, in bytes of its end.
const LONGEST_LOG: usize = 64 * 1024;

/// Returns the end of a log.
pub(crate) fn end_of(log: &str) -> String {
    let from = log.len().saturating_sub(LONGEST_LOG);
    let from = (from..=log.len()).find(|at| log.is_char_boundary(*at)).unwrap_or_default();
    log[from..].to_owned()
}

/// Says that a log is not there yet.
pub(crate) fn log_later(step: &str) -> ForgeError {
    ForgeError::Later { until: None, why: format!("the log of `{step}` is not there yet") }
}

/// Says that a step has no log.
pub(crate) fn no_log(step: &str) -> ForgeError {
    Refusal::Said { why: format!("there is no log of `{step}`") }.into()
}

/// State of a commit's checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChecksState {
    /// The project has none.
    None,
    /// There are some, and nothing has begun for this commit.
    NotStarted,
    Running,
    /// These steps say that the code is wrong.
    Failed(Vec<StepId>),
    /// These steps failed, and no change of the code would fix them.
    Infra(Vec<StepId>),
    Passed,
    /// They were left out, by their own rules.
    Skipped,
}

/// One step of a commit's checks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StepId {
    pub commit: String,
    pub name: String,
}

/// Result of a test command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRun {
    pub state: CommandState,
    /// The tail of the output.
    pub output: String,
}

/// How a test command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandState {
    Passed,
    Failed,
    Infra,
}

/// Tests a commit.
type Run<'a> = dyn FnMut(&str) -> Result<CommandRun, ForgeError> + 'a;

/// The checks of a project that says that it has none: nothing stands in the way of a merge.
#[derive(Clone, Copy, Debug)]
pub struct Unchecked;

impl Checks for Unchecked {
    fn state(&self, _: &str) -> Result<ChecksState, ForgeError> {
        Ok(ChecksState::Skipped)
    }

    fn log(&self, step: &StepId) -> Result<String, ForgeError> {
        Err(Refusal::Said { why: format!("there is no log of `{}`: the project has no checks", step.name) }
            .into())
    }

    fn restart(&self, _: &str) -> Result<(), ForgeError> {
        Err(Refusal::Said { why: "the project has no checks that could run again".to_owned() }.into())
    }
}

/// Checks by the project's own test command, which runs inside [`Checks::restart`].
pub struct CommandChecks<'a> {
    run: Mutex<Box<Run<'a>>>,
    known: Mutex<BTreeMap<String, CommandRun>>,
}

impl<'a> CommandChecks<'a> {
    /// The name of the one step that there is.
    const STEP: &'static str = "command";

    /// Creates checks that call `run`.
    pub fn new(run: impl FnMut(&str) -> Result<CommandRun, ForgeError> + 'a) -> Self {
        Self { run: Mutex::new(Box::new(run)), known: Mutex::default() }
    }

    /// Returns the only step of a commit.
    pub fn step(&self, commit: &str) -> StepId {
        StepId { commit: commit.to_owned(), name: Self::STEP.to_owned() }
    }

    fn known(&self, commit: &str) -> Option<CommandRun> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(commit).cloned()
    }
}

impl fmt::Debug for CommandChecks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandChecks").field("known", &self.known).finish_non_exhaustive()
    }
}

impl Checks for CommandChecks<'_> {
    fn state(&self, commit: &str) -> Result<ChecksState, ForgeError> {
        Ok(match self.known(commit).map(|run| run.state) {
            None => ChecksState::NotStarted,
            Some(CommandState::Passed) => ChecksState::Passed,
            Some(CommandState::Failed) => ChecksState::Failed(vec![self.step(commit)]),
            Some(CommandState::Infra) => ChecksState::Infra(vec![self.step(commit)]),
        })
    }

    fn log(&self, step: &StepId) -> Result<String, ForgeError> {
        match self.known(&step.commit).filter(|_| step.name == Self::STEP) {
            Some(run) => Ok(run.output),
            None => Err(no_log(&step.name)),
        }
    }

    fn restart(&self, commit: &str) -> Result<(), ForgeError> {
        let ran = (self.run.lock().unwrap_or_else(PoisonError::into_inner))(commit)?;
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(commit.to_owned(), ran);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(state: CommandState) -> Result<CommandRun, ForgeError> {
        Ok(CommandRun { state, output: "1 failed".to_owned() })
    }

    #[test]
    fn what_did_not_run_has_not_passed() {
        let checks = CommandChecks::new(|_| Err(ForgeError::unreachable("it did not start")));
        assert!(checks.restart("a").is_err());
        assert_eq!(checks.state("a").unwrap(), ChecksState::NotStarted);
    }

    #[test]
    fn a_failure_names_its_step_and_a_restart_counts() {
        let mut states = [CommandState::Infra, CommandState::Failed, CommandState::Passed].into_iter();
        let checks = CommandChecks::new(move |_| ran(states.next().unwrap()));
        let step = checks.step("a");
        assert!(checks.log(&step).is_err(), "a log that is not there is no empty one");
        checks.restart("a").unwrap();
        assert_eq!(checks.state("a").unwrap(), ChecksState::Infra(vec![step.clone()]));
        checks.restart("a").unwrap();
        assert_eq!(checks.state("a").unwrap(), ChecksState::Failed(vec![step.clone()]));
        assert_eq!(checks.log(&step).unwrap(), "1 failed");
        checks.restart("a").unwrap();
        assert_eq!(checks.state("a").unwrap(), ChecksState::Passed);
        assert_eq!(checks.state("b").unwrap(), ChecksState::NotStarted);
    }
}
