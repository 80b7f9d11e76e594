//! What is seen of runs that warp drives from the person's own checkout: `status`, `log`, `stop`, and merging.

use std::{env, fs, os::unix::fs::PermissionsExt as _};

use testkit::{
    driven::{Driven, Driving},
    machine::has_walls_or_skip,
};

use super::{
    explaining::{busy, plain, started},
    json,
};
use crate::support::{Ends as _, InProject as _, workspace};

const WARP: &str = env!("CARGO_BIN_EXE_warp");

/// A project with issue 42 handed over as pull request 44.
fn handed_over() -> Driven {
    let driven = Driven::with_issue(WARP, 1, 1);
    driven.run(&["42", "--level", "2"]).ends(0);
    driven
}

#[test]
fn without_a_run_the_status_is_what_was_last_and_what_is_next() {
    let driven = Driven::with_issue(WARP, 1, 1);
    driven.run(&["42", "--level", "3"]).ends(0);
    driven.issue(50, 1, "");
    driven.sandbox.warp(&["status"]).ends(2);
    insta::assert_snapshot!(plain(&driven, &["status"]), @"
    No open run in demo.
    The last one was run [RUN] (issue 42), over at [TIME].
    `warp run` would take issue 50 (Words for 50).
    ");
    assert!(plain(&driven, &["status", "50"]).starts_with("Issue 50 (Words for 50) is approved and ready"));
    assert_eq!(driven.sandbox.warp_ok(&["log"]), driven.sandbox.warp_ok(&["log", "42"]));
}

#[test]
fn one_driven_run_is_the_status_and_several_are_a_table() {
    if !has_walls_or_skip() {
        return;
    }
    let driven = Driven::with_issue(WARP, 1, 1);
    driven.issue(50, 1, "");
    driven.script(&busy());
    let mut first = started(&driven, &["42"], "turn_started");
    let status = driven.sandbox.warp_ok(&["status"]);
    assert!(status.contains("\nPhase: coding\nIssue: 42\n"), "{status}");
    assert!(status.contains("\nRails: in the sandbox (bubblewrap)"), "{status}");
    assert_eq!(status, driven.sandbox.warp_ok(&["status", "42"]));
    assert!(driven.sandbox.warp_ok(&["log"]).contains("chunks_defined"));

    let mut second = started(&driven, &["50"], "turn_started");
    second.kill();
    let table = plain(&driven, &["status"]);
    // How wide a column is depends on the process ids.
    let narrow: Vec<String> =
        table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    insta::assert_snapshot!(narrow.join("\n"), @"
    Run Issue Phase Chunk Process Waits for
    [RUN-2] #50 coding 1/1 [PID] (gone) `warp run 50`
    [RUN] #42 coding 1/1 [PID] an agent in the role of coder

    Rails: in the sandbox (bubblewrap), in the agent and in git
    ");
    assert_eq!(json(&driven.sandbox.warp_ok(&["status", "--json"])).as_array().unwrap().len(), 2);
    insta::assert_snapshot!(driven.sandbox.refused(64, &["stop"]), @"
    error: several runs are open: [RUN-2] (issue 50), [RUN] (issue 42)
    hint: name one of them, or its issue; `warp status` shows them all
    ");
    driven.sandbox.warp_ok(&["stop", "50", "--hard"]);
    driven.sandbox.warp_ok(&["stop"]);
    assert_eq!(first.end(), Some(1), "it was stopped");
    assert!(workspace(&driven.sandbox).driven().unwrap().is_empty());
}

#[test]
fn a_run_is_watched_until_it_is_over() {
    let driven = Driven::with_issue(WARP, 1, 1);
    let token = ["ghp_", &"x1".repeat(18)].concat();
    let steps = format!(
        "  {{ say = \"I read it, {token}\" }},\n  {{ say = \"I begin\" }},\n  {{ wait_ms = 60000 }},\n"
    );
    driven.script(&Driven::coding_turn(1, 1..=1, &steps));
    let mut run = started(&driven, &["42"], "I begin");
    let watch = |arguments: &[&str]| Driving::start(driven.sandbox.warp_command(arguments));
    // The only run is meant; the former name does the same.
    let mut lines = watch(&["watch"]);
    let mut former = watch(&["status", "--watch", "42"]);
    let mut events = watch(&["watch", "42", "--json"]);
    // What stands there first is printed by now: what happens from here on is followed.
    assert_eq!(lines.line(""), "WARP DRIVE ACTIVE");
    assert_eq!(lines.line("> I read it"), "          > I read it, [secret removed]");
    lines.line("> I begin");
    former.line("> I begin");
    let first = json(&events.line(""));
    assert_eq!((first["type"].as_str(), first["status"]["phase"].as_str()), (Some("status"), Some("coding")));
    let said = json(&events.line("I begin"));
    assert_eq!((said["type"].as_str(), said["issue"].as_str()), (Some("agent"), Some("42")));
    driven.sandbox.warp_ok(&["stop", "42"]);
    assert_eq!(run.end(), Some(1), "it was stopped");
    let text = lines.rest().join("\n");
    assert!(text.contains("aborted 1/1              abort\n"), "{text}");
    // What was said and what was recorded in the same moment may come in either order.
    assert!(text.lines().any(|line| line.ends_with("completed 1/1            abort_resolved")), "{text}");
    former.rest();
    let is_over = |line: &String| {
        let line = json(line);
        (line["type"].as_str(), line["event"].as_str()) == (Some("event"), Some("abort_resolved"))
    };
    assert!(events.rest().iter().any(is_over));
    // What is over is shown as it was.
    let over = driven.sandbox.warp_ok(&["watch", "42"]);
    assert!(over.contains("> I begin\n") && over.contains("abort_resolved\n"), "{over}");
}

#[test]
fn what_agents_say_is_seen_at_once_with_the_issue_where_several_runs_are_open() {
    let driven = Driven::with_issue(WARP, 1, 1);
    let start = |number: u64| {
        let steps = format!("  {{ say = \"I work on {number}\" }},\n  {{ wait_ms = 60000 }},\n");
        driven.script(&Driven::coding_turn(1, 1..=1, &steps));
        started(&driven, &[&number.to_string()], "I work on")
    };
    driven.issue(50, 1, "");
    driven.issue(60, 1, "");
    let mut runs = vec![start(42), start(50)];
    let mut watch = Driving::start(driven.sandbox.warp_command(&["watch"]));
    assert_eq!(watch.line("> I work on 50"), "#50             > I work on 50");
    // It follows by now, and this run begins later.
    runs.push(start(60));
    assert_eq!(watch.line("> I work on 60"), "#60             > I work on 60");
    driven.sandbox.warp_ok(&["stop", "42"]);
    assert!(watch.line("abort_resolved").starts_with("#42   "));
    assert!(watch.is_under_way(), "others are open");
}

#[test]
fn a_pull_request_is_merged_tested_and_its_issue_closed() {
    let driven = handed_over();
    let sandbox = &driven.sandbox;
    // The target has moved on meanwhile.
    sandbox.write("other.txt", "later\n");
    sandbox.commit("feat: later");
    let output = sandbox.warp_command(&["pr", "merge", "44"]).env("AI_AGENT", "claude-code_1_agent").output();
    assert_eq!(output.unwrap().status.code(), Some(2), "an agent does not merge");
    insta::assert_snapshot!(plain(&driven, &["pr", "merge", "44"]), @"
    #44 is merged: `main` is at [COMMIT] now, which was tested
    issue 42 is closed
    `git branch -D feature/issue-42-words-for-42` removes the branch, if you like
    ");
    assert_eq!(sandbox.git(&["log", "-2", "--format=%s"]), "feat: Words for 42 (AC-01)\nfeat: later");
    assert_eq!(sandbox.read("file1.txt").unwrap(), "word1\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    assert!(plain(&driven, &["explain", "42"]).contains("is done: run [RUN], merged as [COMMIT]"));
    assert!(plain(&driven, &["pr", "show", "44"]).contains("merged as [COMMIT]"));
    insta::assert_snapshot!(sandbox.refused(3, &["pr", "merge", "44"]), @"error: #44 is merged already, as [COMMIT]");
    sandbox.warp_ok(&["revert", "42"]);
    assert_eq!(sandbox.read("file1.txt"), None);
}

#[test]
fn a_pull_request_that_cannot_be_merged_is_left_with_the_reason() {
    let driven = handed_over();
    let sandbox = &driven.sandbox;
    let refused = |code: i32, why: &str| {
        let main = sandbox.git(&["rev-parse", "main"]);
        let said = sandbox.warp(&["pr", "merge", "44"]);
        assert!(said.code == Some(code) && said.err.contains(why) && said.err.contains("hint: "), "{said:?}");
        assert_eq!(sandbox.git(&["rev-parse", "main"]), main);
        assert!(sandbox.warp_ok(&["issue", "show", "42"]).contains("\nopen, "));
    };
    driven.issue(7, 1, "");
    assert!(sandbox.warp(&["pr", "merge", "7"]).err.contains("#7 is an issue, and has no pull request"));
    assert!(sandbox.warp(&["pr", "merge", "99"]).err.contains("there is no issue or pull request #99"));

    sandbox.warp_ok(&["pr", "request-changes", "44", "another word"]);
    refused(3, "wants changes in #44 before it is merged");
    sandbox.warp_ok(&["pr", "approve", "44"]);

    sandbox.write("file1.txt", "another\n");
    sandbox.commit("feat: the same file");
    refused(1, "have changed the same lines of file1.txt");
    let hint = sandbox.warp(&["pr", "merge", "44"]).err;
    let onto = sandbox.git(&["rev-parse", "main"]);
    let told = format!("`git switch feature/issue-42-words-for-42` and `git rebase {onto}`");
    assert!(hint.contains(&told), "{hint}");
    sandbox.git(&["reset", "--quiet", "--hard", "HEAD~1"]);

    sandbox.write("Makefile", "test:\n\t@test ! -e file1.txt\n");
    sandbox.git(&["commit", "--quiet", "-am", "test: no words"]);
    refused(1, "the tests fail: `make test` ended with exit 2");
    sandbox.git(&["reset", "--quiet", "--hard", "HEAD~1"]);

    sandbox.write("file1.txt", "not committed\n");
    refused(1, "would be overwritten");
    let hint = sandbox.warp(&["pr", "merge", "44"]).err;
    assert!(
        hint.contains("no branch was moved; put that right, then") && !hint.contains("git switch"),
        "{hint}"
    );
    fs::remove_file(sandbox.root().join("file1.txt")).unwrap();

    sandbox.git(&["branch", "--quiet", "-m", "feature/issue-42-words-for-42", "moved"]);
    refused(1, "branch `feature/issue-42-words-for-42` of #44 is not available");
    sandbox.git(&["branch", "--quiet", "-m", "moved", "feature/issue-42-words-for-42"]);

    sandbox.warp_ok(&["pr", "close", "44"]);
    refused(3, "#44 is closed");
    sandbox.warp_ok(&["issue", "reopen", "44"]);
    insta::assert_snapshot!(sandbox.seen(&["pr", "merge", "44"]), @"
    #44 is merged: `main` is at [COMMIT] now, which was tested
    issue 42 is closed
    `git branch -D feature/issue-42-words-for-42` removes the branch, if you like
    ");
}

#[test]
fn what_a_closed_pull_request_met_is_open_again() {
    let driven = handed_over();
    let sandbox = &driven.sandbox;
    insta::assert_snapshot!(sandbox.refused(3, &["issue", "close", "44"]), @"
    error: #44 is a pull request
    hint: `warp pr show 44` shows it; `warp pr approve 44` approves it
    hint: `warp pr close 44` closes it
    ");
    insta::assert_snapshot!(plain(&driven, &["pr", "close", "44"]), @"
    #44 is closed; its branch stays
    open again in issue 42: AC-01
    ");
    assert!(sandbox.warp_ok(&["issue", "show", "42"]).contains("- [ ] the word word1"));
    // The next run begins at the target, and has all of it to show. What it ticks is not the first one's to take back.
    driven.run(&["42", "--level", "2"]).ends(0);
    assert_eq!(sandbox.warp_ok(&["pr", "close", "44"]), "#44 is closed; its branch stays\n");
    assert!(sandbox.warp_ok(&["issue", "show", "42"]).contains("- [x] the word word1"));
}

#[test]
fn an_issue_whose_criteria_are_all_ticked_is_not_taken() {
    let driven = handed_over();
    let sandbox = &driven.sandbox;
    sandbox.git(&["merge", "--quiet", "feature/issue-42-words-for-42"]);
    assert_eq!(
        sandbox.warp_ok(&["pr", "close", "44", "--reason", "merged"]),
        "#44 is closed; its branch stays\n"
    );
    let said = driven.run(&["42"]);
    assert_eq!(said.code, Some(3), "{said:?}");
    insta::assert_snapshot!(driven.sandbox.stable(&said.err), @"
    error: issue 42 cannot be worked on: every criterion is ticked
    hint: `warp explain 42` says more
    ");
    insta::assert_snapshot!(plain(&driven, &["explain", "42"]), @"
    Issue 42 (Words for 42) has every criterion ticked, so there is nothing left to do or to show.
    What to do:
      warp issue close 42                  closes it, if it is done
      warp issue edit 42 --body-file FILE  says what is left, as open boxes
    ");
    let said = driven.run(&["--until-empty"]);
    assert!(said.code == Some(0) && !said.out.contains("issue 42 is next"), "{said:?}");
}

#[test]
fn a_run_that_cannot_begin_approves_nothing() {
    let driven = Driven::new(WARP);
    let sandbox = &driven.sandbox;
    sandbox.warp_ok(&["issue", "new", "--title", "Words", "--body", "- [ ] the word word1 is in file1.txt"]);
    for (code, arguments) in [
        (65, ["run", "1", "--agent", "script:/nope"].as_slice()),
        (64, &["run", "1", "--agent", "nobody"]),
        (64, &["run", "1", "--agent", "command:true", "--level", "9"]),
        (78, &["run", "1", "--agent", "command:true", "--set", "nonsense=1"]),
    ] {
        let said = sandbox.warp(arguments);
        assert_eq!(said.code, Some(code), "{said:?}");
        assert!(plain(&driven, &["explain", "1"]).contains("is not approved"), "{arguments:?}");
    }
    driven.script(&Driven::plain_script(1, 1));
    driven.run(&["1", "--level", "3"]).ends(0);
    assert!(sandbox.warp_ok(&["issue", "show", "1"]).contains("approved by Test"));
}

#[test]
fn what_an_agent_wrote_is_tested_without_walls_only_at_a_persons_word() {
    let driven = handed_over();
    let sandbox = &driven.sandbox;
    // The target has moved on, so that the work has to be tested again.
    sandbox.write("other.txt", "later\n");
    sandbox.commit("feat: later");
    let bin = sandbox.home().join("bin");
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("bwrap"), "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(bin.join("bwrap"), fs::Permissions::from_mode(0o755)).unwrap();
    let without_walls = |arguments: &[&str]| {
        let path = format!("{}:{}", bin.display(), env::var("PATH").unwrap());
        let output = sandbox.warp_command(arguments).env("PATH", path).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for command in [["pr", "merge", "44"].as_slice(), &["revert", "42"]] {
        let before = sandbox.git(&["rev-parse", "main"]);
        let refused = without_walls(command);
        assert_eq!(refused.0, Some(78), "{refused:?}");
        assert!(refused.1.contains("there is no sandbox for what agents write: "), "{refused:?}");
        assert!(refused.1.contains("hint: `--no-sandbox` runs without it"), "{refused:?}");
        assert_eq!(sandbox.git(&["rev-parse", "main"]), before);
        let done = without_walls(&[command, &["--no-sandbox"]].concat());
        assert_eq!(done.0, Some(0), "{done:?}");
    }
}

#[test]
fn a_merge_that_was_cut_short_is_finished_by_the_next() {
    let driven = handed_over();
    let sandbox = &driven.sandbox;
    sandbox.write("other.txt", "later\n");
    sandbox.commit("feat: later");
    // Killed after the target was moved, before that was recorded.
    sandbox.git(&["cherry-pick", "feature/issue-42-words-for-42"]);
    let merged = sandbox.git(&["rev-parse", "main"]);
    let said = sandbox.warp_ok(&["pr", "merge", "44"]);
    assert!(
        said.contains(&format!("`main` is at {merged} now")) && said.contains("issue 42 is closed"),
        "{said}"
    );
    assert_eq!(sandbox.git(&["rev-parse", "main"]), merged);
}

#[test]
fn what_is_wrong_with_a_script_is_said_once() {
    let driven = Driven::with_issue(WARP, 1, 1);
    driven.script("[[turn]]\nfaze = \"coding\"\n");
    let said = driven.run(&["42"]).ends(65);
    assert_eq!(said.err.matches("unknown field `faze`").count(), 1, "{said:?}");
}
