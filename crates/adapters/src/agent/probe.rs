//! The cheapest question to an agent: whether its provider serves it at all.

use std::{io, time::Duration};

use serde_json::{Value, json};

use super::{Agent, AgentUpdate, Extras, NoAnswer, Turn, TurnResult};
use crate::{
    process::{Control, Limits},
    scratch,
};

pub const PROMPT: &str = "Use no tools. Answer at once with {\"ok\": true}, and with nothing else.";

/// Result of a probe.
#[derive(Debug)]
pub struct ProbeResult {
    pub ended: TurnResult,
    /// The model that has answered, where the agent names it.
    pub model: Option<String>,
}

/// Asks an agent in an empty directory, by its own way to its models; it has so long for its answer.
pub fn ask(agent: &dyn Agent, limit: Duration) -> io::Result<ProbeResult> {
    let directory = scratch::directory()?;
    let schema = schema();
    let turn = Turn {
        tree: directory.path(),
        prompt: PROMPT,
        schema: &schema,
        resume: None,
        session: None,
        effort: Some("low"),
        model: agent.cheap_model(),
        route: None,
        mcp: None,
        extras: Extras::default(),
        facts: &[],
        walls: None,
        limits: Limits { whole: limit, silence: limit },
        hooks: None,
        allowed: &[],
        mark: "probe",
    };
    let mut model = agent.cheap_model().map(str::to_owned);
    let ended = agent.run(&turn, &mut |said| {
        if let AgentUpdate::Model(name) = said {
            model = Some(name);
        }
        Control::On
    });
    Ok(ProbeResult { ended, model })
}

/// Returns what the answer looks like.
pub fn schema() -> Value {
    json!({
        "type": "object",
        "properties": { "ok": { "type": "boolean" } },
        "required": ["ok"],
        "additionalProperties": false,
    })
}

/// Tells whether an agent can be asked: a command or a script does work whatever it is told.
pub fn can(agent: &dyn Agent) -> bool {
    !["command", "script"].contains(&agent.name())
}

/// Tells whether a model has answered, well or not.
pub fn is_served(ended: &TurnResult) -> bool {
    matches!(&ended.answer, Ok(_) | Err(NoAnswer::NotJson))
}
