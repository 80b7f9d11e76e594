//! The text of a brief, from typed facts. Nothing here reads a run, a file or a clock.
//!
//! What stays the same from turn to turn stands first, so that a provider's cache can hold it: who is meant, the rules, the
//! issue, the plan, the project. What the phase asks for follows, and what is new stands last.

use std::fmt::Write as _;

use engine::{Note, NoteKind, Review};

use super::parts::Parts;

const RULES: &str = include_str!("../../../../prompts/run/rules.md");
const MARK: &str = "MARK";

/// How many rounds of review are told.
const REVIEWS: usize = 2;
/// The most of a refused answer that is told, in characters.
const LONGEST_ANSWER: usize = 6_000;
/// How many files that were changed are told after a refusal, and how many ranges of each.
const FILES: usize = 20;
const RANGES: usize = 20;
/// How many notes of one kind are told, the newest last.
const NOTES: usize = 12;

/// Everything that a brief says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// What data stands between; one for a whole run.
    pub(crate) mark: String,
    pub(crate) workflow: String,
    pub(crate) phase: String,
    /// What the phase is for, in a few words.
    pub(crate) purpose: String,
    pub(crate) subject: Subject,
    pub(crate) chunk: Chunk,
    pub(crate) plan: Option<String>,
    pub(crate) project: Project,
    /// What to do, and when it is done.
    pub(crate) guide: String,
    /// What the phase needs beside that.
    pub(crate) more: Vec<String>,
    /// An example of the answer, and what is to be said of its fields.
    pub(crate) answer: String,
    /// Finished parts of the work, a line each.
    pub(crate) done: Vec<String>,
    pub(crate) notes: Vec<Note>,
    /// What people have said and decided since the issue began.
    pub(crate) said: Vec<String>,
    pub(crate) earlier: Option<String>,
    /// Set where an earlier run has left work: whether it lies in the tree.
    pub(crate) unfinished: Option<bool>,
    pub(crate) rework: Option<Rework>,
    /// How whoever reviews sees the whole change, and perhaps its text.
    pub(crate) change: Option<Change>,
    pub(crate) reviews: Vec<Review>,
    pub(crate) findings: Vec<String>,
    /// Files that were edited again and again without progress.
    pub(crate) edited: Vec<String>,
    /// What came with the event that led here, where nothing else tells it.
    pub(crate) led: Option<String>,
    pub(crate) tries: Option<Tries>,
    pub(crate) failure: Option<Failure>,
    /// Why the last answer of this phase was not taken.
    pub(crate) problem: Option<String>,
}

/// What the work is about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subject {
    /// The number of the issue; none for a feature.
    pub(crate) issue: Option<String>,
    pub(crate) text: String,
}

/// Which chunk it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chunk {
    pub(crate) index: u64,
    pub(crate) count: usize,
    /// The names of its criteria.
    pub(crate) criteria: Vec<String>,
    /// The names of the criteria that earlier chunks have met.
    pub(crate) met: Vec<String>,
}

/// What is known of the project.
#[derive(Clone, Debug, Default)]
pub(crate) struct Project {
    pub(crate) base: Option<String>,
    pub(crate) target: String,
    pub(crate) setup: Option<String>,
    pub(crate) test: Option<String>,
    pub(crate) baseline: Option<Baseline>,
    /// Files that say how the project is written.
    pub(crate) conventions: Vec<String>,
    /// Files of the run, each with what it is.
    pub(crate) files: Vec<(String, String)>,
    pub(crate) dev: String,
}

/// How the tests ended before anything was changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Baseline {
    pub(crate) counts: String,
    pub(crate) seconds: u64,
    /// Whether the failures of the base may stay.
    pub(crate) tolerated: bool,
    /// A test as the runner names it.
    pub(crate) example: Option<String>,
}

/// What is wanted of a pull request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rework {
    pub(crate) requested: Vec<String>,
    pub(crate) conflicts: Vec<String>,
    /// The commits that do not fit onto the target.
    pub(crate) rest: Vec<String>,
}

/// How the whole change is seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    pub(crate) command: String,
    pub(crate) text: String,
    pub(crate) is_cut: bool,
}

/// How often the phase may be tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tries {
    pub(crate) this: u64,
    pub(crate) most: u64,
}

/// Why the work came back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failure {
    /// The command that failed; none for another check.
    pub(crate) command: Option<String>,
    pub(crate) text: String,
    /// Where the whole output lies.
    pub(crate) log: Option<String>,
}

impl Facts {
    /// Returns the brief.
    pub(crate) fn parts(&self) -> Parts {
        let work = match &self.subject.issue {
            Some(issue) => format!("issue #{issue}"),
            None => "a feature".to_owned(),
        };
        let lead = format!(
            "You work on {work} in this repository, phase by phase. Warp checks each answer and carries on; what fails comes back."
        );
        let chunk = match self.chunk.count {
            0 => String::new(),
            count => format!(", chunk {} of {count}", self.chunk.index),
        };
        let task = format!(
            "You work in the phase `{}` of `{}`: {}{chunk}.",
            self.phase, self.workflow, self.purpose
        );
        let mut parts = Parts::new(lead, task.clone());
        parts.add("Rules", &RULES.replace(MARK, &self.mark));
        let subject = if self.subject.issue.is_some() { "The issue" } else { "The feature" };
        parts.add(subject, &self.fence(&self.subject.text));
        parts.add("The plan", &self.plan.as_deref().map(|plan| self.fence(plan)).unwrap_or_default());
        parts.add("The project", &self.project.words());
        parts.add("Your task", &self.task(&task));
        parts.add("Your answer", &self.answer);
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
    pub(crate) fn fence(&self, text: &str) -> String {
        fence(&self.mark, text)
    }

    fn task(&self, line: &str) -> String {
        let mut text = format!("{line}\n\n{}\n", self.guide.trim());
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
pub(crate) fn fence(mark: &str, text: &str) -> String {
    let text = text.trim_end().replace(mark, "…");
    format!("<<<data {mark}\n{text}\ndata {mark}>>>")
}

fn listed(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n")
}

/// Returns what an agent is told whose answer was refused.
pub(crate) fn refusal(
    mark: &str,
    faults: &[String],
    changed: &[String],
    answer: &str,
    tries: Tries,
) -> String {
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
pub(crate) fn changed_lines(diff: &str) -> Vec<String> {
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
