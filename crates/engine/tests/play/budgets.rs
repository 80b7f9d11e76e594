//! The six budgets of warp-drive, and what going on does to them.

use engine::view::state_json;
use insta::assert_snapshot;

use crate::{
    script::{play, play_to},
    support::workflow,
};

#[test]
fn cycles_trip_above_their_limit() {
    assert_snapshot!(play("warp-drive max_coding_cycles=2: @testing, tests_failed, @testing, tests_failed,
        @testing, tests_failed"), @"
    tests_failed: coding [coding_cycles 1, retry_count 1] e7
    tests_failed: coding [coding_cycles 2, retry_count 2] e10
    tests_failed: budget_exceeded, redirected by coding_cycles_exceeded [coding_cycles 3, retry_count 3] e13
    ");
}

#[test]
fn retries_trip_above_their_limit() {
    assert_snapshot!(play("warp-drive max_retries_per_chunk=1: @testing, tests_failed, @testing,
        tests_failed"), @"
    tests_failed: coding [coding_cycles 1, retry_count 1] e7
    tests_failed: budget_exceeded, redirected by retry_exceeded [coding_cycles 2, retry_count 2] e10
    ");
}

#[test]
fn merges_and_pushes_that_fail_are_retries_but_no_cycles() {
    assert_snapshot!(play("warp-drive max_retries_per_chunk=2: @merging, merge_failed, push_failed,
        merge_failed"), @"
    merge_failed: merging [retry_count 1, total_chunks 1] e12
    push_failed: merging [retry_count 2, total_chunks 1] e13
    merge_failed: budget_exceeded, redirected by retry_exceeded [retry_count 3, total_chunks 1] e14
    ");
}

#[test]
fn drift_that_blocks_is_a_cycle_and_a_retry() {
    assert_snapshot!(play("warp-drive max_coding_cycles=1: @doc_drift_check, drift_blocked, @doc_drift_check,
        drift_blocked"), @"
    drift_blocked: coding [coding_cycles 1, retry_count 1] e9
    drift_blocked: budget_exceeded, redirected by coding_cycles_exceeded [coding_cycles 2, retry_count 2] e14
    ");
}

#[test]
fn two_budgets_at_once_are_both_named() {
    let (run, lines) =
        play_to("warp-drive max_coding_cycles=0 max_retries_per_chunk=0: @testing, +7m, tests_failed");
    assert_snapshot!(
        lines,
        @"tests_failed: budget_exceeded, redirected by retry_exceeded and coding_cycles_exceeded [coding_cycles 1, retry_count 1] e7"
    );
    let budgets = &state_json(workflow("warp-drive"), &run)["budgets"];
    assert_snapshot!(
        budgets,
        @r#"{"phase_started_at":"2026-05-08T16:03:59.401Z","retry_count":1,"coding_cycles":1,"exceeded_reasons":["retry_exceeded","coding_cycles_exceeded"],"exceeded_at":"2026-05-08T16:03:59.401Z","exceeded_from_phase":"testing"}"#
    );
}

#[test]
fn cycles_and_retries_start_again_with_the_next_chunk() {
    assert_snapshot!(play(r#"@chunking, chunks_defined acs=[["AC-01"],["AC-02"]], @testing, tests_failed,
        @chunk_complete, next_chunk, @testing, tests_failed"#), @r#"
    chunks_defined acs=[["AC-01"],["AC-02"]]: coding e4
    tests_failed: coding [coding_cycles 1, retry_count 1] e7
    next_chunk: coding [total_chunks 1] e13
    tests_failed: coding [coding_cycles 1, retry_count 1, total_chunks 1] e16
    "#);
}

#[test]
fn cycles_and_retries_start_again_with_the_next_issue() {
    assert_snapshot!(play("@testing, tests_failed, @merging, push_failed, @chunking, chunks_defined"), @"
    tests_failed: coding [coding_cycles 1, retry_count 1] e7
    push_failed: merging [coding_cycles 1, retry_count 2, total_chunks 1] e15
    chunks_defined: coding [total_chunks 1] e20
    ");
}

#[test]
fn the_same_failure_on_the_same_tree_is_no_progress() {
    assert_snapshot!(play("warp-drive max_coding_cycles=9 max_retries_per_chunk=9: \
        @testing, tests_failed failure=login:12ms tree=t1, @testing, tests_failed failure=login:7ms tree=t1, @testing, tests_failed failure=login:9ms tree=t1"), @"
    tests_failed failure=login:12ms tree=t1: coding [coding_cycles 1, retry_count 1] e7
    tests_failed failure=login:7ms tree=t1: coding [coding_cycles 2, retry_count 2] e10
    tests_failed failure=login:9ms tree=t1: budget_exceeded, redirected by no_progress [coding_cycles 3, retry_count 3] e13
    ");
}

#[test]
fn another_text_or_another_tree_is_progress() {
    let script = |second: &str| {
        play_to(&format!(
            "warp-drive max_coding_cycles=9 max_retries_per_chunk=9 max_no_progress=2: \
             @testing, tests_failed failure=login tree=t1, @testing, {second}"
        ))
    };
    let phase = |second: &str| script(second).0.phase.to_string();
    assert_eq!(phase("tests_failed failure=login tree=t1"), "budget_exceeded");
    assert_eq!(phase("tests_failed failure=login tree=t2"), "coding");
    assert_eq!(phase("tests_failed failure=logout tree=t1"), "coding");
    // What is not known is not taken for the same.
    assert_eq!(phase("tests_failed failure=login"), "coding");
    assert_eq!(phase("tests_failed tree=t1"), "coding");
    // Not in a row: something else came between.
    for between in [
        "tests_failed failure=logout tree=t1",
        "tests_failed",
        "tests_passed, @doc_drift_check, drift_blocked",
    ] {
        assert_eq!(
            phase(&format!("{between}, @testing, tests_failed failure=login tree=t1")),
            "coding",
            "{between}"
        );
    }
}

#[test]
fn no_progress_starts_again_with_the_next_chunk() {
    let (run, _) = play_to(
        "warp-drive max_no_progress=2: @testing, tests_failed failure=x tree=t, @chunk_complete, next_chunk, @testing, tests_failed failure=x tree=t",
    );
    assert_eq!(run.phase, "coding");
}

#[test]
fn chunks_trip_above_their_limit_with_the_report() {
    assert_snapshot!(play("warp-drive max_total_chunks=1: @reporting, report_filed, next_chunk, @reporting,
        report_filed"), @"
    report_filed: chunk_complete [total_chunks 1] e9
    next_chunk: coding [total_chunks 1] e10
      no chunk is left: 1 of 1 were taken; `requirement_done` ends the issue
    report_filed: budget_exceeded, redirected by total_chunks_exceeded [total_chunks 2] e15
    ");
}

#[test]
fn a_session_trips_with_the_first_moment_beyond_its_minutes() {
    assert_snapshot!(play("+480m, prerequisites_ok, +1ms, work_selected"), @"
    prerequisites_ok: discovering e1
      phase_timeout: `prerequisites` has lasted longer than 30 minutes
    work_selected: budget_exceeded, redirected by session_timeout e2
    ");
}

#[test]
fn a_phase_that_lasts_too_long_is_advice_by_default() {
    assert_snapshot!(play("@coding, +30m, code_complete, +30m, +1ms, docs_updated"), @"
    code_complete: updating_docs e5
    docs_updated: testing e6
      phase_timeout: `updating_docs` has lasted longer than 30 minutes
    ");
}

#[test]
fn block_does_not_take_the_event_and_waits_for_a_person() {
    assert_snapshot!(play("warp-drive phase_timeout_enforcement=block: @coding, +31m, code_complete,
        budget_continue"), @"
    code_complete: budget_exceeded, redirected by phase_timeout e5
    budget_continue: coding e6
    ");
}

#[test]
fn abort_goes_on_to_aborted() {
    let (run, lines) = play_to("warp-drive phase_timeout_enforcement=abort: @coding, +31m, code_complete");
    assert_snapshot!(lines, @"code_complete, then budget_abort: aborted, redirected by phase_timeout e6");
    assert!(run.aborted);
    assert_eq!(run.trip.map(|trip| trip.from_phase.to_string()), Some("coding".to_owned()));
}

#[test]
fn a_timeout_beside_an_exceeded_budget_is_named_only_where_it_is_enforced() {
    let script = |mode: &str| {
        play(&format!(
            "warp-drive max_coding_cycles=0 phase_timeout_enforcement={mode}: @testing, +31m, tests_failed"
        ))
    };
    assert_snapshot!(script("warn"), @"
    tests_failed: budget_exceeded, redirected by coding_cycles_exceeded [coding_cycles 1, retry_count 1] e7
      phase_timeout: `testing` has lasted longer than 30 minutes
    ");
    assert_snapshot!(
        script("block"),
        @"tests_failed: budget_exceeded, redirected by phase_timeout and coding_cycles_exceeded [coding_cycles 1, retry_count 1] e7"
    );
    assert_snapshot!(
        script("abort"),
        @"tests_failed, then budget_abort: aborted, redirected by phase_timeout and coding_cycles_exceeded [coding_cycles 1, retry_count 1] e8"
    );
}

#[test]
fn a_phase_that_is_entered_from_itself_keeps_its_clock() {
    assert_snapshot!(play("@merging, +20m, merge_failed, +20m, merge_failed"), @"
    merge_failed: merging [retry_count 1, total_chunks 1] e12
    merge_failed: merging [retry_count 2, total_chunks 1] e13
      phase_timeout: `merging` has lasted longer than 30 minutes
    ");
}

#[test]
fn going_on_renews_only_what_tripped() {
    assert_snapshot!(play("warp-drive max_coding_cycles=1: @testing, tests_failed, @testing, tests_failed,
        budget_continue, @testing, tests_failed"), @"
    tests_failed: coding [coding_cycles 1, retry_count 1] e7
    tests_failed: budget_exceeded, redirected by coding_cycles_exceeded [coding_cycles 2, retry_count 2] e10
    budget_continue: coding [retry_count 2] e11
    tests_failed: coding [coding_cycles 1, retry_count 3] e14
    ");
    assert_snapshot!(play("warp-drive max_coding_cycles=0: @testing, +481m, tests_failed, budget_continue,
        @testing, tests_passed"), @"
    tests_failed: budget_exceeded, redirected by coding_cycles_exceeded and session_timeout [coding_cycles 1, retry_count 1] e7
      phase_timeout: `testing` has lasted longer than 30 minutes
    budget_continue: coding [retry_count 1] e8
    tests_passed: committing [retry_count 1] e11
    ");
    assert_snapshot!(play("warp-drive max_no_progress=1: @testing, tests_failed failure=x tree=t,
        budget_continue, code_complete"), @"
    tests_failed failure=x tree=t: budget_exceeded, redirected by no_progress [coding_cycles 1, retry_count 1] e7
    budget_continue: coding [coding_cycles 1, retry_count 1] e8
    code_complete: updating_docs [coding_cycles 1, retry_count 1] e9
    ");
}

#[test]
fn going_on_after_a_filed_report_takes_the_next_chunk_with_fresh_counters() {
    let (run, lines) = play_to(
        r#"warp-drive max_total_chunks=0: @chunking, chunks_defined acs=[["AC-01"],["AC-02"]], @testing, tests_failed failure=x tree=t, @reporting, report_filed, budget_continue"#,
    );
    assert_snapshot!(lines, @r#"
    chunks_defined acs=[["AC-01"],["AC-02"]]: coding e4
    tests_failed failure=x tree=t: coding [coding_cycles 1, retry_count 1] e7
    report_filed: budget_exceeded, redirected by total_chunks_exceeded [coding_cycles 1, retry_count 1, total_chunks 1] e12
    budget_continue: coding e13
    "#);
    assert_eq!((run.chunk.index, run.committed, run.report_filed), (2, false, false));
    assert_eq!(run.last_failure, None);
}

#[test]
fn a_redirected_commit_keeps_its_report_pending() {
    let (run, lines) = play_to("@committing, +481m, committed head=abc123, budget_continue");
    assert_snapshot!(lines, @"
    committed head=abc123: budget_exceeded, redirected by session_timeout e8
      phase_timeout: `committing` has lasted longer than 30 minutes
    budget_continue: coding e9
    ");
    assert_eq!((run.committed, run.report_filed, run.metrics.commits), (true, false, 1));
    assert_eq!(run.commit_hashes, ["abc123"]);
}

#[test]
fn aborting_budget_answers_and_cleaning_up_are_never_redirected() {
    let late = "warp-drive phase_timeout_enforcement=block: ";
    for (script, phase) in [
        ("@coding, +481m, abort", "aborted"),
        ("@aborted, +481m, abort_resolved", "completed"),
        ("@aborted, +481m, abort_cleanup_failed", "completed"),
        ("@aborted, +481m, restart", "idle"),
        ("@session_ending, +481m, session_ended", "completed"),
        ("@coding, +481m, code_complete, +481m, budget_continue", "coding"),
        ("@coding, +481m, code_complete, +481m, budget_abort", "aborted"),
        ("@coding, +481m, code_complete, +481m, abort", "aborted"),
        ("@session_ending, +481m, abort", "aborted"),
    ] {
        assert_eq!(play_to(&format!("{late}{script}")).0.phase, phase, "{script}");
    }
}

#[test]
fn a_restart_sets_every_budget_back() {
    assert_snapshot!(play("@testing, tests_failed failure=x tree=t, @chunk_complete, @aborted, +481m,
        restart, start, prerequisites_ok"), @"
    tests_failed failure=x tree=t: coding [coding_cycles 1, retry_count 1] e7
    restart: idle e14
    start: prerequisites e15
    prerequisites_ok: discovering e16
    ");
}

#[test]
fn a_limit_of_zero_means_not_even_once() {
    assert_snapshot!(play("warp-drive max_no_progress=0: @testing, tests_failed, @testing,
        tests_failed failure=x tree=t"), @"
    tests_failed: coding [coding_cycles 1, retry_count 1] e7
    tests_failed failure=x tree=t: budget_exceeded, redirected by no_progress [coding_cycles 2, retry_count 2] e10
    ");
    assert_snapshot!(play("coder coding_iterations=0: @CODING, turn_finished"), @"
    turn_finished, then budget_exceeded: BUDGET_REVIEW [coding_iterations 1, planning_iterations 1] e6
      coding_iterations_exhausted: `budget_exceeded` follows in `CODING`
    ");
}

#[test]
fn where_no_chunk_is_left_a_renewed_run_that_warp_drives_goes_on_as_it_would_have() {
    assert_snapshot!(play("warp-drive max_total_chunks=0: driven, @reporting, report_filed,
        budget_continue, requirement_done"), @"
    report_filed: budget_exceeded, redirected by total_chunks_exceeded [total_chunks 1] e9
    budget_continue: chunk_complete e10
    requirement_done: requirement_complete e11
    ");
    assert_snapshot!(play("warp-drive max_retries_per_chunk=0: driven, @merging, merge_failed,
        budget_continue, merged"), @"
    merge_failed: budget_exceeded, redirected by retry_exceeded [retry_count 1, total_chunks 1] e12
    budget_continue: merging [total_chunks 1] e13
    merged: awaiting_continue [total_chunks 1] e14
    ");
    assert_snapshot!(play("warp-drive max_session_minutes=1: driven, @planning, +2m, plan_ready,
        budget_continue, chunks_defined"), @"
    plan_ready: budget_exceeded, redirected by session_timeout e3
    budget_continue: chunking e4
    chunks_defined: coding e5
    ");
    // By hand the table holds to the letter.
    assert_snapshot!(play("warp-drive max_retries_per_chunk=0: @merging, merge_failed, budget_continue"), @"
    merge_failed: budget_exceeded, redirected by retry_exceeded [retry_count 1, total_chunks 1] e12
    budget_continue: coding [total_chunks 1] e13
    ");
}
