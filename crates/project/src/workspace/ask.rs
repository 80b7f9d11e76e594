//! What a workspace adds to the path of an event: its lock, its probes, its views.

use std::mem;

use engine::{
    Actor, Advice, Event, Observations, Probe, Record, RunId,
    view::{Head, state_file},
};
use runs::{Answer, Current, Shown, Views};
use serde_json::{Map, Value};

use super::{
    AskError, Error, Showing, Workspace,
    lock::Lock,
    show::{Found, view_digest},
};
use crate::{probe, text};

/// The largest head that is compared, in bytes.
const LARGEST_HEAD: u64 = 64 * 1024;

impl Workspace {
    /// Offers an event to the run of this workspace, in a person's name.
    pub fn ask(&mut self, event: Event, data: Map<String, Value>) -> Result<Answer, AskError> {
        self.ask_as(Actor::Person, event, data)
    }

    /// Offers an event to the run of this workspace, in somebody's name.
    pub fn ask_as(
        &mut self,
        actor: Actor,
        event: Event,
        data: Map<String, Value>,
    ) -> Result<Answer, AskError> {
        let runs = self.runs.clone();
        let run = self.open_run()?;
        let mut answer = runs.ask(self, &run, actor, event, data)?;
        answer.advice.splice(0..0, mem::take(&mut self.unsaid));
        self.announce(&answer);
        Ok(answer)
    }

    /// Tells whoever wants to know that something was recorded.
    pub(super) fn announce(&self, answer: &Answer) {
        if let Some(recorded) = &self.dirs.recorded {
            recorded.recorded(&self.place, &self.dirs, answer);
        }
    }

    /// Returns the id of the run that is open in this workspace.
    pub(crate) fn open_run(&mut self) -> Result<RunId, AskError> {
        Ok(self.current()?.ok_or(AskError::NoRun)?.run.id.clone())
    }

    /// Brings the workspace's views up to date, as any command that looks at the run does.
    pub fn refresh(&mut self) -> Result<Vec<Advice>, Error> {
        self.settle_sessions()?;
        self.refresh_copies()?;
        let Some(current) = self.current()? else { return Ok(Vec::new()) };
        let head = Head::of(&current.workflow, &current.run).render();
        // A head stays as it was where somebody has recorded something without this directory.
        let has_head = text::read(&self.place.head_file(), LARGEST_HEAD).is_ok_and(|shown| shown == head);
        if has_head && matches!(self.find_state_file(&current), Found::Ours) && !self.has_tally(&current) {
            return Ok(Vec::new());
        }
        let _lock = Lock::take(&self.place.own)?;
        let Some(current) = self.current()? else { return Ok(Vec::new()) };
        let (current, advice) = self.settle_state_file(current)?;
        let current = self.take_tally(current)?;
        self.show(&current, state_file(&current.workflow, &current.run).as_ref())?;
        Ok(advice)
    }

    /// Sees to it that the state file is the view of the run as it stands, before anything else happens.
    ///
    /// One that we did not write is set aside and recorded, never obeyed and never lost.
    fn settle_state_file(&mut self, current: Current) -> Result<(Current, Vec<Advice>), Error> {
        if self.is_behind(&current) {
            return Ok((current, Vec::new()));
        }
        match self.find_state_file(&current) {
            Found::Ours => Ok((current, Vec::new())),
            Found::Old => {
                self.show(&current, state_file(&current.workflow, &current.run).as_ref())?;
                Ok((current, Vec::new()))
            }
            Found::Foreign => {
                let kind = current.workflow.state_file.expect("only a state file can be foreign");
                let kept = self.set_aside(
                    &self.place.root.join(kind.path()),
                    &format!("{}", self.dirs.clock.now().millis()),
                )?;
                let kept = kept.display().to_string();
                let advice =
                    Advice(format!("{} differed from the journal and was set aside as {kept}", kind.path()));
                let event = Event::StateFileSetAside { file: kind.path().to_owned(), kept_as: kept };
                Ok((self.note(current, event)?, vec![advice]))
            }
        }
    }

    /// Tells whether the views of a run wait for [`Workspace::show_now`].
    fn is_behind(&self, current: &Current) -> bool {
        matches!(&self.showing, Showing::Later { unshown: Some(version) } if version == current.version())
    }

    /// Tells whether a run is shown later than it is recorded.
    fn waits(&self, current: &Current) -> bool {
        current.run.is_open() && self.showing != Showing::AtOnce
    }

    /// Shows what was recorded and waits for that.
    pub fn show_now(&mut self) -> Result<(), Error> {
        let Showing::Later { unshown } = &mut self.showing else { return Ok(()) };
        let Some(version) = unshown.take() else { return Ok(()) };
        let _lock = Lock::take(&self.place.own)?;
        let Some(current) = self.current()?.filter(|current| *current.version() == version) else {
            return Ok(());
        };
        let (current, mut advice) = match self.find_state_file(&current) {
            Found::Foreign => self.settle_state_file(current)?,
            Found::Ours | Found::Old => (current, Vec::new()),
        };
        advice.extend(self.show_if_possible(&current, state_file(&current.workflow, &current.run).as_ref()));
        self.unsaid.append(&mut advice);
        self.showing = Showing::Later { unshown: None };
        Ok(())
    }

    /// Records an event of warp's own that only notes something. The caller holds the lock.
    pub(super) fn note(&mut self, current: Current, event: Event) -> Result<Current, Error> {
        let runs = self.runs.clone();
        runs.note(self, current, event)
    }

    /// Notes what is due when a run has ended.
    pub(super) fn settle_ended(&mut self, current: &Current) -> Option<Advice> {
        let ended = !current.run.is_open();
        ended.then(|| self.settle_sessions().err()).flatten().map(|error| Advice(not_kept(&error)))
    }
}

impl Views for Workspace {
    type Error = Error;
    type Lock = Lock;

    fn lock(&mut self) -> Result<Lock, Error> {
        Lock::take(&self.place.own)
    }

    fn look(&mut self, current: &Current, probes: &[Probe]) -> Result<(Observations, Vec<Advice>), Error> {
        if probes.iter().any(|probe| matches!(probe, Probe::Commands(_) | Probe::Tests { .. })) {
            self.sync()?;
        }
        Ok(probe::gather(self, &current.run, probes))
    }

    fn settle(&mut self, current: Current) -> Result<(Current, Vec<Advice>), Error> {
        let (current, advice) = self.settle_state_file(current)?;
        Ok((self.take_tally(current)?, advice))
    }

    fn before_record(&mut self, before: &Current, after: &Current) -> Result<Shown, Error> {
        // Digest of the state file now on disk; after a crash it tells our old file from an edited one.
        let on_disk = match self.is_behind(before) {
            true => before.shown.before.clone(),
            false => before.shown.current.clone().or_else(|| view_digest(before)),
        };
        self.hide_head()?;
        if !after.run.is_open() {
            self.note_session(&after.run)?;
        }
        let current = if self.waits(after) { None } else { view_digest(after) };
        Ok(Shown { current, before: on_disk })
    }

    fn after_record(&mut self, current: &Current, records: &[Record]) -> Result<Vec<Advice>, Error> {
        if records.iter().any(Record::moves) {
            self.drop_tally()?;
        }
        if self.waits(current) {
            self.showing = Showing::Later { unshown: Some(current.version().clone()) };
            return Ok(Vec::new());
        }
        let view = state_file(&current.workflow, &current.run);
        let shown = self.show_if_possible(current, view.as_ref());
        Ok(shown.into_iter().chain(self.settle_ended(current)).collect())
    }
}

fn not_kept(error: &Error) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("what the session has used is not kept: {error}{cause}")
}

impl Workspace {
    /// Runs the verification commands that are configured for `event`; nothing moves.
    pub fn verify(&mut self, event: &str) -> Result<Option<(Current, Observations)>, Error> {
        let Some(current) = self.current()? else { return Ok(None) };
        let commands = current.run.settings.verification_gates(event);
        let (observations, _) = probe::gather(self, &current.run, &[Probe::Commands(commands)]);
        Ok(Some((current, observations)))
    }
}
