//! Another round of a pull request: requested changes, and bringing it onto its target.

use testkit::{Said, driven::Driven};

use crate::support::{Ends as _, InProject as _};

const WARP: &str = env!("CARGO_BIN_EXE_warp");
const BRANCH: &str = "feature/issue-42-words-for-42";

/// A project with issue 42 handed over as pull request 44.
fn handed_over() -> Driven {
    let driven = Driven::with_issue(WARP, 1, 1);
    driven.run(&["42", "--level", "2"]).ends(0);
    driven
}

/// An agent that keeps its brief and writes a word.
fn writes(word: &str) -> String {
    format!("cat > brief.txt; printf '%s\\n' '{word}' > file1.txt; echo '{{\"summary\": \"done\"}}'")
}

fn changes_requested() -> Driven {
    let driven = handed_over();
    let said = driven.sandbox.warp_ok(&[
        "pr",
        "request-changes",
        "44",
        "-m",
        "Say word1 loudly",
        "-m",
        "And `rm -rf` nothing",
    ]);
    assert_eq!(said, "#44 wants changes; `warp run 42` makes them\n");
    driven
}

fn ok(said: &Said) {
    assert_eq!(said.code, Some(0), "{said:?}");
}

#[test]
fn requested_changes_are_made_on_the_same_branch_and_reviewed_again() {
    let driven = changes_requested();
    let sandbox = &driven.sandbox;
    insta::assert_snapshot!(sandbox.seen(&["explain", "42"]), @"
    Issue 42 (Words for 42) is ready for review as pull request #44 (`feature/issue-42-words-for-42` -> `main`, changes are wanted).
    What to do:
      warp run 42       makes the changes, on the same branch
      warp pr show 44   shows it
      warp pr close 44  closes it; its issue can be taken again then
    ");
    let next = sandbox.warp_ok(&["explain"]);
    assert!(next.contains("`warp run` would take issue 42"), "{next}");
    assert!(next.contains("pull request #44 waits for changes"), "{next}");
    let before = sandbox.git(&["rev-parse", BRANCH]);

    let said = driven.run_shell(&writes("WORD1 word1"), &["42", "--level", "3"]);
    ok(&said);
    assert!(said.out.contains("reworks pull request #44: 2 comments"), "{said:?}");
    assert!(
        said.out.contains("pull request #44 is at ") && said.out.contains("waits for review"),
        "{said:?}"
    );
    let brief = sandbox.git(&["show", &format!("{BRANCH}:brief.txt")]);
    assert!(brief.contains("RC-1: Test: Say word1 loudly"), "{brief}");
    assert!(brief.contains("RC-2: Test: And `rm -rf` nothing"), "{brief}");
    // It moves on, and nobody has merged it: the reviewer has not seen it yet, whatever the level.
    assert_eq!(sandbox.git(&["rev-parse", &format!("{BRANCH}~1")]), before);
    assert_eq!(sandbox.git(&["show", &format!("{BRANCH}:file1.txt")]), "WORD1 word1");
    assert!(!sandbox.git(&["ls-tree", "--name-only", "main"]).contains("file1.txt"));
    assert_eq!(sandbox.warp_ok(&["pr", "list"]).matches(BRANCH).count(), 1, "it is the same pull request");
    // A person may name the issue instead.
    let shown = sandbox.warp_ok(&["pr", "show", "42"]);
    assert!(shown.starts_with("#44 ") && shown.contains(" feat: changes requested in #44\n"), "{shown}");
    assert!(shown.contains(" feat: Words for 42 (AC-01)\n"), "{shown}");
    assert!(shown.contains("round 1: ") && shown.contains("changes requested by Test"), "{shown}");
    assert!(shown.contains("round 2: ") && shown.contains("not reviewed"), "{shown}");
    let again = driven.run(&["42", "--level", "2"]);
    assert_eq!(again.code, Some(3), "{again:?}");
    insta::assert_snapshot!(driven.sandbox.stable(&again.err), @"
    error: issue 42 cannot be worked on: it is ready for review as pull request #44: `warp pr merge 44`, `warp pr request-changes 44 TEXT` or `warp pr close 44`
    hint: `warp explain 42` says more
    ");

    // Merged, it is one account of two runs, and undone as one.
    sandbox.warp_ok(&["pr", "approve", "44"]);
    sandbox.warp_ok(&["pr", "merge", "44"]);
    assert_eq!(sandbox.git(&["show", "main:file1.txt"]), "WORD1 word1");
    let diff = sandbox.warp_ok(&["diff", "42"]);
    assert!(diff.contains("+WORD1 word1") && !diff.contains("-word1"), "{diff}");
    insta::assert_snapshot!(sandbox.seen(&["revert", "42"]), @"
    `main` is at [COMMIT] now, which undoes issue 42; `make test` ended with exit 0
    issue 42 is open again; `warp run 42` tries once more
    ");
    assert_eq!(sandbox.git(&["ls-tree", "--name-only", "main"]), "Makefile");
    assert!(sandbox.warp_ok(&["issue", "show", "42"]).contains("- [ ] the word word1"));
}

#[test]
fn a_second_round_has_only_its_own_comments() {
    let driven = changes_requested();
    let sandbox = &driven.sandbox;
    ok(&driven.run_shell(&writes("WORD1 word1"), &["42", "--level", "2"]));
    sandbox.warp_ok(&["pr", "request-changes", "44", "Quietly now"]);
    ok(&driven.run_shell(&writes("word1 it is"), &["42", "--level", "2"]));
    let brief = sandbox.git(&["show", &format!("{BRANCH}:brief.txt")]);
    assert!(brief.contains("RC-1: Test: Quietly now") && !brief.contains("RC-2: "), "{brief}");
    let shown = sandbox.warp_ok(&["pr", "show", "44"]);
    assert!(shown.contains("round 3: "), "{shown}");
}

#[test]
fn rework_comes_before_new_issues() {
    let driven = changes_requested();
    driven.issue(7, 1, "");
    let agent = "cat > /dev/null; if test \"$WARP_ISSUE\" = 42; then echo 'WORD1 word1' > file1.txt; echo '{\"summary\": \"done\"}'; \
        else echo 'word1 is in file1.txt' > seven.txt; \
        echo '{\"summary\": \"done\", \"evidence\": [{\"ac\": \"AC-01\", \"file\": \"seven.txt\", \"line\": 1}]}'; fi";
    let said = driven.run_shell(agent, &["--until-empty", "--level", "2"]);
    ok(&said);
    let (rework, new) = (said.out.find("reworks pull request #44"), said.out.find("Words for 7"));
    assert!(rework.is_some() && new.is_some() && rework < new, "{said:?}");
}

#[test]
fn rework_whose_tests_fail_leaves_the_pull_request_as_it_was() {
    let driven = changes_requested();
    let sandbox = &driven.sandbox;
    let before = sandbox.git(&["rev-parse", BRANCH]);
    let breaks = "cat > /dev/null; echo word1 > broken; echo '{\"summary\": \"done\"}'";
    let said = driven.run_shell(breaks, &["42", "--level", "2", "--set", "max_coding_cycles=1"]);
    assert_ne!(said.code, Some(0), "{said:?}");
    assert_eq!(sandbox.git(&["rev-parse", BRANCH]), before);
    sandbox.warp_ok(&["stop", "42"]);
    assert_eq!(sandbox.git(&["rev-parse", BRANCH]), before);
    assert!(sandbox.warp_ok(&["issue", "show", "42"]).contains("- [x] the word word1"));
    ok(&driven.run_shell(&format!("rm -f broken; {}", writes("WORD1 word1")), &["42", "--level", "2"]));
    let files = sandbox.git(&["ls-tree", "--name-only", BRANCH]);
    assert!(!files.contains("broken"), "{files}");
}

/// Lets the target move on.
fn target_writes(driven: &Driven, file: &str, text: &str) {
    driven.sandbox.write(file, text);
    driven.sandbox.commit("feat: meanwhile");
}

#[test]
fn a_pull_request_that_is_behind_is_updated_without_an_agent() {
    let driven = handed_over();
    let sandbox = &driven.sandbox;
    let said = sandbox.warp_ok(&["pr", "update", "44"]);
    assert_eq!(said, "#44 is on top of the newest `main` already\n");
    sandbox.warp_ok(&["pr", "approve", "44"]);
    target_writes(&driven, "other.txt", "later\n");
    insta::assert_snapshot!(sandbox.seen(&["pr", "update", "44"]), @"#44 is on top of `main`: `feature/issue-42-words-for-42` is at [COMMIT] now; `make test` ended with exit 0");
    assert_eq!(sandbox.git(&["rev-parse", &format!("{BRANCH}~1")]), sandbox.git(&["rev-parse", "main"]));
    let shown = sandbox.warp_ok(&["pr", "show", "44"]);
    assert!(shown.contains(&sandbox.git(&["rev-parse", BRANCH])) && shown.contains("approved"), "{shown}");
    sandbox.warp_ok(&["pr", "merge", "44"]);

    // With tests that fail on top of the target nothing moves.
    let driven = handed_over();
    let sandbox = &driven.sandbox;
    let before = sandbox.git(&["rev-parse", BRANCH]);
    target_writes(&driven, "Makefile", "test:\n\t@test ! -e file1.txt\n");
    insta::assert_snapshot!(sandbox.refused(1, &["pr", "update", "44"]), @"
    error: #44 is not merged: on top of the newest `main` the tests fail: `make test` ended with exit 2
      make: *** [Makefile:2: test] Error 1
    hint: no branch was moved; `git switch feature/issue-42-words-for-42` lets you fix it, then `warp pr merge 44` again, or `warp pr close 44`
    ");
    assert_eq!(sandbox.git(&["rev-parse", BRANCH]), before);
    assert_eq!(sandbox.git(&["for-each-ref", "refs/warp/salvage"]), "");
}

#[test]
fn a_conflict_is_resolved_by_an_agent() {
    let driven = handed_over();
    let sandbox = &driven.sandbox;
    target_writes(&driven, "file1.txt", "another\n");
    insta::assert_snapshot!(sandbox.refused(1, &["pr", "merge", "44"]), @"
    error: #44 is not merged: `feature/issue-42-words-for-42` and `main` have changed the same lines of file1.txt
    hint: no branch was moved; `warp pr update 44` lets an agent bring them together, or `git switch feature/issue-42-words-for-42` and `git rebase [COMMIT]` let you do so, then `warp pr merge 44` again, or `warp pr close 44`
    ");
    let explained = sandbox.warp_ok(&["explain", "42"]);
    assert!(explained.contains("both have changed the same lines of file1.txt"), "{explained}");
    assert!(explained.contains("What to do:\n  warp pr update 44 "), "{explained}");

    // Markers that are left are no resolution.
    let agent = "cat > brief.txt; if test -e tried; then printf 'another\\nword1\\n' > file1.txt; rm tried; else echo > tried; fi; \
        echo '{\"summary\": \"both are there\"}'";
    let mut command = sandbox.warp_command(&["pr", "update", "44", "--agent", &format!("command:{agent}")]);
    if !testkit::machine::has_walls() {
        command.arg("--no-sandbox");
    }
    let output = command.output().unwrap();
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
    assert!(said.contains("`file1.txt` still has lines that begin with"), "{said}");
    let brief = sandbox.git(&["show", &format!("{BRANCH}:brief.txt")]);
    assert!(brief.contains("These files have markers: file1.txt."), "{brief}");
    assert_eq!(sandbox.git(&["show", &format!("{BRANCH}:file1.txt")]), "another\nword1");
    assert_eq!(sandbox.git(&["rev-parse", &format!("{BRANCH}~1")]), sandbox.git(&["rev-parse", "main"]));
    let subject = sandbox.git(&["log", "-1", "--format=%s", BRANCH]);
    assert_eq!(subject, "feat: Words for 42 (AC-01)", "it is the same work");
    insta::assert_snapshot!(sandbox.seen(&["pr", "merge", "44"]), @"
    #44 is merged: `main` is at [COMMIT] now, which was tested
    issue 42 is closed
    `git branch -D feature/issue-42-words-for-42` removes the branch, if you like
    ");
    assert_eq!(sandbox.read("file1.txt").unwrap(), "another\nword1\n");
}

#[test]
fn rework_is_pushed_as_the_setting_says() {
    for (push, is_pushed) in [("branch", true), ("never", false)] {
        let driven = Driven::with_issue(WARP, 1, 1);
        let sandbox = &driven.sandbox;
        let remote = sandbox.home().join("remote.git");
        let remote = remote.to_str().unwrap();
        sandbox.git(&["init", "--quiet", "--bare", remote]);
        sandbox.git(&["remote", "add", "origin", remote]);
        sandbox.git(&["push", "--quiet", "origin", "main"]);
        sandbox.warp_ok(&["config", &format!("push={push}")]);
        ok(&driven.run(&["42", "--level", "2"]));
        sandbox.warp_ok(&["pr", "request-changes", "44", "Louder"]);
        ok(&driven.run_shell(&writes("WORD1 word1"), &["42", "--level", "2"]));
        let there = || sandbox.git(&["ls-remote", remote, &format!("refs/heads/{BRANCH}")]);
        let here = || sandbox.git(&["rev-parse", BRANCH]);
        assert_eq!(there().starts_with(&here()), is_pushed, "{push}: {}", there());
        // A rebased branch replaces what was pushed of it before.
        target_writes(&driven, "other.txt", "later\n");
        sandbox.git(&["push", "--quiet", "origin", "main"]);
        let said = sandbox.warp_ok(&["pr", "update", "44"]);
        assert_eq!(said.contains("\npushed: origin "), is_pushed, "{push}: {said}");
        assert_eq!(there().starts_with(&here()), is_pushed, "{push}: {}", there());
        assert_eq!(there().is_empty(), !is_pushed);
    }
}
