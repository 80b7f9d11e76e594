//! Files of Git LFS in a run's workspace, and the way of new ones to the person's repository and its remote.
//!
//! A clone has a store of its own, `lfs/objects` in its git directory. Like its git objects, the files in it are hard links
//! to the person's, in both directions. Nothing is downloaded: a file whose content is not on this machine stays the pointer
//! that is committed.
//!
//! Without git-lfs every such file is a pointer, and git is told not to call a filter that is not there.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process,
    sync::OnceLock,
    time::Duration,
};

use super::{
    Location,
    own::{GitError, Repository, expected},
};
use crate::{boundary, process::is_installed};

/// How long all of it may take.
const LIMIT: Duration = Duration::from_secs(600);
/// Where a repository keeps contents, in its git directory.
const STORE: &str = "lfs/objects";
/// What a pointer begins with.
const POINTER: &str = "version https://git-lfs.github.com/spec/";
/// A file that is larger is no pointer, in bytes.
const LARGEST_POINTER: u64 = 1024;
/// Names the files that git-lfs stands in for.
const FILES: &str = ":(top,attr:filter=lfs)";

/// What `git lfs install` sets.
const FILTER: &[(&str, &str)] = &[
    ("filter.lfs.clean", "git-lfs clean -- %f"),
    ("filter.lfs.smudge", "git-lfs smudge -- %f"),
    ("filter.lfs.process", "git-lfs filter-process"),
    ("filter.lfs.required", "true"),
];
/// What is set in every call where git-lfs is not installed.
const NO_FILTER: &[&str] =
    &["filter.lfs.clean=", "filter.lfs.smudge=", "filter.lfs.process=", "filter.lfs.required=false"];

/// Tells whether git-lfs is installed, looked for once.
pub fn is_there() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| is_installed("git-lfs"))
}

/// Returns what is set in every call of git.
pub(super) fn settings() -> &'static [&'static str] {
    if is_there() { &[] } else { NO_FILTER }
}

/// Tells whether a content is a pointer.
pub fn is_pointer(text: &str) -> bool {
    text.len() as u64 <= LARGEST_POINTER && text.starts_with(POINTER)
}

/// Gives the store of one repository what another's has.
pub(super) fn share(from: &Location, to: &Location) -> Result<(), GitError> {
    let (from, to) = (from.common_dir.join(STORE), to.common_dir.join(STORE));
    if from == to || !from.is_dir() {
        return Ok(());
    }
    // As git-lfs has it: `ab/cd/abcd…`.
    for object in entries(&from)?.iter().map(|path| entries(path)).collect::<Result<Vec<_>, _>>()?.concat() {
        for object in entries(&object)? {
            let Ok(name) = object.strip_prefix(&from) else { continue };
            let to = to.join(name);
            if !to.exists() {
                give(&object, &to).map_err(|source| GitError::File { path: to, source })?;
            }
        }
    }
    Ok(())
}

/// Links a file where that is possible, and copies it where it is not.
fn give(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(directory) = to.parent() {
        fs::create_dir_all(directory)?;
    }
    match fs::hard_link(from, to) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            // Another process never sees a part of it.
            let part = to.with_extension(process::id().to_string());
            fs::copy(from, &part)?;
            fs::rename(part, to)
        }
        _ => Ok(()),
    }
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, GitError> {
    let failed = |source| GitError::File { path: directory.to_owned(), source };
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    fs::read_dir(directory).map_err(failed)?.map(|entry| Ok(entry.map_err(failed)?.path())).collect()
}

/// Puts contents in the place of unchanged pointers in the tree of a slot, which is `root`, as far as the person's
/// repository has them; returns the paths of those that stay pointers.
pub fn fill(root: &Path, location: &Location, origin: &Location) -> Result<Vec<String>, GitError> {
    let git = Repository::new(root, location, LIMIT);
    let missing = pointers(&git, root)?;
    if missing.is_empty() || !is_there() {
        return Ok(missing);
    }
    boundary::around("lfs", || {
        share(origin, location)?;
        for (name, value) in FILTER {
            if !git.run(&["config", "--get", name], &[])?.is_success() {
                git.text(&["config", name, value], &[])?;
            }
        }
        for path in missing.iter().map(|path| root.join(path)) {
            // A file that is there and unchanged is not written again.
            fs::remove_file(&path).map_err(|source| GitError::File { path, source })?;
        }
        // Whatever else is in the tree may be somebody's work.
        let names = missing.join("\0").into_bytes();
        let written = git.run_reading(names, &["checkout-index", "--quiet", "-u", "-z", "--stdin"], &[])?;
        expected("checkout-index", written)
    })?;
    pointers(&git, root)
}

/// Returns the files of a tree that are the pointers which the index has.
fn pointers(git: &Repository<'_>, root: &Path) -> Result<Vec<String>, GitError> {
    let listed = git.text(&["ls-files", "-z", "--", FILES], &[])?;
    let is_small = |path: &&str| {
        let data = root.join(path).symlink_metadata();
        data.is_ok_and(|data| data.is_file() && data.len() <= LARGEST_POINTER)
    };
    let is_pointer = |path: &&str| fs::read_to_string(root.join(path)).is_ok_and(|text| is_pointer(&text));
    let found: Vec<&str> = listed.split_terminator('\0').filter(is_small).filter(is_pointer).collect();
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let changed = git.text(&["diff-files", "--name-only", "-z", "--", FILES], &[])?;
    let is_unchanged = |path: &&str| !changed.split_terminator('\0').any(|changed| changed == *path);
    Ok(found.into_iter().filter(is_unchanged).map(str::to_owned).collect())
}

/// Gives a remote what a commit needs of the repository's store: what the hook of git-lfs does, which is not called.
pub(super) fn upload(
    git: &Repository<'_>,
    location: &Location,
    remote: &str,
    commit: &str,
) -> Result<(), GitError> {
    if !is_there() || !location.common_dir.join(STORE).is_dir() {
        return Ok(());
    }
    boundary::around("lfs_push", || git.text(&["lfs", "push", remote, commit], &[])).map(drop)
}
