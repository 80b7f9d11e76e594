//! A run that waits for the review of its pull request: where a reviewer is set, warp has it reviewed.

use engine::{Act, WaitKind};
use forge::ItemId;
use project::{Current, Error, Place, Workspace, spelled};
use review::Verdict;

use super::{ReviewEnd, ReviewOptions, Reviewed, review_pull, turn::REVIEWER};
use crate::{
    driver::{DriveError, Driver, Finish, Flow},
    show::Shown,
    start::{content_shell, sandbox},
};

impl Driver<'_> {
    /// Lets an agent review the pull request that the run waits for; nothing where that, or what is left of it, is a person's.
    pub(crate) fn review_by_agent(&mut self, current: &Current) -> Result<Option<Flow>, DriveError> {
        if !matches!(current.run.act(), Act::Wait { on: WaitKind::Review, .. }) || !has_reviewer(current) {
            return Ok(None);
        }
        let Some(item) = jobs::on(&mut self.workspace).pull_of(&current.run)? else { return Ok(None) };
        self.workspace.sync()?;
        let root = self.workspace.place.origin().unwrap_or(&self.workspace.place.root).to_owned();
        let place = Place::at(&root).map_err(Error::from)?;
        let mut there = Workspace::open(place, self.workspace.dirs.clone())?;
        let options = ReviewOptions { walled: self.options.walled, ..ReviewOptions::default() };
        let settings = &current.run.settings;
        let ended = review_pull(&mut there, settings, item.id, &options, &self.interrupts, &mut *self.show);
        self.check_claim()?;
        let flow = match ended {
            Ok(ReviewEnd::Reviewed(reviewed)) => return self.take_review(current, item.id, &reviewed),
            Ok(ReviewEnd::Interrupted) => Flow::End(Finish::Interrupted),
            Ok(ReviewEnd::Failed { why, times, most }) => {
                let text = format!("the review of #{} came to nothing ({times} of {most}): {why}", item.id);
                self.show.show(Shown::Warned(&text));
                Flow::On
            }
            Ok(ReviewEnd::ForPerson { why }) => {
                let left = jobs::on(&mut self.workspace).leave_review(current, why);
                self.took_advance(current, left)?
            }
            Ok(ReviewEnd::Held { why }) => {
                let problem = format!("nobody can review #{} now: {why}", item.id);
                self.escalate(current, &problem, &["continue"])?
            }
            Err(error) => self.escalate(current, &spelled(&error), &["continue"])?,
        };
        Ok(Some(flow))
    }

    /// Goes by a verdict: back to the author, or to the merge where the level says so.
    fn take_review(
        &mut self,
        current: &Current,
        number: ItemId,
        reviewed: &Reviewed,
    ) -> Result<Option<Flow>, DriveError> {
        if reviewed.is_new {
            for note in &reviewed.notes {
                self.show.show(Shown::Warned(note));
            }
            let text =
                format!("#{number} is reviewed (round {}): {}", reviewed.round, reviewed.verdict.words());
            self.show.show(Shown::Did(&text));
        }
        let mut jobs = jobs::on(&mut self.workspace);
        let taken = match reviewed.verdict {
            Verdict::RequestChanges => jobs.send_back_reviewed(current, reviewed.requested.clone()),
            // What the run waits for then is said by the next round of the loop.
            Verdict::Approve if !jobs.merges_approved(current, &reviewed.head)? => {
                return Ok(reviewed.is_new.then_some(Flow::On));
            }
            // The loop looks at the pull request again, and merges it if it is approved still.
            Verdict::Approve if reviewed.is_formal => return Ok(Some(Flow::On)),
            Verdict::Approve => {
                let sandbox =
                    sandbox(self.options.walled).map_err(|error| DriveError::World(spelled(&error)))?;
                jobs.merge_approved(current, number, |place, dirs, run| {
                    content_shell(sandbox.as_ref(), place, dirs, run)
                })
            }
        };
        self.took_advance(current, taken).map(Some)
    }
}

/// Tells whether somebody is set for the role of the phase in which the run waits.
fn has_reviewer(current: &Current) -> bool {
    let phase = current.workflow.phase(&current.run.phase);
    let role = phase.and_then(|phase| phase.role.as_deref());
    if role != Some(REVIEWER) {
        return false;
    }
    let set = current.run.settings.role(role);
    set.agent.is_some() || set.model.is_some()
}
