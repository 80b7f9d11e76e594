//! Taking the next chunk, if one is left. The dev server is looked at in between.

use engine::workflow::JobOutcome;
use journal::Durable;

pub(crate) use crate::job::leaves_no_trace as settle;
use crate::{
    Context, JobError,
    job::{Report, Task},
};

/// Whether there is another chunk; with it what was seen of the dev server, a line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Next { index: u64, count: usize, dev: Vec<String> },
    AllDone { dev: Vec<String> },
}

impl Outcome {
    pub(crate) fn report(self) -> Report {
        match self {
            Self::Next { index, count, dev } => {
                Report::new(JobOutcome::NextChunk).say_all(dev).say(format!("chunk {index} of {count}"))
            }
            Self::AllDone { dev } => {
                Report::new(JobOutcome::RequirementDone).say_all(dev).say("every chunk is done")
            }
        }
    }
}

pub(crate) fn carry_out(cx: &mut Context<'_>, task: Task<'_>, _: &Durable) -> Result<Outcome, JobError> {
    let dev = cx.check_dev_after_chunk(task.current)?;
    let (index, count) = (task.run().chunk.index, task.run().chunk.acs.len());
    Ok(if index < count as u64 {
        Outcome::Next { index: index + 1, count, dev }
    } else {
        Outcome::AllDone { dev }
    })
}
