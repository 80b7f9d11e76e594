//! Gates: checks that must be cleared before an event is accepted.
//!
//! What a gate can be sure of it refuses: nothing has changed, a command has failed. What it can only guess from words and
//! file names is a doubt: advice, or with a setting a refusal that a person may overrule.

use crate::{Boxes, CommandResult, Diff, Observations, Run, Seen, keys, workflow::SemanticGate};

/// The value of `diff_relevance` that makes doubts about a change refusals.
const ENFORCE: &str = "enforce";

/// What a gate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Cleared,
    /// Cleared because there was nothing to look at; worth a word.
    NotChecked(String),
    /// It may be wrong; a person can tell.
    Doubted(String),
    Refused(String),
}

/// Words that are in most criteria and tell nothing about a change.
const COMMON: &[&str] = &[
    "able", "about", "after", "also", "because", "been", "before", "being", "both", "could", "does", "each",
    "every", "from", "given", "have", "into", "must", "only", "other", "should", "shows", "some", "such",
    "than", "that", "their", "them", "then", "there", "these", "they", "this", "those", "user", "users",
    "what", "when", "where", "which", "will", "with", "work", "works", "would", "your",
];

/// File names and endings that are documentation, or are written by a package manager.
const DOC_ENDINGS: &[&str] = &[".md", ".mdx", ".rst", ".adoc"];
const LOCK_FILES: &[&str] = &[
    "Cargo.lock",
    "package-lock.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lockb",
    "poetry.lock",
    "uv.lock",
    "Gemfile.lock",
    "composer.lock",
    "go.sum",
    "flake.lock",
];

/// Judges a semantic gate by what was seen.
pub(crate) fn judge(gate: SemanticGate, run: &Run, observations: &Observations) -> Verdict {
    match gate {
        SemanticGate::DiffRelevanceCheck => match &observations.diff {
            Some(Seen::Value(diff)) => judge_diff(run, diff),
            Some(Seen::Absent(why)) => Verdict::NotChecked(format!("diff_relevance_check: {why}")),
            Some(Seen::Failed(why)) => Verdict::Refused(format!("the diff could not be read: {why}")),
            None => Verdict::Refused("the diff was not looked at".to_owned()),
        },
        SemanticGate::AcCountCheck => match &observations.boxes {
            Some(Seen::Value(boxes)) => judge_boxes(run, boxes),
            Some(Seen::Absent(why)) => Verdict::NotChecked(format!("ac_count_check: {why}")),
            Some(Seen::Failed(why)) => {
                Verdict::Refused(format!("the issue's criteria could not be read: {why}"))
            }
            None if run.issue.is_none() => {
                Verdict::NotChecked("ac_count_check: the run has no issue".to_owned())
            }
            None => Verdict::Refused("the issue's criteria were not looked at".to_owned()),
        },
    }
}

/// Tells whether a gate's doubts hold an event up until a person has accepted it.
pub(crate) fn is_enforced(gate: SemanticGate, run: &Run) -> bool {
    match gate {
        SemanticGate::DiffRelevanceCheck => run.settings.get(keys::DIFF_RELEVANCE) == ENFORCE,
        SemanticGate::AcCountCheck => true,
    }
}

/// Judges configured verification commands: all of them must pass.
pub(crate) fn judge_commands(wanted: &[String], results: &[CommandResult]) -> Verdict {
    for command in wanted {
        match results.iter().find(|result| result.command == *command) {
            Some(result) if result.passed => {}
            Some(result) => {
                let output =
                    if result.output.is_empty() { String::new() } else { format!("\n{}", result.output) };
                return Verdict::Refused(format!(
                    "verification gate `{command}` failed ({}){output}",
                    result.end
                ));
            }
            None => return Verdict::Refused(format!("verification gate `{command}` was not run")),
        }
    }
    Verdict::Cleared
}

fn judge_diff(run: &Run, diff: &Diff) -> Verdict {
    if diff.count == 0 {
        let since =
            run.chunk.base.as_deref().map(|base| format!(" since {}", short(base))).unwrap_or_default();
        return Verdict::Refused(format!("nothing has changed{since}"));
    }
    let is_code = |file: &String| !is_doc(file) && !is_lock(file);
    // Only the first files are listed; what is not listed may be code.
    let has_code = diff.files.iter().any(is_code) || diff.count > diff.files.len();
    if !has_code && !is_about_docs(run) {
        return Verdict::Doubted(format!(
            "only documentation or lock files have changed ({})",
            list(&diff.files)
        ));
    }
    let words = criteria_words(run);
    if !words.is_empty() && diff.shared_words.is_empty() {
        return Verdict::Doubted(format!(
            "no changed path or added line has a word of the chunk's criteria ({}); changed: {}",
            list(&words),
            list(&diff.files)
        ));
    }
    Verdict::Cleared
}

fn judge_boxes(run: &Run, boxes: &Boxes) -> Verdict {
    let (checked, total) = (boxes.checked() as u64, boxes.items.len() as u64);
    let in_chunk = run.current_criteria().len() as u64;
    let wanted = run.chunk.checked_before.unwrap_or(0).saturating_add(in_chunk);
    if wanted > total {
        return Verdict::Doubted(format!(
            "the issue has {total} criteria, but {wanted} would be ticked after this chunk: were criteria removed?"
        ));
    }
    if checked < wanted {
        return Verdict::Doubted(format!(
            "{checked} of {total} criteria are ticked in the issue; after this chunk it must be {wanted}"
        ));
    }
    Verdict::Cleared
}

/// Returns the telling words of the current chunk's criteria.
pub(crate) fn criteria_words(run: &Run) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for text in run.current_criteria().iter().map(|criterion| run.criterion_text(criterion)) {
        for word in text.split(|c: char| !c.is_alphanumeric()) {
            let word = word.to_lowercase();
            let tells = word.chars().count() >= 4
                && word.chars().any(char::is_alphabetic)
                && !COMMON.contains(&word.as_str())
                && !words.contains(&word);
            if tells {
                words.push(word);
            }
        }
    }
    words.truncate(100);
    words
}

impl Run {
    /// Returns the text behind `AC-03`: the issue's third criterion, if it is known.
    pub fn criterion_text<'a>(&'a self, criterion: &'a str) -> &'a str {
        // `AC-1` is not the label of a text that begins with `AC-10`.
        let is_whole = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric());
        let labelled =
            self.chunk.texts.iter().find(|text| text.strip_prefix(criterion).is_some_and(is_whole));
        let numbered = || {
            let number: usize = criterion.strip_prefix("AC-")?.parse().ok()?;
            self.chunk.texts.get(number.checked_sub(1)?)
        };
        labelled.or_else(numbered).map(String::as_str).unwrap_or(criterion)
    }
}

fn is_about_docs(run: &Run) -> bool {
    let about =
        ["doc", "docs", "documentation", "readme", "changelog", "guide", "tutorial", "comment", "typo"];
    let criteria = run.current_criteria();
    !criteria.is_empty()
        && criteria
            .iter()
            .map(|criterion| run.criterion_text(criterion).to_lowercase())
            .all(|text| text.split(|c: char| !c.is_alphanumeric()).any(|word| about.contains(&word)))
}

fn is_doc(file: &str) -> bool {
    DOC_ENDINGS.iter().any(|ending| file.to_lowercase().ends_with(ending))
}

fn is_lock(file: &str) -> bool {
    LOCK_FILES.contains(&file.rsplit('/').next().unwrap_or(file))
}

fn list(words: &[String]) -> String {
    let more = words.len().saturating_sub(8);
    let shown = words.iter().take(8).map(String::as_str).collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

fn short(hash: &str) -> &str {
    hash.get(..10).unwrap_or(hash)
}
