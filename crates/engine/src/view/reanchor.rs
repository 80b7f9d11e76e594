//! The re-anchor text: what an agent is told at the end of a turn, so that it goes on where it stands.
//!
//! Facts only: where the loop stands, what is behind it, what did not work, and what proves the phase done.

use super::progress::one_line;
use crate::{Run, Time, Workflow, keys, step::receipts, workflow::Phase};

/// The most that is said, in characters. Clients cut what is longer than 10,000, and a caller may add a word.
const LONGEST: usize = 8_900;
/// The most that is said of one entry of a list.
const LONGEST_ENTRY: usize = 400;

/// Returns what an agent is told about a loop that goes on.
pub fn reanchor(workflow: &Workflow, run: &Run, now: Time) -> String {
    let phase = workflow.phase(&run.phase);
    let mut text = Text::default();
    text.line(format!("Run {} of {} resumes. It stands in phase `{}`.", run.id, run.workflow, run.phase));
    if let Some(feature) = &run.feature {
        text.line(format!("Feature: {}", short(feature)));
    }
    text.line(format!(
        "Purpose of the phase: {}.",
        phase.map(|phase| phase.purpose.as_str()).unwrap_or_default()
    ));
    text.line(standing(run, now));
    let done: Vec<&str> = run.phases_completed.iter().map(|phase| phase.as_str()).collect();
    let done = done.get(done.len().saturating_sub(20)..).unwrap_or_default();
    text.line(format!(
        "Done: {}.",
        if done.is_empty() { "nothing yet".to_owned() } else { done.join(" → ") }
    ));
    let artifacts =
        ["brainstorm_file", "plan_file", "acceptance_tests_file", "progress_file", "pr_url", "branch"];
    for name in artifacts {
        if let Some(value) = run.artifacts.entry(name) {
            text.line(format!("{name}: {}", short(value)));
        }
    }
    proof(&mut text, workflow, run, phase);
    text.list(
        "Errors on record, the newest first:",
        run.errors.iter().rev().take(3).map(|error| format!("{}: {}", error.phase, error.message)),
    );
    let tried = run.checkpoints.iter().rev().flat_map(|checkpoint| &checkpoint.failed_approaches);
    text.list("Approaches that failed; another is wanted:", tried.take(8).cloned());
    text.list(
        "Checkpoints, the newest first:",
        run.checkpoints
            .iter()
            .rev()
            .take(4)
            .map(|checkpoint| format!("{}: {}", checkpoint.phase, checkpoint.summary)),
    );
    text.0.chars().take(LONGEST).collect()
}

fn standing(run: &Run, now: Time) -> String {
    let of = |counter: &str, limit| format!("{}/{}", run.counter(counter), run.settings.get(limit));
    format!(
        "Iteration {} of the loop, {} of the phase, fix cycles {}; minutes in the phase: {}.",
        of("global_iteration", keys::MAX_ITERATIONS),
        of("phase_iteration", keys::MAX_PHASE_ITERATIONS),
        of("fix_review_cycles", keys::MAX_FIX_CYCLES),
        now.minutes_since(run.entered_at()),
    )
}

/// Says what proves the phase done, and with which event to say so.
fn proof(text: &mut Text, workflow: &Workflow, run: &Run, phase: Option<&Phase>) {
    let Some(phase) = phase else { return };
    if let Some(kind) = phase.receipt {
        text.line(format!("What proves the phase done: {}.", receipts::wants(kind)));
    }
    let may = if phase.may.iter().any(|may| may == "git_commit") { "allowed" } else { "not allowed" };
    text.line(format!("Commits are {may} in this phase. Warp pushes and opens the pull request."));
    let example = receipts::example(phase).unwrap_or_else(|| "{}".to_owned());
    let open = phase.rows.iter().filter(|row| !row.needs_person(&run.settings));
    let asking = workflow.questions.iter().filter(|question| question.phase == phase.name);
    let waits =
        asking.clone().any(|question| question.unless.is_none_or(|setting| !run.settings.get(setting)));
    let events = open.map(|row| row.event.as_str()).chain(asking.map(|question| question.event.as_str()));
    let events: Vec<&str> = events.collect();
    if !events.is_empty() {
        text.line("Say so with:".to_owned());
    }
    for event in events {
        text.line(format!("  warp state transition . {event} --data '{example}'"));
    }
    if waits {
        text.line("Then a person looks at it; the run waits for their answer.".to_owned());
    }
    if workflow.is_final(&phase.name) && workflow.close_event.is_some() {
        let promise = run.settings.get(keys::COMPLETION_PROMISE);
        text.line(
            "`warp next` opens the pull request, pushes what may leave, and ends the loop if every receipt holds."
                .to_owned(),
        );
        text.line(
            "A person who opened it says: warp state transition . noted --data '{\"pr_url\":\"https://…\"}'"
                .to_owned(),
        );
        text.line(format!(
            "If it does not end, the last message of the turn ends it, with this in it: <promise>{promise}</promise>"
        ));
    }
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn line(&mut self, line: String) {
        self.0.push_str(&line);
        self.0.push('\n');
    }

    fn list(&mut self, title: &str, entries: impl Iterator<Item = String>) {
        for (index, entry) in entries.enumerate() {
            if index == 0 {
                self.line(title.to_owned());
            }
            self.line(format!("- {}", short(&entry)));
        }
    }
}

fn short(text: &str) -> String {
    let text = one_line(text);
    if text.chars().count() <= LONGEST_ENTRY {
        return text;
    }
    text.chars().take(LONGEST_ENTRY - 1).chain(['…']).collect()
}
