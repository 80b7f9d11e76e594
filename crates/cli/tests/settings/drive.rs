//! The settings of Warp Drive: the same project, run with one value and with another.

use std::fs;

use testkit::{Said, Sandbox, driven::Driven, machine::has_walls};

use super::WARP;
use crate::support::InProject as _;

/// A question that nobody answers puts its chunk off at once.
const AT_ONCE: &str = "decision_timeout_minutes=0";
/// A step after which the tests fail.
const BREAK: &str = "  { write = \"broken\", text = \"word1\" },\n";

/// Runs issue 42 at level 3 with these settings.
fn run(driven: &Driven, settings: &[&str]) -> Said {
    let set: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    driven.run(&[&["42", "--level", "3"], set.as_slice()].concat())
}

/// Runs an issue of one criterion with an agent that meets it.
fn one(settings: &[&str]) -> (Driven, Said) {
    let driven = Driven::with_issue(WARP, 1, 1);
    let said = run(&driven, settings);
    (driven, said)
}

/// Runs an issue of one criterion with an agent that breaks the tests each time.
fn breaking(settings: &[&str]) -> Said {
    let driven = Driven::with_issue(WARP, 1, 1);
    driven.script(&Driven::coding_turn(1, 1..=1, BREAK));
    run(&driven, settings)
}

/// Runs an issue of one criterion with an agent that shows no evidence.
fn unproved(settings: &[&str]) -> Said {
    let driven = Driven::with_issue(WARP, 1, 1);
    let script = Driven::coding_turn(1, 1..=1, "");
    let start = script.find(", evidence").expect("the turn has evidence");
    driven.script(&format!("{} }}\n", &script[..start]));
    run(&driven, settings)
}

fn count(said: &Said, text: &str) -> usize {
    said.out.lines().filter(|line| line.trim_end().ends_with(text)).count()
}

fn commits(driven: &Driven) -> usize {
    driven.sandbox.git(&["log", "--format=%s", "--grep=^Refs #42$", "main"]).lines().count()
}

fn is_done(said: &Said) -> bool {
    said.code == Some(0) && said.err.ends_with("done\n") && count(said, "merged") == 1
}

#[test]
fn max_acs_per_commit_is_how_many_criteria_a_commit_has() {
    for (most, wanted) in [("1", 3), ("2", 2), ("3", 1)] {
        let driven = Driven::with_issue(WARP, 3, most.parse().unwrap());
        let said = run(&driven, &[&format!("max_acs_per_commit={most}")]);
        assert!(is_done(&said) && commits(&driven) == wanted, "{most}: {said:?}");
    }
}

#[test]
fn test_before_commit_tests_every_chunk_or_only_the_whole() {
    let (_, said) = one(&["test_before_commit=true"]);
    assert!(is_done(&said) && count(&said, "`make test` ended with exit 0") == 2, "{said:?}");
    let (_, said) = one(&["test_before_commit=false"]);
    assert!(is_done(&said) && count(&said, "`make test` ended with exit 0") == 1, "{said:?}");
    assert!(said.out.contains("tests are switched off"), "{said:?}");
}

#[test]
fn auto_merge_merges_or_hands_over() {
    let (driven, said) = one(&["auto_merge=true"]);
    assert!(is_done(&said) && commits(&driven) == 1, "{said:?}");
    let (driven, said) = one(&["auto_merge=false"]);
    assert!(
        said.out.contains("is ready for review as pull request #44") && commits(&driven) == 0,
        "{said:?}"
    );
}

#[test]
fn automation_active_level_merges_or_hands_over_and_the_flag_comes_first() {
    for (arguments, merged) in [
        (["42", "--set", "automation.active_level=3"].as_slice(), 1),
        (&["42", "--set", "automation.active_level=2"], 0),
        (&["42", "--set", "automation.active_level=3", "--level", "2"], 0),
        (&["42", "--level", "3"], 1),
        (&["42"], 0),
    ] {
        let driven = Driven::with_issue(WARP, 1, 1);
        let said = driven.run(arguments);
        assert!(said.code == Some(0) && commits(&driven) == merged, "{arguments:?}: {said:?}");
    }
}

#[test]
fn max_phase_minutes_is_when_a_phase_is_warned_of() {
    let (_, said) = one(&["max_phase_minutes=30"]);
    assert!(is_done(&said) && !said.out.contains("phase_timeout"), "{said:?}");
    let (_, said) = one(&["max_phase_minutes=0"]);
    assert!(is_done(&said) && said.out.contains("phase_timeout: `coding` has lasted longer than 0 minutes"));
}

#[test]
fn phase_timeout_enforcement_warns_stops_or_aborts() {
    let (_, said) = one(&["max_phase_minutes=0", "phase_timeout_enforcement=warn"]);
    assert!(is_done(&said) && !said.out.contains("(redirected: phase_timeout)"), "{said:?}");
    let (_, said) = one(&["max_phase_minutes=0", "phase_timeout_enforcement=block"]);
    assert!(said.code == Some(5) && said.out.contains("(redirected: phase_timeout)"), "{said:?}");
    let (driven, said) = one(&["max_phase_minutes=0", "phase_timeout_enforcement=abort"]);
    assert!(said.out.contains("abort_resolved") && commits(&driven) == 0, "{said:?}");
    assert_eq!(said.err, "stopped for good; what was done is kept, as said above\n");
}

/// Runs an agent that breaks the tests, with one limit low and the others out of the way; returns how often they failed.
fn failures_until(key: &str, value: u64, reason: &str) -> usize {
    let plenty = ["max_coding_cycles=9", "max_retries_per_chunk=9", "max_no_progress=9"];
    let setting = format!("{key}={value}");
    let mut settings: Vec<&str> = plenty.into_iter().filter(|other| !other.starts_with(key)).collect();
    settings.push(&setting);
    let said = breaking(&settings);
    assert!(said.code == Some(5) && said.out.contains(&format!("(redirected: {reason})")), "{said:?}");
    count(&said, "tests_failed")
}

#[test]
fn max_coding_cycles_is_how_often_code_is_tested() {
    assert_eq!(failures_until("max_coding_cycles", 1, "coding_cycles_exceeded"), 1);
    assert_eq!(failures_until("max_coding_cycles", 2, "coding_cycles_exceeded"), 2);
}

#[test]
fn max_retries_per_chunk_is_how_often_anything_is_tried_again() {
    assert_eq!(failures_until("max_retries_per_chunk", 1, "retry_exceeded"), 1);
    assert_eq!(failures_until("max_retries_per_chunk", 2, "retry_exceeded"), 2);
}

#[test]
fn max_no_progress_is_how_often_the_same_failure_is_seen() {
    assert_eq!(failures_until("max_no_progress", 2, "no_progress"), 1);
    assert_eq!(failures_until("max_no_progress", 3, "no_progress"), 2);
}

#[test]
fn max_edits_per_file_is_how_often_a_file_is_edited_without_a_warning() {
    for (most, is_warned) in [("2", true), ("5", false)] {
        let driven = Driven::with_issue(WARP, 1, 1);
        let again = "  { write = \"file1.txt\", text = \"wor\" },\n".repeat(3);
        driven.script(&Driven::coding_turn(1, 1..=1, &again));
        let said = run(&driven, &[&format!("max_edits_per_file={most}")]);
        assert!(is_done(&said), "{said:?}");
        assert_eq!(said.out.contains("file1.txt` was edited 3 times"), is_warned, "{}", said.out);
    }
}

#[test]
fn pre_exit_verification_wants_evidence_unless_it_is_off() {
    let said = unproved(&["pre_exit_verification=true", AT_ONCE]);
    assert!(said.out.contains("is refused in `coding` by self_verification"), "{said:?}");
    assert_eq!(count(&said, "merged"), 0, "{said:?}");
    assert!(is_done(&unproved(&["pre_exit_verification=false"])));
}

#[test]
fn decision_timeout_minutes_is_how_long_a_question_waits() {
    let said = unproved(&[AT_ONCE]);
    assert!(said.out.contains("nobody decided in time; see #43"), "{said:?}");
    assert!(said.err.starts_with("over, but 1 of its chunks was skipped"), "{said:?}");

    let driven = Driven::with_issue(WARP, 1, 1);
    let question = "{ kind = \"scope\", text = \"Also the server?\", options = [\"yes\", \"no\"] }";
    driven.script(&format!(
        "[[turn]]\nphase = \"coding\"\nanswer = {{ summary = \"\", question = {question} }}\n"
    ));
    let mut run = driven.start(&["42", "--set", "decision_timeout_minutes=10"]);
    let asked: serde_json::Value = serde_json::from_str(&run.line("\"type\":\"asked\"")).unwrap();
    assert_eq!(asked["asked"]["question"], "Also the server?");
    assert!(run.is_under_way(), "it waits");
    driven.sandbox.warp_ok(&["answer", asked["asked"]["id"].as_str().unwrap(), "abort"]);
    assert_eq!(run.end(), Some(1), "it was stopped");
}

#[test]
fn max_total_chunks_ends_a_session() {
    let driven = Driven::with_issue(WARP, 2, 1);
    let said = run(&driven, &["max_acs_per_commit=1", "max_total_chunks=1"]);
    assert!(said.code == Some(5) && said.out.contains("(redirected: total_chunks_exceeded)"), "{said:?}");
    let driven = Driven::with_issue(WARP, 2, 1);
    assert!(is_done(&run(&driven, &["max_acs_per_commit=1", "max_total_chunks=2"])));
}

#[test]
fn max_session_minutes_ends_a_session() {
    let (_, said) = one(&["max_session_minutes=0"]);
    assert!(said.code == Some(5) && said.out.contains("(redirected: session_timeout)"), "{said:?}");
    let (_, said) = one(&["max_session_minutes=480"]);
    assert!(is_done(&said), "{said:?}");
}

/// A person goes through a chunk of two, commits twice and ticks what the other chunk is about.
fn by_hand(reconcile: &str) -> serde_json::Value {
    let sandbox = Sandbox::new(WARP);
    sandbox.write("Makefile", "test:\n\t@true\n");
    let issue = |boxes: [&str; 2]| {
        let [first, second] = boxes;
        sandbox.issue(42, &format!("# Words\n\n- [{first}] word one\n- [{second}] word two\n"));
    };
    issue([" ", " "]);
    sandbox.commit("chore: tests");
    let settings = ["--set", "max_acs_per_commit=1", "--set", reconcile];
    let init = ["state", "init", ".", "--level", "2", "--issue", "42"];
    sandbox.warp_ok(&[init.as_slice(), &settings].concat());
    for _ in 0..2 {
        sandbox.warp_ok(&["next", "--step"]);
    }
    sandbox.transitions(&["plan_ready"]);
    sandbox.warp_ok(&["next", "--step"]);
    sandbox.write("one.txt", "word one\n");
    sandbox.transitions(&["code_complete"]);
    for _ in 0..2 {
        sandbox.warp_ok(&["next", "--step"]);
    }
    sandbox.commit("feat: word one");
    sandbox.git(&["commit", "--quiet", "--allow-empty", "-m", "feat: word one, once more"]);
    sandbox.transitions(&["committed"]);
    issue(["x", "x"]);
    let said = sandbox.warp(&["next", "--step"]);
    let is_corrected = said.err.contains("progress is corrected: git has 2 commits of this session, not 1");
    assert_eq!(is_corrected, reconcile.ends_with("true"), "{said:?}");
    let log = sandbox.json(&["log", "--json"]);
    let filed = log.as_array().unwrap().iter().find(|row| row["event"] == "report_filed").unwrap();
    assert_eq!(filed["data"]["corrected"].as_array().map_or(0, Vec::len), 2 * usize::from(is_corrected));
    serde_json::from_str(&sandbox.warp_ok(&["state", "status", "."])).unwrap()
}

#[test]
fn reconcile_per_chunk_corrects_progress_by_git_and_the_issue() {
    let numbers = |state: &serde_json::Value| {
        let hashes = state["commit_hashes"].as_array().unwrap().len() as u64;
        [state["metrics"]["commits"].as_u64().unwrap(), hashes, state["chunk"]["total"].as_u64().unwrap()]
    };
    assert_eq!(numbers(&by_hand("reconcile_per_chunk=true")), [2, 2, 1]);
    assert_eq!(numbers(&by_hand("reconcile_per_chunk=false")), [1, 1, 2]);
}

#[test]
fn verification_gates_block_when_they_fail() {
    let (_, said) = one(&[r#"verification_gates={"code_complete":["test -e lint"]}"#, AT_ONCE]);
    assert!(said.out.contains("test -e lint") && count(&said, "merged") == 0, "{said:?}");
    let (_, said) = one(&[r#"verification_gates={"code_complete":["test -e file1.txt"]}"#]);
    assert!(is_done(&said), "{said:?}");
}

#[test]
fn test_command_is_what_tests_the_project() {
    let (_, said) = one(&["test_command=test ! -e broken"]);
    assert!(is_done(&said) && said.out.contains("`test ! -e broken` ended with exit 0"), "{said:?}");
    let (_, said) = one(&["test_command=false", "max_coding_cycles=0"]);
    assert!(said.code == Some(5) && said.err.contains("`false` ended with exit 1"), "{said:?}");
}

#[test]
fn setup_command_is_run_before_the_tests() {
    let (_, said) = one(&["setup_command=echo made > made.txt", "test_command=test -e made.txt"]);
    assert!(is_done(&said) && said.out.contains("prepared with `echo made > made.txt`"), "{said:?}");
    let (_, said) = one(&["setup_command=none", "test_command=test ! -e made.txt"]);
    assert!(is_done(&said) && !said.out.contains("prepared"), "{said:?}");
}

#[test]
fn setup_minutes_is_how_long_that_may_take() {
    let (_, said) = one(&["setup_command=sleep 600", "setup_minutes=0"]);
    assert!(said.code == Some(5) && said.err.contains("`sleep 600` ended with"), "{said:?}");
}

#[test]
fn test_report_is_where_tests_report() {
    let test = "test_command=printf 'ok 1 - a\\n1..1\\n' > .report.tap";
    for (report, counted) in [("test_report=.report.tap", true), ("test_report=none", false)] {
        let (_, said) = one(&[test, report]);
        assert_eq!(said.out.contains("tests before the work: 1 passed"), counted, "{said:?}");
    }
}

#[test]
fn test_proof_is_whether_tests_have_to_be_able_to_fail() {
    let (_, said) = one(&["test_command=true", "test_proof=true"]);
    assert!(said.code == Some(5) && said.err.contains("no test was reported"), "{said:?}");
    let (_, said) = one(&["test_command=true", "test_proof=false"]);
    assert!(is_done(&said), "{said:?}");
}

#[test]
fn doc_drift_gate_is_a_phase_of_its_own() {
    for (value, times) in [("true", 1), ("false", 0)] {
        let (_, said) = one(&[&format!("doc_drift_gate={value}")]);
        assert!(is_done(&said) && count(&said, "drift_clean") == times, "{said:?}");
    }
}

#[test]
fn agent_is_who_works() {
    let driven = Driven::new(WARP);
    driven.issue(42, 1, "");
    let answer = r#"{"summary":"by command","evidence":[{"ac":"AC-01","file":"file1.txt","line":1}]}"#;
    let agent = format!("agent=command:echo word1 > file1.txt; echo '{answer}'");
    let walls = if has_walls() { &[][..] } else { &["--no-sandbox"] };
    let said = driven.sandbox.warp(&[&["run", "42", "--level", "3", "--set", &agent], walls].concat());
    assert!(is_done(&said) && commits(&driven) == 1, "{said:?}");
    driven.issue(50, 1, "");
    insta::assert_snapshot!(driven.sandbox.refused(64, &["run", "50", "--set", "agent=nobody"]), @"error: `nobody` is no agent: claude, codex, opencode, acp:LINE, command:LINE or script:FILE");
    let left = driven.sandbox.warp_ok(&["explain", "50"]);
    assert!(left.contains("is approved and ready"), "no run is left behind: {left}");
}

#[test]
fn workspace_is_a_clone_or_a_worktree() {
    for (value, trees, said_of) in
        [("clone", 1, "a clone of its own"), ("worktree", 2, "a worktree of its own")]
    {
        let (driven, said) = one(&[&format!("workspace={value}")]);
        assert!(is_done(&said) && said.out.contains(said_of), "{said:?}");
        assert_eq!(driven.sandbox.git(&["worktree", "list"]).lines().count(), trees, "{value}");
    }
}

#[test]
fn reasoning_budget_is_the_effort_that_the_agent_is_told() {
    for (budget, effort) in [(r#"{"coding":"high"}"#, "high"), (r#"{"coding":"low"}"#, "low")] {
        let driven = Driven::with_issue(WARP, 1, 1);
        let home = driven.sandbox.home();
        let (bin, told) = (home.join("bin"), home.join("told"));
        let claude = format!("#!/bin/sh\necho \"$@\" > {}\nexit 1\n", told.display());
        driven.sandbox.program(bin.join("claude"), &claude);
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let set = format!("reasoning_budget={budget}");
        let arguments = ["run", "42", "--agent", "claude", "--no-sandbox", "--set", &set, "--set", AT_ONCE];
        driven.sandbox.warp_command(&arguments).env("PATH", path).output().unwrap();
        let told = fs::read_to_string(told).unwrap();
        assert!(told.contains(&format!(" --effort {effort}")), "{told}");
    }
}
