//! What earlier runs of an issue tell the next one: what they planned, tried, learnt, decided and were told.

use engine::{
    Record, Run, Workflow,
    workflow::{JobOutcome, Meaning},
};
use forge::ItemId;
use serde_json::Value;

use crate::{Error, Workspace};

/// How much of what a failed test printed is told to the next run, in characters.
const LONGEST_FAILURE: usize = 1500;
/// How much is told of earlier runs in all, in characters.
const LONGEST_EARLIER: usize = 8000;
/// How many characters of a commit's name are shown.
const HASH: usize = 10;

/// Tells what earlier runs of the run's issue have planned, tried, learnt, decided and were told.
pub(crate) fn earlier(workspace: &mut Workspace, run: &Run) -> Result<Option<String>, Error> {
    let Some(issue) = run.issue.as_deref().and_then(ItemId::typed) else { return Ok(None) };
    let mut parts = Vec::new();
    for stint in workspace.account(issue)?.stints.into_iter().filter(|stint| stint.run != run.id.as_str()) {
        let Some(current) = workspace.select(Some(&stint.run))? else { continue };
        let (from, to) = (stint.events.start, stint.events.end);
        let records = workspace.records(&current)?;
        let its = records.iter().enumerate().filter(|(seq, _)| (from..to).contains(&(*seq as u64)));
        let told = told(&current.workflow, &its.map(|(_, record)| record).collect::<Vec<_>>());
        let done = stint.chunks.iter().map(|chunk| {
            let commit =
                chunk.commit.as_deref().map(|commit| format!(" ({})", commit.get(..HASH).unwrap_or(commit)));
            format!("- done: {}{}", chunk.acs.join(", "), commit.unwrap_or_default())
        });
        let lines: Vec<String> = done.chain(told).collect();
        if !lines.is_empty() {
            parts.push(format!("Run {}:\n{}", stint.run, lines.join("\n")));
        }
    }
    let answers = workspace.late_answers(issue)?;
    if !answers.is_empty() {
        let lines: Vec<String> = answers.iter().map(|answer| format!("- decided: {answer}")).collect();
        parts.push(format!("A person has answered since:\n{}", lines.join("\n")));
    }
    // The newest matter most.
    let text = parts.join("\n\n");
    let skipped = text.chars().count().saturating_sub(LONGEST_EARLIER);
    let text: String = text.chars().skip(skipped).collect();
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}

/// Tells what matters of the records of an earlier run.
fn told(workflow: &Workflow, records: &[&Record]) -> Vec<String> {
    let mut lines = Vec::new();
    let text = |record: &Record, field: &str| {
        record
            .data
            .get(field)
            .and_then(Value::as_str)
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    let (mut tried, mut question) = (None, None);
    for record in records {
        let phase = record.from.as_ref().unwrap_or(&record.phase);
        match workflow.meaning(phase, record.event.as_str()) {
            Some(Meaning::Plan) => {
                lines.extend(text(record, "approach").map(|plan| format!("- its plan: {plan}")));
                lines.extend(notes(record));
            }
            Some(Meaning::Work) => {
                tried = text(record, "summary");
                lines.extend(notes(record));
            }
            Some(Meaning::Outcome(JobOutcome::TestsFailed | JobOutcome::DriftBlocked)) => {
                let tried = tried.take().map(|tried| format!("{tried} ")).unwrap_or_default();
                let failure = text(record, "failure").unwrap_or_default();
                // What fails, by name; the runner's output below that is of no use any more.
                let failure = failure.split("\n\n").next().unwrap_or_default();
                let failure: String = failure.chars().take(LONGEST_FAILURE).collect();
                lines.push(format!("- tried, and failed: {tried}{failure}"));
            }
            Some(Meaning::Outcome(_)) => {}
            None => match record.event.as_str() {
                "question_asked" => question = text(record, "question"),
                "told" => lines.extend(text(record, "text").map(|words| format!("- a person said: {words}"))),
                "decision_answered" => {
                    let (question, option) = (question.take(), text(record, "option"));
                    if let (Some(question), Some(option)) = (question, option) {
                        let note = text(record, "note").map(|note| format!(" ({note})")).unwrap_or_default();
                        lines.push(format!("- decided: {question} {option}{note}"));
                    }
                }
                _ => {}
            },
        }
    }
    lines
}

/// Tells the decisions, lessons and risks that came with a plan or with work, a line each.
fn notes(record: &Record) -> Vec<String> {
    let of = |field: &'static str| {
        let kind = field.trim_end_matches('s');
        let notes = record.data.get(field).and_then(Value::as_array).into_iter().flatten();
        notes.map(move |note| {
            let word = |name: &str| note.get(name).and_then(Value::as_str).unwrap_or_default();
            format!("- {kind}: {}: {}", word("title"), word("text"))
        })
    };
    ["lessons", "decisions", "risks"].into_iter().flat_map(of).collect()
}
