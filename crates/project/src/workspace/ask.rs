//! The path of one event: needs, probes, step, journal, views.

use std::{convert::Infallible, mem, sync::Arc};

use adapters::{
    boundary,
    secrets::{redact_fields, redacted},
};
use engine::{
    Actor, Advice, Ask, Event, Observations, Outcome, Probe, Record, Run, Step, digest, needs, note_of, step,
    view::state_file,
};
use journal::{
    Appended, NewEvent, Version, View,
    streams::{append, retry},
};
use serde_json::{Map, Value};

use super::{
    AskError, Current, Error, SNAPSHOT_FORMAT, Shown, Snapshot, Views, Workspace,
    lock::Lock,
    show::{Found, view_digest},
    topic,
};
use crate::probe;

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
        let Ok(answer) = self.ask_unless(actor, event, data, |_, _| Ok(None::<Infallible>))?;
        Ok(answer)
    }

    /// Offers an event unless something is found in the run; nobody comes in between.
    pub(crate) fn ask_unless<Found>(
        &mut self,
        actor: Actor,
        event: Event,
        data: Map<String, Value>,
        look: impl Fn(&mut Self, &Current) -> Result<Option<Found>, Error>,
    ) -> Result<Result<Answer, Found>, AskError> {
        let (event, data) = without_secrets(event, data);
        let mut gathered: (Vec<Probe>, Observations) = Default::default();
        let mut words = Vec::new();
        retry(Error::Contended, || {
            let lock = Lock::take(&self.place.own)?;
            let current = self.current()?.ok_or(AskError::NoRun)?;
            if let Some(found) = look(self, &current)? {
                return Ok(Some(Err(found)));
            }
            let probes = needs(&current.workflow, &current.run, actor, &event, &data);
            if probes != gathered.0 {
                // Probes may take minutes, so nobody is kept waiting for them.
                drop(lock);
                if probes.iter().any(|probe| matches!(probe, Probe::Commands(_) | Probe::Tests { .. })) {
                    self.sync()?;
                }
                let (observations, advice) = probe::gather(self, &current.run, &probes);
                (gathered, words) = ((probes, observations), advice);
                return Ok(None);
            }
            let (current, mut advice) = self.settle(current)?;
            let current = self.take_tally(current)?;
            let observations = gathered.1.clone();
            let ask = Ask {
                event: event.clone(),
                actor,
                data: data.clone(),
                at: self.dirs.clock.now(),
                observations,
            };
            let step = match step(&current.workflow, &current.run, &ask) {
                Ok(step) => step,
                Err(refused) => {
                    if let Some(note) = note_of(&current.workflow, &current.run, &ask, &refused) {
                        self.record(current, note)?.ok_or(Error::Contended)?;
                    }
                    return Err(refused.into());
                }
            };
            let Some(mut answer) = self.record(current, step)? else { return Ok(None) };
            advice.splice(0..0, mem::take(&mut self.unsaid));
            advice.append(&mut words);
            advice.append(&mut answer.advice);
            answer.advice = advice;
            Ok(Some(Ok(answer)))
        })
    }

    /// Brings the workspace's views up to date, as any command that looks at the run does.
    pub fn refresh(&mut self) -> Result<Vec<Advice>, Error> {
        self.settle_sessions()?;
        self.refresh_copies()?;
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
        matches!(&self.views, Views::Later { unshown: Some(version) } if *version == current.version)
    }

    /// Shows what was recorded and waits for that.
    pub fn show_now(&mut self) -> Result<(), Error> {
        let Views::Later { unshown } = &mut self.views else { return Ok(()) };
        let Some(version) = unshown.take() else { return Ok(()) };
        let _lock = Lock::take(&self.place.own)?;
        let Some(current) = self.current()?.filter(|current| current.version == version) else {
            return Ok(());
        };
        let (current, mut advice) = match self.find_state_file(&current) {
            Found::Foreign => self.settle(current)?,
            Found::Ours | Found::Old => (current, Vec::new()),
        };
        advice.extend(self.show_if_possible(&current, state_file(&current.workflow, &current.run).as_ref()));
        self.unsaid.append(&mut advice);
        self.views = Views::Later { unshown: None };
        Ok(())
    }

    /// Records an event of warp's own that only notes something. The caller holds the lock.
    pub(super) fn note(&mut self, current: Current, event: Event) -> Result<Current, Error> {
        let ask = Ask { actor: Actor::Engine, ..Ask::new(event, self.dirs.clock.now()) };
        let step = step(&current.workflow, &current.run, &ask).expect("an open run takes any note");
        Ok(self.record(current, step)?.ok_or(Error::Contended)?.current)
    }

    /// Records a step and shows it; nothing if others recorded something in between.
    fn record(&mut self, before: Current, step: Step) -> Result<Option<Answer>, Error> {
        // What lies in the place of the state file until this is shown.
        let lies_there = match self.is_behind(&before) {
            true => before.shown.before.clone(),
            false => before.shown.current.clone().or_else(|| view_digest(&before)),
        };
        // A run that has ended is kept for later versions too.
        let is_open = step.run.is_open();
        let waits = is_open && self.views != Views::AtOnce;
        let settings = step.run.settings.clone();
        let settings = if is_open { settings.abridged() } else { settings.whole() };
        let mut current = Current { run: Arc::new(Run { settings, ..step.run }), ..before };
        let view = if waits { None } else { state_file(&current.workflow, &current.run) };
        let digest = view.as_ref().map(|view| digest(&view.text));
        current.shown = Shown { current: digest, before: lies_there };
        self.hide_head()?;
        if !current.run.is_open() {
            self.note_session(&current.run)?;
        }
        let expected = current.version.clone();
        match self.append(&current, &expected, &step.records)? {
            Appended::Done(version) => current.version = version,
            Appended::Moved | Appended::MarkTaken(_) => return Ok(None),
        }
        self.remember(&current);
        self.add_newest(&current.stream, expected.events(), &step.records);
        if step.records.iter().any(Record::moves) {
            self.drop_tally()?;
        }
        let mut advice = step.advice;
        if waits {
            self.views = Views::Later { unshown: Some(current.version.clone()) };
        } else {
            advice.extend(self.show_if_possible(&current, view.as_ref()));
        }
        if !current.run.is_open() {
            advice.extend(self.settle_sessions().err().map(|error| Advice(not_kept(&error))));
        }
        Ok(Some(Answer { current, records: step.records, outcome: step.outcome, advice }))
    }

    pub(super) fn append(
        &mut self,
        current: &Current,
        expected: &Version,
        records: &[Record],
    ) -> Result<Appended, Error> {
        let snapshot = Snapshot { format: SNAPSHOT_FORMAT, run: &*current.run, shown: &current.shown };
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
        let name = events.last().map_or("nothing", |event| event.kind.as_str());
        let store = self.store()?;
        let appended = boundary::around(name, || append(&*store, &current.stream, expected, &events, view))?;
        self.store.has_recorded()?;
        Ok(appended)
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

/// Takes secrets out of what somebody says with an event. What commands printed has lost them already.
fn without_secrets(event: Event, mut data: Map<String, Value>) -> (Event, Map<String, Value>) {
    redact_fields(&mut data);
    let event = match event {
        Event::QuestionAsked { kind, question, options } => Event::QuestionAsked {
            kind,
            question: redacted(question),
            options: options.into_iter().map(redacted).collect(),
        },
        Event::RefusalRaised { mut refused } => {
            refused.reason = redacted(refused.reason);
            redact_fields(&mut refused.data);
            Event::RefusalRaised { refused }
        }
        Event::DecisionAnswered { decision, option } => {
            Event::DecisionAnswered { decision, option: redacted(option) }
        }
        Event::ChunkDeferred { why } => Event::ChunkDeferred { why: redacted(why) },
        Event::Told { text } => Event::Told { text: redacted(text) },
        Event::ConversationBegun { session } => Event::ConversationBegun { session: redacted(session) },
        Event::TurnEnded { how, session, brief, usage, is_idle } => {
            Event::TurnEnded { how: redacted(how), session: session.map(redacted), brief, usage, is_idle }
        }
        Event::Suspended { kind, why, until } => Event::Suspended { kind, why: redacted(why), until },
        Event::FindingReported { severity, file, line, text } => {
            Event::FindingReported { severity, file, line, text: redacted(text) }
        }
        Event::DevSeen { kind, text } => Event::DevSeen { kind, text: redacted(text) },
        Event::RailBroken { what, kept, breach } => Event::RailBroken { what: redacted(what), kept, breach },
        // Names, numbers and paths; those of tests were cleaned when their report was read.
        event @ (Event::Named(_)
        | Event::BaselineTaken { .. }
        | Event::FileEdited { .. }
        | Event::EditsCounted { .. }
        | Event::DeadlinePassed
        | Event::AttemptStarted { .. }
        | Event::CriteriaUnconfirmed
        | Event::StopRequested
        | Event::Resumed
        | Event::ResetRequested
        | Event::StateFileSetAside { .. }
        | Event::OwnerChanged { .. }
        | Event::TurnStarted { .. }
        | Event::WaitOver
        | Event::CapReached { .. }) => event,
    };
    (event, data)
}
