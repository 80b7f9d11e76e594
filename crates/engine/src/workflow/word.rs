//! Words: what an agent in a terminal writes to say where it is, and which events of a workflow they stand for.
//!
//! The words of the phase protocol are the same for every workflow; what leads where they say is found by jobs and by what
//! phases are for. Any other word is the name of an event, or of the phase that one leads to.

use super::{Activity, Job, JobOutcome, Phase, Row, Workflow};
use crate::{EventName, Run};

/// What a word means in the phase that a run is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Means {
    /// The work is handed in by this event.
    HandedIn(EventName),
    /// The agent says that all is over; that has to be looked up.
    Over,
    Said(EventName),
    /// The run is there already.
    Known,
    Nothing,
}

impl Workflow {
    /// Says what a word means in the phase that the run is in.
    pub fn means(&self, run: &Run, word: &str) -> Means {
        let Some(here) = self.phase(&run.phase) else { return Means::Nothing };
        let said = |row: Option<&Row>| match row.filter(|row| !row.needs_person(&run.settings)) {
            Some(row) => Means::Said(row.event.clone()),
            None => Means::Nothing,
        };
        match word {
            "done" => Means::Over,
            "awaiting_ci" if here.job == Some(Job::AwaitChecks) => Means::Known,
            "awaiting_review" if here.job == Some(Job::AwaitReview) => Means::Known,
            // Where work is done, to wait for the review means that it is handed in once more.
            "awaiting_ci" | "awaiting_review" => {
                let row = self.leading(here, |phase| phase.job == Some(Job::AwaitChecks));
                row.filter(|_| here.activity == Activity::Agent)
                    .map_or(Means::Nothing, |row| Means::HandedIn(row.event.clone()))
            }
            "needs_human" if self.decides_on_budgets(&here.name) => Means::Known,
            "needs_human" => said(self.leading(here, |phase| self.decides_on_budgets(&phase.name))),
            "failed" => said(self.leading(here, |phase| phase.fails)),
            word if here.name == word => Means::Known,
            word => {
                let by_name = here.rows.iter().find(|row| row.event == *word);
                said(by_name.or_else(|| self.leading(here, |phase| phase.name == word)))
            }
        }
    }

    /// Returns the event by which a run fails in the phase that it is in.
    pub fn failing_event(&self, run: &Run) -> Option<&EventName> {
        self.leading(self.phase(&run.phase)?, |phase| phase.fails).map(|row| &row.event)
    }

    /// Returns the event that says in the phase that the run is in that its pull request is merged.
    pub fn merged_event(&self, run: &Run) -> Option<&EventName> {
        let reviewed = self.phases.iter().find(|phase| phase.job == Some(Job::AwaitReview))?;
        let merged = reviewed.said(JobOutcome::Merged)?;
        self.row(&run.phase, merged.as_str()).map(|row| &row.event)
    }

    /// Tells whether an agent in a terminal can work by it: it hands in pull requests that are checked and reviewed.
    pub fn is_for_terminal(&self) -> bool {
        let has = |job| self.phases.iter().any(|phase| phase.job == Some(job));
        has(Job::AwaitChecks) && has(Job::AwaitReview)
    }

    /// Returns the first row out of a phase that leads to one like this.
    fn leading<'a>(&'a self, from: &'a Phase, is_meant: impl Fn(&Phase) -> bool) -> Option<&'a Row> {
        let leads = |row: &&Row| {
            self.targets(&from.name, row).into_iter().filter_map(|to| self.phase(to)).any(&is_meant)
        };
        from.rows.iter().find(leads)
    }
}
