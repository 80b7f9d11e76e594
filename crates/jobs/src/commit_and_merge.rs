//! Committing everything that is there, and bringing it to the merge target or handing it over.

use journal::Durable;

pub(crate) use crate::merge::Outcome;
use crate::{Context, JobError, commit, job::Task};

pub(crate) fn carry_out(
    cx: &mut Context<'_>,
    task: Task<'_>,
    durable: &Durable,
) -> Result<Outcome, JobError> {
    let run = task.run();
    let prepared_anything = !cx.prepare_commit(run)?.1.is_empty().map_err(JobError::World)?;
    if prepared_anything {
        commit::carry_out(cx, Task { message: None, ..task }, durable)?;
    }
    let head = cx.git().head_and_tree().map_err(JobError::World)?.0;
    cx.bring(run, &head, durable)
}

/// It is done if all is committed, and that was merged or handed over.
pub(crate) fn settle(cx: &mut Context<'_>, task: Task<'_>) -> Result<Option<Outcome>, JobError> {
    let run = task.run();
    if !cx.prepare_commit(run)?.1.is_empty().map_err(JobError::World)? {
        return Ok(None);
    }
    let head = cx.git().head_commit().map_err(JobError::World)?;
    cx.merged_or_offered(run, &head)
}
