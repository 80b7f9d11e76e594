//! What was set up, remembered so that it can be taken back: in the workspace's own directory, under `setup`.
//!
//! `memory.json` names each file with the digest of what was written; the bytes that were there before lie beside it.
//! Everything is on disk before a settings file is touched, so after a crash each file is in a state that is known:
//! as it was, as it was meant to be, or as an earlier set-up left it.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use engine::digest;
use serde::{Deserialize, Serialize};

use super::{SetupError, edits::Done};
use crate::{Place, text};

/// The version of the format.
const VERSION: u32 = 1;
/// The largest memory, and the largest file that is set up, in bytes.
pub(super) const LARGEST: u64 = 4 * 1024 * 1024;
const FILE: &str = "memory.json";

/// All that was set up in a workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Memory {
    version: u32,
    /// Directories that were made, relative to the root, the outermost first.
    pub(super) directories: Vec<String>,
    pub(super) files: Vec<Remembered>,
}

/// One file that was set up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Remembered {
    /// Its name, relative to the root.
    pub(super) name: String,
    /// The digest of what it held before; none if it was not there.
    pub(super) original: Option<String>,
    /// The digest of what was written.
    pub(super) written: String,
    /// The digest of what an earlier set-up had left there, in case the write did not happen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) earlier: Option<String>,
    /// What was done to it; empty for a file that is wholly ours.
    pub(super) done: Vec<Done>,
}

/// What became of a file since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    /// It is as it was written.
    AsWritten,
    /// It is as it was before.
    AsBefore,
    Changed,
}

impl Default for Memory {
    fn default() -> Self {
        Self { version: VERSION, directories: Vec::new(), files: Vec::new() }
    }
}

impl Memory {
    /// Reads what is remembered; nothing if nothing was set up.
    pub(super) fn load(place: &Place) -> Result<Self, SetupError> {
        let path = directory(place).join(FILE);
        let bytes = match text::read(&path, LARGEST) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            read => read.map_err(|source| SetupError::Read { path: path.clone(), source })?,
        };
        let memory: Self = serde_json::from_str(&bytes)
            .map_err(|error| SetupError::Memory { path: path.clone(), problem: error.to_string() })?;
        match memory.version {
            VERSION => Ok(memory),
            version => {
                let problem = format!("its version is {version}; this warp knows {VERSION}");
                Err(SetupError::Memory { path, problem })
            }
        }
    }

    pub(super) fn file(&self, name: &str) -> Option<&Remembered> {
        self.files.iter().find(|file| file.name == name)
    }

    /// Remembers a file, in place of what was remembered of it.
    pub(super) fn put(&mut self, remembered: Remembered) {
        match self.files.iter_mut().find(|file| file.name == remembered.name) {
            Some(file) => *file = remembered,
            None => self.files.push(remembered),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.directories.is_empty()
    }

    /// Writes the memory and the originals that it names; drops those that it names no more.
    pub(super) fn store(&self, place: &Place, originals: &[&str]) -> Result<(), SetupError> {
        let directory = directory(place);
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| SetupError::Write { path, source }
        };
        for text in originals {
            let path = directory.join(original_name(&digest(text)));
            replace(&path, text).map_err(failed(&path))?;
        }
        let path = directory.join(FILE);
        let json = serde_json::to_string_pretty(self).expect("the memory can be written as JSON");
        replace(&path, &format!("{json}\n")).map_err(failed(&path))?;
        self.forget_originals(&directory).map_err(failed(&directory))
    }

    fn forget_originals(&self, directory: &Path) -> io::Result<()> {
        let named: Vec<String> =
            self.files.iter().filter_map(|file| file.original.as_deref()).map(original_name).collect();
        for entry in fs::read_dir(directory)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.starts_with("original-") && !named.contains(&name) {
                fs::remove_file(directory.join(name))?;
            }
        }
        Ok(())
    }

    /// Forgets everything and removes the directories that are then empty.
    pub(super) fn remove(place: &Place) -> Result<(), SetupError> {
        let directory = directory(place);
        let failed = |source| SetupError::Write { path: directory.clone(), source };
        // The memory goes first: without it the originals are of no use, and with it they must be there.
        crate::atomic::remove(&directory.join(FILE)).map_err(failed)?;
        Self::default().forget_originals(&directory).map_err(failed)?;
        for path in [&directory, &place.own] {
            remove_if_empty(path).map_err(failed)?;
        }
        if place.own.ends_with(".warp/local")
            && let Some(above) = place.own.parent()
        {
            remove_if_empty(above).map_err(failed)?;
        }
        Ok(())
    }
}

impl Remembered {
    /// Tells what became of the file.
    pub(super) fn since(&self, current: Option<&str>) -> Since {
        let found = current.map(digest);
        if found.is_some() && [Some(&self.written), self.earlier.as_ref()].contains(&found.as_ref()) {
            Since::AsWritten
        } else if found == self.original {
            Since::AsBefore
        } else {
            Since::Changed
        }
    }

    /// Reads what the file held before; none if it was not there.
    pub(super) fn original(&self, place: &Place) -> Result<Option<String>, SetupError> {
        let Some(wanted) = &self.original else { return Ok(None) };
        let path = directory(place).join(original_name(wanted));
        let text =
            text::read(&path, LARGEST).map_err(|source| SetupError::Read { path: path.clone(), source })?;
        if digest(&text) == *wanted {
            Ok(Some(text))
        } else {
            Err(SetupError::Memory { path, problem: "it is not what was put there".to_owned() })
        }
    }
}

/// A lock on the set-up of a workspace, held as long as this lives.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    pub(super) fn take(place: &Place) -> Result<Self, SetupError> {
        let directory = directory(place);
        let failed = |source| SetupError::Write { path: directory.clone(), source };
        fs::create_dir_all(&directory).map_err(failed)?;
        let file = File::open(&directory).map_err(failed)?;
        let busy = || SetupError::Busy;
        file.try_lock().map_err(|_| busy())?;
        // Whoever held it before may have removed the directory.
        let here = fs::metadata(&directory).map_err(|_| busy())?.ino();
        let locked = file.metadata().map_err(failed)?.ino();
        if here == locked { Ok(Self { _file: file }) } else { Err(busy()) }
    }
}

fn directory(place: &Place) -> PathBuf {
    place.own.join("setup")
}

fn original_name(digest: &str) -> String {
    format!("original-{digest}")
}

/// Removes a directory that is empty; one that is not, or is not there, is left as it is.
pub(super) fn remove_if_empty(path: &Path) -> io::Result<()> {
    match fs::remove_dir(path) {
        Err(error)
            if !matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory
            ) =>
        {
            Err(error)
        }
        _ => Ok(()),
    }
}

/// Replaces a file for good: readers see the old text or the new, and after a crash one of them is there. The new
/// file has the permissions of the old.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(directory)?;
    let draft = draft(path);
    crate::atomic::remove(&draft)?;
    let mut file = File::create_new(&draft)?;
    file.write_all(text.as_bytes())?;
    if let Ok(old) = fs::metadata(path) {
        file.set_permissions(old.permissions())?;
    }
    file.sync_all()?;
    fs::rename(&draft, path)?;
    File::open(directory)?.sync_all()
}

/// Returns where a file is written before it takes its name. A crash may leave it there.
pub(super) fn draft(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".warp-new");
    path.with_file_name(name)
}
