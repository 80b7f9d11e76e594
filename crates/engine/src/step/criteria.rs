//! Acceptance criteria that an agent proposes for an issue that has none.
//!
//! They are a question to a person. Below level 3, where a person merges, the work may go on with criteria that nobody has
//! confirmed: that is recorded, and stands in every report.

use super::{Refused, Step, draft::Draft, overrule};
use crate::{
    ACCEPT, Actor, Ask, Change, Decision, EventName, Objection, Probe, Run, Seen, Standing, Workflow,
    workflow::{Meaning, Row},
};

/// The kind of the question whether proposed criteria are right.
pub const CRITERIA: &str = "criteria";

/// The most criteria that are proposed for an issue.
pub const MOST_CRITERIA: usize = 10;

/// The gate that holds a plan while the issue has no criteria.
const GATE: &str = "criteria_check";

/// The level from which nothing is merged by criteria that nobody has confirmed.
const CONFIRMED_FROM: u64 = 3;

/// Names the look at the issue's criteria, where a plan is handed in to warp.
pub(super) fn probe(workflow: &Workflow, run: &Run, row: &Row) -> Option<Probe> {
    let is_plan = workflow.meaning(&run.phase, row.event.as_str()) == Some(Meaning::Plan);
    let issue = run.issue.clone().filter(|_| is_plan && run.owner.is_driver())?;
    Some(Probe::Criteria { issue })
}

/// Refuses an agent's plan that leaves the issue without criteria.
pub(super) fn check(run: &Run, row: &Row, ask: &Ask) -> Result<(), Refused> {
    let reason = match &ask.observations.has_criteria {
        Some(Seen::Value(false)) if ask.actor == Actor::Agent => {
            format!("the issue has no acceptance criteria: send 1 to {MOST_CRITERIA} of them as `criteria`")
        }
        Some(Seen::Failed(why)) => why.clone(),
        Some(Seen::Value(_) | Seen::Absent(_)) | None => return Ok(()),
    };
    let (phase, event, gate) = (run.phase.clone(), row.event.clone(), GATE.to_owned());
    Err(Refused::Gate { phase, event, gate, reason })
}

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
