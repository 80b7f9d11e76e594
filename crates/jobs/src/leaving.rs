//! After a run was taken off its workspace: what it has done is kept at once, and what it ticked without a commit is open again.

use engine::Run;
use project::{
    Place,
    slots::{Pool, SlotError},
};

use crate::{Context, JobError};

/// What became of the work of a run that was taken off its workspace.
#[derive(Debug, Default)]
pub struct Left {
    /// The refs that keep its work, oldest first.
    pub kept: Vec<String>,
    /// Criteria that are open again in its issue.
    pub open_again: Vec<String>,
    /// Whether its process is still there, which keeps its work when it ends.
    pub is_held: bool,
}

impl Context<'_> {
    /// Keeps the work of a run that was taken off its workspace, if that was made for runs. Doing it again changes nothing.
    pub fn keep_left(&mut self, run: &Run) -> Result<Left, JobError> {
        let person = match self.place.origin() {
            Some(origin) => Place::at(origin).map_err(SlotError::from)?,
            // The run works elsewhere, or its workspace is gone.
            None if run.owns_workspace && run.root != self.place.mark() => self.place.clone(),
            None => return Ok(Left::default()),
        };
        let pool = Pool::of(&person, &self.dirs)?;
        let open_again = self.untick_unfinished(run)?;
        let is_held = match pool.reopen(run.root.as_ref()) {
            Ok(slot) => slot.keep().map(|_| false)?,
            Err(SlotError::InUse { .. }) => true,
            // There is nothing that could be kept.
            Err(SlotError::Lost { .. }) => false,
            Err(error) => return Err(error.into()),
        };
        let kept = pool.kept_of(run.id.as_str())?;
        Ok(Left { kept, open_again, is_held })
    }
}
