//! A model that does the issue with whatever tools its client offers, and stops at a moment that a test wants.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use testkit::model::{Gate, Part, Request, Role, Script, Turn};

/// How every prompt of a run begins.
pub(crate) const PROMPT: &str = "You work in the phase `coding`";
/// How a prompt tells which chunk it is about.
const CHUNK: &str = ", chunk ";
/// The tool by which Claude Code's model gives an answer of a schema.
const STRUCTURED: &str = "StructuredOutput";

/// Where the model stops.
#[derive(Clone)]
pub(crate) enum Stop {
    Nowhere,
    /// Whatever it is asked, it says nothing.
    AtOnce,
    /// The tool that it calls first has no end.
    InTool,
    /// Its answer is said, and held at this gate before its end is.
    AfterAnswer(Gate),
    /// Nowhere; but first it leaves a command running in the background.
    Background(&'static str),
}

/// The model, and where it stops.
#[derive(Clone)]
pub(crate) struct Coder {
    stop: Arc<Mutex<Stop>>,
}

impl Coder {
    pub(crate) fn new() -> Self {
        Self { stop: Arc::new(Mutex::new(Stop::Nowhere)) }
    }

    /// Says where the model stops from now on.
    pub(crate) fn stop(&self, stop: Stop) {
        *self.stop.lock().unwrap() = stop;
    }

    pub(crate) fn script(&self) -> Script {
        let stop = Arc::clone(&self.stop);
        Script::function(move |request| {
            let asked = Asked::of(request);
            let stop = stop.lock().unwrap().clone();
            match (stop, asked.moves) {
                (Stop::AtOnce, _) => Turn::Silence,
                (Stop::InTool, 0) => asked.shell("echo running > \"$HOME/running\"; exec tail -f /dev/null"),
                (Stop::AfterAnswer(gate), 1) => asked.answer().held_before_last(&gate),
                (Stop::Background(command), 0) => asked.background(command),
                (Stop::Background(_), moves) => asked.step(moves - 1),
                (Stop::Nowhere | Stop::InTool | Stop::AfterAnswer(_), moves) => asked.step(moves),
            }
        })
    }
}

/// What the model is asked, and how far it is with it.
pub(crate) struct Asked<'a> {
    request: &'a Request,
    chunk: usize,
    /// How often the model has spoken since.
    pub(crate) moves: usize,
}

impl<'a> Asked<'a> {
    pub(crate) fn of(request: &'a Request) -> Self {
        let said = |index: usize| request.entries[index].part.text().unwrap_or_default();
        let is_prompt =
            |index: &usize| request.entries[*index].role == Role::User && said(*index).contains(PROMPT);
        let last = (0..request.entries.len())
            .rfind(is_prompt)
            .unwrap_or_else(|| panic!("there is no prompt in: {}", request.text()));
        let spoken = request.entries[last..].iter().filter(|entry| {
            entry.role == Role::Assistant && matches!(entry.part, Part::Text(_) | Part::Call { .. })
        });
        let prompt = said(last).split(PROMPT).last().unwrap();
        let chunk = prompt.split(CHUNK).nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        Self { request, chunk: chunk.parse().unwrap(), moves: spoken.count() }
    }

    /// Reads a request in which the prompt is no entry of its own.
    pub(crate) fn in_chunk(request: &'a Request, chunk: usize) -> Self {
        Self { request, chunk, moves: 0 }
    }

    fn has(&self, tool: &str) -> bool {
        self.request.tools.iter().any(|other| other == tool)
    }

    /// Runs a command with the client's tool for it.
    pub(crate) fn shell(&self, command: &str) -> Turn {
        if self.has("Bash") {
            return Turn::bash(command);
        }
        if self.has("exec_command") {
            return Turn::exec_command(command);
        }
        assert!(self.has("bash"), "{:?}", self.request.tools);
        Turn::call("bash", json!({ "command": command, "description": "Run a command" }))
    }

    /// Leaves a command running, by the client's own way if it has one.
    fn background(&self, command: &str) -> Turn {
        if self.has("Bash") {
            let input = json!({ "command": command, "description": "Watch", "run_in_background": true });
            return Turn::call("Bash", input);
        }
        self.shell(&format!("({command}) > /dev/null 2>&1 &"))
    }

    /// Does the chunk.
    pub(crate) fn do_chunk(&self) -> Turn {
        self.shell(&write(self.chunk))
    }

    /// Answers as the client's model does: by a tool, or in words.
    pub(crate) fn answer(&self) -> Turn {
        self.answer_at(1)
    }

    /// Answers with a line of the file as evidence.
    pub(crate) fn answer_at(&self, line: usize) -> Turn {
        let mut answer = answer(self.chunk);
        answer["evidence"][0]["line"] = json!(line);
        if self.has(STRUCTURED) { Turn::call(STRUCTURED, answer) } else { Turn::say(answer.to_string()) }
    }

    /// Does the chunk, answers, and has no more to say.
    pub(crate) fn step(&self, moves: usize) -> Turn {
        match moves {
            0 => self.do_chunk(),
            1 => self.answer(),
            _ => Turn::say("That is all."),
        }
    }
}

/// Returns the command that does a chunk.
pub(crate) fn write(chunk: usize) -> String {
    format!("echo word{chunk} > file{chunk}.txt")
}

/// Returns the answer after a chunk is done.
pub(crate) fn answer(chunk: usize) -> Value {
    json!({
        "summary": "the word is there",
        "evidence": [{ "ac": format!("AC-{chunk:02}"), "file": format!("file{chunk}.txt"), "line": 1 }],
        "commit": { "type": "feat", "scope": "words", "subject": format!("add word{chunk}") },
    })
}
