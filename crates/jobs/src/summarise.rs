//! Filing the summary of the session; one that has found nothing to do has none.

use engine::workflow::JobOutcome;
use forge::ItemId;
use journal::Durable;
use project::counted;

use crate::{
    Context, JobError,
    job::{Report, Task},
    report::{key, summary},
};

/// What became of the summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Filed(ItemId),
    NothingDone,
}

impl Outcome {
    pub(crate) fn report(self) -> Report {
        Report::new(JobOutcome::SessionEnded).say(match self {
            Self::Filed(number) => format!("the session's summary is #{number}"),
            Self::NothingDone => "nothing was done, so there is no summary".to_owned(),
        })
    }
}

pub(crate) fn carry_out(cx: &mut Context<'_>, task: Task<'_>, _: &Durable) -> Result<Outcome, JobError> {
    let run = task.run();
    if run.issue.is_none() && run.metrics.commits == 0 {
        return Ok(Outcome::NothingDone);
    }
    let title = format!(
        "Session {}: {}, {}",
        run.id,
        counted(run.metrics.commits, "commit", "commits"),
        counted(run.metrics.chunks_completed, "chunk", "chunks")
    );
    let labels = ["session-summary", "warp-drive"];
    Ok(Outcome::Filed(cx.file_away(&title, summary(run), &labels, &key(run, "summary"))?))
}

pub(crate) fn settle(cx: &mut Context<'_>, task: Task<'_>) -> Result<Option<Outcome>, JobError> {
    Ok(cx.tracker().filed(&key(task.run(), "summary"))?.map(Outcome::Filed))
}
