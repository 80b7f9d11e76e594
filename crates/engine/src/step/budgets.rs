//! Budgets: limits with a counter and a named outcome.
//!
//! An outcome that replaces the asked transition is looked at where the event was asked; one that follows it
//! is looked at where the run stands afterwards.

use super::{acts, draft::Draft, receipts};
use crate::{
    Actor, Change, Checkpoint, Event, EventName, LoopError, PhaseName, Run, Time, Trip, Workflow,
    workflow::{Budget, BudgetDoes, Measure, Row, Target, Trips},
};

/// What was done about tripped budgets.
pub(super) enum Enforced {
    Nothing,
    Redirected,
    Parked,
}

/// Returns the budgets that are tripped and stand in the way of `event`, with what they do.
pub(super) fn replacing<'a>(
    draft: &Draft<'a>,
    row: &Row,
    event: &EventName,
) -> Vec<(&'a Budget, BudgetDoes)> {
    if row.exempt {
        return Vec::new();
    }
    let from = draft.run.phase.clone();
    tripped(draft, Some(event), &from)
}

/// Returns the budget that parks the run instead of letting it take `event`, if one does.
pub(super) fn parking<'a>(draft: &Draft<'a>, row: &Row, event: &EventName) -> Option<&'a Budget> {
    let warns =
        |budget: &Budget| budget.enforcement.is_some_and(|setting| draft.run.settings.get(setting) == "warn");
    let mut tripped = replacing(draft, row, event).into_iter();
    tripped.find(|(budget, does)| *does == BudgetDoes::Park && !warns(budget)).map(|(budget, _)| budget)
}

fn tripped<'a>(
    draft: &Draft<'a>,
    event: Option<&EventName>,
    phase: &PhaseName,
) -> Vec<(&'a Budget, BudgetDoes)> {
    let workflow = draft.workflow;
    let budgets = workflow.budgets.iter().filter(|budget| is_tripped(budget, &draft.run, draft.at));
    budgets
        .filter_map(|budget| Some((budget, workflow.outcome(budget, &draft.run, phase, event)?.clone())))
        .collect()
}

/// Tells whether a budget is used up.
pub(crate) fn is_tripped(budget: &Budget, run: &Run, at: Time) -> bool {
    let limit = budget.limit.value(&run.settings);
    let used = match &budget.measure {
        Measure::Counter(counter) => run.counter(counter),
        Measure::SameFailures => run.without_progress(),
        // A minute that has begun counts, so that a limit of 30 trips with the first moment beyond it.
        Measure::PhaseMinutes => at.millis_since(run.phase_started_at).unsigned_abs().div_ceil(60_000),
        Measure::SessionMinutes => at.millis_since(run.session_clock).unsigned_abs().div_ceil(60_000),
    };
    match budget.trips {
        Trips::Above => used > limit,
        // A limit of zero means "not even once", not "before anything happened".
        Trips::At => used > 0 && used >= limit,
    }
}

/// Carries out what tripped budgets do instead of the asked transition.
pub(super) fn enforce(draft: &mut Draft<'_>, tripped: Vec<(&Budget, BudgetDoes)>) -> Enforced {
    let mut reasons = Vec::new();
    let mut redirect = None;
    let mut aborts = false;
    let mut forced = Vec::new();
    for (budget, does) in tripped {
        let enforcement = budget.enforcement.map(|setting| draft.run.settings.get(setting).to_owned());
        if enforcement.as_deref() == Some("warn") {
            let limit = budget.limit.value(&draft.run.settings);
            draft.advise(format!(
                "{}: `{}` has lasted longer than {limit} minutes",
                budget.reason, draft.run.phase
            ));
            continue;
        }
        aborts |= enforcement.as_deref() == Some("abort");
        match does {
            BudgetDoes::Redirect(to) => {
                reasons.push(budget.reason.to_string());
                redirect.get_or_insert(to);
                forced.extend(budget.forced.then_some(&budget.reason));
            }
            BudgetDoes::Park => {
                park(draft, budget);
                return Enforced::Parked;
            }
            BudgetDoes::Follow(_) => {}
        }
    }
    let Some(to) = redirect else { return Enforced::Nothing };
    let trip = Trip { reasons: reasons.clone(), at: draft.at, from_phase: draft.run.phase.clone() };
    let from = draft.run.phase.clone();
    draft.change(Change::BudgetTripped { trip });
    draft.redirected(reasons);
    draft.enter(&to, None);
    for reason in forced {
        record_forced(draft, &from, reason);
    }
    if aborts {
        abort(draft);
    }
    Enforced::Redirected
}

/// Goes on from a redirect to the workflow's stop, as `phase_timeout_enforcement = "abort"` asks.
fn abort(draft: &mut Draft<'_>) {
    let workflow = draft.workflow;
    let rows = workflow.rows(&draft.run.phase);
    let stops = |row: &&Row| workflow.stop_event.as_ref() == Some(&row.event);
    if let Some(row) = rows.iter().find(|row| row.aborts).or_else(|| rows.iter().find(stops)) {
        take(draft, row);
    }
}

/// Follows what used-up budgets ask for where the run now stands; each phase is left at most once.
pub(super) fn follow(draft: &mut Draft<'_>) {
    for _ in 0..draft.workflow.phases.len() {
        let phase = draft.run.phase.clone();
        let Some((budget, does)) = tripped(draft, None, &phase).into_iter().next() else { return };
        match does {
            BudgetDoes::Park => {
                park(draft, budget);
                return;
            }
            BudgetDoes::Follow(event) => {
                let workflow = draft.workflow;
                let Some(row) = workflow.row(&phase, event.as_str()) else { return };
                draft.advise(match budget.forced {
                    true => format!("`{phase}` is left by force: {} is reached", budget.reason),
                    false => format!("{}: `{event}` follows in `{phase}`", budget.reason),
                });
                take(draft, row);
                if budget.forced {
                    record_forced(draft, &phase, &budget.reason);
                } else if row.completes_phase() {
                    receipts::record_followed(draft, &phase, &budget.reason, false);
                }
            }
            BudgetDoes::Redirect(_) => return,
        }
    }
}

/// Takes a row by the engine's own doing: gates and data do not apply, counters do.
pub(super) fn take(draft: &mut Draft<'_>, row: &Row) {
    draft.next_record(&row.event);
    draft.count(row);
    let mut ask = crate::Ask::new(Event::Named(row.event.clone()), draft.at);
    ask.actor = Actor::Engine;
    ask.observations.clone_from(&draft.seen);
    acts::perform(draft, row, &ask, acts::Taken::ByItself);
    let to = match &row.to {
        Target::Phase(to) => to.clone(),
        Target::Origin => draft.run.origin.clone().unwrap_or_else(|| draft.run.phase.clone()),
    };
    draft.enter(&to, row.reason.as_deref());
}

fn record_forced(draft: &mut Draft<'_>, phase: &PhaseName, reason: &str) {
    let iteration = draft.run.counter("global_iteration");
    let message = format!("forced advance out of {phase}: {reason} reached");
    let error = LoopError { phase: phase.clone(), message, iteration, timestamp: draft.at };
    draft.change(Change::ErrorAdded { error });
    receipts::record_followed(draft, phase, reason, true);
    let summary = format!("left by force ({reason} reached), with nothing shown");
    let checkpoint =
        Checkpoint { phase: phase.clone(), summary, failed_approaches: Vec::new(), timestamp: draft.at };
    acts::add_checkpoint(draft, checkpoint);
}

pub(super) fn park(draft: &mut Draft<'_>, budget: &Budget) {
    let run = &draft.run;
    let used = budget.used(run, run.phase_started_at, draft.at);
    let question = budget.question(run, &run.phase, used, Budget::CONTINUE);
    draft.park(&budget.reason, question, &["continue", "stop"]);
}

/// Sets the measures of these budgets back to their start.
pub(super) fn renew(draft: &mut Draft<'_>, workflow: &Workflow, reasons: &[String], keep: &[String]) {
    for budget in workflow.budgets.iter().filter(|budget| reasons.contains(&budget.reason)) {
        match &budget.measure {
            Measure::Counter(counter) if keep.contains(counter) => {}
            Measure::Counter(counter) => draft.set_counter(counter, 0),
            Measure::SameFailures => {
                draft.change(Change::FailureSeen { failure: None });
                draft.change(Change::IdleTurnsSet { count: 0 });
            }
            Measure::PhaseMinutes => draft.change(Change::PhaseClockSet { at: draft.at }),
            Measure::SessionMinutes => draft.change(Change::SessionClockSet { at: draft.at }),
        }
    }
}
