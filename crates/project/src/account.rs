//! The account of an issue: which runs worked on it, what they committed, and what became of that.
//!
//! A run may work on several issues, one after the other, and an issue may take several runs: it was stopped and resumed, its
//! pull request was reworked, a part of it was merged earlier. A [`Stint`] is what one run did for one issue, from the
//! `work_selected` that began it to the next. Stints are read from the journal alone; only where the target stood before and
//! after a merge is looked up in git, where warp notes it before the target moves.
//!
//! Whoever shows, diffs, reverts or resumes the work of an issue asks here.

use std::ops::Range;

use adapters::{
    git::{self, Location, integrate::merged_as},
    refs,
};
use engine::{
    Change, CompletedChunk, Record, Workflow,
    workflow::{JobOutcome, Meaning},
};
use forge::{Item, ItemId};
use serde::Deserialize as _;
use serde_json::Value;

use crate::{Current, Error, Workspace};

/// What one run did for one issue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stint {
    pub run: String,
    pub issue: Option<String>,
    /// The branch, under the name that it has in the person's repository if it was put there.
    pub branch: String,
    /// The commit of the merge target that the branch is based on, where that was recorded.
    pub onto: Option<String>,
    /// The commit on which the first chunk began.
    pub first_base: Option<String>,
    /// The commits that were made, oldest first, as they were before a rebase.
    pub commits: Vec<String>,
    /// The commit that passed the final test.
    pub tested: Option<String>,
    /// Chunks that are done.
    pub chunks: Vec<CompletedChunk>,
    /// How many chunks were planned.
    pub planned: usize,
    /// Whether it continued what an earlier run had left.
    pub resumes: bool,
    pub outcome: StintOutcome,
    /// From where to where the merge target was moved by it.
    pub merge: Option<(String, String)>,
    /// Whether it was taken back later.
    pub is_undone: bool,
    /// The events of the run that belong to it.
    pub events: Range<u64>,
    /// Whether the run was made a workspace of its own.
    pub in_slot: bool,
    /// Whether the run may still add to it.
    pub is_open: bool,
}

/// What became of a stint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StintOutcome {
    /// Neither merged nor handed over: under way, stopped, or given up.
    #[default]
    Pending,
    /// Merged as this commit, if it is known.
    Merged(Option<String>),
    /// Handed over as this pull request.
    HandedOver(ItemId),
}

/// Everything that was done for one issue, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    pub stints: Vec<Stint>,
}

impl Account {
    /// Returns the stints whose work was neither merged nor handed over nor taken back since: what a next run may resume.
    pub fn pending(&self) -> &[Stint] {
        let settled = |stint: &Stint| stint.outcome != StintOutcome::Pending || stint.is_undone;
        let first = self.stints.iter().rposition(settled).map_or(0, |last| last + 1);
        &self.stints[first..]
    }

    /// Returns the chunks that are done and wait, those of resumed runs included.
    pub fn pending_chunks(&self) -> Vec<CompletedChunk> {
        self.pending().iter().flat_map(|stint| &stint.chunks).cloned().collect()
    }

    /// Returns the stints of a pull request: those that were handed over as it, and what they were resumed from.
    pub fn of_pull(&self, pull: ItemId) -> Vec<&Stint> {
        let is_of = |stint: &Stint| stint.outcome == StintOutcome::HandedOver(pull);
        let Some(first) = self.stints.iter().position(is_of) else { return Vec::new() };
        let before = self.stints[..first].iter().rev();
        let resumed = if self.stints[first].resumes {
            before.take_while(|stint| stint.outcome == StintOutcome::Pending && !stint.is_undone).count()
        } else {
            0
        };
        let mut stints: Vec<&Stint> = self.stints[first - resumed..first].iter().collect();
        stints.extend(self.stints[first..].iter().filter(|stint| is_of(stint)));
        stints
    }

    /// Returns what was changed, as ranges of commits in order. What was taken back is left out, unless nothing else is left.
    pub fn ranges(&self) -> Vec<(String, String)> {
        let standing = ranges(self.stints.iter().filter(|stint| !stint.is_undone));
        if standing.is_empty() { ranges(self.stints.iter()) } else { standing }
    }
}

impl Stint {
    /// Returns the criteria that it has met.
    pub fn criteria(&self) -> impl Iterator<Item = &String> {
        self.chunks.iter().flat_map(|chunk| &chunk.acs)
    }

    /// Returns from where to where it changed something.
    pub fn range(&self) -> Option<(String, String)> {
        let made = || {
            let tip = self.tested.as_ref().or(self.commits.last())?;
            Some((self.onto.as_ref().or(self.first_base.as_ref())?.clone(), tip.clone()))
        };
        self.merge.clone().or_else(made)
    }
}

/// Returns the ranges of stints. One that was resumed is part of the one that continued it, and the rounds of a pull request
/// are one range.
fn ranges<'a>(stints: impl Iterator<Item = &'a Stint>) -> Vec<(String, String)> {
    let mut found: Vec<(&Stint, (String, String))> = Vec::new();
    for stint in stints {
        let Some((base, tip)) = stint.range() else { continue };
        let continues = |before: &Stint| match (&before.outcome, &stint.outcome) {
            (StintOutcome::HandedOver(before), StintOutcome::HandedOver(pull)) => before == pull,
            (StintOutcome::Pending, _) => stint.resumes,
            (StintOutcome::Merged(_) | StintOutcome::HandedOver(_), _) => false,
        };
        match found.last_mut() {
            // The merge of a pull request, noted with its first round, has all of them.
            Some((last, _)) if continues(last) && last.merge.is_some() => {}
            Some((last, (_, end))) if continues(last) && stint.onto.is_none() => *end = tip,
            Some(last) if continues(last.0) => *last = (stint, (base, tip)),
            Some(_) | None => found.push((stint, (base, tip))),
        }
    }
    found.dedup_by(|later, before| later.1 == before.1);
    found.into_iter().map(|(_, range)| range).collect()
}

impl Workspace {
    /// Returns the account of an issue.
    pub fn account(&mut self, issue: ItemId) -> Result<Account, Error> {
        let item = self.tracker().item(issue)?;
        let mut stints = Vec::new();
        for current in self.runs_about(issue, item.as_deref())? {
            let of_issue = |stint: &Stint| stint.issue.as_deref().and_then(ItemId::typed) == Some(issue);
            stints.extend(self.stints(&current)?.into_iter().filter(of_issue));
        }
        Ok(Account { stints })
    }

    /// Returns what a run did, by issue, oldest first.
    pub fn stints(&mut self, current: &Current) -> Result<Vec<Stint>, Error> {
        let mut stints = read(&self.records(current)?, current);
        let origin = git::locate(self.place.origin().unwrap_or(&self.place.root));
        let is_alone = stints.len() == 1;
        for stint in &mut stints {
            let issue = stint.issue.as_deref().and_then(ItemId::typed);
            let item = issue.map(|issue| self.tracker().item(issue)).transpose()?.flatten();
            let marker = format!("undone:{}", stint.run);
            stint.is_undone = item.is_some_and(|item| item.has_comment(&marker));
            if let Some(origin) = &origin {
                stint.merge = merge_of(origin, stint, is_alone)?;
            }
        }
        Ok(stints)
    }

    /// Returns the runs that have worked on an issue, oldest first: those that turned to it last, and those that have left a
    /// word in it before they turned to another.
    fn runs_about(&mut self, issue: ItemId, item: Option<&Item>) -> Result<Vec<Current>, Error> {
        let mut runs = self.runs.about_issue(&issue.to_string())?;
        let markers = item.iter().flat_map(|item| &item.comments);
        for run in markers.filter_map(|comment| run_of(comment.marker.as_deref()?)) {
            if runs.iter().any(|known| known.run.id.as_str() == run) {
                continue;
            }
            let named = self.select(Some(run))?;
            runs.extend(named.filter(|current| current.run.id.as_str() == run));
        }
        runs.sort_by_key(|current| (current.run.started_at, current.run.id.clone()));
        Ok(runs)
    }
}

/// Returns the run that a comment of warp's is about.
fn run_of(marker: &str) -> Option<&str> {
    let (kind, rest) = marker.split_once(':')?;
    ["merged", "handed-over", "undone"].contains(&kind).then(|| rest.split(':').next().unwrap_or(rest))
}

/// Looks up from where to where a stint has moved its target. Runs of earlier versions have noted it once for the whole run,
/// which tells nothing if that worked on several issues.
fn merge_of(origin: &Location, stint: &Stint, is_alone: bool) -> Result<Option<(String, String)>, Error> {
    let one = |name: &str| refs::one(origin, name);
    let noted = |key: &str| -> Result<Option<(String, String)>, refs::ReadError> {
        Ok(one(&merged_as(key, "from"))?.zip(one(&merged_as(key, "to"))?))
    };
    let look = || match (noted(&stint.merge_key())?, is_alone) {
        (None, true) => noted(&stint.run),
        (found, _) => Ok(found),
    };
    look().map_err(|error: refs::ReadError| Error::Git(error.to_string()))
}

impl Stint {
    fn merge_key(&self) -> String {
        merge_key(&self.run, self.issue.as_deref())
    }
}

/// Returns the name under which the merge of a run's work for an issue is noted.
pub fn merge_key(run: &str, issue: Option<&str>) -> String {
    match issue.and_then(ItemId::typed) {
        Some(issue) => format!("{run}/{issue}"),
        None => run.to_owned(),
    }
}

/// Reads the stints of a run from its records.
fn read(records: &[Record], current: &Current) -> Vec<Stint> {
    let run = &*current.run;
    let new = |from: u64| Stint {
        run: run.id.to_string(),
        in_slot: run.owns_workspace,
        events: from..from,
        ..Stint::default()
    };
    let mut stints: Vec<Stint> = vec![new(0)];
    let (mut is_selected, mut chunk) = (false, Chunk::default());
    for (seq, record) in records.iter().enumerate() {
        let seq = seq as u64;
        let outcome = outcome(&current.workflow, record);
        if outcome == Some(JobOutcome::WorkSelected) {
            if is_selected {
                chunk.finish(stints.last_mut());
                stints.push(new(seq));
            }
            is_selected = true;
        }
        let stint = stints.last_mut().expect("there is a first one");
        stint.events.end = seq + 1;
        for change in &record.changes {
            apply(stint, &mut chunk, change, record);
        }
        take_data(stint, outcome, record);
    }
    chunk.finish(stints.last_mut());
    if let Some(last) = stints.last_mut() {
        last.is_open = run.is_open();
    }
    stints
}

/// The chunk that is worked on.
#[derive(Default)]
struct Chunk {
    all: Vec<Vec<String>>,
    index: u64,
    commits: Vec<String>,
    /// What was committed and not reported yet.
    done: Option<CompletedChunk>,
}

impl Chunk {
    /// Counts a chunk as done that was committed, also if the run was cut short before its report.
    fn finish(&mut self, stint: Option<&mut Stint>) {
        if let (Some(done), Some(stint)) = (self.done.take(), stint) {
            stint.chunks.push(done);
        }
        *self = Self::default();
    }

    fn criteria(&self) -> Vec<String> {
        let place = usize::try_from(self.index).unwrap_or(usize::MAX).wrapping_sub(1);
        self.all.get(place).cloned().unwrap_or_default()
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "most changes are not about what was done for an issue")]
fn apply(stint: &mut Stint, chunk: &mut Chunk, change: &Change, record: &Record) {
    match change {
        Change::Began { run, .. } => {
            stint.issue.clone_from(&run.issue);
            stint.branch.clone_from(&run.branches.branch);
        }
        Change::IssueSelected { issue, branch } => {
            stint.issue = issue.clone().or_else(|| stint.issue.take());
            stint.branch = branch.clone().unwrap_or_else(|| std::mem::take(&mut stint.branch));
        }
        Change::ChunksDefined { acs, .. } | Change::ChunksCorrected { acs } => {
            stint.planned = acs.len();
            chunk.all.clone_from(acs);
        }
        Change::ChunkTaken { index, base, .. } => {
            stint.first_base = stint.first_base.take().or_else(|| base.clone());
            chunk.commits.clear();
            (chunk.index, chunk.done) = (*index, None);
        }
        Change::Committed { hash: Some(hash) } => {
            chunk.commits.push(hash.clone());
            stint.commits.push(hash.clone());
            let (acs, commit) = (chunk.criteria(), Some(hash.clone()));
            chunk.done = Some(CompletedChunk { index: chunk.index, acs, commit, at: record.at });
        }
        Change::CommitsCorrected { hashes, .. } => {
            stint.commits.retain(|hash| !chunk.commits.contains(hash) && !hashes.contains(hash));
            stint.commits.extend(hashes.iter().cloned());
            chunk.commits.clone_from(hashes);
        }
        Change::ChunkCompleted { chunk: completed } => {
            stint.chunks.push(completed.clone());
            chunk.done = None;
        }
        Change::FinallyTested { commit } => stint.tested.clone_from(commit),
        _ => {}
    }
}

/// Returns what came of the job of the phase that an event has left.
fn outcome(workflow: &Workflow, record: &Record) -> Option<JobOutcome> {
    match workflow.meaning(record.from.as_ref()?, record.event.as_str())? {
        Meaning::Outcome(outcome) => Some(outcome),
        Meaning::Plan | Meaning::Work => None,
    }
}

/// Takes what warp has put down with an event.
fn take_data(stint: &mut Stint, outcome: Option<JobOutcome>, record: &Record) {
    let text = |field: &str| record.data.get(field).and_then(Value::as_str).map(str::to_owned);
    match outcome {
        Some(JobOutcome::WorkSelected) => {
            stint.onto = text("onto");
            stint.resumes = record.data.contains_key("resumes");
        }
        Some(JobOutcome::Merged) => {
            stint.outcome = match record.data.get("pull").and_then(|pull| ItemId::deserialize(pull).ok()) {
                Some(pull) => StintOutcome::HandedOver(pull),
                None => StintOutcome::Merged(text("commit").or_else(|| stint.tested.clone())),
            };
            stint.branch = text("handed_over").unwrap_or_else(|| std::mem::take(&mut stint.branch));
        }
        Some(JobOutcome::AbortResolved) => {
            stint.branch = text("branch").unwrap_or_else(|| std::mem::take(&mut stint.branch));
        }
        Some(_) | None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stint(onto: &str, tip: &str, outcome: StintOutcome) -> Stint {
        Stint { onto: Some(onto.to_owned()), tested: Some(tip.to_owned()), outcome, ..Stint::default() }
    }

    fn ranges_of(stints: &[Stint]) -> Vec<(String, String)> {
        Account { stints: stints.to_vec() }.ranges()
    }

    fn pair(base: &str, tip: &str) -> (String, String) {
        (base.to_owned(), tip.to_owned())
    }

    #[test]
    fn a_stint_that_was_resumed_is_part_of_the_one_that_continued_it() {
        let stopped = stint("a", "b", StintOutcome::Pending);
        let merged = Stint { resumes: true, ..stint("c", "d", StintOutcome::Merged(None)) };
        assert_eq!(ranges_of(&[stopped.clone(), merged]), [pair("c", "d")]);
        // What was begun anew is not.
        let anew = stint("c", "d", StintOutcome::Merged(None));
        assert_eq!(ranges_of(&[stopped, anew]), [pair("a", "b"), pair("c", "d")]);
    }

    #[test]
    fn the_rounds_of_a_pull_request_are_one_range_and_its_merge_has_all_of_them() {
        let first = stint("a", "b", StintOutcome::HandedOver(ItemId::from(7)));
        let second = stint("a", "c", StintOutcome::HandedOver(ItemId::from(7)));
        assert_eq!(ranges_of(&[first.clone(), second.clone()]), [pair("a", "c")]);
        let first = Stint { merge: Some(pair("m", "n")), ..first };
        assert_eq!(ranges_of(&[first, second]), [pair("m", "n")]);
    }

    #[test]
    fn what_was_taken_back_is_left_out_unless_nothing_else_is_left() {
        let undone = Stint { is_undone: true, ..stint("a", "b", StintOutcome::Merged(None)) };
        assert_eq!(ranges_of(std::slice::from_ref(&undone)), [pair("a", "b")]);
        let again = stint("c", "d", StintOutcome::Merged(None));
        let account = Account { stints: vec![undone, again] };
        assert_eq!(account.ranges(), [pair("c", "d")]);
        assert!(account.pending().is_empty());
    }

    #[test]
    fn only_what_came_after_the_last_merge_is_pending() {
        let stints = vec![
            stint("a", "b", StintOutcome::Pending),
            stint("a", "c", StintOutcome::Merged(None)),
            stint("c", "d", StintOutcome::Pending),
        ];
        let account = Account { stints };
        assert_eq!(account.pending().len(), 1);
        assert_eq!(account.pending()[0].tested.as_deref(), Some("d"));
    }
}
