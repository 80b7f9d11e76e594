//! What the model is to say, turn by turn.

use std::{collections::VecDeque, fmt};

use serde_json::{Value, json};

use super::Request;

/// One turn of the model.
#[derive(Debug, Clone, PartialEq)]
pub enum Turn {
    /// The model says something and leaves it at that.
    Say(String),
    /// The model calls one tool. For OpenAI's free-form tools, such as `apply_patch`, `input` is a string.
    Call { tool: String, input: Value },
    /// The model calls several tools at once.
    Calls(Vec<Call>),
    /// The request fails with an HTTP status.
    Fail { status: u16, message: String },
    /// The request stays open without an answer until the model is dropped.
    Silence,
}

/// A call of one tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub tool: String,
    pub input: Value,
}

/// Where turns come from.
pub struct Script {
    turns: Turns,
    after: Turn,
}

enum Turns {
    List(VecDeque<Turn>),
    Function(Box<dyn FnMut(&Request) -> Turn + Send>),
}

impl Turn {
    /// Says `text`.
    pub fn say(text: impl Into<String>) -> Self {
        Self::Say(text.into())
    }

    /// Calls one tool.
    pub fn call(tool: impl Into<String>, input: Value) -> Self {
        Self::Call { tool: tool.into(), input }
    }

    /// Runs a shell command with Claude Code's tool.
    pub fn bash(command: &str) -> Self {
        Self::call("Bash", json!({ "command": command, "description": "Run a command" }))
    }

    /// Runs a shell command with Codex's tool.
    pub fn exec_command(command: &str) -> Self {
        Self::call("exec_command", json!({ "cmd": command }))
    }
}

impl Script {
    /// Plays a list of turns, then says `done` for ever; [`Script::then`] changes that.
    pub fn list(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self { turns: Turns::List(turns.into_iter().collect()), after: Turn::say("done") }
    }

    /// Asks a function for each turn.
    pub fn function(next: impl FnMut(&Request) -> Turn + Send + 'static) -> Self {
        Self { turns: Turns::Function(Box::new(next)), after: Turn::say("done") }
    }

    /// Sets the turn that is repeated after a list's end.
    #[must_use]
    pub fn then(mut self, after: Turn) -> Self {
        self.after = after;
        self
    }

    pub(super) fn next(&mut self, request: &Request) -> Turn {
        match &mut self.turns {
            Turns::List(turns) => turns.pop_front().unwrap_or_else(|| self.after.clone()),
            Turns::Function(next) => next(request),
        }
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Script");
        match &self.turns {
            Turns::List(turns) => shown.field("turns", turns).field("after", &self.after).finish(),
            Turns::Function(_) => shown.finish_non_exhaustive(),
        }
    }
}

impl From<Vec<Turn>> for Script {
    fn from(turns: Vec<Turn>) -> Self {
        Self::list(turns)
    }
}

impl<const COUNT: usize> From<[Turn; COUNT]> for Script {
    fn from(turns: [Turn; COUNT]) -> Self {
        Self::list(turns)
    }
}
