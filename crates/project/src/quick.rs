//! The gate's short way: one small file, no store, nothing started.

use std::{io, path::Path};

use adapters::git;
use engine::view::{Head, Permission};

use crate::text;

/// The largest head that is read, in bytes; a head of ours has a few hundred.
const LARGEST: u64 = 64 * 1024;

/// What the short way could tell.
#[derive(Debug, PartialEq, Eq)]
pub enum Quick {
    /// The head denies.
    Denied(String),
    /// The project never had a run.
    NoRun,
    /// Only the store can tell.
    Unsure,
}

/// Asks the head of the workspace at `root` about an operation.
///
/// A head is as new as the journal or it is not there, so its "no" counts. Its "yes" does not: leave is read
/// from the store.
pub fn quick_gate(root: &Path, operation: &str) -> Quick {
    let own = root.join(".git/warp");
    match text::read(&own.join("head"), LARGEST) {
        Ok(text) => return judge(&text, operation),
        Err(error) if error.kind() == io::ErrorKind::NotFound && root.join(".git").is_dir() => {
            return if own.join("project-id").exists() { Quick::Unsure } else { Quick::NoRun };
        }
        Err(_) => {}
    }
    let (own, shared) = match git::locate(root) {
        Some(location) => (location.git_dir.join("warp"), location.common_dir.join("warp")),
        None => (root.join(".warp/local"), root.join(".warp/local")),
    };
    match text::read(&own.join("head"), LARGEST) {
        Ok(text) => judge(&text, operation),
        Err(_) if !shared.join("project-id").exists() && root.is_dir() => Quick::NoRun,
        Err(_) => Quick::Unsure,
    }
}

fn judge(text: &str, operation: &str) -> Quick {
    match Head::parse(text).map(|head| head.permission(operation)) {
        Some(Permission::Denied(reason)) => Quick::Denied(reason),
        Some(Permission::Allowed) | None => Quick::Unsure,
    }
}
