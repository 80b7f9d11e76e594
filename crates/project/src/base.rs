//! Where a run's work begins, and which branch it goes to: the setting `base`.
//!
//! A base that is a branch of the person's is the merge target as well. Any other base (a tag, a commit, a remote's branch)
//! is only where the work begins: it goes to the merge target that is found, rebased as any other work.

use adapters::git::Git;
use engine::{Settings, keys};

use crate::{Place, Workspace};

/// The value by which work begins at the merge target.
pub const AUTO: &str = "auto";

/// Why a base cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    #[error("`base` is \"{name}\", and that is no branch, tag or commit of this repository")]
    Unknown { name: String },
    #[error("`base` cannot be looked up: {words}")]
    Git { words: String },
}

/// Where work begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// As it was named, or the merge target.
    pub name: String,
    pub commit: String,
    /// How it relates to a remote, or what it is.
    pub about: String,
    /// Why the remote was not asked, if it did not answer.
    pub unreached: Option<String>,
}

/// Returns the merge target of work that begins now; an error if its base is not there.
pub fn merge_target(place: &Place, settings: &Settings) -> Result<String, BaseError> {
    let git = place.git();
    let found = git.branches().merge_target;
    Ok(match settings.get(keys::BASE) {
        AUTO => found,
        name => local_branch(&full_name(&git, name)?).unwrap_or(found),
    })
}

/// Returns the whole name of a ref, or the hash of a commit that is named by it.
pub fn full_name(git: &Git<'_>, name: &str) -> Result<String, BaseError> {
    let found = git.named(name).map_err(|words| BaseError::Git { words })?;
    found.ok_or_else(|| BaseError::Unknown { name: name.to_owned() })
}

/// Returns the branch of the person's that a ref is, if it is one.
pub fn local_branch(full: &str) -> Option<String> {
    full.strip_prefix("refs/heads/").map(str::to_owned)
}

impl Workspace {
    /// Tells whether the work has a branch already: its base was chosen then.
    pub fn has_branch(&self) -> bool {
        self.slot.is_none() || !self.place.git().branch().is_empty()
    }
}
