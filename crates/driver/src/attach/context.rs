//! What is typed into an agent's terminal.

use engine::Record;
use project::{Current, Workspace};
use serde_json::Value;

use super::sentinel::Sentinel;
use crate::{
    brief::{Issue, fenced},
    driver::DriveError,
};

const PROTOCOL: &str = include_str!("../../../../prompts/attach/protocol.md");

/// The most of a diff that is typed, in characters.
const LONGEST_DIFF: usize = 20_000;
/// The most that is typed of what checks or a reviewer said, in characters.
const LONGEST_WORDS: usize = 8_000;
/// How many of the newest records are looked through.
const LOOKED_THROUGH: usize = 300;

/// What an agent is told that begins.
pub(super) fn first(workspace: &mut Workspace, current: &Current) -> Result<String, DriveError> {
    let issue = Issue::read(workspace, &current.run)?;
    let number = current.run.issue.as_deref().unwrap_or_default();
    Ok(format!("Implement issue #{number}.\n\n{}\n\n{PROTOCOL}", issue.fenced()?))
}

/// What an agent is told that goes on where another has ended.
pub(super) fn recovery(
    workspace: &mut Workspace,
    current: &Current,
    last: Option<&Sentinel>,
) -> Result<String, DriveError> {
    let mut text = format!("{}\n## Where you are\n\n", first(workspace, current)?);
    text.push_str("This session was started again after a crash or a pause. Your changes are still there.\n");
    let last = last.map_or("none was written", |sentinel| sentinel.word.as_str());
    text.push_str(&format!("Last known phase: {last}\n"));
    for words in led_here(workspace, current)? {
        text.push_str(&format!("\n{words}\n"));
    }
    let git = workspace.place.git();
    let base = git.fork_of(&current.run.branches.merge_target).unwrap_or_else(|| "HEAD".to_owned());
    if let Ok((diff, _)) = git.change(&base, &[])
        && !diff.trim().is_empty()
    {
        let diff: String = diff.chars().take(LONGEST_DIFF).collect();
        text.push_str(&format!("\nWhat is changed so far:\n\n{}\n", fenced(&diff)?));
    }
    Ok(text)
}

/// What an agent is told whose work came back to it: what the checks, a reviewer or a person said.
pub(super) fn came_back(workspace: &mut Workspace, current: &Current) -> Result<String, DriveError> {
    let said = led_here(workspace, current)?;
    let what = if said.is_empty() { "Go on with the issue.".to_owned() } else { said.join("\n\n") };
    Ok(format!("{what}\n\nThen write PHASE:awaiting_ci to $PHASE_FILE again."))
}

/// Returns what the newest results say that the work has to take in.
fn led_here(workspace: &mut Workspace, current: &Current) -> Result<Vec<String>, DriveError> {
    let records = workspace.newest_records(current, LOOKED_THROUGH)?;
    let newest = |event: &str| records.iter().rev().find(|record| record.event == *event);
    let mut said = Vec::new();
    let is_newer = |record: &Record, than: &str| newest(than).is_none_or(|other| other.at <= record.at);
    if let Some(record) = newest("ci_failed").filter(|record| is_newer(record, "ci_passed")) {
        said.push(format!(
            "CI failed. Mend the code, and do not weaken tests.\n\n{}",
            words(record, "failure")?
        ));
    } else if newest("ci_passed").is_some() {
        said.push("CI passed.".to_owned());
    }
    if let Some(record) = newest("changes_requested") {
        said.push(format!("A reviewer wants changes:\n\n{}", words(record, "review")?));
    }
    if let Some(record) = newest("merge_conflicted") {
        said.push(format!("The merge did not go through:\n\n{}", words(record, "failure")?));
    }
    let answered = records.iter().rev().find(|record| record.event == *"answered");
    if let Some(record) = answered {
        let note = record.data.get("note").and_then(Value::as_str).unwrap_or("go on");
        said.push(format!("A person answers: {note}"));
    }
    let told = current.run.told.iter().map(|text| format!("A person says: {text}"));
    said.extend(told);
    Ok(said)
}

fn words(record: &Record, field: &str) -> Result<String, DriveError> {
    let text = record.data.get(field).and_then(Value::as_str).unwrap_or("nothing more was said");
    let skip = text.chars().count().saturating_sub(LONGEST_WORDS);
    fenced(&text.chars().skip(skip).collect::<String>())
}
