//! Anthropic's Messages API: requests read, turns written, streamed or not.

use serde_json::{Value, json};

use super::{
    Call, Entry, Part, Request, Role, Usage,
    answer::{Answer, Marks, Speech, event, header, pieces},
    conversation::{content, items, text},
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

pub(super) fn render(request: &Request, marks: &Marks<'_>, speech: &Speech<'_>) -> Answer {
    let (blocks, reason) = match speech {
        Speech::Text(text) => (vec![json!({ "type": "text", "text": text })], "end_turn"),
        Speech::Calls(calls) => {
            let block = |(index, call): (usize, &Call)| {
                let id = format!("toolu_{}_{index}", marks.label);
                json!({ "type": "tool_use", "id": id, "name": call.tool, "input": call.input })
            };
            (calls.iter().enumerate().map(block).collect(), "tool_use")
        }
    };
    let used = marks.usage(request, &blocks);
    let mut message = json!({
        "id": format!("msg_{}", marks.label),
        "type": "message",
        "role": "assistant",
        "model": request.body["model"],
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        // What is read is known at once, what is written only at the end.
        "usage": usage(&Usage { output: 1, ..used }),
    });
    if request.body["stream"] == true {
        return Answer::events(stream(&message, &blocks, reason, &usage(&used)));
    }
    message["content"] = blocks.into();
    message["stop_reason"] = reason.into();
    message["usage"] = usage(&used);
    Answer::json(200, &message)
}

fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write,
            "ephemeral_1h_input_tokens": 0,
        },
        "output_tokens": usage.output,
        "service_tier": "standard",
    })
}

fn stream(message: &Value, blocks: &[Value], reason: &str, usage: &Value) -> Vec<String> {
    let mut events = vec![event("message_start", json!({ "message": message }))];
    for (index, block) in blocks.iter().enumerate() {
        let (empty, deltas) = match block["text"].as_str() {
            Some(text) => {
                let delta = |piece: &String| json!({ "type": "text_delta", "text": piece });
                (json!({ "type": "text", "text": "" }), pieces(text).iter().map(delta).collect())
            }
            None => {
                // A tool's input arrives as the text of its JSON.
                let delta = json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() });
                let mut empty = block.clone();
                empty["input"] = json!({});
                (empty, vec![delta])
            }
        };
        events.push(event("content_block_start", json!({ "index": index, "content_block": empty })));
        for delta in deltas {
            events.push(event("content_block_delta", json!({ "index": index, "delta": delta })));
        }
        events.push(event("content_block_stop", json!({ "index": index })));
    }
    let delta = json!({ "stop_reason": reason, "stop_sequence": null });
    events.push(event("message_delta", json!({ "delta": delta, "usage": usage })));
    events.push(event("message_stop", json!({})));
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

/// Returns the headers by which a subscription's limit is told.
pub(super) fn limit(resets_at: u64) -> Vec<(String, String)> {
    vec![
        header("anthropic-ratelimit-unified-status", "rejected"),
        header("anthropic-ratelimit-unified-reset", resets_at.to_string()),
        header("anthropic-ratelimit-unified-representative-claim", "five_hour"),
    ]
}
