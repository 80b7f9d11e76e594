//! What the tests need is installed in the run's workspace: once, again when a manifest changes, and never committed.

use std::fs;

use crate::support::{GOOD, Project};

/// Counts how often it ran, in an ignored directory, and leaves a file that nobody ignores.
const SETUP: &str = "mkdir -p deps && echo run >> deps/runs && echo made > made.txt";

/// A project whose tests need what the setup makes.
fn project(script: &str) -> Project {
    let project = Project::new(script);
    project.sandbox.write("test.sh", "test -e deps/runs && echo 'ok 1 - has its dependencies'\n");
    project.sandbox.write("package.json", "{}\n");
    project.sandbox.write(".gitignore", "deps/\n");
    project.sandbox.write("warp.toml", format!("[workflow]\nsetup_command = \"{SETUP}\"\n"));
    project.sandbox.git(&["add", "--all"]);
    project.sandbox.git(&["commit", "--quiet", "-m", "chore: dependencies"]);
    project
}

fn setups(project: &Project) -> usize {
    fs::read_to_string(project.tree().join("deps/runs")).unwrap().lines().count()
}

#[test]
fn it_is_installed_once_and_stays_for_the_next_run() {
    let project = project(GOOD);
    let ended = project.run(&[]);
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    assert!(ended.said.contains(&format!("prepared with `{SETUP}` in ")), "{}", ended.said);
    assert_eq!(setups(&project), 1);
    let committed = project.sandbox.git(&["ls-tree", "-r", "--name-only", "main"]);
    assert!(!committed.contains("made.txt") && !committed.contains("deps"), "{committed}");
    assert!(!project.sandbox.root().join("deps").exists());

    let said = project.run_another();
    assert!(said.contains("prepared before with "), "{said}");
    assert_eq!(setups(&project), 1);
}

#[test]
fn it_is_installed_again_when_the_work_changes_a_manifest() {
    let steps = r#"steps = [{ write = "package.json", text = "{ \"dependencies\": {} }\n" }, "#;
    let project = project(&GOOD.replace("steps = [", steps));
    let ended = project.run(&[]);
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    assert_eq!(setups(&project), 2);
}

#[test]
fn a_setup_that_fails_is_asked_about_before_an_agent_works() {
    let project = project(GOOD);
    let ended = project.run(&["--set", "setup_command=echo no such package; exit 3"]);
    assert_eq!(ended.code, Some(5), "{}", ended.said);
    let (id, question) = project.question();
    assert!(question.contains("`echo no such package; exit 3` ended with exit 3"), "{question}");
    assert!(question.contains("no such package\n") || question.ends_with("no such package"), "{question}");
    assert_eq!((project.count("turn_started"), project.count("tests_failed")), (0, 0));
    project.sandbox.warp_ok(&["answer", &id, "stop"]);
    let explained = project.sandbox.warp_ok(&["explain", "1"]);
    assert!(explained.contains("aborted") || explained.contains("stopped"), "{explained}");
}

#[test]
fn a_setup_whose_program_is_missing_is_said_at_once() {
    let project = project(GOOD);
    let ended = project.run(&["--set", "setup_command=no-such-installer install"]);
    assert_eq!(ended.code, Some(1), "{}", ended.said);
    assert!(ended.said.contains("`no-such-installer` is not installed"), "{}", ended.said);
    assert!(ended.said.contains("set `setup_command`"), "{}", ended.said);
}

#[test]
fn work_that_cannot_be_installed_has_failed_its_tests() {
    // What it asks for is not to be had; the agent is told, because it was possible before.
    let setup = "grep -q nothing package.json && { echo no package of that name; exit 1; }; true";
    let steps =
        r#"steps = [{ write = "package.json", text = "{ \"dependencies\": { \"nothing\": 1 } }\n" }, "#;
    let project = Project::new(&GOOD.replace("steps = [", steps));
    project.sandbox.write("package.json", "{}\n");
    project.sandbox.git(&["add", "--all"]);
    project.sandbox.git(&["commit", "--quiet", "-m", "chore: a manifest"]);
    let set = format!("setup_command={setup}");
    let ended = project.run(&["--set", &set, "--set", "max_coding_cycles=1"]);
    assert_eq!(ended.code, Some(5), "{}", ended.said);
    assert!(project.count("tests_failed") > 0, "{}", ended.said);
    assert!(ended.said.contains("no package of that name"), "{}", ended.said);
}
