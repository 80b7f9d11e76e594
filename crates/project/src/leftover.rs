//! What earlier runs of an issue have left for the next one: finished chunks on a branch, and unfinished work.
//!
//! The journal says which chunks were finished, the repository says what is still there. A branch that a person has moved,
//! merged or deleted meanwhile is taken as it is: what the merge target has counts as done, what is on the branch is
//! continued, and what is nowhere is open again.

use adapters::{
    git::{
        self, Location,
        integrate::kept_as,
        resume::{contains, subject_and_parent},
    },
    refs,
};
use forge::ItemId;

use crate::{Error, Stint, Workspace, spelled};

/// What earlier runs have left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// The run that worked on it last.
    pub run: String,
    pub branch: String,
    /// What can be continued; nothing if it is all merged, or gone.
    pub left: Option<Left>,
    /// How many chunks are done, and how many there were to be.
    pub done: usize,
    pub planned: usize,
    /// Criteria whose work the merge target has.
    pub merged: Vec<String>,
    /// Criteria whose work is on the branch.
    pub on_branch: Vec<String>,
    /// Criteria whose work is nowhere any more.
    pub lost: Vec<String>,
}

/// A branch that can be continued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The ref of the person's repository that has it.
    pub name: String,
    /// The commit at which the finished chunks end.
    pub finished: String,
    /// The commit on top of that with unfinished work.
    pub unfinished: Option<String>,
    /// Where the branch is in the person's repository, if it is there.
    pub branch_at: Option<String>,
}

/// Returns the subject of a commit of unfinished work.
pub fn unfinished_subject(issue: &str) -> String {
    format!("chore: unfinished work on #{issue}")
}

impl Workspace {
    /// Looks for what earlier runs of an issue have left. Nothing is changed.
    pub fn left_over(&mut self, issue: ItemId) -> Result<Option<Leftover>, Error> {
        let account = self.account(issue)?;
        let is_over = |stint: &&Stint| stint.in_slot && !stint.is_open;
        let pending: Vec<Stint> = account.pending().iter().filter(is_over).cloned().collect();
        let Some(last) = pending.iter().rev().find(|stint| stint.onto.is_some()) else { return Ok(None) };
        let Some(current) = self.select(Some(&last.run))? else { return Ok(None) };
        let root = self.place.origin().unwrap_or(&self.place.root);
        let Some(origin) = git::locate(root) else { return Ok(None) };
        let target = format!("refs/heads/{}", current.run.branches.merge_target);
        look(&origin, issue, &target, last, &pending).map_err(|error| Error::Git(spelled(&*error)))
    }

    /// Looks for what earlier runs have left, and brings the issue's ticks in line with it.
    pub fn settle_left(&mut self, issue: ItemId) -> Result<Option<Leftover>, Error> {
        let Some(leftover) = self.left_over(issue)? else { return Ok(None) };
        self.tracker().tick(issue, &leftover.merged)?;
        self.tracker().untick(issue, &leftover.lost)?;
        Ok(Some(leftover))
    }
}

type Looked<T> = Result<T, Box<dyn std::error::Error>>;

fn look(
    origin: &Location,
    issue: ItemId,
    target: &str,
    last: &Stint,
    pending: &[Stint],
) -> Looked<Option<Leftover>> {
    let target = refs::one(origin, target)?;
    let left = find(origin, issue, last)?;
    let is_in = |tip: &Option<String>, commit: &Option<String>| -> Looked<bool> {
        match (tip, commit) {
            (Some(tip), Some(commit)) => Ok(contains(origin, tip, commit)?),
            (Some(_) | None, _) => Ok(false),
        }
    };
    let tip = left.as_ref().map(|left| left.finished.clone());
    let (mut merged, mut on_branch, mut lost) = (Vec::new(), Vec::new(), Vec::new());
    let (mut done, mut planned) = (0, 0);
    for stint in pending {
        planned = if stint.planned > 0 { done + stint.planned } else { planned };
        for chunk in &stint.chunks {
            let place = if is_in(&target, &chunk.commit)? {
                &mut merged
            } else if is_in(&tip, &chunk.commit)? {
                &mut on_branch
            } else {
                lost.extend(chunk.acs.iter().cloned());
                continue;
            };
            place.extend(chunk.acs.iter().cloned());
            done += 1;
        }
    }
    // A chunk that was lost may have been done again.
    lost.retain(|criterion| !merged.contains(criterion) && !on_branch.contains(criterion));
    // A branch that is merged has nothing to be continued.
    let finished = left.as_ref().filter(|left| left.unfinished.is_none()).map(|left| left.finished.clone());
    let left = if is_in(&target, &finished)? { None } else { left };
    if left.is_none() && merged.is_empty() && lost.is_empty() {
        return Ok(None);
    }
    let (run, branch) = (last.run.clone(), last.branch.clone());
    let planned = planned.max(done);
    Ok(Some(Leftover { run, branch, left, done, planned, merged, on_branch, lost }))
}

/// Finds the commits that a run has left, under the branch or, where that was not moved on by anybody, under the run's own
/// ref. A branch that was put into the person's repository and is gone was deleted by them.
fn find(origin: &Location, issue: ItemId, last: &Stint) -> Looked<Option<Left>> {
    let branch = format!("refs/heads/{}", last.branch);
    let (here, own) = (refs::one(origin, &branch)?, kept_as(&last.run));
    let delivered = refs::one(origin, &format!("refs/warp/delivered/{}", last.run))?;
    let newest = refs::one(origin, &own)?;
    let found = match (here.clone(), newest) {
        (Some(here), Some(newest)) if delivered.as_ref() == Some(&here) => Some((own, newest)),
        (Some(here), _) => Some((branch, here)),
        (None, Some(newest)) if delivered.is_none() => Some((own, newest)),
        (None, _) => None,
    };
    let Some((name, tip)) = found else { return Ok(None) };
    let (subject, parent) = subject_and_parent(origin, &tip)?;
    let (finished, unfinished) = match parent {
        Some(parent) if subject == unfinished_subject(&issue.to_string()) => (parent, Some(tip)),
        Some(_) | None => (tip, None),
    };
    Ok(Some(Left { name, finished, unfinished, branch_at: here }))
}
