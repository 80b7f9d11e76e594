//! The dev environment in a run: brought up before the work, looked after between chunks, and advice on seed data.
//!
//! A project without `dev.json` has none of it, and `dev_health_check = false` leaves the server alone.

use dev::{DevError, Health, Keeper, StartReport};
use std::mem;

use engine::{Actor, DevKind, Event, Run, keys};
use project::{Answer, AskError, Current, spelled};
use serde_json::Map;

use crate::{Context, JobError, advance::escalation};

/// How often the environment is brought up again before a person is asked.
const RECOVERIES: usize = 2;
/// The answer by which a person goes on without the server, and all that they can say about one that does not come up.
const SKIP: &str = "skip";
pub const ABOUT_DEV: &[&str] = &["continue", SKIP];
impl From<DevError> for JobError {
    fn from(error: DevError) -> Self {
        Self::Dev(spelled(&error))
    }
}

impl Context<'_> {
    /// Brings the environment up before the work begins; returns what was done.
    pub(crate) fn prepare_dev(&mut self, run: &Run) -> Result<Vec<String>, JobError> {
        if self.has_dev(run)? { self.bring_up(run, DevKind::CameUp) } else { Ok(Vec::new()) }
    }

    /// Brings the environment up before an agent works, if this process does not keep it yet: an earlier one may have
    /// been killed. Returns what was done.
    pub fn ready_dev(&mut self, run: &Run) -> Result<Vec<String>, JobError> {
        if self.slot.is_none() || self.dev.was_tried || !self.has_dev(run)? {
            return Ok(Vec::new());
        }
        self.bring_up(run, DevKind::CameUp)
    }

    /// Checks the server after a chunk. One that is not healthy is brought up again, so often; then a person decides.
    pub(crate) fn check_dev_after_chunk(&mut self, current: &Current) -> Result<Vec<String>, JobError> {
        let run = &current.run;
        if !self.has_dev(run)? {
            return Ok(Vec::new());
        }
        if run.facts.chunk.answer.as_deref() == Some(SKIP) {
            return Ok(vec!["the dev server is left as it is, as a person has decided".to_owned()]);
        }
        self.sync()?;
        let why = match self.dev_health(run)? {
            Health::NoServer => return Ok(Vec::new()),
            Health::Healthy { port, .. } => {
                let text = format!("the dev server is healthy at {}", dev::url(port));
                self.note_dev(DevKind::Checked, &text)?;
                return Ok(vec![text]);
            }
            Health::Unhealthy { why, .. } => why,
        };
        let mut said = vec![format!("the dev server is not healthy: {why}")];
        let mut last = why;
        for _ in 0..RECOVERIES {
            match self.bring_up(run, DevKind::Recovered) {
                Ok(lines) => {
                    said.extend(lines);
                    return Ok(said);
                }
                Err(JobError::Dev(why)) => last = why,
                Err(other) => return Err(other),
            }
        }
        Err(JobError::Dev(format!(
            "the dev server is not healthy; restarted {RECOVERIES} times without success: {last}"
        )))
    }

    /// Asks a person about an environment that does not come up. Before anything was done there is nothing to decide.
    pub(crate) fn ask_about_dev(
        &mut self,
        problem: String,
    ) -> Result<(Vec<String>, Option<Answer>), JobError> {
        let current = self.current()?.ok_or(AskError::NoRun)?;
        if current.run.history.len() <= 1 {
            return Err(JobError::Dev(problem));
        }
        let event = escalation(&current.run, &problem, ABOUT_DEV);
        let answer = self.ask_as(Actor::Engine, event, Map::new())?;
        Ok((vec![problem], Some(answer)))
    }

    /// Tells whether there is an environment that the run looks after.
    fn has_dev(&self, run: &Run) -> Result<bool, JobError> {
        Ok(run.settings.get(keys::DEV_HEALTH_CHECK) && self.dev_of(run)?.is_some())
    }

    fn dev_health(&mut self, run: &Run) -> Result<Health, JobError> {
        let mut kept = mem::take(&mut self.dev);
        let health = self.dev_of(run).map_err(JobError::from).map(|dev| {
            let keeper = if self.slot.is_some() { Keeper::Here(&mut kept) } else { Keeper::Apart };
            dev.map_or(Health::NoServer, |dev| dev.health(&keeper))
        });
        self.dev = kept;
        health
    }

    /// Brings the environment up, records what came of it and returns that, a line each.
    fn bring_up(&mut self, run: &Run, kind: DevKind) -> Result<Vec<String>, JobError> {
        self.sync()?;
        let mut kept = mem::take(&mut self.dev);
        let up = self.dev_of(run).map_err(JobError::from).and_then(|dev| {
            let keeper = if self.slot.is_some() { Keeper::Here(&mut kept) } else { Keeper::Apart };
            let Some(dev) = dev else { return Ok((Vec::new(), StartReport::default())) };
            let docs = dev.manifest.docs && kind == DevKind::CameUp;
            let mut said = dev.manifest.warnings.clone();
            said.extend(docs.then(|| dev::DOCS_NOT_SERVED.to_owned()));
            Ok((said, dev.bring_up_for_run(keeper)?))
        });
        kept.was_tried = true;
        self.dev = kept;
        self.shell.set_env(dev::URL, self.dev.url());
        match up {
            Ok((mut said, up)) => {
                let text =
                    up.server.as_ref().map_or("the dev environment is up".to_owned(), ToString::to_string);
                self.note_dev(kind, &text)?;
                said.extend(up.said());
                Ok(said)
            }
            Err(JobError::Dev(why)) => {
                self.note_dev(DevKind::Failed, &why)?;
                Err(JobError::Dev(why))
            }
            Err(other) => Err(other),
        }
    }

    fn note_dev(&mut self, kind: DevKind, text: &str) -> Result<Answer, JobError> {
        let event = Event::DevSeen { kind, text: text.to_owned() };
        Ok(self.ask_as(Actor::Engine, event, Map::new())?)
    }
}
