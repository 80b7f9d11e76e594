//! The scripted model as its clients see it: requests by hand, without a client.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use serde_json::{Value, json};
use testkit::model::{Call, Model, Script, Turn};

/// Posts JSON; returns the status and the body.
fn post(model: &Model, path: &str, body: &Value) -> (u16, String) {
    let address = model.url().replace("http://", "");
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let body = body.to_string();
    let length = body.len();
    // The older version has neither chunks nor further requests on one connection.
    write!(stream, "POST {path} HTTP/1.0\r\nHost: {address}\r\nContent-Length: {length}\r\n\r\n{body}")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn messages(messages: &Value) -> Value {
    json!({ "model": "any", "tools": [{ "name": "Bash" }], "messages": messages })
}

fn ask(model: &Model, body: &Value) -> Value {
    let (status, answer) = post(model, "/v1/messages?beta=true", body);
    assert_eq!(status, 200, "{answer}");
    serde_json::from_str(&answer).unwrap()
}

#[test]
fn turns_are_played_in_order_and_then_the_last_word_is_repeated() {
    let model = Model::start(Script::list([Turn::bash("ls")]).then(Turn::say("enough")));
    let first = ask(&model, &messages(&json!([{ "role": "user", "content": "look" }])));
    assert_eq!(first["stop_reason"], "tool_use");
    assert_eq!(first["content"][0]["input"]["command"], "ls");
    let id = &first["content"][0]["id"];
    let second = messages(&json!([
        { "role": "user", "content": "look" },
        { "role": "assistant", "content": first["content"] },
        { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": id, "content": [{ "type": "text", "text": "a file" }] },
            { "type": "text", "text": "well?" },
        ] },
    ]));
    for _ in 0..2 {
        let answer = ask(&model, &second);
        assert_eq!(answer["stop_reason"], "end_turn");
        assert_eq!(answer["content"][0]["text"], "enough");
    }
    assert_eq!(model.last_tool_result().as_deref(), Some("a file"));
    assert_eq!(model.requests()[1].news(), "a file\nwell?");
    assert_eq!(model.text(), "look\nlook\na file\nwell?\nlook\na file\nwell?");
}

#[test]
fn streams_have_every_event() {
    let call = |command: &str| Call { tool: "Bash".to_owned(), input: json!({ "command": command }) };
    let model = Model::start([Turn::Calls(vec![call("a"), call("b")])]);
    let mut body = messages(&json!([{ "role": "user", "content": "go" }]));
    body["stream"] = true.into();
    let (_, answer) = post(&model, "/v1/messages", &body);
    let names: Vec<&str> = answer.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    assert_eq!(names[0], "message_start");
    assert_eq!(names[1..4], block);
    assert_eq!(names[4..7], block);
    assert_eq!(names[7..], ["message_delta", "message_stop"]);
}

#[test]
fn requests_without_tools_do_not_move_the_script() {
    let model = Model::start([Turn::say("first")]);
    let aside = json!({ "model": "any", "messages": [{ "role": "user", "content": "a title, please" }] });
    assert_eq!(ask(&model, &aside)["content"][0]["text"], "noted");
    let main = messages(&json!([{ "role": "user", "content": "go" }]));
    assert_eq!(ask(&model, &main)["content"][0]["text"], "first");
    assert_eq!((model.side_requests(), model.requests().len()), (1, 1));
}

#[test]
fn tokens_are_counted_and_unknown_paths_noted() {
    let model = Model::start([]);
    let (status, answer) = post(&model, "/v1/messages/count_tokens", &messages(&json!([])));
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(status, 200);
    assert!(answer["input_tokens"].as_u64().unwrap() > 0);
    assert_eq!(post(&model, "/v1/files", &json!({})).0, 404);
    assert_eq!(model.strays(), ["POST /v1/files"]);
}

#[test]
fn failures_are_those_of_the_api() {
    let model = Model::start([Turn::Fail { status: 529, message: "too much".to_owned() }]);
    let (status, answer) = post(&model, "/v1/messages", &messages(&json!([])));
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(status, 529);
    assert_eq!(answer["error"], json!({ "type": "overloaded_error", "message": "too much" }));
}

#[test]
fn responses_are_answered_whole_too() {
    let model = Model::start([Turn::call("apply_patch", json!("*** Begin Patch"))]);
    let body =
        json!({ "model": "any", "tools": [{ "type": "custom", "name": "apply_patch" }], "input": "go" });
    let (_, answer) = post(&model, "/v1/responses", &body);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["output"][0]["type"], "custom_tool_call");
    assert_eq!(answer["output"][0]["input"], "*** Begin Patch");
}

#[test]
fn panic_of_the_script_becomes_the_tests() {
    let model = Model::start(Script::function(|_| panic!("not this")));
    let body = messages(&json!([]));
    assert_eq!(post(&model, "/v1/messages", &body).0, 400);
    assert_eq!(post(&model, "/v1/messages", &body).0, 400);
    let panic = catch_unwind(AssertUnwindSafe(|| drop(model))).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"not this"));
}
