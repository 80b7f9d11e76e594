//! An issue that a person has named, for `warp run 42` and for `/warp-drive 42` alike: whether it can be worked on, and the
//! approval that naming it stands for.

use engine::workflow::Job;
use forge::{ItemId, Query, REQUIREMENT, Readiness, readiness, readiness_if_approved};

use crate::{DEFAULT_WORKFLOW, Error, Workspace, find_workflow, person_in};

impl Workspace {
    /// Says why an issue that a person has named cannot be worked on; nothing if it can.
    pub fn why_not_ready(&mut self, number: ItemId, workflow: Option<&str>) -> Result<Option<String>, Error> {
        self.settle_left(number)?;
        let readiness = readiness_if_approved(&*self.tracker(), number)?;
        let name = workflow.unwrap_or(DEFAULT_WORKFLOW);
        let reworks = find_workflow(&self.place, name).is_ok_and(|found| found.has_job(Job::DefineChunks));
        let pulls = self.forge().pulls(Query::Open)?;
        let pull =
            pulls.iter().find(|item| item.pull.as_ref().is_some_and(|pull| pull.issue == Some(number)));
        match (pull, self.rework(number)?) {
            (Some(_), Some(_)) if reworks && readiness != Readiness::Closed => return Ok(None),
            (Some(_), Some(rework)) => {
                return Ok(Some(format!(
                    "pull request #{0} waits for changes: `warp run {number}`, without `--attach` or `--workflow`, makes them",
                    rework.pull
                )));
            }
            (Some(pull), None) => {
                let pull = pull.id;
                return Ok(Some(format!(
                    "it is ready for review as pull request #{pull}: `warp pr merge {pull}`, `warp pr request-changes {pull} TEXT` \
                     or `warp pr close {pull}`"
                )));
            }
            (None, _) => {}
        }
        Ok(match readiness {
            Readiness::Ready => None,
            Readiness::Missing
            | Readiness::Closed
            | Readiness::NotARequirement
            | Readiness::NotApproved
            | Readiness::Met
            | Readiness::Blocked { .. }
            | Readiness::Cycle { .. } => Some(readiness.to_string()),
        })
    }

    /// Approves an issue that a person has named, if nobody has.
    pub fn approve_named(&mut self, number: ItemId) -> Result<(), Error> {
        if !matches!(
            readiness(&*self.tracker(), number)?,
            Readiness::NotApproved | Readiness::NotARequirement
        ) {
            return Ok(());
        }
        let by = person_in(&self.place.root);
        let tracker = self.tracker_as(by);
        tracker.ensure_labels(number, &[REQUIREMENT], &[])?;
        tracker.approve(number)?;
        Ok(())
    }
}
