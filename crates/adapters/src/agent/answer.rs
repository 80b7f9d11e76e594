//! The answer in what an agent says: the last JSON object of a text, if it fits.

use serde_json::Value;

use super::{NoAnswer, Turn, schema};

/// How much of the end of a text is looked at, in bytes, and how many beginnings are tried.
const LOOKED_AT: usize = 1024 * 1024;
const MOST_TRIED: usize = 5_000;

/// Finds the answer in a text and checks it.
pub(super) fn find(text: &str, schema: &Value) -> Result<Value, NoAnswer> {
    checked(last_object(text).ok_or(NoAnswer::NotJson)?, schema)
}

/// Checks an answer. A question stands for all the rest, where one may be asked.
pub(super) fn checked(answer: Value, schema: &Value) -> Result<Value, NoAnswer> {
    let question = answer.get("question").filter(|question| question.is_object());
    let fits = match (question, schema.pointer("/properties/question")) {
        (Some(question), Some(schema)) => schema::check(schema, question),
        _ => schema::check(schema, &answer),
    };
    fits.map_err(NoAnswer::DoesNotFit)?;
    Ok(answer)
}

/// Says how to answer, for the end of a prompt.
pub(super) fn instruction(turn: &Turn<'_>) -> String {
    let how = "When you are done, answer with one JSON object and nothing after it.";
    match turn.knows_schema {
        true => format!("\n\n{how} It has to fit the same JSON Schema as before.\n"),
        false => format!("\n\n{how} It has to fit this JSON Schema:\n{:#}\n", turn.schema),
    }
}

/// Returns the last JSON object that stands in a text.
pub fn last_object(text: &str) -> Option<Value> {
    let mut rest = &text[text.ceil_char_boundary(text.len().saturating_sub(LOOKED_AT))..];
    let mut last = None;
    for _ in 0..MOST_TRIED {
        let Some(start) = rest.find('{') else { break };
        rest = &rest[start..];
        // A value, and not only a look at one: that goes no deeper than 128 levels, so that no text can cost much.
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                rest = &rest[values.byte_offset()..];
                last = Some(value);
            }
            Some(Err(_)) | None => rest = &rest[1..],
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_question_stands_for_all_the_rest() {
        let question = json!({ "type": "object", "required": ["text"] });
        let schema = json!({
            "type": "object", "required": ["summary"], "properties": { "question": question },
        });
        assert!(checked(json!({ "question": { "text": "May I?" } }), &schema).is_ok());
        assert!(checked(json!({ "question": {} }), &schema).is_err());
        assert!(checked(json!({ "question": null }), &schema).is_err());
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
