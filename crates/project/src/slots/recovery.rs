//! A run whose workspace was lost gets another at the same path.

use std::path::Path;

use adapters::{
    git::{
        recovery, salvage,
        slot::{self, Kind, TREE},
    },
    machine,
};
use engine::Run;

use super::{Pool, SET_ASIDE, Slot, SlotError};
use crate::{atomic, rails};

/// What was found again.
#[derive(Debug)]
pub struct Recovered {
    pub slot: Slot,
    /// The commit that the branch stands at.
    pub tip: String,
    /// Commits of the run that the branch has.
    pub found: Vec<String>,
    /// Commits of the run that are kept somewhere, but are not part of the branch.
    pub elsewhere: Vec<String>,
    /// Commits of the run that nobody has who could be asked.
    pub missing: Vec<String>,
    /// Remotes that could not be asked for those, each with the reason.
    pub unasked: Vec<String>,
    /// The ref that keeps files of the lost workspace that were not committed.
    pub kept: Option<String>,
    /// Where the remains of the lost workspace are.
    pub remains: Option<std::path::PathBuf>,
}

impl Pool {
    /// Makes a workspace for an open run whose own is gone, and puts its branch at the newest of its commits that is found.
    ///
    /// Nothing if the workspace is whole.
    pub fn recover(&self, run: &Run) -> Result<Option<Recovered>, SlotError> {
        let root = Path::new(&run.root);
        // Git still has a note of a working tree that is gone.
        let kind = match slot::worktree_of(&self.origin, root)? {
            Some(_) => Kind::Worktree,
            None => Kind::Clone,
        };
        let number = self.number_of(root)?;
        match self.reopen(root) {
            Ok(_) => return Ok(None),
            Err(SlotError::Lost { .. }) => {}
            Err(error) => return Err(error),
        }
        let directory = self.directory.join(number.to_string());
        let remains = match directory.symlink_metadata() {
            Ok(_) => {
                let aside = self.dirs.project(&self.id).join(SET_ASIDE);
                let label = format!("lost-{}", machine::now().millis());
                let moved = atomic::set_aside(&directory, &aside, &label);
                Some(moved.map_err(|source| SlotError::File { path: directory.clone(), source })?)
            }
            Err(_) => None,
        };
        let branches = &run.branches;
        let slot = self.make(kind, &branches.merge_target, Some(number))?;
        slot.note_run(run.id.as_str())?;
        let base = run.chunk.first_base.as_deref().or(slot.base()).unwrap_or_default().to_owned();
        let recovery::SearchResult { commits: found, unasked } =
            recovery::find(&slot.between, run.id.as_str(), &branches.branch, &run.commit_hashes)?;
        let tip = recovery::newest(&slot.between, &base, &found)?.unwrap_or(base);
        let on = recovery::parts(&slot.between, &tip, &found)?;
        if !branches.branch.is_empty() {
            slot.between.resume_branch(&branches.branch, &tip)?;
        }
        let old_tree = remains.as_ref().map(|remains| remains.join(TREE)).filter(|tree| tree.is_dir());
        let kept = match old_tree {
            Some(tree) => salvage::snapshot(&tree, &slot.between.slot, run.id.as_str())?,
            None => None,
        };
        slot.keep()?;
        rails::begin(&slot.place)?;
        let elsewhere = found.iter().filter(|commit| !on.contains(commit)).cloned().collect();
        let missing = run.commit_hashes.iter().filter(|commit| !found.contains(commit)).cloned().collect();
        Ok(Some(Recovered { slot, tip, found: on, elsewhere, missing, unasked, kept, remains }))
    }
}
