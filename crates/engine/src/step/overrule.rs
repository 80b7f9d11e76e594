//! A person overrules an advisory check.
//!
//! The refused event is kept with the question. `accept` records the person's decision, and then the event is taken as it
//! was offered: its other checks still hold. In a phase that is warp's own the work is done again instead, because it
//! stopped at the refusal. Tests and verification commands are never among what can be accepted.

use super::{Advice, Refused, Step, draft::Draft, take_row, turns};
use crate::{
    ACCEPT, Actor, Ask, Change, Decision, Event, EventName, Objection, RefusedEvent, Run, Standing, Workflow,
    workflow::{Activity, Row},
};

/// The kind of the question whether a refusal is accepted.
pub(super) const CHECK: &str = "check";
/// The answer that has the work done again.
const CONTINUE: &str = "continue";
/// The most that is kept of a person's name and of a check's words.
const LONGEST_NAME: usize = 200;

/// What the gates of a row say about an event that they let pass.
pub(super) enum Said {
    Nothing { gate: &'static str },
    NotChecked(String),
    Doubt { gate: &'static str, reason: String },
    Accepted(String),
}

/// Puts down what the gates of a row said.
pub(super) fn note(draft: &mut Draft<'_>, row: &Row, said: Vec<Said>) {
    for said in said {
        match said {
            Said::Nothing { gate } => {
                let chunk = draft.run.chunk.index;
                let is_old =
                    |known: &Objection| known.accepted_by.is_none() && known.is_of(gate, &row.event, chunk);
                if draft.run.objections.iter().any(is_old) {
                    let event = row.event.clone();
                    draft.change(Change::ObjectionWithdrawn { gate: gate.to_owned(), event });
                }
            }
            Said::NotChecked(why) => draft.advise(format!("not checked: {why}")),
            Said::Doubt { gate, reason } => {
                let objection = Objection { reason, ..objection(draft, gate, row.event.clone()) };
                draft.advise(objection.to_string());
                draft.change(Change::Objected { objection });
            }
            Said::Accepted(words) => draft.advise(words),
        }
    }
}

/// Returns an objection of a check to an event of the current chunk, without its words.
pub(super) fn objection(draft: &Draft<'_>, gate: &str, event: EventName) -> Objection {
    Objection {
        gate: gate.to_owned(),
        event,
        reason: String::new(),
        chunk: draft.run.chunk.index,
        at: draft.at,
        accepted_by: None,
        note: None,
    }
}

/// Returns the name of the person who has answered, and what they said about it.
pub(super) fn who(ask: &Ask) -> (Option<String>, Option<String>) {
    let text = |field: &str, most: usize| {
        let text = ask.data.get(field).and_then(serde_json::Value::as_str)?;
        Some(turns::cut(text.trim(), most)).filter(|text| !text.is_empty())
    };
    let by = text("by", LONGEST_NAME).unwrap_or_else(|| "a person".to_owned());
    (Some(by), text("note", turns::LONGEST_SAID))
}

/// Asks a person about an event that an advisory check refuses.
pub(super) fn raised(
    workflow: &Workflow,
    run: &Run,
    ask: &Ask,
    refused: &RefusedEvent,
) -> Result<Step, Refused> {
    if ask.actor == Actor::Agent {
        let why = "warp asks that by itself when retries do not help".to_owned();
        return Err(Refused::NotNow { event: ask.event.name(), why });
    }
    if workflow.row(&run.phase, refused.event.as_str()).is_none() {
        return Err(Refused::not_possible(workflow, run, &refused.event));
    }
    let question = format!(
        "`{}` cannot continue: `{}` is refused by {}: {}\nAccept it all the same?",
        run.phase, refused.event, refused.gate, refused.reason
    );
    let options = [ACCEPT, CONTINUE].map(str::to_owned);
    let mut draft = turns::ask_person(workflow, run, ask, (CHECK, &question, &options))?;
    draft.change(Change::RefusalRaised { refused: Box::new(refused.clone()) });
    Ok(draft.finish())
}

/// Returns the refused event that an answer accepts.
pub(super) fn accepted<'a>(run: &'a Run, decision: &Decision, option: &str) -> Option<&'a RefusedEvent> {
    run.refused.as_ref().filter(|_| decision.reason == CHECK && option == ACCEPT)
}

/// Returns the refused event that is taken with an answer.
pub(super) fn taken<'a>(
    workflow: &Workflow,
    run: &'a Run,
    decision: &Decision,
    option: &str,
) -> Option<&'a RefusedEvent> {
    let phase = workflow.phase(&run.phase);
    let is_agents = phase.is_some_and(|phase| phase.activity == Activity::Agent);
    accepted(run, decision, option).filter(|_| is_agents)
}

/// Records that a person accepts a refused event, and takes it where it was an agent's.
pub(super) fn accept(
    workflow: &Workflow,
    run: &Run,
    ask: &Ask,
    (decision, option): (&Decision, &str),
    refused: &RefusedEvent,
) -> Result<Step, Refused> {
    let mut draft = Draft::new(workflow, run, ask);
    draft.change(Change::StandingSet { standing: Standing::Active });
    draft.change(Change::PhaseClockSet { at: draft.at });
    let (accepted_by, note) = who(ask);
    let reason = turns::cut(refused.reason.trim(), turns::LONGEST_SAID);
    let known = objection(&draft, &refused.gate, refused.event.clone());
    let objection = Objection { reason, accepted_by, note, ..known };
    draft.advise(objection.to_string());
    draft.change(Change::Objected { objection });
    let freed = draft.finish();
    if taken(workflow, run, decision, option).is_none() {
        return Ok(freed);
    }
    let event = refused.event.clone();
    let named = Ask {
        event: Event::Named(event.clone()),
        actor: refused.actor,
        data: refused.data.clone(),
        ..ask.clone()
    };
    let next = match take_row(workflow, &freed.run, &named, &event) {
        Ok(taken) => taken,
        Err(other) => match other.to_overrule(refused.actor, &refused.data) {
            // Another check has something to say: that is another question.
            Some(refused) => {
                let asks = Event::RefusalRaised { refused: Box::new(refused.clone()) };
                let asks = Ask { actor: Actor::Engine, at: ask.at, ..Ask::new(asks, ask.at) };
                raised(workflow, &freed.run, &asks, &refused)?
            }
            None => {
                let mut freed = freed;
                freed.advice.push(Advice(other.to_string()));
                return Ok(freed);
            }
        },
    };
    let records = freed.records.into_iter().chain(next.records).collect();
    let mut advice = freed.advice;
    advice.extend(next.advice);
    advice.dedup();
    Ok(Step { records, advice, ..next })
}
