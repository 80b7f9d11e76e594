//! Taking the issue that was asked for, or the next one that is ready, and beginning its branch.

use engine::workflow::JobOutcome;
use forge::{Item, ItemId};
use journal::Durable;
use project::why_nothing;
use serde_json::json;

pub(crate) use crate::job::leaves_no_trace as settle;
use crate::{
    Context, JobError,
    begin::Begun,
    job::{Report, Task},
};

/// What was taken.
#[derive(Clone, Debug)]
pub enum Outcome {
    Selected {
        issue: String,
        /// Its title; none if the project's tracker does not have it.
        title: Option<String>,
        begun: Begun,
    },
    /// There is nothing to take, for this reason.
    NoWork { why: String },
}

impl Outcome {
    pub(crate) fn report(self) -> Report {
        match self {
            Self::Selected { issue, title, begun } => {
                let said = match title {
                    Some(title) => format!("issue {issue} is next: {title}"),
                    None => format!("issue {issue} was asked for"),
                };
                let mut report = Report::new(JobOutcome::WorkSelected)
                    .with("requirement", json!(issue))
                    .with("branch", json!(begun.branch))
                    .say(said)
                    .say_all(begun.said);
                report.data.extend(begun.data);
                report
            }
            Self::NoWork { why } => Report::new(JobOutcome::NoWork).say(why),
        }
    }
}

pub(crate) fn carry_out(cx: &mut Context<'_>, task: Task<'_>, _: &Durable) -> Result<Outcome, JobError> {
    let run = task.run();
    let title = |item: &Item| item.title.clone();
    let (issue, title) = match run.issue.clone().filter(|_| !run.facts.wants_another) {
        Some(issue) => {
            let item = ItemId::typed(&issue).map(|number| cx.tracker().item(number)).transpose()?.flatten();
            (issue, item.as_deref().map(title))
        }
        None => match cx.take_next(&run.id)? {
            Some(item) => (item.id.to_string(), Some(title(&item))),
            None => return Ok(Outcome::NoWork { why: why_nothing(&cx.queue()?) }),
        },
    };
    let begun = cx.begin_work(run, &issue, run.facts.wants_another)?;
    Ok(Outcome::Selected { issue, title, begun })
}
