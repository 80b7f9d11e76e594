//! Waiting for the issues that a run's own depends on.

use std::collections::BTreeSet;

use engine::{Run, workflow::JobOutcome};
use forge::{ItemId, Readiness, readiness_if_approved};
use journal::Durable;
use serde_json::Value;

use crate::{
    Context, JobError,
    job::{Report, Task},
    words::are,
};

/// Everything is closed that it depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome;

impl Outcome {
    pub(crate) fn report(self) -> Report {
        Report::new(JobOutcome::DependenciesClosed).say("everything it depends on is closed")
    }
}

/// Nothing is done but to look.
pub(crate) fn carry_out(cx: &mut Context<'_>, task: Task<'_>, _: &Durable) -> Result<Outcome, JobError> {
    settle(cx, task)?.ok_or_else(|| JobError::World("an issue that it depends on is open".to_owned()))
}

pub(crate) fn settle(cx: &mut Context<'_>, task: Task<'_>) -> Result<Option<Outcome>, JobError> {
    Ok(open(cx, task.run())?.is_empty().then_some(Outcome))
}

/// Says what is waited for.
pub(crate) fn waits(cx: &mut Context<'_>, run: &Run) -> Result<String, JobError> {
    Ok(format!("waits until {} closed", are(&open(cx, run)?)))
}

/// Returns the open issues that a run's own depends on: by its text, and by what an agent said as it gave up.
pub(crate) fn open(cx: &mut Context<'_>, run: &Run) -> Result<Vec<String>, JobError> {
    let Some(number) = run.issue.as_deref().and_then(ItemId::typed) else { return Ok(Vec::new()) };
    let tracker = cx.tracker();
    let mut open: BTreeSet<ItemId> = match readiness_if_approved(&*tracker, number)? {
        Readiness::Blocked { on } => on.into_iter().collect(),
        Readiness::Cycle { path } => path.into_iter().filter(|id| *id != number).collect(),
        Readiness::Ready
        | Readiness::Missing
        | Readiness::Closed
        | Readiness::NotARequirement
        | Readiness::NotApproved
        | Readiness::Met => BTreeSet::new(),
    };
    let reason = run.facts.entry.as_ref().and_then(|entry| entry.data.get("reason"));
    let reason = reason.and_then(Value::as_str).unwrap_or_default();
    let words = reason.split(|c: char| c != '#' && !c.is_alphanumeric());
    for id in words.filter(|word| word.starts_with('#')).filter_map(ItemId::typed) {
        if id != number && tracker.item(id)?.is_some_and(|item| item.pull.is_none() && item.is_open()) {
            open.insert(id);
        }
    }
    Ok(open.iter().map(|id| format!("#{id}")).collect())
}
