//! Taking a run's own issue: its branch is begun, unless it is closed or depends on open ones.

use engine::workflow::JobOutcome;
use forge::ItemId;
use journal::Durable;
use serde_json::{Map, Value};

pub(crate) use crate::job::leaves_no_trace as settle;
use crate::{
    Context, JobError, await_dependencies,
    job::{Report, Task},
    words::list,
};

/// What became of the issue.
#[derive(Clone, Debug)]
pub enum Outcome {
    Claimed {
        branch: String,
        /// What is put down with it.
        data: Map<String, Value>,
        said: Vec<String>,
    },
    /// It depends on these.
    Unmet(Vec<String>),
    Closed(ItemId),
}

impl Outcome {
    pub(crate) fn report(self) -> Report {
        let because = |word, why: String| Report::new(word).with("reason", why.clone()).say(why);
        match self {
            Self::Claimed { branch, data, said } => {
                let mut report = Report::new(JobOutcome::Claimed).with("branch", branch).say_all(said);
                report.data.extend(data);
                report
            }
            Self::Unmet(issues) => {
                because(JobOutcome::DependencyUnmet, format!("it depends on {}", list(&issues)))
            }
            Self::Closed(number) => because(JobOutcome::AlreadyDone, format!("#{number} is closed")),
        }
    }
}

/// The branch of a run that has begun stays as it is.
pub(crate) fn carry_out(cx: &mut Context<'_>, task: Task<'_>, _: &Durable) -> Result<Outcome, JobError> {
    let run = task.run();
    let open = await_dependencies::open(cx, run)?;
    if !open.is_empty() {
        return Ok(Outcome::Unmet(open));
    }
    let issue = run.issue.clone().unwrap_or_default();
    if let Some(number) = ItemId::typed(&issue)
        && cx.tracker().item(number)?.is_some_and(|item| !item.is_open())
    {
        return Ok(Outcome::Closed(number));
    }
    if run.facts.issue.began_at.is_some() {
        let branch = cx.git().branch();
        return Ok(Outcome::Claimed { branch, data: Map::new(), said: Vec::new() });
    }
    let begun = cx.begin_work(run, &issue, false)?;
    Ok(Outcome::Claimed { branch: begun.branch, data: begun.data, said: begun.said })
}
