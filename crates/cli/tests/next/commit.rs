//! The commit: what was tested, and nothing that was there before the run.

use testkit::Sandbox;

use super::{committed, next, phase, project, refused, to_coding, to_committing};
use crate::support::{Ends as _, InProject as _};

#[test]
fn what_warp_does_itself_is_refused_to_an_agent() {
    let sandbox = project();
    to_committing(&sandbox, "3");
    for event in ["committed", "commit_with_doc_gate"] {
        let said = sandbox.as_agent(&["state", "transition", ".", event]).ends(3);
        let words = format!("`{event}` is warp's own work in `committing`: `warp next` does it");
        assert!(said.err.contains(&words), "{said:?}");
    }
    sandbox.as_agent(&["next", "--step"]).ends(0);
    for event in ["report_filed", "next_chunk", "requirement_done", "merge_ready", "merged", "session_ended"]
    {
        let said = sandbox.as_agent(&["state", "transition", ".", event]);
        assert_eq!(said.code, Some(3), "{event}: {said:?}");
        if phase(&sandbox) != "awaiting_continue" {
            next(&sandbox);
        }
    }
}

#[test]
fn what_was_there_before_the_run_stays_out_of_its_commits() {
    let sandbox = project();
    sandbox.write("mine.txt", "changed\n");
    sandbox.write("notes/a b*.txt", "mine\n");
    sandbox.write("staged.txt", "as it was staged\n");
    sandbox.git(&["add", "staged.txt"]);
    sandbox.write("touched.rs", "before\n");
    to_coding(&sandbox, "3");
    sandbox.write("touched.rs", "changed by the run\n");
    sandbox.write("parser.rs", "// parser reads empty files and lines\n");
    sandbox.transitions(&["code_complete"]);
    next(&sandbox);
    next(&sandbox);
    let said = next(&sandbox);
    assert!(
        said.contains("without what was there before the run: mine.txt, notes/a b*.txt, staged.txt"),
        "{said}"
    );
    assert_eq!(committed(&sandbox), "parser.rs\ntouched.rs");
    let left = sandbox.git(&["status", "--short", "--untracked-files=all"]);
    assert_eq!(left, " M mine.txt\nA  staged.txt\n?? \"notes/a b*.txt\"");
}

/// Claude Code writes its line to the global ignore file once a person trusts a project; others ignore it themselves.
#[test]
fn ignored_settings_of_the_person_keep_no_run_from_its_commit() {
    for (file, line) in [
        ("../config/git/ignore", "**/.claude/settings.local.json"),
        (".git/info/exclude", ".claude/settings.local.json"),
        (".git/info/exclude", ".claude/"),
        (".gitignore", ".claude/*"),
    ] {
        let sandbox = project();
        sandbox.write(".claude/settings.local.json", "{}");
        sandbox.write(file, format!("{line}\n"));
        to_committing(&sandbox, "3");
        next(&sandbox);
        let all = committed(&sandbox);
        assert!(all.contains("parser.rs") && !all.contains("settings.local.json"), "{line}: {all}");
        assert_eq!(sandbox.read(".claude/settings.local.json").as_deref(), Some("{}"), "{line}");
    }
}

#[test]
fn a_commit_that_a_crash_kept_from_being_recorded_is_recorded() {
    let sandbox = project();
    to_committing(&sandbox, "3");
    sandbox.commit("feat: parse");
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let said = next(&sandbox);
    assert!(said.contains(&format!("{} was made before, and is recorded now", &head[..10])), "{said}");
    assert!(said.contains("committing -> reporting"), "{said}");
    let state = sandbox.warp_ok(&["state", "status", "."]);
    assert!(state.contains(&head), "{state}");
}

#[test]
fn nothing_to_commit_is_no_commit() {
    let sandbox = project();
    to_committing(&sandbox, "3");
    std::fs::remove_file(sandbox.root().join("parser.rs")).unwrap();
    sandbox.git(&["checkout", "--quiet", "--", "."]);
    assert!(refused(&sandbox).contains("there is nothing to commit"));
}

#[test]
fn what_was_not_tested_is_tested_before_it_is_committed() {
    let sandbox = project();
    to_committing(&sandbox, "3");
    sandbox.write("Makefile", "test:\n\t@echo broken; false\n");
    let said = refused(&sandbox);
    insta::assert_snapshot!(sandbox.stable(&said), @"
    error: the files have changed since the tests passed, and the tests fail now; fix that first
      broken
      make: *** [Makefile:2: test] Error 1
    ");
}

#[test]
fn the_command_that_tests_the_project_is_the_merge_targets_whatever_an_agent_writes() {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    sandbox.issue(42, "# Add a parser\n\n- [ ] parser reads lines\n");
    sandbox.warp_ok(&["state", "init", ".", "--level", "2", "--issue", "42"]);
    sandbox.write("Makefile", "test:\n\ttrue\n");
    assert!(refused(&sandbox).contains("No test command was found in `main`, nor here when the run began"));
    sandbox.warp_ok(&["state", "reset", "."]);

    sandbox.git(&["switch", "--quiet", "main"]);
    sandbox.write("Cargo.toml", "[workspace]\n");
    sandbox.git(&["add", "Cargo.toml"]);
    sandbox.git(&["commit", "--quiet", "-m", "chore: tests"]);
    sandbox.git(&["switch", "--quiet", "feature/issue-42-parser"]);
    sandbox.warp_ok(&["state", "init", ".", "--level", "2", "--issue", "42"]);
    let said = next(&sandbox);
    assert!(said.contains("tests by `cargo test`"), "{said}");
}

#[test]
fn a_target_that_make_takes_for_a_file_is_no_test() {
    let sandbox = project();
    to_coding(&sandbox, "2");
    sandbox.write("parser.rs", "// parser reads empty files and lines\n");
    sandbox.write("test", "a file that is named as the target is\n");
    sandbox.transitions(&["code_complete"]);
    next(&sandbox);
    let said = next(&sandbox);
    assert!(said.contains("make has run no test") && said.contains("`.PHONY: test`"), "{said}");
    assert_eq!(phase(&sandbox), "coding");
}
