//! Slots: workspaces that are made for runs, kept and used again.
//!
//! A project's slots are `slots/1`, `slots/2`, … beside its journal. Each holds a working tree, the tree's repository (or
//! a note of where it is), and a lock that whoever works in it holds. A slot is free if its lock can be had and no open
//! run has its tree. It is made under a temporary name and renamed, so that what has a number is whole.
//!
//! Invariants:
//! - Before anything in a slot is removed or reset, all that could be lost by it (changed and new files, commits that are
//!   nowhere else) is kept under `refs/warp/salvage/RUN/N` in the person's repository.
//! - No link below the state directory is followed: a slot that leads elsewhere is refused.
//! - Where a slot's repository is, is never read from its tree.

mod keeping;
mod making;
mod recovery;

use std::{
    fs::{self, File},
    io, mem,
    path::{Path, PathBuf},
    time::Duration,
};

pub use adapters::git::slot::Kind;
use adapters::git::{
    self, Location,
    integrate::{BranchError, Rebase, RebaseError, RepositoryPair, TargetError},
    resume::MoveError,
    salvage,
    sight::{BaseCommit, Need},
    slot::{self, GIT, Head, Ignored, TREE},
    target::{ForwardError, Forwarded},
};
use adapters::refs::GitError;
use adapters::{boundary, machine, sandbox};
use journal::{Durable, OpenError, Query, StoreError};

pub use keeping::{Kept, KeptIn};
pub use recovery::Recovered;

use crate::{Dirs, Place, PlaceError, atomic, hold::FileLock, rails, spelled};

/// The file that whoever works in a slot holds.
const LOCK: &str = "lock";
/// The file that names the run for which a slot is, or was, used.
const RUN: &str = "run";
/// Where in a project's directory things are put that were found in a slot and cannot be kept by git.
const SET_ASIDE: &str = "set-aside";
/// How the names of slots begin that are not whole yet.
const MAKING: &str = "making-";
/// How long to wait for a slot that the run's own former process may still hold while it ends.
const PATIENCE: Duration = Duration::from_secs(5);
/// The highest number of a slot.
const MOST: usize = 10_000;

/// A project's slots.
#[derive(Debug)]
pub struct Pool {
    /// The root of the person's checkout.
    root: PathBuf,
    origin: Location,
    id: String,
    dirs: Dirs,
    directory: PathBuf,
}

/// A slot, held until it is dropped.
#[derive(Debug)]
pub struct Slot {
    pub place: Place,
    pub kind: Kind,
    number: usize,
    directory: PathBuf,
    /// The commit on which it was last begun; nothing if it was opened again.
    base: Option<String>,
    /// The person's checkout.
    person: Place,
    between: RepositoryPair,
    /// Why others were passed over when it was taken, a line each.
    passed_over: Vec<String>,
    _lock: FileLock,
}

/// Why there is no slot.
#[derive(Debug, thiserror::Error)]
pub enum SlotError {
    #[error("`{}` has no git repository", path.display())]
    NoRepository { path: PathBuf },
    #[error("`{}` is a run's own workspace; give the command in the project itself", path.display())]
    InSlot { path: PathBuf },
    #[error("`{}` leads out of warp's state directory, or is no directory", path.display())]
    NotContained { path: PathBuf },
    #[error("`{}` is no slot of this project", path.display())]
    NotOurs { path: PathBuf },
    #[error("`{}` is in use by another process", path.display())]
    InUse { path: PathBuf },
    #[error("the workspace `{}` is gone, or not whole", path.display())]
    Lost { path: PathBuf },
    #[error("git cannot read the workspace: {words}")]
    Unreadable { words: String },
    #[error("there are {MOST} slots already")]
    TooMany,
    #[error("failed to read or write `{}`", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Branch(#[from] BranchError),
    #[error(transparent)]
    Refs(#[from] adapters::refs::ReadError),
    #[error(transparent)]
    Known(#[from] rails::KnownError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Pool {
    /// Takes the slots of the project that a person works on at `place`.
    pub fn of(place: &Place, dirs: &Dirs) -> Result<Self, SlotError> {
        if place.git_dir().is_some() {
            return Err(SlotError::InSlot { path: place.root.clone() });
        }
        let none = || SlotError::NoRepository { path: place.root.clone() };
        let location = git::locate(&place.root).ok_or_else(none)?;
        let common = location.common_dir.canonicalize().map_err(|_| none())?;
        let id = place.ensure_project_id()?;
        let state = &dirs.state;
        fs::create_dir_all(state).map_err(|source| SlotError::File { path: state.clone(), source })?;
        let state = state.canonicalize().map_err(|source| SlotError::File { path: state.clone(), source })?;
        let mut directory = state;
        for part in ["projects", id.as_str(), "slots"] {
            directory.push(part);
            ensure_directory(&directory)?;
        }
        let origin = Location { git_dir: common.clone(), common_dir: common };
        let pool = Self { root: place.root.clone(), origin, id, dirs: dirs.clone(), directory };
        Ok(pool)
    }

    /// Takes a free slot that stands on the newest commit of `target`, or makes one.
    ///
    /// One that cannot be made ready is left as it is, for a person to look at.
    pub fn take(&self, kind: Kind, target: &str) -> Result<Slot, SlotError> {
        self.remove_unfinished()?;
        let mut passed_over = Vec::new();
        for number in self.numbers()? {
            let Some(mut slot) = self.try_free(number, kind)? else { continue };
            match self.renew(&mut slot, target) {
                Ok(()) => return Ok(Slot { passed_over, ..slot }),
                Err(error) => passed_over.push(format!(
                    "slot {number} is skipped and left as it is, in {}: {}",
                    slot.root().display(),
                    spelled(&error)
                )),
            }
        }
        Ok(Slot { passed_over, ..self.make(kind, target, None)? })
    }

    /// Opens the slot of a run that goes on, by the root of its tree.
    pub fn reopen(&self, root: &Path) -> Result<Slot, SlotError> {
        let number = self.number_of(root)?;
        let directory = self.directory.join(number.to_string());
        if directory.symlink_metadata().is_err() {
            return Err(SlotError::Lost { path: root.to_owned() });
        }
        let lock = hold(&directory, PATIENCE)?.ok_or_else(|| SlotError::InUse { path: root.to_owned() })?;
        self.open(number, lock)
    }

    /// Opens the slot of a run that was taken over from a process that may still live. Whoever has claimed the run has the
    /// slot with it, so that process loses its lock.
    pub fn take_over(&self, root: &Path) -> Result<Slot, SlotError> {
        match self.reopen(root) {
            Err(SlotError::InUse { .. }) => {}
            reopened => return reopened,
        }
        let path = self.directory.join(self.number_of(root)?.to_string()).join(LOCK);
        boundary::around("take_slot", || fs::remove_file(&path))
            .map_err(|source| SlotError::File { path, source })?;
        self.reopen(root)
    }

    /// Returns the working trees of all slots.
    pub fn trees(&self) -> Result<Vec<PathBuf>, SlotError> {
        let numbers = self.numbers()?.into_iter();
        Ok(numbers.map(|number| self.directory.join(number.to_string()).join(TREE)).collect())
    }

    /// Returns the numbers of all slots, in order.
    fn numbers(&self) -> Result<Vec<usize>, SlotError> {
        let failed = |source| SlotError::File { path: self.directory.clone(), source };
        let mut numbers = Vec::new();
        for entry in fs::read_dir(&self.directory).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            numbers.extend(name.to_str().and_then(|name| name.parse::<usize>().ok()));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Reads a slot's number off the root of its tree.
    fn number_of(&self, root: &Path) -> Result<usize, SlotError> {
        let not_ours = || SlotError::NotOurs { path: root.to_owned() };
        let directory = root.parent().filter(|_| root.ends_with(TREE)).ok_or_else(not_ours)?;
        let number = directory.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
        let number: usize = number.ok_or_else(not_ours)?;
        if self.directory.join(number.to_string()) != directory {
            return Err(not_ours());
        }
        Ok(number)
    }

    /// Takes a slot if it is free and whole.
    fn try_free(&self, number: usize, kind: Kind) -> Result<Option<Slot>, SlotError> {
        let directory = self.directory.join(number.to_string());
        let Some(lock) = hold(&directory, Duration::ZERO)? else { return Ok(None) };
        if self.has_open_run(&directory.join(TREE))? {
            return Ok(None);
        }
        match self.open(number, lock) {
            Ok(slot) if slot.kind == kind => Ok(Some(slot)),
            // What is not whole is left for a person to look at: nothing in it can be kept.
            Ok(_) | Err(SlotError::Lost { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn has_open_run(&self, tree: &Path) -> Result<bool, SlotError> {
        let mark = tree.to_str().ok_or_else(|| PlaceError::NotText { path: tree.to_owned() })?;
        match self.dirs.stores.open_existing(self.dirs.journal(&self.id))? {
            Some(store) => Ok(!store.find(Query::Mark(mark))?.is_empty()),
            None => Ok(false),
        }
    }

    /// Opens a slot whose lock is held: its links are made anew, and what a killed git has left is removed.
    fn open(&self, number: usize, lock: FileLock) -> Result<Slot, SlotError> {
        let directory = self.directory.join(number.to_string());
        let tree = directory.join(TREE);
        for path in [&directory, &tree, &directory.join(GIT)] {
            if path.symlink_metadata().is_ok_and(|data| !data.is_dir()) {
                return Err(SlotError::NotContained { path: path.clone() });
            }
        }
        let lost = || SlotError::Lost { path: tree.clone() };
        let marker = slot::marker(&tree).filter(|_| tree.is_dir()).ok_or_else(lost)?;
        if !marker.location.git_dir.join("HEAD").is_file()
            || !marker.location.common_dir.join("objects").is_dir()
        {
            return Err(lost());
        }
        if marker.kind == Kind::Worktree && marker.location.common_dir != self.origin.common_dir {
            return Err(SlotError::NotOurs { path: tree });
        }
        // What cannot be made ordinary is in nobody's way until the slot is to be used again.
        let _ = sandbox::tidy(&tree);
        slot::clear_leftovers(&marker.location)
            .map_err(|source| SlotError::File { path: marker.location.git_dir.clone(), source })?;
        self.link(&directory, marker.kind, &marker.location.git_dir)?;
        // The project may have been moved, or is another checkout of the same repository.
        if marker.origin != self.root {
            let mark = || slot::mark(&directory, marker.kind, &marker.location.git_dir, &self.root);
            boundary::around("mark_slot", mark)
                .map_err(|source| SlotError::File { path: directory.join(slot::MARKER), source })?;
        }
        suite::clear_leftovers(&tree).map_err(|words| SlotError::Unreadable { words })?;
        self.slot(number, lock)
    }

    fn slot(&self, number: usize, lock: FileLock) -> Result<Slot, SlotError> {
        let directory = self.directory.join(number.to_string());
        let root = directory.join(TREE);
        let marker = slot::marker(&root).ok_or_else(|| SlotError::Lost { path: root.clone() })?;
        let between = RepositoryPair {
            root: root.clone(),
            slot: marker.location,
            origin: self.origin.clone(),
            checkout: self.root.clone(),
            stop: self.dirs.stop.clone(),
        };
        Ok(Slot {
            place: Place::at(&root)?,
            kind: marker.kind,
            number,
            directory,
            base: None,
            person: Place::at(&self.root)?,
            between,
            passed_over: Vec::new(),
            _lock: lock,
        })
    }
}

impl Slot {
    /// Returns the root of its working tree.
    pub fn root(&self) -> &Path {
        &self.place.root
    }

    /// Returns its number.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Takes what a person should know about the slots that were passed over for this one.
    pub fn take_passed_over(&mut self) -> Vec<String> {
        mem::take(&mut self.passed_over)
    }

    /// Returns the commit that it was made ready on; nothing if it was opened again.
    pub fn base(&self) -> Option<&str> {
        self.base.as_deref()
    }

    /// Returns the git acts between this workspace and the person's repository that move no branch of either.
    pub fn between(&self) -> &RepositoryPair {
        &self.between
    }

    /// Returns the person's checkout.
    pub fn person(&self) -> &Place {
        &self.person
    }

    /// Notes for which run it is used: work that is kept from it is kept under that name.
    pub fn note_run(&self, run: &str) -> Result<(), SlotError> {
        let path = self.directory.join(RUN);
        atomic::replace(&path, &format!("{run}\n")).map_err(|source| SlotError::File { path, source })
    }

    /// Returns the remote of the person's repository that work is pushed to, if it has one.
    pub fn remote(&self) -> Option<String> {
        self.person.git().remote().ok().map(|(name, _)| name)
    }

    /// Keeps what is not committed under a ref of the run's, and returns the tree to its last commit. HEAD stays on its
    /// branch: the work that is committed there is handed over by that name.
    ///
    /// Returns that ref; nothing if there was nothing to keep.
    pub fn clear(&self, run: &str) -> Result<Option<String>, SlotError> {
        let kept = salvage::snapshot(&self.place.root, &self.between.slot, run)?;
        let git = self.between.git();
        let (head, branch) =
            (git.head_commit().map_err(|words| SlotError::Unreadable { words })?, git.branch());
        let head = if branch.is_empty() { Head::Detached(&head) } else { Head::OnBranch(&branch) };
        boundary::around("clear", || self.check_out_only(head, self.ignored()))?;
        Ok(kept)
    }

    /// Says whether ignored files stay: they do while the tree is prepared for its tests.
    pub(super) fn ignored(&self) -> Ignored {
        if suite::Prepared::read(self.root()).is_some() { Ignored::Kept } else { Ignored::Removed }
    }

    /// Makes the tree exactly what `head` has; what is in it must have been kept before. A repository inside it is moved to where
    /// the project's things are set aside.
    fn check_out_only(&self, head: Head<'_>, ignored: Ignored) -> Result<(), SlotError> {
        let project = self.directory.ancestors().nth(2).unwrap_or(&self.directory);
        let set_aside = |path: &Path| {
            let label = format!("slot-{}-{}", self.number, machine::now().millis());
            let moved = atomic::set_aside(path, &project.join(SET_ASIDE), &label);
            moved.map(drop).map_err(|source| SlotError::File { path: path.to_owned(), source })
        };
        slot::check_out_only(&self.place.root, &self.between.slot, head, ignored, set_aside)
    }

    /// Brings the newest commit of `target`, also from `remote` if one is named, which has to answer; returns it.
    pub fn bring_target(&self, target: &str, remote: Option<&str>) -> Result<String, TargetError> {
        Ok(self.bring_seen(target, remote, Need::Remote)?.commit)
    }

    /// Does the same, and tells how the person's branch relates to the remote's.
    pub fn bring_seen(
        &self,
        target: &str,
        remote: Option<&str>,
        need: Need,
    ) -> Result<BaseCommit, TargetError> {
        self.between.bring_target(target, remote, need)
    }

    /// Begins a branch on `base`, or stands on it already; returns its name.
    pub fn begin_branch(&self, name: &str, base: &str) -> Result<String, SlotError> {
        let name = self.between.begin_branch(name, base)?;
        rails::remember(&self.place)?;
        Ok(name)
    }

    /// Stands on a branch at `tip`, whatever lies in the workspace; returns its name.
    pub fn take_up_branch(&self, name: &str, tip: &str) -> Result<String, SlotError> {
        let name = self.between.take_up_branch(name, tip)?;
        rails::remember(&self.place)?;
        Ok(name)
    }

    /// Moves a branch of the person's repository that is offered by a pull request on to `commit`.
    pub fn move_on(&self, run: &str, branch: &str, commit: &str, _: &Durable) -> Result<(), MoveError> {
        self.between.move_on(run, branch, commit)?;
        // A list of refs that cannot be written makes the next look take this for somebody else's move, no worse.
        let _ = rails::confirm(&self.person, &format!("refs/heads/{branch}"), commit);
        Ok(())
    }

    /// Puts the branch's commits on top of `onto`. One that a person has left half done begins anew; what they have brought
    /// together is kept.
    pub fn rebase(&self, branch: &str, onto: &str) -> Result<Rebase, RebaseError> {
        if self.between.is_rebasing() {
            let kept = salvage::snapshot(self.root(), &self.between.slot, &self.keeper());
            kept.map_err(|error| RebaseError::Git(error.to_string()))?;
        }
        let done = self.between.rebase(branch, onto)?;
        rails::remember(&self.place).map_err(|error| RebaseError::Git(error.to_string()))?;
        Ok(done)
    }

    /// Makes a run's newest commit reachable in the person's repository, so that it outlives the slot.
    pub fn keep_outside(&self, commit: &str, run: &str) -> Result<(), GitError> {
        self.between.keep_outside(commit, run)
    }

    /// Puts a commit into the person's repository under a branch's name; returns the name, which may have got a number.
    pub fn deliver(&self, run: &str, commit: &str, branch: &str, _: &Durable) -> Result<String, SlotError> {
        let name = self.between.deliver(run, commit, branch)?;
        rails::confirm(&self.person, &format!("refs/heads/{name}"), commit)?;
        Ok(name)
    }

    /// Moves the branch `target` forward to `new`: the remote's, if one is named, the person's, and a working tree that
    /// stands on it.
    ///
    /// It has to stand at `old`, or behind that where a remote was ahead of it.
    pub fn fast_forward(
        &self,
        remote: Option<&str>,
        target: &str,
        (old, new): (&str, &str),
        _: &Durable,
    ) -> Result<Forwarded, ForwardError> {
        let forwarded = self.between.fast_forward(self.run().as_deref(), remote, target, old, new)?;
        if matches!(forwarded, Forwarded::Everywhere) {
            // A list of refs that cannot be written makes the next look take this for somebody else's move, no worse.
            let _ = rails::confirm(&self.person, &format!("refs/heads/{target}"), new);
        }
        Ok(forwarded)
    }
}

/// Sees to it that there is a directory, and that it is no link.
fn ensure_directory(path: &Path) -> Result<(), SlotError> {
    match fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(SlotError::File { path: path.to_owned(), source: error });
        }
        _ => {}
    }
    match path.symlink_metadata() {
        Ok(data) if data.is_dir() => Ok(()),
        Ok(_) | Err(_) => Err(SlotError::NotContained { path: path.to_owned() }),
    }
}

/// Holds a slot, whose directory must be no link; nothing if another process has it.
fn hold(directory: &Path, patience: Duration) -> Result<Option<FileLock>, SlotError> {
    let not_contained = || SlotError::NotContained { path: directory.to_owned() };
    if !directory.symlink_metadata().is_ok_and(|data| data.is_dir()) {
        return Err(not_contained());
    }
    let path = directory.join(LOCK);
    if path.symlink_metadata().is_ok_and(|data| !data.is_file()) {
        return Err(not_contained());
    }
    let open = File::options().create(true).truncate(false).read(true).write(true).open(&path);
    open.and_then(|file| FileLock::take(file, patience)).map_err(|source| SlotError::File { path, source })
}
