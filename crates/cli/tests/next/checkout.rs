//! A run in a person's own checkout: it makes branches, pushes and keeps unfinished work as a run in a workspace of its own does.

use testkit::Sandbox;

use super::{next, phase, project, refused};
use crate::support::{Ends as _, InProject as _};

/// A project that stands on `main`, with a remote that has it.
fn on_main() -> Sandbox {
    let sandbox = project();
    sandbox.git(&["switch", "--quiet", "main"]);
    sandbox.git(&["merge", "--quiet", "--ff-only", "feature/issue-42-parser"]);
    sandbox.git(&["branch", "--quiet", "-D", "feature/issue-42-parser"]);
    sandbox.git(&["init", "--quiet", "--bare", "--initial-branch", "main", "../remote.git"]);
    sandbox.git(&["remote", "add", "origin", "../remote.git"]);
    sandbox.git(&["push", "--quiet", "origin", "main"]);
    sandbox
}

fn begin(sandbox: &Sandbox, level: &str) {
    sandbox.warp_ok(&["state", "init", ".", "--level", level, "--issue", "42"]);
}

/// Writes the only chunk and takes the run to where it asks whether to continue; returns what `warp next` said at last.
fn to_the_end(sandbox: &Sandbox) -> String {
    while phase(sandbox) != "planning" {
        next(sandbox);
    }
    sandbox.transitions(&["plan_ready"]);
    next(sandbox);
    sandbox.write("parser.rs", "// parser reads empty files and lines\n");
    sandbox.transitions(&["code_complete"]);
    let mut said = String::new();
    while phase(sandbox) != "awaiting_continue" {
        said = next(sandbox);
    }
    said
}

fn at(sandbox: &Sandbox, name: &str) -> String {
    sandbox.git(&["rev-parse", name])
}

/// Returns where the remote's branches are.
fn remote(sandbox: &Sandbox) -> Vec<(String, String)> {
    let listed = sandbox.git(&["ls-remote", "--heads", "origin"]);
    let line =
        |line: &str| line.split_once("\trefs/heads/").map(|(at, name)| (name.to_owned(), at.to_owned()));
    listed.lines().filter_map(line).collect()
}

#[test]
fn level_three_makes_a_branch_and_pushes_as_the_setting_says() {
    for (push, main_is_pushed, said) in [
        ("target", true, "pushed: origin main"),
        ("branch", false, "pushed: origin feature/issue-42-add-a-parser"),
        ("never", false, "not pushed: push = \"never\"; `git push origin main` pushes it"),
        ("ask", false, "not pushed: you have not said whether warp may push"),
    ] {
        let sandbox = on_main();
        sandbox.warp_ok(&["config", &format!("push={push}")]);
        let before = at(&sandbox, "main");
        begin(&sandbox, "3");
        let merged = to_the_end(&sandbox);
        assert!(merged.contains(said), "{push}: {merged}");
        assert_eq!(sandbox.git(&["branch", "--show-current"]), "feature/issue-42-add-a-parser", "{push}");
        assert_eq!(at(&sandbox, "main"), at(&sandbox, "HEAD"), "{push}");
        assert_ne!(at(&sandbox, "main"), before, "{push}");
        let there = remote(&sandbox);
        let is_there = |name: &str, commit: &str| there.contains(&(name.to_owned(), commit.to_owned()));
        let main = if main_is_pushed { at(&sandbox, "main") } else { before };
        assert!(is_there("main", &main), "{push}: {there:?}");
        let branch = is_there("feature/issue-42-add-a-parser", &at(&sandbox, "HEAD"));
        assert_eq!(branch, push == "branch", "{push}: {there:?}");
    }
}

#[test]
fn level_two_wants_a_branch_of_the_persons_and_pushes_it() {
    let sandbox = on_main();
    sandbox.warp_ok(&["config", "push=branch"]);
    begin(&sandbox, "2");
    let said = refused(&sandbox);
    insta::assert_snapshot!(sandbox.stable(&said), @"error: Must not be on main/master: `/start-work` or `git switch -c feature/NAME` leaves `main`");
    sandbox.git(&["switch", "--quiet", "-c", "feature/mine"]);
    let said = to_the_end(&sandbox);
    assert!(said.contains("is ready for review as pull request #"), "{said}");
    assert!(said.contains("pushed: origin feature/mine"), "{said}");
    assert!(remote(&sandbox).contains(&("feature/mine".to_owned(), at(&sandbox, "HEAD"))));
}

#[test]
fn work_is_rebased_and_tested_again_if_somebody_was_faster() {
    let sandbox = on_main();
    sandbox.warp_ok(&["config", "push=target"]);
    begin(&sandbox, "3");
    next(&sandbox);
    next(&sandbox);
    sandbox.git(&["clone", "--quiet", "../remote.git", "../other"]);
    let other = |arguments: &[&str]| sandbox.git(&[&["-C", "../other"], arguments].concat());
    sandbox.write("../other/theirs.txt", "faster\n");
    other(&["add", "--all"]);
    other(&["commit", "--quiet", "-m", "feat: faster"]);
    other(&["push", "--quiet", "origin", "main"]);
    to_the_end(&sandbox);
    assert!(sandbox.read("theirs.txt").is_some());
    assert_eq!(at(&sandbox, "main"), at(&sandbox, "HEAD"));
    assert!(remote(&sandbox).contains(&("main".to_owned(), at(&sandbox, "main"))));
    let subjects = sandbox.git(&["log", "--format=%s", "-n", "2"]);
    assert!(subjects.ends_with("feat: faster"), "{subjects}");
}

#[test]
fn commits_of_the_persons_own_are_pushed_only_with_their_word() {
    let sandbox = on_main();
    sandbox.warp_ok(&["config", "push=target"]);
    sandbox.git(&["switch", "--quiet", "-c", "feature/mine"]);
    sandbox.write("own.txt", "mine\n");
    sandbox.git(&["add", "own.txt"]);
    sandbox.git(&["commit", "--quiet", "-m", "feat: my own"]);
    begin(&sandbox, "3");
    let before = remote(&sandbox);
    let said = to_the_end(&sandbox);
    assert!(said.contains("not pushed: that would take 1 commit of your own along"), "{said}");
    assert_eq!(remote(&sandbox), before);
}

#[test]
fn a_graceful_stop_commits_unfinished_work_and_the_next_run_takes_it_up() {
    let sandbox = on_main();
    begin(&sandbox, "3");
    while phase(&sandbox) != "planning" {
        next(&sandbox);
    }
    sandbox.transitions(&["plan_ready"]);
    next(&sandbox);
    sandbox.write("parser.rs", "// half of a parser\n");
    sandbox.warp_ok(&["stop"]);
    let said = sandbox.as_agent(&["next"]).ends(0);
    insta::assert_snapshot!(sandbox.stable(&said.out), @"
    unfinished work is committed on branch `feature/issue-42-add-a-parser`; `/warp-drive 42` continues it
    the abort report is #43
    #6 aborted -> completed (abort_resolved)
    The warp-drive run of this project is over (completed). Nothing is left to do in it.
    ");
    assert_eq!(sandbox.git(&["log", "--format=%s", "-n", "1"]), "chore: unfinished work on #42");
    assert_eq!(sandbox.git(&["status", "--short"]), "");

    begin(&sandbox, "3");
    next(&sandbox);
    let said = next(&sandbox);
    assert!(said.contains("its unfinished work is in the tree, not committed"), "{said}");
    assert_eq!(sandbox.git(&["status", "--short"]), "?? parser.rs");
    assert_eq!(at(&sandbox, "HEAD"), at(&sandbox, "main"));
}

#[test]
fn a_stop_on_main_commits_nothing_there() {
    let sandbox = on_main();
    begin(&sandbox, "3");
    let before = at(&sandbox, "main");
    sandbox.write("parser.rs", "// half of a parser\n");
    sandbox.warp_ok(&["stop"]);
    let said = next(&sandbox);
    assert!(said.contains("uncommitted work is kept as"), "{said}");
    assert_eq!(at(&sandbox, "main"), before);
}

#[test]
fn each_issue_of_a_run_gets_its_branch_also_by_an_answer() {
    for answers in [["state", "transition", ".", "continue_yes"].as_slice(), &["answer"]] {
        let sandbox = on_main();
        sandbox.issue(43, "# Add a printer\n\n- [ ] printer writes lines\n");
        begin(&sandbox, "3");
        to_the_end(&sandbox);
        if answers == ["answer"] {
            let state = sandbox.warp_ok(&["status", "--json"]);
            let state: serde_json::Value = serde_json::from_str(&state).unwrap();
            let id = state["asked"]["id"].as_str().unwrap_or_else(|| panic!("{state}"));
            sandbox.warp_ok(&["answer", id, "yes"]);
        } else {
            sandbox.warp_ok(answers);
        }
        // A session that comes back in between changes nothing about it.
        sandbox.warp_ok(&["status"]);
        let said = next(&sandbox);
        assert!(said.contains("branch feature/issue-43-add-a-printer"), "{said}");
        assert_eq!(sandbox.git(&["branch", "--show-current"]), "feature/issue-43-add-a-printer");
    }
}
