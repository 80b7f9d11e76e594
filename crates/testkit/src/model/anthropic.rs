//! Anthropic's Messages API: requests read, turns written, streamed or not.

use serde_json::{Value, json};

use super::{
    Answer, Entry, Part, Request, Role, Speech,
    conversation::{content, items, text},
    event, tokens,
};

pub(super) fn entries(body: &Value) -> Vec<Entry> {
    let mut entries = Vec::new();
    add(&mut entries, Role::System, &body["system"]);
    for message in items(&body["messages"]) {
        let role = match message["role"].as_str() {
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            Some(_) | None => Role::User,
        };
        add(&mut entries, role, &message["content"]);
    }
    entries
}

fn add(entries: &mut Vec<Entry>, role: Role, content: &Value) {
    if let Some(text) = text(content) {
        entries.push(Entry { role, part: Part::Text(text) });
    }
    entries.extend(items(content).iter().map(|block| Entry { role, part: part(block) }));
}

fn part(block: &Value) -> Part {
    let named = |name: &str| text(&block[name]).unwrap_or_default();
    match block["type"].as_str() {
        Some("text") => Part::Text(named("text")),
        Some("tool_use") => {
            Part::Call { id: named("id"), tool: named("name"), input: block["input"].clone() }
        }
        Some("tool_result") => Part::Result {
            id: named("tool_use_id"),
            text: content(&block["content"]),
            failed: block["is_error"] == true,
        },
        Some(_) | None => Part::Other(block.clone()),
    }
}

/// Says whether an instruction marks a request of a subagent; Claude Code's first line of accounts does.
pub(super) fn is_of_subagent(instruction: &str) -> bool {
    instruction.starts_with("x-anthropic-billing-header:") && instruction.contains("cc_is_subagent=true")
}

pub(super) fn render(request: &Request, label: &str, speech: &Speech<'_>) -> Answer {
    let (blocks, reason) = match speech {
        Speech::Text(text) => (vec![json!({ "type": "text", "text": text })], "end_turn"),
        Speech::Calls(calls) => {
            let block = |(index, call): (usize, &super::Call)| {
                let id = format!("toolu_{label}_{index}");
                json!({ "type": "tool_use", "id": id, "name": call.tool, "input": call.input })
            };
            (calls.iter().enumerate().map(block).collect(), "tool_use")
        }
    };
    let read = tokens(&request.body.to_string());
    let written: usize = blocks.iter().map(|block| tokens(&block.to_string())).sum();
    let usage = |written: usize| {
        json!({
            "input_tokens": read,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": written,
            "service_tier": "standard",
        })
    };
    let mut message = json!({
        "id": format!("msg_{label}"),
        "type": "message",
        "role": "assistant",
        "model": request.body["model"],
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": usage(1),
    });
    if request.body["stream"] == true {
        return Answer::events(stream(&message, &blocks, reason, &usage(written)));
    }
    message["content"] = blocks.into();
    message["stop_reason"] = reason.into();
    message["usage"] = usage(written);
    Answer::json(200, &message)
}

fn stream(message: &Value, blocks: &[Value], reason: &str, usage: &Value) -> String {
    let mut events = event("message_start", json!({ "message": message }));
    for (index, block) in blocks.iter().enumerate() {
        let (empty, delta) = if block["type"] == "text" {
            let delta = json!({ "type": "text_delta", "text": block["text"] });
            (json!({ "type": "text", "text": "" }), delta)
        } else {
            // A tool's input arrives as the text of its JSON.
            let delta = json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() });
            let mut empty = block.clone();
            empty["input"] = json!({});
            (empty, delta)
        };
        events += &event("content_block_start", json!({ "index": index, "content_block": empty }));
        events += &event("content_block_delta", json!({ "index": index, "delta": delta }));
        events += &event("content_block_stop", json!({ "index": index }));
    }
    let delta = json!({ "stop_reason": reason, "stop_sequence": null });
    events += &event("message_delta", json!({ "delta": delta, "usage": usage }));
    events += &event("message_stop", json!({}));
    events
}

pub(super) fn fail(status: u16, message: &str) -> Answer {
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    };
    Answer::json(status, &json!({ "type": "error", "error": { "type": kind, "message": message } }))
}
