//! The cheapest question to an agent: whether its provider serves it at all.

use serde_json::{Value, json};

use super::{Agent, Ended, NoAnswer};

pub const PROMPT: &str = "Use no tools. Answer at once with {\"ok\": true}, and with nothing else.";

/// Returns what the answer looks like.
pub fn schema() -> Value {
    json!({ "type": "object", "properties": { "ok": { "type": "boolean" } }, "required": ["ok"], "additionalProperties": false })
}

/// Tells whether an agent can be asked: a command or a script does work whatever it is told.
pub fn can(agent: &dyn Agent) -> bool {
    !["command", "script"].contains(&agent.name())
}

/// Tells whether a model has answered, well or not.
pub fn is_served(ended: &Ended) -> bool {
    matches!(&ended.answer, Ok(_) | Err(NoAnswer::NotJson | NoAnswer::DoesNotFit(_)))
}
