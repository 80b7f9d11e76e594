//! Undoing a run that was merged, by one commit on top of the target.

use adapters::git::{
    integrate::{Rebase, RebaseError, Undo},
    outgoing::{Against, Outgoing},
    sight::Need,
    target::{ForwardError, Forwarded},
};
use engine::{Run, Settings};

use super::{Kind, Pool, Slot, SlotError};
use crate::{
    Dirs, ForgeError, NextError, Place, Shell, Workspace, issue_number,
    next::behind,
    pushing::{Goal, Outlet},
    test_project,
};

/// How often it is tried because the target moves on meanwhile.
const TRIES: usize = 3;

/// A run that was undone.
#[derive(Debug)]
pub struct Reverted {
    pub commit: String,
    pub target: String,
    /// What was said of the tests.
    pub tests: String,
    /// Why the person's own target is not there yet, and what brings it there: a remote's is.
    pub behind: Option<String>,
    /// What was pushed, or why nothing was, a line each.
    pub said: Vec<String>,
    /// The issue that is open again.
    pub reopened: Option<u64>,
}

/// Why a run was not undone. The target is where it was.
#[derive(Debug, thiserror::Error)]
pub enum RevertError {
    #[error("run `{run}` is not over yet")]
    Open { run: String },
    #[error("nothing of run `{run}` is part of `{target}`")]
    NotMerged { run: String, target: String },
    #[error("`{target}` has nothing of run `{run}` any more: it was undone before")]
    Undone { run: String, target: String },
    #[error("later changes of `{target}` stand in the way, in {}", .files.join(", "))]
    Conflicts { target: String, files: Vec<String> },
    #[error("with run `{run}` undone, the tests fail: {words}")]
    TestsFail { run: String, words: String },
    #[error(transparent)]
    Slot(#[from] SlotError),
    #[error(transparent)]
    Undo(#[from] RebaseError),
    #[error(transparent)]
    Forward(#[from] ForwardError),
    #[error(transparent)]
    Forge(#[from] ForgeError),
    #[error(transparent)]
    Next(#[from] NextError),
    #[error(transparent)]
    Failed(#[from] crate::Error),
}

impl Workspace {
    /// Undoes a merged run: the commit is made in a slot, tested there, and goes to the target as a merge does; then the
    /// run's issue is open again. `settings` say what is pushed; `shell` says how its tests are run in the workspace that is
    /// taken.
    pub fn revert(
        &mut self,
        pool: &Pool,
        run: &Run,
        settings: &Settings,
        shell: impl FnOnce(&Place, &Dirs, &Run) -> Result<Shell, crate::Error>,
    ) -> Result<Reverted, RevertError> {
        if run.is_open() {
            return Err(RevertError::Open { run: run.id.to_string() });
        }
        let slot = pool.take(Kind::Clone, &run.branches.merge_target)?;
        let shell = shell(&slot.place, &self.dirs, run);
        let outlet = Outlet::of(settings, Goal::Merge, slot.remote());
        let mut keep_own = |outgoing: &Outgoing| self.keep_own(outgoing);
        let done = shell
            .map_err(RevertError::from)
            .and_then(|shell| revert_in(&slot, run, &shell, &outlet, &mut keep_own));
        let given_back = slot.give_back();
        let reopened = match &done {
            // Whoever undid it may have been cut short before the issue knew.
            Ok(_) | Err(RevertError::Undone { .. }) => self.reopen_undone(run)?,
            Err(_) => None,
        };
        let done = Reverted { reopened, ..done? };
        given_back?;
        Ok(done)
    }

    /// Opens the issue of a run again whose work is not part of the target any more, once; returns it if it was closed.
    fn reopen_undone(&mut self, run: &Run) -> Result<Option<u64>, RevertError> {
        let Some(number) = run.issue.as_deref().and_then(issue_number) else { return Ok(None) };
        let Some(item) = self.forge().item(number)? else { return Ok(None) };
        let marker = format!("undone:{}", run.id);
        if item.comments.iter().any(|comment| comment.marker.as_ref() == Some(&marker)) {
            return Ok(None);
        }
        let criteria: Vec<String> =
            run.completed_chunks.iter().flat_map(|chunk| &chunk.acs).cloned().collect();
        self.forge().untick(number, &criteria)?;
        // Whoever has undone it says whether it is to be tried again.
        self.forge().label(number, &[], &["approved"])?;
        self.forge().reopen(number)?;
        // Last, because it says that all of it was done.
        let words =
            format!("Run {} is undone: `{}` has nothing of it any more.", run.id, run.branches.merge_target);
        self.comment(number, &words, &marker)?;
        Ok(Some(number).filter(|_| !item.is_open()))
    }
}

fn revert_in(
    slot: &Slot,
    run: &Run,
    shell: &Shell,
    outlet: &Outlet,
    keep_own: &mut dyn FnMut(&Outgoing) -> Result<Option<String>, NextError>,
) -> Result<Reverted, RevertError> {
    let (id, target) = (run.id.to_string(), run.branches.merge_target.clone());
    let need = if outlet.target_remote().is_some() { Need::Remote } else { Need::Local };
    let newest = || slot.bring_seen(&target, outlet.remote.as_deref(), need).map_err(SlotError::from);
    let mut onto = newest()?.commit;
    let Some((base, tip)) = merged(slot, run, &onto)? else {
        return Err(RevertError::NotMerged { run: id, target });
    };
    let mut commit = match slot.between.undo(&base, &tip, &onto, &message(run, &base, &tip))? {
        Undo::Made(commit) => commit,
        Undo::Nothing => return Err(RevertError::Undone { run: id, target }),
        Undo::Conflicts { files } => return Err(RevertError::Conflicts { target, files }),
    };
    let branch = slot.begin_branch(&format!("revert/{id}"), &commit)?;
    let mut tries = 1;
    loop {
        let tests = test_project(shell, &slot.place, run)
            .map_err(|words| RevertError::TestsFail { run: id.clone(), words })?;
        slot.between.bring(&[&commit]).map_err(SlotError::from)?;
        let (mut remote, mut said) = (outlet.target_remote(), None);
        if let Some(name) = remote {
            let outgoing = slot.between.outgoing(name, &target, (&onto, &commit), Against::Branch);
            let outgoing = outgoing.map_err(SlotError::from)?;
            said = Some(format!("pushed: {outgoing}"));
            if let Some(kept) = keep_own(&outgoing)? {
                (remote, said) = (None, Some(kept));
            }
        }
        slot.between.note_undo(&id, &onto, &commit).map_err(SlotError::from)?;
        let behind = match slot.fast_forward(remote, &target, &onto, &commit) {
            Ok(Forwarded::Everywhere) => None,
            Ok(Forwarded::AtRemote(error)) => Some(behind(remote.unwrap_or_default(), &target, &error)),
            Err(error) if error.is_overtaken() && tries < TRIES => {
                tries += 1;
                onto = newest()?.commit;
                commit = match slot.rebase(&branch, &onto)? {
                    Rebase::Nothing => commit,
                    Rebase::Done { to, .. } => to,
                    Rebase::Conflicts { files } => return Err(RevertError::Conflicts { target, files }),
                };
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let said = said.or_else(|| outlet.kept(&target)).into_iter().collect();
        return Ok(Reverted { commit, target, tests, behind, said, reopened: None });
    }
}

/// Returns from where to where a run has moved its target: as was noted then, or as far as its commits tell.
fn merged(slot: &Slot, run: &Run, target: &str) -> Result<Option<(String, String)>, SlotError> {
    let noted = slot.between.merge_of(run.id.as_str())?;
    let told = || {
        let tip = run.tested_commit.as_ref().or(run.commit_hashes.last())?;
        Some((run.chunk.first_base.clone()?, tip.clone()))
    };
    let Some((base, tip)) = noted.or_else(told) else { return Ok(None) };
    let is_part = slot.between.is_part(&base, &tip)? && slot.between.is_part(&tip, target)?;
    Ok(is_part.then_some((base, tip)))
}

fn message(run: &Run, base: &str, tip: &str) -> String {
    let issue = run.issue.as_ref().map(|issue| format!(" for issue {issue}")).unwrap_or_default();
    format!("revert: undo run {}{issue}\n\nUndoes the commits after {base} up to {tip}.", run.id)
}
