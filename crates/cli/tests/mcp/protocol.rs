//! The protocol itself: beginning and end, bad input, large input, several calls at once.

use std::{collections::BTreeSet, fs};

use serde_json::{Value, json};

use super::client::{Client, called, newest, phase, standing};

const PLANNING: &[&str] = &["prerequisites_ok", "work_selected"];

#[test]
fn every_tool_is_listed_with_a_closed_schema() {
    let sandbox = standing("warp-drive", PLANNING);
    let mut client = Client::of(sandbox.warp_command(&["mcp"]));
    let hello = client.introduce();
    assert_eq!(hello["result"]["serverInfo"]["name"], "warp");
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(
        names,
        ["submit_plan", "ask_question", "mark_story_complete", "done", "report_finding", "status"]
    );
    for tool in tools {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
    }
    assert_eq!(client.close().code(), Some(0));
}

#[test]
fn a_server_ends_when_its_client_goes_away() {
    let sandbox = standing("warp-drive", PLANNING);
    // Before a word was said, and in the middle of a word.
    assert_eq!(Client::of(sandbox.warp_command(&["mcp"])).close().code(), Some(0));
    let mut client = Client::start(&sandbox);
    client.send("{\"jsonrpc\":\"2.0\",");
    assert_eq!(client.close().code(), Some(0));
}

#[test]
fn what_is_no_message_is_refused_and_the_next_is_answered() {
    let sandbox = standing("warp-drive", PLANNING);
    let mut client = Client::start(&sandbox);
    for line in ["not json at all", "[1,2]", "{}"] {
        client.send(line);
    }
    let id = client.ask("tools/call", json!({ "name": "status", "arguments": {} }));
    let answer = loop {
        let message = client.receive();
        if message["id"] == id {
            break message;
        }
        assert!(message["error"].is_object(), "{message}");
    };
    called(&answer).is_taken(&["planning"]);
    let unknown = client.request("tools/call", json!({ "name": "merge", "arguments": {} }));
    called(&unknown).is_refused(&["there is no tool `merge`", "report_finding"]);
}

#[test]
fn input_that_does_not_fit_is_refused_by_its_place() {
    let sandbox = standing("warp-drive", PLANNING);
    let mut client = Client::start(&sandbox);
    client.call("submit_plan", json!({})).is_refused(&["input.plan", "is missing"]);
    client.call("submit_plan", json!({ "plan": 7 })).is_refused(&["input.plan", "is not string"]);
    client.call("submit_plan", json!({ "plan": "x", "wish": 1 })).is_refused(&["input.wish", "is not known"]);
    client.call("report_finding", json!({ "severity": "p9", "text": "x" })).is_refused(&["input.severity"]);
    client.call("report_finding", json!({ "severity": "p1", "text": " " })).is_refused(&["`text` must say"]);
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    client.call("done", json!({ "summary": "x", "data": { "a": deep } })).is_refused(&[]);
    assert_eq!(phase(&sandbox), "planning");
}

#[test]
fn input_that_is_too_large_is_refused_and_the_server_goes_on() {
    let sandbox = standing("coder", &["receive_task", "workspace_ready"]);
    let mut client = Client::start(&sandbox);
    let long = "x".repeat(2 * 1024 * 1024);
    client.call("submit_plan", json!({ "plan": long })).is_refused(&["the most is 1048576"]);
    let many: Vec<String> = (0..5000).map(|n| format!("{n}{}", "y".repeat(90))).collect();
    client.call("submit_plan", json!({ "plan": "x", "chunks": [many] })).is_refused(&["`data` has", "bytes"]);
    client.call("submit_plan", json!({ "plan": "small" })).is_taken(&["PLANNING -> PLAN_REVIEW"]);
}

#[test]
fn of_two_calls_at_once_one_moves_the_run_and_the_other_is_refused() {
    let sandbox = standing("coder", &["receive_task", "workspace_ready"]);
    let mut first = Client::start(&sandbox);
    let mut second = Client::start(&sandbox);
    let params = json!({ "name": "submit_plan", "arguments": { "plan": "mine" } });
    let ids = [first.ask("tools/call", params.clone()), first.ask("tools/call", params.clone())];
    let third = second.ask("tools/call", params);
    let mut answers = vec![first.receive(), first.receive(), second.receive()];
    let answered: BTreeSet<u64> = answers[..2].iter().filter_map(|answer| answer["id"].as_u64()).collect();
    assert_eq!(answered, ids.into_iter().collect());
    assert_eq!(answers[2]["id"], third);
    answers.retain(|answer| answer["result"]["isError"] != true);
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(phase(&sandbox), "PLAN_REVIEW");
}

#[test]
fn without_a_run_every_tool_says_so() {
    let sandbox = testkit::Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    let mut client = Client::start(&sandbox);
    client.call("done", json!({ "summary": "x" })).is_refused(&["no run is open here", "warp run"]);
    client.call("status", json!({})).is_refused(&["no run is open here"]);
}

#[test]
fn another_directory_can_be_named() {
    let sandbox = standing("warp-drive", PLANNING);
    let mut command = sandbox.warp_command(&["-C", sandbox.root().to_str().unwrap(), "mcp"]);
    command.current_dir("/");
    let mut client = Client::of(command);
    client.introduce();
    client.call("status", json!({})).is_taken(&["planning"]);
}

#[test]
fn a_call_that_nobody_answers_is_an_error_and_changes_nothing() {
    let sandbox = standing("warp-drive", PLANNING);
    let mut command = sandbox.warp_command(&["mcp"]);
    command.env("WARP_HOOK_SOCKET", sandbox.home().join("nobody")).env("WARP_HOOK_TOKEN", "x");
    let mut client = Client::of(command);
    client.introduce();
    client.call("submit_plan", json!({ "plan": "x" })).is_refused(&["warp's driver does not answer"]);
    assert_eq!(newest(&sandbox)["event"], "work_selected");
    fs::write(sandbox.journal(), "this is no journal").unwrap();
    fs::write(sandbox.journal().with_extension("db-wal"), "nor is this a log").unwrap();
    let mut client = Client::start(&sandbox);
    let answer: Value = client.request("tools/call", json!({ "name": "status", "arguments": {} }));
    assert!(called(&answer).is_error, "{answer}");
}
