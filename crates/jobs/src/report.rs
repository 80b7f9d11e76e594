//! Texts about the work, and where they are filed: commit messages, chunk reports, summaries, what was learnt.

use std::collections::BTreeMap;

use engine::{Held, Objection, Run, one_line};
use forge::{ItemId, NewItem};
use project::rails::guard;
use serde_json::Value;

use crate::{Context, JobError};

/// The longest subject of a commit, in characters.
pub(crate) const LONGEST_SUBJECT: usize = 100;
/// The longest title of a report, in characters.
const LONGEST_TITLE: usize = 150;

impl Context<'_> {
    /// Files something that is only to be read again; it is closed at once, so that it is in nobody's way.
    pub(crate) fn file_away(
        &mut self,
        title: &str,
        body: String,
        labels: &[&str],
        marker: &str,
    ) -> Result<ItemId, JobError> {
        let new = NewItem { is_closed: true, ..titled(title, body, labels) };
        Ok(self.tracker().file(&new, Some(marker))?.id)
    }
}

pub(crate) fn titled(title: &str, body: String, labels: &[&str]) -> NewItem {
    let title: String = title.trim().chars().take(LONGEST_TITLE).collect();
    let title = if title.is_empty() { "Without a title".to_owned() } else { title };
    let labels = labels.iter().map(|label| (*label).to_owned()).collect();
    NewItem { title, body, labels, ..NewItem::default() }
}

/// Names a report, so that it is filed once.
pub(crate) fn key(run: &Run, name: &str) -> String {
    format!("{name}:{}:{}", run.id, run.issue.as_deref().unwrap_or_default())
}

/// Makes a commit message: as the agent proposes it if that has the form, else from the issue's title.
pub(crate) fn commit_message(title: Option<&str>, proposed: Option<&Value>, run: &Run) -> String {
    let issue = run.issue.as_deref().unwrap_or_default();
    let criteria = run.current_criteria();
    let subject = proposed.and_then(proposed_subject).unwrap_or_else(|| {
        let what = match title.or(run.feature.as_deref()) {
            Some(title) => one_line(title),
            None => format!("chunk {} of issue {issue}", run.chunk.index),
        };
        let labels = if criteria.is_empty() { String::new() } else { format!(" ({})", criteria.join(", ")) };
        let room = LONGEST_SUBJECT.saturating_sub(6 + labels.chars().count());
        let what: String = what.chars().take(room).collect();
        format!("feat: {}{labels}", what.trim_end())
    });
    let texts =
        criteria.iter().map(|criterion| format!("- {criterion}: {}\n", run.criterion_text(criterion)));
    let body: String = texts.collect();
    let closes = if issue.is_empty() { String::new() } else { format!("\nRefs #{issue}\n") };
    format!("{subject}\n\n{body}{closes}")
}

/// Returns the subject that an agent proposes, if it has the form of one.
pub(crate) fn proposed_subject(commit: &Value) -> Option<String> {
    let word = |field: &str| commit.get(field).and_then(Value::as_str).map(str::trim);
    let scope = word("scope").filter(|scope| !scope.is_empty()).map(|scope| format!("({scope})"));
    let subject = format!("{}{}: {}", word("type")?, scope.unwrap_or_default(), word("subject")?);
    guard::message::problem(&subject).is_none().then_some(subject)
}

/// Describes the whole session.
pub(crate) fn summary(run: &Run) -> String {
    let metrics = run.metrics;
    let mut text = format!(
        "Run {} of {}\n\nStarted: {}\nCommits: {}  Chunks: {}  Tests: {}  Reports: {}\n",
        run.id,
        run.workflow,
        run.started_at,
        metrics.commits,
        metrics.chunks_completed,
        metrics.tests_run,
        metrics.reports_filed
    );
    if let Some(issue) = &run.issue {
        text.push_str(&format!("Issue: #{issue}\n"));
    }
    if !run.usage.is_zero() {
        text.push_str(&format!("Used: {}\n", run.usage));
    }
    text.push_str(&chunks(run, &BTreeMap::new()));
    text
}

/// Describes what a pull request offers, with the criteria in words.
pub(crate) fn pull(run: &Run, criteria: &BTreeMap<String, String>) -> String {
    // A server closes the issue with the merge, so that is only said of work that leaves nothing open.
    let verb = if run.deferred.is_empty() { "Closes" } else { "For" };
    let about = run.issue.as_deref().map(|issue| format!("{verb} #{issue}.\n")).unwrap_or_default();
    let feature = run.feature.as_deref().filter(|feature| feature.trim().chars().count() > LONGEST_TITLE);
    let feature = feature.map(|feature| format!("{}\n", feature.trim())).unwrap_or_default();
    let tests = run.baseline.as_ref().map(|baseline| format!("\nTests before the work: {baseline}.\n"));
    format!("{about}{feature}{}{}{}", chunks(run, criteria), phases(run), tests.unwrap_or_default())
}

/// Makes a title of a feature, however much was said about it.
pub(crate) fn title_of(feature: &str) -> String {
    let line = feature.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_TITLE) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

/// Tells what the phases of a loop came to, and which were left by force or empty-handed.
fn phases(run: &Run) -> String {
    let mut text = String::new();
    if !run.checkpoints.is_empty() {
        text.push_str("\n## Phases\n\n");
    }
    for checkpoint in &run.checkpoints {
        let summary = checkpoint.summary.split_whitespace().collect::<Vec<_>>().join(" ");
        text.push_str(&format!("- {}: {summary}\n", checkpoint.phase));
    }
    let forced: Vec<&str> =
        run.receipts.iter().filter(|receipt| receipt.forced).map(|receipt| receipt.phase.as_str()).collect();
    if !forced.is_empty() {
        text.push_str(&format!("\nLeft by force, with nothing shown: {}\n", forced.join(", ")));
    }
    let empty: Vec<&str> = run.shown_nothing().into_iter().map(|phase| phase.as_str()).collect();
    if !empty.is_empty() {
        text.push_str(&format!("\nLeft with nothing shown: {}\n", empty.join(", ")));
    }
    text
}

fn chunks(run: &Run, criteria: &BTreeMap<String, String>) -> String {
    let mut text = String::new();
    if !run.completed_chunks.is_empty() {
        text.push_str("\n## Chunks\n\n");
    }
    for chunk in &run.completed_chunks {
        let commit = chunk.commit.as_deref().map(|commit| format!(" ({commit})")).unwrap_or_default();
        text.push_str(&format!("- {}{commit}\n", chunk.acs.join(", ")));
        for (name, words) in chunk.acs.iter().filter_map(|name| criteria.get_key_value(name)) {
            text.push_str(&format!("  - {name}: {words}\n"));
        }
    }
    if !run.deferred.is_empty() {
        text.push_str("\n## Skipped\n\n");
    }
    for chunk in &run.deferred {
        text.push_str(&format!("- {}: {}\n", chunk.acs.join(", "), chunk.why));
    }
    text.push_str(&checks(run.objections.iter()));
    text.push_str(&accepted(run));
    text
}

/// Names what the commit guard held and a person has accepted: removed and skipped tests first.
pub(crate) fn accepted(run: &Run) -> String {
    let (tests, others): (Vec<&Held>, Vec<&Held>) =
        run.accepted_held.iter().partition(|held| held.kind.is_about_tests());
    let part = |title: &str, held: &[&Held]| {
        let lines: String = held.iter().map(|held| format!("- {held}\n")).collect();
        if lines.is_empty() { lines } else { format!("\n## {title}\n\n{lines}") }
    };
    format!(
        "{}{}",
        part("Removed and skipped tests, accepted by a person", &tests),
        part("Held by the commit guard, accepted by a person", &others)
    )
}

/// Tells what advisory checks said against the work, and who has accepted it.
pub(crate) fn checks<'a>(objections: impl Iterator<Item = &'a Objection>) -> String {
    let said: String = objections.map(|objection| format!("- {objection}\n")).collect();
    if said.is_empty() { said } else { format!("\n## What checks said\n\n{said}") }
}
