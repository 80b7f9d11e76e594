//! What tools are given, as JSON by a schema. The final answer of an agent has the same fields.

use serde_json::{Map, Value, json};

use engine::MOST_CRITERIA;

use crate::criteria::LONGEST;

/// The kinds of commits that a message may begin with.
const COMMIT_TYPES: [&str; 10] =
    ["feat", "fix", "docs", "refactor", "test", "perf", "build", "ci", "style", "chore"];
/// The four things that a person decides, whatever the level, and what no change in the tree can fix.
const TRIGGERS: [&str; 5] = ["architecture", "ambiguity", "dependency", "scope", "blocked"];
/// How sure somebody is, or how much it matters.
const GRADES: [&str; 3] = ["HIGH", "MEDIUM", "LOW"];
/// The most steps that a plan may name.
const MOST_TODOS: usize = 25;

/// Returns what comes with a plan, beside its text.
pub fn plan_properties() -> Map<String, Value> {
    object(json!({
        "criteria": about(
            json!({ "type": "array", "maxItems": MOST_CRITERIA, "items": text(LONGEST) }),
            "Acceptance criteria, only for an issue that has none",
        ),
        "chunks": { "type": "array", "items": { "type": "array", "items": text(100) } },
        "decisions": notes(),
    }))
}

/// Returns what comes with a chunk's work.
pub fn work_properties() -> Map<String, Value> {
    object(json!({
        "summary": text(4000),
        "evidence": { "type": "array", "items": {
            "type": "object",
            "required": ["ac"],
            "properties": {
                "ac": text(100),
                "file": text(500),
                "line": { "type": "integer" },
                "test": text(200),
            },
        } },
        "commit": {
            "type": "object",
            "required": ["type", "subject"],
            "properties": {
                "type": { "type": "string", "enum": COMMIT_TYPES },
                "scope": text(40),
                "subject": text(80),
            },
        },
        "lessons": notes(),
        "decisions": notes(),
        "deferred_bugs": notes(),
        "risks": notes(),
    }))
}

/// Returns the schema of a question in a final answer.
pub fn question_schema() -> Value {
    json!({
        "type": "object",
        "required": ["kind", "text"],
        "properties": {
            "kind": { "type": "string", "enum": TRIGGERS },
            "text": text(2000),
            "options": options(),
            "default": text(60),
        },
    })
}

pub(super) fn plan() -> Map<String, Value> {
    let mut properties = object(json!({
        "plan": about(text(8000), "The approach, in as many words as it takes"),
        "confidence": grade(),
        "exploration_summary": text(4000),
        "risks": text(4000),
        "todos": { "type": "array", "items": text(500), "maxItems": MOST_TODOS },
    }));
    properties.extend(plan_properties());
    properties.insert("data".to_owned(), data());
    input(&["plan"], properties)
}

pub(super) fn question() -> Map<String, Value> {
    let properties = json!({
        "question": text(2000),
        "context": text(2000),
        "urgency": grade(),
        "kind": { "type": "string", "enum": TRIGGERS },
        "options": about(options(), "The answers to choose from; without any, yes or no"),
        "default": about(text(60), "The answer that you would take"),
    });
    input(&["question"], object(properties))
}

pub(super) fn completion() -> Map<String, Value> {
    let properties = json!({ "reason": text(4000), "evidence": text(4000), "confidence": grade() });
    input(&["reason", "evidence"], object(properties))
}

pub(super) fn done() -> Map<String, Value> {
    let mut properties = work_properties();
    let event =
        about(text(100), "Which end of the phase it is, where there are several: `status` names them");
    properties.insert("event".to_owned(), event);
    properties.insert("data".to_owned(), data());
    input(&["summary"], properties)
}

pub(super) fn finding() -> Map<String, Value> {
    input(&["severity", "text"], finding_properties())
}

/// Returns the schema of a finding in an agent's answer.
pub fn finding_schema() -> Value {
    json!({ "type": "object", "required": ["severity", "text"], "properties": finding_properties() })
}

fn finding_properties() -> Map<String, Value> {
    object(json!({
        "severity": {
            "type": "string",
            "enum": ["p1", "p2", "p3", "bug"],
            "description": "p1 or bug is wrong and forbids approval, p2 should be fixed, p3 is a remark",
        },
        "text": { "type": "string", "minLength": 1, "maxLength": 4000 },
        "file": text(500),
        "line": { "type": "integer", "minimum": 1 },
    }))
}

pub(super) fn nothing() -> Map<String, Value> {
    input(&[], Map::new())
}

fn input(required: &[&str], properties: Map<String, Value>) -> Map<String, Value> {
    object(json!({
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": false,
    }))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

fn about(mut schema: Value, words: &str) -> Value {
    schema["description"] = json!(words);
    schema
}

fn text(most: usize) -> Value {
    json!({ "type": "string", "maxLength": most })
}

fn data() -> Value {
    about(json!({ "type": "object" }), "What else comes with the event: a receipt, a verdict")
}

fn grade() -> Value {
    json!({ "type": "string", "enum": GRADES })
}

fn options() -> Value {
    json!({ "type": "array", "items": text(60) })
}

fn notes() -> Value {
    json!({ "type": "array", "items": {
        "type": "object",
        "required": ["title", "text"],
        "properties": { "title": text(200), "text": text(4000) },
    } })
}
