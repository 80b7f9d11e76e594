//! The autonomous loop by its schema, version 2, and the rules of its phases.

use super::{Answer, Model, Standing};

pub(super) fn take(model: &mut Model, event: &str, to: &'static str, at: i64) -> Answer {
    let no_fix_left = model.has_reached("fix_review_cycles", "max_fix_cycles");
    match (model.phase, event) {
        ("fix", _) => model.raise("fix_review_cycles"),
        // With its cycles used up the loop goes past the review, and never back from the test by itself.
        ("re_review", "p1_found") if no_fix_left => {
            model.left_by_force.insert(model.phase);
            let answer = model.redirect("compound", vec!["max_fix_cycles"], at);
            model.forced += 1;
            return settle(model, at).unwrap_or(answer);
        }
        ("test", "tests_failed") if no_fix_left => return model.park("max_fix_cycles"),
        _ => {}
    }
    model.left_by_force.remove(model.phase);
    model.enter(to, at);
    settle(model, at).unwrap_or(Answer::Moved)
}

pub(super) fn tick(model: &mut Model, at: i64) -> Answer {
    model.raise("phase_iteration");
    model.raise("global_iteration");
    settle(model, at).unwrap_or(Answer::Noted)
}

/// The tests are written: a person looks at them, unless that is switched off.
pub(super) fn written(model: &mut Model, to: &'static str, at: i64) -> Answer {
    if !model.limits.skip_test_review {
        return model.park("tests_written");
    }
    model.left_by_force.remove(model.phase);
    model.enter(to, at);
    settle(model, at).unwrap_or(Answer::Moved)
}

pub(super) fn approved(model: &mut Model, at: i64) -> Answer {
    model.standing = Standing::Active;
    model.left_by_force.remove(model.phase);
    model.enter("deepen", at);
    settle(model, at).unwrap_or(Answer::Moved)
}

/// Does what used-up turns ask for; nothing if none are.
fn settle(model: &mut Model, at: i64) -> Option<Answer> {
    if model.has_reached("global_iteration", "max_iterations") {
        return Some(model.park("max_iterations"));
    }
    if model.phase == "deepen" && model.count("phase_iteration") > 0 {
        // Nothing was shown, which is accepted as little as force is.
        model.left_by_force.insert(model.phase);
        model.enter("work", at);
        return Some(Answer::Moved);
    }
    if !model.has_reached("phase_iteration", "max_phase_iterations") {
        return None;
    }
    let next = match model.phase {
        "brainstorm" => "plan",
        "plan" => "spec_test",
        "spec_test" if model.limits.skip_test_review => "deepen",
        "work" => "review",
        "review" | "re_review" => "compound",
        "fix" => "re_review",
        "compound" => "test",
        // A person looks at the tests, and nothing is forced into or out of `ship`.
        _ => return Some(model.park("max_phase_iterations")),
    };
    if model.phase == "fix" {
        model.raise("fix_review_cycles");
    }
    model.forced += 1;
    model.left_by_force.insert(model.phase);
    model.enter(next, at);
    Some(Answer::Moved)
}
