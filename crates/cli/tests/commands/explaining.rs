//! `warp explain` for an issue in every place that it can be in: what is so, why, and what to do.

use testkit::driven::{Driven, Driving};

use super::json;
use crate::support::{Ends as _, InProject as _, workspace};

const WARP: &str = env!("CARGO_BIN_EXE_warp");

/// Returns all that a command prints, however it ends.
pub(crate) fn plain(driven: &Driven, arguments: &[&str]) -> String {
    driven.sandbox.stable(&driven.sandbox.warp(arguments).all())
}

/// Starts `warp run` and waits until it prints a text.
pub(crate) fn started(driven: &Driven, arguments: &[&str], text: &str) -> Driving {
    let mut run = driven.start(arguments);
    run.line(text);
    run
}

/// An agent that works for as long as it is let.
pub(crate) fn busy() -> String {
    Driven::coding_turn(1, 1..=1, "  { wait_ms = 60000 },\n")
}

fn first_lines(text: &str) -> String {
    text.split("\n\n").next().unwrap_or_default().to_owned()
}

#[test]
fn an_issue_that_is_not_there() {
    let driven = Driven::with_issue(WARP, 1, 1);
    driven.sandbox.warp(&["explain", "7"]).ends(2);
    insta::assert_snapshot!(plain(&driven, &["explain", "7"]), @"
    Issue 7 is not there.
    What to do:
      warp issue list              shows what there is
      warp issue new --title TEXT  files one
    ");
    let told = json(&driven.sandbox.warp(&["explain", "7", "--json"]).out);
    assert_eq!((told["is"].as_str(), told["issue"].as_u64()), (Some("missing"), Some(7)));
    assert_eq!(told["next"][0]["command"], "warp issue list");
}

#[test]
fn a_name_that_nothing_has() {
    let driven = Driven::with_issue(WARP, 1, 1);
    for command in [["explain", "abc"].as_slice(), &["watch", "abc"], &["cost", "abc"]] {
        let said = driven.sandbox.warp(command).ends(2);
        assert_eq!(
            said.err,
            "error: no run or issue `abc` in demo\nhint: `warp issue list` shows the issues that there are\n"
        );
    }
}

#[test]
fn an_issue_that_is_no_requirement() {
    let driven = Driven::new(WARP);
    driven.sandbox.warp_ok(&["issue", "new", "--title", "An idea"]);
    insta::assert_snapshot!(plain(&driven, &["explain", "1"]), @"
    Issue 1 (An idea) is not labelled `req`, so it is not taken.
    What to do:
      warp run 1                                   labels and approves it, and begins at once
      warp issue label 1 --add req --add approved  puts it in the queue
    ");
}

#[test]
fn an_issue_that_is_not_approved() {
    let driven = Driven::new(WARP);
    driven.sandbox.warp_ok(&["issue", "new", "--title", "A parser", "--body", "- [ ] reads lines"]);
    insta::assert_snapshot!(plain(&driven, &["explain", "1"]), @"
    Issue 1 (A parser) is not approved, so it is not taken.
    What to do:
      warp issue approve 1  puts it in the queue
      warp run 1            approves it and begins at once
    ");
    insta::assert_snapshot!(plain(&driven, &["explain"]), @"
    `warp run` would do nothing: no issue is approved: `warp issue approve N` lets one be taken.
    In this order:
      #1  not approved  A parser
    What to do:
      warp explain N  says more about one
    ");
    // What it says works.
    driven.sandbox.warp_ok(&["issue", "approve", "1"]);
    insta::assert_snapshot!(plain(&driven, &["explain", "1"]), @"
    Issue 1 (A parser) is approved and ready, and the next one.
    What to do:
      warp run    takes it
      warp run 1  starts it ahead of the queue
    ");
}

#[test]
fn an_issue_that_waits_for_others() {
    let driven = Driven::with_issue(WARP, 1, 1);
    driven.issue(43, 1, "\nDepends on #42 and depends on #99.\n");
    insta::assert_snapshot!(plain(&driven, &["explain", "43"]), @"
    Issue 43 (Words for 43) is blocked by #42 (Words for 42), #99, which is not there.
    What to do:
      warp explain 42                     says what that one waits for
      warp issue import FILE --number 99  files the one that is not there
    ");
}

#[test]
fn issues_that_wait_for_each_other() {
    let driven = Driven::new(WARP);
    driven.issue(42, 1, "\nDepends on #43.\n");
    driven.issue(43, 1, "\nDepends on #42.\n");
    insta::assert_snapshot!(plain(&driven, &["explain", "42"]), @"
    Issue 42 (Words for 42) is blocked by itself: #42 -> #43 -> #42.
    What to do:
      warp issue edit 42 --body-file FILE  gives it a text without one of these dependencies
    ");
    insta::assert_snapshot!(plain(&driven, &["explain"]), @"
    `warp run` would do nothing: no issue is ready: what is approved is blocked by others.
    In this order:
      #42  blocked by itself: #42 -> #43 -> #42  Words for 42
      #43  blocked by itself: #43 -> #42 -> #43  Words for 43
    What to do:
      warp explain N  says more about one
    ");
}

#[test]
fn an_issue_that_is_ready_and_its_place_in_the_queue() {
    let driven = Driven::with_issue(WARP, 1, 1);
    driven.issue(50, 1, "");
    driven.sandbox.warp_ok(&["issue", "label", "50", "--add", "p1-critical"]);
    insta::assert_snapshot!(plain(&driven, &["explain", "50"]), @"
    Issue 50 (Words for 50) is approved and ready, and the next one.
    What to do:
      warp run     takes it
      warp run 50  starts it ahead of the queue
    ");
    insta::assert_snapshot!(plain(&driven, &["explain", "42"]), @"
    Issue 42 (Words for 42) is approved and ready; before it comes #50.
    What to do:
      warp run 42   takes it now
      warp explain  shows the queue
    ");
    insta::assert_snapshot!(plain(&driven, &["explain"]), @"
    `warp run` would take issue 50 (Words for 50).
    In this order:
      #50  next   Words for 50
      #42  ready  Words for 42
    What to do:
      warp explain N  says more about one
    ");
    let told = json(&driven.sandbox.warp_ok(&["explain", "--json"]));
    assert_eq!((told["would"].as_str(), told["issue"].as_u64()), (Some("take"), Some(50)));
    assert_eq!(told["queue"][1]["issue"], 42);
    // It is what `warp run` does.
    let said = driven.run(&["--level", "3"]);
    assert!(said.out.contains("issue 50 is next: Words for 50"), "{said:?}");
}

#[test]
fn an_issue_that_another_process_has_claimed() {
    let driven = Driven::with_issue(WARP, 1, 1);
    let mut other = workspace(&driven.sandbox);
    other.claim("42").unwrap();
    let text = plain(&driven, &["explain", "42"]);
    let here = std::env::current_dir().unwrap();
    insta::assert_snapshot!(text.replace(here.to_str().unwrap(), "[HERE]"), @"
    Issue 42 (Words for 42) is claimed by process [PID] in [HERE], which has no run for it yet.
    What to do:
      ps -fp [PID]  shows what that process is
    ");
    insta::assert_snapshot!(plain(&driven, &["explain"]), @"
    `warp run` would do nothing: every issue that is ready is taken already.
    In this order:
      #42  claimed by process [PID]  Words for 42
    What to do:
      warp explain N  says more about one
    ");
    other.release().unwrap();
    assert!(plain(&driven, &["explain", "42"]).contains("is approved and ready"));
}

#[test]
fn an_issue_that_is_being_worked_on_and_one_that_was_interrupted() {
    let driven = Driven::with_issue(WARP, 1, 1);
    driven.script(&busy());
    let mut run = started(&driven, &["42"], "turn_started");
    insta::assert_snapshot!(first_lines(&plain(&driven, &["explain", "42"])), @"
    Issue 42 (Words for 42) is being worked on, in `coding`, chunk 1 of 1, by process [PID] in [HOME]/state/warp/projects/[ID]/slots/1/tree.
    What to do:
      warp watch 42      follows it
      warp tell 42 TEXT  says something to its agent
      warp stop 42       stops it; what is done is kept
    ");
    insta::assert_snapshot!(plain(&driven, &["explain"]), @"
    `warp run` would do nothing: every issue that is ready is taken already.
    In this order:
      #42  run [RUN] has it, in coding  Words for 42
    What to do:
      warp explain N  says more about one
    ");
    let said = driven.run(&["42"]);
    assert_eq!(said.code, Some(6), "{said:?}");
    insta::assert_snapshot!(driven.sandbox.stable(&said.err), @"
    error: issue 42 is worked on by process [PID] in `[HOME]/state/warp/projects/[ID]/slots/1/tree`
    hint: `warp status` shows how far it is; `warp stop` stops it
    ");
    run.kill();
    insta::assert_snapshot!(first_lines(&plain(&driven, &["explain", "42"])), @"
    Issue 42 (Words for 42) was interrupted, in `coding`, chunk 1 of 1: process [PID] has exited.
    What to do:
      warp run 42          resumes where it was
      warp stop 42 --hard  gives it up; its files are kept
    ");
    insta::assert_snapshot!(plain(&driven, &["explain"]), @"
    `warp run` would resume issue 42: run [RUN] stands in `coding`, and its process has exited.
    In this order:
      #42  run [RUN] has it, in coding  Words for 42
    What to do:
      warp explain N  says more about one
    ");
    // By its run it is the same.
    let run = workspace(&driven.sandbox).runs().unwrap().remove(0).run.id.to_string();
    assert_eq!(plain(&driven, &["explain", &run]), plain(&driven, &["explain", "42"]));
    driven.script(&Driven::plain_script(1, 1));
    driven.run(&["42", "--level", "3"]).ends(0);
}

#[test]
fn an_issue_that_waits_for_a_decision() {
    let driven = Driven::with_issue(WARP, 1, 1);
    driven.run(&["42", "--approve-plan"]).ends(5);
    insta::assert_snapshot!(first_lines(&plain(&driven, &["explain", "42"])), @"
    Issue 42 (Words for 42) waits for a decision, in `planning`.
    Question: Is this plan right?
    word by word
    What to do:
      warp answer [RUN].6 approve  answers `approve`
      warp answer [RUN].6 reject   answers `reject`
      warp answer [RUN].6 abort    answers `abort`
      warp run 42                       resumes after that
    ");
    let told = json(&driven.sandbox.warp_ok(&["explain", "42", "--json"]));
    assert_eq!(
        (told["is"].as_str(), told["decision"]["options"][0].as_str()),
        (Some("parked"), Some("approve"))
    );
    let status = plain(&driven, &["status"]);
    let end = "Run: [RUN]\nTitle: Words for 42\nNext: an answer, then `warp run 42`\n";
    assert!(status.ends_with(end), "{status}");
}

#[test]
fn an_issue_that_a_budget_has_stopped() {
    let driven = Driven::with_issue(WARP, 1, 1);
    driven.script(&Driven::coding_turn(1, 1..=1, "  { write = \"broken\", text = \"word1\" },\n"));
    driven.run(&["42", "--set", "max_coding_cycles=1"]).ends(5);
    insta::assert_snapshot!(first_lines(&plain(&driven, &["explain", "42"])), @"
    Issue 42 (Words for 42) is stopped by a budget, in `budget_exceeded`, chunk 1 of 1.
    Used up: coding_cycles_exceeded (2 of 1)
    Question: Tests still fail after 2 attempts (limit 1). Try again, or stop? (until [TIME])
    What to do:
      warp answer [RUN].e17 continue  answers `continue`
      warp answer [RUN].e17 abort     answers `abort`
      warp run 42                          resumes after that
    ");
}

#[test]
fn an_issue_whose_run_was_stopped() {
    let driven = Driven::with_issue(WARP, 1, 1);
    let steps =
        "  { write = \"half\", text = \"wor\" },\n  { say = \"half done\" },\n  { wait_ms = 60000 },\n";
    driven.script(&Driven::coding_turn(1, 1..=1, steps));
    let mut run = started(&driven, &["42"], "half done");
    driven.sandbox.warp_ok(&["stop"]);
    run.end();
    insta::assert_snapshot!(plain(&driven, &["explain", "42"]), @"
    Issue 42 (Words for 42) was stopped: run [RUN] ended at [TIME]; its work is on branch `feature/issue-42-words-for-42`.
    What to do:
      warp run 42                               resumes from `feature/issue-42-words-for-42`
      git switch feature/issue-42-words-for-42  lets you finish it yourself
    ");

    let other = super::sandbox();
    other.warp_ok(&["state", "init", ".", "--workflow", "coder", "--issue", "7"]);
    other.transitions(&["receive_task", "workspace_ready"]);
    other.warp_ok(&["stop"]);
    let said = other.warp_ok(&["explain", "7"]);
    assert!(said.starts_with("Issue 7 is stopped, in `PLANNING`; its work lies in [HOME]/demo."), "{said}");
    assert!(said.contains("warp state resume [HOME]/demo"), "{said}");
}

#[test]
fn an_issue_that_is_worked_on_in_a_checkout() {
    let sandbox = super::coding();
    let said = sandbox.warp_ok(&["explain", "42"]);
    assert!(
        said.starts_with("Issue 42 is worked on in [HOME]/demo, in `coding`, chunk 1 of 2, by process "),
        "{said}"
    );
    assert!(said.contains("warp stop 42 --hard"), "{said}");
}

#[test]
fn an_issue_that_is_handed_over() {
    let driven = Driven::with_issue(WARP, 1, 1);
    driven.run(&["42", "--level", "2"]).ends(0);
    insta::assert_snapshot!(plain(&driven, &["explain", "42"]), @"
    Issue 42 (Words for 42) is ready for review as pull request #44 (`feature/issue-42-words-for-42` -> `main`, waits for a person).
    What to do:
      warp pr show 44                  shows it
      warp pr merge 44                 tests it and merges it
      warp pr request-changes 44 TEXT  says what is to be changed
      warp pr close 44                 closes it; its issue can be taken again then
    ");
    insta::assert_snapshot!(plain(&driven, &["explain"]), @"
    `warp run` would do nothing: every issue that is ready is taken already.
    In this order:
      #42  ready for review as pull request #44  Words for 42
    What to do:
      warp explain N  says more about one
    ");
    insta::assert_snapshot!(plain(&driven, &["explain", "44"]), @"
    Pull request 44 (Words for 42) is about issue 42 (`feature/issue-42-words-for-42` -> `main`, waits for a person).
    What to do:
      warp pr show 44                  shows it
      warp pr merge 44                 tests it and merges it
      warp pr request-changes 44 TEXT  says what is to be changed
      warp pr close 44                 closes it; its issue can be taken again then
    ");
    driven.sandbox.warp_ok(&["pr", "request-changes", "44", "another word"]);
    insta::assert_snapshot!(plain(&driven, &["explain", "42"]), @"
    Issue 42 (Words for 42) is ready for review as pull request #44 (`feature/issue-42-words-for-42` -> `main`, changes are wanted).
    What to do:
      warp run 42       makes the changes, on the same branch
      warp pr show 44   shows it
      warp pr close 44  closes it; its issue can be taken again then
    ");
}

#[test]
fn an_issue_that_is_done() {
    let driven = Driven::with_issue(WARP, 2, 1);
    driven.run(&["42", "--level", "3", "--set", "max_acs_per_commit=1"]).ends(0);
    insta::assert_snapshot!(plain(&driven, &["explain", "42"]), @"
    Issue 42 (Words for 42) is done: run [RUN], merged as [COMMIT] at [TIME].
      [COMMIT] feat: Words for 42 (AC-01)
      [COMMIT] feat: Words for 42 (AC-02)
    What to do:
      warp diff 42    shows what it changed
      warp revert 42  undoes it
    ");
    let told = json(&driven.sandbox.warp_ok(&["explain", "42", "--json"]));
    assert_eq!((told["is"].as_str(), told["commits"].as_array().unwrap().len()), (Some("done"), 2));
    driven.issue(50, 1, "");
    driven.sandbox.warp_ok(&["issue", "close", "50", "--reason", "not wanted"]);
    insta::assert_snapshot!(plain(&driven, &["explain", "50"]), @"
    Issue 50 (Words for 50) is closed (not wanted) since [TIME]; no run of warp's has merged it.
    What to do:
      warp issue reopen 50  opens it again
    ");
}
