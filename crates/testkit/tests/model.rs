//! The scripted model as its clients see it: requests by hand, without a client.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use testkit::model::{Api, Call, Gate, Model, Part, Role, Script, Turn};

/// How long anything may take that a test waits for.
const PATIENCE: Duration = Duration::from_secs(30);

/// An answer, read to the end of the connection.
#[derive(Debug, PartialEq)]
struct Answer {
    head: String,
    body: String,
}

impl Answer {
    fn read(stream: &mut TcpStream) -> Self {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        Self { head: head.to_owned(), body: body.to_owned() }
    }

    fn status(&self) -> u16 {
        self.head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Returns the data of a stream's events, but for the last word of a chat.
    fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
    }
}

/// Sends a request and leaves it at that.
fn send(model: &Model, path: &str, body: &Value) -> TcpStream {
    let address = model.url().replace("http://", "");
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let body = body.to_string();
    let length = body.len();
    // The older version has neither chunks nor further requests on one connection.
    write!(stream, "POST {path} HTTP/1.0\r\nHost: {address}\r\nContent-Length: {length}\r\n\r\n{body}")
        .unwrap();
    stream
}

fn exchange(model: &Model, path: &str, body: &Value) -> Answer {
    Answer::read(&mut send(model, path, body))
}

/// Posts JSON; returns the status and the body.
fn post(model: &Model, path: &str, body: &Value) -> (u16, String) {
    let answer = exchange(model, path, body);
    (answer.status(), answer.body)
}

/// Returns a request of each API, by its path.
fn of_each(is_stream: bool) -> [(&'static str, Value); 3] {
    let said = json!([{ "role": "user", "content": "go" }]);
    let function = json!([{ "type": "function", "function": { "name": "bash" } }]);
    let all = [
        ("/v1/messages", json!({ "model": "any", "tools": [{ "name": "bash" }], "messages": said })),
        ("/v1/responses", json!({ "model": "any", "tools": [{ "name": "bash" }], "input": "go" })),
        ("/v1/chat/completions", json!({ "model": "any", "tools": function, "messages": said })),
    ];
    all.map(|(path, mut body)| {
        body["stream"] = is_stream.into();
        (path, body)
    })
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

#[test]
fn chats_are_answered_whole_and_told_apart_from_side_requests() {
    let model = Model::start([Turn::call("bash", json!({ "command": "ls" })), Turn::say("listed")]);
    let [.., (path, mut body)] = of_each(false);
    let first = exchange(&model, path, &body).json();
    assert_eq!(first["choices"][0]["finish_reason"], "tool_calls");
    let message = &first["choices"][0]["message"];
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], r#"{"command":"ls"}"#);
    let id = message["tool_calls"][0]["id"].as_str().unwrap();
    body["messages"] = json!([
        { "role": "system", "content": "be brief" },
        { "role": "user", "content": [{ "type": "text", "text": "look" }] },
        message,
        { "role": "tool", "tool_call_id": id, "content": "a file" },
    ]);
    let second = exchange(&model, path, &body).json();
    assert_eq!(second["choices"][0]["message"]["content"], "listed");
    let request = model.requests().pop().unwrap();
    assert_eq!((request.api, &request.tools[..]), (Api::Chat, &["bash".to_owned()][..]));
    assert_eq!(request.entries[0].role, Role::System);
    let wanted = Part::Call { id: id.to_owned(), tool: "bash".to_owned(), input: json!({ "command": "ls" }) };
    assert_eq!(request.entries[2].part, wanted);
    body["messages"][2]["content"] = "".into();
    exchange(&model, path, &body);
    assert_eq!(model.requests().pop().unwrap().entries, request.entries);
    assert_eq!((request.last_tool_result(), request.news().as_str()), (Some("a file"), "a file"));
    body["tools"] = json!([]);
    assert_eq!(exchange(&model, path, &body).json()["choices"][0]["message"]["content"], "noted");
    assert_eq!(model.side_requests(), 1);
}

#[test]
fn chats_are_streamed_with_their_usage_only_where_it_is_asked_for() {
    let model = Model::start(Script::list([]).then(Turn::call("bash", json!({ "command": "ls" }))));
    let [.., (path, mut body)] = of_each(true);
    let answer = exchange(&model, path, &body);
    assert!(answer.body.ends_with("data: [DONE]\n\n"), "{answer:?}");
    let events = answer.events();
    assert!(events.iter().all(|event| event["usage"].is_null()), "{events:?}");
    let calls: Vec<&Value> =
        events.iter().map(|event| &event["choices"][0]["delta"]["tool_calls"][0]["function"]).collect();
    assert_eq!((&calls[1]["name"], &calls[2]["arguments"]), (&json!("bash"), &json!(r#"{"command":"ls"}"#)));
    assert_eq!(events.last().unwrap()["choices"][0]["finish_reason"], "tool_calls");
    body["stream_options"] = json!({ "include_usage": true });
    let events = exchange(&model, path, &body).events();
    let last = events.last().unwrap();
    assert_eq!(last["choices"], json!([]));
    assert!(last["usage"]["prompt_tokens"].as_u64().unwrap() > 0);
}

#[test]
fn usage_is_told_in_the_form_of_each_api() {
    let script = Script::list([]).then(Turn::say("noted").usage(100, 20, 30, 4)).usage(1, 1, 0, 0);
    let model = Model::start(script);
    let numbers = |usage: &Value, names: [&str; 2]| names.map(|name| usage[name].as_u64().unwrap());
    let [messages, responses, chat] = of_each(false);
    let said = exchange(&model, messages.0, &messages.1).json();
    assert_eq!(numbers(&said["usage"], ["input_tokens", "output_tokens"]), [100, 20]);
    assert_eq!(numbers(&said["usage"], ["cache_read_input_tokens", "cache_creation_input_tokens"]), [30, 4]);
    let said = exchange(&model, responses.0, &responses.1).json();
    assert_eq!(numbers(&said["usage"], ["input_tokens", "output_tokens"]), [134, 20]);
    assert_eq!(said["usage"]["input_tokens_details"]["cached_tokens"], 30);
    let said = exchange(&model, chat.0, &chat.1).json();
    assert_eq!(numbers(&said["usage"], ["prompt_tokens", "completion_tokens"]), [134, 20]);
    assert_eq!(said["usage"]["prompt_tokens_details"]["cached_tokens"], 30);

    let [(path, body), ..] = of_each(true);
    let events = exchange(&model, path, &body).events();
    assert_eq!(numbers(&events[0]["message"]["usage"], ["input_tokens", "output_tokens"]), [100, 1]);
    let ending = events.iter().find(|event| event["type"] == "message_delta").unwrap();
    assert_eq!(numbers(&ending["usage"], ["input_tokens", "output_tokens"]), [100, 20]);
    // What the script says holds for everything else.
    let aside = json!({ "model": "any", "messages": [] });
    assert_eq!(numbers(&ask(&model, &aside)["usage"], ["input_tokens", "output_tokens"]), [1, 1]);
}

#[test]
fn limits_are_told_in_the_headers_of_each_api() {
    let model =
        Model::start(Script::list([]).then(Turn::Limit { resets_at: 1_900_000_000, retry_after: 90 }));
    let [messages, responses, chat] = of_each(true);
    let answer = exchange(&model, messages.0, &messages.1);
    assert_eq!((answer.status(), answer.header("retry-after")), (429, Some("90")));
    assert_eq!(answer.header("anthropic-ratelimit-unified-reset"), Some("1900000000"));
    assert_eq!(answer.header("anthropic-ratelimit-unified-status"), Some("rejected"));
    assert_eq!(answer.json()["error"]["type"], "rate_limit_error");
    for (path, body) in [responses, chat] {
        let answer = exchange(&model, path, &body);
        assert_eq!((answer.status(), answer.header("retry-after")), (429, Some("90")));
        assert_eq!(answer.header("x-ratelimit-reset-tokens"), Some("90s"));
        assert_eq!(answer.json()["error"]["code"], "rate_limit_exceeded");
    }
}

#[test]
fn headers_are_added_and_seen() {
    let refused = Turn::Fail { status: 503, message: "later".to_owned() }.header("retry-after", "2");
    let model = Model::start([refused]);
    let [(path, body), ..] = of_each(false);
    let answer = exchange(&model, path, &body);
    assert_eq!((answer.status(), answer.header("retry-after")), (503, Some("2")));
    let request = model.requests().pop().unwrap();
    assert_eq!(request.header("Content-Length"), Some(body.to_string().len().to_string().as_str()));
}

#[test]
fn prefixes_of_paths_are_passed_over() {
    let model = Model::start([]);
    for (path, body) in of_each(false) {
        assert_eq!(post(&model, &format!("/some/openai{path}?x=1"), &body).0, 200);
    }
    let paths: Vec<String> = model.requests().into_iter().map(|request| request.path).collect();
    let wanted = ["/v1/messages", "/v1/responses", "/v1/chat/completions"];
    assert_eq!(paths, wanted.map(|path| format!("/some/openai{path}")));
    assert_eq!(model.strays(), [""; 0]);
}

#[test]
fn answers_are_cut_where_the_turn_says() {
    let model = Model::start(Script::list([]).then(Turn::say("never heard").cut_after(2)));
    for (path, body) in of_each(true) {
        assert_eq!(exchange(&model, path, &body).events().len(), 2, "{path}");
    }
    let [(path, body), ..] = of_each(false);
    let answer = exchange(&model, path, &body);
    let length: usize = answer.header("content-length").unwrap().parse().unwrap();
    assert_eq!(answer.body.len(), length / 2);
    let model = Model::start([Turn::say("never heard").cut_after(0)]);
    assert_eq!(exchange(&model, path, &body).head, "");
}

#[test]
fn answers_are_held_until_the_test_lets_them_go() {
    let gate = Gate::new();
    let model = Model::start(Script::list([Turn::say("at last").held_after(1, &gate)]));
    let [(path, body), ..] = of_each(true);
    let mut held = send(&model, path, &body);
    assert!(gate.wait_until_reached(1, PATIENCE));
    // What is before the gate has been sent, and others are answered meanwhile.
    let mut begun = [0; 4096];
    let count = held.read(&mut begun).unwrap();
    let begun = String::from_utf8_lossy(&begun[..count]).into_owned();
    assert!(begun.contains("message_start") && !begun.contains("message_stop"), "{begun}");
    assert_eq!(post(&model, path, &body).0, 200);
    gate.open();
    assert!(Answer::read(&mut held).head.contains("at last"));
}

#[test]
fn answers_are_held_when_all_is_said() {
    for (path, body) in of_each(true) {
        let gate = Gate::new();
        let model = Model::start([Turn::say("at last").held_before_last(&gate)]);
        let mut held = send(&model, path, &body);
        assert!(gate.wait_until_reached(1, PATIENCE));
        drop(model);
        let begun = Answer::read(&mut held);
        let last = ["message_stop", "response.completed", "[DONE]"];
        assert!(begun.body.contains("at last"), "{begun:?}");
        assert!(!last.iter().any(|last| begun.body.contains(last)), "{begun:?}");
    }
}

#[test]
fn many_are_answered_at_once() {
    const MANY: usize = 40;
    let gate = Gate::new();
    let model = Model::start(Script::list([]).then(Turn::say("all together").held_after(2, &gate)));
    let [(path, body), ..] = of_each(true);
    let mut held: Vec<TcpStream> = (0..MANY).map(|_| send(&model, path, &body)).collect();
    assert!(gate.wait_until_reached(MANY, PATIENCE) && model.wait_for_requests(MANY, PATIENCE));
    gate.open();
    for stream in &mut held {
        assert!(Answer::read(stream).body.contains("all together"));
    }
}

#[test]
fn slow_answers_come_whole() {
    let model = Model::start([Turn::say("a word ".repeat(20)).slowly(Duration::from_millis(1))]);
    let [_, (path, body), _] = of_each(true);
    let events = exchange(&model, path, &body).events();
    let deltas = events.iter().filter(|event| event["type"] == "response.output_text.delta");
    let said: String = deltas.map(|event| event["delta"].as_str().unwrap()).collect();
    assert_eq!(said, "a word ".repeat(20));
    let numbers: Vec<u64> = events.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
}

#[test]
fn the_end_of_the_model_ends_what_is_held() {
    let model = Model::start([Turn::Silence, Turn::say("no").held_after(1, &Gate::new())]);
    let [(path, body), ..] = of_each(true);
    let mut streams = [send(&model, path, &body), send(&model, path, &body)];
    assert!(model.wait_for_requests(2, PATIENCE));
    drop(model);
    for stream in &mut streams {
        let mut rest = Vec::new();
        // It may be an error, but it is the end.
        let _ = stream.read_to_end(&mut rest);
        assert!(!String::from_utf8_lossy(&rest).contains("message_stop"));
    }
}

#[test]
fn one_connection_serves_many_requests_and_bodies_may_come_in_chunks() {
    let model = Model::start([]);
    let address = model.url().replace("http://", "");
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let [(path, body), ..] = of_each(true);
    let body = body.to_string();
    let (first, second) = body.split_at(10);
    let head = format!("POST {path} HTTP/1.1\r\nHost: {address}\r\nTransfer-Encoding: chunked\r\n");
    let chunks = format!("a\r\n{first}\r\n{:x}\r\n{second}\r\n0\r\n\r\n", second.len());
    let asking = stream.try_clone().unwrap();
    let asked = thread::spawn(move || {
        let mut asking = asking;
        write!(asking, "{head}\r\n{chunks}{head}Connection: close\r\n\r\n{chunks}")
    });
    let answer = Answer::read(&mut stream);
    asked.join().unwrap().unwrap();
    assert_eq!(answer.body.matches("HTTP/1.1 200 OK").count(), 1, "{answer:?}");
    assert_eq!(answer.body.matches("event: message_stop").count(), 2);
    assert_eq!(answer.body.matches("\r\n0\r\n\r\n").count(), 2);
    assert_eq!(model.requests().len(), 2);
}
