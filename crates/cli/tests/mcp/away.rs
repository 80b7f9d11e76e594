//! An agent that asks by a tool, while its person is away: the end of its turn waits for them.

use std::{
    io::Write as _,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::{Sandbox, telegram::Telegram};

use super::client::{Client, phase};
use crate::support::InProject as _;

const ANN: (i64, &str) = (501, "Ann");
const PATIENCE: Duration = Duration::from_secs(60);

/// A project whose run of a workflow has taken these events.
fn project(workflow: &str, minutes: &str, events: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    let set = format!("decision_timeout_minutes={minutes}");
    let begin =
        ["state", "init", ".", "--level", "3", "--issue", "42", "--workflow", workflow, "--set", &set];
    sandbox.warp_ok(&begin);
    sandbox.transitions(events);
    sandbox
}

/// A project whose run is in `coding`.
pub(crate) fn coding(minutes: &str) -> Sandbox {
    let sandbox = project("warp-drive", minutes, &["prerequisites_ok", "work_selected", "plan_ready"]);
    let chunks = r#"{"acs":[["AC-01"],["AC-02"]]}"#;
    sandbox.warp_ok(&["state", "transition", ".", "chunks_defined", "--data", chunks]);
    sandbox
}

fn leave(sandbox: &Sandbox) -> Telegram {
    let telegram = Telegram::start();
    telegram.set_up(sandbox, "501");
    sandbox.warp_ok(&["rdb", "on"]);
    telegram
}

fn ask(sandbox: &Sandbox) {
    let question = json!({ "question": "Which store?", "options": ["sqlite", "files"] });
    Client::start(sandbox).call("ask_question", question).is_taken(&["end your turn"]);
}

/// Calls a hook as the client does; returns what it says.
pub(crate) fn hook(sandbox: &Sandbox, event: &str, more: Value) -> Value {
    let mut input = json!({ "session_id": "5e55-10n", "cwd": sandbox.root(), "stop_hook_active": false });
    for (name, value) in more.as_object().unwrap() {
        input[name] = value.clone();
    }
    let mut command = sandbox.warp_command(&["hook", event]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
}

/// Calls the hook that waits in the background; returns whether it wakes the agent, and with which words.
fn after_stop(sandbox: &Sandbox) -> Option<String> {
    let mut command = sandbox.warp_command(&["hook", "after-stop"]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let input = json!({ "session_id": "5e55-10n", "cwd": sandbox.root(), "stop_hook_active": false });
    child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let words = String::from_utf8(output.stderr).unwrap();
    match output.status.code() {
        Some(2) => Some(words),
        code => {
            assert_eq!((code, words.as_str()), (Some(0), ""));
            None
        }
    }
}

/// Ends the agent's turn.
fn stop(sandbox: &Sandbox) -> Value {
    hook(sandbox, "stop", json!({}))
}

#[test]
fn what_a_tool_asks_is_sent_at_once_and_the_end_of_the_turn_waits_for_the_answer() {
    let sandbox = coding("10");
    let telegram = leave(&sandbox);
    ask(&sandbox);
    let question = telegram.sent().pop().unwrap();
    assert!(question.text.contains("Which store?"), "{question:?}");
    let stopped = thread::scope(|scope| {
        let stopping = scope.spawn(|| stop(&sandbox));
        telegram.press(ANN, question.id, "sqlite");
        stopping.join().unwrap()
    });
    assert_eq!(stopped["decision"], "block", "{stopped}");
    let reason = stopped["reason"].as_str().unwrap();
    assert!(reason.starts_with("Ann has decided: sqlite.\n") && reason.contains("coding"), "{reason}");
    assert!(telegram.until_sent("Which store?").text.contains("=> sqlite -- Ann"));
    // What is decided is waited for no more.
    assert_eq!(stop(&sandbox)["decision"], Value::Null);
}

#[test]
fn a_phase_that_is_a_persons_is_waited_for_as_well() {
    let sandbox = project("coder", "10", &["receive_task", "workspace_ready"]);
    let telegram = leave(&sandbox);
    let input = json!({ "reason": "it is there", "evidence": "src/a.rs:1", "confidence": "HIGH" });
    Client::start(&sandbox).call("mark_story_complete", input).is_taken(&["end your turn"]);
    let question = telegram.until_sent("Is the story complete?");
    let stopped = thread::scope(|scope| {
        let stopping = scope.spawn(|| stop(&sandbox));
        telegram.write(ANN, Some(question.id), "reject: look again");
        stopping.join().unwrap()
    });
    let reason = stopped["reason"].as_str().unwrap();
    assert!(reason.starts_with("Ann has decided: reject (look again).\n"), "{reason}");
    assert_eq!(phase(&sandbox), "PLANNING");
}

#[test]
fn a_question_that_nobody_answers_is_put_off_wherever_somebody_looks_next() {
    for name in ["stop", "session-start", "next"] {
        // Whether they are away or just not looking.
        for is_away in [true, false] {
            let sandbox = coding("0");
            let telegram = is_away.then(|| leave(&sandbox));
            ask(&sandbox);
            let said = match name {
                "next" => sandbox.warp_ok(&["next", "--step"]),
                event => hook(&sandbox, event, json!({ "source": "resume" })).to_string(),
            };
            assert!(said.contains("chunk 2 of 2"), "{name}: {said}");
            let todo = sandbox.warp_ok(&["issue", "show", "1"]);
            assert!(
                todo.contains("Which store?") && todo.contains("todo") && todo.contains("assigned to Test"),
                "{name}: {todo}"
            );
            if let Some(telegram) = telegram {
                let asked = telegram.until_sent("Which store?").text;
                assert!(asked.contains("skipped -- nobody decided in time; see #1"), "{name}: {asked}");
                telegram.until_sent("[warp-drive] coding -- chunk 2/2");
            }
        }
    }
}

#[test]
fn a_turn_that_comes_back_by_itself_waits_for_nobody() {
    let sandbox = coding("10");
    let _telegram = leave(&sandbox);
    ask(&sandbox);
    assert_eq!(hook(&sandbox, "stop", json!({ "background_tasks": [{ "id": "1" }] })), Value::Null);
    sandbox.warp_ok(&["rdb", "off"]);
    assert!(stop(&sandbox)["systemMessage"].as_str().unwrap().contains("waits for a person: Which store?"));
}

#[test]
fn an_answer_that_ends_the_run_lets_the_agent_go() {
    let sandbox = coding("10");
    let telegram = leave(&sandbox);
    ask(&sandbox);
    let question = telegram.until_sent("Which store?");
    let stopped = thread::scope(|scope| {
        let stopping = scope.spawn(|| stop(&sandbox));
        telegram.press(ANN, question.id, "abort");
        stopping.join().unwrap()
    });
    assert_eq!(phase(&sandbox), "aborted", "{stopped}");
    assert!(stopped["reason"].as_str().unwrap().contains("Ann has decided: abort."), "{stopped}");
}

#[test]
fn a_question_that_nobody_answers_in_time_is_put_off_and_the_agent_is_woken() {
    let sandbox = coding("0");
    assert_eq!(after_stop(&sandbox), None, "nothing was asked");
    ask(&sandbox);
    let words = after_stop(&sandbox).unwrap();
    assert!(words.contains("nobody decided in time") && words.contains("The chunk is skipped"), "{words}");
    assert!(words.contains("phase `coding`"), "it continues with the next: {words}");
    assert_eq!(after_stop(&sandbox), None, "nothing is open any more");
}

#[test]
fn a_phase_that_waits_for_a_person_ends_as_its_workflow_says_when_nobody_answers() {
    let sandbox = project("warp-drive", "0", &["prerequisites_ok", "work_selected", "plan_ready"]);
    sandbox.warp_ok(&["state", "transition", ".", "chunks_defined", "--data", r#"{"acs":[["AC-01"]]}"#]);
    sandbox.write("parser.rs", "fn parse() {}\n");
    sandbox.transitions(&["code_complete", "docs_updated", "tests_passed", "committed", "report_filed"]);
    sandbox.transitions(&["requirement_done", "merge_ready", "merged"]);
    assert_eq!(phase(&sandbox), "awaiting_continue");
    let words = after_stop(&sandbox).unwrap();
    assert!(words.contains("Nobody has answered in time"), "{words}");
    assert_eq!(phase(&sandbox), "session_ending");
}

#[test]
fn an_answer_from_elsewhere_wakes_the_agent_and_one_in_the_chat_does_not() {
    for (is_in_chat, woken) in [(false, Some("has decided: sqlite.")), (true, None)] {
        let sandbox = coding("10");
        ask(&sandbox);
        let words = thread::scope(|scope| {
            let waiting = scope.spawn(|| after_stop(&sandbox));
            // The file is made when the hook knows what it waits for.
            let (file, late) = (sandbox.root().join(".git/warp/waiting"), Instant::now() + PATIENCE);
            while !file.exists() && Instant::now() < late {
                thread::yield_now();
            }
            match is_in_chat {
                true => _ = hook(&sandbox, "user-prompt-submit", json!({ "prompt": "sqlite" })),
                false => {
                    let status = sandbox.json(&["status", "--json"]);
                    let id = status["standing"]["decision"]["id"].as_str().unwrap();
                    sandbox.warp_ok(&["answer", id, "sqlite"]);
                }
            }
            waiting.join().unwrap()
        });
        assert_eq!(words.is_some(), woken.is_some(), "{words:?}");
        assert!(words.unwrap_or_default().contains(woken.unwrap_or_default()));
    }
}
