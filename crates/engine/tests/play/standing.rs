//! Parked, stopped, over; deadlines, decisions, attempts and edits.

use insta::assert_snapshot;

use crate::{
    script::{play, play_to},
    support::workflow,
};

#[test]
fn a_deadline_is_not_passed_before_its_last_moment() {
    assert_snapshot!(play("@coding, +30m, deadline, +1ms, deadline"), @"
    deadline: refused: `deadline_passed` is refused: the deadline of `coding` is 2026-05-08T16:26:59.401Z
    deadline: coding
      phase_timeout: `coding` has lasted longer than 30 minutes
    ");
}

#[test]
fn a_deadline_fires_the_event_that_it_names() {
    assert_snapshot!(
        play("@awaiting_continue, +11m, deadline"),
        @"deadline, then continue_no: session_ending [total_chunks 1] e14"
    );
    assert_snapshot!(
        play("@aborted, +31m, deadline"),
        @"deadline, then abort_cleanup_failed: completed, ended (completed)"
    );
    assert_snapshot!(play("coder: @SETUP, +11m, deadline, +11m, deadline"), @"
    deadline, then workspace_setup_failed: ERROR e3
    deadline, then cleanup_and_restart: DONE, ended (DONE)
    ");
    assert_snapshot!(
        play("coder: @TESTING, +31m, deadline"),
        @"deadline, then tests_fail: FIXING (test_failure) [coding_iterations 1, planning_iterations 1] e7"
    );
}

#[test]
fn a_deadline_trips_the_budget_that_it_names() {
    assert_snapshot!(
        play("warp-drive phase_timeout_enforcement=block: @planning, +31m, deadline"),
        @"deadline: budget_exceeded, redirected by phase_timeout e3"
    );
    assert_snapshot!(
        play("warp-drive phase_timeout_enforcement=abort: @planning, +31m, deadline"),
        @"deadline, then budget_abort: aborted, redirected by phase_timeout e4"
    );
}

#[test]
fn a_deadline_parks_where_no_event_is_named() {
    assert_snapshot!(play("coder: @PLANNING, +121m, deadline, submit_plan, deadline, answer maybe,
        answer continue, +120m, deadline, +1m, deadline, answer stop, submit_plan, resume, submit_plan"), @"
    deadline: PLANNING, parked on r1.3: `PLANNING` has waited longer than 120 minutes. Continue waiting?
    submit_plan: refused: `submit_plan` is refused: the run waits for decision r1.3: `PLANNING` has waited longer than 120 minutes. Continue waiting? (continue, stop)
    deadline: refused: `deadline_passed` is refused: the run waits for decision r1.3: `PLANNING` has waited longer than 120 minutes. Continue waiting? (continue, stop)
    answer maybe: refused: `option` must be one of continue, stop
    answer continue: PLANNING
    deadline: refused: `deadline_passed` is refused: the deadline of `PLANNING` is 2026-05-08T19:57:59.401Z
    deadline: PLANNING, parked on r1.5: `PLANNING` has waited longer than 120 minutes. Continue waiting?
    answer stop: PLANNING, stopped
    submit_plan: refused: `submit_plan` is refused: the run was stopped in `PLANNING`
    resume: PLANNING
    submit_plan: PLAN_REVIEW [planning_iterations 1] e8
    ");
}

#[test]
fn every_phase_with_work_left_has_a_deadline() {
    assert_snapshot!(play("autonomous-loop: @ship, +480m, deadline, +1ms, deadline"), @"
    deadline: refused: `deadline_passed` is refused: the deadline of `ship` is 2026-05-08T23:56:59.401Z
    deadline: ship, parked on r1.9: `ship` has waited longer than 480 minutes. Continue waiting?
    ");
}

#[test]
fn nobody_answers_a_budget_decision_so_the_run_parks() {
    assert_snapshot!(play("warp-drive max_coding_cycles=0: @testing, tests_failed, +11m, deadline,
        budget_continue, answer continue, budget_continue"), @"
    tests_failed: budget_exceeded, redirected by coding_cycles_exceeded [coding_cycles 1, retry_count 1] e7
    deadline: budget_exceeded, parked on r1.8: `budget_exceeded` has waited longer than 10 minutes. Continue waiting? [coding_cycles 1, retry_count 1]
    budget_continue: refused: `budget_continue` is refused: the run waits for decision r1.8: `budget_exceeded` has waited longer than 10 minutes. Continue waiting? (continue, stop)
    answer continue: budget_exceeded [coding_cycles 1, retry_count 1]
    budget_continue: coding [retry_count 1] e10
    ");
}

#[test]
fn an_answer_counts_once_and_only_for_its_own_decision() {
    assert_snapshot!(play("coder: @PLANNING, answer continue, +121m, deadline, answer continue,
        answer continue"), @"
    answer continue: refused: `decision_answered` is refused: decision `r1.0` is not open
    deadline: PLANNING, parked on r1.3: `PLANNING` has waited longer than 120 minutes. Continue waiting?
    answer continue: PLANNING
    answer continue: refused: `decision_answered` is refused: decision `r1.0` is not open
    ");
}

#[test]
fn stopping_warp_drive_aborts_it_even_when_it_is_parked() {
    assert_snapshot!(play("@coding, stop, stop"), @"
    stop: aborted e5
    stop: aborted
      `aborted` is already on its way to the end
    ");
    assert_snapshot!(play("warp-drive max_coding_cycles=0: @testing, tests_failed, +11m, deadline, stop"), @"
    tests_failed: budget_exceeded, redirected by coding_cycles_exceeded [coding_cycles 1, retry_count 1] e7
    deadline: budget_exceeded, parked on r1.8: `budget_exceeded` has waited longer than 10 minutes. Continue waiting? [coding_cycles 1, retry_count 1]
    stop, then abort: aborted [coding_cycles 1, retry_count 1] e10
    ");
    assert_snapshot!(play("warp-drive max_coding_cycles=0: @testing, tests_failed, +11m, deadline,
        answer stop, budget_continue, stop"), @"
    tests_failed: budget_exceeded, redirected by coding_cycles_exceeded [coding_cycles 1, retry_count 1] e7
    deadline: budget_exceeded, parked on r1.8: `budget_exceeded` has waited longer than 10 minutes. Continue waiting? [coding_cycles 1, retry_count 1]
    answer stop, then abort: aborted [coding_cycles 1, retry_count 1] e10
    budget_continue: refused: `budget_continue` is not possible in `aborted`; possible: abort_resolved, abort_cleanup_failed, restart
    stop: aborted [coding_cycles 1, retry_count 1]
      `aborted` is already on its way to the end
    ");
}

#[test]
fn stopping_another_workflow_leaves_the_phase() {
    assert_snapshot!(play("coder: @CODING, resume, stop, stop, code_complete, +121m, deadline, resume,
        code_complete"), @"
    resume: refused: `resumed` is refused: the run is not stopped
    stop: CODING, stopped [planning_iterations 1]
    stop: refused: `stop_requested` is refused: the run is already stopped
    code_complete: refused: `code_complete` is refused: the run was stopped in `CODING`
    deadline: refused: `deadline_passed` is refused: the run was stopped in `CODING`
    resume: CODING [planning_iterations 1]
    code_complete: TESTING [coding_iterations 1, planning_iterations 1] e7
    ");
    assert_snapshot!(play("coder: @CODING, +121m, deadline, resume, stop"), @"
    deadline: CODING, parked on r1.5: `CODING` has waited longer than 120 minutes. Continue waiting? [planning_iterations 1]
    resume: refused: `resumed` is refused: the run waits for decision r1.5: `CODING` has waited longer than 120 minutes. Continue waiting? (continue, stop)
    stop: CODING, stopped [planning_iterations 1]
    ");
}

#[test]
fn a_run_that_is_over_takes_nothing() {
    assert_snapshot!(play("@completed, abort, edit a, stop, resume, reset, deadline"), @"
    abort: refused: `abort` is refused: the run is over (completed)
    edit a: refused: `file_edited` is refused: the run is over (completed)
    stop: refused: `stop_requested` is refused: the run is over (completed)
    resume: refused: `resumed` is refused: the run is over (completed)
    reset: refused: `reset_requested` is refused: the run is over (completed)
    deadline: refused: `deadline_passed` is refused: the run is over (completed)
    ");
    assert_snapshot!(play("coder: @CODING, reset, code_complete"), @"
    reset: CODING, ended (reset) [planning_iterations 1]
    code_complete: refused: `code_complete` is refused: the run is over (reset)
    ");
}

#[test]
fn the_outcome_of_a_replaced_attempt_is_refused() {
    assert_snapshot!(play("@testing, attempt, attempt, tests_passed effect=e6 attempt=2,
        tests_passed effect=e5 attempt=3, tests_passed effect=e6 attempt=3, committed effect=e6 attempt=3"), @"
    attempt: testing e6#2
    attempt: testing e6#3
    tests_passed effect=e6 attempt=2: refused: outcome of attempt 2 of `e6` is refused: `e6` is at attempt 3
    tests_passed effect=e5 attempt=3: refused: outcome of attempt 3 of `e5` is refused: `e6` is at attempt 3
    tests_passed effect=e6 attempt=3: committing e9
    committed effect=e6 attempt=3: refused: outcome of attempt 3 of `e6` is refused: `e9` is at attempt 1
    ");
}

#[test]
fn the_turn_or_the_end_of_a_replaced_attempt_is_refused_too() {
    assert_snapshot!(play("coder: @PLANNING, attempt, turn_finished effect=e2 attempt=1,
        turn_finished effect=e2 attempt=2"), @"
    attempt: PLANNING e2#2
    turn_finished effect=e2 attempt=1: refused: outcome of attempt 1 of `e2` is refused: `e2` is at attempt 2
    turn_finished effect=e2 attempt=2: PLANNING [planning_iterations 1]
    ");
    assert_snapshot!(play("autonomous-loop: @ship, attempt, shipped effect=e8 attempt=1,
        shipped effect=e8 attempt=2"), @"
    attempt: ship e8#2
    shipped effect=e8 attempt=1: refused: outcome of attempt 1 of `e8` is refused: `e8` is at attempt 2
    shipped effect=e8 attempt=2: ship, ended (shipped)
    ");
}

#[test]
fn an_outcome_must_name_its_attempt_as_a_whole() {
    assert_snapshot!(play("@testing, tests_passed effect=e6, tests_passed effect=6 attempt=1,
        tests_passed effect=e6 attempt=-1"), @"
    tests_passed effect=e6: refused: `attempt` must be the attempt's number, from 1
    tests_passed effect=6 attempt=1: refused: `effect` must be an effect's id
    tests_passed effect=e6 attempt=-1: refused: `attempt` must be the attempt's number, from 1
    ");
}

#[test]
fn a_doom_loop_is_seen_with_the_edit_beyond_the_threshold() {
    let edits = ["edit src/a.rs"; 6].join(", ");
    let (run, lines) = play_to(&format!("@coding, {edits}, edit src/b.rs"));
    assert_snapshot!(lines, @"
    edit src/a.rs: coding
    edit src/a.rs: coding
    edit src/a.rs: coding
    edit src/a.rs: coding
    edit src/a.rs: coding
    edit src/a.rs: coding
      doom loop: `src/a.rs` was edited 6 times in `coding` (the threshold is 5); another approach may be needed
    edit src/b.rs: coding
    ");
    let seen: Vec<_> = run
        .doom_loop_events
        .iter()
        .map(|seen| (seen.file.as_str(), seen.count, seen.phase.as_str()))
        .collect();
    assert_eq!(seen, [("src/a.rs", 6, "coding")]);
    assert_eq!(run.edit_counts.get("src/a.rs"), Some(&6));
}

#[test]
fn edits_are_counted_again_in_the_next_phase_but_not_in_the_same() {
    let (run, _) = play_to("warp-drive max_edits_per_file=1: @coding, edit a, code_complete, edit a");
    assert_eq!((run.edit_counts.get("a"), run.doom_loop_events.len()), (Some(&1), 0));
    let (run, _) = play_to("warp-drive max_edits_per_file=1: @merging, edit a, merge_failed, edit a");
    assert_eq!((run.edit_counts.get("a"), run.doom_loop_events.len()), (Some(&2), 1));
}

#[test]
fn what_an_agent_is_told_fits_whatever_is_in_the_run() {
    let long = "long ".repeat(2000);
    let (mut run, _) = play_to("@coding");
    run.chunk.acs = vec![(1..=40).map(|number| format!("AC-{number:02}")).collect()];
    run.feature = Some(long.clone());
    run.issue = Some(long.clone());
    run.chunk.texts = vec![long.clone(); 40];
    run.standing = engine::Standing::Parked {
        decision: engine::Decision {
            id: "r1.9".to_owned(),
            question: long,
            options: Vec::new(),
            reason: "deadline".to_owned(),
            asked_at: run.updated_at,
            deadline: None,
            capped: None,
        },
    };
    let told =
        engine::view::standing(workflow("warp-drive"), &run, engine::view::Owned::Live, run.updated_at);
    assert!(told.chars().count() <= 1_200, "{}", told.chars().count());
    for words in ["phase `coding`", "chunk 1 of 1", "decision: long"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let reports = engine::view::reports(workflow("warp-drive"), &run, run.updated_at);
    assert!(reports.contains("\n- code_complete (needs"), "{reports}");
}

#[test]
fn a_run_that_is_over_is_not_said_to_be_under_way() {
    let told = |workflow_name: &str, script: &str| {
        let (run, _) = play_to(script);
        engine::view::standing(workflow(workflow_name), &run, engine::view::Owned::Live, run.updated_at)
    };
    insta::assert_snapshot!(told("warp-drive", "@session_ending, session_ended"), @"The warp-drive run of this project is over (completed). Nothing is left to do in it.");
    insta::assert_snapshot!(told("autonomous-loop", "autonomous-loop: @ship, shipped"), @"The autonomous-loop run of this project is over (shipped). Nothing is left to do in it.");
}
