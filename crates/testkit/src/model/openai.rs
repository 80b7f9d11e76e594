//! OpenAI's Responses API: requests read, turns written, streamed or not.

use serde_json::{Value, json};

use super::{
    Answer, Call, Entry, Part, Request, Role, Speech,
    conversation::{content, items, text},
    event, tokens,
};

pub(super) fn entries(body: &Value) -> Vec<Entry> {
    let instructions = text(&body["instructions"]);
    let mut entries: Vec<Entry> =
        instructions.map(|text| Entry { role: Role::System, part: Part::Text(text) }).into_iter().collect();
    if let Some(text) = text(&body["input"]) {
        entries.push(Entry { role: Role::User, part: Part::Text(text) });
    }
    for item in items(&body["input"]) {
        add(&mut entries, item);
    }
    entries
}

fn add(entries: &mut Vec<Entry>, item: &Value) {
    let named = |name: &str| text(&item[name]).unwrap_or_default();
    let (role, part) = match item["type"].as_str() {
        Some("function_call") => {
            let arguments = named("arguments");
            let input = serde_json::from_str(&arguments).unwrap_or(Value::String(arguments));
            (Role::Assistant, Part::Call { id: named("call_id"), tool: named("name"), input })
        }
        Some("custom_tool_call") => {
            let input = item["input"].clone();
            (Role::Assistant, Part::Call { id: named("call_id"), tool: named("name"), input })
        }
        Some("function_call_output" | "custom_tool_call_output") => {
            // Whether the tool failed is said in words only.
            let text = content(&item["output"]);
            (Role::User, Part::Result { id: named("call_id"), text, failed: false })
        }
        Some("reasoning") => (Role::Assistant, Part::Other(item.clone())),
        Some("message") | None => {
            let role = match item["role"].as_str() {
                Some("assistant") => Role::Assistant,
                Some("system" | "developer") => Role::System,
                Some(_) | None => Role::User,
            };
            (role, Part::Text(content(&item["content"])))
        }
        Some(_) => (Role::User, Part::Other(item.clone())),
    };
    entries.push(Entry { role, part });
}

pub(super) fn render(request: &Request, label: &str, speech: &Speech<'_>) -> Answer {
    let items: Vec<Value> = match speech {
        Speech::Text(text) => vec![json!({
            "type": "message",
            "id": format!("msg_{label}"),
            "role": "assistant",
            "status": "completed",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }],
        })],
        Speech::Calls(calls) => {
            let numbered = calls.iter().enumerate();
            numbered.map(|(index, call)| item(call, &format!("{label}_{index}"))).collect()
        }
    };
    let read = tokens(&request.body.to_string());
    let written: usize = items.iter().map(|item| tokens(&item.to_string())).sum();
    let mut response = json!({
        "id": format!("resp_{label}"),
        "object": "response",
        "model": request.body["model"],
        "status": "in_progress",
        "output": [],
    });
    let mut events = event("response.created", json!({ "response": response }));
    for (index, item) in items.iter().enumerate() {
        events += &event("response.output_item.added", json!({ "output_index": index, "item": item }));
        events += &event("response.output_item.done", json!({ "output_index": index, "item": item }));
    }
    response["status"] = "completed".into();
    response["output"] = items.into();
    response["usage"] = json!({
        "input_tokens": read,
        "input_tokens_details": { "cached_tokens": 0 },
        "output_tokens": written,
        "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": read + written,
    });
    if request.body["stream"] != true {
        return Answer::json(200, &response);
    }
    events += &event("response.completed", json!({ "response": response }));
    Answer::events(events)
}

fn item(call: &Call, id: &str) -> Value {
    match &call.input {
        Value::String(input) => json!({
            "type": "custom_tool_call",
            "id": format!("ctc_{id}"),
            "call_id": format!("call_{id}"),
            "name": call.tool,
            "input": input,
            "status": "completed",
        }),
        input @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            json!({
                "type": "function_call",
                "id": format!("fc_{id}"),
                "call_id": format!("call_{id}"),
                "name": call.tool,
                "arguments": input.to_string(),
                "status": "completed",
            })
        }
    }
}

pub(super) fn fail(status: u16, message: &str) -> Answer {
    let kind = match status {
        401 => "authentication_error",
        429 => "rate_limit_exceeded",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    Answer::json(status, &json!({ "error": { "type": kind, "code": kind, "message": message } }))
}
