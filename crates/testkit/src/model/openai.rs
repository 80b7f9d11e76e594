//! OpenAI's Responses API: requests read, turns written, streamed or not.

use serde_json::{Value, json};

use super::{
    Call, Entry, Part, Request, Role,
    answer::{Answer, Marks, Speech, event, header, pieces},
    conversation::{content, items, text},
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

pub(super) fn render(request: &Request, marks: &Marks<'_>, speech: &Speech<'_>) -> Answer {
    let label = marks.label;
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
    let used = marks.usage(request, &items);
    let mut response = json!({
        "id": format!("resp_{label}"),
        "object": "response",
        "created_at": 0,
        "model": request.body["model"],
        "status": "in_progress",
        "output": [],
    });
    let mut events = vec![("response.created", json!({ "response": response }))];
    for (index, item) in items.iter().enumerate() {
        events.extend(of_item(index, item));
    }
    response["status"] = "completed".into();
    response["output"] = items.into();
    response["usage"] = json!({
        "input_tokens": used.all_input(),
        "input_tokens_details": { "cached_tokens": used.cache_read },
        "output_tokens": used.output,
        "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": used.all_input() + used.output,
    });
    if request.body["stream"] != true {
        return Answer::json(200, &response);
    }
    events.push(("response.completed", json!({ "response": response })));
    let numbered = events.into_iter().enumerate().map(|(number, (kind, mut data))| {
        data["sequence_number"] = number.into();
        event(kind, data)
    });
    Answer::events(numbered.collect())
}

/// Returns the events of an item of the output: its beginning, its text piece by piece, the whole of it.
fn of_item(index: usize, item: &Value) -> Vec<(&'static str, Value)> {
    let of_text = |mut fields: Value| {
        fields["item_id"] = item["id"].clone();
        fields["content_index"] = 0.into();
        fields
    };
    let mut begun = item.clone();
    begun["status"] = "in_progress".into();
    let mut events = Vec::new();
    if let Some(text) = item["content"][0]["text"].as_str() {
        begun["content"] = json!([]);
        let part = |text: &str| json!({ "part": { "type": "output_text", "text": text, "annotations": [] } });
        events.push(("response.content_part.added", of_text(part(""))));
        for piece in pieces(text) {
            events.push(("response.output_text.delta", of_text(json!({ "delta": piece }))));
        }
        events.push(("response.output_text.done", of_text(json!({ "text": text }))));
        events.push(("response.content_part.done", of_text(part(text))));
    }
    events.insert(0, ("response.output_item.added", json!({ "item": begun })));
    events.push(("response.output_item.done", json!({ "item": item })));
    for (_, fields) in &mut events {
        fields["output_index"] = index.into();
    }
    events
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

/// Returns the headers by which a limit is told.
pub(super) fn limit(retry_after: u64) -> Vec<(String, String)> {
    let kinds = ["requests", "tokens"];
    let each = kinds.map(|kind| {
        [
            header(&format!("x-ratelimit-remaining-{kind}"), "0"),
            header(&format!("x-ratelimit-reset-{kind}"), format!("{retry_after}s")),
        ]
    });
    each.into_iter().flatten().collect()
}
