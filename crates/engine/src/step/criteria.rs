//! Acceptance criteria that an agent proposes for an issue that has none.
//!
//! They are a question to a person. Below level 3, where a person merges, the work may go on with criteria that nobody has
//! confirmed: that is recorded, and stands in every report.

use super::{Refused, Step, draft::Draft, overrule};
use crate::{ACCEPT, Actor, Ask, Change, Decision, EventName, Objection, Run, Standing, Workflow};

/// The kind of the question whether proposed criteria are right.
pub const CRITERIA: &str = "criteria";

/// The level from which nothing is merged by criteria that nobody has confirmed.
const CONFIRMED_FROM: u64 = 3;

/// Goes on with criteria that nobody has confirmed, because nobody is there.
pub(super) fn unconfirmed(workflow: &Workflow, run: &Run, ask: &Ask) -> Result<Step, Refused> {
    let not_now = |why: &str| Refused::NotNow { event: ask.event.name(), why: why.to_owned() };
    if ask.actor != Actor::Engine {
        return Err(not_now("warp says that by itself when nobody is there to ask"));
    }
    match &run.standing {
        Standing::Parked { decision } if decision.reason == CRITERIA => {}
        Standing::Parked { .. }
        | Standing::Active
        | Standing::Suspended { .. }
        | Standing::Stopped
        | Standing::Ended { .. } => return Err(not_now("no criteria are to be confirmed")),
    }
    if run.level >= CONFIRMED_FROM {
        return Err(not_now("what is merged without a review needs criteria that a person has confirmed"));
    }
    let mut draft = Draft::new(workflow, run, ask);
    draft.change(Change::StandingSet { standing: Standing::Active });
    draft.change(Change::PhaseClockSet { at: draft.at });
    let reason = "proposed by the agent, nobody has confirmed them".to_owned();
    let objection = Objection { reason, ..overrule::objection(&draft, CRITERIA, planned(&draft)) };
    draft.advise(objection.to_string());
    draft.change(Change::Objected { objection });
    Ok(draft.finish())
}

/// Puts down who has confirmed proposed criteria.
pub(super) fn confirmed(draft: &mut Draft<'_>, ask: &Ask, decision: &Decision, option: &str) {
    if decision.reason != CRITERIA || option != ACCEPT {
        return;
    }
    let (accepted_by, note) = overrule::who(ask);
    let reason = "proposed by the agent".to_owned();
    let known = overrule::objection(draft, CRITERIA, planned(draft));
    draft.change(Change::Objected { objection: Objection { reason, accepted_by, note, ..known } });
}

/// Returns the event of the plan that the criteria come with.
fn planned(draft: &Draft<'_>) -> EventName {
    let event = draft.workflow.answer_event(&draft.run.phase);
    event.cloned().unwrap_or_else(|| EventName::new(CRITERIA))
}
