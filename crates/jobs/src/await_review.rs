//! The review of a pull request: somebody approves it, sends it back, merges or closes it. Where the level says so, an
//! approval is enough for warp to merge it.

use std::{sync::Arc, time::Duration};

use adapters::clock::after;
use engine::{Act, Run, WaitKind, workflow::JobOutcome};
use forge::{Author, Item, ItemId, Pull, Review};
use journal::Durable;
use project::{Answer, Current, Dirs, Error, Place, Shell, pushing::Goal, spelled};

use crate::{
    Context, JobError, MergeError,
    job::{self, Report, Task},
    open_pull_request::goal,
    review,
};

/// How often a server is asked about a pull request that waits for a review.
const LOOK: Duration = Duration::from_secs(60);

/// What became of the pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Merged {
        commit: String,
        said: Vec<String>,
    },
    /// A reviewer wants this.
    ChangesRequested {
        review: String,
    },
    /// It does not fit onto its target.
    Conflicted {
        why: String,
    },
    /// A person has to look why nobody can merge it.
    Undecided {
        why: String,
    },
}

impl Outcome {
    pub(crate) fn report(self) -> Report {
        match self {
            Self::Merged { commit, said } => {
                Report::new(JobOutcome::Merged).with("commit", commit).say_all(said)
            }
            Self::ChangesRequested { review } => {
                Report::new(JobOutcome::ChangesRequested).with("review", review)
            }
            Self::Conflicted { why } => {
                Report::new(JobOutcome::MergeConflicted).with("failure", why.clone()).say(why)
            }
            Self::Undecided { why } => {
                Report::new(JobOutcome::Undecided).with("reason", why.clone()).say(why)
            }
        }
    }
}

/// Nothing is done but to look.
pub(crate) fn carry_out(cx: &mut Context<'_>, task: Task<'_>, _: &Durable) -> Result<Outcome, JobError> {
    settle(cx, task)?.ok_or_else(|| JobError::World("nobody has reviewed the pull request".to_owned()))
}

pub(crate) fn settle(cx: &mut Context<'_>, task: Task<'_>) -> Result<Option<Outcome>, JobError> {
    let item = pull(cx, task.run())?;
    let Some(pull) = &item.pull else { return Ok(None) };
    let words = || item.comments.last().map(|comment| comment.text.clone()).unwrap_or_default();
    Ok(match (&pull.merged, item.is_open(), pull.review) {
        (Some(commit), ..) => {
            cx.close_merged(task.run())?;
            Some(Outcome::Merged { commit: commit.clone(), said: Vec::new() })
        }
        (None, false, _) => Some(Outcome::Undecided { why: "the pull request was closed".to_owned() }),
        (None, true, Review::ChangesRequested) => Some(Outcome::ChangesRequested { review: words() }),
        (None, true, Review::Approved | Review::Pending) => {
            // What is said at a server rings no bell here.
            if cx.forge().capabilities().moves_branches {
                cx.look = Some(after(cx.dirs.clock.now(), LOOK));
            }
            None
        }
    })
}

/// Says how somebody decides about the pull request.
pub(crate) fn waits(cx: &mut Context<'_>, run: &Run) -> Result<String, JobError> {
    let item = pull(cx, run)?;
    let number = item.id;
    if let Some(pull) = item.pull.as_ref().filter(|pull| pull.review == Review::Approved) {
        let for_review = if goal(run) == Goal::Merge { cx.for_review(run, &pull.head)? } else { Vec::new() };
        let why = match for_review.as_slice() {
            [] => String::new(),
            files => format!("; {}", review::reason(files)),
        };
        return Ok(format!("#{number} is approved and waits for its merge{why}: `warp pr merge {number}`"));
    }
    Ok(format!(
        "#{number} waits for a review: `warp pr approve {number}`, `warp pr request-changes {number} TEXT`"
    ))
}

fn pull(cx: &mut Context<'_>, run: &Run) -> Result<Arc<Item>, JobError> {
    cx.pull_of(run)?.ok_or_else(|| JobError::World("the pull request is not there any more".to_owned()))
}

impl Context<'_> {
    /// Returns the pull request that a run waits for, if it is approved and the run's level says that warp merges it then.
    pub fn to_merge(&mut self, current: &Current) -> Result<Option<ItemId>, JobError> {
        let run = &current.run;
        let awaits = matches!(run.act(), Act::Wait { on: WaitKind::Review, .. });
        if !awaits || goal(run) != Goal::Merge {
            return Ok(None);
        }
        let is_approved = |item: &Arc<Item>| {
            let pull = item.pull.as_ref();
            item.is_open()
                && pull.is_some_and(|pull| pull.merged.is_none() && pull.review == Review::Approved)
        };
        let Some(item) = self.pull_of(run)?.filter(is_approved) else { return Ok(None) };
        let reviewer = self.forge_as(Author::reviewer()).whoami()?;
        let by_agent = |pull: &&Pull| pull.reviewed_by.as_ref() == Some(&reviewer.name);
        if let Some(pull) = item.pull.as_ref().filter(by_agent)
            && !self.merges_approved(current, &pull.head)?
        {
            return Ok(None);
        }
        Ok(Some(item.id))
    }

    /// Tells whether warp merges what an agent has approved at a commit: the run's level says so, and nothing of it is for a
    /// person to merge.
    pub fn merges_approved(&mut self, current: &Current, head: &str) -> Result<bool, JobError> {
        let run = &current.run;
        Ok(goal(run) == Goal::Merge && self.for_review(run, head)?.is_empty())
    }

    /// Sends a pull request back to its author, who is asked for this.
    pub fn send_back_reviewed(
        &mut self,
        current: &Current,
        review: String,
    ) -> Result<(Vec<String>, Option<Answer>), JobError> {
        self.report(current, job::Outcome::AwaitReview(Outcome::ChangesRequested { review }), false)
    }

    /// Leaves the review of a pull request to a person.
    pub fn leave_review(
        &mut self,
        current: &Current,
        why: String,
    ) -> Result<(Vec<String>, Option<Answer>), JobError> {
        self.report(current, job::Outcome::AwaitReview(Outcome::Undecided { why }), false)
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
        let outcome = match self.merge_for(run, number, shell) {
            Ok(merged) => Outcome::Merged { said: merged.lines(), commit: merged.commit },
            Err(MergeError::Merged { commit, .. }) => Outcome::Merged { commit, said: Vec::new() },
            Err(MergeError::Stuck { why, .. }) => Outcome::Conflicted { why },
            Err(error) => Outcome::Undecided { why: spelled(&error) },
        };
        if let Outcome::Merged { .. } = outcome {
            self.close_merged(run)?;
        }
        self.report(current, job::Outcome::AwaitReview(outcome), false)
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
