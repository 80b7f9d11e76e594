//! What a hook answers: an exit code, and text or JSON for the client.

use serde_json::{Value, json};

/// The most that a client takes as one text, in characters.
const LONGEST: usize = 9_900;

/// Answer of a hook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Exit code: 0, or 2 to refuse. Any other code lets the agent continue.
    pub code: u8,
    pub out: String,
    pub err: String,
}

impl Answer {
    /// Continues without output.
    pub fn silent() -> Self {
        Self::default()
    }

    /// Refuses; the agent is told why.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self { code: 2, out: String::new(), err: short(&reason.into()) }
    }

    /// Wakes an idle agent with a prompt. Works only in background hooks.
    pub fn wake(text: &str) -> Self {
        Self::deny(text)
    }

    /// Continues, with a note for the client's log.
    pub fn note(text: impl Into<String>) -> Self {
        Self { code: 0, out: String::new(), err: short(&text.into()) }
    }

    /// Continues, and adds context for the model.
    pub fn context(event: &str, text: &str) -> Self {
        Self::json(&json!({
            "hookSpecificOutput": { "hookEventName": event, "additionalContext": short(text) },
        }))
    }

    /// Allows a tool call with changed input.
    pub fn allow_with(reason: &str, input: &Value) -> Self {
        Self::json(&json!({
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "allow",
                "permissionDecisionReason": reason,
                "updatedInput": input,
            },
        }))
    }

    /// Denies a permission request, where the exit code is ignored.
    pub fn deny_permission(reason: &str) -> Self {
        Self::json(&json!({
            "hookSpecificOutput": {
                "hookEventName": "PermissionRequest",
                "decision": { "behavior": "deny", "message": short(reason) },
            },
        }))
    }

    /// Tells the model something more, whatever else is answered.
    #[must_use]
    pub(crate) fn and_told(mut self, event: &str, text: &str) -> Self {
        if self.code != 0 {
            self.err = short(&format!("{}\n{text}", self.err));
            return self;
        }
        match serde_json::from_str::<Value>(&self.out) {
            Ok(mut value) => {
                let context = &mut value["hookSpecificOutput"]["additionalContext"];
                *context = json!(short(&[context.as_str().unwrap_or_default(), text].join("\n")));
                Self::json(&value)
            }
            Err(_) => Self::context(event, text),
        }
    }

    /// Keeps the agent going: `reason` is what it is told next, `message` what the person sees.
    pub fn keep_going(reason: &str, message: &str) -> Self {
        Self::json(&json!({ "decision": "block", "reason": short(reason), "systemMessage": short(message) }))
    }

    /// Continues, and shows a message to the person.
    pub fn message(text: &str) -> Self {
        Self::json(&json!({ "systemMessage": short(text) }))
    }

    fn json(value: &Value) -> Self {
        Self { code: 0, out: value.to_string(), err: String::new() }
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{} […]", &text[..cut]),
        None => text.to_owned(),
    }
}
