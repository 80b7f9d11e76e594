//! The checks of a pull request: what was handed in is offered, and tested as it was committed.

use adapters::process::Control;
use engine::workflow::JobOutcome;
use journal::Durable;

pub(crate) use crate::job::leaves_no_trace as settle;
use crate::{
    Context, JobError,
    job::{Report, Task},
};

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
