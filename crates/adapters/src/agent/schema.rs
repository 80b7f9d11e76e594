//! Where an answer does not fit its schema, every place at once: as much of JSON Schema as warp's own questions use.
//!
//! `type`, `required`, `properties`, `items`, `enum`, `minItems`, `maxItems`, `minLength`, `maxLength`, `minimum`,
//! `maximum` and `additionalProperties: false`. What else a schema says is for the agent to read.

use serde_json::{Map, Value};

/// The place where an answer violates the schema, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {why}")]
pub struct SchemaMismatch {
    /// The place, as in `answer.evidence[0].file`.
    pub place: String,
    pub why: String,
}

/// Returns every place where a value does not fit.
pub fn faults(schema: &Value, value: &Value) -> Vec<SchemaMismatch> {
    let mut found = Vec::new();
    look(schema, value, "answer", &mut found);
    found
}

fn look(schema: &Value, value: &Value, place: &str, found: &mut Vec<SchemaMismatch>) {
    let mut misfit = |why: String| found.push(SchemaMismatch { place: place.to_owned(), why });
    if let Some(wanted) = types(schema)
        && !wanted.iter().any(|wanted| is_of(value, wanted))
    {
        return misfit(format!("is not {}", wanted.join(" or ")));
    }
    if let Some(Value::Array(allowed)) = schema.get("enum")
        && !allowed.contains(value)
    {
        let allowed: Vec<String> = allowed.iter().map(Value::to_string).collect();
        return misfit(format!("is not one of {}", allowed.join(", ")));
    }
    match value {
        Value::Object(fields) => look_at_fields(schema, fields, place, found),
        Value::Array(items) => {
            within(schema, ["minItems", "maxItems"], items.len() as f64, place, found);
            let Some(each) = schema.get("items") else { return };
            for (index, item) in items.iter().enumerate() {
                look(each, item, &format!("{place}[{index}]"), found);
            }
        }
        Value::String(text) => {
            within(schema, ["minLength", "maxLength"], text.chars().count() as f64, place, found);
        }
        Value::Number(number) => {
            within(schema, ["minimum", "maximum"], number.as_f64().unwrap_or_default(), place, found);
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn look_at_fields(schema: &Value, fields: &Map<String, Value>, place: &str, found: &mut Vec<SchemaMismatch>) {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    for name in required.filter_map(Value::as_str).filter(|name| !fields.contains_key(*name)) {
        found.push(SchemaMismatch { place: format!("{place}.{name}"), why: "is missing".to_owned() });
    }
    let known = schema.get("properties").and_then(Value::as_object);
    let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    for (name, field) in fields {
        let place = format!("{place}.{name}");
        match known.and_then(|known| known.get(name)) {
            Some(schema) => look(schema, field, &place, found),
            None if is_closed => found.push(SchemaMismatch { place, why: "is not known".to_owned() }),
            None => {}
        }
    }
}

/// Checks a number, a length or a count against its limits.
fn within(schema: &Value, [least, most]: [&str; 2], size: f64, place: &str, found: &mut Vec<SchemaMismatch>) {
    let limit = |name: &str| schema.get(name).and_then(Value::as_f64);
    let what = match least {
        "minItems" => " entries",
        "minLength" => " characters",
        _ => "",
    };
    let why = match (limit(least), limit(most)) {
        (Some(least), _) if size < least => format!("has {size}{what}, at least {least} are wanted"),
        (_, Some(most)) if size > most => format!("has {size}{what}, at most {most} are allowed"),
        (_, _) => return,
    };
    found.push(SchemaMismatch { place: place.to_owned(), why });
}

fn types(schema: &Value) -> Option<Vec<&str>> {
    match schema.get("type")? {
        Value::String(name) => Some(vec![name]),
        Value::Array(names) => Some(names.iter().filter_map(Value::as_str).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn is_of(value: &Value, wanted: &str) -> bool {
    match value {
        Value::Null => wanted == "null",
        Value::Bool(_) => wanted == "boolean",
        Value::Number(number) => wanted == "number" || (wanted == "integer" && is_whole(number)),
        Value::String(_) => wanted == "string",
        Value::Array(_) => wanted == "array",
        Value::Object(_) => wanted == "object",
    }
}

fn is_whole(number: &serde_json::Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn says(schema: Value, answer: Value) -> String {
        let found: Vec<String> = faults(&schema, &answer).iter().map(SchemaMismatch::to_string).collect();
        if found.is_empty() { "fits".to_owned() } else { found.join("; ") }
    }

    #[test]
    fn a_misfit_is_named_by_its_place() {
        let schema = json!({
            "type": "object",
            "required": ["evidence"],
            "additionalProperties": false,
            "properties": {
                "evidence": { "type": "array", "minItems": 1, "maxItems": 2, "items": {
                    "type": "object", "required": ["file"],
                    "properties": { "file": { "type": "string", "maxLength": 4 }, "line": { "type": ["integer", "null"], "minimum": 1 } },
                } },
                "verdict": { "enum": ["yes", "no"] },
            },
        });
        let cases = [
            (json!([]), "answer: is not object"),
            (json!({}), "answer.evidence: is missing"),
            (json!({ "evidence": [] }), "answer.evidence: has 0 entries, at least 1 are wanted"),
            (json!({ "evidence": [{}] }), "answer.evidence[0].file: is missing"),
            (
                json!({ "evidence": [{ "file": "a.rs" }, { "file": "long.rs" }] }),
                "answer.evidence[1].file: has 7 characters, at most 4 are allowed",
            ),
            (
                json!({ "evidence": [{ "file": "a", "line": 1.5 }] }),
                "answer.evidence[0].line: is not integer or null",
            ),
            (
                json!({ "evidence": [{ "file": "a", "line": 0 }] }),
                "answer.evidence[0].line: has 0, at least 1 are wanted",
            ),
            (
                json!({ "evidence": [{ "file": "a" }], "verdict": "perhaps" }),
                r#"answer.verdict: is not one of "yes", "no""#,
            ),
            (json!({ "evidence": [{ "file": "a" }], "x": 1 }), "answer.x: is not known"),
            (
                json!({ "evidence": [{}, { "file": 1 }], "verdict": 2 }),
                r#"answer.evidence[0].file: is missing; answer.evidence[1].file: is not string; answer.verdict: is not one of "yes", "no""#,
            ),
            (json!({ "evidence": [{ "file": "a", "line": null, "more": 1 }], "verdict": "no" }), "fits"),
        ];
        for (answer, expected) in cases {
            assert_eq!(says(schema.clone(), answer), expected);
        }
    }

    #[test]
    fn an_empty_schema_takes_anything() {
        assert_eq!(says(json!({}), json!(null)), "fits");
    }
}
