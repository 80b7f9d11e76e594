//! The progress file: what was tried and what came of it, for whoever carries a loop on.

use std::fmt::Write as _;

use crate::Run;

/// Where a loop keeps its progress, unless it was told otherwise.
pub const PROGRESS_FILE: &str = "docs/progress.md";

/// The sentence by which a progress file of warp's is known.
pub const PROGRESS_MARK: &str = "Written by warp; changes made here are written over.";

/// Writes a run's progress file: failed approaches, errors and checkpoints, the newest first.
///
/// It belongs at [`Artifacts::progress_file`](crate::Artifacts::progress_file); a run without one has nothing to
/// remember yet.
pub fn progress(run: &Run) -> String {
    let mut text = String::from("# Progress\n");
    let mut add = |part: String| text.push_str(&part);
    if let Some(feature) = &run.feature {
        add(format!("\n{}\n", one_line(feature)));
    }
    add(format!("\n{PROGRESS_MARK} Phase: `{}`.\n", run.phase));
    let failed: Vec<(&str, &str)> = run
        .checkpoints
        .iter()
        .rev()
        .flat_map(|checkpoint| {
            checkpoint.failed_approaches.iter().map(|tried| (checkpoint.phase.as_str(), tried.as_str()))
        })
        .collect();
    add("\n## What did not work\n\n".to_owned());
    if failed.is_empty() {
        add("Nothing so far.\n".to_owned());
    }
    for (phase, tried) in failed {
        add(format!("- {phase}: {}\n", one_line(tried)));
    }
    if !run.errors.is_empty() {
        add("\n## Errors\n\n".to_owned());
    }
    for error in run.errors.iter().rev() {
        let at = error.timestamp.to_seconds();
        add(format!(
            "- {at}, {}, iteration {}: {}\n",
            error.phase,
            error.iteration,
            one_line(&error.message)
        ));
    }
    add("\n## Checkpoints\n\n".to_owned());
    if run.checkpoints.is_empty() {
        add("None so far.\n".to_owned());
    }
    for checkpoint in run.checkpoints.iter().rev() {
        let at = checkpoint.timestamp.to_seconds();
        add(format!("- {at}, {}: {}\n", checkpoint.phase, one_line(&checkpoint.summary)));
    }
    text
}

/// Puts a text on one line, as an entry of a list has to be.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        let space = if line.is_empty() { "" } else { " " };
        write!(line, "{space}{word}").expect("writing to a string cannot fail");
    }
    line
}
