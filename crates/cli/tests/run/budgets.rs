//! Budgets while a run is driven: at a trip it waits for a person, who answers from another process.

use super::support::{GOOD, Project};
use crate::support::Ends as _;

/// An agent whose work never passes the tests, each time in the same way.
const STUCK: &str = r#"
[[turn]]
phase = "coding"
steps = [{ write = "greeting.txt", text = "hello\nworld\n" }, { write = "broken", text = "x" }]
answer = { summary = "It greets.", evidence = [
    { ac = "AC-01", file = "greeting.txt", line = 1 },
    { ac = "AC-02", file = "greeting.txt", line = 2 },
] }
"#;

/// Runs until a budget is used up, and returns the id of the question.
fn trips(project: &Project, words: &str, more: &[&str]) -> String {
    let ended = project.run(more).ends(5);
    let (id, question) = project.question();
    assert!(question.contains(words), "{question}");
    let commands = format!("\nanswer with:\n  warp answer {id} continue\n  warp answer {id} abort\nthen `");
    assert!(ended.said.contains(&commands), "{}", ended.said);
    // Asked again, it still waits, and says so.
    let again = project.run(&[]);
    assert_eq!((again.code, again.said.contains(&id)), (Some(5), true), "{}", again.said);
    id
}

/// Says that it may go on, and sees that it does.
fn continues(project: &Project, id: &str) {
    project.sandbox.warp_ok(&["answer", id, "continue"]);
    let mended = GOOD.replace("steps = [", "steps = [{ run = \"rm -f broken\" }, ");
    project.script(&mended);
    project.run(&[]).ends(0);
    assert_eq!(project.sandbox.git(&["show", "main:greeting.txt"]), "hello\nworld");
}

#[test]
fn the_same_failing_diff_again_and_again_is_no_progress() {
    let project = Project::new(STUCK);
    let id = trips(&project, "The same failures came back", &[]);
    continues(&project, &id);
}

#[test]
fn turns_that_change_nothing_are_no_progress_whatever_the_tests_say() {
    let project = Project::new(STUCK);
    // Another word of failure each time.
    let test = "test ! -e broken || { od -An -N8 -tu8 /dev/urandom | tr 0-9 a-j; exit 1; }";
    let command = format!("test_command={test}");
    let free = ["--set", "max_coding_cycles=20", "--set", "max_retries_per_chunk=20", "--set", &command];
    let id = trips(&project, "The same failures came back", &free);
    let failures = project.log().into_iter().filter(|(event, _)| event == "tests_failed");
    let failures: std::collections::BTreeSet<String> = failures.map(|(_, data)| data.to_string()).collect();
    assert!(failures.len() >= 3, "every failure is another: {failures:?}");
    continues(&project, &id);
}

#[test]
fn a_budget_that_is_not_renewed_ends_the_run_and_keeps_the_work() {
    let project = Project::new(STUCK);
    let id = trips(&project, "The same failures came back", &[]);
    project.sandbox.warp_ok(&["answer", &id, "abort"]);
    let ended = project.run(&[]).ends(1);
    assert!(ended.said.contains("stopped for good"), "{}", ended.said);
    let branch = "feature/issue-1-a-greeting";
    assert_eq!(project.sandbox.git(&["show", &format!("{branch}:broken")]), "x");
    assert!(project.sandbox.warp_ok(&["issue", "list", "--state", "all"]).contains("was stopped"));
    let issue = project.sandbox.warp_ok(&["issue", "show", "1"]);
    assert!(!issue.contains("- [x]"), "what failed its tests is not met: {issue}");
}

#[test]
fn coding_cycles_and_retries_are_counted() {
    let project = Project::new(STUCK);
    let id =
        trips(&project, "Tests still fail after 2 attempts (limit 1)", &["--set", "max_coding_cycles=1"]);
    continues(&project, &id);
    let project = Project::new(STUCK);
    let id = trips(&project, "This chunk has failed 1 time (limit 0)", &["--set", "max_retries_per_chunk=0"]);
    continues(&project, &id);
}

#[test]
fn chunks_of_a_session_are_counted() {
    let script = r#"
[[turn]]
phase = "coding"
chunk = 1
steps = [{ write = "greeting.txt", text = "hello\nworld\n" }]
answer = { summary = "x", evidence = [{ ac = "AC-01", file = "greeting.txt", line = 1 }] }
[[turn]]
phase = "coding"
chunk = 2
steps = [{ append = "greeting.txt", text = "all the world\n" }]
answer = { summary = "x", evidence = [{ ac = "AC-02", file = "greeting.txt", line = 3 }] }
"#;
    let project = Project::new(script);
    let settings = ["--set", "max_total_chunks=0", "--set", "max_acs_per_commit=1"];
    let id = trips(&project, "This session has done 1 chunk (limit 0)", &settings);
    project.sandbox.warp_ok(&["answer", &id, "continue"]);
    project.run(&[]).ends(5);
    let (id, _) = project.question();
    project.sandbox.warp_ok(&["answer", &id, "continue"]);
    project.run(&[]).ends(0);
    assert_eq!(project.sandbox.git(&["rev-list", "--count", "main"]), "4");
}

#[test]
fn a_session_that_lasts_too_long_waits_for_a_person() {
    let project = Project::new(GOOD);
    trips(&project, "The session has taken", &["--set", "max_session_minutes=0"]);
}

#[test]
fn a_phase_that_lasts_too_long_is_only_warned_of_by_default() {
    let project = Project::new(GOOD);
    let ended = project.run(&["--set", "max_phase_minutes=0"]).ends(0);
    assert!(
        ended.said.contains("phase_timeout: `coding` has lasted longer than 0 minutes"),
        "{}",
        ended.said
    );
}

#[test]
fn a_phase_that_lasts_too_long_ends_the_agent_where_that_is_enforced() {
    for (enforcement, code, words) in
        [("block", 5, "minutes (limit 0). Continue, or stop?"), ("abort", 1, "stopped for good")]
    {
        let project = Project::new("");
        let enforcement = format!("phase_timeout_enforcement={enforcement}");
        let ended = project.run(&["--set", "max_phase_minutes=0", "--set", &enforcement]);
        assert_eq!((ended.code, ended.said.contains(words)), (Some(code), true), "{}", ended.said);
    }
}
