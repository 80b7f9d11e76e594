//! Continuing a branch that an earlier run has left, in another workspace.
//!
//! What is taken up is always in the person's repository, under a branch or under warp's own refs, so whatever lies in the
//! run's workspace may be replaced by it: every act can be done again after a crash.

use std::time::Duration;

use super::{
    Location,
    integrate::{BranchError, LIMIT, RebaseError, RepositoryPair, branch, fetch, is_ancestor, names, text},
    lfs,
    own::{GitError, Repository},
};
use crate::{
    boundary,
    process::{End, Finished},
    refs,
};

/// How long a look at two commits may take.
const LOOK: Duration = Duration::from_secs(60);

/// Result of a three-way merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedTree {
    /// The tree; files that do not fit together have markers in them.
    pub tree: String,
    pub conflicts: Vec<String>,
}

/// Result of replaying a branch onto another commit, up to the first conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayResult {
    /// The files in which both sides have changed the same lines; they have markers.
    pub conflicts: Vec<String>,
    /// The messages of the commits that are in the tree, and not committed.
    pub rest: Vec<String>,
}

/// Tells whether `tip` has what `commit` did: it is part of its history, or merging it would change nothing. The latter finds
/// what was rebased or squashed.
pub fn contains(location: &Location, tip: &str, commit: &str) -> Result<bool, GitError> {
    let git = Repository::bare(location, LOOK);
    if is_ancestor(&git, commit, tip)? {
        return Ok(true);
    }
    let merged = git.run(&["merge-tree", "--write-tree", "--no-messages", tip, commit], &[])?;
    if !merged.is_success() {
        return Ok(false);
    }
    Ok(merged.text() == git.text(&["rev-parse", &format!("{tip}^{{tree}}")], &[])?)
}

/// Returns the files in which two commits have changed the same lines.
pub fn conflicts(location: &Location, one: &str, other: &str) -> Result<Vec<String>, GitError> {
    let git = Repository::bare(location, LOOK);
    let merged =
        git.run(&["merge-tree", "--write-tree", "--name-only", "-z", "--no-messages", one, other], &[])?;
    if merged.end != End::Exit(1) {
        return Ok(Vec::new());
    }
    let said = String::from_utf8_lossy(&merged.stdout).into_owned();
    Ok(said.split('\0').skip(1).filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// Returns the subject of a commit and its first parent.
pub fn subject_and_parent(location: &Location, commit: &str) -> Result<(String, Option<String>), GitError> {
    let git = Repository::bare(location, LOOK);
    let shown = git.text(&["show", "--no-patch", "--no-show-signature", "--format=%P%n%s", commit], &[])?;
    let (parents, subject) = shown.split_once('\n').unwrap_or((shown.as_str(), ""));
    Ok((subject.to_owned(), parents.split(' ').next().filter(|parent| !parent.is_empty()).map(str::to_owned)))
}

/// Returns the commits after `base` up to `tip`, oldest first, at most `most`: hash and subject.
pub fn commits_between(
    location: &Location,
    base: &str,
    tip: &str,
    most: usize,
) -> Result<Vec<String>, GitError> {
    let git = Repository::bare(location, LOOK);
    let count = format!("--max-count={most}");
    let range = format!("{base}..{tip}");
    let shown = git.text(
        &["log", "--no-color", "--no-show-signature", "--reverse", "--format=%h %s", &count, &range, "--"],
        &[],
    )?;
    Ok(shown.lines().map(str::to_owned).collect())
}

impl RepositoryPair {
    /// Merges what changed from `base` to `theirs` into `ours`. No file is touched.
    ///
    /// Git before 2.40 cannot be told which commit two others have in common, so it gets commits that have it.
    pub fn merge_trees(&self, base: &str, ours: &str, theirs: &str) -> Result<MergedTree, RebaseError> {
        let git = self.git();
        let with_past = |of: &str, past: &[&str]| {
            let tree = format!("{of}^{{tree}}");
            git.text(&[&["commit-tree", &tree, "-m", "past"], past].concat(), &[]).map_err(RebaseError::Git)
        };
        let past = with_past(base, &[])?;
        let (ours, theirs) = (with_past(ours, &["-p", &past])?, with_past(theirs, &["-p", &past])?);
        let merge = ["merge-tree", "--write-tree", "--name-only", "-z", "--no-messages", &ours, &theirs];
        let merged = git.run_for(LIMIT, &merge, &[]).map_err(RebaseError::Git)?;
        if !merged.is_success() && merged.end != End::Exit(1) {
            return Err(RebaseError::Said { end: merged.end.to_string(), words: merged.last_words(300) });
        }
        let said = String::from_utf8_lossy(&merged.stdout).into_owned();
        let mut words = said.split('\0').filter(|name| !name.is_empty()).map(str::to_owned);
        let tree = words.next().unwrap_or_default();
        Ok(MergedTree { tree, conflicts: words.collect() })
    }

    /// Brings what a ref of the person's repository names into the workspace.
    pub fn bring_ref(&self, name: &str) -> Result<(), GitError> {
        if self.is_shared() {
            return Ok(());
        }
        boundary::around("bring_ref", || fetch(&self.ours(), text(&self.origin.common_dir)?, &[name]))
    }

    /// Stands on a branch at `tip`, whatever lies in the workspace; returns its name. In a further working tree of the
    /// person's repository a branch that is checked out elsewhere gets a number.
    pub fn take_up_branch(&self, name: &str, tip: &str) -> Result<String, BranchError> {
        let standing = match refs::head(&self.slot)? {
            refs::HeadAt::Branch(full) => full.strip_prefix("refs/heads/").map(str::to_owned),
            refs::HeadAt::Commit(_) | refs::HeadAt::Broken => None,
        };
        for candidate in names(name) {
            let is_elsewhere = self.is_shared()
                && standing.as_ref() != Some(&candidate)
                && self.checked_out_at(&branch(&candidate))?.is_some();
            if is_elsewhere {
                continue;
            }
            let switch = ["switch", "--quiet", "--discard-changes", "--no-track", "-C", &candidate, tip];
            boundary::around("take_up_branch", || {
                self.ours().text(&switch, &[])?;
                // What an attempt before this one has put there; ignored files are not part of it.
                self.ours().text(&["clean", "-f", "-d", "--quiet"], &[])
            })?;
            return Ok(candidate);
        }
        Err(BranchError::NoNameLeft { name: name.to_owned() })
    }

    /// Makes the files of the workspace those of a tree; its commit and its index stay, so they are changes.
    pub fn put_files(&self, tree: &str) -> Result<(), GitError> {
        let git = self.ours();
        boundary::around("put_files", || {
            git.text(&["read-tree", "-m", "-u", "HEAD", tree], &[])?;
            git.text(&["read-tree", "HEAD"], &[])
        })
        .map(drop)
    }

    /// Takes the newest commit off the branch; what it changed stays in the files. Returns its message.
    pub fn take_off_newest(&self) -> Result<String, GitError> {
        let git = self.ours();
        let message = git.text(&["show", "--no-patch", "--no-show-signature", "--format=%B", "HEAD"], &[])?;
        boundary::around("take_off", || git.text(&["reset", "--quiet", "--mixed", "HEAD^"], &[]))?;
        Ok(message)
    }

    /// Remembers that the branch that is at `tip` in the person's repository is this run's to move on.
    pub fn adopt(&self, run: &str, tip: &str) -> Result<(), GitError> {
        boundary::around("adopt", || {
            self.theirs().text(&["update-ref", &format!("refs/warp/delivered/{run}"), tip], &[]).map(drop)
        })
    }

    /// Moves a branch of the person's repository to `commit`, under its own name: it is offered by a pull request.
    ///
    /// It has to be where the run found it, or `commit` continues it. One that is checked out is moved along with its working
    /// tree, as a merge target is.
    pub fn move_on(&self, run: &str, name: &str, commit: &str) -> Result<(), MoveError> {
        self.bring(&[commit])?;
        let git = self.theirs();
        let (full, delivered) = (branch(name), format!("refs/warp/delivered/{run}"));
        let Some(there) = refs::one(&self.origin, &full)? else {
            return Err(MoveError::Gone { branch: name.to_owned() });
        };
        let continues = is_ancestor(&git, &there, commit)?;
        if there != commit && !continues && refs::one(&self.origin, &delivered)? != Some(there.clone()) {
            return Err(MoveError::Moved { branch: name.to_owned(), now: there });
        }
        if there != commit {
            match self.checked_out_at(&full)? {
                Some(_) if continues => {
                    self.fast_forward(None, None, name, &there, commit).map_err(Box::new)?;
                }
                Some(at) => return Err(MoveError::CheckedOut { branch: name.to_owned(), at }),
                None => {
                    boundary::around("move_on", || {
                        git.text(&["update-ref", "-m", "warp: moved on", &full, commit, &there], &[])
                    })?;
                }
            }
        }
        self.adopt(run, commit)?;
        Ok(())
    }

    /// Returns the working tree of the person's in which a branch is checked out.
    pub fn stands_at(&self, name: &str) -> Result<Option<std::path::PathBuf>, GitError> {
        self.checked_out_at(&branch(name))
    }

    /// Returns what was pushed of a branch before, as far as that is known here.
    pub fn pushed_before(&self, remote: &str, name: &str) -> Result<Option<String>, MoveError> {
        Ok(refs::one(&self.origin, &format!("refs/remotes/{remote}/{name}"))?)
    }

    /// Pushes a branch that was rebased over what was pushed of it before, if the remote still has just that.
    pub fn push_over(&self, remote: &str, commit: &str, name: &str, before: &str) -> Result<(), MoveError> {
        let git = self.talking();
        let (full, lease) = (branch(name), format!("--force-with-lease={}:{before}", branch(name)));
        let refspec = format!("{commit}:{full}");
        let push = ["push", "--porcelain", "--no-verify", "--no-follow-tags", &lease, "--", remote, &refspec];
        lfs::upload(&git, &self.origin, remote, commit)?;
        boundary::around("push", || git.text(&push, &[]))?;
        Ok(())
    }

    /// Puts the commits of `tip` onto `onto`, as far as they go there by themselves. What follows the first one that does
    /// not is left in the files, as one change with markers where it does not fit.
    pub fn replay(&self, name: &str, tip: &str, onto: &str) -> Result<ReplayResult, RebaseError> {
        let git = self.git();
        let said = |error: GitError| RebaseError::Git(error.to_string());
        let list = git.text(&["rev-list", "--reverse", "--no-merges", &format!("{onto}..{tip}")], &[]);
        let commits: Vec<String> = list.map_err(RebaseError::Git)?.lines().map(str::to_owned).collect();
        self.take_up_branch(name, onto).map_err(|error| RebaseError::Git(error.to_string()))?;
        let set = [("GIT_EDITOR", "true")];
        let mut done = 0;
        for commit in &commits {
            let pick = ["-c", "rerere.enabled=false", "cherry-pick", commit];
            let picked = git.run_for(LIMIT, &pick, &set).map_err(RebaseError::Git)?;
            if !picked.is_success() {
                let has_conflicts = !self.unmerged()?.is_empty();
                let end = if has_conflicts { "--abort" } else { "--skip" };
                ended(git.run_for(LIMIT, &["cherry-pick", end], &set).map_err(RebaseError::Git)?)?;
                if has_conflicts {
                    break;
                }
            }
            done += 1;
        }
        let rest = &commits[done..];
        let Some(first) = rest.first() else {
            return Ok(ReplayResult { conflicts: Vec::new(), rest: Vec::new() });
        };
        let merged = self.merge_trees(&format!("{first}^"), "HEAD", tip)?;
        self.put_files(&merged.tree).map_err(said)?;
        let message = |commit: &String| {
            git.text(&["show", "--no-patch", "--no-show-signature", "--format=%B", commit], &[])
        };
        let rest: Result<Vec<String>, String> = rest.iter().map(message).collect();
        Ok(ReplayResult { conflicts: merged.conflicts, rest: rest.map_err(RebaseError::Git)? })
    }

    fn unmerged(&self) -> Result<String, RebaseError> {
        self.git().text(&["diff", "--name-only", "--diff-filter=U"], &[]).map_err(RebaseError::Git)
    }
}

fn ended(finished: Finished) -> Result<(), RebaseError> {
    if finished.is_success() {
        return Ok(());
    }
    Err(RebaseError::Said { end: finished.end.to_string(), words: finished.last_words(300) })
}

/// Why the branch of a pull request was not moved on.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    #[error("branch `{branch}` is gone")]
    Gone { branch: String },
    #[error("somebody has moved `{branch}` to {now} meanwhile")]
    Moved { branch: String, now: String },
    #[error("`{branch}` is checked out in {}: switch to another branch there first", at.display())]
    CheckedOut { branch: String, at: std::path::PathBuf },
    #[error(transparent)]
    Forward(#[from] Box<super::target::ForwardError>),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Refs(#[from] refs::ReadError),
}
