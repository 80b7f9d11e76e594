//! The review of a pull request: somebody approves it, sends it back, merges or closes it. Where the level says so, an
//! approval is enough for warp to merge it.

use std::sync::Arc;

use engine::{Act, Run, WaitKind, keys};
use forge::{Item, ItemId, Review};
use project::{Answer, Current, Dirs, Error, Place, Shell, pushing::Goal, spelled};
use serde_json::json;

use crate::{Context, JobError, MergeError, advance::Report};

impl Context<'_> {
    /// Looks what has become of the run's pull request; says how somebody decides about it.
    pub(crate) fn await_review(&mut self, run: &Run) -> Result<Result<Report, String>, JobError> {
        let Some(item) = self.pull_of(run)? else {
            return Err(JobError::World("the pull request is not there any more".to_owned()));
        };
        let Some(pull) = &item.pull else {
            return Err(JobError::World(format!("#{} is no pull request", item.id)));
        };
        let words = || item.comments.last().map(|comment| comment.text.as_str()).unwrap_or_default();
        let number = item.id;
        Ok(Ok(match (&pull.merged, item.is_open(), pull.review) {
            (Some(commit), ..) => self.merged(run, commit)?,
            (None, false, _) => undecided("the pull request was closed"),
            (None, true, Review::ChangesRequested) => {
                Report::new("changes_requested").with("review", json!(words()))
            }
            (None, true, Review::Approved | Review::Pending) => {
                return Ok(Err(format!(
                    "#{number} waits for a review: `warp pr approve {number}`, `warp pr request-changes {number} TEXT`"
                )));
            }
        }))
    }

    /// Returns the pull request that a run waits for, if it is approved and the run's level says that warp merges it then.
    pub fn to_merge(&mut self, current: &Current) -> Result<Option<ItemId>, JobError> {
        let run = &current.run;
        let awaits = matches!(run.act(), Act::Wait { on: WaitKind::Review, .. });
        if !awaits || Goal::of(run.level, run.settings.get(keys::AUTO_MERGE)) != Goal::Merge {
            return Ok(None);
        }
        let is_approved = |item: &Arc<Item>| {
            let pull = item.pull.as_ref();
            item.is_open()
                && pull.is_some_and(|pull| pull.merged.is_none() && pull.review == Review::Approved)
        };
        Ok(self.pull_of(run)?.filter(is_approved).map(|item| item.id))
    }

    /// Merges a pull request that was approved. `shell` says how its tests are run in the workspace that is taken.
    pub fn merge_approved(
        &mut self,
        current: &Current,
        number: ItemId,
        shell: impl FnOnce(&Place, &Dirs, &Run) -> Result<Shell, Error>,
    ) -> Result<(Vec<String>, Option<Answer>), JobError> {
        self.sync()?;
        let run = &current.run;
        let report = match self.merge_for(run, number, shell) {
            Ok(merged) => Report { said: merged.lines(), ..self.merged(run, &merged.commit)? },
            Err(MergeError::Merged { commit, .. }) => self.merged(run, &commit)?,
            Err(MergeError::Stuck { why, .. }) => Report::new("merge_conflicted").with("failure", json!(why)),
            Err(error) => undecided(&spelled(&error)),
        };
        self.report(current, report)
    }

    fn merged(&mut self, run: &Run, commit: &str) -> Result<Report, JobError> {
        self.close_merged(run)?;
        Ok(Report::new("merged").with("commit", json!(commit)))
    }

    /// Closes the issue whose work is merged: whoever approved that has seen what it meets.
    pub fn close_merged(&mut self, run: &Run) -> Result<(), JobError> {
        self.sync_journal()?;
        if let Some(number) = run.issue.as_deref().and_then(ItemId::typed) {
            self.tracker().close(number, Some("merged"))?;
        }
        Ok(())
    }
}

fn undecided(why: &str) -> Report {
    Report::new("undecided").with("reason", json!(why)).say(why)
}
