//! OpenAI's Chat Completions API: requests read, turns written, streamed or not.

use serde_json::{Value, json};

use super::{
    Call, Entry, Part, Request, Role, Usage,
    answer::{Answer, Marks, Speech, pieces},
    conversation::{content, items, text},
};

pub(super) fn entries(body: &Value) -> Vec<Entry> {
    items(&body["messages"]).iter().flat_map(of_message).collect()
}

fn of_message(message: &Value) -> Vec<Entry> {
    let role = match message["role"].as_str() {
        Some("assistant") => Role::Assistant,
        Some("system" | "developer") => Role::System,
        Some(_) | None => Role::User,
    };
    if message["role"] == "tool" {
        // Whether the tool failed is said in words only.
        let id = text(&message["tool_call_id"]).unwrap_or_default();
        let part = Part::Result { id, text: content(&message["content"]), failed: false };
        return vec![Entry { role, part }];
    }
    let calls = items(&message["tool_calls"]);
    let said = content(&message["content"]);
    // A message that only calls tools has no text, or an empty one.
    let said = (!said.is_empty() || calls.is_empty()).then_some(Part::Text(said));
    said.into_iter().chain(calls.iter().map(part)).map(|part| Entry { role, part }).collect()
}

fn part(call: &Value) -> Part {
    let arguments = text(&call["function"]["arguments"]).unwrap_or_default();
    Part::Call {
        id: text(&call["id"]).unwrap_or_default(),
        tool: text(&call["function"]["name"]).unwrap_or_default(),
        input: serde_json::from_str(&arguments).unwrap_or(Value::String(arguments)),
    }
}

pub(super) fn render(request: &Request, marks: &Marks<'_>, speech: &Speech<'_>) -> Answer {
    let (message, reason) = match speech {
        Speech::Text(text) => (json!({ "role": "assistant", "content": text }), "stop"),
        Speech::Calls(calls) => {
            let numbered = calls.iter().enumerate();
            let calls: Vec<Value> =
                numbered.map(|(index, call)| tool_call(call, marks.label, index)).collect();
            (json!({ "role": "assistant", "content": null, "tool_calls": calls }), "tool_calls")
        }
    };
    let usage = usage(&marks.usage(request, std::slice::from_ref(&message)));
    let mut answer = json!({
        "id": format!("chatcmpl-{}", marks.label),
        "object": "chat.completion",
        "created": 0,
        "model": request.body["model"],
    });
    if request.body["stream"] == true {
        answer["object"] = "chat.completion.chunk".into();
        let usage = (request.body["stream_options"]["include_usage"] == true).then_some(usage);
        return Answer::events(stream(&answer, &message, reason, usage));
    }
    answer["choices"] = json!([{ "index": 0, "message": message, "finish_reason": reason }]);
    answer["usage"] = usage;
    Answer::json(200, &answer)
}

fn tool_call(call: &Call, label: &str, index: usize) -> Value {
    json!({
        "id": format!("call_{label}_{index}"),
        "type": "function",
        "function": { "name": call.tool, "arguments": call.input.to_string() },
    })
}

/// Usage comes last and only if it was asked for, in a chunk without choices.
fn stream(frame: &Value, message: &Value, reason: &str, usage: Option<Value>) -> Vec<String> {
    let chunk = |choices: Value, usage: &Value| {
        let mut chunk = frame.clone();
        chunk["choices"] = choices;
        chunk["usage"] = usage.clone();
        format!("data: {chunk}\n\n")
    };
    let choice = |delta: Value, reason: Value| {
        chunk(json!([{ "index": 0, "delta": delta, "finish_reason": reason }]), &Value::Null)
    };
    let mut events = vec![choice(json!({ "role": "assistant", "content": "" }), Value::Null)];
    if let Some(text) = message["content"].as_str() {
        events.extend(pieces(text).iter().map(|piece| choice(json!({ "content": piece }), Value::Null)));
    }
    for (index, call) in items(&message["tool_calls"]).iter().enumerate() {
        // The name comes first and its arguments after it, as text.
        let mut first = call.clone();
        first["index"] = index.into();
        first["function"]["arguments"] = "".into();
        events.push(choice(json!({ "tool_calls": [first] }), Value::Null));
        let rest = json!({ "index": index, "function": { "arguments": call["function"]["arguments"] } });
        events.push(choice(json!({ "tool_calls": [rest] }), Value::Null));
    }
    events.push(choice(json!({}), reason.into()));
    events.extend(usage.map(|usage| chunk(json!([]), &usage)));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn usage(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.all_input(),
        "completion_tokens": usage.output,
        "total_tokens": usage.all_input() + usage.output,
        "prompt_tokens_details": { "cached_tokens": usage.cache_read },
        "completion_tokens_details": { "reasoning_tokens": 0 },
    })
}
