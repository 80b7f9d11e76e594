//! Waits that end by themselves, and caps of spend.

use insta::assert_snapshot;

use crate::script::{play, play_to};

#[test]
fn a_suspended_run_takes_nothing_until_its_wait_is_over() {
    assert_snapshot!(play("@coding, turn claude, engine suspend no more until four, code_complete, engine over, engine over, code_complete"), @"
    turn claude: coding
    engine suspend no more until four: coding, waits: no more until four, until 2026-05-08T16:56:59Z
    code_complete: refused: `code_complete` is refused: the run waits: no more until four, until 2026-05-08T16:56:59Z
    engine over: coding
    engine over: refused: `wait_over` is refused: the run waits for nothing that ends by itself
    code_complete: updating_docs e8
    ");
}

#[test]
fn time_that_a_run_waits_is_not_its_own() {
    let (run, lines) = play_to(
        "warp-drive phase_timeout_enforcement=block max_session_minutes=60: @coding, +20m, engine suspend no more, +600m, engine over, +9m, deadline, +2m, deadline",
    );
    assert_snapshot!(lines, @"
    engine suspend no more: coding, waits: no more, until 2026-05-08T17:16:59Z
    engine over: coding
    deadline: refused: `deadline_passed` is refused: the deadline of `coding` is 2026-05-09T02:26:59.401Z
    deadline: budget_exceeded, redirected by phase_timeout e7
    ");
    assert_eq!(run.trip.map(|trip| trip.reasons), Some(vec!["phase_timeout".to_owned()]));
}

#[test]
fn a_person_ends_a_wait_early_or_stops_the_run() {
    assert_snapshot!(play("@coding, engine suspend no more, agent resume, resume, engine suspend no more, stop"), @"
    engine suspend no more: coding, waits: no more, until 2026-05-08T16:56:59Z
    agent resume: refused: `resumed` is refused in `coding`: it needs a person; tell them, and wait
    resume: coding
    engine suspend no more: coding, waits: no more, until 2026-05-08T16:56:59Z
    stop, then abort: aborted e9
    ");
}

#[test]
fn a_question_about_the_provider_has_no_deadline_and_ends_when_it_serves_again() {
    assert_snapshot!(play("@coding, agent provider log in, engine provider log in, +600m, engine defer, agent over, engine over, engine provider log in, answer skip, +600m, answer continue, code_complete"), @"
    agent provider log in: refused: `kind` `provider` is for warp itself to ask about
    engine provider log in: coding, parked on r1.5: log in
    engine defer: refused: `chunk_deferred` is refused: the question waits for as long as it takes
    agent over: refused: `wait_over` is refused: the run waits for nothing that ends by itself
    engine over: coding
    engine provider log in: coding, parked on r1.7: log in
    answer skip: refused: `option` must be one of continue, abort
    answer continue: coding
    code_complete: updating_docs e9
    ");
    let (run, _) = play_to("@coding, engine provider log in");
    let engine::Standing::Parked { decision } = run.standing else { panic!("{:?}", run.standing) };
    assert_eq!(
        (decision.deadline, decision.options),
        (None, vec!["continue".to_owned(), "abort".to_owned()])
    );
}

#[test]
fn a_cap_asks_for_more_or_for_tomorrow() {
    assert_snapshot!(play("@coding, engine cap, code_complete, agent answer more, answer more, engine cap, answer tomorrow, engine over, engine cap, answer stop"), @"
    engine cap: coding, parked on r1.5: Spending cap reached ($20.03 of $20.00). Raise it?
    code_complete: refused: `code_complete` is refused: the run waits for decision r1.5: Spending cap reached ($20.03 of $20.00). Raise it? (more, stop, tomorrow)
    agent answer more: refused: `decision_answered` is refused in `coding`: it needs a person; tell them, and wait
    answer more: coding
    engine cap: coding, parked on r1.7: Spending cap reached ($20.03 of $20.00). Raise it?
    answer tomorrow: coding, waits: a person lets it resume tomorrow, until 2026-05-09T00:00:00Z
    engine over: coding
    engine cap: coding, parked on r1.10: Spending cap reached ($20.03 of $20.00). Raise it?
    answer stop, then abort: aborted e12
    ");
    let (run, _) = play_to("@coding, engine cap, answer tomorrow");
    let engine::Standing::Suspended { wait } = run.standing else { panic!("{:?}", run.standing) };
    assert_eq!(wait.until.map(|until| until.to_string()).as_deref(), Some("2026-05-09T00:00:00.000Z"));
}

#[test]
fn turns_that_change_nothing_are_no_progress() {
    let idle = "turn claude, idled s1, ";
    let (run, lines) =
        play_to(&format!("@coding, {idle}{idle}turn claude, turned s1, {idle}{idle}{idle}code_complete"));
    assert_snapshot!(lines, @"
    turn claude: coding
    idled s1: coding
    turn claude: coding
    idled s1: coding
    turn claude: coding
    turned s1: coding
    turn claude: coding
    idled s1: coding
    turn claude: coding
    idled s1: coding
    turn claude: coding
    idled s1: coding
    code_complete: budget_exceeded, redirected by no_progress e17
    ");
    assert_eq!(run.trip.map(|trip| trip.reasons), Some(vec!["no_progress".to_owned()]));
}
