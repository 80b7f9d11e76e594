//! The dev environment of a project, as its runs see it.

use adapters::secrets::redacted;
use dev::{Dev, DevError};
use engine::{Run, Seen};

use crate::{Workspace, spelled};

impl Workspace {
    /// Sees to it before a run begins that what the project says of its environment can be used.
    pub fn check_dev(&self) -> Result<(), DevError> {
        let target = self.place.git().branches().merge_target;
        dev::pinned(&self.place.root, &target).map(drop)
    }

    /// Returns where the dev server is that this process keeps for the run, and where its words are.
    pub fn dev_server(&self) -> Option<(String, String)> {
        Some((self.dev.url()?, dev::log_of(&self.place).display().to_string()))
    }

    /// Returns the environment that the run looks after.
    pub fn dev_of<'a>(&'a self, run: &'a Run) -> Result<Option<Dev<'a>>, DevError> {
        Ok(match &self.slot {
            Some(_) => Dev::pinned(&self.place, &self.shell, &run.branches.merge_target, run.id.as_str())?,
            None => Dev::of(&self.place, &self.shell)?,
        })
    }

    /// Returns which tables the work makes that no seed file fills.
    pub(crate) fn tables_without_seeds(&self, run: &Run, files: &[String]) -> Seen<Vec<String>> {
        match self.dev_of(run) {
            Ok(Some(dev)) => Seen::Value(dev.tables_without_seeds(files).into_iter().map(redacted).collect()),
            Ok(None) => Seen::Absent("the project has no dev environment".to_owned()),
            // One that cannot be read is said where it matters.
            Err(error) => Seen::Absent(spelled(&error)),
        }
    }
}
