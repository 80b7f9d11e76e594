//! The path of one event: needs, probes, step, journal, views.

use std::{convert::Infallible, sync::Arc};

use adapters::{
    boundary,
    secrets::{redact_fields, redacted},
};
use engine::{
    Actor, Advice, Ask, Event, Observations, Outcome, Probe, Record, Run, RunId, Step, needs, note_of, step,
};
use journal::{
    Appended, NewEvent, View,
    streams::{append, retry},
};
use serde_json::{Map, Value};

use crate::{
    AskError, Current, Error, Runs, Views,
    current::{Snapshot, topic},
};

/// What became of an event that was taken.
#[derive(Debug)]
pub struct Answer {
    pub current: Current,
    pub records: Vec<Record>,
    pub outcome: Outcome,
    pub advice: Vec<Advice>,
}

impl Runs {
    /// Offers an event to an open run, in somebody's name.
    pub fn ask<V: Views>(
        &self,
        views: &mut V,
        run: &RunId,
        actor: Actor,
        event: Event,
        data: Map<String, Value>,
    ) -> Result<Answer, AskError<V::Error>> {
        let Ok(answer) = self.ask_unless(views, run, actor, event, data, |_| None::<Infallible>)?;
        Ok(answer)
    }

    /// Offers an event unless something is found in the run; nobody comes in between.
    pub fn ask_unless<V: Views, Found>(
        &self,
        views: &mut V,
        run: &RunId,
        actor: Actor,
        event: Event,
        data: Map<String, Value>,
        look: impl Fn(&Current) -> Option<Found>,
    ) -> Result<Result<Answer, Found>, AskError<V::Error>> {
        let (event, data) = without_secrets(event, data);
        let mut gathered: (Vec<Probe>, Observations) = Default::default();
        let mut words = Vec::new();
        let failed = |error: Error| AskError::Failed(error.into());
        retry(failed(Error::Contended), || {
            let lock = views.lock().map_err(AskError::Failed)?;
            let current = self.by_id(run.as_str()).map_err(failed)?.filter(|current| current.run.is_open());
            let current = current.ok_or(AskError::NoRun)?;
            if let Some(found) = look(&current) {
                return Ok(Some(Err(found)));
            }
            let probes = needs(&current.workflow, &current.run, actor, &event, &data);
            if probes != gathered.0 {
                // Probes may take minutes, so nobody is kept waiting for them.
                drop(lock);
                let (observations, advice) = views.look(&current, &probes).map_err(AskError::Failed)?;
                (gathered, words) = ((probes, observations), advice);
                return Ok(None);
            }
            let (current, mut advice) = views.settle(current).map_err(AskError::Failed)?;
            let ask = Ask {
                event: event.clone(),
                actor,
                data: data.clone(),
                at: self.0.clock.now(),
                observations: gathered.1.clone(),
            };
            let step = match step(&current.workflow, &current.run, &ask) {
                Ok(step) => step,
                Err(refused) => {
                    if let Some(note) = note_of(&current.workflow, &current.run, &ask, &refused)
                        && self.record(views, current, note).map_err(AskError::Failed)?.is_none()
                    {
                        return Ok(None);
                    }
                    return Err(refused.into());
                }
            };
            let recorded = self.record(views, current, step).map_err(AskError::Failed)?;
            let Some(mut answer) = recorded else { return Ok(None) };
            advice.append(&mut words);
            advice.append(&mut answer.advice);
            answer.advice = advice;
            Ok(Some(Ok(answer)))
        })
    }

    /// Records an event of warp's own that only notes something. The caller holds the lock of the views.
    pub fn note<V: Views>(&self, views: &mut V, current: Current, event: Event) -> Result<Current, V::Error> {
        let ask = Ask { actor: Actor::Engine, ..Ask::new(event, self.0.clock.now()) };
        let step = step(&current.workflow, &current.run, &ask).expect("an open run takes any note");
        Ok(self.record(views, current, step)?.ok_or(Error::Contended)?.current)
    }

    /// Records a step and shows it; nothing if others recorded something in between.
    fn record<V: Views>(
        &self,
        views: &mut V,
        before: Current,
        step: Step,
    ) -> Result<Option<Answer>, V::Error> {
        // A run that has ended is kept for later versions too.
        let settings = step.run.settings.clone();
        let settings = if step.run.is_open() { settings.abridged() } else { settings.whole() };
        let mut current = Current { run: Arc::new(Run { settings, ..step.run }), ..before.clone() };
        current.shown = views.before_record(&before, &current)?;
        match self.append(&current, &step.records)? {
            Appended::Done(version) => current.version = version,
            Appended::Moved | Appended::MarkTaken(_) => return Ok(None),
        }
        self.remember(&current, before.events(), &step.records);
        let mut advice = step.advice;
        advice.extend(views.after_record(&current, &step.records)?);
        Ok(Some(Answer { current, records: step.records, outcome: step.outcome, advice }))
    }

    /// Appends records to a run that is still at the version that they were decided on.
    pub(crate) fn append(&self, current: &Current, records: &[Record]) -> Result<Appended, Error> {
        let json = "what the engine makes can be written as JSON";
        let snapshot = serde_json::to_vec(&Snapshot::new(&*current.run, &current.shown)).expect(json);
        let event = |record: &Record| NewEvent {
            at: record.at.millis(),
            kind: record.event.to_string(),
            body: serde_json::to_vec(record).expect(json),
        };
        let events: Vec<NewEvent> = records.iter().map(event).collect();
        let topic = current.run.issue.as_deref().map(topic);
        let mark = current.run.workspace().filter(|_| current.run.is_open());
        let view = View { snapshot: &snapshot, mark, topic: topic.as_deref() };
        let name = events.last().map_or("nothing", |event| event.kind.as_str());
        let store = self.stored()?;
        let append = || append(&*store, &current.stream, &current.version, &events, view);
        let appended = boundary::around(name, append)?;
        self.has_recorded()?;
        Ok(appended)
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
        Event::TurnEnded { how, session, brief, usage, context, is_idle } => {
            let (how, session) = (redacted(how), session.map(redacted));
            Event::TurnEnded { how, session, brief, usage, context, is_idle }
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
        | Event::ChecksAwaited { .. }
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
