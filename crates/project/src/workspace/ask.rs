//! The path of one event: needs, probes, step, journal, views.

use adapters::machine;
use engine::{
    Actor, Advice, Ask, Event, Observations, Outcome, Probe, Record, Step, digest, needs, step,
    view::state_file,
};
use journal::{NewEvent, Store, Version, View};
use serde_json::{Map, Value};

use super::{
    Append, AskError, Current, Error, SNAPSHOT_FORMAT, Shown, Snapshot, Workspace, append_outcome,
    lock::Lock, show::Found, topic,
};
use crate::probe;

/// How often an event is decided again because others were faster.
const TRIES: usize = 100;

/// What became of an event that was taken.
#[derive(Debug)]
pub struct Answer {
    pub current: Current,
    pub records: Vec<Record>,
    pub outcome: Outcome,
    pub advice: Vec<Advice>,
}

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
        let mut gathered: (Vec<Probe>, Observations) = Default::default();
        for _ in 0..TRIES {
            let lock = Lock::take(&self.place.own)?;
            let current = self.current()?.ok_or(AskError::NoRun)?;
            let probes = needs(&current.workflow, &current.run, &event, &data);
            if probes != gathered.0 {
                // Probes may take minutes, so nobody is kept waiting for them.
                drop(lock);
                let observations = probe::gather(&self.place.root, &probes);
                gathered = (probes, observations);
                continue;
            }
            let (current, mut advice) = self.settle(current)?;
            let current = self.take_tally(current)?;
            let observations = gathered.1.clone();
            let ask =
                Ask { event: event.clone(), actor, data: data.clone(), at: machine::now(), observations };
            let step = step(&current.workflow, &current.run, &ask)?;
            if let Some(mut answer) = self.record(current, step)? {
                advice.append(&mut answer.advice);
                answer.advice = advice;
                return Ok(answer);
            }
        }
        Err(Error::Contended.into())
    }

    /// Brings the workspace's views up to date, as any command that looks at the run does.
    pub fn refresh(&mut self) -> Result<Vec<Advice>, Error> {
        let Some(current) = self.current()? else { return Ok(Vec::new()) };
        let is_shown =
            matches!(self.find_state_file(&current), Found::Ours) && self.place.head_file().exists();
        if is_shown && !self.has_tally(&current) {
            return Ok(Vec::new());
        }
        let _lock = Lock::take(&self.place.own)?;
        let Some(current) = self.current()? else { return Ok(Vec::new()) };
        let (current, advice) = self.settle(current)?;
        let current = self.take_tally(current)?;
        self.show(&current, state_file(&current.workflow, &current.run).as_ref())?;
        Ok(advice)
    }

    /// Sees to it that the state file is the view of the run as it stands, before anything else happens.
    ///
    /// One that we did not write is set aside and recorded, never obeyed and never lost.
    fn settle(&mut self, current: Current) -> Result<(Current, Vec<Advice>), Error> {
        match self.find_state_file(&current) {
            Found::Ours => Ok((current, Vec::new())),
            Found::Old => {
                self.show(&current, state_file(&current.workflow, &current.run).as_ref())?;
                Ok((current, Vec::new()))
            }
            Found::Foreign => {
                let kind = current.workflow.state_file.expect("only a state file can be foreign");
                let kept = self
                    .set_aside(&self.place.root.join(kind.path()), &format!("{}", machine::now().millis()))?;
                let kept = kept.display().to_string();
                let advice =
                    Advice(format!("{} differed from the journal and was set aside as {kept}", kind.path()));
                let event = Event::StateFileSetAside { file: kind.path().to_owned(), kept_as: kept };
                Ok((self.note(current, event)?, vec![advice]))
            }
        }
    }

    /// Records an event of warp's own that only notes something. The caller holds the lock.
    pub(super) fn note(&mut self, current: Current, event: Event) -> Result<Current, Error> {
        let ask = Ask { actor: Actor::Engine, ..Ask::new(event, machine::now()) };
        let step = step(&current.workflow, &current.run, &ask).expect("an open run takes any note");
        Ok(self.record(current, step)?.ok_or(Error::Contended)?.current)
    }

    /// Records a step and shows it; nothing if others recorded something in between.
    fn record(&mut self, before: Current, step: Step) -> Result<Option<Answer>, Error> {
        let mut current = Current { run: step.run, ..before };
        let view = state_file(&current.workflow, &current.run);
        let digest = view.as_ref().map(|view| digest(&view.text));
        current.shown = Shown { current: digest, before: current.shown.current.take() };
        self.hide_head()?;
        let expected = current.version.clone();
        match self.append(&current, &expected, &step.records)? {
            Append::Done(version) => current.version = version,
            Append::Moved | Append::MarkTaken => return Ok(None),
        }
        if step.records.iter().any(Record::moves) {
            self.drop_tally()?;
        }
        let mut advice = step.advice;
        advice.extend(self.show_if_possible(&current, view.as_ref()));
        Ok(Some(Answer { current, records: step.records, outcome: step.outcome, advice }))
    }

    pub(super) fn append(
        &mut self,
        current: &Current,
        expected: &Version,
        records: &[Record],
    ) -> Result<Append, Error> {
        let snapshot =
            Snapshot { format: SNAPSHOT_FORMAT, run: current.run.clone(), shown: current.shown.clone() };
        let json = "what the engine makes can be written as JSON";
        let snapshot = serde_json::to_vec(&snapshot).expect(json);
        let event = |record: &Record| NewEvent {
            at: record.at.millis(),
            kind: record.event.to_string(),
            body: serde_json::to_vec(record).expect(json),
        };
        let events: Vec<NewEvent> = records.iter().map(event).collect();
        let topic = current.run.issue.as_deref().map(topic);
        let mark = current.run.is_open().then_some(current.run.root.as_str());
        let view = View { snapshot: &snapshot, mark, topic: topic.as_deref() };
        append_outcome(self.store()?.append(&current.stream, expected, &events, view))
    }
}

impl Workspace {
    /// Runs the verification commands that are configured for `event`; nothing moves.
    pub fn verify(&mut self, event: &str) -> Result<Option<(Current, Observations)>, Error> {
        let Some(current) = self.current()? else { return Ok(None) };
        let commands = current.run.settings.verification_gates(event);
        let observations = probe::gather(&self.place.root, &[Probe::Commands(commands)]);
        Ok(Some((current, observations)))
    }
}
