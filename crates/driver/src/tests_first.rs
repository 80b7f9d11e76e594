//! Before an agent works: the project's tests are made ready, and run on the base. `warp doctor --tests` does the same
//! without a run.

use adapters::process::Control;
use engine::Actor;
use jobs::{JobError, Ready};
use project::{
    AskError, BeginError, Current, Dirs, Shell, Workspace,
    slots::{Kind, Pool},
};
use suite::{BaselineQuestion, BaselineReport, Plan};

use crate::{
    driver::{DriveError, Driver, Finish, Flow},
    show::Shown,
    start::{StartError, Walled, sandbox, walls},
};

/// What was found out about a project's tests.
#[derive(Debug)]
pub enum Tests {
    /// There is no command that runs them.
    None,
    /// They cannot be run here: why, and what to do.
    Problem(String),
    Checked(Box<BaselineReport>),
}

/// Prepares and tests a project in a workspace of its own, as a run would before an agent works.
pub fn check_tests(
    here: &mut Workspace,
    pool: &Pool,
    dirs: &Dirs,
    walled: Walled,
) -> Result<Tests, StartError> {
    let sandbox = sandbox(walled)?;
    let settings = here.configuration(&[]).map_err(BeginError::Config)?.settings;
    let target = here.place.git().branches().merge_target;
    let slot = pool.take(Kind::Clone, &target)?;
    let look = || -> Result<Tests, StartError> {
        let plan = match Plan::new(&slot.place.root, &settings, &target) {
            Ok(Some(plan)) => plan,
            Ok(None) => return Ok(Tests::None),
            Err(problem) => return Ok(Tests::Problem(problem)),
        };
        let walls =
            sandbox.as_ref().map(|sandbox| walls(sandbox, &slot.place, dirs, &settings, Some(&plan.test)));
        let shell = Shell::within(walls.transpose()?, "doctor", || Control::On);
        Ok(match suite::check(&shell, &slot.place, &plan) {
            Ok(checked) => Tests::Checked(Box::new(checked)),
            Err(problem) => Tests::Problem(problem),
        })
    };
    let done = look();
    let discarded = slot.discard(&target);
    let done = done?;
    discarded?;
    Ok(done)
}

impl Driver<'_> {
    /// Makes the project's tests ready; returns how the loop goes on if no agent may work yet.
    pub(crate) fn ready_tests(&mut self, current: &Current) -> Result<Option<Flow>, DriveError> {
        let ready = match jobs::on(&mut self.workspace).ready_tests(current, self.show.is_attended()) {
            Ok(ready) => ready,
            // What was done may have been cut short; it is done again later.
            Err(JobError::World(_)) if self.interrupts.is_asked() => {
                return Ok(Some(Flow::End(Finish::Interrupted)));
            }
            Err(JobError::World(problem)) => Ready::Ask(suite::environment_question(problem)),
            // Somebody ended the run meanwhile; the loop looks again.
            Err(JobError::Ask(AskError::NoRun)) => return Ok(Some(Flow::On)),
            Err(error) => return Err(error.into()),
        };
        match ready {
            Ready::Yes { said, answer } => {
                said.iter().for_each(|said| self.show.show(Shown::Did(said)));
                if let Some(answer) = answer {
                    self.took(&answer);
                    // The brief is made of the run as it is now.
                    return Ok(Some(Flow::On));
                }
                Ok(None)
            }
            Ready::Ask(BaselineQuestion { said, question, data }) => {
                said.iter().for_each(|said| self.show.show(Shown::Did(said)));
                if self.stands(current)? {
                    self.offer(Actor::Engine, question, data)?;
                }
                Ok(Some(Flow::On))
            }
        }
    }
}
