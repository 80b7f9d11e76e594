//! Moving the person's merge target forward, and a working tree that stands on it.

use std::{fs, path::Path, path::PathBuf};

use super::{
    Location,
    integrate::{Between, LIMIT, branch, is_ancestor},
    own::{GitError, Own},
};
use crate::{boundary, refs};

/// Why a branch of the person's was not moved.
#[derive(Debug, thiserror::Error)]
pub enum ForwardError {
    #[error("there is no branch `{target}`")]
    NoSuchBranch { target: String },
    #[error("`{target}` has moved on to {now}")]
    MovedOn { target: String, now: String },
    #[error("{new} does not continue `{target}`")]
    NotAhead { target: String, new: String },
    #[error(
        "`{target}` is checked out in {}, where {} uncommitted and would be overwritten",
        at.display(),
        are(files)
    )]
    InTheWay { target: String, at: PathBuf, files: Vec<String> },
    #[error("`{target}` is in the middle of a rebase or a merge in {}", at.display())]
    Busy { target: String, at: PathBuf },
    #[error("git refuses to move `{target}` in {}: {words}", at.display())]
    Refused { target: String, at: PathBuf, words: String },
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Refs(#[from] refs::ReadError),
}

impl Between {
    /// Moves the person's branch `target` forward to `new`, which follows `old`.
    ///
    /// The branch is at `old`, or behind it: a remote may have been ahead of it, or has got `new` before a crash.
    /// A working tree that stands on it is moved along if none of its uncommitted changes is touched by that.
    pub fn fast_forward(
        &self,
        run: Option<&str>,
        target: &str,
        old: &str,
        new: &str,
    ) -> Result<(), ForwardError> {
        let (git, full) = (self.theirs(), branch(target));
        let target = target.to_owned();
        let now = match refs::one(&self.origin, &full)? {
            None => return Err(ForwardError::NoSuchBranch { target }),
            Some(now) if now == new => return Ok(()),
            Some(now) => {
                if !run.is_some_and(|run| self.is_kept(new, run)) {
                    self.bring(&[new])?;
                }
                if now != old && !is_ancestor(&git, &now, old)? {
                    return Err(ForwardError::MovedOn { target, now });
                }
                if !is_ancestor(&git, old, new)? {
                    return Err(ForwardError::NotAhead { target, new: new.to_owned() });
                }
                now
            }
        };
        if let Some(at) = being_rebased(&self.origin, &full) {
            return Err(ForwardError::Busy { target, at });
        }
        let Some(at) = self.checked_out_at(&full)? else {
            boundary::around("fast_forward", || {
                git.text(&["update-ref", "-m", "warp: merged", &full, new, &now], &[])
            })?;
            return Ok(());
        };
        self.move_along(&target, &at, new)
    }

    /// Returns the working tree of the person's repository in which a branch is checked out.
    pub(super) fn checked_out_at(&self, branch: &str) -> Result<Option<PathBuf>, GitError> {
        if let Some(tree) = only_tree(&self.origin) {
            let is_plain = |name: &str| match refs::one(&self.origin, name) {
                Ok(value) => value.is_none_or(|value| refs::is_object(&value)),
                Err(_) => false,
            };
            match refs::head(&self.origin) {
                Ok(refs::HeadAt::Branch(name)) if name == branch => return Ok(Some(tree)),
                Ok(refs::HeadAt::Branch(name)) if is_plain(&name) => return Ok(None),
                Ok(refs::HeadAt::Commit(_)) => return Ok(None),
                // Git finds out what that leads to.
                Ok(refs::HeadAt::Branch(_) | refs::HeadAt::Broken) | Err(_) => {}
            }
        }
        let list = self.theirs().text(&["worktree", "list", "--porcelain"], &[])?;
        let mut tree = None;
        for line in list.lines() {
            if let Some(path) = line.strip_prefix("worktree ") {
                tree = Some(PathBuf::from(path));
            } else if line.strip_prefix("branch ") == Some(branch) {
                return Ok(tree);
            }
        }
        Ok(None)
    }

    /// Moves a working tree that stands on `target`, and the branch with it.
    fn move_along(&self, target: &str, at: &Path, new: &str) -> Result<(), ForwardError> {
        let (target, at) = (target.to_owned(), at.to_owned());
        let Some(location) = super::locate(&at) else {
            let words = "there is no repository any more".to_owned();
            return Err(ForwardError::Refused { target, at, words });
        };
        if ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"]
            .iter()
            .any(|name| location.git_dir.join(name).exists())
        {
            return Err(ForwardError::Busy { target, at });
        }
        let git = Own::new(&at, &location, LIMIT);
        let merge = ["merge", "--quiet", "--ff-only", "--no-autostash", "--no-verify-signatures", new];
        let finished =
            boundary::around("fast_forward", || git.run(&merge, &[("GIT_REFLOG_ACTION", "warp: merged")]))?;
        if finished.is_success() {
            return match refs::one(&self.origin, &branch(&target))? {
                Some(now) if now == new => Ok(()),
                Some(now) => Err(ForwardError::MovedOn { target, now }),
                None => Err(ForwardError::NoSuchBranch { target }),
            };
        }
        let words = String::from_utf8_lossy(&finished.stderr).into_owned();
        // Git lists them one to a line, after a tab.
        let files: Vec<String> =
            words.lines().filter_map(|line| line.strip_prefix('\t')).map(str::to_owned).collect();
        if files.is_empty() {
            return Err(ForwardError::Refused { target, at, words: finished.last_words(300) });
        }
        Err(ForwardError::InTheWay { target, at, files })
    }
}

/// Returns the working tree of a repository that plainly has one and no other; nothing where git has to be asked.
fn only_tree(location: &Location) -> Option<PathBuf> {
    let common = &location.common_dir;
    let is_alone = ["worktrees", "reftable"].iter().all(|name| common.join(name).symlink_metadata().is_err());
    let has_head = common.join("HEAD").symlink_metadata().is_ok_and(|data| data.is_file());
    let tree = common.parent().filter(|_| is_alone && has_head && common.ends_with(".git"))?;
    // Without other parts of the configuration, this says whether there is a tree, and no other place for it.
    let text = fs::read_to_string(common.join("config")).ok()?.to_lowercase();
    let bare: Vec<&str> = text.lines().map(str::trim).filter(|line| line.contains("bare")).collect();
    let is_plain =
        bare == ["bare = false"] && !["worktree", "include"].iter().any(|word| text.contains(word));
    is_plain.then(|| tree.to_owned())
}

/// Returns the git directory in which a branch is being rebased; git then has no working tree on it.
fn being_rebased(origin: &Location, branch: &str) -> Option<PathBuf> {
    let linked = fs::read_dir(origin.common_dir.join("worktrees")).into_iter().flatten().flatten();
    let all = std::iter::once(origin.common_dir.clone()).chain(linked.map(|entry| entry.path()));
    let mut being = all.filter(|git_dir| {
        ["rebase-merge", "rebase-apply"].iter().any(|name| {
            let head = fs::read_to_string(git_dir.join(name).join("head-name")).unwrap_or_default();
            head.trim() == branch
        })
    });
    being.next()
}

fn are(files: &[String]) -> String {
    format!("{} {}", files.join(", "), if files.len() == 1 { "is" } else { "are" })
}
