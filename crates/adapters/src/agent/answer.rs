//! The answer in what an agent says. Whether it fits what was asked is for the caller to see.

use serde_json::Value;

use super::NoAnswer;

/// How much of the end of a text is looked at, in bytes, and how many beginnings are tried.
const LOOKED_AT: usize = 1024 * 1024;
const MOST_TRIED: usize = 5_000;

/// Finds the answer in a text: the last object with a field that the schema knows, else the last one.
pub(super) fn find(text: &str, schema: &Value) -> Result<Value, NoAnswer> {
    let known = schema.get("properties").and_then(Value::as_object);
    let is_known = |object: &Value| {
        let fields = object.as_object().into_iter().flat_map(|fields| fields.keys());
        fields.into_iter().any(|field| known.is_some_and(|known| known.contains_key(field)))
    };
    let mut objects = objects(text);
    let last = objects.iter().rposition(is_known).or(objects.len().checked_sub(1));
    last.map(|last| objects.swap_remove(last)).ok_or(NoAnswer::NotJson)
}

/// Returns the last JSON object that stands in a text.
pub fn last_object(text: &str) -> Option<Value> {
    objects(text).pop()
}

fn objects(text: &str) -> Vec<Value> {
    let mut rest = &text[text.ceil_char_boundary(text.len().saturating_sub(LOOKED_AT))..];
    let mut found = Vec::new();
    for _ in 0..MOST_TRIED {
        let Some(start) = rest.find('{') else { break };
        rest = &rest[start..];
        // A value, and not only a look at one: that goes no deeper than 128 levels, so that no text can cost much.
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                rest = &rest[values.byte_offset()..];
                found.push(value);
            }
            Some(Err(_)) | None => rest = &rest[1..],
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_that_is_no_answer_does_not_hide_one() {
        let schema = json!({ "properties": { "summary": {} } });
        let text = r#"I wrote {"a":1}. {"summary":"done"} The file now has {"b":2}."#;
        assert_eq!(find(text, &schema).unwrap(), json!({ "summary": "done" }));
        assert_eq!(find("{\"b\":2}", &schema).unwrap(), json!({ "b": 2 }));
        assert!(matches!(find("done", &schema), Err(NoAnswer::NotJson)));
    }

    #[test]
    fn the_last_object_counts_and_one_within_another_does_not() {
        assert_eq!(
            last_object("first {\"a\":1} then {\"b\":{\"c\":2}} done"),
            Some(json!({ "b": { "c": 2 } }))
        );
        assert_eq!(
            last_object("```json\n{\"a\": [1, {\"x\": 2}]}\n```"),
            Some(json!({ "a": [1, { "x": 2 }] }))
        );
        assert_eq!(last_object("a { brace and {\"a\":1"), None);
        assert_eq!(last_object(""), None);
    }

    #[test]
    fn a_text_made_to_cost_much_is_given_up() {
        assert_eq!(last_object(&"{\"a\":".repeat(200_000)), None);
    }
}
