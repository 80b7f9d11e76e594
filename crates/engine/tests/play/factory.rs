//! The factory's counters, and the person who is asked when they run out.

use insta::assert_snapshot;

use crate::script::play;

#[test]
fn checks_that_keep_failing_go_to_a_person() {
    assert_snapshot!(play("factory max_ci_fixes=1: @awaiting_ci, ci_failed, pushed, ci_failed, answered,
        pushed, ci_failed"), @"
    ci_failed: in_progress [ci_fixes 1] e3
    pushed: awaiting_ci [ci_fixes 1] e4
    ci_failed: needs_human, redirected by ci_exhausted [ci_fixes 2] e5
    answered: in_progress e6
    pushed: awaiting_ci e7
    ci_failed: in_progress [ci_fixes 1] e8
    ");
}

#[test]
fn checks_that_pass_set_their_counter_back_and_a_push_that_of_infrastructure() {
    assert_snapshot!(play("factory max_infra_retries=1: @awaiting_ci, ci_infra_failed, ci_failed, pushed,
        ci_passed, changes_requested, pushed, ci_infra_failed, ci_infra_failed"), @"
    ci_infra_failed: awaiting_ci [infra_retries 1] e3
    ci_failed: in_progress [ci_fixes 1, infra_retries 1] e4
    pushed: awaiting_ci [ci_fixes 1] e5
    ci_passed: awaiting_review e6
    changes_requested: in_progress [review_rounds 1] e7
    pushed: awaiting_ci [review_rounds 1] e8
    ci_infra_failed: awaiting_ci [infra_retries 1, review_rounds 1] e9
    ci_infra_failed: needs_human, redirected by infra_exhausted [infra_retries 2, review_rounds 1] e10
    ");
}

#[test]
fn reviews_merges_and_dependencies_run_out_too() {
    assert_snapshot!(play("factory max_review_rounds=1: @awaiting_review, changes_requested,
        @awaiting_review, changes_requested"), @"
    changes_requested: in_progress [review_rounds 1] e4
    changes_requested: needs_human, redirected by review_exhausted [review_rounds 2] e7
    ");
    assert_snapshot!(play("factory max_merge_attempts=1: @awaiting_review, merge_conflicted,
        @awaiting_review, merge_conflicted"), @"
    merge_conflicted: in_progress [merge_attempts 1] e4
    merge_conflicted: needs_human, redirected by merge_blocked [merge_attempts 2] e7
    ");
    let blocked = ["dependency_unmet, dependencies_closed"; 11].join(", ");
    let lines = play(&format!("factory: {blocked}"));
    assert_snapshot!(lines.lines().skip(19).collect::<Vec<_>>().join("\n"), @"
    dependencies_closed: backlog [unblocked 10] e20
    dependency_unmet: blocked [unblocked 10] e21
    dependencies_closed: needs_human, redirected by blocked_again [unblocked 11] e22
    ");
}

#[test]
fn an_answer_renews_only_the_budget_that_asked() {
    assert_snapshot!(play("factory max_ci_fixes=1: @awaiting_ci, ci_failed, pushed, ci_failed, answered,
        pushed, ci_failed, needs_human, answered, pushed, ci_failed"), @"
    ci_failed: in_progress [ci_fixes 1] e3
    pushed: awaiting_ci [ci_fixes 1] e4
    ci_failed: needs_human, redirected by ci_exhausted [ci_fixes 2] e5
    answered: in_progress e6
    pushed: awaiting_ci e7
    ci_failed: in_progress [ci_fixes 1] e8
    needs_human: needs_human [ci_fixes 1] e9
    answered: in_progress [ci_fixes 1] e10
    pushed: awaiting_ci [ci_fixes 1] e11
    ci_failed: needs_human, redirected by ci_exhausted [ci_fixes 2] e12
    ");
}

#[test]
fn an_agent_that_crashes_too_often_fails_the_issue() {
    assert_snapshot!(play("factory max_agent_restarts=1: @in_progress, agent_crashed, agent_crashed"), @"
    agent_crashed: in_progress [agent_restarts 1]
    agent_crashed, then failed: failed, ended (failed) [agent_restarts 2]
      crashed: `failed` follows in `in_progress`
    ");
}

#[test]
fn every_wait_of_the_factory_ends() {
    for (phase, minutes, line) in [
        (
            "backlog",
            20160,
            "backlog, parked on r1.1: `backlog` has waited longer than 20160 minutes. Continue waiting?",
        ),
        ("blocked", 43200, "needs_human"),
        ("underspecified", 43200, "failed, ended (failed)"),
        ("in_progress", 120, "failed, ended (failed)"),
        ("awaiting_ci", 30, "needs_human"),
        ("awaiting_review", 180, "needs_human"),
        ("needs_human", 1440, "failed, ended (failed)"),
    ] {
        let lines = play(&format!("factory: @{phase}, +{minutes}m, deadline, +1ms, deadline"));
        let [early, late] = lines.lines().collect::<Vec<_>>()[..] else { panic!("{lines}") };
        assert!(early.contains("refused: `deadline_passed` is refused: the deadline of"), "{early}");
        assert!(late.contains(line), "{phase}: {late}");
    }
}
