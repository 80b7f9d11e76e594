//! The person's own settings for their agent in one project, `.claude/settings.local.json`: read by all, changed here
//! one value at a time on the person's word.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};

use crate::{atomic, text};

/// The largest settings file that is read, in bytes.
const LARGEST: u64 = 8 * 1024 * 1024;

/// Why a value could not be set. The file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum LocalSettingsError {
    #[error("`{}` is not a JSON object: {problem}; mend it by hand first", path.display())]
    Syntax { path: PathBuf, problem: String },
    #[error("failed to read `{}`", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("failed to write `{}`", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Sets one value of one section; everything else stays.
pub fn set_local(root: &Path, section: &str, key: &str, value: Value) -> Result<(), LocalSettingsError> {
    let path = root.join(".claude/settings.local.json");
    let syntax = |problem: String| LocalSettingsError::Syntax { path: path.clone(), problem };
    let mut settings: Map<String, Value> = match text::read(&path, LARGEST) {
        Ok(text) if text.trim().is_empty() => Map::new(),
        Ok(text) => serde_json::from_str(&text).map_err(|error| syntax(error.to_string()))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Map::new(),
        Err(source) => return Err(LocalSettingsError::Read { path, source }),
    };
    let entry = settings.entry(section).or_insert_with(|| Value::Object(Map::new()));
    let Some(entry) = entry.as_object_mut() else {
        return Err(syntax(format!("`{section}` is not an object")));
    };
    entry.insert(key.to_owned(), value);
    let text = format!("{:#}\n", Value::Object(settings));
    let write = || {
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        // A link is followed: the file may be kept elsewhere.
        let target = path.canonicalize().unwrap_or_else(|_| path.clone());
        atomic::replace(&target, &text)
    };
    write().map_err(|source| LocalSettingsError::Write { path: path.clone(), source })
}
