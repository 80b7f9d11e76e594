//! Directories that last no longer than this process: for sockets, and for files of one turn.
//!
//! They are below `XDG_RUNTIME_DIR` or warp's state directory, not in `/tmp`. Their names tell which process made them, so
//! that the next `warp` can remove what a killed one left ([`remove_leftovers`]).

mod earlier;

use std::{
    env, fs, io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::machine;

/// How the name of every directory begins.
const PREFIX: &str = "warp-";
/// How many random characters a name ends with.
const RANDOM: usize = 6;
/// The longest path that a socket may have, in bytes.
const LONGEST_SOCKET: usize = 107;

/// Makes a private directory that is removed with the returned value.
pub fn directory() -> io::Result<TempDir> {
    let base = bases().into_iter().next().unwrap_or_else(env::temp_dir);
    make(&base)
}

/// Makes such a directory whose path is short enough for a socket of this name in it.
pub fn directory_for_socket(name: &str) -> io::Result<TempDir> {
    let length = 1 + prefix().len() + RANDOM + 1 + name.len();
    let fits = |base: &PathBuf| base.as_os_str().len() + length <= LONGEST_SOCKET;
    let base = bases().into_iter().chain([env::temp_dir()]).find(fits);
    let too_long =
        || io::Error::other("its path is too long for a socket: set XDG_RUNTIME_DIR to a shorter one");
    make(&base.ok_or_else(too_long)?)
}

/// Removes what killed processes left. What cannot be removed is left to the next.
pub fn remove_leftovers() {
    let temporary = env::temp_dir();
    for base in bases().into_iter().chain([temporary.clone()]) {
        for path in own(&base).filter(|path| is_left(path)) {
            let _ = fs::remove_dir_all(path);
        }
    }
    for base in runtime().into_iter().chain([temporary]) {
        earlier::remove(own(&base));
    }
}

/// Returns where directories are made, the best place first.
fn bases() -> Vec<PathBuf> {
    let state = machine::state_directory().map(|state| state.join("run"));
    runtime().into_iter().chain(state).collect()
}

fn runtime() -> Option<PathBuf> {
    machine::absolute("XDG_RUNTIME_DIR").filter(|path| path.is_dir())
}

fn make(base: &Path) -> io::Result<TempDir> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(base)?;
    let private = fs::Permissions::from_mode(0o700);
    tempfile::Builder::new().prefix(&prefix()).rand_bytes(RANDOM).permissions(private).tempdir_in(base)
}

/// Returns this user's files and directories there that are named like warp's.
fn own(base: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    let named =
        entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)));
    let own = named.filter(|entry| entry.metadata().is_ok_and(|data| data.uid() == machine::user()));
    own.map(|entry| entry.path())
}

/// Tells whether a directory was made by a process that is no more.
fn is_left(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some((namespace, pid, began)) = parse(name) else { return false };
    // Of a process in another namespace it cannot be told whether it lives.
    namespace == machine::pid_namespace() && machine::owner(pid).start_ticks != Some(began)
}

/// Returns how the names begin of what this process makes.
fn prefix() -> String {
    let pid = std::process::id();
    let began = machine::owner(pid).start_ticks.unwrap_or_default();
    format!("{PREFIX}{}-{pid}-{began}-", machine::pid_namespace())
}

/// Reads the namespace, the number and the start of the process that a name tells of.
fn parse(name: &str) -> Option<(u64, u32, u64)> {
    let mut parts = name.strip_prefix(PREFIX)?.split('-');
    let (namespace, pid, began) = (parts.next()?, parts.next()?, parts.next()?);
    let random = parts.next().filter(|random| random.len() == RANDOM)?;
    (parts.next().is_none() && random.chars().all(char::is_alphanumeric)).then_some(())?;
    Some((namespace.parse().ok()?, pid.parse().ok()?, began.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_dead_process_left_is_told_by_its_name() {
        let base = tempfile::tempdir().unwrap();
        let made = make(base.path()).unwrap();
        assert!(!is_left(made.path()), "this process lives");
        let (namespace, pid, began) = parse(made.path().file_name().unwrap().to_str().unwrap()).unwrap();
        let left = |name: &str| is_left(&base.path().join(name));
        assert!(left(&format!("warp-{namespace}-{pid}-{}-abc123", began + 1)), "its number is another's now");
        assert!(!left(&format!("warp-{}-{pid}-{}-abc123", namespace + 1, began + 1)), "another namespace");
        for other in ["warp-demo-abc123", "warp-1-2-3", "warp-1-2-3-abc123-x", "warp-a-b-c-abc123", "x"] {
            assert!(!left(other), "{other}");
        }
    }
}
