//! Small files that are replaced whole, and files that are set aside.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// Replaces a file: readers see the old text or the new, never a part.
///
/// It is not synced: what is written here are views, which the journal can always make again. The temporary
/// name is fixed, so a crash leaves at most one; callers hold the workspace's lock.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    name.push(".new");
    let draft = directory.join(name);
    match write(&draft, text) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(directory)?;
            write(&draft, text)?;
        }
        Err(error) => return Err(error),
    }
    fs::rename(&draft, path)
}

/// Writes a file that was not there before, so that no link and no pipe under its name is written to.
fn write(path: &Path, text: &str) -> io::Result<()> {
    remove(path)?;
    File::create_new(path)?.write_all(text.as_bytes())
}

/// Removes a file that may not be there.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Moves whatever is at `path` into `directory` under a name that nothing has, and returns where it is.
pub(crate) fn set_aside(path: &Path, directory: &Path, label: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(directory)?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.trim_start_matches('.');
    for number in 0..10_000 {
        let target = directory.join(format!("{label}-{number}-{name}"));
        if target.symlink_metadata().is_ok() {
            continue;
        }
        match fs::rename(path, &target) {
            Ok(()) => return Ok(target),
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                let beside = path.with_file_name(format!("{name}.set-aside-{label}-{number}"));
                fs::rename(path, &beside)?;
                return Ok(beside);
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!("`{}` is full of files set aside", directory.display())))
}
