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

/// What the short way could tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Quick<T> {
    Known(T),
    /// The project never had a run.
    NoRun,
    /// Only the store can tell.
    Unsure,
}

/// Asks the head of the workspace at `root` about an operation; what is known is why it is denied.
///
/// A head is as new as the journal or it is not there, so its "no" counts. Its "yes" does not: leave is read
/// from the store.
pub fn quick_gate(root: &Path, operation: &str) -> Quick<String> {
    match quick_head(root) {
        Quick::Known(head) => match head.permission(operation) {
            Permission::Denied(reason) => Quick::Known(reason),
            Permission::Allowed => Quick::Unsure,
        },
        Quick::NoRun => Quick::NoRun,
        Quick::Unsure => Quick::Unsure,
    }
}

/// Reads the head of the workspace at `root`.
pub fn quick_head(root: &Path) -> Quick<Head> {
    let own = root.join(".git/warp");
    // In a workspace of a run's own nothing below its root is asked.
    match text::read(&own.join("head"), LARGEST) {
        _ if git::slot::marker(root).is_some() => {}
        Ok(text) => return parse(&text),
        Err(error) if error.kind() == io::ErrorKind::NotFound && root.join(".git").is_dir() => {
            // One that began before there was a repository is not known there yet.
            let began = [own.join("project-id"), root.join(".warp/local/project-id")];
            return if began.iter().any(|id| id.exists()) { Quick::Unsure } else { Quick::NoRun };
        }
        Err(_) => {}
    }
    let (own, shared) = match git::locate(root) {
        Some(location) => (location.git_dir.join("warp"), location.common_dir.join("warp")),
        None => (root.join(".warp/local"), root.join(".warp/local")),
    };
    match text::read(&own.join("head"), LARGEST) {
        Ok(text) => parse(&text),
        Err(_) if !shared.join("project-id").exists() && root.is_dir() => Quick::NoRun,
        Err(_) => Quick::Unsure,
    }
}

/// Returns the roots of the workspaces around a directory, which need not exist any more, from the inside out.
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

fn parse(text: &str) -> Quick<Head> {
    Head::parse(text).map_or(Quick::Unsure, Quick::Known)
}
