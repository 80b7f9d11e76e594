//! Texts about the work: commit messages, chunk reports, summaries.

use std::{fs, path::Path};

use engine::Run;

use super::NextError;
use crate::{atomic, probe};

/// The longest subject of a commit, in characters.
const LONGEST_SUBJECT: usize = 100;

/// Makes a commit message from the issue's title and the chunk.
pub(super) fn commit_message(root: &Path, run: &Run) -> String {
    let issue = run.issue.as_deref().unwrap_or_default();
    let title = fs::read_to_string(probe::issue_file(root, issue)).unwrap_or_default();
    let title = title.lines().find_map(|line| line.strip_prefix("# ")).map(str::trim).unwrap_or_default();
    let criteria = run.current_criteria();
    let what = match (title.is_empty(), run.feature.as_deref()) {
        (false, _) => title.to_owned(),
        (true, Some(feature)) => feature.to_owned(),
        (true, None) => format!("chunk {} of issue {issue}", run.chunk.index),
    };
    let labels = if criteria.is_empty() { String::new() } else { format!(" ({})", criteria.join(", ")) };
    let room = LONGEST_SUBJECT.saturating_sub(6 + labels.chars().count());
    let what: String = what.chars().take(room).collect();
    let subject = format!("feat: {}{labels}", what.trim_end());
    let texts =
        criteria.iter().map(|criterion| format!("- {criterion}: {}\n", run.criterion_text(criterion)));
    let body: String = texts.collect();
    let closes = if issue.is_empty() { String::new() } else { format!("\nRefs #{issue}\n") };
    format!("{subject}\n\n{body}{closes}")
}

/// Describes the chunk that was just committed.
pub(super) fn chunk(run: &Run) -> String {
    let total = run.chunk.acs.len();
    let mut text = format!("# Chunk {} of {total}, run {}\n\n", run.chunk.index, run.id);
    if let Some(issue) = &run.issue {
        text.push_str(&format!("Issue: {issue}\n"));
    }
    if let Some(commit) = run.commit_hashes.last() {
        text.push_str(&format!("Commit: {commit}\n"));
    }
    text.push_str("\n## Criteria\n\n");
    for criterion in run.current_criteria() {
        text.push_str(&format!("- {criterion}: {}\n", run.criterion_text(criterion)));
    }
    if !run.doom_loop_events.is_empty() {
        text.push_str("\n## Files that were edited again and again\n\n");
        for event in &run.doom_loop_events {
            text.push_str(&format!("- {} ({} times in {})\n", event.file, event.count, event.phase));
        }
    }
    text
}

/// Describes the whole session.
pub(super) fn summary(run: &Run) -> String {
    let metrics = run.metrics;
    let mut text = format!(
        "# Run {} of {}\n\nStarted: {}\nCommits: {}  Chunks: {}  Tests: {}  Reports: {}\n",
        run.id,
        run.workflow,
        run.started_at,
        metrics.commits,
        metrics.chunks_completed,
        metrics.tests_run,
        metrics.reports_filed
    );
    if !run.completed_chunks.is_empty() {
        text.push_str("\n## Chunks\n\n");
    }
    for chunk in &run.completed_chunks {
        let commit = chunk.commit.as_deref().map(|commit| format!(" ({commit})")).unwrap_or_default();
        text.push_str(&format!("- {}{commit}\n", chunk.acs.join(", ")));
    }
    text
}

/// Writes a report and returns where it is.
pub(super) fn file(own: &Path, run: &Run, name: &str, text: &str) -> Result<String, NextError> {
    let path = own.join("reports").join(run.id.as_str()).join(format!("{name}.md"));
    atomic::replace(&path, text).map_err(|error| NextError::World(format!("{}: {error}", path.display())))?;
    Ok(path.display().to_string())
}
