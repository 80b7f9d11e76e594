//! What does not belong where it lies: how it gets there, and what can be seen of it.

use std::{
    fs::{self, Permissions},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Command,
};

/// Something that does not belong where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bad {
    Empty,
    /// The first half of what should be there.
    Cut,
    Binary,
    Huge,
    Nested,
    /// A link to a device that never ends.
    Device,
    /// A pipe that nobody writes into.
    Pipe,
    Directory,
    /// A link that leads nowhere.
    Dangling,
    /// A link that leads to itself.
    Loop,
    /// A file that only root can read.
    Unreadable,
}

impl Bad {
    pub(crate) const FILES: [Bad; 5] = [Bad::Empty, Bad::Cut, Bad::Binary, Bad::Huge, Bad::Nested];
    pub(crate) const NO_FILES: [Bad; 3] = [Bad::Device, Bad::Pipe, Bad::Directory];
    pub(crate) const ODD: [Bad; 3] = [Bad::Dangling, Bad::Loop, Bad::Unreadable];

    pub(crate) fn all() -> impl Iterator<Item = Bad> {
        Self::FILES.into_iter().chain(Self::NO_FILES).chain(Self::ODD)
    }

    /// Puts it where `path` is, and returns what can be seen of it.
    pub(crate) fn put(self, path: &Path) -> String {
        // What lies there may be a device or a pipe from before.
        let is_file = path.symlink_metadata().is_ok_and(|data| data.is_file());
        let good = if is_file { fs::read(path).unwrap() } else { Vec::new() };
        clear(path);
        match self {
            Bad::Empty => fs::write(path, ""),
            Bad::Cut => fs::write(path, &good[..good.len() / 2]),
            Bad::Binary => fs::write(path, (0..=255).cycle().take(5000).collect::<Vec<u8>>()),
            Bad::Huge => fs::write(path, vec![b'['; 9 * 1024 * 1024]),
            Bad::Nested => fs::write(path, "[".repeat(100_000)),
            Bad::Device => symlink("/dev/zero", path),
            Bad::Pipe => {
                assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
                Ok(())
            }
            Bad::Directory => fs::create_dir(path).and_then(|()| fs::write(path.join("mine"), "keep me")),
            Bad::Dangling => symlink("nowhere", path),
            Bad::Loop => symlink(path.file_name().unwrap(), path),
            Bad::Unreadable => {
                fs::write(path, "{").and_then(|()| fs::set_permissions(path, Permissions::from_mode(0o000)))
            }
        }
        .unwrap();
        trace(path)
    }
}

pub(crate) fn clear(path: &Path) {
    match path.symlink_metadata() {
        Ok(data) if data.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

/// Returns what can be seen of a file without following or opening what must not be.
pub(crate) fn trace(path: &Path) -> String {
    let Ok(data) = path.symlink_metadata() else { return "nothing".to_owned() };
    let kind = data.file_type();
    if kind.is_symlink() {
        format!("link to {}", fs::read_link(path).unwrap().display())
    } else if kind.is_fifo() {
        "pipe".to_owned()
    } else if kind.is_dir() {
        let mut names: Vec<PathBuf> =
            fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.sort();
        let inside: Vec<String> = names.iter().map(|path| trace(path)).collect();
        format!("directory of {}", inside.join(", "))
    } else {
        let mut hasher = DefaultHasher::new();
        // What cannot be read is told by its size.
        fs::read(path).unwrap_or_default().hash(&mut hasher);
        format!("file of {} bytes, {:x}", data.len(), hasher.finish())
    }
}
