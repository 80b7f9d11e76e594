//! Keeping what is in a slot before it goes, and looking at what is kept.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use adapters::{
    boundary,
    git::{
        Location,
        integrate::kept_as,
        salvage::{self, Entry},
        slot::{self, Head, Kind, TREE},
    },
    refs,
};

use super::{Pool, RUN, SET_ASIDE, Slot, SlotError};
use crate::{
    Place, PlaceError,
    rails::{self, vault},
    text,
};

/// The longest name of a run that is read, in bytes.
const LONGEST_NAME: u64 = 256;

/// Where work is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptIn {
    /// In the person's repository.
    Project,
    /// In the copy of the person's repository that is kept outside of it.
    Vault,
    /// In a slot, of which the run may still be at work.
    Slot(usize),
}

/// Work that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub entry: Entry,
    pub kept_in: KeptIn,
    /// The repository that holds it.
    pub location: Location,
    /// How many files differ from what it was made on.
    pub files: usize,
}

impl Slot {
    /// Returns the run for which the slot is used, if that was noted.
    pub(super) fn run(&self) -> Option<String> {
        let named = text::read(&self.directory.join(RUN), LONGEST_NAME).unwrap_or_default();
        let named = named.trim();
        let fits =
            !named.is_empty() && named.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        fits.then(|| named.to_owned())
    }

    /// Returns the name under which work of this slot is kept: its run's.
    pub(super) fn keeper(&self) -> String {
        self.run().unwrap_or_else(|| format!("slot-{}", self.number))
    }

    /// Keeps all that could be lost with this slot in the person's repository; returns the refs that were made there.
    pub fn keep(&self) -> Result<Vec<String>, SlotError> {
        let (run, here, origin) = (self.keeper(), &self.between.slot, &self.between.origin);
        boundary::around("snapshot", || salvage::snapshot(self.root(), here, &run))?;
        for tip in salvage::tips(here)? {
            if !salvage::is_reachable(origin, &tip)? {
                boundary::around("keep_tip", || salvage::keep(here, &run, &tip))?;
            }
        }
        if self.kind == Kind::Worktree {
            return Ok(Vec::new());
        }
        let known: BTreeSet<String> = salvage::list(origin)?.into_iter().map(|entry| entry.object).collect();
        let entries = salvage::list(here)?;
        let mut new: Vec<&Entry> = entries.iter().filter(|entry| !known.contains(&entry.object)).collect();
        // They get numbers in the order in which they have them here, not by the dates of commits.
        new.sort_by_key(|entry| (entry.run.clone(), entry.number));
        let objects: Vec<&str> = new.iter().map(|entry| entry.object.as_str()).collect();
        self.between.bring(&objects)?;
        let mut kept = Vec::new();
        for entry in new {
            kept.extend(boundary::around("carry", || salvage::keep(origin, &entry.run, &entry.object))?);
        }
        Ok(kept)
    }

    /// Tells whether nothing could be lost with this slot: its tree is its commit, and the person's repository has all its
    /// commits as its target or as its run's newest. Where that is not plain, the answer is no.
    pub(super) fn has_nothing_to_keep(&self, target: &str) -> Result<bool, SlotError> {
        let (here, origin) = (&self.between.slot, &self.between.origin);
        let Some(run) = self.run().filter(|_| self.kind == Kind::Clone) else { return Ok(false) };
        let under_way = ["rebase-merge", "rebase-apply", "sequencer", "MERGE_HEAD", "CHERRY_PICK_HEAD"];
        if under_way.iter().any(|name| here.git_dir.join(name).exists())
            || !refs::are_none_under(here, "refs/warp/salvage/")?
        {
            return Ok(false);
        }
        let mut known = Vec::new();
        for name in [format!("refs/heads/{target}"), kept_as(&run)] {
            known.extend(refs::one(origin, &name)?);
        }
        // Where the target was before the run was merged, too.
        known.extend(self.between.merge_of(&run)?.map(|(from, _)| from));
        let found = refs::read(here)?;
        let head = found.head_commit().map(str::to_owned);
        let is_kept = |commit: &String| known.contains(commit);
        if !found.stashes.is_empty()
            || !head.as_ref().is_some_and(is_kept)
            || !found.refs.values().all(is_kept)
        {
            return Ok(false);
        }
        Ok(slot::is_clean(self.root(), here, self.ignored())?)
    }

    /// Gives the slot back to the pool as if it had never been used. For work of warp's own, which can be done again: nothing
    /// of it is kept.
    pub fn discard(self, target: &str) -> Result<(), SlotError> {
        let base = self.bring_target(target, None)?;
        self.check_out_only(Head::Detached(&base), self.ignored())?;
        if self.kind == Kind::Clone {
            slot::put_refs(&self.between.slot, target, &base)?;
        }
        Ok(())
    }

    /// Removes the slot's own copies of what the person's repository keeps; else what a person drops would come back.
    pub(super) fn forget_salvage(&self) -> Result<(), SlotError> {
        if self.kind == Kind::Clone {
            for entry in salvage::list(&self.between.slot)? {
                salvage::drop(&self.between.slot, &entry.name, &entry.object)?;
            }
        }
        Ok(())
    }
}

impl Pool {
    /// Returns all work that is kept, in the person's repository and in slots that have not handed theirs over, the oldest
    /// first.
    pub fn kept(&self) -> Result<Vec<Kept>, SlotError> {
        let mut places = vec![(KeptIn::Project, self.origin.clone())];
        let vault = vault::of_project(&self.dirs, &self.id);
        places.extend(vault.map(|vault| (KeptIn::Vault, vault.location().clone())));
        for number in self.numbers()? {
            let marker = slot::marker(&self.directory.join(number.to_string()).join(TREE));
            let clone =
                marker.filter(|marker| marker.kind == Kind::Clone && marker.location.git_dir.is_dir());
            places.extend(clone.map(|marker| (KeptIn::Slot(number), marker.location)));
        }
        let mut all: Vec<Kept> = Vec::new();
        for (kept_in, location) in places {
            for entry in salvage::list(&location)? {
                if all.iter().any(|kept| kept.entry.object == entry.object) {
                    continue;
                }
                let names = salvage::show(&location, &entry.object, &["--name-only", "-z"])?;
                let files = names.split(|byte| *byte == 0).filter(|name| !name.is_empty()).count();
                all.push(Kept { entry, kept_in, location: location.clone(), files });
            }
        }
        all.sort_by_key(|kept| kept.entry.seconds);
        Ok(all)
    }

    /// Returns the refs that keep the work of a run, the oldest first.
    pub fn kept_of(&self, run: &str) -> Result<Vec<String>, SlotError> {
        let all = self.kept()?.into_iter().map(|kept| kept.entry);
        Ok(all.filter(|entry| entry.run == run).map(|entry| entry.name).collect())
    }

    /// Returns what was found in slots and moved out of them because git cannot keep it, such as repositories inside a tree.
    pub fn set_aside(&self) -> Result<Vec<PathBuf>, SlotError> {
        let directory = self.dirs.project(&self.id).join(SET_ASIDE);
        let failed = |source| SlotError::File { path: directory.clone(), source };
        let entries = match fs::read_dir(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed)?,
        };
        let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
        let mut paths = paths.map_err(failed)?;
        paths.sort();
        Ok(paths)
    }

    /// Puts kept work onto a new branch of the person's repository, checked out in `tree` if that is named.
    pub fn restore(&self, kept: &Kept, branch: &str, tree: Option<&Path>) -> Result<String, SlotError> {
        let not_text = |path: &Path| PlaceError::NotText { path: path.to_owned() };
        let tree = tree.map(|path| path.to_str().ok_or_else(|| not_text(path))).transpose()?;
        let commit = salvage::restore(&kept.location, &self.origin, &kept.entry.object, branch, tree)?;
        rails::confirm(&Place::at(&self.root)?, &format!("refs/heads/{branch}"), &commit)?;
        Ok(commit)
    }

    /// Removes kept work wherever it is kept.
    pub fn drop_kept(&self, kept: &Kept) -> Result<(), SlotError> {
        for other in self.kept_copies(&kept.entry.object)? {
            boundary::around("drop_salvage", || salvage::drop(&other.0, &other.1, &kept.entry.object))?;
        }
        Ok(())
    }

    fn kept_copies(&self, object: &str) -> Result<Vec<(Location, String)>, SlotError> {
        let mut copies = Vec::new();
        let slots = self.numbers()?.into_iter();
        let slots =
            slots.filter_map(|number| slot::marker(&self.directory.join(number.to_string()).join(TREE)));
        let slots = slots.filter(|marker| marker.kind == Kind::Clone && marker.location.git_dir.is_dir());
        let vault = vault::of_project(&self.dirs, &self.id).map(|vault| vault.location().clone());
        let all = std::iter::once(self.origin.clone()).chain(vault);
        for location in all.chain(slots.map(|marker| marker.location)) {
            let entries = salvage::list(&location)?.into_iter().filter(|entry| entry.object == object);
            copies.extend(entries.map(|entry| (location.clone(), entry.name)));
        }
        Ok(copies)
    }
}
