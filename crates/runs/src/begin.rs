//! Beginning runs.

use std::sync::Arc;

use engine::{Step, Workflow};
use journal::{Appended, Version};

use crate::{Answer, Current, Error, Runs, Shown, current::stream_of};

impl Runs {
    /// Records that a run begins, shown as `shown` says of it; nothing if another run is open in its workspace.
    pub fn begin(
        &self,
        workflow: Workflow,
        step: Step,
        shown: impl FnOnce(&Current) -> Shown,
    ) -> Result<Option<Answer>, Error> {
        let stream = stream_of(step.run.id.as_str()).expect("a run id is made of plain characters");
        let mut current = Current {
            workflow: Arc::new(workflow).under(&step.run.settings),
            run: Arc::new(step.run),
            shown: Shown::default(),
            stream,
            version: Version::NONE,
        };
        current.shown = shown(&current);
        match self.append(&current, &step.records)? {
            Appended::Done(version) => current.version = version,
            Appended::Moved => return Err(Error::Contended),
            Appended::MarkTaken(_) => return Ok(None),
        }
        self.remember(&current, 0, &step.records);
        Ok(Some(Answer { current, records: step.records, outcome: step.outcome, advice: step.advice }))
    }
}
