//! Another round of a pull request: requested changes, or bringing it onto its target.
//!
//! A pull request whose reviewer wants changes makes its issue ready again; so does one that a person wants to have brought
//! onto its target, which is a comment of theirs.

use std::{sync::Arc, time::Duration};

use adapters::clock::after;
use engine::{Actor, Time};
use forge::{Author, ChecksState, Comment, ForgeError, Item, ItemId, Query, REQUESTED, Review};

use crate::{Error, Workspace};

/// How the marker of a comment begins that says that another round is there.
pub const ROUND: &str = "round:";
/// How the marker of a comment begins by which a person wants a pull request brought onto its target.
const UPDATE: &str = "update:";
/// How often an agent fixes what checks say before a person has to look.
const MOST_FIXES: usize = 3;
/// How long it has to be quiet after a comment: whoever reviews writes more than one.
const QUIET: Duration = Duration::from_secs(3 * 60);

/// Another round that a pull request waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rework {
    pub pull: ItemId,
    pub branch: String,
    /// The commit that was offered last.
    pub head: String,
    /// What reviewers want, oldest first.
    pub comments: Vec<String>,
    /// Whether it is brought onto its target.
    pub is_update: bool,
}

impl Workspace {
    /// Returns the next round that the open pull request of an issue waits for; nothing if it waits for a person.
    pub fn rework(&mut self, issue: ItemId) -> Result<Option<Rework>, Error> {
        let pulls = self.forge().pulls(Query::Open)?;
        let is_about = |item: &&Arc<Item>| item.pull.as_ref().is_some_and(|pull| pull.issue == Some(issue));
        match pulls.iter().find(is_about) {
            Some(item) => self.rework_of(item),
            None => Ok(None),
        }
    }

    /// Returns the round that a pull request waits for: what people want, or what its checks say.
    pub(crate) fn rework_of(&self, item: &Item) -> Result<Option<Rework>, Error> {
        let wanted = rework_of(item, self.dirs.clock.now());
        if wanted.is_some() || fixes(item) >= MOST_FIXES {
            return Ok(wanted);
        }
        let (Some(pull), Some(checks)) =
            (item.pull.as_ref().filter(|pull| pull.run.is_some()), self.checks())
        else {
            return Ok(None);
        };
        let ChecksState::Failed(steps) = checks.state(&pull.head)? else { return Ok(None) };
        let mut comments = Vec::new();
        for step in &steps {
            // A log that is not there yet is no reason to wait: the next look has it.
            let log = match checks.log(step) {
                Ok(log) => log,
                Err(ForgeError::Later { .. }) => return Ok(None),
                Err(error) => format!("(its log cannot be read: {error})"),
            };
            comments.push(format!(
                "Check `{}` failed on {}. Fix the code; do not weaken tests. The last it printed:\n{}",
                step.name,
                pull.head,
                log.trim_end()
            ));
        }
        let (branch, head) = (pull.branch.clone(), pull.head.clone());
        Ok(Some(Rework { pull: item.id, branch, head, comments, is_update: false }))
    }

    /// Returns the open issues whose pull requests wait for another round, the oldest pull request first.
    pub(crate) fn reworks(&mut self) -> Result<Vec<(ItemId, Rework)>, Error> {
        let mut found = Vec::new();
        for item in self.forge().pulls(Query::Open)? {
            let issue = item.pull.as_ref().and_then(|pull| pull.issue);
            let (Some(issue), Some(rework)) = (issue, self.rework_of(&item)?) else { continue };
            if self.tracker().item(issue)?.is_some_and(|issue| issue.is_open()) {
                found.push((issue, rework));
            }
        }
        Ok(found)
    }

    /// Puts down that a person wants a pull request brought onto its target.
    pub fn request_update(&mut self, number: ItemId, by: Author) -> Result<(), Error> {
        let (_, pull) = self.forge().get(number)?;
        let words = format!("To be brought onto the newest `{}`.", pull.target);
        self.forge_as(by).comment(number, &words, Some(&format!("{UPDATE}{}", pull.head)))?;
        Ok(())
    }
}

/// Reads off a pull request which round people want, at this time.
fn rework_of(item: &Item, now: Time) -> Option<Rework> {
    let pull = item.pull.as_ref()?;
    let is_update = is_update_wanted(item);
    let comments = if pull.review == Review::ChangesRequested {
        let last = item.comments.iter().rposition(|comment| is_marked(comment, ROUND));
        let round = &item.comments[last.map_or(0, |last| last + 1)..];
        let first = round.iter().position(|comment| is_marked(comment, REQUESTED));
        let said = round[first.unwrap_or(0)..].iter();
        said.filter(|comment| is_persons(comment) || is_marked(comment, REQUESTED)).map(said_by).collect()
    } else {
        unanswered(item, now)
    };
    if pull.review != Review::ChangesRequested && !is_update && comments.is_empty() {
        return None;
    }
    let (branch, head) = (pull.branch.clone(), pull.head.clone());
    Some(Rework { pull: item.id, branch, head, comments, is_update })
}

/// Counts the rounds since somebody has last said what they want.
fn fixes(item: &Item) -> usize {
    let is_request = |comment: &Comment| is_marked(comment, REQUESTED);
    let since = item.comments.iter().rposition(is_request).map_or(0, |last| last + 1);
    item.comments[since..].iter().filter(|comment| is_marked(comment, ROUND)).count()
}

/// Tells whether a person wants a pull request brought onto its target.
pub(crate) fn is_update_wanted(item: &Item) -> bool {
    let marker = item.pull.as_ref().map(|pull| format!("{UPDATE}{}", pull.head));
    marker.is_some() && item.comments.iter().any(|comment| comment.marker == marker)
}

fn is_marked(comment: &Comment, from: &str) -> bool {
    comment.marker.as_deref().is_some_and(|marker| marker.starts_with(from))
}

/// Tells whether a comment is the word of a person who may write here, and no mark of warp's.
fn is_persons(comment: &Comment) -> bool {
    comment.author.actor == Actor::Person && comment.trust.is_trusted() && !is_marked(comment, UPDATE)
}

fn said_by(comment: &Comment) -> String {
    format!("{}: {}", comment.author.name, comment.text.trim())
}

/// Returns what people have said in a pull request's thread since its last round, once they have finished. Only a server
/// has such threads; whoever approves has no wish.
fn unanswered(item: &Item, now: Time) -> Vec<String> {
    let Some(pull) = item.pull.as_ref().filter(|pull| pull.run.is_some()) else { return Vec::new() };
    if pull.review != Review::Pending {
        return Vec::new();
    }
    let since =
        item.comments.iter().rposition(|comment| is_marked(comment, ROUND)).map_or(0, |last| last + 1);
    let said: Vec<&Comment> = item.comments[since..]
        .iter()
        .filter(|comment| is_persons(comment) && comment.marker.is_none())
        .collect();
    match said.last() {
        Some(last) if after(last.at, QUIET) <= now => said.into_iter().map(said_by).collect(),
        Some(_) | None => Vec::new(),
    }
}
