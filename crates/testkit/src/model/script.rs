//! What the model is to say, turn by turn.

use std::{collections::VecDeque, fmt, time::Duration};

use serde_json::{Value, json};

use super::{Gate, Request};

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
    /// The request is refused with 429 and, in the headers of the client's API, when there will be more: at a time in
    /// seconds since 1970, where an API says times, and in so many seconds, where it says spans.
    Limit { resets_at: u64, retry_after: u64 },
    /// The request stays open without an answer until the model is dropped.
    Silence,
    /// Another turn, in a manner of its own.
    With { turn: Box<Turn>, manner: Manner },
}

/// A call of one tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub tool: String,
    pub input: Value,
}

/// What an answer has used, in tokens. `input` is what was neither read from a cache nor written to one; OpenAI's APIs
/// know no writes, and count them as input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

/// How a turn is put on the wire. Events are those of a stream; an answer in one piece has a single one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Manner {
    /// What it says that it has used; none: as the script says, or an estimate.
    pub usage: Option<Usage>,
    /// Headers besides the usual; one that is there already is replaced.
    pub headers: Vec<(String, String)>,
    /// The gate to wait at, and where.
    pub held: Option<(Place, Gate)>,
    /// After so many events the connection is cut; an answer in one piece is cut in its middle.
    pub cut_after: Option<usize>,
    /// How long to pause before each event but the first.
    pub pause: Option<Duration>,
}

/// A place between the events of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// After so many events; after none, nothing at all is sent.
    After(usize),
    /// When everything is said, and only the event is missing that says so.
    BeforeLast,
}

/// Where turns come from.
pub struct Script {
    turns: Turns,
    after: Turn,
    usage: Option<Usage>,
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

    /// Says what it has used.
    #[must_use]
    pub fn usage(self, input: u64, output: u64, cache_read: u64, cache_write: u64) -> Self {
        self.with(|manner| manner.usage = Some(Usage { input, output, cache_read, cache_write }))
    }

    /// Adds a header to the answer.
    #[must_use]
    pub fn header(self, name: &str, value: impl Into<String>) -> Self {
        self.with(|manner| manner.headers.push((name.to_owned(), value.into())))
    }

    /// Holds the answer after so many events until the gate is opened.
    #[must_use]
    pub fn held_after(self, events: usize, gate: &Gate) -> Self {
        self.with(|manner| manner.held = Some((Place::After(events), gate.clone())))
    }

    /// Holds the answer before its last event until the gate is opened.
    #[must_use]
    pub fn held_before_last(self, gate: &Gate) -> Self {
        self.with(|manner| manner.held = Some((Place::BeforeLast, gate.clone())))
    }

    /// Cuts the connection after so many events.
    #[must_use]
    pub fn cut_after(self, events: usize) -> Self {
        self.with(|manner| manner.cut_after = Some(events))
    }

    /// Pauses before each event but the first.
    #[must_use]
    pub fn slowly(self, pause: Duration) -> Self {
        self.with(|manner| manner.pause = Some(pause))
    }

    fn with(self, change: impl FnOnce(&mut Manner)) -> Self {
        let (turn, mut manner) = self.apart();
        change(&mut manner);
        Self::With { turn: Box::new(turn), manner }
    }

    /// Takes a turn and its manner apart. Of two manners around one turn the outer counts.
    pub(super) fn apart(self) -> (Self, Manner) {
        match self {
            Self::With { turn, manner } => (turn.apart().0, manner),
            plain @ (Self::Say(_)
            | Self::Call { .. }
            | Self::Calls(_)
            | Self::Fail { .. }
            | Self::Limit { .. }
            | Self::Silence) => (plain, Manner::default()),
        }
    }
}

impl Script {
    /// Plays a list of turns, then says `done` for ever; [`Script::then`] changes that.
    pub fn list(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self::new(Turns::List(turns.into_iter().collect()))
    }

    /// Asks a function for each turn.
    pub fn function(next: impl FnMut(&Request) -> Turn + Send + 'static) -> Self {
        Self::new(Turns::Function(Box::new(next)))
    }

    fn new(turns: Turns) -> Self {
        Self { turns, after: Turn::say("done"), usage: None }
    }

    /// Sets the turn that is repeated after a list's end.
    #[must_use]
    pub fn then(mut self, after: Turn) -> Self {
        self.after = after;
        self
    }

    /// Sets what every answer says that it has used, side requests included, unless its turn says otherwise. Without
    /// it, tokens are estimated.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64, cache_read: u64, cache_write: u64) -> Self {
        self.usage = Some(Usage { input, output, cache_read, cache_write });
        self
    }

    pub(super) fn default_usage(&self) -> Option<Usage> {
        self.usage
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
