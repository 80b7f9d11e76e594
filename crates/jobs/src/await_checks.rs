//! The checks of a pull request: what was handed in is offered, and tested as it was committed.

use adapters::process::Go;
use project::Current;
use serde_json::json;

use crate::{Context, JobError, advance::Report};

impl Context<'_> {
    /// Offers what is there, unless that is done, and runs its checks.
    pub(crate) fn await_checks(&mut self, current: &Current) -> Result<Report, JobError> {
        let durable = self.sync()?;
        let run = &current.run;
        let failed = |outcome, why: String| Report::new(outcome).with("failure", json!(why));
        let mut said = Vec::new();
        if !self.is_published(run)? {
            match self.publish(current, &durable) {
                Ok(published) => said.push(published.said()),
                Err(JobError::World(why)) if self.shell.go() == Go::On => {
                    return Ok(failed("checks_failed", why.clone()).say(why));
                }
                Err(error) => return Err(error),
            }
        }
        let report = match self.check_pull(run) {
            Ok(checked) => {
                said.push(checked.said().to_owned());
                if checked.passed {
                    Report::new("checks_passed")
                } else {
                    failed("checks_failed", checked.log)
                }
            }
            Err(JobError::World(why)) if self.shell.go() == Go::On => {
                said.push(why.clone());
                failed("checks_broken", why)
            }
            Err(error) => return Err(error),
        };
        Ok(Report { said, ..report })
    }
}
