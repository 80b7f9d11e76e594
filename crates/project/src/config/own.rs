//! The person's own settings for one project on this machine: what they have answered, or set with `warp config KEY=VALUE`.
//!
//! They are a file beside the project's journal. Deleting it takes back the answers; nothing else is lost.

use std::{
    fs,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use adapters::watch::{Alarm, Watch};
use engine::{BadSetting, Settings, Time};
use serde_json::{Map, Value};

use super::{ConfigError, nearest, read};
use crate::{Dirs, Place, atomic};

/// The name of that file.
const OWN_FILE: &str = "settings.toml";

/// Returns the file of the person's own settings for a project, which need not exist; nothing if the project never had a
/// run.
pub(super) fn own_file(place: &Place, dirs: &Dirs) -> Result<Option<PathBuf>, ConfigError> {
    let id = place.project_id().map_err(|error| ConfigError::Project { problem: crate::spelled(&error) })?;
    Ok(id.map(|id| dirs.project(&id).join(OWN_FILE)))
}

/// Returns what the person has answered or set for a project and a setting of `[workflow]`, and when the file was written.
pub(crate) fn answered(place: &Place, dirs: &Dirs, key: &str) -> Result<Option<(String, Time)>, ConfigError> {
    let Some(path) = own_file(place, dirs)? else { return Ok(None) };
    let tables = own_tables(&path)?;
    let value = tables.get("workflow").and_then(|table| table.get(key)).and_then(Value::as_str);
    let Some(value) = value else { return Ok(None) };
    let written = fs::metadata(&path).and_then(|data| data.modified());
    let written = written.map_err(|error| ConfigError::Project { problem: error.to_string() })?;
    let since = written.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    Ok(Some((value.to_owned(), Time::from_millis(i64::try_from(since).unwrap_or(i64::MAX)))))
}

/// Calls `back` whenever the person's own settings for a project are written, until the answer is dropped.
pub fn watch(place: &Place, dirs: &Dirs, back: impl Fn() + Send + 'static) -> Result<Alarm, ConfigError> {
    let project = |problem: String| ConfigError::Project { problem };
    let id = place.ensure_project_id().map_err(|error| project(crate::spelled(&error)))?;
    dirs.stores.open(dirs.journal(&id)).map_err(|error| project(crate::spelled(&error)))?;
    let directory = dirs.project(&id);
    let watched = fs::create_dir_all(&directory).and_then(|()| Watch::over(&[&directory])?.call(back));
    watched.map_err(|error| project(error.to_string()))
}

/// Sets or unsets a setting for this project on this machine; returns the file that holds it.
pub fn remember(place: &Place, dirs: &Dirs, key: &str, text: Option<&str>) -> Result<PathBuf, ConfigError> {
    let value = text.map(|text| Settings::row(key).map_or(Value::Null, |row| row.kind.read(text)));
    check(key, value.clone().unwrap_or_else(|| default_of(key)))?;
    let project = |problem: String| ConfigError::Project { problem };
    let id = place.ensure_project_id().map_err(|error| project(crate::spelled(&error)))?;
    // A project that is known by its name has a journal: one without is damaged.
    dirs.stores.open(dirs.journal(&id)).map_err(|error| project(crate::spelled(&error)))?;
    let path = dirs.project(&id).join(OWN_FILE);
    let mut tables = own_tables(&path)?;
    let (section, name) = key.split_once('.').unwrap_or(("workflow", key));
    let table = tables.entry(section).or_insert_with(|| Value::Object(Map::new()));
    if let Some(table) = table.as_object_mut() {
        match value {
            Some(value) => drop(table.insert(name.to_owned(), value)),
            None => drop(table.remove(name)),
        }
    }
    let text = toml::to_string(&tables).map_err(|error| project(error.to_string()))?;
    let write = |source| ConfigError::Write { path: path.clone(), source };
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(write)?;
    atomic::replace(&path, &text).map_err(write)?;
    Ok(path)
}

/// Refuses what is not a setting, and names the nearest one.
pub fn check_key(key: &str) -> Result<(), ConfigError> {
    check(key, default_of(key))
}

/// Refuses what is not a setting, or not a value of it.
fn check(key: &str, value: Value) -> Result<(), ConfigError> {
    Settings::default().set(key, value).map_err(|error| {
        let nearest = nearest(key).filter(|_| matches!(error, BadSetting::Unknown { .. }));
        ConfigError::Setting { place: "`warp config`".to_owned(), error, nearest }
    })
}

fn own_tables(path: &Path) -> Result<Map<String, Value>, ConfigError> {
    let Some(text) = read(path)? else { return Ok(Map::new()) };
    toml::from_str(&text).map_err(|error| ConfigError::Syntax {
        file: path.display().to_string(),
        problem: error.to_string().trim_end().to_owned(),
    })
}

fn default_of(key: &str) -> Value {
    Settings::default().value(key).cloned().unwrap_or(Value::Null)
}
