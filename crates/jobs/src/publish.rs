//! The life of a pull request, where an agent hands its work in again and again: publish, check.
//!
//! The agent neither commits nor pushes. What it hands in is committed as it is, delivered under one branch, and offered
//! by one pull request, whose head moves on with every round. Checks are the project's own tests, on what was committed.

use std::sync::Arc;

use adapters::boundary;
use engine::Run;
use forge::{Checks as _, ChecksState, CommandChecks, CommandRun, CommandState, Item, ItemId, NewPull};
use journal::Durable;
use project::{Current, pushing::Goal, rails};
use suite::SuiteError;

use crate::{Context, JobError, git_hooks, issue, report, review, words::short};

/// Work that was handed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// The pull request.
    pub number: ItemId,
    pub branch: String,
    pub commit: String,
    /// What was pushed, or why nothing was; nothing where there is no remote.
    pub pushed: Option<String>,
}

/// What the checks of a pull request came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checked {
    pub(crate) passed: bool,
    /// How they ended, in a line of words, and the last of what they printed.
    pub(crate) log: String,
}

impl Checked {
    /// Returns how they ended, in words.
    pub(crate) fn said(&self) -> &str {
        self.log.lines().next().unwrap_or_default()
    }
}

impl Context<'_> {
    /// Commits what is there, delivers it, and opens the run's pull request or moves it on.
    pub fn publish(&mut self, current: &Current, durable: &Durable) -> Result<Published, JobError> {
        let run = &current.run;
        let title = issue::title(&*self.tracker(), run)?;
        let message = report::commit_message(title.as_deref(), None, run);
        if let Err(error) = self.commit_all(run, &message) {
            return Err(JobError::World(self.told_or_held(error)?));
        }
        let commit = self.git().head_commit().map_err(JobError::World)?;
        let branch = self.git().branch();
        let target = self.slot.as_ref().map(|slot| slot.bring_target(&run.branches.merge_target, None));
        if target.and_then(Result::ok).is_some_and(|target| target == commit) {
            return Err(JobError::World("nothing is changed, so there is nothing to hand in".to_owned()));
        }
        let (branch, pushed) = match &self.slot {
            Some(slot) => {
                let branch = slot.deliver(run.id.as_str(), &commit, &branch, durable)?;
                let outlet = self.outlet(run, Goal::of(run.level, false))?;
                let target = run.branches.merge_target.clone();
                let pushed = self.push_to_offer(&outlet, &target, (&commit, &branch))?;
                (branch, pushed)
            }
            None => (branch, None),
        };
        let number = self.offer_pull(run, &branch, &commit)?;
        Ok(Published { number, branch, commit, pushed })
    }

    /// Returns the pull request that a run has opened.
    pub fn pull_of(&mut self, run: &Run) -> Result<Option<Arc<Item>>, JobError> {
        let forge = self.forge();
        match forge.opened(&marker(run))? {
            Some(id) => Ok(forge.pull(id)?),
            None => Ok(None),
        }
    }

    /// Tells whether all that is there is handed in.
    pub(crate) fn is_published(&mut self, run: &Run) -> Result<bool, JobError> {
        let is_clean = self.prepare_commit(run)?.1.is_empty().map_err(JobError::World)?;
        let head = self.git().head_commit().map_err(JobError::World)?;
        let pull = self.pull_of(run)?.and_then(|item| item.pull.clone());
        Ok(is_clean && pull.is_some_and(|pull| pull.head == head))
    }

    /// Runs the checks of what was handed in last.
    pub(crate) fn check_pull(&mut self, run: &Run) -> Result<Checked, JobError> {
        let commit = self.git().head_commit().map_err(JobError::World)?;
        let checks = CommandChecks::new(|_| match suite::run(&self.shell, &self.place, run) {
            Ok(outcome) => {
                let state = if outcome.passed { CommandState::Passed } else { CommandState::Failed };
                Ok(CommandRun { state, output: format!("{}\n{}", outcome.said, outcome.output) })
            }
            Err(SuiteError(why)) => Ok(CommandRun { state: CommandState::Infra, output: why }),
        });
        checks.restart(&commit)?;
        let log = checks.log(&checks.step(&commit))?;
        match checks.state(&commit)? {
            ChecksState::Passed => Ok(Checked { passed: true, log }),
            ChecksState::Failed(_) => Ok(Checked { passed: false, log }),
            ChecksState::Infra(_)
            | ChecksState::None
            | ChecksState::NotStarted
            | ChecksState::Running
            | ChecksState::Skipped => Err(JobError::World(log)),
        }
    }

    /// Commits all that is there, if there is anything.
    pub(crate) fn commit_all(&mut self, run: &Run, message: &str) -> Result<(), JobError> {
        let (_, mut prepared) = self.prepare_commit(run)?;
        if let Some(why) = self.left_out_by_git(&prepared) {
            return Err(JobError::World(why));
        }
        if prepared.is_empty().map_err(JobError::World)? {
            return Ok(());
        }
        if git_hooks::pre_commit(&self.shell, &self.place, &prepared)? {
            prepared.take_in().map_err(JobError::World)?;
        }
        let held = self.held(run, &prepared)?;
        if !held.is_empty() {
            return Err(JobError::Held(held));
        }
        let message = git_hooks::commit_msg(&self.shell, &self.place, &mut prepared, message)?;
        let hash = prepared.commit(&message).map_err(JobError::World)?;
        rails::remember(&self.place)?;
        self.keep_outside(run, &hash)
    }

    pub(crate) fn offer_pull(&mut self, run: &Run, branch: &str, commit: &str) -> Result<ItemId, JobError> {
        if let Some(item) = self.pull_of(run)? {
            boundary::around("offer", || self.forge().offer_head(item.id, commit, None))?;
            return Ok(item.id);
        }
        let number = run.issue.as_deref().and_then(ItemId::typed);
        let title = issue::title(&*self.tracker(), run)?;
        let criteria = issue::criteria(&*self.tracker(), run)?;
        let pull = NewPull {
            title: title
                .or_else(|| run.feature.as_deref().map(report::title_of))
                .unwrap_or_else(|| branch.to_owned()),
            body: review::on_top(&self.for_review(run, commit)?, report::pull(run, &criteria)),
            branch: branch.to_owned(),
            target: run.branches.merge_target.clone(),
            head: commit.to_owned(),
            issue: number,
            run: Some(run.id.to_string()),
        };
        let filed = self.forge().ensure_pull(&pull, &marker(run))?;
        if let Some(number) = number {
            let words = format!("Ready for review as pull request #{}.", filed.id);
            self.comment(number, &words, &handed_over(run))?;
        }
        Ok(filed.id)
    }
}

impl Published {
    /// Says what was handed in.
    pub fn said(&self) -> String {
        let pushed = self.pushed.as_ref().map(|pushed| format!("; {pushed}")).unwrap_or_default();
        format!(
            "`{}` is at {}; opened pull request #{}{pushed}",
            self.branch,
            short(&self.commit),
            self.number
        )
    }
}

/// Returns the marker under which a run's pull request is opened.
pub(crate) fn marker(run: &Run) -> String {
    format!("pull:{}:{}", run.id, run.issue.as_deref().unwrap_or_default())
}

/// Returns the marker of the comment that says in an issue which pull request its work is handed over as.
pub(crate) fn handed_over(run: &Run) -> String {
    format!("handed-over:{}", run.id)
}
