//! Why an event was refused. Nothing has changed then.

use serde_json::{Map, Value, json};

use super::{Step, step};
use crate::{
    Actor, Ask, Decision, DevKind, Effect, Event, EventName, PhaseName, RefusedEvent, Run, Wait, Workflow,
};

/// The most that is kept of the summary of a refused event, in characters.
const LONGEST_SUMMARY: usize = 300;

/// A refusal; the run is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("`{event}` is not possible in `{phase}`; possible: {}", list(.possible))]
    NotPossible { phase: PhaseName, event: EventName, possible: Vec<EventName> },
    #[error("`{event}` is refused in `{phase}` by {gate}: {reason}")]
    Gate { phase: PhaseName, event: EventName, gate: String, reason: String },
    /// By a check that a person may overrule.
    #[error("`{event}` is refused in `{phase}` by {gate}: {reason}")]
    Advisory { phase: PhaseName, event: EventName, gate: String, reason: String },
    /// By advice that is given once: the same event is taken the next time.
    #[error("`{event}` is refused in `{phase}` by {gate}: {reason}, or hand it in again as it is")]
    Once { phase: PhaseName, event: EventName, gate: String, reason: String },
    #[error("`{event}` is refused: the run waits for decision {}: {} ({})", decision.id, decision.question, decision.options.join(", "))]
    Parked { event: EventName, decision: Box<Decision> },
    #[error("`{event}` is refused: the run waits: {wait}")]
    Suspended { event: EventName, wait: Box<Wait> },
    #[error("`{event}` is refused: the run was stopped in `{phase}`")]
    Stopped { event: EventName, phase: PhaseName },
    #[error("`{event}` is refused: the run is over ({how})")]
    Ended { event: EventName, how: String },
    #[error("outcome of attempt {attempt} of `{effect}` is refused: {}", current_attempt(.current))]
    StaleAttempt { effect: String, attempt: u64, current: Option<Box<Effect>> },
    #[error("`{field}` {problem}")]
    Data { field: String, problem: String },
    #[error("`{event}` is refused in `{phase}`: it needs a person; tell them, and wait")]
    NeedsPerson { phase: PhaseName, event: EventName },
    #[error("`{event}` is warp's own work in `{phase}`: `warp next` does it")]
    OwnWork { phase: PhaseName, event: EventName },
    #[error("`{event}` is refused: {why}")]
    NotNow { event: EventName, why: String },
}

impl Refused {
    /// Refuses a field of the data.
    pub(crate) fn data(field: &str, problem: impl Into<String>) -> Self {
        Self::Data { field: field.to_owned(), problem: problem.into() }
    }

    /// Returns what a person is asked about where the refusal is theirs to overrule; `actor` has offered the event with `data`.
    pub fn to_overrule(&self, actor: Actor, data: &Map<String, Value>) -> Option<RefusedEvent> {
        let Self::Advisory { event, gate, reason, .. } = self else { return None };
        let (event, gate, reason) = (event.clone(), gate.clone(), reason.clone());
        Some(RefusedEvent { event, gate, reason, actor, data: data.clone() })
    }

    /// Refuses an event that the phase does not have.
    pub(crate) fn not_possible(workflow: &Workflow, run: &Run, event: &EventName) -> Self {
        let mut possible: Vec<EventName> =
            workflow.rows(&run.phase).iter().map(|row| row.event.clone()).collect();
        let asking = workflow.questions.iter().filter(|question| question.phase == run.phase);
        possible.extend(asking.map(|question| question.event.clone()));
        if workflow.is_final(&run.phase) {
            possible.extend(workflow.close_event.clone());
        }
        Self::NotPossible { phase: run.phase.clone(), event: event.clone(), possible }
    }
}

/// Returns what is recorded of a refused event: advice that is given once, or the failed approaches that came along. What
/// did not work is known even if the event does not count.
pub fn note_of(workflow: &Workflow, run: &Run, ask: &Ask, refused: &Refused) -> Option<Step> {
    let note = if let Refused::Once { reason, .. } = refused {
        let event = Event::DevSeen { kind: DevKind::SeedsMissing, text: reason.clone() };
        Ask { actor: Actor::Engine, ..Ask::new(event, ask.at) }
    } else {
        let noted = Event::Named(EventName::new(Event::NOTED));
        Ask { actor: ask.actor, data: failed_approaches(run, ask)?, ..Ask::new(noted, ask.at) }
    };
    // A workflow without notes has nowhere to keep them.
    step(workflow, run, &note).ok()
}

/// Returns a checkpoint with the failed approaches of an event that no checkpoint has yet; nothing if there are none.
fn failed_approaches(run: &Run, ask: &Ask) -> Option<Map<String, Value>> {
    let is_known = |tried: &&str| {
        run.checkpoints
            .iter()
            .any(|checkpoint| checkpoint.failed_approaches.iter().any(|known| known == tried))
    };
    let tried = ask.data.get("failed_approaches")?.as_array()?.iter().filter_map(Value::as_str);
    let new: Vec<&str> = tried.filter(|tried| !is_known(tried)).collect();
    if new.is_empty() || ask.event.name() == *Event::NOTED {
        return None;
    }
    let summary = ask.data.get("summary").and_then(Value::as_str).unwrap_or("no summary");
    let summary: String = summary.chars().take(LONGEST_SUMMARY).collect();
    let summary = format!("`{}` was refused: {summary}", ask.event.name());
    let checkpoint = json!({ "summary": summary, "failed_approaches": new });
    Some(Map::from_iter([("checkpoint".to_owned(), checkpoint)]))
}

fn list(events: &[EventName]) -> String {
    if events.is_empty() {
        return "nothing".to_owned();
    }
    events.iter().map(EventName::as_str).collect::<Vec<_>>().join(", ")
}

fn current_attempt(current: &Option<Box<Effect>>) -> String {
    match current {
        Some(effect) => format!("`{}` is at attempt {}", effect.id, effect.attempt),
        None => "nothing is under way".to_owned(),
    }
}
