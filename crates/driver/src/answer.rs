//! What an agent is asked to answer, as JSON by a schema, and what is made of it.

use project::tools;
use serde_json::{Map, Value, json};

/// A question that an agent has for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) kind: String,
    pub(crate) text: String,
    pub(crate) options: Vec<String>,
}

/// Returns the schema for an approach; criteria are asked for where the issue has none.
pub(crate) fn plan_schema(asks_for_criteria: bool) -> Value {
    let mut properties = tools::plan_properties();
    properties.insert("approach".to_owned(), json!({ "type": "string", "maxLength": 8000 }));
    if !asks_for_criteria {
        properties.remove("criteria");
        return answer_schema(&["approach"], properties);
    }
    properties["criteria"]["minItems"] = json!(1);
    answer_schema(&["approach", "criteria"], properties)
}

/// Returns the schema for a chunk's work.
pub(crate) fn code_schema() -> Value {
    answer_schema(&["summary"], tools::work_properties())
}

/// Returns the schema for a second look at an issue.
pub(crate) fn second_look_schema() -> Value {
    let text = |most: u64| json!({ "type": "string", "maxLength": most });
    let unmet = json!({ "type": "object", "required": ["ac", "why"], "properties": { "ac": text(100), "why": text(1000) } });
    let properties = json!({ "unmet": { "type": "array", "maxItems": 100, "items": unmet } });
    json!({ "type": "object", "required": ["unmet"], "properties": properties })
}

/// Reads the criteria that a second look has found unmet, each with why; nothing if the answer does not say.
pub(crate) fn unmet(answer: &Value) -> Option<Vec<String>> {
    let entries = answer.get("unmet")?.as_array()?.iter();
    entries
        .map(|entry| Some(format!("{}: {}", entry.get("ac")?.as_str()?, entry.get("why")?.as_str()?)))
        .collect()
}

fn answer_schema(required: &[&str], mut properties: Map<String, Value>) -> Value {
    properties.insert("question".to_owned(), tools::question_schema());
    json!({ "type": "object", "required": required, "properties": properties })
}

/// Returns the schema for a phase of any workflow: one of its events, with its data.
pub(crate) fn event_schema(events: &[&str]) -> Value {
    json!({
        "type": "object",
        "required": ["event"],
        "properties": {
            "event": { "type": "string", "enum": events },
            "data": { "type": "object" },
            "question": tools::question_schema(),
        },
    })
}

/// Returns the question in an answer, if the agent cannot go on without a person.
pub(crate) fn question(answer: &Value) -> Option<Question> {
    let question = answer.get("question").filter(|question| question.is_object())?;
    let word = |field: &str| question.get(field).and_then(Value::as_str).map(str::to_owned);
    let options = question.get("options").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut options: Vec<String> = options.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    if options.is_empty() {
        options = vec!["yes".to_owned(), "no".to_owned()];
    }
    Some(Question { kind: word("kind")?, text: word("text")?, options })
}

/// Returns an answer's fields as what comes with an event.
pub(crate) fn data(answer: &Value) -> Map<String, Value> {
    let mut fields = answer.as_object().cloned().unwrap_or_default();
    fields.remove("question");
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_without_options_is_a_yes_or_no() {
        let asked =
            question(&json!({ "question": { "kind": "scope", "text": "Also the server?" } })).unwrap();
        assert_eq!(asked.options, ["yes", "no"]);
        assert_eq!(question(&json!({ "question": null })), None);
        assert_eq!(question(&json!({ "summary": "done" })), None);
    }

    #[test]
    fn a_second_look_names_what_is_unmet_and_why() {
        let one = json!({ "unmet": [{ "ac": "AC-02", "why": "it is gone again" }] });
        assert_eq!(unmet(&one), Some(vec!["AC-02: it is gone again".to_owned()]));
        assert_eq!(unmet(&json!({ "unmet": [] })), Some(Vec::new()));
        for other in [json!({}), json!({ "unmet": "none" }), json!({ "unmet": [{ "ac": "AC-01" }] })] {
            assert_eq!(unmet(&other), None, "{other}");
        }
    }

    #[test]
    fn what_comes_with_an_event_is_the_answer_without_its_question() {
        let fields = data(&json!({ "summary": "done", "question": null }));
        assert_eq!(Value::from(fields), json!({ "summary": "done" }));
    }
}
