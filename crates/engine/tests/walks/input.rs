//! What a walk is made of: plain numbers, read where the run stands, so that every list of them is a walk.

use crate::{
    model::{Attempt, Happening, Limits, Model, Named},
    oracle::ALL_EVENTS,
    support::Dice,
};

/// Returns the time of the next step.
pub(crate) fn time(dice: &mut Dice, at: i64, model: &Model) -> i64 {
    let millis = |dice: &mut Dice, most| i64::try_from(1 + dice.roll(most)).expect("a short time");
    match dice.roll(17) {
        0..8 => at,
        8..12 => at + millis(dice, 120_000),
        12..14 => at + 60_000 * millis(dice, 20),
        14 => at.max(model.due()),
        15 => at.max(model.due() + 1),
        // A clock that goes back.
        _ => at - millis(dice, 300_000),
    }
}

/// Returns what happens to a run that stands where `model` stands.
pub(crate) fn happening(dice: &mut Dice, model: &Model) -> Happening {
    let mut allowed = model.oracle.events(model.phase);
    allowed.extend(model.oracle.ticks.iter().filter(|tick| tick.0 == model.phase).map(|tick| tick.1));
    allowed.extend(model.oracle.asks.iter().filter(|ask| ask.0 == model.phase).map(|ask| ask.1));
    allowed.extend(model.oracle.close.filter(|_| model.oracle.finals.contains(&model.phase)));
    let likely: Vec<&str> = allowed.iter().copied().filter(|event| !ENDING.contains(event)).collect();
    let name = match dice.roll(40) {
        0..24 if !likely.is_empty() => dice.pick(&likely),
        0..27 if !allowed.is_empty() => dice.pick(&allowed),
        0..30 => dice.pick(&ALL_EVENTS),
        30..33 => return Happening::Edited { file: dice.pick(&["src/a.rs", "src/b.rs", "docs/c.md"]) },
        33 => return Happening::DeadlinePassed,
        34 => return Happening::AttemptStarted { current: !dice.one_in(5) },
        35..38 => {
            let options = [
                "continue", "continue", "continue", "continue", "approve", "approve", "reject", "mine",
                "mine", "stop", "maybe",
            ];
            let option = dice.pick(&options);
            return Happening::Answered { option, open: !dice.one_in(9) };
        }
        38 => return Happening::Resumed,
        _ => match dice.roll(20) {
            0..4 => return Happening::Stopped,
            4 => return Happening::Reset,
            5..9 => return Happening::RailBroken { restored: !dice.one_in(3) },
            _ => return Happening::Noted,
        },
    };
    let failures =
        [Some(("FAIL login", "t1")), Some(("FAIL login", "t2")), Some(("FAIL logout", "t1")), None];
    Happening::Event(Named {
        name,
        // One of them twice as often as all others together.
        failure: if dice.one_in(3) { dice.pick(&failures) } else { failures[0] },
        chunks: if dice.one_in(13) { 0 } else { 1 + dice.roll(3) },
        clears: !dice.one_in(14),
        attempt: match dice.roll(13) {
            0..8 => Attempt::None,
            8..12 => Attempt::Current,
            _ => Attempt::Replaced,
        },
        // A loop is its agent's; elsewhere one that shows nothing would only stand in the way.
        by_agent: dice.one_in(match (model.oracle.name, name) {
            (_, "shipped") => 2,
            ("autonomous-loop", _) => 6,
            _ => 25,
        }),
    })
}

/// Events that lead to an end; a walk that took them as often as the others would be short.
const ENDING: [&str; 16] = [
    "abort",
    "budget_abort",
    "no_work",
    "continue_no",
    "session_ended",
    "abort_resolved",
    "abort_cleanup_failed",
    "workspace_setup_failed",
    "completion_approved",
    "abandon",
    "unrecoverable_error",
    "merge_successful",
    "already_done",
    "withdrawn",
    "merged",
    "failed",
];

/// The settings of a walk, and the most that each is in most walks.
const SETTINGS: [(&str, u64); 24] = [
    ("max_coding_cycles", 4),
    ("max_retries_per_chunk", 6),
    ("max_no_progress", 4),
    ("max_total_chunks", 4),
    ("max_edits_per_file", 3),
    ("planning_iterations", 5),
    ("coding_iterations", 5),
    ("fixing_iterations", 4),
    ("max_budget_answers", 4),
    ("max_iterations", 30),
    ("max_phase_iterations", 6),
    ("max_fix_cycles", 3),
    ("max_ci_fixes", 3),
    ("max_infra_retries", 3),
    ("max_review_rounds", 3),
    ("max_merge_attempts", 3),
    ("max_agent_restarts", 3),
    ("max_phase_minutes", 40),
    ("max_session_minutes", 600),
    ("decision_timeout_minutes", 15),
    ("ci_timeout_minutes", 60),
    ("review_timeout_minutes", 60),
    ("agent_timeout_minutes", 60),
    ("human_timeout_minutes", 60),
];

/// Reads settings that are small enough for budgets to run out, and sometimes are not.
pub(crate) fn limits(numbers: [u16; 32]) -> Limits {
    let read = |((name, most), number): ((&'static str, u64), &u16)| {
        let number = u64::from(*number);
        (name, if number % 5 == 4 { 1_000 } else { number / 5 % (most + 1) })
    };
    // The last is the one limit that is no setting.
    let counts = SETTINGS.into_iter().zip(&numbers).map(read).chain([("unblocked", 10)]).collect();
    Limits {
        counts,
        skip_brainstorm: numbers[24] % 2 == 1,
        skip_test_review: numbers[25] % 2 == 1,
        enforcement: ["warn", "block", "abort"][usize::from(numbers[26] % 3)],
    }
}
