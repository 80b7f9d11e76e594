//! Before an agent works: the project's tests are made ready, and run on the base.

use engine::Actor;
use project::{
    AskError, Current, NextError,
    suite::{self, Ready},
};

use crate::{
    driver::{DriveError, Driver, Finish, Flow},
    show::Shown,
};

impl Driver<'_> {
    /// Makes the project's tests ready; returns how the loop goes on if no agent may work yet.
    pub(crate) fn ready_tests(&mut self, current: &Current) -> Result<Option<Flow>, DriveError> {
        let ready = match self.workspace.ready_tests(current, self.show.is_attended()) {
            Ok(ready) => ready,
            // What was done may have been cut short; it is done again later.
            Err(NextError::World(_)) if self.interrupts.is_asked() => {
                return Ok(Some(Flow::End(Finish::Interrupted)));
            }
            Err(NextError::World(problem)) => suite::environment_question(problem),
            // Somebody ended the run meanwhile; the loop looks again.
            Err(NextError::Ask(AskError::NoRun)) => return Ok(Some(Flow::On)),
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
            Ready::Ask { said, question, data } => {
                said.iter().for_each(|said| self.show.show(Shown::Did(said)));
                if self.stands(current)? {
                    self.offer(Actor::Engine, question, data)?;
                }
                Ok(Some(Flow::On))
            }
        }
    }
}
