//! The checks of a pull request: what was handed in is offered, and tested as it was committed.
//!
//! A project whose forge runs checks is tested there: they are waited for, and looked at after longer and longer times. Any
//! other is tested here, by its own command.

use std::time::Duration;

use adapters::{clock::after, process::Control, secrets::redacted};
use engine::{AwaitedChecks, Event, Run, keys, workflow::JobOutcome};
use forge::{Checks, ChecksState, ForgeError, StepId};
use journal::Durable;

use crate::{
    Context, JobError,
    job::{Report, Task},
    words::short,
};

/// The shortest and the longest time between two looks.
const SHORTEST: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(5 * 60);
/// How long a server may take until it knows of any checks of a commit that was pushed.
const UNKNOWN: Duration = Duration::from_secs(2 * 60);
/// How often checks are started again that failed for no fault of the code.
const MOST_RESTARTS: u32 = 2;
/// How much of a failed step's log an agent is told: so many of its last lines, and bytes.
const LOG_LINES: usize = 80;
const LOG_BYTES: usize = 8_000;

/// How the checks ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed {
        said: Vec<String>,
    },
    /// The work goes back to the agent, which is told why.
    Failed {
        failure: String,
        said: Vec<String>,
    },
    /// They could not be run.
    Broken {
        why: String,
        said: Vec<String>,
    },
    /// They run at a server, from the beginning or once more.
    Awaited {
        commit: String,
        said: Vec<String>,
    },
}

impl Outcome {
    pub(crate) fn report(self) -> Report {
        match self {
            Self::Passed { said } => Report::new(JobOutcome::ChecksPassed).say_all(said),
            Self::Failed { failure, said } => {
                Report::new(JobOutcome::ChecksFailed).with("failure", failure).say_all(said)
            }
            Self::Broken { why, said } => {
                Report::new(JobOutcome::ChecksBroken).with("failure", why.clone()).say_all(said).say(why)
            }
            Self::Awaited { commit, said } => Report::own(Event::ChecksAwaited { commit }).say_all(said),
        }
    }
}

/// What is there is offered first, unless that is done.
pub(crate) fn carry_out(
    cx: &mut Context<'_>,
    task: Task<'_>,
    durable: &Durable,
) -> Result<Outcome, JobError> {
    // What is run now may look at views.
    cx.show_now()?;
    let run = task.run();
    let mut said = Vec::new();
    if !cx.is_published(run)? {
        match cx.publish(task.current, durable) {
            Ok(published) => said.push(published.said()),
            Err(JobError::World(failure)) if cx.shell.go() == Control::On => {
                return Ok(Outcome::Failed { said: vec![failure.clone()], failure });
            }
            Err(error) => return Err(error),
        }
    }
    if cx.checks().is_some() {
        let commit = cx.git().head_commit().map_err(JobError::World)?;
        said.push(format!("the checks of {} run at the forge", short(&commit)));
        return Ok(Outcome::Awaited { commit, said });
    }
    test_here(cx, run, said)
}

/// Looks how checks stand that run at a server; what is tested here is tested again.
pub(crate) fn settle(cx: &mut Context<'_>, task: Task<'_>) -> Result<Option<Outcome>, JobError> {
    let run = task.run();
    let Some(awaited) = &run.facts.issue.pull.awaited else { return Ok(None) };
    let Some(checks) = cx.checks() else {
        // The project has no server any more.
        cx.show_now()?;
        return test_here(cx, run, Vec::new()).map(Some);
    };
    // A server without any leaves it to the project's own tests, unless the project counts on the server.
    let is_optional = run.settings.get(keys::CHECKS) == "auto";
    let now = cx.dirs.clock.now();
    let waited = Duration::from_millis(u64::try_from(now.millis_since(awaited.since)).unwrap_or_default());
    match look(&*checks, awaited, waited) {
        Ok(Some(Outcome::Broken { said, .. }))
            if is_optional && checks.state(&awaited.commit)? == ChecksState::None =>
        {
            cx.show_now()?;
            test_here(cx, run, said).map(Some)
        }
        Ok(Some(outcome)) => Ok(Some(outcome)),
        Ok(None) | Err(ForgeError::Unreachable(_)) => {
            cx.look = Some(after(now, pause(waited)));
            Ok(None)
        }
        Err(ForgeError::Later { until, .. }) => {
            cx.look = Some(after(now, pause(waited))).max(until);
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Says what is waited for.
pub(crate) fn waits(run: &Run) -> Vec<String> {
    let awaited = run.facts.issue.pull.awaited.iter();
    awaited.map(|awaited| format!("waits for the checks of {}", short(&awaited.commit))).collect()
}

/// Returns how long to wait until the next look: the longer they have taken, the longer.
fn pause(waited: Duration) -> Duration {
    (waited / 2).clamp(SHORTEST, LONGEST)
}

/// Returns what checks at a server came to; nothing as long as they may still pass or fail.
fn look(
    checks: &dyn Checks,
    awaited: &AwaitedChecks,
    waited: Duration,
) -> Result<Option<Outcome>, ForgeError> {
    let commit = awaited.commit.clone();
    let of = format!("the checks of {}", short(&commit));
    Ok(match checks.state(&commit)? {
        ChecksState::Passed => Some(Outcome::Passed { said: vec![format!("{of} passed")] }),
        ChecksState::Skipped => {
            Some(Outcome::Passed { said: vec![format!("{of} were skipped by their own rules")] })
        }
        ChecksState::Failed(steps) => {
            let failed = format!("{of} failed: {}", names(&steps));
            let failure = match steps.first() {
                Some(step) => format!("{failed}\n\n{}", tail(&redacted(checks.log(step)?))),
                None => failed.clone(),
            };
            Some(Outcome::Failed { failure, said: vec![failed] })
        }
        ChecksState::Infra(steps) if awaited.restarts < MOST_RESTARTS => {
            // A crash before this is recorded starts them once more, which costs a little time.
            checks.restart(&commit)?;
            let said = format!("{of} could not be run ({}): they are started again", names(&steps));
            Some(Outcome::Awaited { commit, said: vec![said] })
        }
        ChecksState::Infra(steps) => {
            let tries = MOST_RESTARTS + 1;
            let why = format!("{of} could not be run in {tries} tries: {}", names(&steps));
            Some(Outcome::Broken { why, said: Vec::new() })
        }
        // That nothing looks at the work is no success.
        ChecksState::None if waited >= UNKNOWN => {
            let why = format!("the forge has no checks for {}", short(&commit));
            Some(Outcome::Broken { why, said: Vec::new() })
        }
        ChecksState::None | ChecksState::NotStarted | ChecksState::Running => None,
    })
}

fn names(steps: &[StepId]) -> String {
    let names: Vec<String> = steps.iter().map(|step| format!("`{}`", step.name)).collect();
    if names.is_empty() { "no step is named".to_owned() } else { names.join(", ") }
}

/// Returns the end of a log, from a line's beginning where one fits.
fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.trim_end().lines().collect();
    let last = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n");
    let begin = (last.len().saturating_sub(LOG_BYTES)..=last.len()).find(|at| last.is_char_boundary(*at));
    let cut = &last[begin.unwrap_or_default()..];
    match cut.split_once('\n') {
        Some((_, rest)) if cut.len() < last.len() => rest.to_owned(),
        Some(_) | None => cut.to_owned(),
    }
}

/// Runs the project's own command.
fn test_here(cx: &mut Context<'_>, run: &Run, mut said: Vec<String>) -> Result<Outcome, JobError> {
    match cx.check_pull(run) {
        Ok(checked) => {
            said.push(checked.said().to_owned());
            let failed = Outcome::Failed { failure: checked.log, said: said.clone() };
            Ok(if checked.passed { Outcome::Passed { said } } else { failed })
        }
        Err(JobError::World(why)) if cx.shell.go() == Control::On => Ok(Outcome::Broken { why, said }),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_has_eighty_lines_and_eight_thousand_bytes_at_most() {
        let lines = |count: usize, line: &str| vec![line; count].join("\n");
        assert_eq!(tail(&lines(200, "short")).lines().count(), LOG_LINES);
        assert_eq!(tail("one\ntwo\n"), "one\ntwo");
        let cut = tail(&lines(80, &"é".repeat(100)));
        assert!(
            cut.len() <= LOG_BYTES && cut.lines().all(|line| line.chars().count() == 100),
            "{}",
            cut.len()
        );
        assert_eq!(tail(&"é".repeat(LOG_BYTES)).len(), LOG_BYTES);
    }

    #[test]
    fn the_longer_checks_take_the_longer_is_the_time_between_two_looks() {
        let pauses = [0, 60, 400, 100_000].map(|waited| pause(Duration::from_secs(waited)).as_secs());
        assert_eq!(pauses, [10, 30, 200, 300]);
    }
}
