//! The coder by rev F of its document.

use super::{Answer, Model, Standing};

/// The three phases with an iteration budget, and the name of both counter and setting.
fn budget(phase: &str) -> Option<&'static str> {
    match phase {
        "PLANNING" => Some("planning_iterations"),
        "CODING" => Some("coding_iterations"),
        "FIXING" => Some("fixing_iterations"),
        _ => None,
    }
}

pub(super) fn take(model: &mut Model, event: &str, to: &'static str, at: i64) -> Answer {
    match (model.phase, event) {
        // Whatever ends a turn uses it up, but for the budget's own event and the ends of the task.
        (_, "submit_plan" | "clarification" | "code_complete" | "fix_done") => {
            model.raise(budget(model.phase).expect("a working phase"));
        }
        ("BUDGET_REVIEW", "continue" | "pivot") => {
            model.raise("budget_answers");
            model.clear(&[budget(to).expect("a working phase")]);
        }
        ("BUDGET_REVIEW", "escalate") => model.raise("budget_answers"),
        _ => {}
    }
    model.enter(to, at);
    review_budget(model, at);
    Answer::Moved
}

/// A person has agreed that nothing is left to do.
pub(super) fn approved(model: &mut Model, at: i64) -> Answer {
    model.standing = Standing::Active;
    model.enter("DONE", at);
    Answer::Moved
}

pub(super) fn tick(model: &mut Model, at: i64) -> Answer {
    model.raise(budget(model.phase).expect("a working phase"));
    if review_budget(model, at) { Answer::Moved } else { Answer::Noted }
}

/// A budget that is used up is reviewed at once; a reviewer who granted too often is not asked.
fn review_budget(model: &mut Model, at: i64) -> bool {
    let is_used_up = budget(model.phase).is_some_and(|counter| model.has_reached(counter, counter));
    if is_used_up {
        model.enter("BUDGET_REVIEW", at);
    }
    if model.phase == "BUDGET_REVIEW" && model.has_reached("budget_answers", "max_budget_answers") {
        model.enter("ERROR", at);
    }
    is_used_up
}

pub(super) fn deadline(phase: &str) -> (u64, Option<&'static str>) {
    match phase {
        "SETUP" => (10, Some("ERROR")),
        "TESTING" => (30, Some("FIXING")),
        "ERROR" => (10, Some("DONE")),
        _ => (120, None),
    }
}

pub(super) fn due(model: &mut Model, at: i64) -> Answer {
    let Some(to) = deadline(model.phase).1 else { return model.park("deadline") };
    model.enter(to, at);
    review_budget(model, at);
    Answer::Moved
}
