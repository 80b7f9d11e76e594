//! A small file as it is, and made what it was.

use std::{
    fs, io,
    io::Read as _,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

use adapters::{machine, plain};
use serde::{Deserialize, Serialize};

/// The largest file that is noted, in bytes: settings and hooks are small.
const LARGEST: u64 = 1024 * 1024;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum State {
    Missing,
    Directory,
    Link(PathBuf),
    File {
        mode: u32,
        bytes: Vec<u8>,
    },
    /// Something that cannot be put back: a pipe, or a file that is too large.
    Other,
}

impl State {
    pub(super) fn read(path: &Path) -> Self {
        let Ok(data) = path.symlink_metadata() else { return Self::Missing };
        if data.is_dir() {
            return Self::Directory;
        }
        if data.is_symlink() {
            return fs::read_link(path).map_or(Self::Other, Self::Link);
        }
        let read = || -> io::Result<Vec<u8>> {
            let mut bytes = Vec::new();
            plain::open(path, fs::File::options().read(true))?.take(LARGEST + 1).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        match read() {
            Ok(bytes) if bytes.len() as u64 <= LARGEST => {
                Self::File { mode: data.permissions().mode() & 0o7777, bytes }
            }
            Ok(_) | Err(_) => Self::Other,
        }
    }
}

/// Moves what is at a path aside, and makes it what it was. Returns where it is then, if there was something.
pub(super) fn put_back(path: &Path, before: &State, aside: &Path) -> io::Result<Option<PathBuf>> {
    let kept = match path.symlink_metadata() {
        // A directory that stays one is not moved; its files are looked at by themselves.
        Ok(data) if data.is_dir() && *before == State::Directory => None,
        Ok(_) => Some(move_aside(path, aside)?),
        Err(_) => None,
    };
    let parent = path.parent().unwrap_or(path);
    match before {
        State::Missing | State::Other => {}
        State::Directory => fs::create_dir_all(path)?,
        State::Link(to) => {
            fs::create_dir_all(parent)?;
            symlink(to, path)?;
        }
        State::File { mode, bytes } => {
            fs::create_dir_all(parent)?;
            let draft = tempfile::NamedTempFile::new_in(parent)?;
            fs::write(draft.path(), bytes)?;
            fs::set_permissions(draft.path(), fs::Permissions::from_mode(*mode))?;
            draft.persist(path).map_err(|error| error.error)?;
        }
    }
    Ok(kept)
}

fn move_aside(path: &Path, aside: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(aside)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let now = machine::now().millis();
    let free = |directory: &Path| {
        let mut names = (0..1000).map(|number| directory.join(format!("{name}.{now}.{number}")));
        names.find(|path| path.symlink_metadata().is_err()).ok_or(io::ErrorKind::AlreadyExists)
    };
    let to = free(aside)?;
    if fs::rename(path, &to).is_ok() {
        return Ok(to);
    }
    // On another disk a plain file is copied; whatever else it is stays beside itself.
    if path.symlink_metadata()?.is_file() {
        fs::copy(path, &to)?;
        fs::remove_file(path)?;
        return Ok(to);
    }
    let to = free(path.parent().unwrap_or(path))?;
    fs::rename(path, &to)?;
    Ok(to)
}
