//! What answers about all parts of a change come to: the rules of the verdict.

use std::collections::BTreeSet;

use crate::{Answer, Finding, FollowUp, Known, Lines, Place, Severity, Status, Verdict};

/// The most findings that are open after a review; the worst come first. Of new ones a few are kept in any case.
pub const MOST_FINDINGS: usize = 40;
const MOST_NEW: usize = 10;
/// The longest title that is made of a finding, in characters.
const LONGEST_TITLE: usize = 80;

/// What a review comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub verdict: Verdict,
    pub reason: String,
    /// All findings, earlier ones with what became of them first.
    pub findings: Vec<Known>,
    /// What was said about earlier findings, by id.
    pub explanations: Vec<(String, String)>,
    pub follow_ups: Vec<FollowUp>,
    /// Where the rules have changed what the reviewer said, a line each.
    pub notes: Vec<String>,
    /// The number of the next finding.
    pub next: u64,
}

/// What is judged.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    pub answers: &'a [Answer],
    /// Findings of the rounds before that were open.
    pub earlier: &'a [Known],
    /// The number of the next finding.
    pub next: u64,
    /// The lines that have changed since the round before; none in the first round.
    pub delta: Option<&'a Lines>,
}

/// Judges a change by what was said about its parts. `is_place` tells whether a place exists.
pub fn judge(case: Case<'_>, is_place: impl Fn(&Place) -> bool) -> Judgement {
    let Case { answers, earlier, delta, mut next } = case;
    let mut notes = Vec::new();
    let said = answers.iter().map(|answer| answer.verdict).max().unwrap_or(Verdict::RequestChanges);
    let (mut findings, explanations) = followed(earlier, answers);
    let mut follow_ups: Vec<FollowUp> = answers.iter().flat_map(|answer| answer.follow_ups.clone()).collect();
    let (new, old) = split(answers, delta);
    for finding in &old {
        follow_ups.push(follow_up(finding));
    }
    if !old.is_empty() {
        let count = counted(old.len(), "finding is", "findings are");
        notes.push(format!(
            "{count} about lines that have not changed since the round before: follow-ups, and no reason to refuse."
        ));
    }
    let open = findings.iter().filter(|known| known.status.is_open()).count();
    let kept = new.len().min(MOST_FINDINGS.saturating_sub(open).max(MOST_NEW));
    if kept < new.len() {
        notes.push(format!(
            "{} of lesser severity were left out.",
            counted(new.len() - kept, "finding", "findings")
        ));
    }
    for finding in new.into_iter().take(kept) {
        let is_placed = is_place(&Place::parse(&finding.location));
        findings.push(Known {
            id: format!("F{next}"),
            severity: finding.severity,
            location: finding.location,
            description: finding.description,
            status: Status::New,
            is_placed,
        });
        next += 1;
    }
    let is_open = |known: &&Known| known.status.is_open();
    let open = findings.iter().filter(is_open).count();
    let bugs = findings.iter().filter(is_open).filter(|known| known.severity == Severity::Bug).count();
    let verdict = match said {
        Verdict::Approve if bugs > 0 => {
            let are = counted(bugs, "finding of severity `bug` is", "findings of severity `bug` are");
            notes.push(format!("The reviewer approved, but {are} open, which forbids approval."));
            Verdict::RequestChanges
        }
        Verdict::RequestChanges if open == 0 && !old.is_empty() => {
            notes.push(
                "The reviewer requested changes for findings about old lines only: that is no reason to refuse."
                    .to_owned(),
            );
            Verdict::Approve
        }
        said @ (Verdict::Approve | Verdict::RequestChanges) => said,
    };
    Judgement { verdict, reason: reason(answers, said), findings, explanations, follow_ups, notes, next }
}

/// Returns what became of earlier findings, and why. Of two that tell of the same finding the one that sees it open counts.
fn followed(earlier: &[Known], answers: &[Answer]) -> (Vec<Known>, Vec<(String, String)>) {
    let mut explanations = Vec::new();
    let told = earlier.iter().map(|known| {
        let of_it = || answers.iter().flat_map(|answer| &answer.earlier).filter(|one| one.id == known.id);
        let Some(one) = of_it().find(|one| one.status.is_open()).or_else(|| of_it().next()) else {
            return Known { status: Status::NotFixed, ..known.clone() };
        };
        if !one.explanation.is_empty() {
            explanations.push((known.id.clone(), one.explanation.clone()));
        }
        Known { status: one.status, ..known.clone() }
    });
    let told = told.collect();
    (told, explanations)
}

/// Returns the findings that count, worst first, and those about lines that have not changed.
fn split(answers: &[Answer], delta: Option<&Lines>) -> (Vec<Finding>, Vec<Finding>) {
    let mut seen = BTreeSet::new();
    let mut all: Vec<Finding> = answers
        .iter()
        .flat_map(|answer| &answer.findings)
        .filter(|finding| seen.insert((finding.location.clone(), finding.description.clone())))
        .cloned()
        .collect();
    all.sort_by_key(|finding| finding.severity);
    let is_new = |finding: &Finding| delta.is_none_or(|delta| delta.has(&Place::parse(&finding.location)));
    all.into_iter().partition(is_new)
}

/// Makes a follow-up of a finding.
fn follow_up(finding: &Finding) -> FollowUp {
    let sentence = finding.description.split(". ").next().unwrap_or_default().trim_end_matches('.');
    let title = match sentence.char_indices().nth(LONGEST_TITLE) {
        Some((end, _)) => format!("{}…", sentence[..end].trim_end()),
        None => sentence.to_owned(),
    };
    let Finding { severity, location, description } = finding;
    FollowUp { title, details: format!("{} at `{location}`: {description}", severity.word()) }
}

/// Returns the reasons of those answers that say what counts, each once.
fn reason(answers: &[Answer], said: Verdict) -> String {
    let mut reasons: Vec<&str> = Vec::new();
    for answer in answers.iter().filter(|answer| answer.verdict == said) {
        if !reasons.contains(&answer.reason.as_str()) {
            reasons.push(&answer.reason);
        }
    }
    reasons.join(" ")
}

pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests;
