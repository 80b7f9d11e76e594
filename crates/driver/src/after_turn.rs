//! After a turn: refs, HEAD and protected files are compared, whatever hooks the agent has.
//!
//! A client with hooks is looked after call by call. One without, or one that was made to skip them, is looked after here:
//! a commit or a branch that was moved without permission goes back before anything is built on it, and the work stays,
//! as files and under a salvage ref.

use adapters::agent::TurnResult;
use engine::Breach;
use hooks::watched;
use project::{
    rails::{self, After, outside},
    spelled,
};

use crate::{
    driver::{DriveError, Driver},
    show::Shown,
};

/// The turn, as a call that lasts until it ends.
const TURN: &str = "turn";

impl Driver<'_> {
    /// Notes the protected files before a turn, and sees to whatever an earlier one has left.
    pub(crate) fn before_turn(&mut self) -> Result<(), DriveError> {
        self.compare_refs()?;
        if self.confined.walls.is_none() {
            let noted = outside::before_turn(&self.workspace, &self.run);
            noted.map_err(|error| DriveError::World(spelled(&error)))?;
        }
        let noted = watched::before(&self.workspace.place, &self.workspace.dirs, TURN);
        noted.map_err(|error| DriveError::World(spelled(&error)))
    }

    /// Compares after a turn, also after one that has failed.
    pub(crate) fn after_turn(
        &mut self,
        ended: Result<(TurnResult, bool), DriveError>,
    ) -> Result<(TurnResult, bool), DriveError> {
        let (place, dirs) = (&self.workspace.place, &self.workspace.dirs);
        let told = watched::after(place, dirs, TURN).map_err(|error| DriveError::World(spelled(&error)))?;
        watched::forget(place, dirs).map_err(|error| DriveError::World(spelled(&error)))?;
        if let Some(told) = told {
            self.show.show(Shown::Warned(&told));
        }
        self.compare_refs()?;
        ended
    }

    /// Moves back what was moved without permission; a commit with permission is left to whoever is told of it.
    fn compare_refs(&mut self) -> Result<(), DriveError> {
        let looked = rails::after_others_tool(&mut self.workspace);
        let After { broken, .. } = looked.map_err(|error| DriveError::World(spelled(&error)))?;
        if let Some(broken) = broken {
            self.took(&broken.answer);
            let kept = broken.kept.join(", ");
            let kept = if kept.is_empty() { kept } else { format!("; the work is kept as {kept}") };
            let back = if broken.breach == Breach::Undone { ", moved back" } else { "" };
            self.show.show(Shown::Warned(&format!("{}: no permission{back}{kept}", broken.what)));
        }
        let looked = outside::after_turn(&mut self.workspace, &self.run);
        if let Some(answer) = looked.map_err(|error| DriveError::World(spelled(&error)))? {
            self.took(&answer);
        }
        Ok(())
    }
}
