//! What a reviewer is asked to answer, and how its answer is read.
//!
//! The schema, the example and the words are data for whoever asks. Other words for a severity or a verdict are read as
//! what they mean before the answer is checked; what is wrong beyond the schema, `faults` says.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Finding, FollowUp, Known, Severity, Status, Verdict};

/// The most findings of one answer.
pub const MOST_FINDINGS: usize = 40;
/// The longest description of a finding or a follow-up, in characters.
const LONGEST: usize = 600;
/// The longest reason for a verdict, in characters.
const LONGEST_REASON: usize = 1000;
/// The longest title, in characters.
const LONGEST_TITLE: usize = 120;
/// The longest location, in characters.
const LONGEST_LOCATION: usize = 300;

/// Other words for severities.
const SEVERITIES: [(&str, &str); 16] = [
    ("critical", "bug"),
    ("blocker", "bug"),
    ("error", "bug"),
    ("high", "bug"),
    ("p0", "bug"),
    ("p1", "bug"),
    ("major", "warning"),
    ("medium", "warning"),
    ("warn", "warning"),
    ("minor", "nit"),
    ("low", "nit"),
    ("style", "nit"),
    ("suggestion", "nit"),
    ("note", "info"),
    ("question", "info"),
    ("praise", "info"),
];
/// Other words for verdicts; those of doubt are no approval.
const VERDICTS: [(&str, &str); 6] = [
    ("approved", "APPROVE"),
    ("changes_requested", "REQUEST_CHANGES"),
    ("needs_changes", "REQUEST_CHANGES"),
    ("reject", "REQUEST_CHANGES"),
    ("rejected", "REQUEST_CHANGES"),
    ("comment", "DISCUSS"),
];
/// Other words for what became of a finding.
const STATUSES: [(&str, &str); 5] = [
    ("resolved", "fixed"),
    ("done", "fixed"),
    ("open", "not_fixed"),
    ("unfixed", "not_fixed"),
    ("partially_fixed", "partial"),
];

/// What was said about an earlier finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Earlier {
    pub id: String,
    pub status: Status,
    pub explanation: String,
}

/// A reviewer's answer about one part of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub findings: Vec<Finding>,
    /// What became of earlier findings; only from the second round on.
    pub earlier: Vec<Earlier>,
    pub follow_ups: Vec<FollowUp>,
    pub verdict: Verdict,
    pub reason: String,
}

/// Returns the schema of an answer. From the second round on (`is_again`) it tells of earlier findings too.
pub fn schema(is_again: bool) -> Value {
    let text = |most: usize| json!({ "type": "string", "minLength": 1, "maxLength": most });
    let list = |items: Value| json!({ "type": "array", "maxItems": MOST_FINDINGS, "items": items });
    let finding = json!({
        "type": "object",
        "required": ["severity", "location", "description"],
        "properties": {
            "severity": { "type": "string", "enum": Severity::ALL.map(Severity::word) },
            "location": text(LONGEST_LOCATION),
            "description": text(LONGEST),
        },
    });
    let follow_up = json!({
        "type": "object",
        "required": ["title"],
        "properties": { "title": text(LONGEST_TITLE), "details": { "type": "string", "maxLength": LONGEST } },
    });
    let verdict = json!({ "type": "string", "enum": ["APPROVE", "REQUEST_CHANGES", "DISCUSS"] });
    let mut properties = json!({
        "followups": list(follow_up),
        "verdict": verdict,
        "verdict_reason": text(LONGEST_REASON),
    });
    if !is_again {
        let section = json!({
            "type": "object",
            "required": ["findings"],
            "properties": { "title": { "type": "string" }, "findings": list(finding) },
        });
        properties["sections"] = list(section);
        return json!({
            "type": "object", "required": ["sections", "verdict", "verdict_reason"], "properties": properties,
        });
    }
    let earlier = json!({
        "type": "object",
        "required": ["id", "status"],
        "properties": {
            "id": text(LONGEST_TITLE),
            "status": { "type": "string", "enum": ["fixed", "not_fixed", "partial"] },
            "explanation": { "type": "string", "maxLength": LONGEST },
        },
    });
    properties["previous_findings"] =
        json!({ "type": "array", "maxItems": 20 * MOST_FINDINGS, "items": earlier });
    properties["new_issues"] = list(finding);
    let required = ["previous_findings", "new_issues", "verdict", "verdict_reason"];
    json!({ "type": "object", "required": required, "properties": properties })
}

/// Returns the schema of every answer, without limits and without what is required: for clients that hold a model to one.
pub fn loose_schema() -> Value {
    let text = || json!({ "type": "string" });
    let list = |items: Value| json!({ "type": "array", "items": items });
    let object = |properties: Value| json!({ "type": "object", "properties": properties });
    let finding = || object(json!({ "severity": text(), "location": text(), "description": text() }));
    let section = object(json!({ "title": text(), "findings": list(finding()) }));
    object(json!({
        "sections": list(section),
        "previous_findings":
            list(object(json!({ "id": text(), "status": text(), "explanation": text() }))),
        "new_issues": list(finding()),
        "followups": list(object(json!({ "title": text(), "details": text() }))),
        "verdict": text(),
        "verdict_reason": text(),
    }))
}

/// Returns an example of an answer.
pub fn example(is_again: bool) -> Value {
    let finding = json!({ "severity": "bug", "location": "src/a.rs:12", "description": "…" });
    let follow_ups = json!([{ "title": "…", "details": "…" }]);
    if is_again {
        return json!({
            "previous_findings": [{ "id": "F1", "status": "fixed", "explanation": "…" }],
            "new_issues": [finding],
            "followups": follow_ups,
            "verdict": "REQUEST_CHANGES",
            "verdict_reason": "…",
        });
    }
    json!({
        "sections": [{ "title": "Correctness", "findings": [finding] }],
        "followups": follow_ups,
        "verdict": "REQUEST_CHANGES",
        "verdict_reason": "…",
    })
}

/// Says what the example does not show.
pub fn words(is_again: bool) -> &'static str {
    if is_again {
        "Each earlier finding that is listed gets its `status`: `fixed`, `not_fixed` or `partial`. Severities: `bug`, `warning`, `nit`, \
         `info`. Verdicts: `APPROVE`, `REQUEST_CHANGES`, `DISCUSS`. Empty lists are good answers."
    } else {
        "Severities: `bug`, `warning`, `nit`, `info`. Verdicts: `APPROVE`, `REQUEST_CHANGES`, `DISCUSS`. Empty lists are good answers."
    }
}

/// Reads other words and shapes as what they plainly mean; says what was read otherwise.
pub fn lenient(mut answer: Value, is_again: bool) -> (Value, Vec<String>) {
    let mut said = Vec::new();
    let Some(fields) = answer.as_object_mut() else { return (answer, said) };
    for (name, meant) in
        [("follow_ups", "followups"), ("reason", "verdict_reason"), ("findings", "new_issues")]
    {
        if !fields.contains_key(meant)
            && let Some(value) = fields.remove(name)
        {
            fields.insert(meant.to_owned(), value);
        }
    }
    // One of the two lists of findings for the other.
    if is_again {
        if !fields.contains_key("new_issues")
            && let Some(sections) = fields.remove("sections")
        {
            let lists =
                sections.as_array().into_iter().flatten().filter_map(|one| one["findings"].as_array());
            let all: Vec<Value> = lists.flatten().cloned().collect();
            said.push("`sections` was read as `new_issues`".to_owned());
            fields.insert("new_issues".to_owned(), all.into());
        }
    } else if !fields.contains_key("sections")
        && let Some(issues) = fields.remove("new_issues")
    {
        said.push("the findings were read as one section".to_owned());
        fields.insert("sections".to_owned(), json!([{ "title": "Findings", "findings": issues }]));
    }
    read_word(fields.get_mut("verdict"), &VERDICTS, "verdict", &mut said);
    let earlier = fields.get_mut("previous_findings").and_then(Value::as_array_mut);
    for one in earlier.into_iter().flatten() {
        read_word(one.get_mut("status"), &STATUSES, "status", &mut said);
    }
    let mut read = |findings: Option<&mut Value>| {
        for finding in findings.and_then(Value::as_array_mut).into_iter().flatten() {
            read_word(finding.get_mut("severity"), &SEVERITIES, "severity", &mut said);
        }
    };
    read(fields.get_mut("new_issues"));
    for section in fields.get_mut("sections").and_then(Value::as_array_mut).into_iter().flatten() {
        read(section.get_mut("findings"));
    }
    (answer, said)
}

fn read_word(value: Option<&mut Value>, known: &[(&str, &str)], what: &str, said: &mut Vec<String>) {
    let Some(Value::String(word)) = value else { return };
    let plain = word.trim().to_lowercase().replace([' ', '-'], "_");
    if let Some((_, meant)) = known.iter().find(|(other, _)| *other == plain) {
        said.push(format!("`{what}` \"{word}\" was read as `{meant}`"));
        *word = (*meant).to_owned();
    } else {
        // Perhaps in another case, or with blanks: the schema says whether it is one.
        *word = if what == "verdict" { plain.to_uppercase() } else { plain };
    }
}

/// The wire form of an answer.
#[derive(Deserialize)]
struct Wire {
    #[serde(default)]
    sections: Vec<Section>,
    #[serde(default)]
    new_issues: Vec<WireFinding>,
    #[serde(default)]
    previous_findings: Vec<WireEarlier>,
    #[serde(default)]
    followups: Vec<WireFollowUp>,
    verdict: Verdict,
    verdict_reason: String,
}

#[derive(Deserialize)]
struct Section {
    findings: Vec<WireFinding>,
}

#[derive(Deserialize)]
struct WireFinding {
    severity: Severity,
    location: String,
    description: String,
}

#[derive(Deserialize)]
struct WireEarlier {
    id: String,
    status: Status,
    #[serde(default)]
    explanation: String,
}

#[derive(Deserialize)]
struct WireFollowUp {
    title: String,
    #[serde(default)]
    details: String,
}

impl Answer {
    /// Reads an answer that fits its schema.
    pub fn read(answer: &Value) -> Option<Self> {
        let wire = Wire::deserialize(answer).ok()?;
        let findings = wire.sections.into_iter().flat_map(|section| section.findings).chain(wire.new_issues);
        let findings = findings.map(|WireFinding { severity, location, description }| Finding {
            severity,
            location: one_line(&location),
            description: one_line(&description),
        });
        let earlier = wire.previous_findings.into_iter().map(|WireEarlier { id, status, explanation }| {
            Earlier { id: id.trim().to_owned(), status, explanation: one_line(&explanation) }
        });
        let follow_ups = wire
            .followups
            .into_iter()
            .map(|WireFollowUp { title, details }| FollowUp { title: one_line(&title), details });
        Some(Self {
            findings: findings.collect(),
            earlier: earlier.collect(),
            follow_ups: follow_ups.collect(),
            verdict: wire.verdict,
            reason: one_line(&wire.verdict_reason),
        })
    }

    /// Says what is wrong with an answer beside its form: `asked` are the earlier findings that it had to tell of.
    pub fn faults(&self, asked: &[&Known]) -> Vec<String> {
        let is_said = |known: &&&Known| self.earlier.iter().any(|earlier| earlier.id == known.id);
        let missing = asked.iter().filter(|known| !is_said(known));
        missing.map(|known| format!("answer.previous_findings: `{}` is missing", known.id)).collect()
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_its_findings_its_follow_ups_and_a_verdict() {
        let answer = Answer::read(&example(false)).unwrap();
        assert_eq!(
            answer,
            Answer {
                findings: vec![Finding {
                    severity: Severity::Bug,
                    location: "src/a.rs:12".to_owned(),
                    description: "…".to_owned(),
                }],
                earlier: Vec::new(),
                follow_ups: vec![FollowUp { title: "…".to_owned(), details: "…".to_owned() }],
                verdict: Verdict::RequestChanges,
                reason: "…".to_owned(),
            }
        );
        let again = Answer::read(&example(true)).unwrap();
        assert_eq!((again.findings.len(), again.earlier[0].status), (1, Status::Fixed));
        assert_eq!(Answer::read(&json!({ "verdict": "MAYBE", "verdict_reason": "x" })), None);
    }

    #[test]
    fn to_discuss_is_to_request_changes() {
        let answer = json!({ "sections": [], "verdict": "DISCUSS", "verdict_reason": "x" });
        assert_eq!(Answer::read(&answer).unwrap().verdict, Verdict::RequestChanges);
    }

    #[test]
    fn other_words_are_read_as_what_they_mean_and_said() {
        let answer = json!({
            "findings": [
                { "severity": "Critical", "location": "a:1", "description": "x" },
                { "severity": "WARNING", "location": "a:1", "description": "y" },
            ],
            "verdict": "changes requested",
            "reason": "z",
        });
        let (read, said) = lenient(answer, false);
        assert_eq!(
            read,
            json!({
                "sections": [{ "title": "Findings", "findings": [
                    { "severity": "bug", "location": "a:1", "description": "x" },
                    { "severity": "warning", "location": "a:1", "description": "y" },
                ] }],
                "verdict": "REQUEST_CHANGES",
                "verdict_reason": "z",
            })
        );
        assert_eq!(
            said,
            [
                "the findings were read as one section",
                "`verdict` \"changes requested\" was read as `REQUEST_CHANGES`",
                "`severity` \"Critical\" was read as `bug`",
            ]
        );
        let (again, _) = lenient(
            json!({
                "sections": [{ "findings": [{ "severity": "low", "location": "a", "description": "x" }] }],
                "previous_findings": [{ "id": "F1", "status": "Resolved" }],
                "verdict": "approve",
            }),
            true,
        );
        assert_eq!(again["new_issues"][0]["severity"], "nit");
        assert_eq!(again["previous_findings"][0]["status"], "fixed");
        assert_eq!(again["verdict"], "APPROVE");
    }

    #[test]
    fn an_answer_tells_of_every_earlier_finding() {
        let known = |id: &str| Known {
            id: id.to_owned(),
            severity: Severity::Bug,
            location: "a:1".to_owned(),
            description: "x".to_owned(),
            status: Status::New,
            is_placed: true,
        };
        let answer = Answer::read(&example(true)).unwrap();
        let (one, two) = (known("F1"), known("F2"));
        assert_eq!(answer.faults(&[&one]), Vec::<String>::new());
        assert_eq!(answer.faults(&[&one, &two]), ["answer.previous_findings: `F2` is missing"]);
    }

    #[test]
    fn the_loose_schema_has_the_fields_of_every_answer_and_asks_for_none() {
        let loose = loose_schema();
        for is_again in [false, true] {
            for name in schema(is_again)["properties"].as_object().unwrap().keys() {
                assert!(loose["properties"][name].is_object(), "{name}");
            }
        }
        let text = loose.to_string();
        assert!(!text.contains("required") && !text.contains("enum"), "{text}");
    }
}
