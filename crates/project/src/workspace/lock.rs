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

/// The lock, until it is dropped; the kernel gives it back if the process dies.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    pub(super) fn take(directory: &Path) -> Result<Self, Error> {
        let path = directory.join("lock");
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
        if hold::wait(&file, PATIENCE).map_err(failed)? {
            return Ok(Self { _file: file });
        }
        Err(Error::Locked { path, seconds: PATIENCE.as_secs() })
    }
}
