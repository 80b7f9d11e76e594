//! The short way of hooks: one small file, no store, nothing started.

use std::{
    io,
    path::{Path, PathBuf},
};

use adapters::git;
use engine::view::{Head, Permission};

use crate::text;

/// The largest head that is read, in bytes; a head of ours has a few hundred.
const LARGEST: u64 = 64 * 1024;

/// Result of a lookup in the head file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeadLookup<T> {
    Known(T),
    /// The project never had a run.
    NoRun,
    /// Only the store can tell.
    Unsure,
}

/// Asks the head file of the workspace at `root` whether an operation is denied, and why.
///
/// A head is as new as the journal or it is not there, so its "no" counts. Its "yes" does not: leave is read
/// from the store.
pub fn quick_gate(root: &Path, operation: &str) -> HeadLookup<String> {
    match quick_head(root) {
        HeadLookup::Known(head) => match head.permission(operation) {
            Permission::Denied(reason) => HeadLookup::Known(reason),
            Permission::Allowed => HeadLookup::Unsure,
        },
        HeadLookup::NoRun => HeadLookup::NoRun,
        HeadLookup::Unsure => HeadLookup::Unsure,
    }
}

/// Reads the head of the workspace at `root`.
pub fn quick_head(root: &Path) -> HeadLookup<Head> {
    let own = root.join(".git/warp");
    // In a workspace of a run's own nothing below its root is asked.
    match text::read(&own.join("head"), LARGEST) {
        _ if git::slot::marker(root).is_some() => {}
        Ok(text) => return parse(&text),
        Err(error) if error.kind() == io::ErrorKind::NotFound && root.join(".git").is_dir() => {
            // One that began before there was a repository is not known there yet.
            let began = [own.join("project-id"), root.join(".warp/local/project-id")];
            return if began.iter().any(|id| id.exists()) { HeadLookup::Unsure } else { HeadLookup::NoRun };
        }
        Err(_) => {}
    }
    let (own, shared) = match git::locate(root) {
        Some(location) => (location.git_dir.join("warp"), location.common_dir.join("warp")),
        None => (root.join(".warp/local"), root.join(".warp/local")),
    };
    match text::read(&own.join("head"), LARGEST) {
        Ok(text) => parse(&text),
        Err(_) if !shared.join("project-id").exists() && root.is_dir() => HeadLookup::NoRun,
        Err(_) => HeadLookup::Unsure,
    }
}

/// Returns the roots of the enclosing workspaces, innermost first. The directory need not exist.
pub fn quick_roots(directory: &Path) -> impl Iterator<Item = PathBuf> {
    directory.ancestors().filter(|path| is_root(path)).map(Path::to_owned)
}

/// Tells whether a directory is the root of a repository or of a workspace without one.
///
/// A directory that is only named like a repository is none: some programs leave such behind.
pub(crate) fn is_root(path: &Path) -> bool {
    let dot_git = path.join(".git");
    dot_git.join("HEAD").exists()
        || dot_git.is_file()
        || git::slot::marker(path).is_some()
        || dot_git.join("warp").exists()
        || path.join(".warp/local").exists()
}

fn parse(text: &str) -> HeadLookup<Head> {
    Head::parse(text).map_or(HeadLookup::Unsure, HeadLookup::Known)
}
