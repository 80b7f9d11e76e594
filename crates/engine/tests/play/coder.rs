//! The coder's iteration budgets, its reviewer and its reasons.

use insta::assert_snapshot;

use crate::script::{play, play_to};

#[test]
fn a_used_up_budget_leads_to_its_review_by_itself() {
    assert_snapshot!(play("coder planning_iterations=2: @PLANNING, turn_finished, turn_finished"), @"
    turn_finished: PLANNING [planning_iterations 1]
    turn_finished, then budget_exceeded: BUDGET_REVIEW [planning_iterations 2] e5
      planning_iterations_exhausted: `budget_exceeded` follows in `PLANNING`
    ");
    assert_snapshot!(play("coder coding_iterations=2: @CODING, turn_finished, turn_finished"), @"
    turn_finished: CODING [coding_iterations 1, planning_iterations 1]
    turn_finished, then budget_exceeded: BUDGET_REVIEW [coding_iterations 2, planning_iterations 1] e7
      coding_iterations_exhausted: `budget_exceeded` follows in `CODING`
    ");
    assert_snapshot!(play("coder fixing_iterations=2: @FIXING, turn_finished, turn_finished"), @"
    turn_finished: FIXING (test_failure) [coding_iterations 1, fixing_iterations 1, planning_iterations 1]
    turn_finished, then budget_exceeded: BUDGET_REVIEW (test_failure) [coding_iterations 1, fixing_iterations 2, planning_iterations 1] e9
      fixing_iterations_exhausted: `budget_exceeded` follows in `FIXING`
    ");
}

#[test]
fn what_ends_the_turn_uses_it_up_too_and_the_review_comes_on_the_return() {
    assert_snapshot!(play("coder planning_iterations=2: @PLANNING, turn_finished, submit_plan, changes,
        continue"), @"
    turn_finished: PLANNING [planning_iterations 1]
    submit_plan: PLAN_REVIEW [planning_iterations 2] e4
    changes, then budget_exceeded: BUDGET_REVIEW [planning_iterations 2] e6
      planning_iterations_exhausted: `budget_exceeded` follows in `PLANNING`
    continue: PLANNING [budget_answers 1] e7
    ");
    assert_snapshot!(play("coder coding_iterations=1: @CODING, clarification, answer"), @"
    clarification: QUESTION [coding_iterations 1, planning_iterations 1] e5
    answer, then budget_exceeded: BUDGET_REVIEW [coding_iterations 1, planning_iterations 1] e7
      coding_iterations_exhausted: `budget_exceeded` follows in `CODING`
    ");
    assert_snapshot!(play("coder fixing_iterations=1: @FIXING, fix_done, tests_fail"), @"
    fix_done: TESTING [coding_iterations 1, fixing_iterations 1, planning_iterations 1] e7
    tests_fail, then budget_exceeded: BUDGET_REVIEW (test_failure) [coding_iterations 1, fixing_iterations 1, planning_iterations 1] e9
      fixing_iterations_exhausted: `budget_exceeded` follows in `FIXING`
    ");
}

#[test]
fn continue_and_pivot_set_the_counter_of_the_origin_back_and_no_other() {
    assert_snapshot!(play("coder coding_iterations=2: @PLANNING, turn_finished, @CODING, turn_finished,
        turn_finished, continue, turn_finished, turn_finished, pivot"), @"
    turn_finished: PLANNING [planning_iterations 1]
    turn_finished: CODING [coding_iterations 1, planning_iterations 2]
    turn_finished, then budget_exceeded: BUDGET_REVIEW [coding_iterations 2, planning_iterations 2] e8
      coding_iterations_exhausted: `budget_exceeded` follows in `CODING`
    continue: CODING [budget_answers 1, planning_iterations 2] e9
    turn_finished: CODING [budget_answers 1, coding_iterations 1, planning_iterations 2]
    turn_finished, then budget_exceeded: BUDGET_REVIEW [budget_answers 1, coding_iterations 2, planning_iterations 2] e12
      coding_iterations_exhausted: `budget_exceeded` follows in `CODING`
    pivot: CODING [budget_answers 2, planning_iterations 2] e13
    ");
}

#[test]
fn escalate_goes_to_the_code_review_and_sets_nothing_back() {
    assert_snapshot!(play("coder coding_iterations=1: @CODING, turn_finished, escalate, changes"), @"
    turn_finished, then budget_exceeded: BUDGET_REVIEW [coding_iterations 1, planning_iterations 1] e6
      coding_iterations_exhausted: `budget_exceeded` follows in `CODING`
    escalate: CODE_REVIEW [budget_answers 1, coding_iterations 1, planning_iterations 1] e7
    changes: FIXING (review_changes) [budget_answers 1, coding_iterations 1, planning_iterations 1] e8
    ");
}

#[test]
fn abandon_ends_in_error_and_then_in_done() {
    assert_snapshot!(play("coder coding_iterations=1: @CODING, turn_finished, abandon, cleanup_and_restart"), @"
    turn_finished, then budget_exceeded: BUDGET_REVIEW [coding_iterations 1, planning_iterations 1] e6
      coding_iterations_exhausted: `budget_exceeded` follows in `CODING`
    abandon: ERROR [coding_iterations 1, planning_iterations 1] e7
    cleanup_and_restart: DONE, ended (DONE) [coding_iterations 1, planning_iterations 1]
    ");
}

#[test]
fn a_reviewer_who_never_says_no_is_cut_off() {
    assert_snapshot!(play("coder coding_iterations=1 max_budget_answers=2: @CODING, turn_finished, continue,
        turn_finished, pivot, turn_finished"), @"
    turn_finished, then budget_exceeded: BUDGET_REVIEW [coding_iterations 1, planning_iterations 1] e6
      coding_iterations_exhausted: `budget_exceeded` follows in `CODING`
    continue: CODING [budget_answers 1, planning_iterations 1] e7
    turn_finished, then budget_exceeded: BUDGET_REVIEW [budget_answers 1, coding_iterations 1, planning_iterations 1] e9
      coding_iterations_exhausted: `budget_exceeded` follows in `CODING`
    pivot: CODING [budget_answers 2, planning_iterations 1] e10
    turn_finished, then budget_exceeded, then abandon: ERROR [budget_answers 2, coding_iterations 1, planning_iterations 1] e13
      coding_iterations_exhausted: `budget_exceeded` follows in `CODING`
      budget_answers_exhausted: `abandon` follows in `BUDGET_REVIEW`
    ");
}

#[test]
fn a_status_that_comes_along_must_be_the_one_of_the_event() {
    assert_snapshot!(play("coder: @PLAN_REVIEW, approve status=REJECTED, approve status=7,
        approve status=APPROVED"), @r#"
    approve status=REJECTED: refused: `status` is "REJECTED", but `approve` stands for "APPROVED"
    approve status=7: refused: `status` is 7, but `approve` stands for "APPROVED"
    approve status=APPROVED: CODING [planning_iterations 1] e4
    "#);
    assert_snapshot!(play("coder: @PLAN_REVIEW, changes status=APPROVED, changes status=NEEDS_CHANGES"), @r#"
    changes status=APPROVED: refused: `status` is "APPROVED", but `changes` stands for "NEEDS_CHANGES"
    changes status=NEEDS_CHANGES: PLANNING [planning_iterations 1] e4
    "#);
    assert_snapshot!(play("coder: @CODE_REVIEW, abandon status=APPROVED, abandon status=REJECTED"), @r#"
    abandon status=APPROVED: refused: `status` is "APPROVED", but `abandon` stands for "REJECTED"
    abandon status=REJECTED: ERROR [coding_iterations 1, planning_iterations 1] e7
    "#);
}

#[test]
fn fixing_knows_why_it_was_entered() {
    assert_snapshot!(play("coder: @TESTING, tests_fail, fix_done, @CODE_REVIEW, changes, @AWAIT_MERGE,
        merge_conflicts"), @"
    tests_fail: FIXING (test_failure) [coding_iterations 1, planning_iterations 1] e6
    fix_done: TESTING [coding_iterations 1, fixing_iterations 1, planning_iterations 1] e7
    changes: FIXING (review_changes) [coding_iterations 1, fixing_iterations 1, planning_iterations 1] e9
    merge_conflicts: FIXING (merge_conflict) [coding_iterations 1, fixing_iterations 2, planning_iterations 1] e13
    ");
}

#[test]
fn a_question_remembers_where_it_was_asked() {
    let (run, _) = play_to("coder: @CODING, clarification");
    assert_eq!(run.origin.as_ref().map(|origin| origin.as_str()), Some("CODING"));
    let (run, _) = play_to("coder: @CODING, clarification, answer");
    assert_eq!((run.phase.as_str(), run.origin), ("CODING", None));
}
