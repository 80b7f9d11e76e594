//! A schema as OpenAI's models are held to it.
//!
//! There every object is closed and every field required, so a field that may be left out becomes one that may be null;
//! the nulls are taken out of the answer again. An object of any fields cannot be said that way: it is asked for as JSON in
//! a text, and read again.

use serde_json::{Map, Value, json};

/// What is left out, because it is refused; the answer is checked against it all the same.
const LEFT_OUT: [&str; 3] = ["minLength", "maxLength", "$schema"];

/// Returns the schema in that form, if there is one.
pub(super) fn schema(schema: &Value) -> Option<Value> {
    let mut strict: Map<String, Value> = schema.as_object()?.clone();
    for name in LEFT_OUT {
        strict.remove(name);
    }
    if is_open(schema) {
        strict.insert("type".to_owned(), json!("string"));
    } else if schema.get("type")? == "object" {
        let known = schema.get("properties")?.as_object().filter(|known| !known.is_empty())?;
        let each = known.iter().map(|(name, field)| {
            let field = self::schema(field)?;
            Some((name.clone(), if is_required(schema, name) { field } else { or_null(field) }))
        });
        let fields: Map<String, Value> = each.collect::<Option<_>>()?;
        strict.insert("required".to_owned(), fields.keys().cloned().collect());
        strict.insert("properties".to_owned(), Value::Object(fields));
        strict.insert("additionalProperties".to_owned(), json!(false));
    } else if schema["type"] == "array" {
        strict.insert("items".to_owned(), self::schema(schema.get("items")?)?);
    }
    Some(Value::Object(strict))
}

/// Takes those nulls out of an answer that only say that a field was left out.
pub(super) fn without_nulls(schema: &Value, answer: Value) -> Value {
    match answer {
        Value::Object(fields) => {
            let stays = |(name, value): &(String, Value)| !value.is_null() || is_required(schema, name);
            let each = fields.into_iter().filter(stays).map(|(name, value)| {
                let value = without_nulls(&schema["properties"][&name], value);
                (name, value)
            });
            Value::Object(each.collect())
        }
        Value::Array(items) => {
            Value::Array(items.into_iter().map(|item| without_nulls(&schema["items"], item)).collect())
        }
        Value::String(text) if is_open(schema) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => answer,
    }
}

/// Tells whether an object may have any fields.
fn is_open(schema: &Value) -> bool {
    schema.get("type").is_some_and(|named| named == "object") && schema.get("properties").is_none()
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|required| required.iter().any(|required| required == name))
}

fn or_null(mut schema: Value) -> Value {
    let named = schema["type"].take();
    let mut types = named.as_array().cloned().unwrap_or_else(|| vec![named]);
    types.push(json!("null"));
    schema["type"] = types.into();
    if let Some(Value::Array(allowed)) = schema.get_mut("enum") {
        allowed.push(Value::Null);
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_left_out_may_be_null_and_comes_back_as_left_out() {
        let wanted = json!({
            "type": "object",
            "required": ["summary"],
            "properties": {
                "summary": { "type": "string", "maxLength": 10 },
                "kind": { "type": "string", "enum": ["a", "b"] },
                "notes": { "type": "array", "items": {
                    "type": "object",
                    "required": ["title"],
                    "properties": { "title": { "type": "string" }, "line": { "type": "integer" } },
                } },
            },
        });
        let strict = schema(&wanted).unwrap();
        let note = json!({
            "type": "object",
            "required": ["title", "line"],
            "properties": { "title": { "type": "string" }, "line": { "type": ["integer", "null"] } },
            "additionalProperties": false,
        });
        let expected = json!({
            "type": "object",
            "required": ["summary", "kind", "notes"],
            "properties": {
                "summary": { "type": "string" },
                "kind": { "type": ["string", "null"], "enum": ["a", "b", null] },
                "notes": { "type": ["array", "null"], "items": note },
            },
            "additionalProperties": false,
        });
        assert_eq!(strict, expected);
        let answer = json!({ "summary": null, "kind": null, "notes": [{ "title": "t", "line": null }] });
        assert_eq!(without_nulls(&wanted, answer), json!({ "summary": null, "notes": [{ "title": "t" }] }));
    }

    #[test]
    fn an_object_of_any_fields_is_a_text() {
        let open = json!({ "type": "object", "properties": { "data": { "type": "object" } } });
        assert_eq!(schema(&open).unwrap()["properties"]["data"], json!({ "type": ["string", "null"] }));
        let answer = json!({ "data": "{\"a\":1}" });
        assert_eq!(without_nulls(&open, answer), json!({ "data": { "a": 1 } }));
        assert_eq!(schema(&json!({ "type": "array" })), None);
        assert_eq!(schema(&json!(true)), None);
    }
}
