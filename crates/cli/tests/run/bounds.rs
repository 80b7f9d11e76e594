//! How much of the machine what runs in the sandbox may use, and what it leaves in its tree.

use std::time::{Duration, Instant};

use super::support::{GOOD, Project, has_walls};
use crate::support::Ends as _;

/// A project whose tests do this.
fn tested_by(script: &str) -> Project {
    let project = Project::new(GOOD);
    project.sandbox.write("test.sh", format!("{script}\n"));
    project.sandbox.git(&["commit", "--quiet", "--all", "-m", "chore: other tests"]);
    project
}

const ONE_TRY: [&str; 4] = ["--set", "max_coding_cycles=1", "--set", "decision_timeout_minutes=0"];

#[test]
fn bounds_of_the_sandbox_are_what_the_person_has_set() {
    if !has_walls() {
        return;
    }
    for (setting, script) in [
        ("sandbox_temporary_mb=8", "head -c 12000000 /dev/zero > /tmp/large"),
        ("sandbox_temporary_mb=8", "head -c 12000000 /dev/zero > \"$HOME/large\""),
        ("sandbox_file_mb=8", "head -c 12000000 /dev/zero > large; wc -c < large | grep -x 12000000"),
    ] {
        let project = tested_by(script);
        let ended = project.run(&ONE_TRY);
        assert_eq!(ended.code, Some(0), "{script}: {}", ended.said);
        let project = tested_by(script);
        let ended = project.run(&[&ONE_TRY[..], &["--set", setting]].concat());
        assert!(ended.code != Some(0) && project.count("tests_passed") == 0, "{setting}: {}", ended.said);
    }
}

#[test]
fn a_project_does_not_set_the_bounds_of_its_own_sandbox() {
    let project = Project::new(GOOD);
    let sandbox = &project.sandbox;
    for line in [
        "sandbox_processes = 0",
        "sandbox_memory_percent = 0",
        "sandbox_temporary_mb = 0",
        "sandbox_file_mb = 0",
        "sandbox_logins = \"codex\"",
    ] {
        sandbox.write("warp.toml", format!("[workflow]\n{line}\n"));
        let said = sandbox.warp(&["config"]);
        assert!(
            said.code != Some(0) && said.err.contains("yours to set, not a project's"),
            "{line}: {said:?}"
        );
    }
}

#[test]
fn pipes_where_git_reads_and_closed_directories_hold_nobody_up() {
    if !has_walls() {
        return;
    }
    let project = Project::new(
        r#"
[[turn]]
phase = "coding"
steps = [
    { write = "greeting.txt", text = "hello\nworld\n" },
    { run = "rm -f .gitignore; mkfifo .gitignore .gitattributes .gitmodules; mkdir -p a/b; mkfifo a/.gitignore a/b/.gitattributes" },
    { run = "mkdir closed; echo planted > closed/file; chmod 000 closed" },
]
answer = { summary = "It greets.", evidence = [
    { ac = "AC-01", file = "greeting.txt", line = 1 },
    { ac = "AC-02", file = "greeting.txt", line = 2 },
] }
"#,
    );
    let begun = Instant::now();
    project.run(&[]).ends(0);
    assert!(begun.elapsed() < Duration::from_secs(100), "{:?}", begun.elapsed());
    assert!(!project.tree().join(".gitattributes").exists());
    // It is in the change, where a person sees it, and not left for the next agent alone.
    assert_eq!(project.sandbox.git(&["show", "main:closed/file"]), "planted");
}
