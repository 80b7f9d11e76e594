//! The workspace's lock: one process at a time changes its run and its views.

use std::{
    fs::{self, File},
    io,
    path::Path,
    time::Duration,
};

use super::Error;
use crate::hold;

/// How long to wait for another process. The longest thing done under the lock is one synced append.
const PATIENCE: Duration = Duration::from_secs(30);

/// Its name in the workspace's own directory.
const FILE: &str = "lock";

/// The lock, until it is dropped; the kernel gives it back if the process dies.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    pub(super) fn take(directory: &Path) -> Result<Self, Error> {
        let locked = || Error::Locked { path: directory.join(FILE), seconds: PATIENCE.as_secs() };
        Self::take_within(directory, PATIENCE)?.ok_or_else(locked)
    }

    /// Takes the lock, if no other process has it.
    pub(super) fn take_at_once(directory: &Path) -> Result<Option<Self>, Error> {
        Self::take_within(directory, Duration::ZERO)
    }

    fn take_within(directory: &Path, patience: Duration) -> Result<Option<Self>, Error> {
        let path = directory.join(FILE);
        let failed = |source| Error::Write { path: path.clone(), source };
        // Opened for reading too: a pipe that somebody put there would else never open.
        let open = || File::options().create(true).truncate(false).read(true).write(true).open(&path);
        let file = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(directory).map_err(failed)?;
                open().map_err(failed)?
            }
            other => other.map_err(failed)?,
        };
        let is_held = hold::wait(&file, patience).map_err(failed)?;
        Ok(is_held.then_some(Self { _file: file }))
    }
}
