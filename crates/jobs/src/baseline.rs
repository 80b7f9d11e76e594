//! The baseline of a run: how the project's tests end before an agent changes anything.
//!
//! A question that is answered is looked up in the run's records by the key that it was asked with, so nothing is asked
//! twice.

use engine::{Actor, Event, Run};
use project::{Answer, Current};
use serde_json::Map;
use suite::{BaselineQuestion, BaselineResult, KEY, Plan};

use crate::{Context, JobError};

/// Whether an agent may begin.
#[derive(Debug)]
pub enum Ready {
    /// It may; what was done, a line each, and what was recorded.
    Yes { said: Vec<String>, answer: Option<Box<Answer>> },
    /// A person is asked first.
    Ask(BaselineQuestion),
}

impl Context<'_> {
    /// Makes the tests ready before an agent works in a workspace of the run's own, once for every issue. Somebody who is
    /// `attended` decides about tests that fail.
    pub fn ready_tests(&mut self, current: &Current, attended: bool) -> Result<Ready, JobError> {
        let run = &current.run;
        let nothing = || Ready::Yes { said: Vec::new(), answer: None };
        if self.slot.is_none() || suite::test_command(&self.place.root, run).is_none() {
            return Ok(nothing());
        }
        suite::use_prepared(&self.shell, &self.place.root);
        // With work in the tree there is no base to look at; whatever is committed was tested.
        if run.baseline.is_some() || !self.place.git().is_all_committed().map_err(JobError::World)? {
            return Ok(nothing());
        }
        let plan = Plan::of(&self.place.root, run)?;
        // What is run now may look at the run's state file.
        self.sync()?;
        let answered = |kind: &str, key: &str| answered(run, kind, key);
        match suite::take(&self.shell, &self.place, &plan, run.started_at, attended, answered)? {
            BaselineResult::Ask(asked) => Ok(Ready::Ask(asked)),
            BaselineResult::Baseline { said, baseline } => {
                let answer = self.ask_as(Actor::Engine, Event::BaselineTaken { baseline }, Map::new())?;
                Ok(Ready::Yes { said, answer: Some(Box::new(answer)) })
            }
        }
    }
}

/// Returns what a person answered to the newest question of this kind about `key`.
fn answered<'a>(run: &'a Run, kind: &str, key: &str) -> Option<&'a str> {
    run.facts.questions.iter().rfind(|asked| asked.kind() == kind && asked.word(KEY) == key)?.option()
}
