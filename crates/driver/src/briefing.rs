//! What an agent has to know who takes up work that another conversation began: what happened, from the journal, and
//! what lies in the tree, from git.

use std::sync::Arc;

use engine::{ANSWERED, Record, Run};
use project::{Current, Workspace};
use serde_json::Value;

use crate::{brief, driver::DriveError};

/// How many of the newest records of the issue are looked through for lines of history.
const LOOKED_THROUGH: usize = 300;
/// How many lines of history are told, and how long each may be.
const MOST_LINES: usize = 30;
const LONGEST_LINE: usize = 200;
/// The most that is shown of the change, in characters.
const LONGEST_CHANGE: usize = 20_000;

/// How a turn ended that never did.
const KILLED: &str = "warp was ended";

const UNCOMMITTED: &str = "What lies in the tree, not committed yet";

/// The turns of agents before the one that begins now.
pub(crate) struct Earlier {
    /// Whether an agent has worked on the issue. One whose turn never ended was killed with warp, and may have left something
    /// in the tree.
    pub(crate) has_worked: bool,
    /// How the last turn ended, if the agent did not come to its answer in it.
    pub(crate) cut_short: Option<String>,
}

/// Looks at the turns of a run's issue. The turn that begins now must not be recorded yet.
pub(crate) fn earlier(run: &Run) -> Earlier {
    let has_worked = run.facts.issue.has_worked;
    let how = run.facts.last_turn.as_deref().unwrap_or(KILLED);
    let cut_short = (has_worked && how != ANSWERED).then(|| how.to_owned());
    Earlier { has_worked, cut_short }
}

/// Returns the briefing.
pub(crate) fn of(workspace: &mut Workspace, current: &Current) -> Result<String, DriveError> {
    let of_issue = current.events().saturating_sub(current.run.facts.issue.began_after);
    let most = usize::try_from(of_issue).unwrap_or(usize::MAX).min(LOOKED_THROUGH);
    let records = workspace.newest_records(current, most)?;
    let mut text =
        "\n## Where the work stands\n\nAnother conversation has worked on this before you.\n".to_owned();
    part(&mut text, "Done so far", &done(&current.run));
    part(&mut text, "What happened", &history(&records));
    let (change, cut) = match workspace.place.git().change("HEAD", &["--patch"]) {
        Ok(change) => change,
        // Whoever goes on can look for themselves.
        Err(why) => {
            let words = format!("It could not be looked at: {why}");
            part(&mut text, UNCOMMITTED, &words);
            return Ok(text);
        }
    };
    let shown: String = change.chars().take(LONGEST_CHANGE).collect();
    if !shown.is_empty() {
        let more = if cut || shown.len() < change.len() {
            "\n(the rest is left out: `git diff` shows it)"
        } else {
            ""
        };
        let shown = brief::text::fence(&brief::mark(&current.run), &shown);
        part(&mut text, UNCOMMITTED, &format!("{shown}{more}"));
    }
    Ok(text)
}

fn part(text: &mut String, title: &str, body: &str) {
    if !body.is_empty() {
        text.push_str(&format!("\n### {title}\n\n{body}\n"));
    }
}

fn done(run: &Run) -> String {
    let chunk = |chunk: &engine::CompletedChunk| {
        let commit = chunk.commit.as_deref().map(|commit| format!(" as {commit}")).unwrap_or_default();
        format!("- chunk {} ({}){commit}", chunk.index, chunk.acs.join(", "))
    };
    run.completed_chunks.iter().map(chunk).collect::<Vec<_>>().join("\n")
}

fn history(records: &[Arc<Record>]) -> String {
    let lines: Vec<String> = records.iter().filter_map(|record| line(record)).collect();
    let skip = lines.len().saturating_sub(MOST_LINES);
    lines[skip..].join("\n")
}

/// Tells one record in a line, if it says something to whoever goes on.
fn line(record: &Record) -> Option<String> {
    let said = |field: &str| record.data.get(field).and_then(Value::as_str);
    let about = match record.event.as_str() {
        "turn_ended" => said("how"),
        "question_asked" => said("question"),
        "decision_answered" => said("option"),
        "chunk_deferred" | "suspended" => said("why"),
        _ if record.moves() => said("failure").or_else(|| said("summary")),
        _ => return None,
    };
    let about = about.and_then(|text| text.lines().map(str::trim).find(|line| !line.is_empty()));
    let line = match about {
        Some(about) => format!("- {} in `{}`: {about}", record.event, record.phase),
        None => format!("- {}, then `{}`", record.event, record.phase),
    };
    Some(line.chars().take(LONGEST_LINE).collect())
}
