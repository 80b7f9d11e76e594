//! The lines that OpenCode prints. Only what is needed is read; whatever else a version adds passes.

use serde_json::Value;

use crate::agent::{AgentUpdate, LAST_WORDS, Notice, ProviderFailure, Usage, brief, tail};

/// How the plugin begins to say why a tool may not run.
const DENIED: &str = "PreToolUse: ";

/// How the plugin's lines about repeated requests are marked.
const RETRY: &str = "warp_retry";

/// The client's output, parsed so far.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    pub(super) session: Option<String>,
    pub(super) usage: Usage,
    /// Tokens that the last request held.
    pub(super) context: u64,
    /// How it went wrong, if it did.
    pub(super) outcome: Option<Outcome>,
    /// The last text, whole: the answer is in it.
    pub(super) answer: String,
    /// What the model said last.
    pub(super) words: String,
}

/// How a turn goes wrong; one that does not says nothing of its end.
#[derive(Debug, PartialEq)]
pub(super) enum Outcome {
    Failed { words: String },
    Provider(ProviderFailure),
}

impl Transcript {
    /// Takes a line; returns what of it is to be shown.
    pub(super) fn line(&mut self, line: &str) -> Vec<AgentUpdate> {
        // A line that is no JSON is not the client's.
        let Ok(line) = serde_json::from_str::<Value>(line) else { return Vec::new() };
        let mut said = Vec::new();
        if let Some(session) = line["sessionID"].as_str().filter(|_| self.session.is_none()) {
            self.session = Some(session.to_owned());
            said.push(AgentUpdate::Session(session.to_owned()));
        }
        let part = &line["part"];
        match line["type"].as_str() {
            Some("text") => {
                let text = part["text"].as_str().unwrap_or_default();
                self.answer = text.to_owned();
                self.words = tail(text, LAST_WORDS);
                said.push(AgentUpdate::Text(brief(text)));
            }
            Some("tool_use") => said.push(tool(part)),
            Some("step_finish") => {
                self.count(&part["tokens"]);
                said.push(AgentUpdate::Usage(self.usage));
            }
            Some(RETRY) => said.push(AgentUpdate::Notice(retried(&line))),
            Some("error") => self.outcome = Some(outcome(&line["error"])),
            Some(_) | None => {}
        }
        said
    }

    /// Adds what one request has used.
    fn count(&mut self, tokens: &Value) {
        let count = |value: &Value| value.as_u64().unwrap_or_default();
        let [input, read, written] =
            [&tokens["input"], &tokens["cache"]["read"], &tokens["cache"]["write"]].map(count);
        self.context = input.saturating_add(read).saturating_add(written);
        let usage = &mut self.usage;
        usage.input = usage.input.saturating_add(input);
        let said = count(&tokens["output"]).saturating_add(count(&tokens["reasoning"]));
        usage.output = usage.output.saturating_add(said);
        usage.cache_read = usage.cache_read.saturating_add(read);
        usage.cache_write = usage.cache_write.saturating_add(written);
    }
}

/// Reads a line of the plugin's on standard error; nothing if it is another's.
pub(in crate::agent) fn retry_line(line: &str) -> Option<Notice> {
    let line: Value = serde_json::from_str(line).ok()?;
    (line["type"] == RETRY).then(|| retried(&line))
}

/// Tells of a request that the client repeats.
fn retried(line: &Value) -> Notice {
    let why = line["message"].as_str().unwrap_or("the model does not answer");
    Notice::retry(why, line["attempt"].as_u64().unwrap_or_default(), None)
}

/// Tells of a tool; the client does so when it is over.
fn tool(part: &Value) -> AgentUpdate {
    let name = part["tool"].as_str().unwrap_or_default().to_owned();
    let state = &part["state"];
    if let Some(why) = state["error"].as_str().and_then(|error| error.strip_prefix(DENIED)) {
        return AgentUpdate::Notice(Notice::refused(name, why));
    }
    let fields = ["command", "filePath", "pattern", "url", "query", "description", "prompt"];
    let about = fields.iter().find_map(|field| state["input"][*field].as_str()).unwrap_or_default();
    AgentUpdate::Tool { name, about: brief(about) }
}

fn outcome(error: &Value) -> Outcome {
    let message = error["data"]["message"].as_str().or(error["name"].as_str());
    let words = message.unwrap_or("it does not say why").to_owned();
    let status = error["data"]["statusCode"].as_u64().and_then(|status| u16::try_from(status).ok());
    let failure = match status {
        Some(status) => ProviderFailure::from_status(status, &words),
        None => ProviderFailure::from_words(&words),
    };
    failure.map_or(Outcome::Failed { words }, Outcome::Provider)
}
