//! Ticking the criteria of the chunk in the issue, and taking ticks back whose work is not there.

use engine::{Run, workflow::JobOutcome};
use forge::ItemId;
use journal::Durable;
use project::counted;

use crate::{
    Context, JobError, issue,
    job::{Report, Task},
};

/// What became of the boxes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Ticked {
        issue: String,
        count: usize,
    },
    NoIssue,
    /// The project's tracker does not have the issue.
    NotThere {
        issue: String,
    },
}

impl Outcome {
    pub(crate) fn report(self) -> Report {
        let said = match self {
            Self::Ticked { issue, count } => {
                format!("ticked in issue {issue}: {}", counted(count as u64, "criterion", "criteria"))
            }
            Self::NoIssue => "the run has no issue to tick criteria in".to_owned(),
            Self::NotThere { issue } => format!("there is no issue {issue} to tick criteria in"),
        };
        Report::new(JobOutcome::DocsUpdated).say(said)
    }
}

pub(crate) fn carry_out(cx: &mut Context<'_>, task: Task<'_>, _: &Durable) -> Result<Outcome, JobError> {
    let Some(issue) = task.run().issue.clone() else { return Ok(Outcome::NoIssue) };
    Ok(match issue::tick(&*cx.tracker(), &issue, task.run().current_criteria())? {
        Some(count) => Outcome::Ticked { issue, count },
        None => Outcome::NotThere { issue },
    })
}

/// It is done once every box of the chunk is ticked.
pub(crate) fn settle(cx: &mut Context<'_>, task: Task<'_>) -> Result<Option<Outcome>, JobError> {
    let (criteria, issue) = (task.run().current_criteria(), task.run().issue.as_deref());
    let Some(number) = issue.and_then(ItemId::typed) else { return Ok(None) };
    let count = cx.tracker().item(number)?.map_or(0, |item| item.count_ticked(criteria));
    let is_done = count > 0 && count == criteria.len();
    Ok(is_done.then(|| Outcome::Ticked { issue: number.to_string(), count }))
}

impl Context<'_> {
    /// Takes the ticks back that the chunk's criteria were given before it was tested: its work is not there.
    pub(crate) fn untick(&mut self, run: &Run) -> Result<(), JobError> {
        let Some(issue) = run.issue.as_deref().filter(|_| run.docs_updated && !run.committed) else {
            return Ok(());
        };
        issue::untick(&*self.tracker(), issue, run.current_criteria())
    }

    /// Takes the ticks back from criteria whose work is not committed, and returns those: finished chunks stay done, because
    /// the next run continues their branch.
    ///
    /// An issue of which every chunk is done keeps the last one open until it is merged, so that there is something left to
    /// take up.
    pub(crate) fn untick_unfinished(&mut self, run: &Run) -> Result<Vec<String>, JobError> {
        let Some(issue) = run.issue.as_deref().filter(|_| !run.facts.issue.is_merged) else {
            return Ok(Vec::new());
        };
        let is_own = self.place.origin().is_some();
        // What warp has ticked in a workspace of its own counts even if the event was refused afterwards.
        let open = issue::open_criteria(&*self.tracker(), issue)?;
        let is_ticked = |criterion: &String| is_own && !open.contains(criterion);
        let mut criteria = run.current_criteria().to_vec();
        criteria.retain(|criterion| !run.committed && (run.docs_updated || is_ticked(criterion)));
        issue::untick(&*self.tracker(), issue, &criteria)?;
        if is_own && criteria.is_empty() && self.offered(run)?.is_none() && self.is_all_ticked(issue)? {
            let is_open = run.committed && !run.current_criteria().is_empty();
            let last = run.completed_chunks.last().map(|chunk| chunk.acs.as_slice());
            criteria = if is_open { run.current_criteria() } else { last.unwrap_or_default() }.to_vec();
            issue::untick(&*self.tracker(), issue, &criteria)?;
        }
        Ok(criteria)
    }

    fn is_all_ticked(&mut self, issue: &str) -> Result<bool, JobError> {
        Ok(issue::open_criteria(&*self.tracker(), issue)?.is_empty())
    }
}
