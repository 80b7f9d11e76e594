//! The factory: labels, the phase protocol and its counters.

use super::{Answer, Model};

/// What an event counts, where it runs out, and the reason that is given then.
fn counted(event: &str) -> Option<(&'static str, &'static str, &'static str)> {
    match event {
        "ci_failed" => Some(("ci_fixes", "max_ci_fixes", "ci_exhausted")),
        "ci_infra_failed" => Some(("infra_retries", "max_infra_retries", "infra_exhausted")),
        "changes_requested" => Some(("review_rounds", "max_review_rounds", "review_exhausted")),
        "merge_conflicted" => Some(("merge_attempts", "max_merge_attempts", "merge_blocked")),
        "dependencies_closed" => Some(("unblocked", "unblocked", "blocked_again")),
        _ => None,
    }
}

pub(super) fn take(model: &mut Model, event: &str, to: &'static str, at: i64) -> Answer {
    match event {
        "pushed" => model.clear(&["infra_retries"]),
        "ci_passed" => model.clear(&["ci_fixes"]),
        "answered" => renew(model),
        _ => {}
    }
    if let Some((counter, setting, reason)) = counted(event) {
        model.raise(counter);
        if model.is_above(counter, setting) {
            return model.redirect("needs_human", vec![reason], at);
        }
    }
    model.enter(to, at);
    died(model, at);
    Answer::Moved
}

/// An answer gives the budget that ran out anew, and no other.
fn renew(model: &mut Model) {
    for event in
        ["ci_failed", "ci_infra_failed", "changes_requested", "merge_conflicted", "dependencies_closed"]
    {
        let (counter, setting, _) = counted(event).expect("a counted event");
        if model.is_above(counter, setting) {
            model.clear(&[counter]);
        }
    }
}

pub(super) fn crash(model: &mut Model, at: i64) -> Answer {
    model.raise("agent_restarts");
    if died(model, at) { Answer::Moved } else { Answer::Noted }
}

fn died(model: &mut Model, at: i64) -> bool {
    let died = model.phase == "in_progress" && model.is_above("agent_restarts", "max_agent_restarts");
    if died {
        model.enter("failed", at);
    }
    died
}

pub(super) fn deadline(model: &Model) -> (u64, Option<&'static str>) {
    match model.phase {
        "backlog" => (20_160, None),
        "blocked" => (43_200, Some("needs_human")),
        "underspecified" => (43_200, Some("failed")),
        "in_progress" => (model.limit("agent_timeout_minutes"), Some("failed")),
        "awaiting_ci" => (model.limit("ci_timeout_minutes"), Some("needs_human")),
        "awaiting_review" => (model.limit("review_timeout_minutes"), Some("needs_human")),
        _ => (model.limit("human_timeout_minutes"), Some("failed")),
    }
}

pub(super) fn due(model: &mut Model, at: i64) -> Answer {
    let Some(to) = deadline(model).1 else { return model.park("deadline") };
    model.enter(to, at);
    died(model, at);
    Answer::Moved
}
