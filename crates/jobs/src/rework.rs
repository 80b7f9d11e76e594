//! Another round of a pull request: requested changes, or bringing it onto its target.
//!
//! A pull request whose reviewer wants changes makes its issue ready again; so does one that a person wants to have brought
//! onto its target, which is a comment of theirs. The run works on the pull request's own branch and moves it on. It never
//! merges by itself, whatever the level: the reviewer has not seen the new commits.

use std::sync::Arc;

use adapters::git::{outgoing::HistoryScope, resume::MoveError};
use engine::Run;
use forge::{Item, ItemId, Query};
use project::{pushing::Outlet, slots::Slot, spelled};
use serde::Deserialize as _;
use serde_json::{Map, Value};

use workspace::text;

use crate::{Context, JobError};

impl Context<'_> {
    /// Returns the open pull request by which an earlier run has offered the branch of a run's issue.
    pub(crate) fn offered(&mut self, run: &Run) -> Result<Option<Arc<Item>>, JobError> {
        let branch = self.git().branch();
        let Some(issue) = run.issue.as_deref().and_then(ItemId::typed) else { return Ok(None) };
        let own = self.pull_of(run)?.map(|item| item.id);
        let is_it = |item: &&Arc<Item>| {
            let is_same = |pull: &forge::Pull| pull.issue == Some(issue) && pull.branch == branch;
            Some(item.id) != own && item.pull.as_ref().is_some_and(is_same)
        };
        Ok(self.forge().pulls(Query::Open)?.iter().find(is_it).cloned())
    }

    /// Pushes the branch of a pull request that has moved on, if that may leave; returns what is said of it. One that was
    /// rebased goes over what was pushed of it before, if the remote still has just that.
    pub(crate) fn push_moved(
        &mut self,
        other: Option<&Slot>,
        outlet: &Outlet,
        target: &str,
        (commit, branch): (&str, &str),
    ) -> Result<Option<String>, JobError> {
        let Some(remote) = outlet.branch_remote() else { return Ok(outlet.kept(branch)) };
        let Some(slot) = other.or(self.slot.as_ref()) else { return Ok(None) };
        let world = |error: &dyn std::error::Error| JobError::World(spelled(error));
        let base = slot.bring_target(target, None).map_err(|error| world(&error))?;
        let outgoing = slot.between().outgoing(remote, branch, (&base, commit), HistoryScope::Remote);
        let outgoing = outgoing.map_err(|error| world(&error))?;
        if let Some(kept) = self.keep_own(&outgoing)? {
            return Ok(Some(kept));
        }
        let Some(slot) = other.or(self.slot.as_ref()) else { return Ok(None) };
        let between = slot.between();
        let not_pushed = |error: &MoveError| {
            let why = spelled(error);
            format!("not pushed: {why}; `git push --force-with-lease {remote} {branch}` pushes it")
        };
        let before = match between.pushed_before(remote, branch) {
            Ok(Some(before)) => before,
            Ok(None) => return self.push_or_keep(other, outlet, target, (commit, branch)),
            Err(error) => return Ok(Some(not_pushed(&error))),
        };
        // Whoever has lost the claim pushes nothing, and who loses it from here on is refused by the remote.
        self.sync_journal()?;
        match between.push_over(remote, commit, branch, &before) {
            Ok(()) => Ok(Some(format!("pushed: {outgoing}"))),
            Err(error) => Ok(Some(not_pushed(&error))),
        }
    }
}

/// Returns the title of a commit that makes requested changes.
pub(crate) fn commit_title(selected: &Map<String, Value>) -> Option<String> {
    let pull = ItemId::deserialize(selected.get("pull")?).ok()?;
    Some(format!("changes requested in #{pull}"))
}

/// Returns the message of commits that were only brought onto another target: what they said still holds.
pub(crate) fn kept_message(selected: &Map<String, Value>) -> Option<String> {
    let list = |field: &str| -> Vec<&str> {
        let list = selected.get(field).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).collect()
    };
    if !list("comments").is_empty() {
        return None;
    }
    let messages: Vec<&str> = list("rest").into_iter().map(str::trim_end).collect();
    Some(messages.join("\n\n")).filter(|message| !message.is_empty())
}

/// Names a file that still has the markers of a conflict in it.
pub(crate) fn has_markers(root: &std::path::Path, files: &[String]) -> Option<String> {
    let is_left = |file: &&String| {
        let text = text::read(&root.join(file), LARGEST).unwrap_or_default();
        text.lines().any(|line| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> "))
    };
    files.iter().find(is_left).cloned()
}

/// The largest file that is looked through for markers, in bytes.
const LARGEST: u64 = 8 * 1024 * 1024;
