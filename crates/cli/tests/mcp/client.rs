//! A client of the protocol, and projects whose run stands where a test wants it.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::Sandbox;

use crate::support::InProject as _;

/// How long an answer may take. Milliseconds are usual; machines are shared.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server, and the client's end of it. It is killed when this is dropped.
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    next: u64,
}

/// What a tool answered.
#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) is_error: bool,
    pub(crate) text: String,
}

impl Called {
    /// Expects that it was taken, and says all of this.
    pub(crate) fn is_taken(&self, words: &[&str]) {
        self.says(false, words);
    }

    /// Expects a refusal that says all of this.
    pub(crate) fn is_refused(&self, words: &[&str]) {
        self.says(true, words);
    }

    fn says(&self, is_error: bool, words: &[&str]) {
        assert_eq!(self.is_error, is_error, "{}", self.text);
        for word in words {
            assert!(self.text.contains(word), "`{word}` is not in: {}", self.text);
        }
    }
}

impl Client {
    /// Starts a server in a project and introduces itself.
    pub(crate) fn start(sandbox: &Sandbox) -> Self {
        let mut client = Self::of(sandbox.warp_command(&["mcp"]));
        client.introduce();
        client
    }

    /// Starts a server by a command, and says nothing yet.
    pub(crate) fn of(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let (tell, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let _ = tell.send(serde_json::from_str(&line).unwrap_or(Value::String(line)));
            }
        });
        Self { child, input, lines, next: 1 }
    }

    pub(crate) fn introduce(&mut self) -> Value {
        let me = json!({ "name": "test", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": me });
        let answer = self.request("initialize", hello);
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        answer
    }

    pub(crate) fn send(&mut self, line: &str) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Sends a request without waiting; returns its id.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        id
    }

    /// Waits for one message.
    pub(crate) fn receive(&mut self) -> Value {
        self.lines.recv_timeout(PATIENCE).expect("the server answers in time")
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    pub(crate) fn call(&mut self, tool: &str, input: Value) -> Called {
        let answer = self.request("tools/call", json!({ "name": tool, "arguments": input }));
        called(&answer)
    }

    /// Closes the input and waits for the server's end.
    pub(crate) fn close(mut self) -> ExitStatus {
        drop(self.input.take());
        let begun = Instant::now();
        loop {
            // The output is closed with the process.
            match self.lines.recv_timeout(PATIENCE) {
                Ok(_) if begun.elapsed() < PATIENCE => {}
                _ => return self.child.wait().unwrap(),
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads what a tool answered.
pub(crate) fn called(answer: &Value) -> Called {
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {answer}"));
    Called { is_error: result["isError"] == true, text: text.to_owned() }
}

/// A project with a run of a workflow that has taken these events.
pub(crate) fn standing(workflow: &str, events: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    sandbox.write("Makefile", "test:\n\t@true\n");
    sandbox.warp_ok(&["state", "init", ".", "--level", "3", "--issue", "42", "--workflow", workflow]);
    sandbox.transitions(events);
    sandbox
}

/// Returns the phase that the run is in.
pub(crate) fn phase(sandbox: &Sandbox) -> String {
    status(sandbox)["phase"].as_str().unwrap().to_owned()
}

pub(crate) fn status(sandbox: &Sandbox) -> Value {
    serde_json::from_str(&sandbox.warp_ok(&["status", "--json"])).unwrap()
}

/// Returns the newest record of the run.
pub(crate) fn newest(sandbox: &Sandbox) -> Value {
    let log = sandbox.rows(&["log", "--json"]);
    log.last().cloned().unwrap()
}
