//! What a run does with branches: between its own workspace and the person's repository.
//!
//! The person's repository is only ever written by three acts: objects are brought into it, a ref is moved from the value
//! that was seen to another (so that of two writers one wins), and a working tree that stands on the merge target is
//! moved along by git itself, which refuses where that would cost a change. Each act looks at the world first and may be
//! done again after a crash.

use std::{fs, path::Path, path::PathBuf, time::Duration};

use super::{
    Git, Location, facts, lfs,
    own::{GitError, Repository},
    sight::{BaseCommit, Need},
};
use crate::{
    boundary,
    process::{Finished, StopCheck},
    refs,
};

/// How long one of these may take in all; a remote may be slow.
pub(super) const LIMIT: Duration = Duration::from_secs(600);
/// How long a remote may take to say and send what is new.
const REMOTE_LIMIT: Duration = Duration::from_secs(120);
/// How many names are tried for a branch.
const MOST_NAMES: usize = 50;
/// How many commits that are known to follow each other are gone along.
const MOST_KNOWN: usize = 100;
/// How many objects are given to the person's repository one by one; more are fetched.
const MOST_LINKED: usize = 2000;

/// How often and after how long a push to a locked remote is retried.
const LOCK_TRIES: usize = 3;
const LOCK_PAUSE: Duration = Duration::from_secs(1);
/// How much of what a remote says to a push is kept.
const MOST_WORDS: usize = 1500;

/// A run's own workspace, and the person's repository that its work goes to.
#[derive(Clone, Debug)]
pub struct RepositoryPair {
    /// The working tree of the run, and where its repository is.
    pub root: PathBuf,
    pub slot: Location,
    /// The person's repository.
    pub origin: Location,
    /// The person's checkout, from which a remote's relative path is taken.
    pub checkout: PathBuf,
    /// Who may interrupt what waits for a remote.
    pub stop: StopCheck,
}

/// What became of a rebase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rebase {
    /// The branch has everything already.
    Nothing,
    /// The branch's commits are others now.
    Done { from: String, to: String },
    /// They do not fit together; the branch is as it was.
    Conflicts { files: Vec<String> },
}

/// What became of an attempt to undo commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undo {
    /// They are undone already.
    Nothing,
    /// By this commit.
    Made(String),
    /// What came after them stands in the way.
    Conflicts { files: Vec<String> },
}

/// Why a branch was not rebased.
#[derive(Debug, thiserror::Error)]
pub enum RebaseError {
    #[error("{} not committed; a branch is rebased when everything is", .files.join(", "))]
    Dirty { files: Vec<String> },
    #[error("the rebase ended with {end}: {words}")]
    Said { end: String, words: String },
    #[error("{0}")]
    Git(String),
}

/// Why a branch was not pushed.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    #[error("`{remote}` has commits in `{branch}` that are not here")]
    MovedOn { remote: String, branch: String },
    #[error(
        "`{remote}` is locked, `{lock}` is there: a git that was killed has left it, or one is at work. If none is, remove that \
         file"
    )]
    Locked { remote: String, lock: String },
    #[error("`{remote}` refused `{branch}`: {words}")]
    Refused { remote: String, branch: String, words: String },
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Why the merge target's newest commit is not known.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    #[error("there is no branch `{target}` in the project")]
    NoSuchBranch { target: String },
    #[error(
        "`{target}` and `{remote}/{target}` have each commits that the other has not; a person brings them together"
    )]
    Diverged { target: String, remote: String },
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Refs(#[from] refs::ReadError),
}

impl TargetError {
    /// Tells whether a person has ended the wait for a remote.
    pub fn is_interrupted(&self) -> bool {
        matches!(self, Self::Git(GitError::Interrupted { .. }))
    }
}

/// Why a branch was not begun.
#[derive(Debug, thiserror::Error)]
pub enum BranchError {
    #[error("branches `{name}` to `{name}-{MOST_NAMES}` are all there already")]
    NoNameLeft { name: String },
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Refs(#[from] refs::ReadError),
}

impl RepositoryPair {
    pub(super) fn theirs(&self) -> Repository<'_> {
        Repository::bare(&self.origin, LIMIT)
    }

    /// Returns git for what talks to a remote of the person's.
    pub(super) fn talking(&self) -> Repository<'_> {
        self.theirs().started_in(&self.checkout).stopped_by(&self.stop)
    }

    pub(super) fn ours(&self) -> Repository<'_> {
        Repository::new(&self.root, &self.slot, LIMIT)
    }

    /// Returns git for commits in the workspace, which are the person's.
    pub fn git(&self) -> Git<'_> {
        Git::trusted(&self.root, self.slot.clone())
    }

    /// Tells whether both are one repository: the workspace is a further working tree.
    pub(super) fn is_shared(&self) -> bool {
        self.slot.common_dir == self.origin.common_dir
    }

    /// Brings the newest commit of `target` from the person's repository into the workspace, and returns it.
    ///
    /// With a remote, its newest is asked for first; the newer of both counts.
    pub fn bring_target(
        &self,
        target: &str,
        remote: Option<&str>,
        need: Need,
    ) -> Result<BaseCommit, TargetError> {
        let sight = self.look(target, remote, need)?;
        self.bring_newest(target, remote, &sight.commit)?;
        Ok(sight)
    }

    /// Brings a commit, which is the newest of `target` here or at a remote, into the workspace.
    pub fn bring_newest(&self, target: &str, remote: Option<&str>, newest: &str) -> Result<(), TargetError> {
        let tracked = tracked(target);
        if self.is_shared() || refs::one(&self.slot, &tracked)?.as_deref() == Some(newest) {
            return Ok(());
        }
        boundary::around("bring_target", || {
            // What was merged from here is here.
            if self.tip().as_deref() == Some(newest) {
                return self.ours().text(&["update-ref", &tracked, newest], &[]).map(drop);
            }
            let from = text(&self.origin.common_dir)?;
            // By its name: a person's repository need not give out a commit by its hash.
            let name = match refs::one(&self.origin, &branch(target)) {
                Ok(Some(here)) if here == newest => branch(target),
                Ok(_) | Err(_) => format!("refs/remotes/{}/{target}", remote.unwrap_or("origin")),
            };
            lfs::share(&self.origin, &self.slot)?;
            fetch(&self.ours(), from, &[&format!("+{name}:{tracked}")])
        })?;
        Ok(())
    }

    /// Brings a commit of the person's repository into the workspace, by the name of a ref or by its hash.
    pub fn bring_in(&self, name: &str) -> Result<(), GitError> {
        if self.is_shared() {
            return Ok(());
        }
        boundary::around("bring_in", || {
            lfs::share(&self.origin, &self.slot)?;
            fetch(&self.ours(), text(&self.origin.common_dir)?, &[name])
        })
    }

    /// Returns the newest commit of `target`, if the workspace stands on it already: it was merged from here.
    pub fn stands_on_target(&self, target: &str) -> Result<Option<String>, TargetError> {
        let newest = self.look(target, None, Need::Local)?.commit;
        Ok(self.tip().filter(|tip| *tip == newest))
    }

    /// Returns the commit that the workspace stands on, if it stands on a branch.
    fn tip(&self) -> Option<String> {
        match refs::head(&self.slot).ok()? {
            refs::HeadAt::Branch(name) => refs::one(&self.slot, &name).ok().flatten(),
            refs::HeadAt::Commit(_) | refs::HeadAt::Broken => None,
        }
    }

    /// Asks the person's remote for a branch; nothing if it has none of that name.
    pub fn ask_remote(&self, remote: &str, target: &str) -> Result<Option<String>, TargetError> {
        let git = Repository::bare(&self.origin, REMOTE_LIMIT);
        let git = git.started_in(&self.checkout).stopped_by(&self.stop);
        let (name, tracked) = (branch(target), format!("refs/remotes/{remote}/{target}"));
        let listed = git.text(&["ls-remote", "--", remote, &name], &[])?;
        let Some(commit) = listed.split_whitespace().next() else { return Ok(None) };
        let before = refs::one(&self.origin, &tracked)?;
        if before.as_deref() == Some(commit) {
            return Ok(before);
        }
        let fetched =
            boundary::around("ask_remote", || fetch(&git, remote, &[&format!("+{name}:{tracked}")]));
        let after = refs::one(&self.origin, &tracked)?;
        // Of two runs that ask at once, one may find that the other has moved the ref meanwhile.
        if after == before {
            fetched?;
        }
        Ok(after)
    }

    /// Begins a branch on `base` in the workspace and stands on it; returns its name.
    ///
    /// A workspace that stands on the branch already stays as it is. In a further working tree of the person's repository
    /// a name that is taken there gets a number.
    pub fn begin_branch(&self, name: &str, base: &str) -> Result<String, BranchError> {
        let git = self.ours();
        let standing = match refs::head(&self.slot)? {
            refs::HeadAt::Branch(full) => full.strip_prefix("refs/heads/").map(str::to_owned),
            refs::HeadAt::Commit(_) | refs::HeadAt::Broken => None,
        };
        for candidate in names(name) {
            let full = branch(&candidate);
            let tip = refs::one(&self.slot, &full)?;
            if standing.as_ref() == Some(&candidate) && tip.is_some() {
                return Ok(candidate);
            }
            let switch = match tip {
                None => vec!["switch", "--quiet", "--no-track", "-c", &candidate, base],
                // A clone has no branches but the run's own: it was begun before a crash.
                Some(_) if !self.is_shared() => vec!["switch", "--quiet", "--no-guess", &candidate],
                Some(_) => continue,
            };
            boundary::around("begin_branch", || git.text(&switch, &[]))?;
            return Ok(candidate);
        }
        Err(BranchError::NoNameLeft { name: name.to_owned() })
    }

    /// Puts the commits of `branch` that `onto` has not on top of it.
    pub fn rebase(&self, branch: &str, onto: &str) -> Result<Rebase, RebaseError> {
        let git = self.git();
        self.end_rebase(&git, branch).map_err(RebaseError::Git)?;
        let from = git.head_commit().map_err(RebaseError::Git)?;
        if is_ancestor(&self.ours(), onto, &from).map_err(|error| RebaseError::Git(error.to_string()))? {
            return Ok(Rebase::Nothing);
        }
        let dirty =
            git.text(&["status", "--porcelain", "-z", "--no-renames"], &[]).map_err(RebaseError::Git)?;
        let dirty: Vec<String> =
            listed(&dirty).map(|line| line.get(3..).unwrap_or(line).to_owned()).collect();
        if !dirty.is_empty() {
            return Err(RebaseError::Dirty { files: dirty });
        }
        let arguments = [
            "-c",
            "rebase.updateRefs=false",
            "-c",
            "rerere.enabled=false",
            "rebase",
            "--quiet",
            "--no-fork-point",
            "--no-autosquash",
            "--no-autostash",
            "--empty=drop",
            onto,
        ];
        let set = [("GIT_EDITOR", "true"), ("GIT_SEQUENCE_EDITOR", "true")];
        let finished =
            boundary::around("rebase", || git.run_for(LIMIT, &arguments, &set)).map_err(RebaseError::Git)?;
        if finished.is_success() {
            let to = git.head_commit().map_err(RebaseError::Git)?;
            return Ok(Rebase::Done { from, to });
        }
        let files =
            git.text(&["diff", "--name-only", "--diff-filter=U", "-z"], &[]).map_err(RebaseError::Git)?;
        let files: Vec<String> = listed(&files).map(str::to_owned).collect();
        self.end_rebase(&git, branch).map_err(RebaseError::Git)?;
        if files.is_empty() {
            return Err(RebaseError::Said { end: finished.end.to_string(), words: finished.last_words(300) });
        }
        Ok(Rebase::Conflicts { files })
    }

    /// Tells whether a rebase is under way in the workspace.
    pub fn is_rebasing(&self) -> bool {
        self.under_way().iter().any(|path| path.exists())
    }

    /// Returns where git writes down a rebase that is under way.
    fn under_way(&self) -> [PathBuf; 2] {
        ["rebase-merge", "rebase-apply"].map(|name| self.slot.git_dir.join(name))
    }

    /// Takes back a rebase that is under way. The branch itself is moved only at a rebase's end, so nothing is lost.
    fn end_rebase(&self, git: &Git<'_>, branch: &str) -> Result<(), String> {
        if !self.is_rebasing() {
            return Ok(());
        }
        boundary::around("end_rebase", || {
            if git.run_for(LIMIT, &["rebase", "--abort"], &[])?.is_success() {
                return Ok(());
            }
            // What git wrote down about it is not whole: the branch is where it was, and is checked out again.
            for path in self.under_way().iter().filter(|path| path.exists()) {
                fs::remove_dir_all(path).map_err(|error| format!("`{}`: {error}", path.display()))?;
            }
            git.run_for(LIMIT, &["checkout", "--quiet", "--force", branch, "--"], &[])
                .and_then(expected("checkout"))
        })
    }

    /// Brings commits (or any objects) of the workspace into the person's repository; no ref is moved.
    pub fn bring(&self, objects: &[&str]) -> Result<(), GitError> {
        if self.is_shared() || objects.is_empty() {
            return Ok(());
        }
        boundary::around("bring", || {
            lfs::share(&self.slot, &self.origin)?;
            fetch(&self.theirs(), text(&self.slot.git_dir)?, objects)
        })
    }

    /// Makes a run's newest commit reachable in the person's repository, under `refs/warp/runs/RUN`.
    pub fn keep_outside(&self, commit: &str, run: &str) -> Result<(), GitError> {
        if self.is_kept(commit, run) {
            return Ok(());
        }
        let name = kept_as(run);
        boundary::around("keep_outside", || {
            if self.is_shared() {
                return self.theirs().text(&["update-ref", &name, commit], &[]).map(drop);
            }
            let git = self.theirs();
            lfs::share(&self.slot, &self.origin)?;
            if self.link_objects(commit)? {
                return git.text(&["update-ref", &name, commit], &[]).map(drop);
            }
            fetch(&git, text(&self.slot.git_dir)?, &[&format!("+{commit}:{name}")])
        })
    }

    /// Tells whether a commit is reachable in the person's repository as a run's newest.
    pub(super) fn is_kept(&self, commit: &str, run: &str) -> bool {
        refs::one(&self.origin, &kept_as(run)).ok().flatten().as_deref() == Some(commit)
    }

    /// Gives the person's repository the newest objects of the workspace as hard links, which takes half the time of a
    /// fetch; tells whether all that belongs to `commit` is there now.
    fn link_objects(&self, commit: &str) -> Result<bool, GitError> {
        let git = self.ours();
        let of = |location: &Location, name: &str| refs::one(location, name).ok().flatten();
        let tracked = of(&self.slot, "refs/remotes/origin/HEAD").unwrap_or_default();
        let tracked = tracked.trim_start_matches("ref: ");
        let target = branch(tracked.trim_start_matches("refs/remotes/origin/"));
        let base = of(&self.slot, tracked);
        // Only what the person's repository still has a name for is sure to be there whole.
        if base.is_none() || base != of(&self.origin, &target) {
            return Ok(false);
        }
        let arguments = ["rev-list", "--objects", "--no-object-names", "--parents", commit, "--not", tracked];
        let made = git.run(&arguments, &[])?;
        let is_whole = made.is_success() && !made.cut;
        let text = made.text();
        let mut made: Vec<&str> = text.lines().collect();
        if !is_whole || made.len() > MOST_LINKED {
            return Ok(false);
        }
        for line in &mut made {
            // Only commits have parents.
            if let Some((commit, parents)) = line.split_once(' ') {
                facts::learn_parents(commit, parents.split(' ').map(str::to_owned).collect());
                *line = commit;
            }
        }
        // The commits come first in the list, and are linked last: what is there has all that it needs.
        for object in made.iter().rev() {
            let Some((directory, rest)) = object.split_at_checked(2) else { return Ok(false) };
            let path = Path::new("objects").join(directory).join(rest);
            let to = self.origin.common_dir.join(&path);
            if to.exists() {
                continue;
            }
            let parent = self.origin.common_dir.join("objects").join(directory);
            let linked =
                fs::create_dir_all(parent).and_then(|()| fs::hard_link(self.slot.git_dir.join(&path), &to));
            match linked {
                Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Ok(false),
                _ => {}
            }
        }
        Ok(true)
    }

    /// Puts a commit under a branch's name into the person's repository, and returns the name.
    ///
    /// A branch that this run has not put there, or that was moved or checked out since, stays as it is: the run's gets a
    /// number. What the run has put there is remembered under `refs/warp/delivered/RUN`.
    pub fn deliver(&self, run: &str, commit: &str, name: &str) -> Result<String, BranchError> {
        self.bring(&[commit])?;
        let git = self.theirs();
        let delivered = format!("refs/warp/delivered/{run}");
        let before = refs::one(&self.origin, &delivered)?;
        for candidate in names(name) {
            let full = branch(&candidate);
            let there = refs::one(&self.origin, &full)?;
            let is_ours = there.is_none() || there == before || there.as_deref() == Some(commit);
            if !is_ours {
                continue;
            }
            if there.as_deref() != Some(commit) {
                if there.is_some() && self.checked_out_at(&full)?.is_some() {
                    continue;
                }
                let old = there.unwrap_or_else(|| "0".repeat(commit.len()));
                boundary::around("deliver", || {
                    git.text(&["update-ref", "-m", "warp: delivered", &full, commit, &old], &[])
                })?;
            }
            boundary::around("delivered", || git.text(&["update-ref", &delivered, commit], &[]))?;
            return Ok(candidate);
        }
        Err(BranchError::NoNameLeft { name: name.to_owned() })
    }

    /// Remembers by which move of the target a run is to be merged, so that it can be undone.
    pub fn note_merge(&self, run: &str, old: &str, new: &str) -> Result<(), GitError> {
        self.note_move("merged", run, old, new)
    }

    /// Remembers by which move of the target a run is to be undone: that commit is none of the person's own.
    pub fn note_undo(&self, run: &str, old: &str, new: &str) -> Result<(), GitError> {
        self.note_move("undone", run, old, new)
    }

    fn note_move(&self, kind: &str, run: &str, old: &str, new: &str) -> Result<(), GitError> {
        let note = |name: &str, commit: &str| format!("update refs/warp/{kind}/{run}/{name} {commit}");
        let both = [note("from", old), note("to", new)];
        boundary::around("note_merge", || self.theirs().change_refs(&both))
    }

    /// Returns by which move of the target a run was to be merged, if that was warp's doing.
    pub fn merge_of(&self, run: &str) -> Result<Option<(String, String)>, refs::ReadError> {
        let one = |name: &str| refs::one(&self.origin, &merged_as(run, name));
        Ok(one("from")?.zip(one("to")?))
    }

    /// Tells whether `commit` is `of` or one before it, in the person's repository.
    pub fn is_part(&self, commit: &str, of: &str) -> Result<bool, GitError> {
        is_ancestor(&self.theirs(), commit, of)
    }

    /// Stands on a branch that is there, or on one that is made at `tip`.
    pub fn resume_branch(&self, name: &str, tip: &str) -> Result<(), BranchError> {
        let switch = match refs::one(&self.slot, &branch(name))? {
            Some(_) => vec!["switch", "--quiet", "--no-guess", name],
            None => vec!["switch", "--quiet", "--no-track", "-c", name, tip],
        };
        boundary::around("resume_branch", || self.ours().text(&switch, &[]))?;
        Ok(())
    }

    /// Asks a remote where its branch is; nothing if it has none of that name.
    pub fn remote_tip(&self, remote: &str, name: &str) -> Result<Option<String>, GitError> {
        let asked = ["ls-remote", "--quiet", "--", remote, &branch(name)];
        let there = self.talking().text(&asked, &[])?;
        Ok(there.split_whitespace().next().map(str::to_owned))
    }

    /// Pushes a commit from the person's repository to a remote's branch, without force and without hooks, and what Git LFS
    /// keeps of it. The remote refuses it if its branch is not at `expected`, or is there although none is expected: a
    /// process that was asleep meanwhile may have been overtaken.
    pub fn push(
        &self,
        remote: &str,
        commit: &str,
        name: &str,
        expected: Option<&str>,
    ) -> Result<(), PushError> {
        let moved_on = || PushError::MovedOn { remote: remote.to_owned(), branch: name.to_owned() };
        let git = self.talking();
        // A lease alone would let a push through that goes back.
        if let Some(expected) = expected
            && !is_ancestor(&git, expected, commit)?
        {
            return Err(moved_on());
        }
        let full = branch(name);
        // One without a commit says that the branch is not there.
        let lease = format!("--force-with-lease={full}:{}", expected.unwrap_or_default());
        let refspec = format!("{commit}:{full}");
        lfs::upload(&git, &self.origin, remote, commit)?;
        let push = ["push", "--porcelain", "--no-verify", "--no-follow-tags", &lease, "--", remote, &refspec];
        let mut finished = boundary::around("push", || git.run(&push, &[]))?;
        for _ in 0..LOCK_TRIES {
            if held_lock(&finished).is_none() {
                break;
            }
            // Another git may be at work there.
            std::thread::sleep(LOCK_PAUSE);
            finished = git.run(&push, &[])?;
        }
        if finished.is_success() {
            return Ok(());
        }
        if let Some(lock) = held_lock(&finished) {
            return Err(PushError::Locked { remote: remote.to_owned(), lock });
        }
        let said = finished.text();
        let is_overtaken =
            ["non-fast-forward", "fetch first", "stale info"].iter().any(|why| said.contains(why));
        if said.contains("[rejected]") && is_overtaken {
            return Err(moved_on());
        }
        let words = finished.last_words(MOST_WORDS);
        Err(PushError::Refused { remote: remote.to_owned(), branch: name.to_owned(), words })
    }

    /// Makes one commit on top of `onto` that undoes ranges of commits, each from after its first commit up to its second,
    /// without touching the files. The newest range comes first.
    pub fn undo(&self, ranges: &[(String, String)], onto: &str, message: &str) -> Result<Undo, RebaseError> {
        let git = self.git();
        let tree_of =
            |of: &str| git.text(&["rev-parse", &format!("{of}^{{tree}}")], &[]).map_err(RebaseError::Git);
        let before = tree_of(onto)?;
        let mut now = before.clone();
        for (base, tip) in ranges {
            // Undoing is a merge in which the work is the common past: what it changed is changed back.
            let merged = self.merge_trees(tip, &now, base)?;
            if !merged.conflicts.is_empty() {
                return Ok(Undo::Conflicts { files: merged.conflicts });
            }
            now = merged.tree;
        }
        if before == now {
            return Ok(Undo::Nothing);
        }
        let commit = ["commit-tree", &now, "-p", onto, "-m", message];
        boundary::around("undo", || git.text(&commit, &[])).map(Undo::Made).map_err(RebaseError::Git)
    }
}

/// Returns the ref that keeps a run's newest commit in the person's repository.
pub fn kept_as(run: &str) -> String {
    format!("refs/warp/runs/{run}")
}

/// Returns the ref that notes where a merge target was `from` which, or moved `to` which, something was merged.
pub fn merged_as(key: &str, name: &str) -> String {
    format!("refs/warp/merged/{key}/{name}")
}

/// Returns the ref under which a workspace knows the person's branch that its work goes to.
pub(super) fn tracked(target: &str) -> String {
    format!("refs/remotes/origin/{target}")
}

pub(super) fn branch(name: &str) -> String {
    format!("refs/heads/{name}")
}

pub(super) fn names(name: &str) -> impl Iterator<Item = String> {
    let numbered = (2..=MOST_NAMES).map({
        let name = name.to_owned();
        move |number| format!("{name}-{number}")
    });
    std::iter::once(name.to_owned()).chain(numbered)
}

pub(super) fn text(path: &Path) -> Result<&str, GitError> {
    path.to_str().ok_or_else(|| GitError::NotText(path.to_owned()))
}

/// Fetches exactly what is named, and leaves no other trace.
pub(super) fn fetch(git: &Repository<'_>, from: &str, refspecs: &[&str]) -> Result<(), GitError> {
    let mut arguments = vec![
        "-c",
        "protocol.file.allow=always",
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-prune",
        "--no-write-fetch-head",
        "--no-auto-maintenance",
        "--no-recurse-submodules",
        "--refmap=",
        "--",
        from,
    ];
    arguments.extend(refspecs);
    git.text(&arguments, &[]).map(drop)
}

/// Tells whether `commit` is `of` or one before it.
pub(super) fn is_ancestor(git: &Repository<'_>, commit: &str, of: &str) -> Result<bool, GitError> {
    let is_known = facts::line(commit, of, MOST_KNOWN).is_some();
    Ok(is_known || git.run(&["merge-base", "--is-ancestor", commit, of], &[])?.is_success())
}

fn listed(text: &str) -> impl Iterator<Item = &str> {
    text.split('\0').filter(|name| !name.is_empty())
}

fn expected(command: &str) -> impl FnOnce(Finished) -> Result<(), String> {
    move |finished| {
        if finished.is_success() {
            return Ok(());
        }
        Err(format!("`git {command}` ended with {}: {}", finished.end, finished.last_words(300)))
    }
}

/// Returns the lock that keeps a remote from being changed, if git says that it is one.
fn held_lock(finished: &Finished) -> Option<String> {
    if finished.is_success() {
        return None;
    }
    let said = [&finished.stdout, &finished.stderr].map(|said| String::from_utf8_lossy(said).into_owned());
    said.iter().find_map(|said| lock_in(said))
}

/// Finds the lock in what git says: `Unable to create '/path/main.lock': File exists.`
fn lock_in(said: &str) -> Option<String> {
    let (_, rest) = said.split_once("Unable to create '")?;
    let (lock, _) = rest.split_once("': File exists")?;
    Some(lock.replace("/./", "/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_of_a_remote_is_named_whole() {
        let deep = format!("/srv/{}/refs/heads/main.lock", "a-long-name/".repeat(40));
        for (said, lock) in [
            (
                format!(
                    "error: cannot lock ref 'refs/heads/main': Unable to create '{deep}': File exists.\n\nAnother git"
                ),
                Some(deep),
            ),
            (
                "remote: fatal: Unable to create './packed-refs.lock': File exists.".to_owned(),
                Some("./packed-refs.lock".to_owned()),
            ),
            (
                "remote: error: Unable to create '/a/it's/x.lock': File exists.".to_owned(),
                Some("/a/it's/x.lock".to_owned()),
            ),
            ("fatal: Unable to create '/a/x.lock': Permission denied".to_owned(), None),
            ("! [remote rejected] main -> main (pre-receive hook declined)".to_owned(), None),
        ] {
            assert_eq!(lock_in(&said), lock, "{said}");
        }
    }
}
