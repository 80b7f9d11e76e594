//! What the merge target's `warp.toml` said when a run last began: a change since then is shown when the next one begins.
//!
//! The copy is a cache beside the journal. Without it, one change goes unmentioned.

use std::fs;

use super::{ConfigError, LARGEST, runs::Pinned, runs::compared};
use crate::{Dirs, Place, atomic, spelled};

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
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(write)?;
    atomic::replace(&path, text).map_err(write)?;
    let Some(before) = before else { return Ok(None) };
    let what = compared(text, &before, ("now", "before")).unwrap_or_else(|| Some("all of it".to_owned()));
    Ok(what.map(|what| format!("{name} has changed since the last run: {what}")))
}
