//! The baseline of a run: how the project's tests end before an agent changes anything.
//!
//! A question that is answered is looked up in the run's records by the key that it was asked with, so nothing is asked
//! twice.

use engine::{Actor, Event};
use serde_json::{Map, Value};
use suite::{Asked, KEY, Plan, Taken};

use crate::{Answer, Current, Workspace, next::NextError};

/// How many of the newest records are looked through for an answer.
const LOOKED_THROUGH: usize = 300;

/// Whether an agent may begin.
#[derive(Debug)]
pub enum Ready {
    /// It may; what was done, a line each, and what was recorded.
    Yes { said: Vec<String>, answer: Option<Box<Answer>> },
    /// A person is asked first.
    Ask(Asked),
}

impl Workspace {
    /// Makes the tests ready before an agent works in a workspace of the run's own, once for every issue. Somebody who is
    /// `attended` decides about tests that fail.
    pub fn ready_tests(&mut self, current: &Current, attended: bool) -> Result<Ready, NextError> {
        let run = &current.run;
        let nothing = || Ready::Yes { said: Vec::new(), answer: None };
        if self.slot.is_none() || suite::test_command(&self.place.root, run).is_none() {
            return Ok(nothing());
        }
        suite::use_prepared(&self.shell, &self.place.root);
        // With work in the tree there is no base to look at; whatever is committed was tested.
        if run.baseline.is_some() || !self.place.git().is_all_committed().map_err(NextError::World)? {
            return Ok(nothing());
        }
        let plan = Plan::of(&self.place.root, run)?;
        // What is run now may look at the run's state file.
        self.sync()?;
        let (shell, place) = (self.shell.clone(), self.place.clone());
        let answered = |kind: &str, key: &str| self.answered(current, kind, key);
        match suite::take(&shell, &place, &plan, run.started_at, attended, answered)? {
            Taken::Ask(asked) => Ok(Ready::Ask(asked)),
            Taken::Baseline { said, baseline } => {
                let answer = self.ask_as(Actor::Engine, Event::BaselineTaken { baseline }, Map::new())?;
                Ok(Ready::Yes { said, answer: Some(Box::new(answer)) })
            }
        }
    }

    /// Returns what a person answered to the newest question of this kind about `key`.
    fn answered(&mut self, current: &Current, kind: &str, key: &str) -> Result<Option<String>, NextError> {
        let records = self.newest_records(current, LOOKED_THROUGH)?;
        let of = |data: &Map<String, Value>, field: &str| {
            data.get(field).and_then(Value::as_str).map(str::to_owned)
        };
        let asked = records.iter().rev().find(|record| {
            record.event == *"question_asked"
                && of(&record.data, "kind").as_deref() == Some(kind)
                && of(&record.data, KEY).as_deref() == Some(key)
        });
        let Some(decision) = asked.and_then(|asked| of(&asked.data, "decision")) else { return Ok(None) };
        let answer = records.iter().rev().find(|record| {
            record.event == *"decision_answered" && of(&record.data, "decision").as_ref() == Some(&decision)
        });
        Ok(answer.and_then(|answer| of(&answer.data, "option")))
    }
}
