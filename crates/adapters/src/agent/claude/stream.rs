//! The lines that Claude Code prints. Only what is needed is read; whatever else a version adds passes.

use std::collections::HashMap;

use engine::Time;
use serde_json::Value;

use crate::agent::{AgentUpdate, Notice, ProviderFailure, Usage, brief};

/// How many tools in flight are remembered by name.
const MOST_TOOLS: usize = 1000;
/// The tool by which the client's model answers: it does nothing, and the answer is shown as one.
const ANSWER: &str = "StructuredOutput";

/// The client's output, parsed so far.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    pub(super) session: Option<String>,
    pub(super) usage: Usage,
    /// Tokens that the last request held: the end of a turn tells only the sum of all.
    pub(super) context: u64,
    pub(super) cost_usd: Option<f64>,
    pub(super) outcome: Option<Outcome>,
    pub(super) resets_at: Option<Time>,
    /// What the model said last.
    pub(super) words: String,
    /// Names of tools by the id of their use.
    tools: HashMap<String, String>,
    /// What earlier messages have used, and the one that is being told: it comes in several lines.
    before: Usage,
    message: (String, Usage),
    /// What all results so far have used.
    results: Usage,
}

/// How the client says that it ended.
#[derive(Debug, PartialEq)]
pub(super) enum Outcome {
    /// It has answered by the schema; what it says after that takes nothing back.
    Answered(Value),
    Done {
        text: String,
    },
    Failed {
        words: String,
    },
    Provider(ProviderFailure),
}

impl Transcript {
    /// Takes a line; returns what of it is to be shown.
    pub(super) fn line(&mut self, line: &str) -> Vec<AgentUpdate> {
        // A line that is no JSON is not the client's.
        let Ok(line) = serde_json::from_str::<Value>(line) else { return Vec::new() };
        match line["type"].as_str() {
            Some("system") => self.system(&line),
            Some("assistant") => {
                // A subagent has a conversation of its own.
                if line["parent_tool_use_id"].is_null() {
                    self.context = context(&line["message"]["usage"]);
                }
                self.assistant(&line["message"])
            }
            Some("user") => self.results(&line["message"]),
            Some("rate_limit_event") => {
                self.limit(&line["rate_limit_info"]);
                Vec::new()
            }
            Some("result") => {
                self.result(&line);
                Vec::new()
            }
            Some(_) | None => Vec::new(),
        }
    }

    fn system(&mut self, line: &Value) -> Vec<AgentUpdate> {
        match line["subtype"].as_str() {
            Some("init") => {
                self.session = line["session_id"].as_str().map(ToOwned::to_owned);
                self.session.clone().map(AgentUpdate::Session).into_iter().collect()
            }
            Some("api_retry") => {
                let error = line["error"].as_str().unwrap_or("the model does not answer");
                let attempt = line["attempt"].as_u64().unwrap_or_default();
                vec![AgentUpdate::Notice(Notice::retry(error, attempt, line["max_retries"].as_u64()))]
            }
            Some(_) | None => Vec::new(),
        }
    }

    fn assistant(&mut self, message: &Value) -> Vec<AgentUpdate> {
        let mut said = Vec::new();
        for part in message["content"].as_array().into_iter().flatten() {
            match part["type"].as_str() {
                Some("text") => {
                    let text = part["text"].as_str().unwrap_or_default();
                    self.words = crate::agent::tail(text, crate::agent::LAST_WORDS);
                    said.push(AgentUpdate::Text(brief(text)));
                }
                Some("tool_use") if part["name"] == ANSWER => {}
                Some("tool_use") => {
                    let name = part["name"].as_str().unwrap_or_default().to_owned();
                    if let Some(id) = part["id"].as_str().filter(|_| self.tools.len() < MOST_TOOLS) {
                        self.tools.insert(id.to_owned(), name.clone());
                    }
                    said.push(AgentUpdate::Tool { name, about: about(&part["input"]) });
                }
                Some(_) | None => {}
            }
        }
        self.count(message);
        said.push(AgentUpdate::Usage(self.usage));
        said
    }

    /// Adds what a message has used. Several lines of one message tell the same.
    fn count(&mut self, message: &Value) {
        let id = message["id"].as_str().unwrap_or_default();
        if id != self.message.0 {
            self.before = self.usage;
            self.message.0 = id.to_owned();
        }
        self.message.1 = usage(&message["usage"]);
        self.usage = sum(self.before, self.message.1);
    }

    /// Takes what a result says was used. Each tells of its own messages, and counts more than what those said.
    fn count_result(&mut self, usage: Usage) {
        self.results = sum(self.results, usage);
        self.usage = self.results;
        self.message = Default::default();
    }

    /// Looks for tools that were not let run.
    fn results(&mut self, message: &Value) -> Vec<AgentUpdate> {
        let parts = message["content"].as_array().into_iter().flatten();
        let mut said = Vec::new();
        for part in parts.filter(|part| part["type"] == "tool_result") {
            let name = part["tool_use_id"].as_str().and_then(|id| self.tools.remove(id));
            let text = text_of(&part["content"]);
            if part["is_error"] == true && is_denial(&text) {
                said.push(AgentUpdate::Notice(Notice::refused(name.unwrap_or_default(), &reason(&text))));
            }
        }
        said
    }

    fn limit(&mut self, about: &Value) {
        if about["status"] == "rejected" {
            let seconds = about["resetsAt"].as_i64();
            self.resets_at = seconds.map(|seconds| Time::from_millis(seconds.saturating_mul(1000)));
        }
    }

    fn result(&mut self, line: &Value) {
        if let Some(session) = line["session_id"].as_str() {
            self.session = Some(session.to_owned());
        }
        self.count_result(usage(&line["usage"]));
        self.cost_usd = line["total_cost_usd"].as_f64();
        if let Some(answer) = line.get("structured_output").filter(|answer| !answer.is_null()) {
            self.outcome = Some(Outcome::Answered(answer.clone()));
        }
        if matches!(self.outcome, Some(Outcome::Answered(_))) {
            return;
        }
        let text = line["result"].as_str().unwrap_or_default().to_owned();
        let words = if text.is_empty() { errors(line) } else { text.clone() };
        self.outcome = Some(if line["is_error"] == true {
            match self.failure(&line["api_error_status"], &words) {
                Some(failure) => Outcome::Provider(failure),
                None => Outcome::Failed { words },
            }
        } else {
            Outcome::Done { text }
        });
    }

    /// Tells whether an error is the provider's: by its status, or by the client's words where no request was answered.
    fn failure(&self, status: &Value, words: &str) -> Option<ProviderFailure> {
        let failure = match status.as_u64().and_then(|status| u16::try_from(status).ok()) {
            Some(status) => ProviderFailure::from_status(status, words),
            None => ProviderFailure::from_words(words),
        };
        match failure {
            None | Some(ProviderFailure::Limit { .. }) if self.resets_at.is_some() => {
                Some(ProviderFailure::Limit { resets_at: self.resets_at, words: words.to_owned() })
            }
            failure => failure,
        }
    }
}

/// Says what a tool is used for.
fn about(input: &Value) -> String {
    let fields =
        ["command", "file_path", "notebook_path", "pattern", "url", "query", "description", "prompt"];
    brief(fields.iter().find_map(|field| input[*field].as_str()).unwrap_or_default())
}

fn usage(from: &Value) -> Usage {
    let count = |field: &str| from[field].as_u64().unwrap_or_default();
    Usage {
        input: count("input_tokens"),
        output: count("output_tokens"),
        cache_read: count("cache_read_input_tokens"),
        cache_write: count("cache_creation_input_tokens"),
    }
}

/// Returns how many tokens a request held, cached or not.
fn context(from: &Value) -> u64 {
    let Usage { input, cache_read, cache_write, .. } = usage(from);
    input.saturating_add(cache_read).saturating_add(cache_write)
}

fn sum(one: Usage, other: Usage) -> Usage {
    Usage {
        input: one.input.saturating_add(other.input),
        output: one.output.saturating_add(other.output),
        cache_read: one.cache_read.saturating_add(other.cache_read),
        cache_write: one.cache_write.saturating_add(other.cache_write),
    }
}

fn errors(line: &Value) -> String {
    let errors = line["errors"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let errors: Vec<&str> = errors.collect();
    if errors.is_empty() {
        line["subtype"].as_str().unwrap_or_default().to_owned()
    } else {
        errors.join("; ")
    }
}

/// Returns the text of a tool's result: a string, or a list of parts.
fn text_of(content: &Value) -> String {
    match content.as_str() {
        Some(text) => text.to_owned(),
        None => {
            let parts = content.as_array().into_iter().flatten();
            parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
    }
}

fn is_denial(text: &str) -> bool {
    text.starts_with("PreToolUse:")
        || text.contains("requested permissions")
        || text.contains("has been denied")
}

/// Leaves out the hook's command, which stands in brackets before its reason.
fn reason(text: &str) -> String {
    text.split_once("]: ")
        .filter(|_| text.starts_with("PreToolUse:"))
        .map_or(text, |(_, reason)| reason)
        .to_owned()
}
