//! The text of a brief, from typed facts. Nothing here reads a run, a file or a clock.
//!
//! What stays the same from turn to turn stands first, so that a provider's cache can hold it: who is meant, the rules, the
//! issue, the plan, the project. What the phase asks for follows, and what is new stands last.

use std::fmt::Write as _;

use engine::{Note, NoteKind, Review};

use super::parts::{Parts, Words};

const RULES: &str = include_str!("../../../../prompts/run/rules.md");
const SESSION_RULES: &str = include_str!("../../../../prompts/run/session.md");
const MARK: &str = "MARK";

/// What is said to a driven agent of a brief that is not sent whole.
pub const DRIVEN: Words = Words {
    unchanged: "Nothing that you were told has changed. Continue where you were, and answer as you were asked to.",
    changed: "What you were told before still holds; this is new or has changed. Continue, and answer as you were asked to.",
    cut: "(the rest is left out here; the transcript of this conversation has it)",
};
/// What is said to an agent in a person's session.
const IN_SESSION: Words = Words {
    unchanged: "Nothing else that you were told has changed (`warp state inject .` repeats it).",
    changed: "What you were told before still holds (`warp state inject .` repeats it); this is new or has changed.",
    cut: "(cut here: `warp state inject .` prints all of it)",
};
/// What an agent in a session is told of git.
const MAY_COMMIT: &str =
    "Commit your work in this phase yourself, in conventional commits. Warp pushes and merges.";
const MAY_NOT_COMMIT: &str = "Git is read-only in this phase: warp commits, pushes and merges.";

/// How many rounds of review are told.
const REVIEWS: usize = 2;
/// The most of a refused answer that is told, in characters.
const LONGEST_ANSWER: usize = 6_000;
/// How many files that were changed are told after a refusal, and how many ranges of each.
const FILES: usize = 20;
const RANGES: usize = 20;
/// How many notes of one kind are told, the newest last.
const NOTES: usize = 12;

/// Who is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reader {
    /// An agent that warp drives: it answers once, and warp moves the run.
    #[default]
    Driven,
    /// An agent in a person's session, which moves the run itself.
    InSession {
        /// Where the run stands.
        standing: String,
        /// Whether the phase is an agent's, and whether it commits its own work there.
        works: bool,
        may_commit: bool,
    },
}

/// Everything that a brief says.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub reader: Reader,
    /// What data stands between; one for a whole run.
    pub mark: String,
    pub workflow: String,
    pub phase: String,
    /// What the phase is for, in a few words.
    pub purpose: String,
    pub subject: Subject,
    pub chunk: Chunk,
    pub plan: Option<String>,
    pub project: Project,
    /// What to do, and when it is done.
    pub guide: String,
    /// What the phase needs beside that.
    pub more: Vec<String>,
    /// An example of the answer, and what is to be said of its fields.
    pub answer: String,
    /// Finished parts of the work, a line each.
    pub done: Vec<String>,
    pub notes: Vec<Note>,
    /// What people have said and decided since the issue began.
    pub said: Vec<String>,
    pub earlier: Option<String>,
    /// Set where an earlier run has left work: whether it lies in the tree.
    pub unfinished: Option<bool>,
    pub rework: Option<Rework>,
    /// How whoever reviews sees the whole change, and perhaps its text.
    pub change: Option<Change>,
    pub reviews: Vec<Review>,
    pub findings: Vec<String>,
    /// Files that were edited again and again without progress.
    pub edited: Vec<String>,
    /// What came with the event that led here, where nothing else tells it.
    pub led: Option<String>,
    pub tries: Option<Tries>,
    pub failure: Option<Failure>,
    /// Why the last answer of this phase was not taken.
    pub problem: Option<String>,
}

/// What the work is about.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    /// The number of the issue; none for a feature.
    pub issue: Option<String>,
    pub text: String,
}

/// Which chunk it is.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    pub index: u64,
    pub count: usize,
    /// The names of its criteria.
    pub criteria: Vec<String>,
    /// The names of the criteria that earlier chunks have met.
    pub met: Vec<String>,
}

/// What is known of the project.
#[derive(Clone, Debug, Default)]
pub struct Project {
    pub base: Option<String>,
    pub target: String,
    pub setup: Option<String>,
    pub test: Option<String>,
    pub baseline: Option<Baseline>,
    /// Files that say how the project is written.
    pub conventions: Vec<String>,
    /// Files of the run, each with what it is.
    pub files: Vec<(String, String)>,
    pub dev: String,
}

/// How the tests ended before anything was changed.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    pub counts: String,
    pub seconds: u64,
    /// Whether the failures of the base may stay.
    pub tolerated: bool,
    /// A test as the runner names it.
    pub example: Option<String>,
}

/// What is wanted of a pull request.
#[derive(Clone, Debug, Default)]
pub struct Rework {
    pub requested: Vec<String>,
    pub conflicts: Vec<String>,
    /// The commits that do not fit onto the target.
    pub rest: Vec<String>,
}

/// How the whole change is seen.
#[derive(Clone, Debug, Default)]
pub struct Change {
    pub command: String,
    pub text: String,
    pub is_cut: bool,
}

/// How often the phase may be tried.
#[derive(Clone, Copy, Debug)]
pub struct Tries {
    pub this: u64,
    pub most: u64,
}

/// Why the work came back.
#[derive(Clone, Debug, Default)]
pub struct Failure {
    /// The command that failed; none for another check.
    pub command: Option<String>,
    pub text: String,
    /// Where the whole output lies.
    pub log: Option<String>,
}

impl Facts {
    /// Returns the brief.
    pub fn parts(&self) -> Parts {
        let mut parts = self.opening();
        let subject = if self.subject.issue.is_some() { "The issue" } else { "The feature" };
        if !self.subject.text.is_empty() {
            parts.add(subject, &self.fence(&self.subject.text));
        }
        parts.add("The plan", &self.plan.as_deref().map(|plan| self.fence(plan)).unwrap_or_default());
        parts.add("The project", &self.project.words());
        parts.add("Your task", &self.task());
        let answer = match &self.reader {
            Reader::Driven => "Your answer",
            Reader::InSession { .. } => "What to report",
        };
        parts.add(answer, &self.answer);
        parts.end_lasting();
        parts.add("What people said", &listed(&self.said));
        parts.add("Done so far", &listed(&self.done));
        parts.add("Decisions and lessons", &self.noted());
        let earlier = self.earlier.as_deref().map(|earlier| self.fence(earlier)).unwrap_or_default();
        parts.add("What earlier runs of this issue left", &earlier);
        parts.add("Unfinished work", self.unfinished());
        self.add_rework(&mut parts);
        parts.add("The change", &self.change());
        parts.add("The reviews so far", &self.reviewed());
        parts.add("What was found in the work", &listed(&self.findings));
        if !self.edited.is_empty() {
            let files = self.edited.join(", ");
            parts.add("Another way", &format!("You edited these again and again without progress: {files}."));
        }
        parts.add("What led here", self.led.as_deref().unwrap_or_default());
        parts.add("What failed", &self.failed());
        let problem = self.problem.as_deref().map(|problem| self.fence(problem)).unwrap_or_default();
        parts.add("Why your last answer was refused", &problem);
        let tries = self.tries.map(|tries| format!("This is try {} of {}.", tries.this, tries.most));
        parts.add("Tries", &tries.unwrap_or_default());
        parts
    }

    /// Returns a text as data.
    pub fn fence(&self, text: &str) -> String {
        fence(&self.mark, text)
    }

    /// Returns who is meant, where the work stands and the rules.
    fn opening(&self) -> Parts {
        match &self.reader {
            Reader::Driven => {
                let work = match &self.subject.issue {
                    Some(issue) => format!("issue #{issue}"),
                    None => "a feature".to_owned(),
                };
                let lead = format!(
                    "You work on {work} in this repository, phase by phase. Warp checks each answer and carries on; what fails comes back."
                );
                let mut parts = Parts::new(lead, self.line(), DRIVEN);
                parts.add("Rules", &RULES.replace(MARK, &self.mark));
                parts
            }
            Reader::InSession { standing, .. } => {
                let standing = standing.trim_end().to_owned();
                let mut parts = Parts::new(standing.clone(), standing, IN_SESSION);
                parts.add("Rules", &SESSION_RULES.replace(MARK, &self.mark));
                parts
            }
        }
    }

    /// Returns the line that says what is asked.
    fn line(&self) -> String {
        let chunk = match self.chunk.count {
            0 => String::new(),
            count => format!(", chunk {} of {count}", self.chunk.index),
        };
        format!("You work in the phase `{}` of `{}`: {}{chunk}.", self.phase, self.workflow, self.purpose)
    }

    fn task(&self) -> String {
        let guide = self.guide.trim();
        let mut text = match &self.reader {
            Reader::Driven => format!("{}\n\n{guide}\n", self.line()),
            Reader::InSession { works: false, .. } => return String::new(),
            Reader::InSession { may_commit: true, .. } => format!("{guide}\n\n{MAY_COMMIT}\n"),
            Reader::InSession { may_commit: false, .. } => format!("{guide}\n\n{MAY_NOT_COMMIT}\n"),
        };
        let Chunk { criteria, met, .. } = &self.chunk;
        if !criteria.is_empty() {
            let met =
                if met.is_empty() { String::new() } else { format!(" Met already: {}.", met.join(", ")) };
            let _ = write!(text, "\nThe criteria of this chunk: {}.{met}\n", criteria.join(", "));
        }
        for more in self.more.iter().filter(|more| !more.is_empty()) {
            let _ = write!(text, "\n{}\n", more.trim_end());
        }
        text
    }

    fn noted(&self) -> String {
        let of = |kind: NoteKind, word: &str| {
            let all: Vec<&Note> = self.notes.iter().filter(|note| note.kind == kind).collect();
            let newest = all[all.len().saturating_sub(NOTES)..].to_vec();
            newest
                .into_iter()
                .map(|note| format!("- {word}: {}: {}", note.title, note.text))
                .collect::<Vec<_>>()
        };
        let mut lines = of(NoteKind::Decision, "decision");
        lines.extend(of(NoteKind::Lesson, "lesson"));
        lines.extend(of(NoteKind::Risk, "risk"));
        lines.join("\n")
    }

    fn unfinished(&self) -> &'static str {
        match self.unfinished {
            Some(true) => {
                "What the last run had not finished is in your tree, not committed: `git status` and `git diff` show it. Nobody \
                 has tested it. Use what is right of it, and change or remove the rest."
            }
            Some(false) => "What the last run had not finished is kept elsewhere and is not in your tree.",
            None => "",
        }
    }

    fn add_rework(&self, parts: &mut Parts) {
        let Some(rework) = &self.rework else { return };
        let numbered = rework.requested.iter().enumerate();
        let wanted: Vec<String> = numbered.map(|(index, text)| format!("RC-{}: {text}", index + 1)).collect();
        if !wanted.is_empty() {
            parts.add("Requested changes", &self.fence(&wanted.join("\n\n")));
        }
        if !rework.conflicts.is_empty() {
            let words = format!(
                "These files have markers: {}. In the tree, not committed, is what does not apply to the target:\n\n{}",
                rework.conflicts.join(", "),
                self.fence(&rework.rest.join("\n\n"))
            );
            parts.add("Conflicts", &words);
        }
    }

    fn change(&self) -> String {
        let Some(Change { command, text, is_cut }) = &self.change else { return String::new() };
        if text.is_empty() {
            return format!("{command} shows the whole change.");
        }
        let more = if *is_cut { "Its beginning; the rest is shown by " } else { "" };
        format!("{more}{command}:\n\n{}", self.fence(text))
    }

    fn reviewed(&self) -> String {
        let first = self.reviews.len().saturating_sub(REVIEWS);
        let told = self.reviews[first..].iter().map(|review| {
            let words = ["feedback", "summary", "note", "reason"];
            let words = words.iter().find_map(|field| review.data.get(*field)?.as_str()).unwrap_or_default();
            let reply = match review.reply.as_ref().filter(|_| review.wants_changes) {
                Some(reply) => format!("\n\nThe answer to it:\n\n{}", self.fence(reply)),
                None => String::new(),
            };
            format!("`{}` in `{}`:\n\n{}{reply}", review.event, review.phase, self.fence(words))
        });
        told.collect::<Vec<_>>().join("\n\n")
    }

    fn failed(&self) -> String {
        let Some(failure) = &self.failure else { return String::new() };
        let what = match &failure.command {
            Some(command) => format!("`{command}`"),
            None => "A check".to_owned(),
        };
        let log = match &failure.log {
            Some(log) => format!(" Whole output: `{log}`."),
            None => String::new(),
        };
        format!(
            "{what} failed after your last answer; nothing was committed.{log}\n\n{}",
            self.fence(&failure.text)
        )
    }
}

impl Project {
    fn words(&self) -> String {
        let mut lines = Vec::new();
        if let Some(base) = &self.base {
            lines.push(format!("- Base: `{}` at {base}", self.target));
        }
        if let Some(setup) = &self.setup {
            lines.push(format!("- Prepared with `{setup}`"));
        }
        if let Some(test) = &self.test {
            let mut line = format!("- Tests: `{test}`");
            if let Some(baseline) = &self.baseline {
                let _ = write!(line, ". At the base: {}", baseline.counts);
                if baseline.seconds > 0 {
                    let _ = write!(line, ", in {} s", baseline.seconds);
                }
                if baseline.tolerated {
                    line.push_str("; these may keep failing, no other");
                }
                match &baseline.example {
                    Some(name) => {
                        let _ = write!(line, ". Names look like `{name}`");
                    }
                    None => line.push_str(". The runner names no tests: show changed lines"),
                }
            }
            lines.push(line);
        }
        if !self.conventions.is_empty() {
            let files: Vec<String> = self.conventions.iter().map(|file| format!("`{file}`")).collect();
            lines.push(format!("- Read first: {}", files.join(", ")));
        }
        lines.extend(self.files.iter().map(|(what, value)| format!("- {what}: {value}")));
        if !self.dev.is_empty() {
            lines.push(format!("- {}", self.dev.replace('\n', "\n- ")));
        }
        lines.join("\n")
    }
}

/// Returns a text as data. Whoever wrote it may know the mark, so it is taken out of the text.
pub fn fence(mark: &str, text: &str) -> String {
    let text = text.trim_end().replace(mark, "…");
    format!("<<<data {mark}\n{text}\ndata {mark}>>>")
}

fn listed(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n")
}

/// Returns what an agent is told whose answer was refused.
pub fn refusal(mark: &str, faults: &[String], changed: &[String], answer: &str, tries: Tries) -> String {
    let count = if faults.len() == 1 { "1 fault".to_owned() } else { format!("{} faults", faults.len()) };
    let mut text =
        format!("## Your last answer was refused\n\nIt could not be used: {count}.\n\n{}\n", listed(faults));
    if !changed.is_empty() {
        let _ = write!(text, "\nThe lines that you changed in this chunk:\n\n{}\n", listed(changed));
    }
    if !answer.trim().is_empty() {
        let answer: String = answer.chars().take(LONGEST_ANSWER).collect();
        let _ = write!(text, "\nYour last answer:\n\n{}\n", fence(mark, &answer));
    }
    let _ = write!(
        text,
        "\nYour files are as you left them. Send the answer again, whole, with every fault fixed. This is try {} of {}.",
        tries.this, tries.most
    );
    text
}

/// Returns the lines that a diff without context adds or changes, a file each: `src/a.rs: 3-9, 14`.
pub fn changed_lines(diff: &str) -> Vec<String> {
    let mut files: Vec<(&str, Vec<String>)> = Vec::new();
    for line in diff.lines() {
        if let Some(file) = line.strip_prefix("+++ ") {
            files.push((file.strip_prefix("b/").unwrap_or(file), Vec::new()));
            continue;
        }
        let Some(added) = line.strip_prefix("@@ ").and_then(|line| line.split(' ').nth(1)) else { continue };
        let (first, count) = added.trim_start_matches('+').split_once(',').unwrap_or((&added[1..], "1"));
        let (Ok(first), Ok(count), Some(last)) =
            (first.parse::<u64>(), count.parse::<u64>(), files.last_mut())
        else {
            continue;
        };
        match count {
            0 => {}
            1 => last.1.push(first.to_string()),
            more => last.1.push(format!("{first}-{}", first + more - 1)),
        }
    }
    let told = files.iter().filter(|(_, ranges)| !ranges.is_empty()).take(FILES);
    told.map(|(file, ranges)| format!("{file}: {}", ranges[..ranges.len().min(RANGES)].join(", "))).collect()
}
