//! What the loop may use up: turns of a phase, turns in all, cycles of fixing. What is left by force is told as such.

use super::support::{FEATURE, Project};
use crate::support::{Ends as _, InProject as _, workspace};

/// Returns the phases that were left by force, as the state file of the open run has it.
fn forced(project: &Project) -> Vec<String> {
    let state = project.state();
    let receipts = state["receipts"].as_array().unwrap();
    let forced = receipts.iter().filter(|receipt| receipt["forced"] == true);
    forced.map(|receipt| receipt["phase"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_phase_whose_turns_are_used_up_is_left_by_force_and_a_person_accepts_that() {
    let project = Project::new();
    project.otherwise(
        r#"if test "$WARP_PHASE" = brainstorm; then answer '{"artifact":"docs/none.md","summary":"nothing"}'; fi"#,
    );
    project.run(&["--skip-test-review", "--max-phase-iterations", "3"]).ends(5);
    assert!(project.prompt("brainstorm", 3).contains("`docs/none.md` does not exist"));
    assert!(!project.tree().join(".agent/prompt-brainstorm-4").exists());
    assert_eq!(project.state()["errors"].as_array().unwrap().len(), 4, "three refusals, and the force");
    let (_, question) = project.question();
    assert_eq!(question, "`brainstorm` was left by force. Is the work done all the same?");
    assert_eq!(forced(&project), ["brainstorm"]);
    let pull = project.sandbox.warp_ok(&["pr", "show", "1"]);
    assert!(pull.contains("Left by force, with nothing shown: brainstorm"), "{pull}");
    let early = project.sandbox.warp(&["pr", "merge", "1"]).ends(3);
    assert!(early.err.contains(&format!("has made #1 waits for an answer: {question}")), "{early:?}");
    insta::assert_snapshot!(project.sandbox.stable(&early.err), @"
    error: the run that has made #1 waits for an answer: `brainstorm` was left by force. Is the work done all the same?
    hint: `warp answer [RUN].42 accept`, `warp answer [RUN].42 continue` or `warp answer [RUN].42 stop`, then `warp pr merge 1`
    ");
    project.answer("accept", &[]);
    project.is_offered();
    assert_eq!(project.sandbox.warp(&["status"]).code, Some(2), "the run is over");
    project.sandbox.warp_ok(&["pr", "merge", "1"]);
}

#[test]
fn a_plan_that_was_never_deepened_is_a_persons_to_accept() {
    let project = Project::new();
    project.otherwise(r#"if test "$WARP_PHASE" = deepen; then answer '{"summary":"it is deep enough"}'; fi"#);
    project.run_alone(&[]).ends(5);
    assert!(project.prompt("deepen", 2).contains("the plan's content is what it was"));
    assert!(!project.tree().join(".agent/prompt-deepen-3").exists(), "it is one pass");
    let (_, question) = project.question();
    assert_eq!(question, "nothing was shown in `deepen`. Is the work done all the same?");
    assert!(forced(&project).is_empty());
    let pull = project.sandbox.warp_ok(&["pr", "show", "1"]);
    assert!(pull.contains("Left with nothing shown: deepen"), "{pull}");
    project.answer("accept", &[]);
    project.is_offered();
    assert_eq!(project.sandbox.warp(&["status"]).code, Some(2), "the run is over");
}

#[test]
fn fixing_has_an_end() {
    let project = Project::new();
    project.otherwise(
        r#"case $WARP_PHASE in review|re_review)
        answer '{"summary":"never good enough","findings":[{"severity":"p1","text":"bad"}]}' ;; esac"#,
    );
    project.run_alone(&["--max-fix-cycles", "2"]).ends(5);
    let phases = project.phases();
    assert_eq!(phases.iter().filter(|phase| *phase == "fix").count(), 2, "{phases:?}");
    assert_eq!(forced(&project), ["re_review"]);
    assert_eq!(project.question().1, "`re_review` was left by force. Is the work done all the same?");
    project.answer("accept", &[]);
    project.is_offered();
    assert_eq!(project.sandbox.warp(&["status"]).code, Some(2), "the run is over");
}

#[test]
fn the_whole_loop_has_an_end_and_a_person_lets_it_go_on() {
    let project = Project::new();
    project.otherwise(r#"case $WARP_PHASE$n in plan[1-9]) echo 'I am thinking.'; exit 0 ;; esac"#);
    project.run_alone(&["--max-iterations", "3"]).ends(5);
    assert_eq!(project.question().1, "The loop has taken 3 turns (limit 3). Continue, or stop?");
    project.answer("continue", &[]);
    project.run(&[]).ends(0);
    project.is_shipped();
}

#[test]
fn nobody_is_forced_past_a_persons_look_at_the_tests() {
    let project = Project::new();
    project.otherwise(r#"if test "$WARP_PHASE" = spec_test; then put $tests true; fi; failing=true"#);
    project.run(&["--skip-brainstorm", "--max-phase-iterations", "2"]).ends(5);
    assert_eq!(project.question().1, "`spec_test` has taken 2 turns (limit 2). Continue, or stop?");
    assert!(forced(&project).is_empty());
}

#[test]
fn work_that_is_left_by_force_is_kept_on_the_branch() {
    let project = Project::new();
    // It does what is wanted, and bends the tests each time.
    project.otherwise(r#"if test "$WARP_PHASE" = work; then greet; echo true > $tests; answer '{"summary":"it greets"}'; fi"#);
    let said = project.run_alone(&["--max-phase-iterations", "2"]).ends(5);
    assert_eq!(forced(&project), ["work"]);
    assert!(said.out.contains("the acceptance tests are frozen"), "{said:?}");
    assert!(!said.out.contains("greet was taken out again"), "{said:?}");
    assert!(project.tree().join("greet").exists());
}

#[test]
fn a_feature_is_built_by_one_process() {
    let project = Project::new();
    let mut other = workspace(&project.sandbox);
    other.claim_feature(&format!(" {FEATURE} ")).unwrap();
    let said = project.run(&[]).ends(6);
    insta::assert_snapshot!(project.sandbox.stable(&said.err), @"
    error: `Add a greeting` is being worked on by process [PID]
    hint: `warp status` shows how far it is; `warp stop` stops it
    ");
    other.release().unwrap();
    project.run_alone(&[]).ends(0);
}
