//! The lines that Codex prints. Only what is needed is read; whatever else a version adds passes.

use serde_json::Value;

use crate::agent::{AgentUpdate, LAST_WORDS, Notice, ProviderFailure, Usage, brief, tail};

/// How the client says that it tries again.
const RETRY: &str = "Reconnecting";

/// The client's output, parsed so far.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    pub(super) thread: Option<String>,
    /// What the whole thread has used.
    pub(super) usage: Option<Usage>,
    pub(super) outcome: Option<Outcome>,
    /// The last message, whole: the answer is in it.
    pub(super) answer: String,
    /// What the model said last.
    pub(super) words: String,
    has_begun: bool,
}

/// How the client says that it ended.
#[derive(Debug, PartialEq)]
pub(super) enum Outcome {
    Done,
    Failed { words: String },
    Provider(ProviderFailure),
}

impl Transcript {
    /// Takes a line; returns what of it is to be shown.
    pub(super) fn line(&mut self, line: &str) -> Option<AgentUpdate> {
        // A line that is no JSON is not the client's.
        let line: Value = serde_json::from_str(line).ok()?;
        match line["type"].as_str()? {
            "thread.started" => {
                self.thread = line["thread_id"].as_str().map(ToOwned::to_owned);
                self.thread.clone().map(AgentUpdate::Session)
            }
            "turn.started" => {
                self.has_begun = true;
                None
            }
            "item.started" => started(&line["item"]),
            "item.completed" => self.completed(&line["item"]),
            "turn.completed" => {
                self.usage = Some(usage(&line["usage"]));
                self.outcome = Some(Outcome::Done);
                None
            }
            "turn.failed" => {
                self.outcome = Some(outcome(line["error"]["message"].as_str().unwrap_or_default()));
                None
            }
            "error" => {
                let words = line["message"].as_str().unwrap_or_default();
                words.starts_with(RETRY).then(|| AgentUpdate::Notice(retry(words)))
            }
            _ => None,
        }
    }

    fn completed(&mut self, item: &Value) -> Option<AgentUpdate> {
        match item["type"].as_str()? {
            "agent_message" => {
                let text = item["text"].as_str().unwrap_or_default();
                self.answer = text.to_owned();
                self.words = tail(text, LAST_WORDS);
                Some(AgentUpdate::Text(brief(text)))
            }
            // What is said before the turn is about the client's settings.
            "error" if self.has_begun => {
                Some(AgentUpdate::Text(brief(item["message"].as_str().unwrap_or_default())))
            }
            // It is told only when it is over.
            "web_search" => Some(tool("web_search", item["query"].as_str().unwrap_or_default())),
            _ => None,
        }
    }
}

fn started(item: &Value) -> Option<AgentUpdate> {
    let text = |field: &str| item[field].as_str().unwrap_or_default();
    match item["type"].as_str()? {
        "command_execution" => Some(tool("Bash", bare(text("command")))),
        "file_change" => {
            let changes = item["changes"].as_array().into_iter().flatten();
            let paths: Vec<&str> = changes.filter_map(|change| change["path"].as_str()).collect();
            Some(tool("apply_patch", &paths.join(", ")))
        }
        "mcp_tool_call" => Some(tool(&format!("mcp__{}__{}", text("server"), text("tool")), "")),
        _ => None,
    }
}

fn tool(name: &str, about: &str) -> AgentUpdate {
    AgentUpdate::Tool { name: name.to_owned(), about: brief(about) }
}

/// Reads `Reconnecting... 1/4 (why)`.
fn retry(words: &str) -> Notice {
    let read = || {
        let (counts, why) = words.strip_prefix(RETRY)?.trim_start_matches('.').trim().split_once(' ')?;
        let (attempt, of) = counts.split_once('/')?;
        let why = why.strip_prefix('(')?.strip_suffix(')')?;
        Some(Notice::retry(why, attempt.parse().ok()?, of.parse().ok()))
    };
    read().unwrap_or_else(|| Notice::retry(words, 1, None))
}

/// Leaves out the shell that runs a command.
fn bare(command: &str) -> &str {
    let within = [" -lc ", " -c "].iter().find_map(|option| command.split_once(option)).map(|(_, rest)| rest);
    let Some(within) = within else { return command };
    let unquoted = |quote: char| within.strip_prefix(quote)?.strip_suffix(quote);
    unquoted('\'').or_else(|| unquoted('"')).unwrap_or(within)
}

fn outcome(words: &str) -> Outcome {
    match ProviderFailure::from_words(words) {
        Some(failure) => Outcome::Provider(failure),
        None => Outcome::Failed { words: words.to_owned() },
    }
}

/// Reads tokens as this client counts them: what came from a cache, and what went to one, is part of the input.
pub(super) fn usage(from: &Value) -> Usage {
    let count = |field: &str| from[field].as_u64().unwrap_or_default();
    let (cache_read, cache_write) = (count("cached_input_tokens"), count("cache_write_input_tokens"));
    Usage {
        input: count("input_tokens").saturating_sub(cache_read).saturating_sub(cache_write),
        output: count("output_tokens"),
        cache_read,
        cache_write,
    }
}
