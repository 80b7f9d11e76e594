//! What was installed, so that it can be taken away again.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use engine::digest;
use serde::{Deserialize, Serialize};

use super::{BackstopError, failed};
use crate::text;

const VERSION: u32 = 1;
/// The largest record that is read, in bytes; a configuration file may be in it.
const LARGEST: u64 = 16 * 1024 * 1024;

/// What was installed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    version: u32,
    pub(super) hooks: Vec<Hook>,
    /// Directories that were made, outer ones first.
    pub(super) directories: Vec<PathBuf>,
    pub(super) setting: Option<Setting>,
    /// The roots of the working trees that asked for it; they share the hooks, and the last one takes them away.
    #[serde(default)]
    pub(super) workspaces: Vec<PathBuf>,
}

/// One hook of ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hook {
    pub(super) path: PathBuf,
    /// Of the script that was written.
    pub(super) digest: String,
    /// Where the user's own is.
    pub(super) kept: Option<PathBuf>,
}

/// What was done to `core.hooksPath`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Setting {
    /// Whether it was set for one working tree.
    pub(super) worktree: bool,
    /// What stood in the same file.
    pub(super) before: Option<String>,
    /// The directory that hooks are passed on to.
    pub(super) original: String,
    /// What it was set to.
    pub(super) value: String,
    /// The configuration file as it was, if it was text.
    pub(super) bytes: Option<String>,
    /// The digest of the configuration file as it then was.
    pub(super) after: String,
}

impl Default for Record {
    fn default() -> Self {
        Self {
            version: VERSION,
            hooks: Vec::new(),
            directories: Vec::new(),
            setting: None,
            workspaces: Vec::new(),
        }
    }
}

impl Record {
    pub(super) fn load(path: &Path) -> Result<Option<Self>, BackstopError> {
        let bad = || BackstopError::BadRecord { path: path.to_owned() };
        match text::read(path, LARGEST) {
            Ok(text) => {
                let record: Self = serde_json::from_str(&text).map_err(|_| bad())?;
                if record.version == VERSION { Ok(Some(record)) } else { Err(bad()) }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(failed(path)(source)),
        }
    }

    /// Writes the record so that it survives a crash of what follows.
    pub(super) fn store(&self, path: &Path) -> Result<(), BackstopError> {
        let directory = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(directory).map_err(failed(directory))?;
        let json = serde_json::to_vec_pretty(self).expect("a record can be written as JSON");
        let mut draft = tempfile::NamedTempFile::new_in(directory).map_err(failed(path))?;
        io::Write::write_all(&mut draft, &json).map_err(failed(path))?;
        draft.as_file().sync_all().map_err(failed(path))?;
        draft.persist(path).map_err(|error| failed(path)(error.error))?;
        Ok(())
    }

    /// Adds a hook, or replaces what is known of it.
    pub(super) fn add(&mut self, path: &Path, text: &str, kept: Option<PathBuf>) {
        let before = self.hooks.iter().position(|hook| hook.path == path);
        let hook = Hook { path: path.to_owned(), digest: digest(text), kept };
        match before {
            Some(index) => self.hooks[index] = hook,
            None => self.hooks.push(hook),
        }
    }

    /// Tells whether a hook was installed before.
    pub(super) fn knows(&self, path: &Path) -> bool {
        self.hooks.iter().any(|hook| hook.path == path)
    }

    /// Notes the directory of the record itself, if it has to be made.
    pub(super) fn remember_parents(&mut self, file: &Path) {
        if let Some(directory) = file.parent().filter(|directory| !directory.exists())
            && !self.directories.iter().any(|known| known == directory)
        {
            self.directories.insert(0, directory.to_owned());
        }
    }
}
