//! A project whose run stands where a test wants it, and an agent that calls hooks in it.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use testkit::Sandbox;

/// The session of the agent.
pub(crate) const SESSION: &str = "5e55-10n";

/// What a hook answered.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Answered {
    /// Returns what the model is told.
    pub(crate) fn context(&self) -> String {
        self.json()["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns the answer as JSON; nothing said is `null`.
    pub(crate) fn json(&self) -> Value {
        if self.out.is_empty() { Value::Null } else { serde_json::from_str(&self.out).unwrap() }
    }

    /// Expects silence.
    pub(crate) fn is_silent(&self) {
        assert_eq!((self.code, self.out.as_str(), self.err.as_str()), (Some(0), "", ""), "{self:?}");
    }

    /// Expects a refusal that says this.
    pub(crate) fn is_denied(&self, reason: &str) {
        assert_eq!(self.code, Some(2), "{self:?}");
        assert!(self.err.contains(reason), "{self:?} does not say `{reason}`");
    }
}

/// A project with a run that stands in `phase` (of those on the way to a commit).
pub(crate) fn standing_in(phase: &str) -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    stand_in(&sandbox, phase);
    sandbox
}

/// Begins a run that stands in `phase`.
pub(crate) fn stand_in(sandbox: &Sandbox, phase: &str) {
    sandbox.write("Makefile", "test:\n\t@true\n");
    sandbox.warp_ok(&["state", "init", ".", "--level", "3", "--issue", "42"]);
    let way = [
        ("discovering", "prerequisites_ok"),
        ("planning", "work_selected"),
        ("chunking", "plan_ready"),
        ("coding", "chunks_defined"),
        ("updating_docs", "code_complete"),
        ("testing", "docs_updated"),
        ("committing", "tests_passed"),
        ("reporting", "committed"),
    ];
    let steps = way.iter().position(|(to, _)| *to == phase).unwrap() + 1;
    for (_, event) in &way[..steps] {
        if *event == "code_complete" {
            sandbox.write("parser.rs", "fn parse() {}\n");
        }
        sandbox.transitions(&[event]);
    }
}

/// Makes the command that a client would start.
pub(crate) fn command(sandbox: &Sandbox, event: &str) -> Command {
    let mut command = sandbox.warp_command(&["hook", event]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Calls a hook with these bytes.
pub(crate) fn call_raw(sandbox: &Sandbox, event: &str, input: &[u8]) -> Answered {
    let mut child = command(sandbox, event).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Answered { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// Calls a hook of the agent's session with these fields.
pub(crate) fn call(sandbox: &Sandbox, event: &str, fields: Value) -> Answered {
    let mut input = json!({ "session_id": SESSION, "cwd": sandbox.root() });
    for (name, value) in fields.as_object().unwrap() {
        input[name] = value.clone();
    }
    call_raw(sandbox, event, input.to_string().as_bytes())
}

/// Asks the gate about a shell command.
pub(crate) fn bash(sandbox: &Sandbox, command: &str) -> Answered {
    call(sandbox, "pre-tool-use", json!({ "tool_name": "Bash", "tool_input": { "command": command } }))
}

/// Reports a finished tool.
pub(crate) fn used(sandbox: &Sandbox, tool: &str, input: Value) -> Answered {
    call(sandbox, "post-tool-use", json!({ "tool_name": tool, "tool_input": input }))
}

/// Returns the run's state.
pub(crate) fn state(sandbox: &Sandbox) -> Value {
    serde_json::from_str(&sandbox.warp_ok(&["state", "status", "."])).unwrap()
}

/// Destroys the journal: neither the file nor its log can be read any more.
pub(crate) fn ruin_journal(sandbox: &Sandbox) {
    let journal = sandbox.journal();
    std::fs::write(&journal, "this is no journal").unwrap();
    std::fs::write(journal.with_extension("db-wal"), "nor is this a log").unwrap();
}
