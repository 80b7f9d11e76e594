//! What became of the runs of a project since a time: the facts of `warp report`.

use engine::{
    Run, Standing, Time, Usage,
    view::{self, Asked},
};
use forge::ItemId;
use serde::Serialize;

use crate::{
    Current, Error, StintOutcome, Workspace,
    outlook::AtRemote,
    spend::{Ledger, LedgerError},
};

/// The version of the JSON that is printed.
const VERSION: u32 = 1;

/// What became of the issues and features of a project that were worked on since a time.
#[derive(Debug, Serialize)]
pub struct Report {
    pub version: u32,
    pub project: String,
    pub since: Time,
    pub until: Time,
    /// The most recent last.
    pub runs: Vec<RunReport>,
}

/// What became of one run, with the earlier runs of its issue.
#[derive(Debug, Serialize)]
pub struct RunReport {
    /// The newest run.
    pub run: String,
    pub issue: Option<String>,
    /// The title of its issue, or what was asked for.
    pub title: String,
    #[serde(flatten)]
    pub state: RunState,
    /// How many acceptance criteria it has met.
    pub criteria: usize,
    pub skipped: Vec<Skipped>,
    /// Tests that were removed or are skipped since, which a person has accepted.
    pub tests: Vec<String>,
    /// Whether the remote has what was merged or is offered, if there is a remote.
    pub pushed: Option<AtRemote>,
    /// What it has spent in all.
    pub spent: Usage,
    pub started_at: Time,
    pub updated_at: Time,
}

/// Where a run stands, as somebody wants to know in the morning.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RunState {
    Merged {
        commit: Option<String>,
    },
    /// It was merged and undone later.
    Reverted,
    ReadyForReview {
        pull: ItemId,
    },
    /// A person has closed its pull request without merging it.
    ClosedUnmerged {
        pull: ItemId,
    },
    WaitingForYou {
        asked: Asked,
    },
    Running {
        phase: String,
    },
    /// Its process is gone; `warp run` resumes it.
    Interrupted {
        phase: String,
    },
    Stopped,
    /// It ended without a merge or a pull request.
    Failed {
        phase: String,
    },
}

/// A part of an issue that was not done.
#[derive(Debug, Serialize)]
pub struct Skipped {
    pub criteria: Vec<String>,
    pub why: String,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error(transparent)]
    Failed(#[from] Error),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl RunReport {
    /// Adds what an earlier run of the same issue has done and spent.
    fn after(mut self, earlier: &Self) -> Self {
        self.criteria += earlier.criteria;
        self.tests.splice(..0, earlier.tests.iter().cloned());
        self.spent.add(&earlier.spent);
        self.started_at = earlier.started_at;
        self
    }
}

impl Workspace {
    /// Reports on every run that did something since a time.
    pub fn report(&mut self, since: Time) -> Result<Report, ReportError> {
        let mut ledger = Ledger::open_existing(&self.dirs)?;
        let mut runs: Vec<RunReport> = Vec::new();
        let mut found = self.runs()?;
        found.retain(|current| current.run.updated_at >= since);
        found.sort_by_key(|current| (current.run.started_at, current.run.id.clone()));
        if let (Some(ledger), Some(first)) = (&mut ledger, found.first()) {
            ledger.follow(first.run.started_at)?;
        }
        for current in &found {
            let report = self.report_run(current, ledger.as_ref())?;
            let is_same = |earlier: &RunReport| report.issue.is_some() && earlier.issue == report.issue;
            let earlier = runs.iter().position(is_same).map(|index| runs.remove(index));
            runs.push(match earlier {
                Some(earlier) => report.after(&earlier),
                None => report,
            });
        }
        Ok(Report { version: VERSION, project: self.place.name(), since, until: self.dirs.clock.now(), runs })
    }

    fn report_run(&mut self, current: &Current, ledger: Option<&Ledger>) -> Result<RunReport, Error> {
        let run = &current.run;
        let number = run.issue.as_deref().and_then(ItemId::typed);
        let item = number.map(|number| self.tracker().item(number)).transpose()?.flatten();
        let title = item.map(|item| item.title.clone()).or_else(|| run.feature.clone()).unwrap_or_default();
        let skipped = run.deferred.iter();
        let skipped = skipped.map(|chunk| Skipped { criteria: chunk.acs.clone(), why: chunk.why.clone() });
        let stints = self.stints(current)?;
        let state = match stints.last() {
            Some(last) if last.is_undone => RunState::Reverted,
            Some(last) => match &last.outcome {
                StintOutcome::Merged(commit) => RunState::Merged { commit: commit.clone() },
                StintOutcome::HandedOver(pull) => self.state_of_pull(*pull)?,
                StintOutcome::Pending => self.state_of(current)?,
            },
            None => self.state_of(current)?,
        };
        let tests = run.accepted_held.iter().filter(|held| held.kind.is_about_tests());
        let pushed = self.pushed(current, &state)?;
        let mut spent = Usage::default();
        let lines = ledger.into_iter().flat_map(|ledger| ledger.books().lines());
        lines.filter(|line| line.tags.run == run.id.as_str()).for_each(|line| spent.add(&line.usage));
        Ok(RunReport {
            run: run.id.to_string(),
            issue: run.issue.clone(),
            title,
            state,
            criteria: stints.iter().flat_map(|stint| stint.criteria()).count(),
            skipped: skipped.collect(),
            tests: tests.map(ToString::to_string).collect(),
            pushed,
            spent,
            started_at: run.started_at,
            updated_at: run.updated_at,
        })
    }

    fn state_of_pull(&mut self, number: ItemId) -> Result<RunState, Error> {
        let item = self.forge().pull(number)?;
        let is_open = item.as_ref().is_some_and(|item| item.is_open());
        let merged = item.and_then(|item| item.pull.as_ref().and_then(|pull| pull.merged.clone()));
        Ok(match (merged, is_open) {
            (Some(commit), _) => RunState::Merged { commit: Some(commit) },
            (None, true) => RunState::ReadyForReview { pull: number },
            (None, false) => RunState::ClosedUnmerged { pull: number },
        })
    }

    /// Says whether the remote has what a run has come to.
    fn pushed(&self, current: &Current, state: &RunState) -> Result<Option<AtRemote>, Error> {
        Ok(match state {
            RunState::Merged { commit: Some(commit) } => {
                self.at_remote(&current.run.branches.merge_target, commit)
            }
            RunState::ReadyForReview { pull } => {
                let pull = self.forge().pull(*pull)?.and_then(|item| item.pull.clone());
                pull.and_then(|pull| self.at_remote(&pull.branch, &pull.head))
            }
            RunState::Merged { commit: None }
            | RunState::Reverted
            | RunState::ClosedUnmerged { .. }
            | RunState::WaitingForYou { .. }
            | RunState::Running { .. }
            | RunState::Interrupted { .. }
            | RunState::Stopped
            | RunState::Failed { .. } => None,
        })
    }

    fn state_of(&self, current: &Current) -> Result<RunState, Error> {
        let run: &Run = &current.run;
        if let Some(asked) = view::asked(&current.workflow, run) {
            return Ok(RunState::WaitingForYou { asked });
        }
        let phase = run.phase.to_string();
        Ok(match &run.standing {
            Standing::Stopped => RunState::Stopped,
            Standing::Ended { .. } if run.aborted => RunState::Stopped,
            Standing::Ended { .. } => RunState::Failed { phase },
            Standing::Active | Standing::Parked { .. } | Standing::Suspended { .. } => {
                if self.is_left(run)? {
                    RunState::Interrupted { phase }
                } else {
                    RunState::Running { phase }
                }
            }
        })
    }
}
