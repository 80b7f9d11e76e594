//! What the merge target's `warp.toml` said when a run last began: a change since then is shown when the next one begins.
//!
//! The copy is a cache beside the journal. Without it, one change goes unmentioned.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use tempfile::NamedTempFile;

use super::{
    ConfigError, LARGEST,
    runs::{Pinned, compared, pinned},
};
use crate::{Dirs, Place, spelled};

/// The name of that copy.
const SEEN: &str = "warp.toml.seen";

/// Says how the project's settings have changed since a run last began.
pub(crate) fn changed_since_last_run(
    place: &Place,
    dirs: &Dirs,
    pinned: &Pinned,
) -> Result<Option<String>, ConfigError> {
    let id = place.project_id().map_err(|error| ConfigError::Project { problem: spelled(&error) })?;
    let seen = id.map(|id| crate::text::read(&dirs.project(&id).join(SEEN), LARGEST).ok());
    let Some(before) = seen.flatten() else { return Ok(None) };
    let (name, text) = named(pinned);
    let what = compared(text, &before, ("now", "before")).unwrap_or_else(|| Some("all of it".to_owned()));
    Ok(what.map(|what| format!("{name} has changed since the last run: {what}")))
}

/// Remembers the project's settings by which a run has begun.
pub(crate) fn remember_seen(place: &Place, dirs: &Dirs, target: &str) -> Result<(), ConfigError> {
    let project = |problem: String| ConfigError::Project { problem };
    let id = place.ensure_project_id().map_err(|error| project(spelled(&error)))?;
    let path = dirs.project(&id).join(SEEN);
    let pinned = pinned(place, target)?;
    let (_, text) = named(&pinned);
    if crate::text::read(&path, LARGEST).is_ok_and(|before| before == text) {
        return Ok(());
    }
    keep(&path, text).map_err(|source| ConfigError::Write { path, source })
}

fn named(pinned: &Pinned) -> (&str, &str) {
    match &pinned.file {
        Some((name, text)) => (name, text),
        None => ("warp.toml", ""),
    }
}

/// Replaces the copy. Several runs may begin at once, so each has a temporary file of its own.
fn keep(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(directory)?;
    let mut draft = NamedTempFile::new_in(directory)?;
    draft.write_all(text.as_bytes())?;
    draft.persist(path)?;
    Ok(())
}
