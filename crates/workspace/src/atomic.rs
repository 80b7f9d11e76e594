//! Small files that are replaced whole, and files that are set aside.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use adapters::boundary;

/// Replaces a file: readers see the old text or the new, never a part.
///
/// It is not synced: what is written here are views, which the journal can always make again. The temporary
/// name is fixed, so a crash leaves at most one; callers hold the workspace's lock.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let draft = draft(path)?;
    // What a crash has left there, or somebody has put there, is not written to.
    gone(fs::remove_file(&draft))?;
    make(&draft, text)?;
    boundary::around(name_of(path), || fs::rename(&draft, path))
}

/// Returns where a file is written before it is renamed into place.
fn draft(path: &Path) -> io::Result<PathBuf> {
    let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    name.push(".new");
    Ok(path.with_file_name(name))
}

/// Writes a file that is not there yet.
fn make(path: &Path, text: &str) -> io::Result<()> {
    let made = match File::create_new(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(path.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
            File::create_new(path)
        }
        made => made,
    };
    made?.write_all(text.as_bytes())
}

/// Removes a file, if it exists.
pub fn remove(path: &Path) -> io::Result<()> {
    // Nothing changes then, so there is nothing to crash between.
    if path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Ok(());
    }
    boundary::around(name_of(path), || gone(fs::remove_file(path)))
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Names the point at which a file comes or goes.
fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or("file")
}

/// Moves `path` into `directory` under a free name and returns the new path.
pub fn set_aside(path: &Path, directory: &Path, label: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(directory)?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.trim_start_matches('.');
    for number in 0..10_000 {
        let target = directory.join(format!("{label}-{number}-{name}"));
        if target.symlink_metadata().is_ok() {
            continue;
        }
        match boundary::around("set_aside", || fs::rename(path, &target)) {
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
