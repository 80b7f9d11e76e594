//! Undoing merged work, by one commit on top of the target: of a run, or of an issue whatever runs did it.
//!
//! The commit is made and tested in a slot. Whether it goes to the target or not, nothing else is left behind: what is in the
//! slot then can be made again.

use std::collections::BTreeMap;

use adapters::git::{
    integrate::{Rebase, RebaseError, Undo},
    outgoing::{HistoryScope, OutgoingCommits},
    sight::Need,
    target::{ForwardError, Forwarded},
};
use engine::{Run, Settings};
use forge::{APPROVED, ForgeError, ItemId};
use journal::Durable;
use project::{
    Account, Dirs, Error, Place, Shell, Stint, StintOutcome,
    pushing::{Goal, Outlet},
    slots::{Kind, Pool, Slot, SlotError},
};

use crate::{Context, JobError, land::behind};

/// How often it is tried because the target moves on meanwhile.
const TRIES: usize = 3;

/// What is to be undone.
#[derive(Clone, Debug)]
pub struct ToUndo {
    /// What a person has named: a run or an issue, in words.
    pub about: String,
    /// The newest run of it, whose settings and tests count.
    run: Run,
    stints: Vec<Stint>,
    /// The stints that are concerned because what continued them is undone.
    resumed: Vec<Stint>,
}

/// Work that was undone.
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
    /// The issues whose work was taken back.
    pub issues: Vec<ItemId>,
    /// Those of them that were closed, and are open again.
    pub reopened: Vec<ItemId>,
}

/// Why nothing was undone. The target is where it was.
#[derive(Debug, thiserror::Error)]
pub enum RevertError {
    #[error("there is no run or issue `{selector}` that could be undone")]
    Unknown { selector: String },
    #[error("{about} is still being worked on by run `{run}`")]
    Open { about: String, run: String },
    #[error("nothing of {about} is part of `{target}`")]
    NotMerged { about: String, target: String },
    #[error("{about} was already reverted in `{target}`")]
    Undone { about: String, target: String },
    #[error("reverting it conflicts with later changes in {}", .files.join(", "))]
    Conflicts { target: String, files: Vec<String> },
    #[error("with {about} undone, the tests fail: {words}")]
    TestsFail { about: String, words: String },
    #[error(transparent)]
    Slot(#[from] SlotError),
    #[error(transparent)]
    Undo(#[from] RebaseError),
    #[error(transparent)]
    Forward(#[from] ForwardError),
    #[error(transparent)]
    Forge(#[from] ForgeError),
    #[error(transparent)]
    Next(#[from] JobError),
    #[error(transparent)]
    Failed(#[from] Error),
}

impl Context<'_> {
    /// Finds out what a person means by the id of a run or the number of an issue.
    pub fn to_undo(&mut self, selector: &str) -> Result<ToUndo, RevertError> {
        let unknown = || RevertError::Unknown { selector: selector.to_owned() };
        let named = self.select(Some(selector))?;
        if let Some(current) = named.filter(|current| current.run.id.as_str() == selector) {
            let about = format!("run `{}`", current.run.id);
            if current.run.is_open() {
                return Err(RevertError::Open { about, run: current.run.id.to_string() });
            }
            let stints = self.stints(&current)?;
            let mut resumed = Vec::new();
            for stint in stints.iter().filter(|stint| stint.resumes) {
                let Some(issue) = stint.issue.as_deref().and_then(ItemId::typed) else { continue };
                resumed.extend(before(&self.account(issue)?, stint));
            }
            return Ok(ToUndo { about, run: Run::clone(&current.run), stints, resumed });
        }
        let issue = ItemId::typed(selector).ok_or_else(unknown)?;
        let about = format!("issue {issue}");
        let Account { stints } = self.account(issue)?;
        if let Some(open) = stints.iter().find(|stint| stint.is_open) {
            return Err(RevertError::Open { about, run: open.run.clone() });
        }
        let last = stints.last().map(|stint| stint.run.clone()).ok_or_else(unknown)?;
        let current = self.select(Some(&last))?.ok_or_else(unknown)?;
        Ok(ToUndo { about, run: Run::clone(&current.run), stints, resumed: Vec::new() })
    }

    /// Undoes merged work: the commit is made in a slot, tested there, and goes to the target as a merge does; then the
    /// issues are open again whose work it was. `settings` say what is pushed; `shell` says how the tests are run in the
    /// workspace that is taken.
    pub fn revert(
        &mut self,
        pool: &Pool,
        undo: &ToUndo,
        settings: &Settings,
        shell: impl FnOnce(&Place, &Dirs, &Run) -> Result<Shell, Error>,
    ) -> Result<Reverted, RevertError> {
        let target = &undo.run.branches.merge_target;
        let slot = pool.take(Kind::Clone, target)?;
        let shell = shell(&slot.place, &self.dirs, &undo.run);
        let outlet = Outlet::of(settings, Goal::Merge, slot.remote());
        let durable = self.sync_journal()?;
        let mut keep_own = |outgoing: &OutgoingCommits| self.keep_own(outgoing);
        let done = shell
            .map_err(RevertError::from)
            .and_then(|shell| revert_in(&slot, undo, &shell, &outlet, &mut keep_own, &durable));
        let discarded = slot.discard(target);
        let (issues, reopened) = match &done {
            // Whoever undid it may have been cut short before the issue knew.
            Ok(_) | Err(RevertError::Undone { .. }) => self.reopen_undone(undo)?,
            Err(_) => Default::default(),
        };
        let done = Reverted { issues, reopened, ..done? };
        discarded?;
        Ok(done)
    }

    /// Opens the issues again whose work is not part of the target any more, once; returns all of them, and those that were
    /// closed.
    fn reopen_undone(&mut self, undo: &ToUndo) -> Result<(Vec<ItemId>, Vec<ItemId>), RevertError> {
        let mut by_issue: BTreeMap<ItemId, Vec<&Stint>> = BTreeMap::new();
        for stint in concerned(undo) {
            if let Some(issue) = stint.issue.as_deref().and_then(ItemId::typed) {
                by_issue.entry(issue).or_default().push(stint);
            }
        }
        let mut reopened = Vec::new();
        let issues = by_issue.keys().copied().collect();
        for (issue, stints) in by_issue {
            if self.reopen_issue(issue, &stints, &undo.run.branches.merge_target)? {
                reopened.push(issue);
            }
        }
        Ok((issues, reopened))
    }

    /// Opens one issue again; tells whether it was closed.
    fn reopen_issue(&mut self, number: ItemId, stints: &[&Stint], target: &str) -> Result<bool, RevertError> {
        let Some(item) = self.tracker().item(number)? else { return Ok(false) };
        let marker = |stint: &Stint| format!("undone:{}", stint.run);
        let news: Vec<&&Stint> = stints.iter().filter(|stint| !item.has_comment(&marker(stint))).collect();
        if news.is_empty() {
            return Ok(false);
        }
        let criteria: Vec<String> = news.iter().flat_map(|stint| stint.criteria()).cloned().collect();
        self.tracker().untick(number, &criteria)?;
        // Whoever has undone it says whether it is to be tried again.
        self.tracker().ensure_labels(number, &[], &[APPROVED])?;
        self.tracker().reopen(number)?;
        // Last, because it says that all of it was done.
        for stint in news {
            let words = format!("Run {} is reverted: its changes are no longer in `{target}`.", stint.run);
            self.comment(number, &words, &marker(stint))?;
        }
        Ok(!item.is_open())
    }
}

/// Returns the stints whose work is undone: the settled ones with what they have continued. Where none is, a person has
/// merged with git, which nobody has recorded.
fn concerned(undo: &ToUndo) -> impl Iterator<Item = &Stint> {
    let settled = undo.stints.iter().rposition(|stint| stint.outcome != StintOutcome::Pending);
    let count = settled.map_or(undo.stints.len(), |last| last + 1);
    undo.stints[..count].iter().chain(&undo.resumed)
}

/// Returns the stints that one has continued.
fn before(account: &Account, stint: &Stint) -> Vec<Stint> {
    let place =
        account.stints.iter().position(|known| known.run == stint.run && known.events == stint.events);
    let earlier = account.stints[..place.unwrap_or(0)].iter().rev();
    earlier.take_while(|known| known.outcome == StintOutcome::Pending && !known.is_undone).cloned().collect()
}

fn revert_in(
    slot: &Slot,
    undo: &ToUndo,
    shell: &Shell,
    outlet: &Outlet,
    keep_own: &mut dyn FnMut(&OutgoingCommits) -> Result<Option<String>, JobError>,
    durable: &Durable,
) -> Result<Reverted, RevertError> {
    let run = &undo.run;
    let target = run.branches.merge_target.clone();
    let about = || undo.about.clone();
    let need = if outlet.target_remote().is_some() { Need::Remote } else { Need::Local };
    let newest = || slot.bring_seen(&target, outlet.remote.as_deref(), need).map_err(SlotError::from);
    let mut onto = newest()?.commit;
    let ranges = merged(slot, undo, &onto)?;
    if ranges.is_empty() {
        return Err(RevertError::NotMerged { about: about(), target });
    }
    let mut commit = match slot.between().undo(&ranges, &onto, &message(undo, &ranges))? {
        Undo::Made(commit) => commit,
        Undo::Nothing => return Err(RevertError::Undone { about: about(), target }),
        Undo::Conflicts { files } => return Err(RevertError::Conflicts { target, files }),
    };
    let branch = slot.begin_branch(&format!("revert/{}", run.id), &commit)?;
    let mut tries = 1;
    loop {
        let tests = suite::test_project(shell, &slot.place, run)
            .map_err(|words| RevertError::TestsFail { about: about(), words })?;
        slot.between().bring(&[&commit]).map_err(SlotError::from)?;
        let (mut remote, mut said) = (outlet.target_remote(), None);
        if let Some(name) = remote {
            let outgoing = slot.between().outgoing(name, &target, (&onto, &commit), HistoryScope::Branch);
            let outgoing = outgoing.map_err(SlotError::from)?;
            said = Some(format!("pushed: {outgoing}"));
            if let Some(kept) = keep_own(&outgoing)? {
                (remote, said) = (None, Some(kept));
            }
        }
        slot.between().note_undo(run.id.as_str(), &onto, &commit).map_err(SlotError::from)?;
        let behind = match slot.fast_forward(remote, &target, (&onto, &commit), durable) {
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
        return Ok(Reverted {
            commit,
            target,
            tests,
            behind,
            said,
            issues: Vec::new(),
            reopened: Vec::new(),
        });
    }
}

/// Returns the ranges of commits that are part of the target, the newest first.
fn merged(slot: &Slot, undo: &ToUndo, target: &str) -> Result<Vec<(String, String)>, SlotError> {
    let mut found = Vec::new();
    for (base, tip) in (Account { stints: undo.stints.clone() }).ranges().into_iter().rev() {
        if base != tip && slot.between().is_part(&base, &tip)? && slot.between().is_part(&tip, target)? {
            found.push((base, tip));
        }
    }
    Ok(found)
}

fn message(undo: &ToUndo, ranges: &[(String, String)]) -> String {
    let about = undo.about.replace('`', "");
    let issue = match &undo.run.issue {
        Some(issue) if about.starts_with("run ") => format!(" for issue {issue}"),
        Some(_) | None => String::new(),
    };
    let ranges: String =
        ranges.iter().map(|(base, tip)| format!("Undoes the commits after {base} up to {tip}.\n")).collect();
    format!("revert: undo {about}{issue}\n\n{ranges}")
}
