//! What a job works on: a workspace and its run.

use std::ops::{Deref, DerefMut};

use adapters::git::{Git, integrate::RepositoryPair};
use engine::Time;
use project::{Workspace, spelled};

use crate::JobError;

/// What a job works on: a workspace with its run, issues, pull requests and shell.
#[derive(Debug)]
pub struct Context<'w> {
    workspace: &'w mut Workspace,
    /// When what a phase waits for is looked at again.
    pub(crate) look: Option<Time>,
}

/// Returns the jobs of a workspace.
pub fn on(workspace: &mut Workspace) -> Context<'_> {
    Context { workspace, look: None }
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
    /// Returns when to look again at what was found not to be there yet; nothing where a journal tells of it.
    pub fn next_look(&self) -> Option<Time> {
        self.look
    }

    pub(crate) fn git(&self) -> Git<'_> {
        self.place.git()
    }

    /// Returns the git acts between this workspace and the person's repository; a person's checkout is both.
    pub(crate) fn between(&self) -> Result<RepositoryPair, JobError> {
        match &self.slot {
            Some(slot) => Ok(slot.between().clone()),
            None => {
                let between = self.place.between().map_err(|error| JobError::World(spelled(&error)))?;
                Ok(RepositoryPair { stop: self.dirs.stop.clone(), ..between })
            }
        }
    }
}
