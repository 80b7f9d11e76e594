//! From a feature in words to a pull request.

use serde_json::Value;

use super::support::{FEATURE, PLAN, Project, TESTS, said};
use crate::support::{Ends as _, InProject as _};

#[test]
fn a_feature_becomes_a_pull_request_by_way_of_two_fix_cycles() {
    let project = Project::new();
    let remote = project.sandbox.home().join("remote.git");
    project.sandbox.git(&["init", "--quiet", "--bare", remote.to_str().unwrap()]);
    project.sandbox.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    project.sandbox.git(&["push", "--quiet", "origin", "main"]);
    project.sandbox.warp_ok(&["config", "push=branch"]);
    project.otherwise(
        r#"case $WARP_PHASE$n in
        review1) answer '{"summary":"one P1","findings":[{"severity":"p1","file":"greet","line":2,"text":"no name"}]}' ;;
        re_review1) answer '{"summary":"still","findings":[{"severity":"bug","text":"still no name"}]}' ;;
        esac"#,
    );
    project.run(&["--skip-test-review"]).ends(0);
    project.is_shipped();
    assert_eq!(
        project.phases(),
        [
            "brainstorm",
            "plan",
            "spec_test",
            "deepen",
            "work",
            "review",
            "fix",
            "re_review",
            "fix",
            "re_review",
            "compound",
            "test",
            "ship"
        ]
    );
    let findings = project.log().into_iter().filter(|row| row["event"] == "finding_reported");
    assert_eq!(findings.count(), 2, "what was found is on record");
    // Each phase that writes has commits of its own, made by warp.
    let branch = "feature/add-a-greeting";
    assert_eq!(
        project.sandbox.git(&["log", "--reverse", "--format=%s", &format!("main..{branch}")]),
        "docs: brainstorm of Add a greeting\n\
         docs: plan of Add a greeting\n\
         test: acceptance tests of Add a greeting\n\
         docs: deepen of Add a greeting\n\
         feat(greet): say hello\n\
         fix: findings about Add a greeting\n\
         fix: findings about Add a greeting\n\
         docs: compound of Add a greeting"
    );
    let files = project.sandbox.git(&["ls-tree", "-r", "--name-only", branch]);
    assert!(!files.contains("docs/progress.md"), "it would be in the way of every other loop's: {files}");
    let pushed = project.sandbox.git(&["ls-remote", "origin", &format!("refs/heads/{branch}")]);
    assert!(pushed.starts_with(&project.sandbox.git(&["rev-parse", branch])), "{pushed}");
    let pull = project.sandbox.warp_ok(&["pr", "show", "1"]);
    assert!(pull.contains("- work: it greets") && pull.contains("- fix: fixed"), "{pull}");
    assert!(!pull.contains("Left by force"), "{pull}");
    project.sandbox.warp_ok(&["pr", "merge", "1"]);
    assert_eq!(project.sandbox.read("greet").unwrap(), "#!/bin/sh\necho hello\n# fixed 1\n# fixed 2\n");
    let asked = project.log().into_iter().filter(|row| row["event"] == "decision_answered");
    assert_eq!(asked.count(), 0, "every receipt held when the promise was given, so nobody was asked");
}

#[test]
fn each_phase_is_told_what_it_has_to_know_and_nothing_moves_by_its_own_word() {
    let project = Project::new();
    project.run_alone(&[]).ends(0);
    let plan = project.prompt("plan", 1);
    for words in [FEATURE, "You work in the phase `plan`", "Write documents only", "Git is read-only"] {
        assert!(plan.contains(words), "{words}: {plan}");
    }
    assert!(!plan.contains("warp state transition"), "{plan}");
    let tests = project.prompt("spec_test", 1);
    assert!(
        tests.contains(&format!("the plan: {PLAN}")) && tests.contains("Every one of them must fail"),
        "{tests}"
    );
    let work = project.prompt("work", 1);
    assert!(work.contains(&format!("the acceptance tests: {TESTS}")) && work.contains("frozen"), "{work}");
    let review = project.prompt("review", 1);
    assert!(
        review.contains("- work: it greets") && review.contains("did not work: a file that cannot be run"),
        "{review}"
    );
}

#[test]
fn a_projects_own_text_replaces_the_built_in_one_as_the_merge_target_has_it() {
    let project = Project::new();
    project.sandbox.write(".warp/prompts/autonomous-loop/plan.md", "Run /compound-engineering:plan first.\n");
    project.sandbox.git(&["add", "--all"]);
    project.sandbox.git(&["commit", "--quiet", "--amend", "--no-edit"]);
    project.run_alone(&[]).ends(0);
    let plan = project.prompt("plan", 1);
    assert!(plan.contains("/compound-engineering:plan") && !plan.contains("Given/When/Then"), "{plan}");
}

#[test]
fn the_short_forms_of_settings_set_them() {
    let project = Project::new();
    project
        .run(&[
            "--budget",
            "7",
            "--max-iterations",
            "9",
            "--max-phase-iterations",
            "4",
            "--max-fix-cycles",
            "2",
            "--completion-promise",
            "DONE",
            "--skip-brainstorm",
        ])
        .ends(5);
    let state = project.state();
    for (field, value) in
        [("budget_limit_usd", 7), ("max_iterations", 9), ("max_phase_iterations", 4), ("max_fix_cycles", 2)]
    {
        assert_eq!(state[field], value, "{field}: {state:#}");
    }
    assert_eq!(state["completion_promise"], "DONE");
    assert_eq!(
        (&state["skip_brainstorm"], &state["skip_test_review"]),
        (&Value::from(true), &Value::from(false))
    );
    assert!(!project.phases().contains(&"brainstorm".to_owned()), "the loop starts at plan");
}

#[test]
fn what_is_no_issue_is_said_to_be_a_feature() {
    let project = Project::new();
    insta::assert_snapshot!(project.sandbox.refused(64, &["run", FEATURE, "--agent", "script:none"]), @r#"
    error: `Add a greeting` is neither the number of an issue nor an open run
    hint: `warp run --workflow autonomous-loop "FEATURE"` builds a feature that you describe
    "#);
    let said = project.run(&["--until-empty"]).ends(64);
    insta::assert_snapshot!(project.sandbox.stable(&said.err), @"error: `--until-empty` continues with issues, and `autonomous-loop` is about a feature");
}

#[test]
fn where_warp_runs_no_tests_it_has_the_agents_word_for_them() {
    let project = Project::new();
    project.otherwise(
        r#"case $WARP_PHASE$n in spec_test2) put $tests "$failing"
        answer "{\"artifact\":\"$tests\",\"summary\":\"one test\",\"run\":{\"failed\":1,\"errored\":0}}" ;; esac"#,
    );
    project.run_alone(&["--set", "test_before_commit=false"]).ends(0);
    project.is_shipped();
    assert!(project.prompt("spec_test", 2).contains("`run` is missing"));
}

#[test]
fn acceptance_command_is_how_the_acceptance_tests_are_run() {
    let project = Project::new();
    project.otherwise(r#"failing='test "$1" = loud && ./greet | grep -q hello'"#);
    project.run_alone(&["--set", "acceptance_command=sh {file} loud"]).ends(0);
    project.is_shipped();
    let project = Project::new();
    let said = project.run_alone(&["--set", "acceptance_command=true", "--max-phase-iterations", "1"]);
    assert!(said.out.contains("the tests pass before anything is written"), "{said:?}");
}

#[test]
fn a_feature_of_many_words_has_a_pull_request_with_a_title() {
    let project = Project::new();
    let words = format!("Add a greeting {}", "that is kind ".repeat(30));
    let arguments = ["--workflow", "autonomous-loop", &words, "--skip-brainstorm", "--skip-test-review"];
    said(project.command_of(&arguments)).ends(0);
    let pull = project.sandbox.warp_ok(&["pr", "show", "1"]);
    assert!(pull.starts_with("#1 Add a greeting that is kind") && pull.contains("kind that…\n"), "{pull}");
    assert!(pull.contains(words.trim()), "all of it is said: {pull}");
}

#[test]
fn at_level_three_what_is_shipped_is_merged() {
    let project = Project::new();
    let said = project.run_alone(&["--level", "3"]).ends(0);
    assert_eq!(project.log().last().unwrap()["event"], "shipped");
    assert!(said.out.contains("it is merged when the promise is given"), "{said:?}");
    let main = project.sandbox.git(&["rev-parse", "main"]);
    assert!(said.out.contains(&format!("`main` is at {main} now, which was tested")), "{said:?}");
    assert_eq!(project.sandbox.read("greet").as_deref(), Some("#!/bin/sh\necho hello\n"));
    assert!(project.sandbox.warp_ok(&["pr", "show", "1"]).contains("merged"));
}
