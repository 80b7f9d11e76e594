//! The autonomous loop: turns, forced advances, fix cycles, and what a phase leaves behind.

use insta::assert_snapshot;

use crate::script::{play, play_to};

fn turns(count: usize) -> String {
    vec!["turn_finished"; count].join(", ")
}

#[test]
fn a_loop_begins_with_brainstorming_unless_that_is_skipped() {
    assert_eq!(play_to("autonomous-loop: ").0.phase, "brainstorm");
    let (run, _) = play_to("autonomous-loop skip_brainstorm=true: ");
    assert_eq!(
        (run.phase.as_str(), run.effect.map(|effect| effect.phase.to_string())),
        ("plan", Some("plan".to_owned()))
    );
}

#[test]
fn deepening_is_a_single_pass() {
    assert_snapshot!(play("autonomous-loop: @deepen, turn_finished"), @"
    turn_finished, then plan_deepened: work [global_iteration 1] e5
      single_pass: `plan_deepened` follows in `deepen`
    ");
}

#[test]
fn a_phase_that_used_up_its_turns_is_left_by_force_and_that_is_on_record() {
    let (run, lines) = play_to("autonomous-loop max_phase_iterations=2: @work, turn_finished, turn_finished");
    assert_snapshot!(lines, @"
    turn_finished: work [global_iteration 1, phase_iteration 1]
    turn_finished, then work_finished: review [global_iteration 2] e7
      `work` is left by force: max_phase_iterations is reached
    ");
    assert_snapshot!(
        serde_json::to_string(&run.errors).unwrap(),
        @r#"[{"phase":"work","message":"forced advance out of work: max_phase_iterations reached","iteration":2,"timestamp":"2026-05-08T15:56:59.401Z"}]"#
    );
    assert_snapshot!(
        serde_json::to_string(&run.receipts.last()).unwrap(),
        @r#"{"phase":"work","artifact":null,"git_sha":null,"timestamp":"2026-05-08T15:56:59.401Z","forced":true}"#
    );
    assert_snapshot!(
        serde_json::to_string(&run.checkpoints).unwrap(),
        @r#"[{"phase":"work","summary":"left by force (max_phase_iterations reached), with nothing shown","failed_approaches":[],"timestamp":"2026-05-08T15:56:59.401Z"}]"#
    );
    assert_eq!(run.phases_completed.last().map(|phase| phase.as_str()), Some("work"));
}

#[test]
fn force_leads_where_success_would_but_never_past_a_person_nor_into_or_out_of_ship() {
    let forced = |phase: &str, settings: &str| {
        let run =
            play_to(&format!("autonomous-loop max_phase_iterations=2 {settings}: @{phase}, {}", turns(2))).0;
        (run.phase.to_string(), matches!(run.standing, engine::Standing::Parked { .. }))
    };
    for (phase, next) in [
        ("brainstorm", "plan"),
        ("plan", "spec_test"),
        ("work", "review"),
        ("review", "compound"),
        ("fix", "re_review"),
        ("re_review", "compound"),
        ("compound", "test"),
    ] {
        assert_eq!(forced(phase, ""), (next.to_owned(), false), "{phase}");
    }
    for phase in ["spec_test", "test", "ship"] {
        assert_eq!(forced(phase, ""), (phase.to_owned(), true));
    }
    assert_eq!(forced("spec_test", "skip_test_review=true"), ("deepen".to_owned(), false));
}

#[test]
fn a_forced_fix_is_a_fix_cycle() {
    let (run, _) = play_to(&format!("autonomous-loop: @fix, {}", turns(10)));
    assert_eq!((run.phase.as_str(), run.counter("fix_review_cycles")), ("re_review", 1));
}

#[test]
fn the_whole_loop_parks_at_its_last_turn_and_goes_on_with_fresh_turns() {
    let script = format!(
        "autonomous-loop max_iterations=3: @work, {}, work_finished, answer continue, work_finished",
        turns(3)
    );
    assert_snapshot!(play(&script), @"
    turn_finished: work [global_iteration 1, phase_iteration 1]
    turn_finished: work [global_iteration 2, phase_iteration 2]
    turn_finished: work, parked on r1.7: The loop has taken 3 turns (limit 3). Continue, or stop? [global_iteration 3, phase_iteration 3]
    work_finished: refused: `work_finished` is refused: the run waits for decision r1.7: The loop has taken 3 turns (limit 3). Continue, or stop? (continue, stop)
    answer continue: work [phase_iteration 3]
    work_finished: review e9
    ");
}

#[test]
fn turns_in_the_phase_start_again_with_the_next_phase_and_turns_in_the_loop_go_on() {
    assert_snapshot!(play("autonomous-loop: turn_finished, turn_finished, brainstorm_written, turn_finished"), @"
    turn_finished: brainstorm [global_iteration 1, phase_iteration 1]
    turn_finished: brainstorm [global_iteration 2, phase_iteration 2]
    brainstorm_written: plan [global_iteration 2] e3
    turn_finished: plan [global_iteration 3, phase_iteration 1]
    ");
}

#[test]
fn fix_cycles_count_when_fixes_are_reviewed_again_and_run_out() {
    assert_snapshot!(play("autonomous-loop max_fix_cycles=2: @review, p1_found, fixes_made, p1_found,
        fixes_made, p1_found"), @"
    p1_found: fix e6
    fixes_made: re_review [fix_review_cycles 1] e7
    p1_found: fix [fix_review_cycles 1] e8
    fixes_made: re_review [fix_review_cycles 2] e9
    p1_found: compound, redirected by max_fix_cycles [fix_review_cycles 2] e10
    ");
}

#[test]
fn tests_that_fail_when_the_fix_cycles_are_used_up_ask_a_person() {
    assert_snapshot!(play("autonomous-loop max_fix_cycles=1: @fix, fixes_made, @test, tests_failed,
        answer continue, tests_failed"), @"
    fixes_made: re_review [fix_review_cycles 1] e7
    tests_failed: test, parked on r1.10: Tests still fail after 1 round of fixes (limit 1). Try again, or stop? [fix_review_cycles 1]
    answer continue: test
    tests_failed: fix e12
    ");
}

#[test]
fn shipping_ends_the_loop_and_nothing_else_does() {
    assert_snapshot!(play("autonomous-loop: @test, shipped, tests_passed, tests_failed, turn_finished,
        shipped, turn_finished"), @"
    shipped: refused: `shipped` is not possible in `test`; possible: tests_passed, tests_failed
    tests_passed: ship e8
    tests_failed: refused: `tests_failed` is not possible in `ship`; possible: shipped
    turn_finished: ship [global_iteration 1, phase_iteration 1]
    shipped: ship, ended (shipped) [global_iteration 1, phase_iteration 1]
    turn_finished: refused: `turn_finished` is refused: the run is over (shipped)
    ");
}

#[test]
fn a_phase_leaves_its_receipt_checkpoint_and_artifacts() {
    let (run, _) = play_to(
        r#"autonomous-loop: @plan, +15m, plan_written artifact=docs/plan.md head=d4e5f6 summary=planned failed_approaches=["a"] plan_file=docs/plan.md artifacts={"progress_file":"docs/progress.md"}"#,
    );
    assert_snapshot!(
        serde_json::to_string(&run.receipts.last()).unwrap(),
        @r#"{"phase":"plan","artifact":"docs/plan.md","git_sha":"d4e5f6","timestamp":"2026-05-08T16:11:59.401Z","digest":"digest of docs/plan.md"}"#
    );
    assert_snapshot!(
        serde_json::to_string(&run.checkpoints).unwrap(),
        @r#"[{"phase":"plan","summary":"planned","failed_approaches":["a"],"timestamp":"2026-05-08T16:11:59.401Z"}]"#
    );
    assert_snapshot!(
        serde_json::to_string(&run.artifacts).unwrap(),
        @r#"{"brainstorm_file":null,"plan_file":"docs/plan.md","acceptance_tests_file":null,"progress_file":"docs/progress.md","pr_url":null,"branch":"feature/issue-42-title"}"#
    );
    assert_snapshot!(serde_json::to_string(&run.phases_completed).unwrap(), @r#"["brainstorm","plan"]"#);
}

#[test]
fn bad_artifacts_are_refused() {
    let long = "x".repeat(2001);
    let many = serde_json::to_string(&vec!["a"; 101]).unwrap();
    let script = r#"autonomous-loop: @plan, plan_written artifact=7, plan_written git_sha=[], plan_written artifacts=7,
        plan_written artifacts={"plan_file":7}, plan_written failed_approaches=7, plan_written failed_approaches=[7]"#;
    assert_snapshot!(play(script), @r#"
    plan_written artifact=7: refused: `artifact` must be a text of at most 2000 bytes
    plan_written git_sha=[]: refused: `git_sha` must be a text of at most 2000 bytes
    plan_written artifacts=7: refused: `artifacts` must be a table of paths
    plan_written artifacts={"plan_file":7}: refused: `plan_file` must be a text of at most 2000 bytes
    plan_written failed_approaches=7: refused: `failed_approaches` must be a list of at most 100 texts
    plan_written failed_approaches=[7]: refused: `failed_approaches` must hold texts of at most 2000 bytes
    "#);
    for data in [
        format!("summary={long}"),
        format!("failed_approaches={many}"),
        format!("failed_approaches=[\"{long}\"]"),
    ] {
        assert_eq!(play_to(&format!("autonomous-loop: @plan, plan_written {data}")).0.phase, "plan");
    }
}

#[test]
fn data_that_is_too_large_is_refused_whatever_the_event() {
    let script = format!("autonomous-loop: @plan, turn_finished x={}", "x".repeat(256 * 1024));
    assert!(
        play(&script).ends_with("refused: `data` has 262152 bytes; the most is 262144"),
        "{}",
        &play(&script)[262_144..]
    );
}
