//! Keeping what is unfinished of a run that was stopped, and filing the abort report.

use engine::{Run, workflow::JobOutcome};
use forge::ItemId;
use journal::Durable;
use project::{rails, spelled, unfinished_subject};

pub(crate) use crate::job::leaves_no_trace as settle;
use crate::{
    Context, JobError,
    job::{Report, Task},
    report::{key, summary},
};

/// The word of workflows for unfinished work that could not be kept as it should.
const FAILED: JobOutcome = JobOutcome::AbortCleanupFailed;

/// Where unfinished work is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Why it could not be kept as it should.
    pub failure: Option<String>,
    /// What was done with it, a line each.
    pub kept: Vec<String>,
    /// Its branch in the person's repository, where the next run of the issue looks for it.
    pub branch: Option<String>,
    /// Criteria that are open again in the issue.
    pub open_again: Vec<String>,
    pub report: ItemId,
}

/// Where the work of a run that was stopped is.
struct Saved {
    said: String,
    /// The branch in the person's repository.
    branch: Option<String>,
}

impl Outcome {
    pub(crate) fn report(self) -> Report {
        let open_again = (!self.open_again.is_empty())
            .then(|| format!("open again in the issue: {}", self.open_again.join(", ")));
        let mut report = match self.failure {
            Some(why) => Report::new(FAILED).with("failure", why),
            None => Report::new(JobOutcome::AbortResolved),
        };
        if let Some(branch) = self.branch {
            report = report.with("branch", branch);
        }
        report.say_all(self.kept).say_all(open_again).say(format!("the abort report is #{}", self.report))
    }
}

pub(crate) fn carry_out(
    cx: &mut Context<'_>,
    task: Task<'_>,
    durable: &Durable,
) -> Result<Outcome, JobError> {
    let run = task.run();
    let phase = task.current.workflow.phase(&run.phase);
    let may_fail = phase.is_some_and(|phase| phase.said(FAILED).is_some());
    let open_again = cx.untick_unfinished(run)?;
    let mut branch = None;
    let (kept, failure) = match cx.commit_unfinished(run, durable) {
        Ok(Some(saved)) => {
            branch = saved.branch;
            (vec![saved.said], None)
        }
        Ok(None) => (vec![cx.keep_unfinished(run)?], None),
        Err(JobError::World(why)) if may_fail => {
            let kept = cx.keep_unfinished(run).unwrap_or_else(|error| spelled(&error));
            (vec![why.clone(), kept], Some(why))
        }
        Err(error) => return Err(error),
    };
    let mut told = kept.clone();
    if !open_again.is_empty() {
        told.push(format!("open again in the issue: {}", open_again.join(", ")));
    }
    let title = format!("Session {} was stopped", run.id);
    let body = format!("{}\n{}\n", summary(run), told.join("\n"));
    let report = cx.file_away(&title, body, &["session-summary", "warp-drive"], &key(run, "abort"))?;
    Ok(Outcome { failure, kept, branch, open_again, report })
}

impl Context<'_> {
    /// Keeps what is not committed, and says where.
    fn keep_unfinished(&self, run: &Run) -> Result<String, JobError> {
        Ok(match rails::snapshot(&self.place, &self.dirs, run.id.as_str())? {
            Some(kept) => format!("uncommitted work is kept as {kept}, and stays in the tree"),
            None => "there is no uncommitted work that is not kept already".to_owned(),
        })
    }

    /// Commits unfinished work and leaves its branch in the person's repository, where the next run of the issue finds it. The
    /// branch of a pull request stays as its reviewers know it, and so does the branch that the work goes to.
    fn commit_unfinished(&mut self, run: &Run, durable: &Durable) -> Result<Option<Saved>, JobError> {
        let branch = self.git().branch();
        let is_shared = branch == run.branches.main_branch || branch == run.branches.merge_target;
        if branch.is_empty() || is_shared || run.issue.is_none() {
            return Ok(None);
        }
        let offered = self.offered(run)?;
        let (_, prepared) = self.prepare_commit(run)?;
        if let Some(why) = self.left_out_by_git(&prepared) {
            return Err(JobError::World(why));
        }
        // What the commit guard holds stays out of every branch; the salvage has it.
        let is_held = !self.held(run, &prepared)?.is_empty();
        let kept = if is_held { Some(self.keep_unfinished(run)?) } else { None };
        let has_changes = !is_held && !prepared.is_empty().map_err(JobError::World)?;
        if has_changes {
            let issue = run.issue.as_deref().unwrap_or_default();
            let message = format!("{}\n\nStopped in {}.\n", unfinished_subject(issue), run.phase);
            prepared.commit(&message).map_err(JobError::World)?;
            rails::remember(&self.place)?;
        }
        let head = self.git().head_commit().map_err(JobError::World)?;
        let began = run.chunk.first_base.as_ref() == Some(&head) || run.chunk.first_base.is_none();
        if began && !has_changes {
            let nothing = || "nothing new was done, so there is nothing to keep".to_owned();
            return Ok(Some(Saved { said: kept.unwrap_or_else(nothing), branch: None }));
        }
        self.keep_outside(run, &head)?;
        let again = if self.slot.is_some() { "warp run" } else { "/warp-drive" };
        let again = format!("`{again} {}` continues it", run.issue.as_deref().unwrap_or_default());
        if let Some(pull) = offered {
            let said = format!("what was done for pull request #{} is kept; {again}", pull.id);
            return Ok(Some(Saved { said, branch: None }));
        }
        let branch = match &self.slot {
            Some(slot) => slot.deliver(run.id.as_str(), &head, &branch, durable)?,
            None => branch,
        };
        let what = if has_changes { "unfinished work is committed" } else { "what was committed is" };
        let kept = kept.map(|kept| format!("; {kept}")).unwrap_or_default();
        let said = format!("{what} on branch `{branch}`; {again}{kept}");
        Ok(Some(Saved { said, branch: Some(branch) }))
    }
}
