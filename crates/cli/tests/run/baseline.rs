//! The tests run on the base before an agent works, and what failed there does not count against the work.

use std::fs;

use super::support::{GOOD, Project};
use crate::support::{Ends as _, InProject as _};

fn project(script: &str, test: &str) -> Project {
    let project = Project::new(script);
    project.sandbox.write("test.sh", test);
    project.sandbox.commit("test: others");
    project
}

/// One test that fails as it is, and one that fails if the work breaks it.
const ONE_OLD: &str = "test -e broken && echo 'not ok 1 - sound' || echo 'ok 1 - sound'\necho 'not ok 2 - old'\necho 1..2\nexit 1\n";

fn breaking() -> String {
    GOOD.replace("steps = [", r#"steps = [{ write = "broken", text = "" }, "#)
}

#[test]
fn a_green_base_is_a_fact_of_the_run_and_is_not_tested_twice() {
    let project = project(GOOD, "echo 'ok 1 - sound'\necho 'ok 2 - shaped # SKIP later'\necho 1..2\n");
    let ended = project.run(&[]).ends(0);
    let base = project.sandbox.git(&["rev-parse", "--short=10", "main~1"]);
    let words = format!("1 passed, 1 skipped at {base} in ");
    assert!(ended.said.contains(&format!("tests before the work: {words}")), "{}", ended.said);
    let status = project.sandbox.json(&["status", "1", "--json"]);
    assert_eq!((&status["baseline"]["state"], &status["baseline"]["passed"]), (&"green".into(), &1.into()));

    // What was tested before it was merged is the base of the next run.
    let said = project.run_another();
    assert!(said.contains("(tested before)"), "{said}");
}

#[test]
fn with_a_red_base_only_new_failures_count() {
    let project = project(GOOD, ONE_OLD);
    let ended = project.run(&[]).ends(0);
    assert!(ended.said.contains("1 passed, 1 failed (old)"), "{}", ended.said);
    assert!(ended.said.contains("only new failures count from here on"), "{}", ended.said);
    assert!(ended.said.contains("its 1 failure was there before the work began"), "{}", ended.said);
    assert_eq!(project.count("tests_failed"), 0);
}

#[test]
fn with_a_red_base_a_new_failure_is_one() {
    let project = project(&breaking(), ONE_OLD);
    let ended = project.run(&["--set", "max_coding_cycles=1"]).ends(5);
    assert!(ended.said.contains("they did not fail before the work began: sound"), "{}", ended.said);
    assert!(project.count("tests_failed") > 0);
    let explained = project.sandbox.warp_ok(&["explain", "1"]);
    assert!(explained.contains("Tests before the work: 1 passed, 1 failed (old) at "), "{explained}");
}

#[test]
fn a_red_base_without_names_is_a_persons_decision() {
    let project = project(GOOD, "test -e greeting.txt\n");
    project.run(&[]).ends(5);
    let (id, question) = project.question();
    assert!(question.contains("The tests fail before anything was changed, twice"), "{question}");
    assert!(question.contains("cannot be told by name"), "{question}");
    assert_eq!((project.count("turn_started"), project.count("tests_failed")), (0, 0));
    // The work counts as done once all tests pass, which they do with it.
    project.sandbox.warp_ok(&["answer", &id, "continue"]);
    project.goes_on();
}

#[test]
fn a_person_may_stop_at_a_red_base() {
    let project = project(GOOD, "exit 1\n");
    project.run(&[]).ends(5);
    let (id, _) = project.question();
    project.sandbox.warp_ok(&["answer", &id, "stop"]);
    assert_eq!(project.count("turn_started"), 0);
    let status = project.sandbox.json(&["status", "1", "--json"]);
    assert_eq!(status["phase"], "aborted", "{status:#}");
}

#[test]
fn a_test_that_fails_now_and_then_is_named() {
    // It fails whenever it ran for the first time.
    let test = "mkdir -p seen; test -e seen/it && echo 'ok 1 - shaky' || { touch seen/it; echo 'not ok 1 - shaky'; exit 1; }\n";
    let project = project(GOOD, test);
    project.sandbox.write(".gitignore", "seen/\n");
    project.sandbox.commit("chore: ignore");
    let ended = project.run(&[]).ends(0);
    assert!(ended.said.contains("flaky: shaky"), "{}", ended.said);
}

#[test]
fn what_is_missing_here_is_no_failure_of_anybody() {
    let project = project(GOOD, "no-such-runner --all\n");
    project.run(&[]).ends(5);
    let (id, question) = project.question();
    assert!(question.contains("a program is missing or cannot be run"), "{question}");
    assert!(question.contains("no-such-runner"), "{question}");
    assert_eq!((project.count("turn_started"), project.count("tests_failed")), (0, 0));
    // A person has installed it.
    let bin = project.sandbox.home().join("bin");
    fs::create_dir(&bin).unwrap();
    project.sandbox.program(bin.join("no-such-runner"), "#!/bin/sh\necho 'ok 1 - all'\n");
    project.sandbox.warp_ok(&["answer", &id, "continue"]);
    let mut command = project.command(&[]);
    command.env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
    super::support::Running::start(command).end().ends(0);
}

#[test]
fn a_program_that_the_work_makes_go_missing_is_its_failure() {
    let script = GOOD.replace("steps = [", r#"steps = [{ write = "test.sh", text = "no-such-runner\n" }, "#);
    let project = project(&script, "echo 'ok 1 - sound'\n");
    let ended = project.run(&["--set", "max_coding_cycles=1"]).ends(5);
    assert!(project.count("tests_failed") > 0, "{}", ended.said);
}
