//! Undoing a run that was merged, by one commit on top of the target.

use std::path::Path;

use adapters::git::{
    integrate::{RebaseError, Undo},
    target::ForwardError,
};
use engine::Run;

use super::{Kind, Pool, Slot, SlotError};

/// A run that was undone.
#[derive(Debug)]
pub struct Reverted {
    pub commit: String,
    pub target: String,
    /// What was said of the tests.
    pub tests: String,
}

/// Why a run was not undone.
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
}

impl Pool {
    /// Undoes a merged run: the commit is made in a slot, tested there, and the target moved forward to it.
    pub fn revert(
        &self,
        run: &Run,
        test: impl FnOnce(&Path) -> Result<String, String>,
    ) -> Result<Reverted, RevertError> {
        if run.is_open() {
            return Err(RevertError::Open { run: run.id.to_string() });
        }
        let target = run.branches.merge_target.clone();
        let slot = self.take(Kind::Clone, &target)?;
        let done = self.revert_in(&slot, run, test);
        let given_back = slot.give_back();
        let done = done?;
        given_back?;
        Ok(done)
    }

    fn revert_in(
        &self,
        slot: &Slot,
        run: &Run,
        test: impl FnOnce(&Path) -> Result<String, String>,
    ) -> Result<Reverted, RevertError> {
        let (id, target) = (run.id.to_string(), run.branches.merge_target.clone());
        let onto = slot.base().unwrap_or_default().to_owned();
        let Some((base, tip)) = merged(slot, run, &onto)? else {
            return Err(RevertError::NotMerged { run: id, target });
        };
        let commit = match slot.between.undo(&base, &tip, &onto, &message(run, &base, &tip))? {
            Undo::Made(commit) => commit,
            Undo::Nothing => return Err(RevertError::Undone { run: id, target }),
            Undo::Conflicts { files } => return Err(RevertError::Conflicts { target, files }),
        };
        slot.begin_branch(&format!("revert/{id}"), &commit)?;
        let tests = test(slot.root()).map_err(|words| RevertError::TestsFail { run: id, words })?;
        slot.fast_forward(None, &target, &onto, &commit)?;
        Ok(Reverted { commit, target, tests })
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
