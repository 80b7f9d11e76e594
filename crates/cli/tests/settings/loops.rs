//! The settings of `autonomous-loop` and `coder`: a run that a person drives by hand, with one value and with another.

use std::{io::Write as _, process::Stdio};

use serde_json::{Value, json};
use testkit::{Said, Sandbox, driven::Driven};

use super::WARP;

/// A run of a workflow, with these settings.
struct Hand(Sandbox);

impl Hand {
    fn new(workflow: &str, settings: &[&str]) -> Self {
        let sandbox = Sandbox::new(WARP);
        let set: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
        let init = ["state", "init", ".", "--workflow", workflow, "--feature", "Login", "--issue", "42"];
        sandbox.warp_ok(&[init.as_slice(), &set].concat());
        Self(sandbox)
    }

    fn says(&self, event: &str) -> Said {
        self.0.warp(&["state", "transition", ".", event])
    }

    fn go(self, events: &[&str]) -> Self {
        self.0.transitions(events);
        self
    }

    fn state(&self) -> Value {
        serde_json::from_str(&self.0.warp_ok(&["state", "status", "."])).unwrap()
    }

    fn phase(&self) -> String {
        self.state()["phase"].as_str().unwrap().to_owned()
    }
}

fn autonomous(settings: &[&str]) -> Hand {
    Hand::new("autonomous-loop", settings)
}

fn coder(settings: &[&str]) -> Hand {
    Hand::new("coder", settings).go(&["receive_task", "workspace_ready"])
}

#[test]
fn max_iterations_is_how_many_turns_a_loop_has() {
    for (most, code) in [("2", 5), ("3", 0)] {
        let hand = autonomous(&[&format!("max_iterations={most}")]).go(&["turn_finished"]);
        assert_eq!(hand.says("turn_finished").code, Some(code), "{most}");
        assert_eq!(hand.state()["max_iterations"], most.parse::<u64>().unwrap());
    }
}

#[test]
fn max_phase_iterations_is_how_many_turns_a_phase_has() {
    for (most, phase) in [("2", "plan"), ("3", "brainstorm")] {
        let hand = autonomous(&[&format!("max_phase_iterations={most}")]);
        let hand = hand.go(&["turn_finished", "turn_finished"]);
        assert_eq!(hand.phase(), phase, "{most}");
    }
}

#[test]
fn max_fix_cycles_is_how_often_fixes_are_reviewed() {
    for (most, phase) in [("1", "compound"), ("2", "fix")] {
        let hand = autonomous(&[&format!("max_fix_cycles={most}"), "skip_test_review=true"]).go(&[
            "brainstorm_written",
            "plan_written",
            "tests_approved",
            "plan_deepened",
            "work_finished",
            "p1_found",
            "fixes_made",
        ]);
        let said = hand.says("p1_found");
        assert_eq!((said.code, hand.phase().as_str()), (Some(if most == "1" { 4 } else { 0 }), phase));
    }
}

#[test]
fn skip_brainstorm_begins_with_the_plan() {
    for (value, phase) in [("true", "plan"), ("false", "brainstorm")] {
        assert_eq!(autonomous(&[&format!("skip_brainstorm={value}")]).phase(), phase);
    }
}

#[test]
fn skip_test_review_asks_nobody_about_the_acceptance_tests() {
    for (value, code, phase) in [("true", 0, "deepen"), ("false", 5, "spec_test")] {
        let set = format!("skip_test_review={value}");
        let hand = autonomous(&[&set]).go(&["brainstorm_written", "plan_written"]);
        assert_eq!((hand.says("tests_written").code, hand.phase().as_str()), (Some(code), phase));
    }
}

#[test]
fn completion_promise_is_the_text_that_ends_a_loop() {
    for (promise, is_heard) in [("LANDED", true), ("SHIPPED", false)] {
        let hand = autonomous(&["completion_promise=LANDED"]);
        let mut hook = hand.0.warp_command(&["hook", "stop"]);
        let mut child = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let message = format!("<promise>{promise}</promise>");
        let input = json!({
            "session_id": "s",
            "cwd": hand.0.root(),
            "stop_hook_active": false,
            "background_tasks": [],
            "last_assistant_message": message,
        });
        child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
        let told = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        assert_eq!(told.contains("The promise counts only in `ship`"), is_heard, "{told}");
    }
}

#[test]
fn budget_limit_usd_is_what_a_run_may_spend() {
    for (limit, code) in [("1", 5), ("500", 0)] {
        let driven = Driven::new(WARP);
        driven.issue(42, 2, "");
        let used = "usage = { output = 100000 }\n";
        let turn = |k: u64| format!("{}{used}", Driven::coding_turn(k, k..=k, ""));
        driven.script(&format!("{}{}", turn(1), turn(2)));
        let limit = format!("budget_limit_usd={limit}");
        let said = driven.run(&["42", "--set", "max_acs_per_commit=1", "--set", &limit]);
        assert_eq!(said.code, Some(code), "{said:?}");
    }
}

#[test]
fn planning_iterations_is_how_many_turns_a_plan_has() {
    for (most, phase) in [("1", "BUDGET_REVIEW"), ("2", "PLANNING")] {
        let hand = coder(&[&format!("planning_iterations={most}")]).go(&["turn_finished"]);
        assert_eq!(hand.phase(), phase);
    }
}

#[test]
fn coding_iterations_is_how_many_turns_the_code_has() {
    for (most, phase) in [("1", "BUDGET_REVIEW"), ("2", "CODING")] {
        let hand = coder(&[&format!("coding_iterations={most}")]);
        assert_eq!(hand.go(&["submit_plan", "approve", "turn_finished"]).phase(), phase);
    }
}

#[test]
fn fixing_iterations_is_how_many_turns_a_repair_has() {
    for (most, phase) in [("1", "BUDGET_REVIEW"), ("2", "FIXING")] {
        let hand = coder(&[&format!("fixing_iterations={most}")]);
        let way = ["submit_plan", "approve", "code_complete", "tests_fail", "turn_finished"];
        assert_eq!(hand.go(&way).phase(), phase);
    }
}

#[test]
fn max_budget_answers_is_how_often_a_budget_is_granted() {
    for (most, phase) in [("1", "ERROR"), ("2", "BUDGET_REVIEW")] {
        let set = format!("max_budget_answers={most}");
        let hand = coder(&["planning_iterations=1", &set]);
        assert_eq!(hand.go(&["turn_finished", "continue", "turn_finished"]).phase(), phase);
    }
}
