//! What a client told the model, in one form for all APIs.

use std::time::Instant;

use serde_json::Value;

use super::{anthropic, chat, openai};

/// The language that a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// `POST /v1/messages`.
    Anthropic,
    /// `POST /v1/responses`.
    OpenAi,
    /// `POST /v1/chat/completions`.
    Chat,
}

/// One request of the main conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub api: Api,
    /// The names of the tools on offer.
    pub tools: Vec<String>,
    /// The conversation so far, the client's instructions first.
    pub entries: Vec<Entry>,
    /// The path that it was sent to, with whatever prefix the client was given.
    pub path: String,
    /// Its headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The request as it came.
    pub body: Value,
}

/// A request of any kind, and when it came.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    pub at: Instant,
    pub request: Request,
}

/// One piece of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub role: Role,
    pub part: Part,
}

/// Who an entry comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The client's own instructions.
    System,
    /// The person, and whatever the client or its hooks say on the person's side; tool results too.
    User,
    /// The model.
    Assistant,
}

/// What an entry says.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    Text(String),
    Call {
        id: String,
        tool: String,
        input: Value,
    },
    Result {
        id: String,
        text: String,
        failed: bool,
    },
    /// What tests have no need to understand: thoughts, images.
    Other(Value),
}

impl Request {
    pub(super) fn parse(api: Api, path: &str, headers: &[(String, String)], body: Value) -> Self {
        let entries = match api {
            Api::Anthropic => anthropic::entries(&body),
            Api::OpenAi => openai::entries(&body),
            Api::Chat => chat::entries(&body),
        };
        // OpenAI's built-in tools have a type and no name; in chats the name is that of a function.
        let name = |tool: &Value| {
            text(&tool["name"]).or_else(|| text(&tool["function"]["name"])).or_else(|| text(&tool["type"]))
        };
        let tools = items(&body["tools"]).iter().filter_map(name).collect();
        Self { api, tools, entries, path: path.to_owned(), headers: headers.to_vec(), body }
    }

    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let named = self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str())
    }

    /// Says whether one of Claude Code's subagents asks; it does so beside the main conversation, not within it.
    pub fn is_subagent(&self) -> bool {
        let mut instructions = self.entries.iter().take_while(|entry| entry.role == Role::System);
        instructions.any(|entry| entry.part.text().is_some_and(anthropic::is_of_subagent))
    }

    /// Returns the results of tools in the order in which the model was told.
    pub fn tool_results(&self) -> Vec<&str> {
        self.entries.iter().filter_map(|entry| entry.part.result()).collect()
    }

    /// Returns the result of the last tool call.
    pub fn last_tool_result(&self) -> Option<&str> {
        self.tool_results().pop()
    }

    /// Returns every text of the conversation, tool results included, a line each.
    pub fn text(&self) -> String {
        lines(&self.entries)
    }

    /// Returns what is said since the model last spoke: the whole text of a conversation's first request, then only
    /// what is added.
    pub fn news(&self) -> String {
        let spoke = self.entries.iter().rposition(|entry| entry.role == Role::Assistant);
        lines(&self.entries[spoke.map_or(0, |index| index + 1)..])
    }
}

impl Part {
    /// Returns what a tool answered; none if this is something else.
    pub fn result(&self) -> Option<&str> {
        match self {
            Self::Result { text, .. } => Some(text),
            Self::Text(_) | Self::Call { .. } | Self::Other(_) => None,
        }
    }

    /// Returns the words of a text or of a tool's result.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Result { text, .. } => Some(text),
            Self::Call { .. } | Self::Other(_) => None,
        }
    }
}

fn lines(entries: &[Entry]) -> String {
    entries.iter().filter_map(|entry| entry.part.text()).collect::<Vec<_>>().join("\n")
}

/// Returns the items of a list; of anything else, none.
pub(super) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns a string's text.
pub(super) fn text(value: &Value) -> Option<String> {
    value.as_str().map(ToOwned::to_owned)
}

/// Returns the words of a content field, which is a string or a list of parts with a `text`.
pub(super) fn content(value: &Value) -> String {
    match text(value) {
        Some(text) => text,
        None => items(value).iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
    }
}
