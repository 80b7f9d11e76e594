//! An answer before it is put on the wire, and what the APIs' answers have in common.

use serde_json::{Value, json};

use super::{Api, Call, Request, Usage, anthropic, chat, openai};

/// How many characters of a text come in one event.
const PIECE: usize = 40;

/// An answer before it is put on the wire.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Body,
}

pub(super) enum Body {
    /// In one piece.
    Whole(String),
    /// As a stream of events.
    Events(Vec<String>),
}

/// What a successful turn consists of.
pub(super) enum Speech<'a> {
    Text(&'a str),
    Calls(&'a [Call]),
}

/// How a turn is told from others, and what it says that it has used.
pub(super) struct Marks<'a> {
    /// What makes its identifiers unique.
    pub(super) label: &'a str,
    /// None: an estimate.
    pub(super) usage: Option<Usage>,
}

impl Answer {
    pub(super) fn json(status: u16, body: &Value) -> Self {
        let kind = header("content-type", "application/json");
        Self { status, headers: vec![kind], body: Body::Whole(body.to_string()) }
    }

    pub(super) fn events(events: Vec<String>) -> Self {
        let headers = vec![header("content-type", "text/event-stream"), header("cache-control", "no-cache")];
        Self { status: 200, headers, body: Body::Events(events) }
    }

    /// Sets headers; one that is there already is replaced.
    pub(super) fn with_headers(mut self, headers: impl IntoIterator<Item = (String, String)>) -> Self {
        for (name, value) in headers {
            self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(&name));
            self.headers.push((name, value));
        }
        self
    }
}

impl Marks<'_> {
    /// Returns what is said to be used by an answer that consists of these values.
    pub(super) fn usage(&self, request: &Request, said: &[Value]) -> Usage {
        self.usage.unwrap_or_else(|| Usage {
            input: tokens(&request.body.to_string()),
            output: said.iter().map(|value| tokens(&value.to_string())).sum(),
            cache_read: 0,
            cache_write: 0,
        })
    }
}

impl Usage {
    /// Returns the input as OpenAI counts it: cached or not.
    pub(super) fn all_input(&self) -> u64 {
        self.input + self.cache_read + self.cache_write
    }
}

/// Renders a turn in the client's language.
pub(super) fn render(request: &Request, marks: &Marks<'_>, speech: &Speech<'_>) -> Answer {
    match request.api {
        Api::Anthropic => anthropic::render(request, marks, speech),
        Api::OpenAi => openai::render(request, marks, speech),
        Api::Chat => chat::render(request, marks, speech),
    }
}

/// Renders a failure.
pub(super) fn fail(api: Api, status: u16, message: &str) -> Answer {
    match api {
        Api::Anthropic => anthropic::fail(status, message),
        Api::OpenAi | Api::Chat => openai::fail(status, message),
    }
}

/// Renders a refusal that passes.
pub(super) fn limit(api: Api, resets_at: u64, retry_after: u64) -> Answer {
    let own = match api {
        Api::Anthropic => anthropic::limit(resets_at),
        Api::OpenAi | Api::Chat => openai::limit(retry_after),
    };
    let refused = fail(api, 429, "the limit is reached; there will be more later");
    refused.with_headers(own).with_headers([header("retry-after", retry_after.to_string())])
}

pub(super) fn no_such_path() -> Answer {
    Answer::json(404, &json!({ "error": { "message": "no such path" } }))
}

pub(super) fn header(name: &str, value: impl Into<String>) -> (String, String) {
    (name.to_owned(), value.into())
}

/// Estimates how many tokens a text has; four characters each is near enough to be plausible.
pub(super) fn tokens(text: &str) -> u64 {
    text.len() as u64 / 4 + 1
}

/// Renders one event of a stream.
pub(super) fn event(kind: &str, mut data: Value) -> String {
    data["type"] = kind.into();
    format!("event: {kind}\ndata: {data}\n\n")
}

/// Cuts a text into the pieces that it comes in, at least one.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    match characters.is_empty() {
        true => vec![String::new()],
        false => characters.chunks(PIECE).map(|piece| piece.iter().collect()).collect(),
    }
}
