//! The files around a store, and moving them so that a crash leaves something that can be finished.
//!
//! A store `x` is three files of SQLite's (`x`, `x-wal`, `x-shm`, and for a moment at its making `x-journal`) and
//! our guard. A repair works beside them, under the names below; whichever of those exist tells how far it came.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;

/// The write-ahead log.
pub(super) const LOG: &str = "-wal";

/// What SQLite keeps beside a database.
pub(super) const SIDES: [&str; 3] = [LOG, "-shm", "-journal"];

/// The guard: see [`super::guard`].
pub(super) const GUARD: &str = "-guard";

/// A copy of the damaged store, to be read and thrown away.
pub(super) const COPY: &str = ".copy";

/// The store to come, not yet whole.
pub(super) const REPAIRING: &str = ".repairing";

/// The store to come, whole and synced.
pub(super) const REPAIRED: &str = ".repaired";

/// The damaged store, out of the way but not yet set aside.
pub(super) const DAMAGED: &str = ".damaged";

/// Files found at a store's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileState {
    /// A file with something in it.
    Store,
    /// Nothing, or an empty file.
    Nothing,
    /// A log without its database. SQLite would delete it.
    LoneLog,
    /// A repair that was interrupted when the old store was out of the way and the new one not yet in place.
    Unfinished,
}

/// Returns the length of the log of the store at `path`, in bytes; 0 if there is none.
pub(super) fn log_length(path: &Path) -> io::Result<u64> {
    length(&beside(path, LOG))
}

/// Looks what is at `path`.
///
/// Not being allowed to look is an error, and not the same as finding nothing.
pub(super) fn look(path: &Path) -> io::Result<FileState> {
    if !is_empty(path)? {
        return Ok(FileState::Store);
    }
    // The log is looked at before the database is looked at again: a store in the making has its first page
    // before it has a log, so a log that was there before an empty database is truly alone.
    let has_log = !is_empty(&beside(path, LOG))?;
    if !is_empty(path)? {
        Ok(FileState::Store)
    } else if beside(path, REPAIRED).exists() && !path.exists() {
        Ok(FileState::Unfinished)
    } else if has_log {
        Ok(FileState::LoneLog)
    } else {
        Ok(FileState::Nothing)
    }
}

/// Returns whether SQLite would take the file at `path` for an empty one, which is so up to one byte.
pub(super) fn is_empty(path: &Path) -> io::Result<bool> {
    length(path).map(|length| length <= 1)
}

/// Returns the length of a file; 0 if there is none.
fn length(path: &Path) -> io::Result<u64> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(metadata.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

/// Returns `path` with `suffix` added to its file name.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// Returns the directory that `path` is in.
pub(super) fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    }
}

/// Makes sure that what was created in or moved to `directory` is still there after a power cut.
pub(super) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Puts the repaired store in place of the old one. Goes on wherever an earlier call was interrupted.
///
/// The caller owns the guard. The database is the first to leave and the last to arrive: while it is absent nobody
/// can take the files for a store, and a log of the old one is never read into the new one.
pub(super) fn swap(path: &Path) -> io::Result<()> {
    let damaged = beside(path, DAMAGED);
    if path.exists() {
        rename(path, &damaged)?;
        sync_directory(directory(path))?;
    }
    for side in SIDES {
        let from = beside(path, side);
        if from.exists() {
            rename(&from, &beside(&damaged, side))?;
        }
    }
    sync_directory(directory(path))?;
    rename(&beside(path, REPAIRED), path)?;
    sync_directory(directory(path))
}

/// Moves the damaged store into a directory of its own under `aside`, and returns it; `None` if there is none.
pub(super) fn set_aside(path: &Path, aside: &Path, now: i64) -> io::Result<Option<PathBuf>> {
    let damaged = beside(path, DAMAGED);
    let files: Vec<&str> =
        std::iter::once("").chain(SIDES).filter(|side| beside(&damaged, side).exists()).collect();
    if files.is_empty() {
        return Ok(None);
    }
    let name = path.file_name().unwrap_or_default();
    let target = fresh_directory(aside, &name.to_string_lossy(), now)?;
    for side in files {
        move_file(&beside(&damaged, side), &beside(&target.join(name), side))?;
    }
    sync_directory(&target)?;
    sync_directory(aside)?;
    sync_directory(directory(path))?;
    Ok(Some(target))
}

fn fresh_directory(aside: &Path, name: &str, now: i64) -> io::Result<PathBuf> {
    let mut attempt = 0_u32;
    loop {
        let suffix = if attempt == 0 { String::new() } else { format!("-{attempt}") };
        let target = aside.join(format!("{name}-{now}{suffix}"));
        match DirBuilder::new().mode(0o700).create(&target) {
            Ok(()) => return Ok(target),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => attempt += 1,
            Err(error) => return Err(error),
        }
    }
}

fn move_file(from: &Path, to: &Path) -> io::Result<()> {
    match rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            fs::copy(from, to)?;
            File::open(to)?.sync_all()?;
            sync_directory(directory(to))?;
            fs::remove_file(from)
        }
        outcome => outcome,
    }
}

/// Renames without ever replacing a file.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every file system knows the flag. The guard is owned, so nobody of ours can come between.
        Err(Errno::INVAL | Errno::NOSYS) if !to.exists() => fs::rename(from, to),
        outcome => outcome.map_err(Into::into),
    }
}

/// Removes the copies that a repair, this one or an interrupted one, no longer needs.
pub(super) fn clear(path: &Path) -> io::Result<()> {
    for stem in [COPY, REPAIRING, REPAIRED] {
        for side in std::iter::once("").chain(SIDES) {
            match fs::remove_file(beside(&beside(path, stem), side)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Err(_) | Ok(()) => {}
            }
        }
    }
    Ok(())
}
