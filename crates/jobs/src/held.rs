//! What the commit guard holds: the agent is told first, and what remains is a person's decision.
//!
//! A finding that was told once in the chunk and is still there becomes a question. `accept` holds for exactly that finding
//! in this run. Criteria are not ticked while it is open, because the chunk may be skipped.

use adapters::{git::Prepared, secrets::Secrets};
use commit_guard::Limits;
use engine::{Actor, COMMIT_GUARD, Event, Held, Run, keys};
use project::{Answer, Current, counted};
use serde_json::{Map, Value, json};

use crate::{Context, JobError, issue, run_tests};

/// The answer by which a person takes what is held.
const ACCEPT: &str = "accept";
/// How many findings are told at once.
const TOLD: usize = 20;

impl Context<'_> {
    /// Returns what the guard holds of a commit in the making, without what a person has accepted.
    pub(crate) fn held(&self, run: &Run, prepared: &Prepared<'_>) -> Result<Vec<Held>, JobError> {
        if !run.settings.get(keys::COMMIT_GUARD) {
            return Ok(Vec::new());
        }
        let change = commit_guard::look(&self.git(), &self.place.root, prepared).map_err(JobError::World)?;
        let mut held = commit_guard::judge(&change, &Limits::of(run), &Secrets::of_environment());
        held.retain(|held| !run.has_accepted(held));
        Ok(held)
    }

    /// Sends a chunk back to the agent for what is held, or asks a person if the agent was told before.
    pub(crate) fn send_back_held(
        &mut self,
        run: &Run,
        held: Vec<Held>,
    ) -> Result<run_tests::Outcome, JobError> {
        self.untick(run)?;
        let told = &run.facts.chunk.held;
        if held.iter().any(|held| told.iter().any(|told| told.is_same(held))) {
            return Err(JobError::Held(held));
        }
        let failure = told_to_agent(&held);
        let said = vec![failure.clone()];
        Ok(run_tests::Outcome::Failed { failure, check: Some(COMMIT_GUARD), held, said })
    }

    /// Returns what the agent of a loop is told of what is held, once; what remains then is a person's to decide.
    pub(crate) fn told_or_held(&mut self, error: JobError) -> Result<String, JobError> {
        let JobError::Held(held) = error else { return Err(error) };
        let was_told = |held: &Held| self.told_held.iter().any(|told| told.is_same(held));
        if held.iter().any(was_told) {
            return Err(JobError::Held(held));
        }
        let words = told_to_agent(&held);
        self.told_held.extend(held);
        Ok(words)
    }

    /// Ticks the criteria again that were open while a person was asked.
    pub(crate) fn tick_accepted(&mut self, run: &Run) -> Result<(), JobError> {
        if run.docs_updated && !run.accepted_held.is_empty() {
            let Some(issue) = &run.issue else { return Ok(()) };
            issue::tick(&*self.tracker(), issue, run.current_criteria())?;
        }
        Ok(())
    }

    /// Asks a person about what is held.
    pub fn ask_about_held(
        &mut self,
        current: &Current,
        held: &[Held],
    ) -> Result<(Vec<String>, Option<Answer>), JobError> {
        let event = Event::QuestionAsked {
            kind: COMMIT_GUARD.to_owned(),
            question: question(&current.run, held),
            options: vec![ACCEPT.to_owned()],
        };
        let data: Map<String, Value> = Map::from_iter([("held".to_owned(), json!(held))]);
        let answer = self.ask_as(Actor::Engine, event, data)?;
        Ok((Vec::new(), Some(answer)))
    }
}

/// Says what is held, to an agent that can fix it.
fn told_to_agent(held: &[Held]) -> String {
    let count = counted(held.len() as u64, "finding", "findings");
    format!(
        "Nothing was committed: the commit guard holds {count}.\n{}Fix each of them. If one is wanted as it is, leave it and say \
         why in your summary: a person then decides.",
        lines(held)
    )
}

fn question(run: &Run, held: &[Held]) -> String {
    let count = counted(held.len() as u64, "finding", "findings");
    let first = held.first().map(ToString::to_string).unwrap_or_default();
    let about = match run.current_criteria() {
        [] => "the work".to_owned(),
        criteria => format!("the work on {}", criteria.join(", ")),
    };
    format!(
        "The commit guard holds {about}: {first}\n{count} that the agent was told of and did not fix:\n{}`accept` commits it as it is.",
        lines(held)
    )
}

fn lines(held: &[Held]) -> String {
    let mut text: String =
        held.iter().take(TOLD).map(|held| format!("- {held}; {}\n", held.kind.remedy())).collect();
    if let Some(more) = held.len().checked_sub(TOLD).filter(|more| *more > 0) {
        text.push_str(&format!("- and {more} more\n"));
    }
    text
}
