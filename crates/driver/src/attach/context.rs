//! What is typed into an agent's terminal.

use engine::{CheckResult, Run};
use project::{Current, Workspace};

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

/// What an agent is told that begins.
pub(super) fn first(workspace: &mut Workspace, current: &Current) -> Result<String, DriveError> {
    let issue = Issue::read(workspace, &current.run)?;
    let number = current.run.issue.as_deref().unwrap_or_default();
    Ok(format!("Implement issue #{number}.\n\n{}\n\n{PROTOCOL}", fenced(&issue.text())?))
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
    for words in led_here(&current.run)? {
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
pub(super) fn came_back(current: &Current) -> Result<String, DriveError> {
    let said = led_here(&current.run)?;
    let what = if said.is_empty() { "Continue with the issue.".to_owned() } else { said.join("\n\n") };
    Ok(format!("{what}\n\nThen write PHASE:awaiting_ci to $PHASE_FILE again."))
}

/// Returns what the newest results say that the work has to take in.
fn led_here(run: &Run) -> Result<Vec<String>, DriveError> {
    let (facts, pull) = (&run.facts.issue, &run.facts.issue.pull);
    let mut said = Vec::new();
    match &pull.checks {
        Some(CheckResult::Failed(text)) => {
            said.push(format!("CI failed. Fix the code, and do not weaken tests.\n\n{}", words(text)?));
        }
        Some(CheckResult::Passed) => said.push("CI passed.".to_owned()),
        None => {}
    }
    if let Some(review) = &pull.review {
        said.push(format!("A reviewer wants changes:\n\n{}", words(review)?));
    }
    if let Some(conflict) = &pull.conflict {
        said.push(format!("The merge did not go through:\n\n{}", words(conflict)?));
    }
    said.extend(facts.answer.iter().map(|note| format!("A person answers: {note}")));
    said.extend(run.told.iter().map(|text| format!("A person says: {text}")));
    Ok(said)
}

/// Returns the end of a text, where what has gone wrong is named.
fn words(text: &str) -> Result<String, DriveError> {
    let skip = text.chars().count().saturating_sub(LONGEST_WORDS);
    fenced(&text.chars().skip(skip).collect::<String>())
}
