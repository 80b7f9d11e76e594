//! Real clients, a scripted model, real hooks: what each tells the other.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{Child, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use testkit::{
    Sandbox,
    agents::{Acp, Claude, Codex, OpenCode},
    model::{Api, Model, Script, Turn},
};

/// Long enough for a client to start on a machine with much else to do.
const PATIENCE: Duration = Duration::from_secs(45);

/// Denies commands with a forbidden word, and the first attempt to stop; greets each session.
const HOOK: &str = r#"#!/bin/sh
asked=$(cat)
echo "$1" >> "$HOME/hooks.log"
case "$1" in
start) echo "the project is called demo" ;;
tool) case "$asked" in *forbidden*) echo "that word is not used here" >&2; exit 2 ;; esac ;;
stop) case "$asked" in *'"stop_hook_active":false'*) echo "write the summary first" >&2; exit 2 ;; esac ;;
esac
exit 0
"#;

fn sandbox() -> Sandbox {
    // These tests have no need of the product itself.
    Sandbox::new("/nonexistent")
}

fn hook(sandbox: &Sandbox) -> PathBuf {
    sandbox.program(sandbox.home().join("hook.sh"), HOOK)
}

fn hooks(handler: impl Fn(&str) -> Value) -> Value {
    let handlers = |argument: &str| json!([{ "hooks": [handler(argument)] }]);
    json!({ "hooks": {
        "SessionStart": handlers("start"),
        "PreToolUse": handlers("tool"),
        "Stop": handlers("stop"),
    } })
}

/// Writes settings with hooks in exec form, which no shell reads.
fn settings(sandbox: &Sandbox) -> PathBuf {
    let program = hook(sandbox);
    let settings = hooks(|argument| json!({ "type": "command", "command": program, "args": [argument] }));
    let path = sandbox.home().join("settings.json");
    fs::write(&path, settings.to_string()).unwrap();
    path
}

fn hook_log(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.home().join("hooks.log")).unwrap()
}

#[test]
fn claude_runs_tools_and_obeys_hooks() {
    let Some(claude) = Claude::or_skip() else { return };
    let sandbox = sandbox();
    let model = Model::start([
        Turn::bash("echo hello > f"),
        Turn::bash("echo forbidden > g"),
        Turn::say("all written"),
        Turn::say("in short: hello"),
    ]);
    let ended = claude.launch(&sandbox, &model, "Write.").settings(settings(&sandbox)).run();

    assert_eq!(ended.code, Some(0), "{ended:?}");
    let result = ended.result().unwrap();
    assert_eq!(result["result"], "in short: hello");
    assert_eq!(result["terminal_reason"], "completed");
    assert!(result["usage"]["input_tokens"].as_u64().unwrap() > 1000);
    assert_eq!(sandbox.read("f").as_deref(), Some("hello\n"));
    assert_eq!(sandbox.read("g"), None);

    let requests = model.requests();
    assert_eq!(requests.len(), 4);
    assert!(requests[0].text().contains("the project is called demo"), "{}", requests[0].text());
    assert!(requests[0].news().contains("Write."));
    assert!(requests[0].tools.iter().any(|tool| tool == "Bash"), "{:?}", requests[0].tools);
    assert!(requests[2].last_tool_result().unwrap().contains("that word is not used here"));
    assert!(requests[3].news().contains("write the summary first"), "{}", requests[3].news());
    assert_eq!(hook_log(&sandbox), "start\ntool\ntool\nstop\nstop\n");
    assert_eq!(model.strays(), Vec::<String>::new());
}

#[test]
fn claude_goes_on_where_it_was_killed() {
    let Some(claude) = Claude::or_skip() else { return };
    let sandbox = sandbox();
    let id = "0b7fca35-5d1f-4f6f-9f53-3a7c5f6f9d11";
    let model = Model::start([Turn::bash("echo one > f"), Turn::Silence]);
    let mut running = claude.launch(&sandbox, &model, "Begin.").session_id(id).patience(PATIENCE).start();
    assert!(model.wait_for_requests(2, PATIENCE), "{}", running.out());
    running.kill();
    let ended = running.wait();
    assert_eq!((ended.code, ended.signal, ended.overdue), (None, Some(9), false), "{ended:?}");
    drop(running);

    let model = Model::start(Script::function(|request| {
        assert!(request.text().contains("Begin."), "the conversation is lost: {}", request.text());
        Turn::say("gone on")
    }));
    let ended = claude.launch(&sandbox, &model, "Continue.").resume(id).run();
    assert_eq!(ended.result().unwrap()["result"], "gone on", "{ended:?}");
}

#[test]
fn killed_client_takes_its_tools_along_when_dropped() {
    let Some(claude) = Claude::or_skip() else { return };
    let sandbox = sandbox();
    // The reader waits until the tool opens the pipe to write; the tool then waits to be killed.
    assert!(sandbox.command("mkfifo").arg("pipe").status().unwrap().success());
    let (say, said) = channel();
    let pipe = sandbox.root().join("pipe");
    thread::spawn(move || say.send(fs::read_to_string(pipe)));
    let model = Model::start([Turn::bash("echo running > pipe; exec tail -f /dev/null")]);
    let mut running = claude.launch(&sandbox, &model, "Wait.").start();
    assert_eq!(said.recv_timeout(PATIENCE).unwrap().unwrap(), "running\n");
    running.kill();
    assert_eq!(running.wait().signal, Some(9));
    let left = running.leftovers();
    assert!(!left.is_empty(), "the tool ended with its client");
    drop(running);
    for number in left {
        // A process that nobody has reaped yet is dead all the same.
        let state = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        let state = state.rsplit(") ").next().unwrap_or_default().chars().next();
        assert!(matches!(state, None | Some('Z' | 'X')), "{number} is in state {state:?}");
    }
}

/// Puts a program of the test's own into a directory; returns the directory.
fn greeter(sandbox: &Sandbox) -> PathBuf {
    let directory = sandbox.home().join("bin");
    sandbox.program(directory.join("greet"), "#!/bin/sh\necho \"hello, $WHOM\"\n");
    directory
}

#[test]
fn tools_of_claude_see_the_environment_that_was_given() {
    let Some(claude) = Claude::or_skip() else { return };
    let sandbox = sandbox();
    let model = Model::start([Turn::bash("greet")]);
    claude.launch(&sandbox, &model, "Greet.").path_first(greeter(&sandbox)).env("WHOM", "world").run();
    let told = model.last_tool_result().unwrap();
    assert!(told.contains("hello, world"), "{told}");
}

#[test]
fn tools_of_codex_see_the_environment_that_was_given() {
    let Some(codex) = Codex::or_skip() else { return };
    let sandbox = sandbox();
    let model = Model::start([Turn::exec_command("greet")]);
    codex.launch(&sandbox, &model, "Greet.").path_first(greeter(&sandbox)).env("WHOM", "world").run();
    let told = model.last_tool_result().unwrap();
    assert!(told.contains("hello, world"), "{told}");
}

#[test]
fn claude_says_which_requests_are_a_subagents() {
    let Some(claude) = Claude::or_skip() else { return };
    let sandbox = sandbox();
    let task =
        json!({ "description": "Count", "prompt": "Count to one.", "subagent_type": "general-purpose" });
    let model = Model::start(Script::function(move |request| {
        let is_answered = request.last_tool_result().is_some();
        match (request.is_subagent(), is_answered) {
            (true, _) => Turn::say("one"),
            (false, false) => Turn::call("Agent", task.clone()),
            (false, true) => Turn::say("counted"),
        }
    }));
    let ended = claude.launch(&sandbox, &model, "Have it counted.").run();
    assert_eq!(ended.result().unwrap()["result"], "counted", "{ended:?}");
    let asked = model.requests().into_iter().find(|request| request.is_subagent()).unwrap();
    assert!(asked.news().contains("Count to one."), "{}", asked.news());
}

#[test]
fn failed_request_ends_claude_soon() {
    let Some(claude) = Claude::or_skip() else { return };
    let sandbox = sandbox();
    let fail = Turn::Fail { status: 529, message: "too much".to_owned() };
    let model = Model::start(Script::list([]).then(fail));
    let ended = claude.launch(&sandbox, &model, "Try.").run();
    let result = ended.result().unwrap();
    assert_eq!((ended.code, &result["terminal_reason"]), (Some(1), &json!("api_error")), "{ended:?}");
    assert_eq!(model.requests().len(), 2);
}

#[test]
fn client_that_does_not_end_is_killed() {
    let Some(claude) = Claude::or_skip() else { return };
    let sandbox = sandbox();
    let model = Model::start([Turn::Silence]);
    let ended = claude.launch(&sandbox, &model, "Wait.").patience(Duration::from_secs(2)).run();
    assert_eq!((ended.code, ended.signal, ended.overdue), (None, Some(9), true), "{ended:?}");
}

#[test]
fn codex_runs_tools_and_obeys_hooks() {
    let Some(codex) = Codex::or_skip() else { return };
    let sandbox = sandbox();
    let program = hook(&sandbox);
    let hooks = hooks(
        |argument| json!({ "type": "command", "command": format!("{} {argument}", program.display()), "timeout": 20 }),
    );
    let model = Model::start([
        Turn::exec_command("echo hello > f"),
        Turn::exec_command("echo forbidden > g"),
        Turn::say("all written"),
        Turn::say("in short: hello"),
    ]);
    let ended = codex.launch(&sandbox, &model, "Write.").hooks(&hooks).run();

    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(sandbox.read("f").as_deref(), Some("hello\n"));
    assert_eq!(sandbox.read("g"), None);
    assert_eq!(ended.of_type("turn.completed").len(), 1);
    let items = ended.of_type("item.completed");
    assert_eq!(items.last().unwrap()["item"]["text"], "in short: hello");

    let requests = model.requests();
    assert_eq!(requests.len(), 4);
    assert!(requests[0].text().contains("the project is called demo"), "{}", requests[0].text());
    assert!(requests[2].last_tool_result().unwrap().contains("that word is not used here"));
    assert!(requests[3].news().contains("write the summary first"), "{}", requests[3].news());
    assert_eq!(hook_log(&sandbox), "start\ntool\ntool\nstop\nstop\n");
}

#[test]
fn codex_goes_on_with_a_thread() {
    let Some(codex) = Codex::or_skip() else { return };
    let sandbox = sandbox();
    let model = Model::start([Turn::say("begun"), Turn::say("gone on")]);
    let begun = codex.launch(&sandbox, &model, "Begin.").run();
    let thread = begun.of_type("thread.started")[0]["thread_id"].as_str().unwrap();
    let ended = codex.launch(&sandbox, &model, "Continue.").resume(thread).run();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let told = model.requests().pop().unwrap().text();
    assert!(told.contains("Begin.") && told.contains("begun") && told.contains("Continue."), "{told}");
}

#[test]
fn opencode_runs_tools_and_goes_on_with_a_session() {
    let Some(opencode) = OpenCode::or_skip() else { return };
    let sandbox = sandbox();
    let command = json!({ "command": "echo hello > f", "description": "Greet" });
    let model = Model::start([Turn::call("bash", command), Turn::say("greeted"), Turn::say("gone on")]);
    let ended = opencode.launch(&sandbox, &model, "Greet.").run();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(sandbox.read("f").as_deref(), Some("hello\n"));
    let said = ended.of_type("text");
    assert_eq!(said[0]["part"]["text"], "greeted", "{ended:?}");

    let session = said[0]["sessionID"].as_str().unwrap();
    let ended = opencode.launch(&sandbox, &model, "Continue.").resume(session).run();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let told = model.requests().pop().unwrap().text();
    assert!(told.contains("Greet.") && told.contains("greeted") && told.contains("Continue."), "{told}");
    assert!(model.requests().iter().all(|request| request.api == Api::Chat));
    assert_eq!(model.strays(), [""; 0]);
}

#[test]
fn acp_agent_answers_and_runs_tools() {
    let Some(acp) = Acp::or_skip() else { return };
    let sandbox = sandbox();
    let model = Model::start([Turn::bash("echo hello > f"), Turn::say("greeted")]);
    let mut dialogue = Dialogue::start(&acp, &sandbox, &model);
    let agent = dialogue.ask("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} }));
    assert_eq!(agent["protocolVersion"], 1);
    let root = sandbox.root().canonicalize().unwrap();
    let session = dialogue.ask("session/new", json!({ "cwd": root, "mcpServers": [] }));
    let prompt = json!([{ "type": "text", "text": "Greet." }]);
    let ended =
        dialogue.ask("session/prompt", json!({ "sessionId": session["sessionId"], "prompt": prompt }));
    assert_eq!(ended["stopReason"], "end_turn");
    assert_eq!(sandbox.read("f").as_deref(), Some("hello\n"));
    assert!(model.requests()[0].text().contains("Greet."));
}

/// A conversation with an agent by JSON-RPC, a line each.
struct Dialogue {
    child: Child,
    lines: Receiver<Value>,
    count: u64,
}

impl Dialogue {
    fn start(acp: &Acp, sandbox: &Sandbox, model: &Model) -> Self {
        let (name, value) = acp.variable();
        let mut command = sandbox.command(acp.program());
        command.env(name, value).env("ANTHROPIC_BASE_URL", model.url()).env("ANTHROPIC_API_KEY", "dummy");
        command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (say, lines) = channel();
        thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let Ok(line) = serde_json::from_str(&line) else { continue };
                if say.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, lines, count: 0 }
    }

    /// Asks the agent, and lets it do what it wants leave for; returns the result.
    fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.count += 1;
        let id = self.count;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }));
        loop {
            let line = self.lines.recv_timeout(PATIENCE).unwrap();
            if line["method"] == "session/request_permission" {
                let option = &line["params"]["options"][0]["optionId"];
                let outcome = json!({ "outcome": "selected", "optionId": option });
                self.send(&json!({ "jsonrpc": "2.0", "id": line["id"], "result": { "outcome": outcome } }));
            } else if line["id"] == id {
                assert!(line["error"].is_null(), "{line}");
                return line["result"].clone();
            }
        }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{message}").unwrap();
    }
}

impl Drop for Dialogue {
    fn drop(&mut self) {
        // At the end of its input it ends by itself, and takes its client along.
        drop(self.child.stdin.take());
        while self.lines.recv_timeout(PATIENCE).is_ok() {}
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
