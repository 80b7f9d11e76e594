//! The person's repository while an agent works in a slot without a sandbox.
//!
//! The agent can get at it, and git's hooks there can be bypassed. So its refs are noted before a turn and compared after
//! it. The person may commit there at any time: git's hook keeps the note up to date with their moves, as it does for
//! every workspace. Without that hook nobody can tell whose move it was, and nothing is watched.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use adapters::{
    git::{Location, slot::Kind},
    refs,
};
use engine::{Breach, Event};
use serde_json::Map;

use super::{
    DetectError, Known, KnownError, Moved, backstop, detector,
    known::{self, Hold},
};
use crate::{Answer, Place, Workspace};

/// The directory that holds the notes, one directory a run.
const WATCHED: &str = "watched";

/// Returns the directories of the notes about a repository.
pub(super) fn notes(common_dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(common_dir.join("warp").join(WATCHED)).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Notes where the refs of the person's repository are, before a turn of the run in this workspace.
pub fn before_turn(workspace: &Workspace, run: &str) -> Result<(), DetectError> {
    let Some((place, location)) = persons(workspace)? else { return Ok(()) };
    let Some(guard) = backstop::guard_in_force(&place) else { return Ok(()) };
    let own = note(&location, run);
    let _hold = Hold::take(&own)?;
    Ok(Known::now(&location, Some(guard))?.store(&own)?)
}

/// Compares after a turn, and also what a killed turn has left. What has moved is a question to the person.
pub fn after_turn(workspace: &mut Workspace, run: &str) -> Result<Option<Answer>, DetectError> {
    let Some((place, location)) = persons(workspace)? else { return Ok(None) };
    let own = note(&location, run);
    let moves = compare(&own, &location)?;
    if moves.is_empty() {
        return Ok(None);
    }
    let moves = detector::list(&moves);
    let event = Event::RailBroken {
        what: format!("in your repository {}: {moves}", place.root.display()),
        kept: None,
        breach: Breach::Doubtful,
    };
    workspace.ask(event, Map::new()).map(Some).map_err(DetectError::Record)
}

/// Returns what has moved since the note was made, and removes the note.
fn compare(own: &Path, location: &Location) -> Result<Vec<Moved>, KnownError> {
    if !known::file(own).exists() {
        return Ok(Vec::new());
    }
    let hold = Hold::take(own)?;
    let known = Known::load(own)?;
    let moves = match known {
        Some(known) => known.compare(&refs::read(location)?),
        None => Vec::new(),
    };
    drop(hold);
    match fs::remove_dir_all(own) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(KnownError::Write { path: own.to_owned(), source })
        }
        Ok(()) | Err(_) => Ok(moves.into_iter().filter(is_a_loss).collect()),
    }
}

/// Stashes are left to git: it tells no hook when one is dropped.
fn is_a_loss(moved: &Moved) -> bool {
    matches!(moved, Moved::Ref { .. } | Moved::Head { .. })
}

fn note(location: &Location, run: &str) -> PathBuf {
    location.git_dir.join("warp").join(WATCHED).join(run)
}

/// Returns the person's repository, if the workspace has another one.
fn persons(workspace: &Workspace) -> Result<Option<(Place, Location)>, DetectError> {
    // A further working tree of the person's repository is looked at as what it is.
    let is_clone = workspace.place.kind() == Some(Kind::Clone);
    let Some(origin) = workspace.place.origin().filter(|_| is_clone) else { return Ok(None) };
    let place = Place::at(origin).map_err(crate::Error::from)?;
    let location = place.location();
    Ok(location.map(|location| (place, location)))
}
