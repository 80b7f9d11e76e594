//! Taking a run's own issue, and waiting for those that it depends on.

use std::collections::BTreeSet;

use engine::Run;
use forge::{ItemId, Readiness, readiness_if_approved};
use serde_json::{Value, json};

use crate::{
    Context, JobError,
    advance::Report,
    words::{are, list},
};

impl Context<'_> {
    /// Begins the branch for the run's issue, unless it is closed or depends on open ones. The branch of a run that has begun
    /// stays as it is.
    pub(crate) fn claim_issue(&mut self, run: &Run) -> Result<Report, JobError> {
        let open = self.open_dependencies(run)?;
        if !open.is_empty() {
            let why = format!("it depends on {}", named(&open));
            return Ok(Report::new("dependency_unmet").with("reason", json!(why)).say(why));
        }
        let issue = run.issue.clone().unwrap_or_default();
        if let Some(number) = ItemId::typed(&issue)
            && self.tracker().item(number)?.is_some_and(|item| !item.is_open())
        {
            let why = format!("#{number} is closed");
            return Ok(Report::new("already_done").with("reason", json!(why)).say(why));
        }
        if run.facts.issue.began_at.is_some() {
            return Ok(Report::new("claimed").with("branch", json!(self.git().branch())));
        }
        let begun = self.begin_work(run, &issue, false)?;
        let mut report = Report::new("claimed").with("branch", json!(begun.branch));
        report.data.extend(begun.data);
        report.said = begun.said;
        Ok(report)
    }

    /// Looks whether everything is closed that the run's issue depends on; says what is not.
    pub(crate) fn await_dependencies(&mut self, run: &Run) -> Result<Result<Report, String>, JobError> {
        let open = self.open_dependencies(run)?;
        Ok(match open.is_empty() {
            true => Ok(Report::new("dependencies_closed").say("everything it depends on is closed")),
            false => Err(format!("waits until {} closed", are(&names(&open)))),
        })
    }

    /// Returns the open issues that a run's own depends on: by its text, and by what an agent said as it gave up.
    fn open_dependencies(&mut self, run: &Run) -> Result<BTreeSet<ItemId>, JobError> {
        let Some(number) = run.issue.as_deref().and_then(ItemId::typed) else { return Ok(BTreeSet::new()) };
        let tracker = self.tracker();
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
        let words = reason
            .and_then(Value::as_str)
            .unwrap_or_default()
            .split(|c: char| c != '#' && !c.is_alphanumeric());
        for id in words.filter(|word| word.starts_with('#')).filter_map(ItemId::typed) {
            if id != number && tracker.item(id)?.is_some_and(|item| item.pull.is_none() && item.is_open()) {
                open.insert(id);
            }
        }
        Ok(open)
    }
}

fn names(issues: &BTreeSet<ItemId>) -> Vec<String> {
    issues.iter().map(|id| format!("#{id}")).collect()
}

fn named(issues: &BTreeSet<ItemId>) -> String {
    list(&names(issues))
}
