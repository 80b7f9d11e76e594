//! Waits that are nobody's fault: a provider's limit or outage, tomorrow's money, a free place for an agent.
//!
//! The time that a run waits is not its own: its clocks stand still, and no counter is raised.

use serde_json::json;

use super::{Refused, Step, draft::Draft, turns::PROVIDER};
use crate::{Ask, Capped, Change, Decision, Run, Standing, Time, Wait, WaitKind, Workflow};

/// Why a run is parked whose money is spent.
const SPEND: &str = "spend";

const DAY: i64 = 24 * 60 * 60 * 1000;

/// Suspends a run. One that waits for the same already has its reason and its time set anew.
pub(super) fn suspended(
    workflow: &Workflow,
    run: &Run,
    ask: &Ask,
    (kind, why, until): (WaitKind, &str, Option<Time>),
) -> Result<Step, Refused> {
    let before = match &run.standing {
        Standing::Suspended { wait } => Some(wait),
        Standing::Active | Standing::Parked { .. } | Standing::Stopped | Standing::Ended { .. } => {
            super::check_standing(run, &ask.event.name())?;
            None
        }
    };
    let mut ask = ask.clone();
    ask.data.insert("kind".to_owned(), json!(kind));
    ask.data.insert("why".to_owned(), json!(why));
    ask.data.insert("until".to_owned(), json!(until));
    let since = before.map_or(ask.at, |wait| wait.since);
    let mut draft = Draft::new(workflow, run, &ask);
    let wait = Wait { kind, why: why.to_owned(), since, until };
    draft.change(Change::StandingSet { standing: Standing::Suspended { wait } });
    Ok(draft.finish())
}

/// Lets a suspended run go on. Its clocks go on from where they stood.
pub(super) fn over(workflow: &Workflow, run: &Run, ask: &Ask, wait: &Wait) -> Step {
    let mut draft = Draft::new(workflow, run, ask);
    draft.change(Change::StandingSet { standing: Standing::Active });
    hold_clocks(&mut draft, wait.since);
    draft.finish()
}

/// Ends the question about a provider: it serves the agents again.
pub(super) fn served_again(workflow: &Workflow, run: &Run, ask: &Ask, decision: &Decision) -> Step {
    let mut draft = Draft::new(workflow, run, ask);
    draft.change(Change::StandingSet { standing: Standing::Active });
    hold_clocks(&mut draft, decision.asked_at);
    draft.finish()
}

/// Tells whether the time that a question is open is not the run's own: it is about access or money, not about the work.
pub(super) fn is_waited_out(decision: &Decision) -> bool {
    decision.reason == PROVIDER || decision.capped.is_some()
}

/// Lets the clocks go on from where they stood at a moment.
pub(super) fn hold_clocks(draft: &mut Draft<'_>, since: Time) {
    let waited = draft.at.millis_since(since).max(0);
    let moved = |clock: Time| Time::from_millis(clock.millis().saturating_add(waited));
    let (phase, session) = (moved(draft.run.phase_started_at), moved(draft.run.session_clock));
    draft.change(Change::PhaseClockSet { at: phase });
    draft.change(Change::SessionClockSet { at: session });
}

/// Parks a run at a cap: a person says whether there is more.
pub(super) fn cap_reached(
    workflow: &Workflow,
    run: &Run,
    ask: &Ask,
    capped: &Capped,
) -> Result<Step, Refused> {
    super::check_standing(run, &ask.event.name())?;
    let mut ask = ask.clone();
    ask.data.insert("cap".to_owned(), json!(capped));
    let mut draft = Draft::new(workflow, run, &ask);
    draft.park_on(Decision {
        id: format!("{}.{}", run.id, run.events),
        question: capped.cap.question(),
        options: [Decision::MORE, "stop", Decision::TOMORROW].map(str::to_owned).into(),
        reason: SPEND.to_owned(),
        asked_at: ask.at,
        deadline: None,
        capped: Some(capped.clone()),
    });
    Ok(draft.finish())
}

/// Lets a run wait for the next day, in UTC, by which daily caps are counted.
pub(super) fn wait_for_tomorrow(draft: &mut Draft<'_>) {
    let today = draft.at.millis().div_euclid(DAY);
    let until = Time::from_millis(today.saturating_add(1).saturating_mul(DAY));
    let wait = Wait {
        kind: WaitKind::Spend,
        why: "a person lets it resume tomorrow".to_owned(),
        since: draft.at,
        until: Some(until),
    };
    draft.change(Change::StandingSet { standing: Standing::Suspended { wait } });
}
