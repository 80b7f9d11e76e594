//! Moving the merge target forward: the remote's, the person's own, and a working tree that stands on it.
//!
//! What would keep the person's own from moving is looked for before anything is pushed: what a remote has got cannot be
//! taken back.
//!
//! One process of warp's at a time does that in a repository. Git moves the files and the index first and the branch then, each
//! under a lock of its own, so that of two at once one would have its files moved and not its branch. A person's own git
//! may come between all the same: it is waited for, and what was moved without the branch is put back.

use std::{
    fs::{self, File},
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use super::{
    Location, index,
    integrate::{LIMIT, PushError, RepositoryPair, branch, is_ancestor, text},
    own::{GitError, Repository},
    take_back,
};
use crate::{boundary, hold::FileLock, refs};

/// The file that whoever moves a target holds, below the common git directory.
const TURN: &str = "warp/target.lock";
/// How long to wait for another process that moves a target.
const TURN_PATIENCE: Duration = Duration::from_secs(60);
/// How long to wait for a git that has locked the index or the branch; most hold them for a moment.
const LOCK_PATIENCE: Duration = Duration::from_secs(3);
/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(50);

/// How far a target was moved.
#[derive(Debug)]
pub enum Forwarded {
    /// It is where it should be, here and at the remote.
    Everywhere,
    /// The remote has it, and the person's own branch has not, for this reason.
    AtRemote(ForwardError),
}

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
    #[error("`{target}` is held in {}: {words}", at.display())]
    Locked { target: String, at: PathBuf, words: String },
    #[error("git refuses to move `{target}` in {}: {words}", at.display())]
    Refused { target: String, at: PathBuf, words: String },
    #[error("the files in {} are those of {new} and `{target}` is not; `git read-tree -m -u {new} HEAD` there puts them back: {words}", at.display())]
    HalfMoved { target: String, at: PathBuf, new: String, words: String },
    #[error(transparent)]
    Push(#[from] PushError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Refs(#[from] refs::ReadError),
}

/// A pending move of a branch.
struct BranchMove {
    now: String,
    /// The working tree that stands on it.
    tree: Option<Tree>,
}

struct Tree {
    root: PathBuf,
    location: Location,
}

impl ForwardError {
    /// Tells whether somebody else was faster, or is at it: then it is worth another try.
    pub fn is_overtaken(&self) -> bool {
        matches!(self, Self::MovedOn { .. } | Self::Locked { .. } | Self::Push(PushError::MovedOn { .. }))
    }
}

impl RepositoryPair {
    /// Moves the branch `target` forward to `new`, which follows `old`: the remote's, if one is named, and then the person's.
    ///
    /// The person's is at `old`, or behind it: a remote may have been ahead of it, or has got `new` before a crash.
    /// A working tree that stands on it is moved along if none of its uncommitted changes is touched by that. After an
    /// error no branch has moved.
    pub fn fast_forward(
        &self,
        run: Option<&str>,
        remote: Option<&str>,
        target: &str,
        old: &str,
        new: &str,
    ) -> Result<Forwarded, ForwardError> {
        if !run.is_some_and(|run| self.is_kept(new, run)) {
            self.bring(&[new])?;
        }
        let _turn = self.turn(target)?;
        let Some(remote) = remote else {
            self.forward(target, old, new)?;
            return Ok(Forwarded::Everywhere);
        };
        let there = refs::one(&self.origin, &format!("refs/remotes/{remote}/{target}"))?;
        // After a crash it may have it already, and then nothing here can keep it from that.
        if there.as_deref() != Some(new) {
            self.check(target, old, new)?;
        }
        self.push(remote, new, target, there.as_deref())?;
        Ok(match self.forward(target, old, new) {
            Ok(()) => Forwarded::Everywhere,
            Err(error) => Forwarded::AtRemote(error),
        })
    }

    fn forward(&self, target: &str, old: &str, new: &str) -> Result<(), ForwardError> {
        match self.way(target, old, new)? {
            Some(way) => self.go(target, &way, new),
            None => Ok(()),
        }
    }

    /// Looks for what would keep the person's branch from moving, and moves nothing.
    fn check(&self, target: &str, old: &str, new: &str) -> Result<(), ForwardError> {
        let Some(BranchMove { now, tree: Some(tree) }) = self.way(target, old, new)? else { return Ok(()) };
        let git_dir = &tree.location.git_dir;
        let lock = git_dir.join("index.lock");
        if lock.exists() {
            let words = "another git is at work there".to_owned();
            return Err(ForwardError::Locked { target: target.to_owned(), at: lock, words });
        }
        let own = index::copy(git_dir, &git_dir.join("index")).map_err(GitError::Index)?;
        let index = [("GIT_INDEX_FILE", text(&own)?)];
        let git = Repository::new(&tree.root, &tree.location, LIMIT);
        // It says no where files are changed, which is not asked here.
        git.run(&["update-index", "-q", "--refresh"], &index)?;
        let tried = git.run(&["read-tree", "--dry-run", "-m", "-u", &now, new], &index)?;
        if tried.is_success() {
            return Ok(());
        }
        let (target, at, words) = (target.to_owned(), tree.root, tried.last_words(300));
        // Git names one of them, in quotes.
        let file = words.find('\'').zip(words.rfind('\'')).and_then(|(from, to)| words.get(from + 1..to));
        Err(match file {
            Some(file) => ForwardError::InTheWay { target, at, files: vec![file.to_owned()] },
            None => ForwardError::Refused { target, at, words },
        })
    }

    /// Waits until no other process moves a target in this repository.
    fn turn(&self, target: &str) -> Result<FileLock, ForwardError> {
        let path = self.origin.common_dir.join(TURN);
        let open = || {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            File::options().create(true).truncate(false).write(true).open(&path)
        };
        let held = open().and_then(|file| FileLock::take(file, TURN_PATIENCE));
        let held = held.map_err(|source| GitError::File { path: path.clone(), source })?;
        held.ok_or_else(|| {
            let words = "another run is being merged".to_owned();
            ForwardError::Locked { target: target.to_owned(), at: path, words }
        })
    }

    /// Looks for the way of a branch to `new`; nothing if it is there already.
    fn way(&self, target: &str, old: &str, new: &str) -> Result<Option<BranchMove>, ForwardError> {
        let (git, full) = (self.theirs(), branch(target));
        let target = target.to_owned();
        let Some(now) = refs::one(&self.origin, &full)? else {
            return Err(ForwardError::NoSuchBranch { target });
        };
        if now == new {
            return Ok(None);
        }
        if now != old && !is_ancestor(&git, &now, old)? {
            return Err(ForwardError::MovedOn { target, now });
        }
        if !is_ancestor(&git, old, new)? {
            return Err(ForwardError::NotAhead { target, new: new.to_owned() });
        }
        if let Some(at) = being_rebased(&self.origin, &full) {
            return Err(ForwardError::Busy { target, at });
        }
        let Some(root) = self.checked_out_at(&full)? else { return Ok(Some(BranchMove { now, tree: None })) };
        let Some(location) = super::locate(&root) else {
            let words = "there is no repository any more".to_owned();
            return Err(ForwardError::Refused { target, at: root, words });
        };
        if ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"]
            .iter()
            .any(|name| location.git_dir.join(name).exists())
        {
            return Err(ForwardError::Busy { target, at: root });
        }
        Ok(Some(BranchMove { now, tree: Some(Tree { root, location }) }))
    }

    /// Moves a branch, and the working tree that stands on it.
    fn go(&self, target: &str, way: &BranchMove, new: &str) -> Result<(), ForwardError> {
        let moved = match &way.tree {
            Some(tree) => self.move_along(target, tree, way, new),
            None => {
                let update = ["update-ref", "-m", "warp: merged", &branch(target), new, &way.now];
                match boundary::around("fast_forward", || self.theirs().text(&update, &[])) {
                    Ok(_) => Ok(()),
                    Err(GitError::Said { words, .. }) if is_locked(&words) => {
                        let (target, at) = (target.to_owned(), self.origin.common_dir.clone());
                        Err(ForwardError::Locked { target, at, words })
                    }
                    Err(error) => Err(error.into()),
                }
            }
        };
        if matches!(moved, Err(ForwardError::HalfMoved { .. })) {
            return moved;
        }
        match refs::one(&self.origin, &branch(target))? {
            Some(now) if now == new => moved,
            Some(now) if now != way.now => Err(ForwardError::MovedOn { target: target.to_owned(), now }),
            Some(now) => moved.and(Err(ForwardError::MovedOn { target: target.to_owned(), now })),
            None => Err(ForwardError::NoSuchBranch { target: target.to_owned() }),
        }
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

    /// Moves a working tree that stands on `target`, and the branch with it: both, or neither.
    fn move_along(&self, target: &str, tree: &Tree, way: &BranchMove, new: &str) -> Result<(), ForwardError> {
        let git = Repository::new(&tree.root, &tree.location, LIMIT);
        let merge = ["merge", "--quiet", "--ff-only", "--no-autostash", "--no-verify-signatures", new];
        let until = Instant::now() + LOCK_PATIENCE;
        let mut is_ahead = false;
        let (finished, words) = loop {
            let finished = boundary::around("fast_forward", || {
                git.run(&merge, &[("GIT_REFLOG_ACTION", "warp: merged")])
            })?;
            if finished.is_success() {
                return Ok(());
            }
            let words = String::from_utf8_lossy(&finished.stderr).into_owned();
            // That comes last: the files and the index are moved by then.
            is_ahead |= words.contains("update_ref failed");
            let is_there = refs::one(&self.origin, &branch(target))?.as_ref() == Some(&way.now);
            if !is_there || !is_locked(&words) || Instant::now() > until {
                break (finished, words);
            }
            thread::sleep(PAUSE);
        };
        // Git lists them one to a line, after a tab.
        let files: Vec<String> =
            words.lines().filter_map(|line| line.strip_prefix('\t')).map(str::to_owned).collect();
        let is_locked = is_locked(&words);
        let is_cut_short = take_back::is_cut_short(&words);
        let words = finished.last_words(300);
        let (target, at) = (target.to_owned(), tree.root.clone());
        if is_cut_short {
            take_back::take_back(&git, &tree.root, &way.now, new)?;
        }
        if is_ahead {
            // From what git has moved to, to where the branch is: what a person has changed stays, as it did on the way there.
            let back = git.run(&["read-tree", "-m", "-u", new, "HEAD"], &[])?;
            if !back.is_success() {
                let (new, words) = (new.to_owned(), back.last_words(300));
                return Err(ForwardError::HalfMoved { target, at, new, words });
            }
        }
        Err(if !files.is_empty() {
            ForwardError::InTheWay { target, at, files }
        } else if is_locked {
            ForwardError::Locked { target, at, words }
        } else {
            ForwardError::Refused { target, at, words }
        })
    }
}

/// Tells whether git could not have a lock that somebody else holds.
fn is_locked(words: &str) -> bool {
    words.contains(".lock': File exists") || words.contains("cannot lock ref")
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
