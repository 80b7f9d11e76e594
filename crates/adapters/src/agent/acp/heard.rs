//! What an agent tells of its work.

use std::collections::HashMap;

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, SessionId, SessionUpdate, ToolCall, ToolCallUpdate, ToolKind,
};
use serde_json::Value;

use crate::agent::{AgentUpdate, LAST_WORDS, Usage, brief, tail};

/// How much of what the agent says is kept, in bytes: the answer is at its end.
const MOST_TEXT: usize = 1024 * 1024;
/// How many tool calls are remembered, and shown.
const MOST_TOOLS: usize = 10_000;

/// The client's output, parsed so far.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    pub(super) session: Option<String>,
    /// What the whole conversation has cost.
    pub(super) cost_usd: Option<f64>,
    /// The most that the conversation has held, in tokens.
    most_read: u64,
    /// Tokens that the conversation holds.
    pub(super) context: u64,
    /// What the agent has said since the prompt; the answer is at its end.
    pub(super) text: String,
    /// What it said last.
    pub(super) words: String,
    /// What it is saying, not yet shown.
    message: String,
    /// Tools by the id of their use: the name, until it is shown.
    tools: HashMap<String, Option<String>>,
}

impl Transcript {
    /// Takes the conversation's name. What was told before that was said in earlier turns.
    pub(super) fn open(&mut self, session: &SessionId) -> Vec<AgentUpdate> {
        *self = Self { session: Some(session.to_string()), ..Self::default() };
        vec![AgentUpdate::Session(session.to_string())]
    }

    /// Takes what the agent tells; returns what of it is to be shown.
    pub(super) fn update(&mut self, update: &SessionUpdate) -> Vec<AgentUpdate> {
        if self.session.is_none() {
            return Vec::new();
        }
        if let SessionUpdate::AgentMessageChunk(chunk) = update {
            self.say(chunk);
            return Vec::new();
        }
        let mut said = Vec::new();
        if let SessionUpdate::ToolCall(call) = update {
            said = self.end();
            said.extend(self.begin_tool(call));
        } else if let SessionUpdate::ToolCallUpdate(call) = update {
            said.extend(self.go_on(call));
        } else if let SessionUpdate::UsageUpdate(usage) = update {
            let dollars = usage.cost.as_ref().filter(|cost| cost.currency == "USD");
            self.cost_usd = dollars.map(|cost| cost.amount).or(self.cost_usd);
            // What the turn has used is told at its end. Until then it is at least what the model had to read.
            self.context = usage.used;
            self.most_read = self.most_read.max(usage.used);
            said.push(AgentUpdate::Usage(self.least()));
        }
        said
    }

    /// Returns what the turn has used at least.
    pub(super) fn least(&self) -> Usage {
        Usage { input: self.most_read, ..Usage::default() }
    }

    /// Ends a message, and shows it.
    pub(super) fn end(&mut self) -> Vec<AgentUpdate> {
        let message = std::mem::take(&mut self.message);
        if message.trim().is_empty() {
            return Vec::new();
        }
        self.words = tail(&message, LAST_WORDS);
        self.text.push('\n');
        vec![AgentUpdate::Text(brief(&message))]
    }

    fn say(&mut self, chunk: &ContentChunk) {
        if let ContentBlock::Text(part) = &chunk.content {
            self.message.push_str(&part.text);
            self.text.push_str(&part.text);
            for text in [&mut self.message, &mut self.text] {
                let cut = text.ceil_char_boundary(text.len().saturating_sub(MOST_TEXT));
                text.drain(..cut);
            }
        }
    }

    /// Shows a tool, unless it is not said yet what it is used for.
    fn begin_tool(&mut self, call: &ToolCall) -> Option<AgentUpdate> {
        let id = call.tool_call_id.to_string();
        let name = call.name.as_deref().unwrap_or_else(|| word(call.kind));
        if call.raw_input.as_ref().is_none_or(is_empty) {
            if self.tools.len() < MOST_TOOLS {
                self.tools.insert(id, Some(name.to_owned()));
            }
            return None;
        }
        self.show(id, name, &call.title)
    }

    fn go_on(&mut self, call: &ToolCallUpdate) -> Option<AgentUpdate> {
        let id = call.tool_call_id.to_string();
        let title = call.fields.title.as_deref()?;
        let begun = self.tools.get_mut(&id).and_then(Option::take);
        if begun.is_none() && self.tools.contains_key(&id) {
            return None;
        }
        let told = call.fields.name.clone().or_else(|| call.fields.kind.map(|kind| word(kind).to_owned()));
        self.show(id, &begun.or(told).unwrap_or_else(|| word(ToolKind::Other).to_owned()), title)
    }

    fn show(&mut self, id: String, name: &str, about: &str) -> Option<AgentUpdate> {
        if self.tools.len() >= MOST_TOOLS {
            return None;
        }
        self.tools.insert(id, None);
        Some(AgentUpdate::Tool { name: name.to_owned(), about: brief(about) })
    }
}

fn is_empty(input: &Value) -> bool {
    input.is_null() || input.as_object().is_some_and(serde_json::Map::is_empty)
}

/// Returns the protocol's word for a kind of tool.
pub(super) fn word(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Read => "read",
        ToolKind::Edit => "edit",
        ToolKind::Delete => "delete",
        ToolKind::Move => "move",
        ToolKind::Search => "search",
        ToolKind::Execute => "execute",
        ToolKind::Think => "think",
        ToolKind::Fetch => "fetch",
        ToolKind::SwitchMode => "switch_mode",
        ToolKind::Other | _ => "tool",
    }
}
