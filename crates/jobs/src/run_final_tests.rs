//! Testing what is committed: nothing else may lie in the tree, but for what was there when the run began.

use engine::{Run, workflow::JobOutcome};
use journal::Durable;

pub(crate) use crate::job::leaves_no_trace as settle;
use crate::{
    Context, JobError,
    job::{Report, Task},
    words::{are, short},
};

/// A commit that has passed its tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub commit: String,
    pub said: String,
    /// Files that lay there during the test and are not committed.
    pub left_out: Vec<String>,
}

impl Outcome {
    pub(crate) fn report(self) -> Report {
        let left_out = (!self.left_out.is_empty())
            .then(|| format!("{} not committed, and lay there during the test", are(&self.left_out)));
        let said = format!("{}: {}", short(&self.commit), self.said);
        Report::new(JobOutcome::MergeReady).with("commit", self.commit).say(said).say_all(left_out)
    }
}

pub(crate) fn carry_out(cx: &mut Context<'_>, task: Task<'_>, _: &Durable) -> Result<Outcome, JobError> {
    let run = task.run();
    // What is run now may look at views.
    cx.show_now()?;
    let look = || -> Result<(Vec<String>, String), JobError> {
        if cx.slot.is_some() && cx.git().is_all_committed().map_err(JobError::World)? {
            return Ok((Vec::new(), cx.git().head_commit().map_err(JobError::World)?));
        }
        let (left_out, prepared) = cx.prepare_commit(run)?;
        let (head, tree) = cx.git().head_and_tree().map_err(JobError::World)?;
        if prepared.tree().map_err(JobError::World)? == tree {
            return Ok((left_out, head));
        }
        let files = cx.git().not_committed().map_err(JobError::World)?;
        let files: Vec<String> = files.into_keys().filter(|file| !left_out.contains(file)).collect();
        Err(JobError::World(format!(
            "what is merged is what is committed, and {} not: a person commits or removes them, then `warp next`",
            are(&files)
        )))
    };
    cx.put_away(run)?;
    let (left_out, head) = look()?;
    let outcome = suite::run(&cx.shell, &cx.place, run)?;
    if let Some(held) = outcome.held {
        return Err(JobError::Held(vec![held]));
    }
    if !outcome.passed {
        return Err(JobError::World(format!(
            "{}; a person has to look at it\n{}",
            outcome.said, outcome.output
        )));
    }
    suite::remember(&cx.place, run, &head, &outcome)?;
    if cx.git().head_commit().map_err(JobError::World)? != head {
        return Err(JobError::World(
            "HEAD has moved while the tests ran; `warp next` tests again".to_owned(),
        ));
    }
    Ok(Outcome { commit: head, said: outcome.said, left_out })
}

impl Context<'_> {
    /// In a workspace of the run's own, keeps what a chunk that was put off has left in the tree, and clears it away.
    /// Returns the ref that keeps it.
    pub fn put_away(&self, run: &Run) -> Result<Option<String>, JobError> {
        match &self.slot {
            Some(slot) if run.comes_from_deferral() => Ok(slot.clear(run.id.as_str())?),
            Some(_) | None => Ok(None),
        }
    }
}
