//! The comment of a review: written for people, with what warp reads back from it in HTML comments.
//!
//! It begins with the watermark, which names the commit that was looked at, and ends with the [`Ledger`] as JSON. A comment
//! by anybody else, or one that has the watermark anywhere but at its beginning, is no review.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::{FollowUp, Judgement, Known, Severity, Verdict, rules::counted};

const REVIEWED: &str = "<!-- reviewed: ";
const FAILED: &str = "<!-- review-error: ";
const LEDGER: &str = "<!-- warp-review ";
const END: &str = " -->";
/// How many characters of a commit's name are shown.
const HASH: usize = 10;
/// The longest description in the ledger, in characters; the comment itself has all of it.
const LONGEST: usize = 200;
/// The most of a comment, in bytes: GitHub takes 65,536 characters.
const MOST: usize = 60_000;
/// The most files of one kind that are named.
const NAMED: usize = 60;

/// What a review leaves for the next round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    pub version: u32,
    pub round: u64,
    pub verdict: Verdict,
    /// The number of the next finding.
    pub next: u64,
    /// Those that are open.
    pub findings: Vec<Known>,
}

/// The version of the ledger that is written here.
const VERSION: u32 = 1;

/// A review that was posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastReview {
    pub head: String,
    /// None where the comment carries nothing that can be read.
    pub ledger: Option<Ledger>,
    /// Which of the comments it is.
    pub index: usize,
}

/// The reviews of a pull request, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    pub reviews: Vec<PastReview>,
    /// The commits of which a review has failed, once for each time.
    pub failures: Vec<String>,
}

impl History {
    /// Reads a pull request's comments, oldest first, each with whether it is by the reviewer's own account.
    pub fn read<'c>(comments: impl IntoIterator<Item = (bool, &'c str)>) -> Self {
        let mut history = Self::default();
        for (index, (is_own, text)) in comments.into_iter().enumerate() {
            if !is_own {
                continue;
            }
            if let Some(head) = marked(text, REVIEWED) {
                let ledger = ledger_of(text);
                history.reviews.push(PastReview { head: head.to_owned(), ledger, index });
            } else if let Some(head) = marked(text, FAILED) {
                history.failures.push(head.to_owned());
            }
        }
        history
    }

    /// Returns the last review of a commit.
    pub fn of(&self, head: &str) -> Option<&PastReview> {
        self.reviews.iter().rev().find(|review| review.head == head)
    }

    /// Returns the last review of another commit.
    pub fn before(&self, head: &str) -> Option<&PastReview> {
        self.reviews.iter().rev().find(|review| review.head != head)
    }

    /// Returns how often a review of a commit has failed.
    pub fn failures_of(&self, head: &str) -> usize {
        self.failures.iter().filter(|failed| *failed == head).count()
    }
}

/// Returns the commit that a watermark at the beginning of a comment names.
fn marked<'t>(text: &'t str, mark: &str) -> Option<&'t str> {
    let (head, _) = text.strip_prefix(mark)?.split_once(END)?;
    let is_name = !head.is_empty() && head.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_name.then_some(head)
}

/// Reads the last ledger in a comment. One of a later version says nothing to this one.
fn ledger_of(text: &str) -> Option<Ledger> {
    let (_, after) = text.rsplit_once(LEDGER)?;
    let (json, _) = after.split_once(END)?;
    let ledger: Ledger = serde_json::from_str(json).ok()?;
    (ledger.version == VERSION).then_some(ledger)
}

/// What a comment says beside the judgement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Posted<'a> {
    pub head: &'a str,
    pub round: u64,
    pub most_rounds: u64,
    /// Who has reviewed, in words.
    pub by: &'a str,
    pub parts: usize,
    pub read: &'a [String],
    pub binary: &'a [String],
    pub generated: &'a [String],
    /// The issues that follow-ups were filed as, or that are there already: each with its number.
    pub filed: &'a [(String, String)],
    /// What a person should know, a line each.
    pub notes: &'a [String],
}

impl Posted<'_> {
    /// Returns the comment.
    pub fn text(&self, judged: &Judgement) -> String {
        let ledger = self.ledger(judged);
        let mark = format!("{REVIEWED}{}{END}\n", self.head);
        let room = MOST.saturating_sub(mark.len() + ledger.len() + 100);
        let mut shown = self.shown(judged);
        if shown.len() > room {
            let mut end = room;
            while !shown.is_char_boundary(end) {
                end -= 1;
            }
            shown.truncate(end);
            shown.push_str("\n\n(The rest was cut.)\n");
        }
        format!("{mark}{shown}\n{ledger}")
    }

    fn shown(&self, judged: &Judgement) -> String {
        let short = self.head.get(..HASH).unwrap_or(self.head);
        let mut text = format!("## Review of `{short}`: {}\n\n", judged.verdict.words());
        let _ = writeln!(text, "{}\n", plain(&judged.reason));
        let by = if self.by.is_empty() { String::new() } else { format!(", by {}", self.by) };
        let _ = writeln!(text, "Round {} of at most {}{by}.", self.round, self.most_rounds);
        for note in judged.notes.iter().chain(self.notes) {
            let _ = write!(text, "\n> {}\n", plain(note));
        }
        let is_new = |known: &&Known| known.status == crate::Status::New;
        for severity in Severity::ALL {
            let found: Vec<&Known> =
                judged.findings.iter().filter(is_new).filter(|known| known.severity == severity).collect();
            if found.is_empty() {
                continue;
            }
            let _ = write!(text, "\n### {}\n\n", heading(severity));
            for known in found {
                text.push_str(&line(known));
            }
        }
        let earlier: Vec<&Known> = judged.findings.iter().filter(|known| !is_new(known)).collect();
        if !earlier.is_empty() {
            text.push_str("\n### Earlier findings\n\n");
            for known in earlier {
                let why = judged.explanations.iter().find(|(id, _)| *id == known.id);
                let why = why.map(|(_, why)| format!(" ({})", plain(why))).unwrap_or_default();
                let _ = writeln!(
                    text,
                    "- **{}** {}: {} `{}` {}{why}",
                    known.id,
                    known.status.words(),
                    known.severity.word(),
                    code(&known.location),
                    plain(&known.description)
                );
            }
        }
        if !self.filed.is_empty() {
            text.push_str("\n### Follow-ups\n\n");
            for (number, title) in self.filed {
                let _ = writeln!(text, "- #{number} {}", plain(title));
            }
        }
        text.push_str(&self.files());
        text
    }

    fn files(&self) -> String {
        let mut text = String::from("\n### Files\n\n");
        let parts = if self.parts > 1 { format!(", in {} parts", self.parts) } else { String::new() };
        let _ =
            writeln!(text, "Read: {}{parts}{}", counted(self.read.len(), "file", "files"), listed(self.read));
        for (files, what) in
            [(self.binary, "Binary, not read"), (self.generated, "Written by programs, not read")]
        {
            if !files.is_empty() {
                let _ =
                    writeln!(text, "\n{what}: {}{}", counted(files.len(), "file", "files"), listed(files));
            }
        }
        text
    }

    /// Returns the ledger as an HTML comment. Nothing in it can end that comment.
    fn ledger(&self, judged: &Judgement) -> String {
        let open = judged.findings.iter().filter(|known| known.status.is_open());
        let findings = open.map(|known| Known {
            description: known.description.chars().take(LONGEST).collect(),
            ..known.clone()
        });
        let ledger = Ledger {
            version: VERSION,
            round: self.round,
            verdict: judged.verdict,
            next: judged.next,
            findings: findings.collect(),
        };
        let json = serde_json::to_string(&ledger).unwrap_or_default();
        let json = json.replace('<', "\\u003c").replace('>', "\\u003e").replace("--", "-\\u002d");
        format!("{LEDGER}{json}{END}\n")
    }
}

/// Returns the comment of a review that has come to nothing.
pub fn failure(head: &str, why: &str, times: usize, most: usize) -> String {
    let short = head.get(..HASH).unwrap_or(head);
    let then =
        if times >= most { " It is not tried again by itself: a person reviews this commit." } else { "" };
    format!(
        "{FAILED}{head}{END}\n\nThe review of `{short}` came to no verdict, so nothing is said about the change ({times} of {most}): \
         {}.{then}\n",
        plain(why).trim_end_matches('.')
    )
}

/// Returns what an author is asked for: the open findings, worst first, under the reason.
pub fn requested(judged: &Judgement) -> String {
    let mut open: Vec<&Known> = judged.findings.iter().filter(|known| known.status.is_open()).collect();
    open.sort_by_key(|known| known.severity);
    let mut text = plain(&judged.reason);
    for known in open {
        let _ = write!(
            text,
            "\n- {} ({}) `{}`: {}",
            known.id,
            known.severity.word(),
            code(&known.location),
            plain(&known.description)
        );
    }
    text
}

/// Returns what an author was asked for, as far as the ledger has it.
pub fn requested_by(ledger: &Ledger) -> String {
    let judged = Judgement {
        verdict: ledger.verdict,
        reason: "The reviewer requests changes.".to_owned(),
        findings: ledger.findings.clone(),
        explanations: Vec::new(),
        follow_ups: Vec::new(),
        notes: Vec::new(),
        next: ledger.next,
    };
    requested(&judged)
}

fn heading(severity: Severity) -> &'static str {
    match severity {
        Severity::Bug => "Bugs",
        Severity::Warning => "Warnings",
        Severity::Nit => "Nits",
        Severity::Info => "Remarks",
    }
}

fn line(known: &Known) -> String {
    let unplaced = if known.is_placed { "" } else { " (no such place)" };
    format!("- **{}** `{}`{unplaced} {}\n", known.id, code(&known.location), plain(&known.description))
}

fn listed(files: &[String]) -> String {
    if files.is_empty() {
        return ".".to_owned();
    }
    let named: Vec<String> = files.iter().take(NAMED).map(|file| format!("`{}`", code(file))).collect();
    let more = files.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(": {}{more}.", named.join(", "))
}

/// Makes a text one that hides nothing: what begins an HTML comment is shown.
fn plain(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.replace("<!--", "&lt;!--").replace("-->", "--&gt;")
}

/// Makes a text one that can stand between back-ticks.
fn code(text: &str) -> String {
    plain(text).replace('`', "'")
}

/// Returns a follow-up as the text of an issue.
pub fn issue_body(follow_up: &FollowUp, pull: &str, head: &str) -> String {
    let short = head.get(..HASH).unwrap_or(head);
    let details = follow_up.details.replace("<!--", "&lt;!--");
    let details = if details.trim().is_empty() { follow_up.title.clone() } else { details };
    format!("{}\n\nFound in the review of #{pull} at `{short}`.\n", details.trim())
}

#[cfg(test)]
mod tests;
