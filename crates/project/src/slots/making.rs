//! Making a slot, and making one ready for another run.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use adapters::{
    boundary,
    git::{
        Location,
        integrate::RepositoryPair,
        sight::Need,
        slot::{self, GIT, Head, Ignored, Kind, TREE},
    },
    machine, sandbox,
};

use super::{MAKING, MOST, Pool, RUN, SET_ASIDE, Slot, SlotError, hold};
use crate::{atomic, hold::FileLock};

/// How long to wait for another process that begins a slot.
const PATIENCE: Duration = Duration::from_secs(120);

impl Pool {
    /// Removes what was begun and never got a number. Nobody has ever worked there.
    pub(super) fn remove_unfinished(&self) -> Result<(), SlotError> {
        let _alone = self.hold_unfinished()?;
        let failed = |source| SlotError::File { path: self.directory.clone(), source };
        for entry in fs::read_dir(&self.directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let is_unfinished = entry.file_name().to_string_lossy().starts_with(MAKING);
            if !is_unfinished || !entry.file_type().map_err(failed)?.is_dir() {
                continue;
            }
            let path = entry.path();
            let held = match hold(&path, Duration::ZERO) {
                // Whoever made it has just given it its number.
                Err(_) if path.symlink_metadata().is_err() => continue,
                held => held?,
            };
            if held.is_some() {
                boundary::around("remove_unfinished", || match fs::remove_dir_all(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
                    _ => Ok(()),
                })?;
            }
        }
        Ok(())
    }

    /// Makes a slot on the newest commit of `target`, under the next free number or the given one.
    pub(super) fn make(&self, kind: Kind, target: &str, number: Option<usize>) -> Result<Slot, SlotError> {
        let label = machine::random_text(12)
            .map_err(|source| SlotError::File { path: self.directory.clone(), source })?;
        let making = self.directory.join(format!("{MAKING}{label}"));
        let failed = |source| SlotError::File { path: making.clone(), source };
        let lock = {
            let _alone = self.hold_unfinished()?;
            boundary::around("make_slot", || fs::create_dir(&making)).map_err(failed)?;
            hold(&making, Duration::ZERO)?.ok_or_else(|| SlotError::InUse { path: making.clone() })?
        };
        let tree = making.join(TREE);
        let base = self.target_commit(target)?;
        let git_dir = match kind {
            Kind::Clone => {
                let git_dir = making.join(GIT);
                slot::clone(&self.origin, target, &git_dir)?;
                fs::create_dir(&tree).map_err(failed)?;
                let own = git_dir.join("warp");
                fs::create_dir(&own).map_err(failed)?;
                let id = format!("{}\n", self.id);
                boundary::around("slot_id", || fs::write(own.join("project-id"), id)).map_err(failed)?;
                git_dir
            }
            Kind::Worktree => {
                let _alone = self.hold_worktrees()?;
                slot::worktree(&self.origin, &tree, &base)?
            }
        };
        boundary::around("mark_slot", || slot::mark(&making, kind, &git_dir, &self.root)).map_err(failed)?;
        self.link(&making, kind, &git_dir)?;
        let location = match kind {
            Kind::Clone => Location { common_dir: git_dir.clone(), git_dir },
            Kind::Worktree => Location { git_dir, common_dir: self.origin.common_dir.clone() },
        };
        let between = RepositoryPair {
            root: tree.clone(),
            slot: location.clone(),
            origin: self.origin.clone(),
            checkout: self.root.clone(),
            stop: self.dirs.stop.clone(),
        };
        let base = between.bring_target(target, None, Need::Local)?.commit;
        // Nobody has worked there yet, so there is nothing to set aside.
        slot::check_out_only(&tree, &location, Head::Detached(&base), Ignored::Removed, |_| {
            Ok::<_, SlotError>(())
        })?;
        let number = self.number(&making, number)?;
        let directory = self.directory.join(number.to_string());
        self.link(&directory, kind, &location_after(&location, kind, &directory))?;
        let mut slot = self.slot(number, lock)?;
        slot.base = Some(base);
        Ok(slot)
    }

    /// Gives a slot its number, by which it counts as made.
    fn number(&self, making: &Path, wanted: Option<usize>) -> Result<usize, SlotError> {
        let numbers = wanted.map_or(1..=MOST, |number| number..=number);
        for number in numbers {
            let directory = self.directory.join(number.to_string());
            if directory.symlink_metadata().is_ok() {
                continue;
            }
            match boundary::around("number_slot", || fs::rename(making, &directory)) {
                Ok(()) => return Ok(number),
                // Somebody else was faster.
                Err(error)
                    if directory.symlink_metadata().is_ok() && error.kind() != io::ErrorKind::NotFound => {}
                Err(source) => return Err(SlotError::File { path: directory, source }),
            }
        }
        Err(SlotError::TooMany)
    }

    /// Makes a slot ready for another run: what is in it is kept, and goes.
    pub(super) fn renew(&self, slot: &mut Slot, target: &str) -> Result<(), SlotError> {
        // Git neither sees nor removes what cannot be read: that must not be handed on.
        sandbox::tidy(slot.root())
            .map_err(|source| SlotError::File { path: slot.root().to_owned(), source })?;
        let has_nothing = slot.has_nothing_to_keep(target)?;
        if !has_nothing {
            slot.keep()?;
            slot.forget_salvage()?;
        }
        let standing = if has_nothing { slot.between.stands_on_target(target)? } else { None };
        let base = match standing {
            // Its files are right, and so is all else once its refs are.
            Some(base) => base,
            None => {
                let base = slot.between.bring_target(target, None, Need::Local)?.commit;
                if has_nothing {
                    slot::check_out(slot.root(), &slot.between.slot, &base)?;
                } else {
                    slot.check_out_only(Head::Detached(&base), slot.ignored())?;
                }
                base
            }
        };
        if slot.ignored() == Ignored::Kept && !suite::is_prepared(&slot.place) {
            // Other things have to be installed than those that are there.
            suite::Prepared::forget(slot.root())
                .map_err(|source| SlotError::File { path: slot.directory.clone(), source })?;
            slot.check_out_only(Head::Detached(&base), Ignored::Removed)?;
        }
        if slot.kind == Kind::Clone {
            slot::put_refs(&slot.between.slot, target, &base)?;
        }
        atomic::remove(&slot.directory.join(RUN))
            .map_err(|source| SlotError::File { path: slot.directory.join(RUN), source })?;
        slot.base = Some(base);
        Ok(())
    }

    fn target_commit(&self, target: &str) -> Result<String, SlotError> {
        let found = adapters::refs::one(&self.origin, &format!("refs/heads/{target}"))?;
        let none = || adapters::git::integrate::TargetError::NoSuchBranch { target: target.to_owned() };
        Ok(found.ok_or_else(none)?)
    }

    /// One process at a time adds working trees to the person's repository.
    fn hold_worktrees(&self) -> Result<FileLock, SlotError> {
        hold_file(self.origin.common_dir.join("warp/worktrees.lock"))
    }

    /// What one process has just begun, another that removes what was left does not see before it is held.
    fn hold_unfinished(&self) -> Result<FileLock, SlotError> {
        hold_file(self.directory.with_extension("lock"))
    }

    /// Makes the links between a tree and its repository, which git and the agent's git go by. Ours does not.
    pub(super) fn link(&self, directory: &Path, kind: Kind, git_dir: &Path) -> Result<(), SlotError> {
        let link = directory.join(TREE).join(".git");
        let failed = |source| SlotError::File { path: link.clone(), source };
        let text = format!("gitdir: {}\n", git_dir.display());
        let is_right = link.symlink_metadata().is_ok_and(|data| data.is_file())
            && fs::read(&link).is_ok_and(|found| found == text.as_bytes());
        if !is_right {
            if link.symlink_metadata().is_ok_and(|data| data.is_dir()) {
                // Somebody has made a repository of their own there.
                let aside = self.dirs.project(&self.id).join(SET_ASIDE);
                let label = format!("slot-{}", machine::now().millis());
                atomic::set_aside(&link, &aside, &label).map_err(failed)?;
            }
            atomic::remove(&link).map_err(failed)?;
            boundary::around("link_slot", || fs::write(&link, text)).map_err(failed)?;
        }
        if kind == Kind::Worktree {
            let back = git_dir.join("gitdir");
            let failed = |source| SlotError::File { path: back.clone(), source };
            let text = format!("{}\n", link.display());
            boundary::around("link_back", || fs::write(&back, text)).map_err(failed)?;
        }
        Ok(())
    }
}

/// Waits until this process alone holds a file.
fn hold_file(path: PathBuf) -> Result<FileLock, SlotError> {
    let open = File::options().create(true).truncate(false).read(true).write(true).open(&path);
    match open.and_then(|file| FileLock::take(file, PATIENCE)) {
        Ok(Some(held)) => Ok(held),
        Ok(None) => Err(SlotError::InUse { path }),
        Err(source) => Err(SlotError::File { path, source }),
    }
}

/// Returns where a slot's git directory is once it has its number.
fn location_after(location: &Location, kind: Kind, directory: &Path) -> PathBuf {
    match kind {
        Kind::Clone => directory.join(GIT),
        Kind::Worktree => location.git_dir.clone(),
    }
}
