//! What an agent of the loop tries, and does not get away with.

use testkit::agents::skip;

use super::support::{PLAN, Project, TESTS};
use crate::support::Ends as _;

/// Runs the loop with an agent that first does something else, and sees it come to its end all the same.
fn shipped(otherwise: &str) -> (Project, String) {
    let project = Project::new();
    project.otherwise(otherwise);
    let said = project.run_alone(&[]).ends(0);
    project.is_shipped();
    (project, said.out)
}

#[test]
fn a_promise_before_its_time_is_no_end() {
    let (project, said) = shipped(
        r#"case $WARP_PHASE$n in
        work1) echo 'All done: <promise>SHIPPED</promise>'; exit 0 ;;
        review1) answer '{"promise":"SHIPPED","summary":"shipped","findings":[]}' ;;
        esac"#,
    );
    let early = |phase: &str| {
        format!(
            "The promise counts only in `ship`, with all receipts and the pull request; the loop is in `{phase}`."
        )
    };
    assert!(said.contains(&early("work")) && said.contains(&early("review")), "{said}");
    assert!(project.prompt("work", 2).contains(&early("work")));
    // A turn that comes to nothing is counted.
    let turns = project.log().into_iter().filter(|row| row["event"] == "turn_finished");
    assert_eq!(turns.count(), 2);
}

#[test]
fn every_receipt_holds_so_warp_gives_the_promise_and_no_agent_is_asked() {
    let (project, said) = shipped("");
    assert!(said.contains("every receipt holds: <promise>SHIPPED</promise>"), "{said}");
    let log = project.log();
    assert_eq!(log.last().unwrap()["actor"], "engine");
    let asked = log.iter().any(|row| row["event"] == "turn_started" && row["phase"] == "ship");
    assert!(!asked, "{log:?}");
}

#[test]
fn where_a_receipt_is_missing_an_agent_is_asked_for_the_promise_and_a_person_whether_it_is_done() {
    let project = Project::new();
    project.otherwise(
        r#"case $WARP_PHASE$n in
        compound*) echo 'Nothing was learnt.'; exit 0 ;;
        ship1) answer '{"promise":"DONE","summary":"done"}' ;;
        ship2) answer '{"summary":"one thing is missing"}' ;;
        esac"#,
    );
    project.run_alone(&["--max-phase-iterations", "4"]).ends(5);
    assert!(project.prompt("ship", 1).contains("the pull request: #1"));
    let why = "the promise is not given, so the loop does not end: one thing is missing";
    assert!(project.prompt("ship", 3).contains(why), "{}", project.prompt("ship", 3));
    assert_eq!(project.question().1, "`compound` was left by force. Is the work done all the same?");
}

#[test]
fn a_changed_plan_does_not_unfreeze_tests_that_nobody_looks_at() {
    let (project, said) = shipped(
        r#"case $WARP_PHASE$n in
        work1) put $plan '# Nothing is wanted'; put $tests 'echo ok'; answer '{"summary":"the tests pass"}' ;;
        esac"#,
    );
    assert!(said.contains(&format!("the acceptance tests are frozen: {TESTS} was put back")), "{said}");
    let prompt = project.prompt("work", 2);
    assert!(prompt.contains("what you change in them is put back, also if you change the plan"), "{prompt}");
    let test = project.sandbox.git(&["show", &format!("feature/add-a-greeting:{TESTS}")]);
    assert_eq!(test, "./greet | grep -q hello");
}

#[test]
fn frozen_tests_are_put_back_and_the_work_has_to_meet_them() {
    let (project, said) = shipped(
        r#"case $WARP_PHASE$n in
        work1) greet; put $tests true; answer '{"summary":"the tests pass"}' ;;
        work2) rm -rf tests/acceptance; answer '{"summary":"there are no tests"}' ;;
        fix1) ;;
        esac"#,
    );
    assert!(
        said.contains(&format!("the acceptance tests are frozen: {TESTS} was put back as it is in ")),
        "{said}"
    );
    for turn in [2, 3] {
        let prompt = project.prompt("work", turn);
        assert!(prompt.contains("the work has to meet the tests"), "{prompt}");
    }
    let test = project.sandbox.git(&["show", &format!("feature/add-a-greeting:{TESTS}")]);
    assert_eq!(test, "./greet | grep -q hello");
    // What was put back is kept.
    let kept = project.sandbox.git(&["for-each-ref", "--format=%(refname)", "refs/warp/salvage"]);
    let in_slot = project.sandbox.warp_ok(&["salvage", "list"]);
    assert!(!kept.is_empty() || in_slot.contains("refs/warp/salvage"), "{kept} {in_slot}");
}

#[test]
fn tests_that_pass_at_once_show_nothing() {
    let (project, said) = shipped(
        r#"case $WARP_PHASE$n in
        spec_test1) put $tests true; answer "{\"artifact\":\"$tests\",\"summary\":\"one test\"}" ;;
        spec_test2) put $tests 'printf "ok 1 - a\nnot ok 2 - b\n"; exit 1'; answer "{\"artifact\":\"$tests\",\"summary\":\"two\"}" ;;
        esac"#,
    );
    let words = "the tests pass before anything is written, so they show nothing; every new test must fail";
    assert!(said.contains(words), "{said}");
    assert!(project.prompt("spec_test", 2).contains(words));
    assert!(project.prompt("spec_test", 3).contains("1 of the tests pass before anything is written"));
}

#[test]
fn tests_that_cannot_run_are_no_failing_tests() {
    let (project, _) = shipped(
        r#"case $WARP_PHASE$n in
        spec_test1) put $tests 'if then'; answer "{\"artifact\":\"$tests\",\"summary\":\"one\"}" ;;
        spec_test2) put $tests 'no-such-program'; answer "{\"artifact\":\"$tests\",\"summary\":\"one\"}" ;;
        spec_test3) answer '{"artifact":"tests/acceptance/none.sh","summary":"none"}' ;;
        esac"#,
    );
    for turn in [2, 3] {
        let prompt = project.prompt("spec_test", turn);
        assert!(prompt.contains("the tests could not run, which is no failure"), "{prompt}");
    }
    assert!(project.prompt("spec_test", 4).contains("`tests/acceptance/none.sh`"));
}

#[test]
fn nothing_but_documents_is_written_before_the_tests_and_no_implementation_with_them() {
    let (project, said) = shipped(
        r#"case $WARP_PHASE$n in
        plan1) greet; put $plan '# A greeting'; answer "{\"artifact\":\"$plan\",\"summary\":\"planned\"}" ;;
        spec_test1) test ! -e greet || exit 9; greet; put $tests "$failing"
            answer "{\"artifact\":\"$tests\",\"summary\":\"one test\"}" ;;
        compound1) echo broken > greet; put docs/solutions/shell/greet.md '# Learnt'
            answer '{"artifact":"docs/solutions/shell/greet.md","summary":"learnt"}' ;;
        esac"#,
    );
    assert!(
        said.contains(
            "`plan` writes documents (`docs/` and Markdown) and nothing else: greet was taken out again"
        ),
        "{said}"
    );
    assert!(said.contains("`spec_test` writes tests and nothing else: greet was taken out again"), "{said}");
    assert!(said.contains("`compound` writes documents"), "{said}");
    assert_eq!(project.sandbox.git(&["show", "feature/add-a-greeting:greet"]), "#!/bin/sh\necho hello");
}

#[test]
fn a_stub_that_tests_were_written_against_is_said_to_be_gone() {
    let (project, _) = shipped(
        r#"case $WARP_PHASE$n in spec_test1) put stub.sh 'exit 1'; chmod +x stub.sh; put $tests ./stub.sh
        answer "{\"artifact\":\"$tests\",\"summary\":\"against a stub\"}" ;; esac"#,
    );
    let prompt = project.prompt("spec_test", 2);
    assert!(
        prompt.contains("`spec_test` writes tests and nothing else: stub.sh was taken out again"),
        "{prompt}"
    );
    assert!(prompt.contains("the tests could not run, which is no failure"), "{prompt}");
}

#[test]
fn what_a_run_of_tests_leaves_is_no_work() {
    let project = Project::new();
    project.sandbox.write("tests/begin.sh", "echo left > left.txt; echo more >> Makefile\n");
    project.sandbox.git(&["commit", "--quiet", "--all", "--amend", "--no-edit"]);
    let said = project.run_alone(&[]).ends(0);
    project.is_shipped();
    assert!(!said.out.contains("taken out"), "{said:?}");
    assert_eq!(
        project.sandbox.git(&["diff", "--name-only", "main", "feature/add-a-greeting", "Makefile"]),
        ""
    );
}

#[test]
fn what_a_reviewer_writes_is_taken_out() {
    let (project, said) = shipped(
        r#"case $WARP_PHASE$n in review1) echo 'echo evil' >> greet ;; test1) rm greet; echo more > more ;; esac"#,
    );
    assert!(
        said.contains("`review` writes nothing: greet was taken out again (kept as refs/warp/salvage/"),
        "{said}"
    );
    let files = project.sandbox.git(&["ls-tree", "-r", "--name-only", "feature/add-a-greeting"]);
    assert!(!files.contains("more"), "{files}");
    assert_eq!(project.sandbox.git(&["show", "feature/add-a-greeting:greet"]), "#!/bin/sh\necho hello");
}

#[test]
fn work_is_not_finished_while_its_tests_fail_and_a_plan_is_not_deepened_by_words() {
    let (project, _) = shipped(
        r#"case $WARP_PHASE$n in
        work1) put greet 'echo hello'; answer '{"summary":"it greets"}' ;;
        deepen1) answer '{"summary":"it is deep enough"}' ;;
        test1) answer '{"event":"tests_failed","summary":"it does not greet","failure":"no greeting"}' ;;
        esac"#,
    );
    assert!(project.prompt("work", 2).contains("the tests do not pass"));
    assert!(project.prompt("deepen", 2).contains("the plan's content is what it was"));
    assert!(project.prompt("fix", 1).contains("no greeting"), "what failed in the test goes to fix");
    let plan = project.sandbox.git(&["show", &format!("feature/add-a-greeting:{PLAN}")]);
    assert_eq!(plan, "# A greeting, with its edge cases");
}

#[test]
fn a_p1_cannot_be_approved_away() {
    let (project, _) = shipped(
        r#"case $WARP_PHASE$n in review1)
        answer '{"event":"review_clean","status":"APPROVED","summary":"fine","findings":[{"severity":"p1","text":"it is wrong"}]}' ;; esac"#,
    );
    assert!(project.phases().contains(&"fix".to_owned()));
    assert!(project.prompt("fix", 1).contains("it is wrong"));
}

#[test]
fn an_agent_does_not_choose_the_command_that_judges_it() {
    if !adapters::process::is_installed("node") {
        return skip("node is not installed");
    }
    let tests = "tests/acceptance/greet-acceptance.mjs";
    let project = Project::new();
    project.otherwise(
        r#"tests=tests/acceptance/greet-acceptance.mjs
        failing='import { test } from "node:test"; import assert from "node:assert"; import fs from "node:fs";
test("greets", () => assert(fs.existsSync("greet")));'
        case $WARP_PHASE$n in
        work1) put package.json '{"scripts":{"test":"echo all good"}}'; answer '{"summary":"all good"}' ;;
        esac"#,
    );
    project.run_alone(&[]).ends(0);
    let prompt = project.prompt("work", 2);
    assert!(
        prompt.contains(&format!("the tests do not pass (`node --test '{tests}'` ended with exit 1)")),
        "{prompt}"
    );
    assert_eq!(project.sandbox.git(&["show", "feature/add-a-greeting:greet"]), "#!/bin/sh\necho hello");
}

#[test]
fn a_project_without_tests_is_said_to_have_none() {
    let words = "the acceptance tests alone say whether the feature is there";
    let project = Project::new();
    let said = project.run(&["--skip-brainstorm"]);
    assert!(!said.err.contains(words), "{said:?}");
    let project = Project::new();
    project.sandbox.git(&["rm", "--quiet", "Makefile"]);
    project.sandbox.git(&["commit", "--quiet", "--amend", "--no-edit"]);
    // What an agent adds is no test of the project's that it is judged by.
    project.otherwise(r#"test $WARP_PHASE$n = work1 && printf 'test:\n\tfalse\n' > Makefile"#);
    let said = project.run_alone(&[]).ends(0);
    assert!(said.err.contains(words) || said.out.contains(words), "{said:?}");
}

#[test]
fn easier_tests_with_another_plan_are_not_slipped_past_a_person() {
    let project = Project::new();
    project.otherwise(
        r#"case $WARP_PHASE$n in
        work1) put $plan '# Anything will do'; put $tests true; put done yes; answer '{"summary":"done"}' ;;
        work2) put $tests true; answer '{"summary":"the same tests once more"}' ;;
        esac"#,
    );
    project.run(&["--skip-brainstorm"]).ends(5);
    project.answer("approve", &[]);
    project.run(&[]).ends(5);
    assert_eq!(project.phases().last().unwrap(), "work", "nothing continues before a person has looked");
    project.answer("reject", &["--note", "a greeting is wanted"]);
    project.run(&[]).ends(0);
    assert!(project.prompt("work", 2).contains("rejected by a person: a greeting is wanted"));
    assert!(
        project.prompt("work", 3).contains("the acceptance tests are frozen: "),
        "the plan that came with them is no leave for them any more"
    );
    project.is_shipped();
    let test = project.sandbox.git(&["show", &format!("feature/add-a-greeting:{TESTS}")]);
    assert_eq!(test, "./greet | grep -q hello");
}
