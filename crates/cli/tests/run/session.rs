//! One issue after the other, and runs that nobody carries on any more.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    ops::RangeInclusive,
    path::Path,
    process::Stdio,
};

use adapters::machine;
use journal::Stores;
use serde_json::Value;
use testkit::driven::Driven;

use crate::support::{Ends as _, InProject as _, workspace};

const WARP: &str = env!("CARGO_BIN_EXE_warp");

/// A script that writes a file of its own for each of these issues.
fn apart(issues: &[u64]) -> String {
    let turn = |issue: &u64| {
        format!(
            "[[turn]]\nphase = \"coding\"\nissue = {issue}\nsteps = [{{ write = \"word1-{issue}.txt\", text = \"word1 is in file1.txt\\n\" }}]\n\
             answer = {{ summary = \"done\", evidence = [{{ ac = \"AC-01\", file = \"word1-{issue}.txt\", line = 1 }}] }}\n"
        )
    };
    issues.iter().map(turn).collect()
}

/// Starts a run of issue 42 and kills it while its agent is at work; returns the root of its workspace.
fn killed(driven: &Driven) -> String {
    let agent = format!("script:{}", driven.sandbox.home().join("script.toml").display());
    let mut command = driven.sandbox.warp_command(&["run", "42", "--level", "3", "--agent", &agent]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("at work")), "the agent never began");
    child.kill().unwrap();
    child.wait().unwrap();
    let status = driven.sandbox.warp_command(&["status", "--json"]).output().unwrap();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    status["root"].as_str().unwrap().to_owned()
}

fn slow() -> String {
    slow_at(1, 1..=1)
}

/// The turn of an agent that takes its time for a chunk.
fn slow_at(chunk: u64, criteria: RangeInclusive<u64>) -> String {
    Driven::coding_turn(chunk, criteria, "{ say = \"at work\" }, { wait_ms = 60000 },")
}

#[test]
fn every_issue_has_a_run_of_its_own_that_can_be_undone_by_itself() {
    let driven = Driven::new(WARP);
    for issue in [1, 2, 3] {
        driven.issue(issue, 1, if issue == 2 { "\nDepends on #3\n" } else { "" });
    }
    driven.script(&apart(&[1, 2, 3]));
    let said = driven.run(&["--until-empty", "--level", "3"]).ends(0);
    assert!(said.out.contains("\n\n") && said.out.contains("issue 3 is next: Words for 3\n"), "{said:?}");
    let (_, summary) = said.out.split_once("\nThis session:\n").unwrap();
    assert_eq!(
        summary,
        "  merged            #1 Words for 1\n  merged            #3 Words for 3\n  merged            #2 Words for 2\n"
    );
    let sandbox = &driven.sandbox;
    let log = sandbox.git(&["log", "--reverse", "--format=%s", "main"]);
    let subjects: Vec<&str> = log.lines().skip(2).collect();
    assert_eq!(
        subjects,
        ["feat: Words for 1 (AC-01)", "feat: Words for 3 (AC-01)", "feat: Words for 2 (AC-01)"]
    );
    for issue in ["1", "2", "3"] {
        assert!(sandbox.warp_ok(&["log", issue]).contains("session_ended"), "{issue}");
    }
    sandbox.warp_ok(&["revert", "1"]);
    let exists = |name: &str| sandbox.root().join(name).exists();
    assert!(!exists("word1-1.txt") && exists("word1-2.txt") && exists("word1-3.txt"));
}

#[test]
fn the_end_of_a_session_says_what_waits_for_a_person_and_how_it_is_answered() {
    let driven = Driven::new(WARP);
    for issue in [1, 2, 3] {
        driven.issue(issue, 1, "");
    }
    let breaks = "[[turn]]\nphase = \"coding\"\nissue = 2\nsteps = [{ write = \"broken\", text = \"word1 is in file1.txt\\n\" }]\n\
        answer = { summary = \"done\", evidence = [{ ac = \"AC-01\", file = \"broken\", line = 1 }] }\n";
    let asks = "[[turn]]\nphase = \"coding\"\nissue = 3\n\
        answer = { summary = \"\", question = { kind = \"scope\", text = \"Which?\", options = [\"a\", \"b\"] } }\n";
    driven.script(&format!("{}{breaks}{asks}", apart(&[1])));
    let limits = ["--set", "max_coding_cycles=1", "--set", "decision_timeout_minutes=0"];
    let said = driven.run(&[&["--until-empty", "--level", "2"], limits.as_slice()].concat()).ends(5);
    let (_, summary) = said.out.split_once("\nThis session:\n").unwrap();
    let rows: Vec<&str> = summary.lines().collect();
    assert!(rows[0].starts_with("  ready for review  #1 Words for 1: `warp pr show "), "{summary}");
    assert!(rows[1].starts_with("  waits for you     #2 Words for 2: `warp answer "), "{summary}");
    assert!(rows[1].contains(" continue` or `warp answer ") && rows[1].ends_with(" abort`"), "{summary}");
    assert_eq!(rows[2..], ["  skipped           #3 Words for 3: 1 chunk"], "{summary}");
    let json = driven.run(&[&["--until-empty", "--level", "2", "--json"], limits.as_slice()].concat());
    assert!(!json.out.contains("This session"), "{json:?}");
}

#[test]
fn an_issue_that_is_deferred_is_taken_once_in_a_session_and_asks_once() {
    let driven = Driven::new(WARP);
    driven.issue(1, 1, "");
    driven.issue(2, 1, "");
    let asks = "[[turn]]\nphase = \"coding\"\nissue = 1\n\
        answer = { summary = \"\", question = { kind = \"scope\", text = \"Which?\", options = [\"a\", \"b\"] } }\n";
    driven.script(&format!("{asks}{}", apart(&[2])));
    let said = driven.run(&["--until-empty", "--level", "3", "--set", "decision_timeout_minutes=0"]).ends(5);
    let (_, summary) = said.out.split_once("\nThis session:\n").unwrap();
    let expected = "  skipped           #1 Words for 1: 1 chunk\n  merged            #2 Words for 2\n";
    assert_eq!(summary, expected);
    let todos = driven.sandbox.warp_ok(&["issue", "list", "--json"]);
    let todos: Value = serde_json::from_str(&todos).unwrap();
    let is_todo = |item: &&Value| item["labels"].as_array().unwrap().iter().any(|label| label == "todo");
    assert_eq!(todos.as_array().unwrap().iter().filter(is_todo).count(), 1, "{todos:#}");
}

#[test]
fn an_issue_that_somebody_else_takes_first_is_passed_over() {
    let driven = Driven::new(WARP);
    for issue in [1, 2, 3] {
        driven.issue(issue, 1, "");
    }
    driven.script(&apart(&[1, 2, 3]));
    // Whoever it is, it is somebody else: only who wants to claim it finds that out.
    let store = Stores::default().open(driven.sandbox.journal()).unwrap();
    let now = machine::now().millis();
    store.acquire("issue:2", "somebody", now, now + 3_600_000).unwrap();
    let said = driven.run(&["--until-empty", "--level", "3"]).ends(0);
    let told = format!("{}{}", said.out, said.err);
    assert!(told.contains("issue 2 is being worked on") && told.contains("trying the next one"), "{said:?}");
    assert!(said.out.contains("\n  skipped           issue 2 is being worked on"), "{said:?}");
    let log = driven.sandbox.git(&["log", "--reverse", "--format=%s", "main"]);
    let subjects: Vec<&str> = log.lines().skip(2).collect();
    assert_eq!(subjects, ["feat: Words for 1 (AC-01)", "feat: Words for 3 (AC-01)"]);

    // What is named is wanted, and nothing else instead.
    driven.run(&["2", "--until-empty", "--level", "3"]).ends(6);
}

#[test]
fn an_issue_that_is_handed_over_is_not_worked_on_again() {
    let driven = Driven::with_issue(WARP, 1, 1);
    driven.run(&["42", "--level", "2"]).ends(0);
    let said = driven.run(&["42", "--level", "2"]);
    assert_eq!(said.code, Some(3), "{said:?}");
    insta::assert_snapshot!(driven.sandbox.stable(&said.err), @"
    error: issue 42 cannot be worked on: it is ready for review as pull request #44: `warp pr merge 44`, `warp pr request-changes 44 TEXT` or `warp pr close 44`
    hint: `warp explain 42` says more
    ");
}

#[test]
fn the_status_of_a_run_that_nobody_carries_on_says_which_it_is_and_what_goes_on() {
    let driven = Driven::with_issue(WARP, 1, 1);
    driven.script(&slow());
    killed(&driven);
    let status = driven.sandbox.json(&["status", "--json"]);
    let said = driven.sandbox.warp_ok(&["status"]);
    assert!(said.starts_with("INTERRUPTED: `warp run 42` resumes\n"), "{said}");
    assert!(said.contains(" (not running)\nRails: "), "{said}");
    let run = status["run"].as_str().unwrap();
    let end = format!("\nRun: {run}\nTitle: Words for 42\nNext: `warp run 42` resumes\n");
    assert!(said.ends_with(&end), "{said}");
}

#[test]
fn a_run_that_nobody_carries_on_is_cleaned_up_by_the_stop_itself() {
    let driven = Driven::with_issue(WARP, 1, 1);
    driven.script(&slow());
    killed(&driven);
    let said = driven.sandbox.warp_ok(&["stop", "42"]);
    assert!(said.contains("the abort report is #") && said.contains("abort_resolved"), "{said}");
    assert_eq!(driven.sandbox.warp(&["status"]).code, Some(2), "nothing is left to continue with");
}

#[test]
fn a_hard_stop_keeps_the_work_at_once() {
    let driven = Driven::with_issue(WARP, 4, 3);
    let plan = "[[turn]]\nphase = \"planning\"\nanswer = { approach = \"word by word\" }\n";
    let half = "{ write = \"file4.txt\", text = \"half\\n\" }, { say = \"at work\" }, { wait_ms = 60000 },";
    let turns = [Driven::coding_turn(1, 1..=3, ""), Driven::coding_turn(2, 4..=4, half)].concat();
    driven.script(&format!("{plan}{turns}"));
    killed(&driven);
    let sandbox = &driven.sandbox;
    let said = sandbox.warp_ok(&["stop", "42", "--hard"]);
    insta::assert_snapshot!(sandbox.stable(&said), @"
    archived [HOME]/state/warp/projects/[ID]/slots/1/git/warp/set-aside/[TIME]-0-warp-drive-state.json
    run [RUN] is reset; `warp log [RUN]` still shows it
    its work is kept: `warp salvage show [RUN]/1`
    ");
    let named = said.lines().filter_map(|line| line.strip_prefix("its work is kept: `warp salvage show "));
    let named: Vec<&str> = named.map(|name| name.trim_end_matches('`')).collect();
    let kept: String = named.iter().map(|name| sandbox.warp_ok(&["salvage", "show", name])).collect();
    assert!(kept.contains("+half"), "{said}{kept}");
    let diff = sandbox.warp(&["diff", "42"]);
    let told = diff.err.contains(&format!("`warp salvage show {}`", named[0]));
    assert!(told && diff.out.contains("+word1"), "{diff:?}");
    assert!(sandbox.warp_ok(&["issue", "show", "42"]).contains("- [x] the word word1"));
}

#[test]
fn a_workspace_that_was_lost_and_made_again_commits_nothing_of_warps_own() {
    let driven = Driven::with_issue(WARP, 1, 1);
    driven.script(&slow());
    let root = killed(&driven);
    fs::rename(Path::new(&root).parent().unwrap(), driven.sandbox.home().join("gone")).unwrap();
    driven.sandbox.warp_ok(&["recover", "42"]);
    driven.script(&Driven::plain_script(1, 1));
    driven.run(&["42"]).ends(0);
    let files = driven.sandbox.git(&["ls-tree", "-r", "--name-only", "main"]);
    assert!(files.contains("file1.txt") && !files.contains(".claude"), "{files}");
}

/// Returns where the open runs of a project stand.
fn open_runs(driven: &Driven) -> Vec<(String, Option<String>, bool)> {
    let runs = workspace(&driven.sandbox).runs().unwrap();
    let open = runs.into_iter().map(|current| current.run).filter(|run| run.is_open());
    open.map(|run| (run.phase.to_string(), run.issue.clone(), run.standing == engine::Standing::Active))
        .collect()
}

/// Drivers are killed at points all along their way, some of them before they have chosen an issue.
#[cfg(debug_assertions)]
#[test]
fn a_session_resumes_every_run_that_was_killed_before_it_says_done() {
    let driven = Driven::new(WARP);
    let issues: Vec<u64> = (1..=10).collect();
    for issue in &issues {
        driven.issue(*issue, 1, "");
    }
    driven.script(&apart(&issues));
    // All begin at once, as several drivers do.
    for (issue, at) in issues.iter().zip([28, 29, 58, 113, 120, 123, 126, 129, 135, 139]) {
        let mut command = driven.run_command(&["--level", "3"]);
        if at > 28 {
            command.arg(issue.to_string());
        }
        let ended = command.env("WARP_CRASH_AT", at.to_string()).output().unwrap();
        assert_eq!(ended.status.code(), None, "killed at {at}: {ended:?}");
    }
    let before = open_runs(&driven);
    assert!(before.iter().any(|(_, issue, _)| issue.is_none()), "{before:?}");
    assert!(before.iter().filter(|(phase, ..)| phase == "merging").count() > 1, "{before:?}");
    let said = driven.run(&["--until-empty", "--level", "3"]);
    assert_eq!(open_runs(&driven), [], "{before:?}: {said:?}");
    insta::assert_snapshot!(driven.sandbox.stable(&said.err), @"done");
    let merged = driven.sandbox.git(&["ls-tree", "--name-only", "main"]);
    for issue in issues {
        assert!(merged.contains(&format!("word1-{issue}.txt")), "{issue}: {merged}\n{said:?}");
    }
}

#[test]
fn a_lock_that_was_left_in_the_remote_stops_the_session_once_and_is_named_whole() {
    let driven = Driven::new(WARP);
    let issues = [1, 2, 3];
    for issue in issues {
        driven.issue(issue, 1, "");
    }
    driven.script(&apart(&issues));
    let remote = driven.sandbox.home().join("a-directory-with-a-long-name/".repeat(8)).join("remote.git");
    let remote_text = remote.to_str().unwrap();
    driven.sandbox.git(&["clone", "--quiet", "--bare", ".", remote_text]);
    driven.sandbox.git(&["remote", "add", "origin", remote_text]);
    driven.sandbox.warp_ok(&["config", "push=target"]);
    let lock = remote.join("refs/heads/main.lock");
    fs::create_dir_all(lock.parent().unwrap()).unwrap();
    fs::write(&lock, "").unwrap();
    let said = driven.run(&["--until-empty", "--level", "3"]).ends(5);
    let told = format!("`origin` is locked, `{}` is there", driven.sandbox.plain(lock.to_str().unwrap()));
    assert!(said.err.contains(&told), "{told}: {said:?}");
    assert_eq!(said.out.matches("begins in").count(), 1, "no other issue is taken: {said:?}");
    fs::remove_file(&lock).unwrap();
    let said = driven.run(&["--until-empty", "--level", "3"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    insta::assert_snapshot!(driven.sandbox.stable(&said.err), @"done");
    let there = driven.sandbox.git(&["--git-dir", remote_text, "ls-tree", "--name-only", "main"]);
    assert!(issues.iter().all(|issue| there.contains(&format!("word1-{issue}.txt"))), "{there}: {said:?}");
}
