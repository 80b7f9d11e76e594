//! The scripted model: the same work for every criterion, however it is asked for it.
//!
//! For each criterion it reads a file, edits it and runs the tests. What is beside that is the way in which it is asked: a list to tick,
//! an answer in a form, commands of warp.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::model::{Part, Request, Role, Script, Turn};

/// How the prompts of the arms are told apart.
pub(super) const PLAIN: &str = "Implement this issue";
pub(super) const LOOP: &str = "Implement the first open criterion";
pub(super) const COMMAND: &str = "/warp-drive";
const PHASE: &str = "You work in the phase `";
const CRITERIA: &str = "The criteria of this chunk: ";
/// The list of the loop.
pub(super) const LIST: &str = "ISSUE.md";
/// The tool by which the client's model gives an answer in a form.
const STRUCTURED: &str = "StructuredOutput";
const APPROACH: &str = "Each script has one line that prints: change that line, one script after the other.";
/// How many calls of tools a criterion may take before something is wrong.
const MOST_CALLS: usize = 20;
/// Lines of a file that nobody has to change.
const FILLING: usize = 60;

/// Returns the file of a criterion.
pub(super) fn file(criterion: usize) -> String {
    format!("src/word{criterion}.sh")
}

/// Returns a criterion's line of the list.
pub(super) fn line(criterion: usize) -> String {
    format!("`sh {}` prints word {criterion}", file(criterion))
}

/// Returns the issue.
pub(super) fn issue(criteria: usize) -> String {
    let lines: String = (1..=criteria).map(|criterion| format!("- [ ] {}\n", line(criterion))).collect();
    format!(
        "# Print the words\n\nEach script prints its word. `make test` runs them all.\n\n## Acceptance criteria\n\n{lines}"
    )
}

/// The line that a criterion changes, before and after.
fn edit(criterion: usize) -> (String, String) {
    let after = format!("say() {{ echo 'word {criterion}'; }}");
    (format!("say() {{ echo 'nothing {criterion}'; }}"), after)
}

/// Returns a criterion's file before the work.
pub(super) fn before(criterion: usize) -> String {
    let filling: String = (1..=FILLING)
        .map(|line| {
            format!("part{line}() {{ printf '%s\\n' 'part {line} of word {criterion}: left as it is'; }}\n")
        })
        .collect();
    format!("#!/bin/sh\n{filling}{}\nsay\n", edit(criterion).0)
}

/// Tells whether a criterion's file is as it has to be.
pub(super) fn is_done(criterion: usize, text: &str) -> bool {
    text.contains(&edit(criterion).1)
}

/// A model that works in this directory on so many criteria.
pub(super) fn script(root: &Path, criteria: usize) -> Script {
    let worker = Worker { root: root.to_owned(), criteria };
    Script::function(move |request| worker.next(request))
}

struct Worker {
    root: PathBuf,
    criteria: usize,
}

impl Worker {
    fn next(&self, request: &Request) -> Turn {
        let (prompt, since) = asked(request);
        let all = || (1..=self.criteria).flat_map(|criterion| self.work(criterion)).collect();
        let (moves, since) = match prompt {
            // What is told in the agent is a brief too.
            _ if prompt.contains(COMMAND) => self.commanding(&since),
            _ if prompt.contains(PHASE) => (answering(&prompt, self), since.as_slice()),
            _ if prompt.contains(LOOP) => (self.ticking(&since), since.as_slice()),
            _ => (all(), since.as_slice()),
        };
        let made = since.iter().filter(|part| matches!(part, Part::Call { .. } | Part::Text(_))).count();
        moves.into_iter().nth(made).unwrap_or_else(|| Turn::say("Done."))
    }

    /// Drives the run itself: returns what the phase asks for that warp named last, and what was done since.
    fn commanding<'a>(&self, since: &'a [&'a Part]) -> (Vec<Turn>, &'a [&'a Part]) {
        let is_warps = |index: &usize| since[*index].result().is_some_and(|text| phase(text).is_some());
        let next = || vec![Turn::bash("warp next")];
        let made = since.iter().filter(|part| matches!(part, Part::Call { .. })).count();
        // Whatever goes wrong has an end.
        if made > MOST_CALLS * self.criteria.max(2) {
            return (Vec::new(), since);
        }
        let Some(last) = (0..since.len()).rfind(is_warps) else { return (next(), &since[since.len()..]) };
        let told = since[last].result().unwrap_or_default();
        let report = |event: &str, data: &Value| {
            Turn::bash(&format!("warp state transition . {event} --data '{data}'"))
        };
        let moves = match phase(told) {
            Some("planning") => vec![report("plan_ready", &json!({ "summary": APPROACH }))],
            Some("coding") => {
                let criteria = numbers(told.split(CRITERIA).last().unwrap_or_default());
                let mut moves: Vec<Turn> =
                    criteria.iter().flat_map(|criterion| self.work(*criterion)).collect();
                moves.push(report("code_complete", &json!({ "evidence": answer(&criteria)["evidence"] })));
                moves
            }
            Some("awaiting_continue") => vec![report("continue_no", &json!({}))],
            Some("completed") => Vec::new(),
            Some(_) | None => next(),
        };
        (moves, &since[last + 1..])
    }

    /// The work for one criterion.
    fn work(&self, criterion: usize) -> [Turn; 3] {
        let path = self.root.join(file(criterion));
        let (old, new) = edit(criterion);
        [
            Turn::call("Read", json!({ "file_path": path })),
            Turn::call("Edit", json!({ "file_path": path, "old_string": old, "new_string": new })),
            Turn::bash("make test"),
        ]
    }

    /// Works on the first open criterion of the list, and ticks it.
    fn ticking(&self, since: &[&Part]) -> Vec<Turn> {
        let list = self.root.join(LIST);
        let told = since.iter().find_map(|part| part.result()).unwrap_or_default();
        let open =
            (1..=self.criteria).find(|criterion| told.contains(&format!("- [ ] {}", line(*criterion))));
        let mut moves = vec![Turn::call("Read", json!({ "file_path": list }))];
        if let Some(criterion) = open {
            let (open, ticked) = (format!("- [ ] {}", line(criterion)), format!("- [x] {}", line(criterion)));
            moves.extend(self.work(criterion));
            moves.push(Turn::call(
                "Edit",
                json!({ "file_path": list, "old_string": open, "new_string": ticked }),
            ));
        }
        moves
    }
}

/// What a model does for a brief of warp's.
fn answering(prompt: &str, worker: &Worker) -> Vec<Turn> {
    if !prompt.contains(CRITERIA) {
        let plan = json!({ "approach": APPROACH });
        return vec![Turn::bash("ls src && cat Makefile"), Turn::call(STRUCTURED, plan)];
    }
    let criteria = numbers(prompt.split(CRITERIA).last().unwrap_or_default());
    let mut moves: Vec<Turn> = criteria.iter().flat_map(|criterion| worker.work(*criterion)).collect();
    moves.push(Turn::call(STRUCTURED, answer(&criteria)));
    moves
}

/// What is answered when these criteria are met.
fn answer(criteria: &[usize]) -> Value {
    let evidence = |criterion: &usize| json!({ "ac": format!("AC-{criterion:02}"), "file": file(*criterion), "line": FILLING + 2 });
    json!({
        "summary": "Each script prints its word.",
        "evidence": criteria.iter().map(evidence).collect::<Vec<_>>(),
        "commit": { "type": "feat", "scope": "words", "subject": "print the words" },
    })
}

/// Returns the phase that warp says a run is in: after the last step that it tells, else where it says that the run stands.
fn phase(told: &str) -> Option<&str> {
    let mut steps = told.lines().rev().filter(|line| line.starts_with('#'));
    let stepped = steps.find_map(|line| line.split(" -> ").nth(1)?.split(' ').next());
    let stands = told.split("stands in phase `").skip(1).filter_map(|rest| rest.split('`').next()).last();
    stepped.or(stands)
}

/// Reads the criteria that stand at the beginning of a text: `AC-01, AC-02.`
fn numbers(text: &str) -> Vec<usize> {
    let list = text.split(['.', '\n']).next().unwrap_or_default();
    list.split(", ").filter_map(|name| name.trim().strip_prefix("AC-")?.parse().ok()).collect()
}

/// Returns the prompt that stands last in a conversation, and what was said since.
fn asked(request: &Request) -> (String, Vec<&Part>) {
    let marks = [PHASE, PLAIN, LOOP, COMMAND];
    let is_prompt = |index: &usize| {
        let entry = &request.entries[*index];
        let Part::Text(text) = &entry.part else { return false };
        entry.role == Role::User && marks.iter().any(|mark| text.contains(mark))
    };
    let Some(last) = (0..request.entries.len()).rfind(is_prompt) else {
        return (String::new(), Vec::new());
    };
    let prompt = request.entries[last].part.text().unwrap_or_default().to_owned();
    let since = request.entries[last + 1..].iter();
    let since = since.filter(|entry| entry.role == Role::Assistant || entry.part.result().is_some());
    (prompt, since.map(|entry| &entry.part).collect())
}
