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
    runs::{Pinned, compared},
};
use crate::{Dirs, Place, spelled};

/// The name of that copy.
const SEEN: &str = "warp.toml.seen";

/// Says how the project's settings have changed since a run last began, and remembers them for the next.
pub(crate) fn changed_since_last_run(
    place: &Place,
    dirs: &Dirs,
    pinned: &Pinned,
) -> Result<Option<String>, ConfigError> {
    let project = |problem: String| ConfigError::Project { problem };
    let id = place.ensure_project_id().map_err(|error| project(spelled(&error)))?;
    let path = dirs.project(&id).join(SEEN);
    let (name, text) = match &pinned.file {
        Some((name, text)) => (name.as_str(), text.as_str()),
        None => ("warp.toml", ""),
    };
    let before = crate::text::read(&path, LARGEST).ok();
    if before.as_deref() == Some(text) {
        return Ok(None);
    }
    let write = |source| ConfigError::Write { path: path.clone(), source };
    keep(&path, text).map_err(write)?;
    let Some(before) = before else { return Ok(None) };
    let what = compared(text, &before, ("now", "before")).unwrap_or_else(|| Some("all of it".to_owned()));
    Ok(what.map(|what| format!("{name} has changed since the last run: {what}")))
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
