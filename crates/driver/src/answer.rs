//! What an agent is asked to answer, and what is made of its answer.
//!
//! The brief shows an example. A client that holds its model to a schema gets one that is the same in every phase, so that
//! whatever a provider keeps of a conversation stays good. What a phase needs is checked here: slips are read as what they
//! mean and said, and everything else that is wrong is found at once.

use std::sync::LazyLock;

use adapters::agent::schema::faults;
use engine::EventName;
use project::tools;
use serde_json::{Map, Value, json};

/// Other words for the types of commits.
const TYPES: [(&str, &str); 9] = [
    ("feature", "feat"),
    ("bugfix", "fix"),
    ("hotfix", "fix"),
    ("bug", "fix"),
    ("doc", "docs"),
    ("documentation", "docs"),
    ("tests", "test"),
    ("refactoring", "refactor"),
    ("performance", "perf"),
];
/// Fields that an answer does without rather than be refused for them.
const OPTIONAL: [&str; 7] =
    ["commit", "lessons", "decisions", "deferred_bugs", "risks", "failed_approaches", "note"];
/// The longest title that is made of a note without one, in characters.
const LONGEST_TITLE: usize = 80;

/// A schema of every answer in every phase.
pub(crate) static ANY: LazyLock<Value> = LazyLock::new(any);

/// What an answer has to be in a phase.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    /// What it is checked against.
    pub(crate) schema: Value,
    /// An example, and what is to be said of its fields.
    pub(crate) words: String,
}

/// A question that an agent has for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) kind: String,
    pub(crate) text: String,
    pub(crate) options: Vec<String>,
    /// The option that the agent would take.
    pub(crate) default: Option<String>,
}

/// An answer as it was read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Read {
    pub(crate) value: Value,
    /// What was read as something else than it says.
    pub(crate) said: Vec<String>,
    pub(crate) faults: Vec<String>,
}

impl Form {
    fn new(schema: Value, example: &Value, words: &str) -> Self {
        Self { schema, words: in_words(std::slice::from_ref(example), words) }
    }

    /// Returns the form of an approach; criteria are asked for where the issue has none.
    pub(crate) fn plan(asks_for_criteria: bool) -> Self {
        let mut properties = tools::plan_properties();
        properties.insert("approach".to_owned(), json!({ "type": "string", "maxLength": 8000 }));
        let mut example = json!({
            "approach": "…",
            "decisions": [{ "title": "…", "text": "…" }],
        });
        if !asks_for_criteria {
            properties.remove("criteria");
            example["chunks"] = json!([["AC-01", "AC-02"], ["AC-03"]]);
            let words = "Leave out `chunks` to take the criteria in order.";
            return Self::new(answer_schema(&["approach"], properties), &example, words);
        }
        properties["criteria"]["minItems"] = json!(1);
        example["criteria"] = json!(["it greets by name", "an empty name is refused"]);
        let words = "The issue has no criteria: propose 1 to 10 short lines that a test or a look at the code can show to hold, and \
            nothing beyond the issue. They become AC-01, AC-02, … once a person confirms them.";
        Self::new(answer_schema(&["approach", "criteria"], properties), &example, words)
    }

    /// Returns the form of a chunk's work, or of the rework of a pull request, which needs no evidence.
    pub(crate) fn work(criteria: &[String], is_rework: bool) -> Self {
        let mut example = json!({ "summary": "…" });
        let optional = "Also, like `decisions`: `lessons`, `risks`, `deferred_bugs`.";
        let words = if is_rework {
            format!("`summary` says what you did about each requested change, or why not. {optional}")
        } else {
            let entries = criteria.iter().enumerate().map(|(index, criterion)| match index % 2 {
                0 => json!({ "ac": criterion, "file": "src/a.rs", "line": 12 }),
                _ => json!({ "ac": criterion, "test": "its name" }),
            });
            example["evidence"] = entries.take(2).collect();
            format!(
                "`evidence`, for each criterion: a line that you changed in this chunk, numbered as it is now, or a `test` that passes. {optional}"
            )
        };
        example["commit"] = json!({ "type": "feat", "scope": "cli", "subject": "…" });
        example["decisions"] = json!([{ "title": "…", "text": "…" }]);
        Self::new(answer_schema(&[], tools::work_properties()), &example, &words)
    }

    /// Returns the form of a second look at an issue.
    pub(crate) fn second_look() -> Self {
        let text = |most: u64| json!({ "type": "string", "maxLength": most });
        let unmet = json!({ "type": "object", "required": ["ac", "why"], "properties": { "ac": text(100), "why": text(1000) } });
        let properties = json!({ "unmet": { "type": "array", "maxItems": 100, "items": unmet } });
        let schema = json!({ "type": "object", "required": ["unmet"], "properties": properties });
        let example = json!({ "unmet": [{ "ac": "AC-02", "why": "…" }] });
        Self::new(schema, &example, "An empty list says that every criterion is met.")
    }

    /// Returns the form for a phase of any workflow: one of its events, with its data. `guide` may show what comes with them.
    pub(crate) fn event(events: &[EventName], asking: Option<&EventName>, guide: &str) -> Self {
        let names: Vec<&str> = events.iter().map(EventName::as_str).collect();
        let schema = json!({
            "type": "object",
            "required": ["event"],
            "properties": {
                "event": { "type": "string", "enum": names },
                "data": { "type": "object" },
                "question": tools::question_schema(),
            },
        });
        let examples: Vec<Value> = events
            .iter()
            .filter(|event| Some(*event) != asking)
            .map(|event| example_of(event, guide))
            .collect();
        Self { schema, words: in_words(&examples, "") }
    }

    /// Returns a form of these properties.
    pub(crate) fn of(
        required: &[&str],
        properties: Map<String, Value>,
        example: &Value,
        words: &str,
    ) -> Self {
        Self::new(answer_schema(required, properties), example, words)
    }

    /// Reads an answer: what is only a slip is mended, and all that is wrong with the rest is found.
    pub(crate) fn read(&self, answer: Value) -> Read {
        let mut read = Read::default();
        let question = answer.get("question").filter(|question| question.is_object()).cloned();
        let asked = question.zip(self.schema.pointer("/properties/question"));
        if let Some((question, schema)) = asked {
            let question = fit(schema, question, "question", &mut read.said);
            read.faults = faults(schema, &question)
                .iter()
                .map(|fault| fault.to_string().replacen("answer", "question", 1))
                .collect();
            read.value = json!({ "question": question });
            return read;
        }
        let mut value = fit(&self.schema, answer, "", &mut read.said);
        if let (Some(fields), Some(known)) = (value.as_object_mut(), self.schema["properties"].as_object()) {
            for name in OPTIONAL {
                let (Some(field), Some(schema)) = (fields.get(name), known.get(name)) else { continue };
                if let Some(fault) = faults(schema, field).first() {
                    let fault = fault.to_string().replacen("answer", name, 1);
                    read.said.push(format!("`{name}` was left out: {fault}"));
                    fields.remove(name);
                }
            }
        }
        read.faults = faults(&self.schema, &value).iter().map(ToString::to_string).collect();
        read.faults.extend(evidence_without_proof(&value));
        read.value = value;
        read
    }
}

/// Returns the words of a form: examples of the answer first.
pub(crate) fn in_words(examples: &[Value], words: &str) -> String {
    let examples: Vec<String> = examples.iter().map(Value::to_string).collect();
    let which = if examples.len() == 1 { "like this" } else { "like one of these" };
    format!("Answer with one JSON object, {which}:\n\n{}\n\n{words}", examples.join("\n"))
}

/// Returns what an answer with an event looks like: as the guide to its phase says it, or with its name alone.
fn example_of(event: &EventName, guide: &str) -> Value {
    let shown = guide.lines().find_map(|line| {
        let (said, data) = line.split_once(" --data '")?;
        let data = data.strip_suffix('\'').filter(|_| said.ends_with(&format!(" {event}")))?;
        serde_json::from_str::<Map<String, Value>>(data).ok()
    });
    let mut example = Map::from_iter([("event".to_owned(), json!(event))]);
    if let Some(data) = shown {
        example.insert("data".to_owned(), data.into());
    }
    example.into()
}

/// Says which entries of evidence name neither a line nor a test.
fn evidence_without_proof(answer: &Value) -> Vec<String> {
    let entries = answer.get("evidence").and_then(Value::as_array).into_iter().flatten().enumerate();
    let is_proof = |entry: &Value| {
        let (file, line, test) = (entry.get("file"), entry.get("line"), entry.get("test"));
        file.is_some() == line.is_some() && (line.is_some() || test.is_some())
    };
    let without = entries.filter(|(_, entry)| entry.is_object() && !is_proof(entry));
    without
        .map(|(index, _)| format!("answer.evidence[{index}]: needs `file` and `line`, or `test`"))
        .collect()
}

/// Reads a value as what the schema wants, as far as it plainly means that; says what was read otherwise.
fn fit(schema: &Value, value: Value, place: &str, said: &mut Vec<String>) -> Value {
    let named = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    match (named, value) {
        ("object", Value::String(text)) => note_of(schema, &text).unwrap_or(Value::String(text)),
        ("object", Value::Object(fields)) => {
            let required = schema.get("required").and_then(Value::as_array);
            let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
            let mut fitted = Map::new();
            for (name, field) in fields {
                if field.is_null() && !is_required(&name) {
                    continue;
                }
                let place = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
                let field = match schema.pointer(&format!("/properties/{name}")) {
                    Some(schema) => fit(schema, field, &place, said),
                    None => field,
                };
                fitted.insert(name, field);
            }
            split_line(schema, &mut fitted);
            fitted.into()
        }
        ("array", Value::Array(items)) => {
            let each = schema.get("items").unwrap_or(&Value::Null);
            let items = items.into_iter().enumerate();
            items.map(|(index, item)| fit(each, item, &format!("{place}[{index}]"), said)).collect()
        }
        ("array", Value::Object(one)) => {
            said.push(format!("`{place}` was read as a list of one"));
            fit(schema, json!([one]), place, said)
        }
        ("integer", Value::String(text)) => {
            text.trim().parse::<u64>().map_or(Value::String(text), |number| json!(number))
        }
        ("string", Value::Number(number)) => fit(schema, json!(number.to_string()), place, said),
        ("string", Value::String(text)) => Value::String(fit_text(schema, text, place, said)),
        (_, value) => value,
    }
}

fn fit_text(schema: &Value, text: String, place: &str, said: &mut Vec<String>) -> String {
    if let Some(Value::Array(allowed)) = schema.get("enum") {
        let allowed = || allowed.iter().filter_map(Value::as_str);
        if allowed().any(|one| one == text) {
            return text;
        }
        let lower = text.trim().to_lowercase();
        let meant = TYPES.iter().find(|(other, _)| *other == lower).map(|(_, meant)| *meant);
        let meant = meant.filter(|meant| allowed().any(|one| one == *meant));
        if let Some(meant) = meant.or_else(|| allowed().find(|one| one.to_lowercase() == lower)) {
            said.push(format!("`{place}` \"{text}\" was read as `{meant}`"));
            return meant.to_owned();
        }
    }
    let most = schema.get("maxLength").and_then(Value::as_u64).and_then(|most| usize::try_from(most).ok());
    match most.and_then(|most| text.char_indices().nth(most)) {
        Some((end, _)) => {
            said.push(format!("`{place}` was cut to {} characters", most.unwrap_or_default()));
            text[..end].trim_end().to_owned()
        }
        None => text,
    }
}

/// Makes an object of a text where it plainly stands for one: a note, or the message of a commit.
fn note_of(schema: &Value, text: &str) -> Option<Value> {
    let has = |name: &str| schema.pointer(&format!("/properties/{name}")).is_some();
    if has("title") && has("text") {
        let first = text.lines().next().unwrap_or_default();
        let title: String = first.chars().take(LONGEST_TITLE).collect();
        return Some(json!({ "title": title, "text": text }));
    }
    let (head, subject) =
        text.lines().next().unwrap_or_default().split_once(": ").filter(|_| has("subject"))?;
    let (kind, scope) = match head.split_once('(') {
        Some((kind, scope)) => (kind, Some(scope.trim_end_matches([')', '!']))),
        None => (head.trim_end_matches('!'), None),
    };
    let mut commit = json!({ "type": kind, "subject": subject });
    if let Some(scope) = scope {
        commit["scope"] = json!(scope);
    }
    Some(fit(schema, commit, "commit", &mut Vec::new()))
}

/// Reads `src/a.rs:12` as a file and a line.
fn split_line(schema: &Value, fields: &mut Map<String, Value>) {
    let has_line = schema.pointer("/properties/line").is_some() && !fields.contains_key("line");
    let file = fields.get("file").and_then(Value::as_str).filter(|_| has_line);
    let Some((file, line)) = file.and_then(|file| file.rsplit_once(':')) else { return };
    if let Ok(line) = line.parse::<u64>() {
        let file = file.to_owned();
        fields.insert("file".to_owned(), json!(file));
        fields.insert("line".to_owned(), json!(line));
    }
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

/// Makes the schema of every answer: each field with its type, and nothing required.
fn any() -> Value {
    let text = || json!({ "type": "string" });
    let texts = || json!({ "type": "array", "items": text() });
    let mut properties = tools::work_properties();
    properties.extend(tools::plan_properties());
    for name in ["approach", "event", "artifact", "promise", "failure"] {
        properties.insert(name.to_owned(), text());
    }
    properties.insert("failed_approaches".to_owned(), texts());
    properties.insert("data".to_owned(), json!({ "type": "object" }));
    properties.insert("findings".to_owned(), json!({ "type": "array", "items": tools::finding_schema() }));
    properties.insert("unmet".to_owned(), Form::second_look().schema["properties"]["unmet"].clone());
    let count = || json!({ "type": "integer" });
    let counts = json!({ "passed": count(), "failed": count(), "errored": count() });
    properties.insert("run".to_owned(), json!({ "type": "object", "properties": counts }));
    properties.insert("question".to_owned(), tools::question_schema());
    bare(json!({ "type": "object", "properties": properties }))
}

/// Returns a schema without its limits and without what it requires.
fn bare(schema: Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let stays = |name: &str| ["type", "properties", "items"].contains(&name);
            let fields = fields.into_iter().filter(|(name, _)| stays(name));
            let each = fields.map(|(name, value)| match (name.as_str(), value) {
                ("properties", Value::Object(known)) => {
                    let known = known.into_iter().map(|(name, schema)| (name, bare(schema)));
                    (name, Value::Object(known.collect()))
                }
                ("items", items) => (name, bare(items)),
                (_, value) => (name, value),
            });
            Value::Object(each.collect())
        }
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            other
        }
    }
}

/// Returns the question in an answer, if the agent cannot continue without a person.
pub(crate) fn question(answer: &Value) -> Option<Question> {
    let question = answer.get("question").filter(|question| question.is_object())?;
    let word = |field: &str| question.get(field).and_then(Value::as_str).map(str::to_owned);
    let options = question.get("options").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut options: Vec<String> = options.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    if options.is_empty() {
        options = vec!["yes".to_owned(), "no".to_owned()];
    }
    let default = word("default").filter(|default| options.contains(default));
    Some(Question { kind: word("kind")?, text: word("text")?, options, default })
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

    fn read(answer: Value) -> (Value, Vec<String>, Vec<String>) {
        let Read { value, said, faults } = Form::work(&["AC-01".to_owned()], false).read(answer);
        (value, said, faults)
    }

    #[test]
    fn slips_are_read_as_what_they_mean_and_said() {
        let (value, said, faults) = read(json!({
            "summary": "done",
            "evidence": [{ "ac": "AC-01", "file": "src/a.rs:12" }, { "ac": "AC-02", "file": "b", "line": "3", "test": null }],
            "commit": { "type": "feature", "subject": "x".repeat(90) },
            "lessons": ["Order matters"],
            "risks": 7,
        }));
        assert_eq!(faults, Vec::<String>::new());
        assert_eq!(
            said,
            [
                "`commit.type` \"feature\" was read as `feat`",
                "`commit.subject` was cut to 80 characters",
                "`risks` was left out: risks: is not array",
            ]
        );
        assert_eq!(value["evidence"][0], json!({ "ac": "AC-01", "file": "src/a.rs", "line": 12 }));
        assert_eq!(value["evidence"][1], json!({ "ac": "AC-02", "file": "b", "line": 3 }));
        assert_eq!(value["lessons"], json!([{ "title": "Order matters", "text": "Order matters" }]));
        let (value, ..) = read(json!({ "commit": "feature(cli): greet" }));
        assert_eq!(value["commit"], json!({ "type": "feat", "scope": "cli", "subject": "greet" }));
    }

    #[test]
    fn every_fault_is_found_at_once() {
        let (_, _, faults) =
            read(json!({ "summary": [], "evidence": [{ "file": "a" }, { "ac": "AC-01", "line": "x" }] }));
        assert_eq!(
            faults,
            [
                "answer.summary: is not string",
                "answer.evidence[0].ac: is missing",
                "answer.evidence[1].line: is not integer",
                "answer.evidence[0]: needs `file` and `line`, or `test`",
                "answer.evidence[1]: needs `file` and `line`, or `test`",
            ]
        );
        let asked = read(json!({ "question": { "kind": "taste", "text": "May I?" } }));
        assert!(asked.2[0].starts_with("question.kind: is not one of"), "{asked:?}");
    }

    #[test]
    fn an_event_is_shown_with_what_the_guide_to_its_phase_says() {
        let events = ["approve".into(), "later".into(), "ask".into()];
        let guide = "warp state transition . approve --data '{\"feedback\":\"fits\"}'";
        let words = Form::event(&events, Some(&events[2]), guide).words;
        assert!(
            words.contains(
                "{\"event\":\"approve\",\"data\":{\"feedback\":\"fits\"}}\n{\"event\":\"later\"}\n"
            ),
            "{words}"
        );
        assert!(!words.contains("ask"), "{words}");
    }

    #[test]
    fn one_schema_has_the_fields_of_every_phase_and_asks_for_none() {
        let text = ANY.to_string();
        for absent in ["required", "enum", "maxLength"] {
            assert!(!text.contains(absent), "{text}");
        }
        for field in ["approach", "evidence", "unmet", "findings", "promise", "data", "question"] {
            assert!(ANY["properties"][field].is_object(), "{field}");
        }
        assert!(text.len() < 2500, "{} bytes", text.len());
    }

    #[test]
    fn a_question_without_options_is_a_yes_or_no() {
        let asked = question(
            &json!({ "question": { "kind": "scope", "text": "Also the server?", "default": "no" } }),
        )
        .unwrap();
        assert_eq!(
            (asked.options, asked.default.as_deref()),
            (vec!["yes".to_owned(), "no".to_owned()], Some("no"))
        );
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
