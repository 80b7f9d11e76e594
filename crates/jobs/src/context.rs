//! What a job works on: a workspace and its run.

use std::ops::{Deref, DerefMut};

use adapters::git::{Git, integrate::RepositoryPair};
use project::{Workspace, spelled};

use crate::JobError;

/// What a job works on: a workspace with its run, issues, pull requests and shell.
#[derive(Debug)]
pub struct Context<'w> {
    workspace: &'w mut Workspace,
}

/// Returns the jobs of a workspace.
pub fn on(workspace: &mut Workspace) -> Context<'_> {
    Context { workspace }
}

impl Deref for Context<'_> {
    type Target = Workspace;

    fn deref(&self) -> &Workspace {
        self.workspace
    }
}

impl DerefMut for Context<'_> {
    fn deref_mut(&mut self) -> &mut Workspace {
        self.workspace
    }
}

impl Context<'_> {
    pub(crate) fn git(&self) -> Git<'_> {
        self.place.git()
    }

    /// Returns the git acts between this workspace and the person's repository; a person's checkout is both.
    pub(crate) fn between(&self) -> Result<RepositoryPair, JobError> {
        match &self.slot {
            Some(slot) => Ok(slot.between().clone()),
            None => self.place.between().map_err(|error| JobError::World(spelled(&error))),
        }
    }
}
