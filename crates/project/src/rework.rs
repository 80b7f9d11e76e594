//! Another round of a pull request: requested changes, or bringing it onto its target.
//!
//! A pull request whose reviewer wants changes makes its issue ready again; so does one that a person wants to have brought
//! onto its target, which is a comment of theirs.

use std::sync::Arc;

use engine::Actor;
use forge::{Author, Item, ItemId, Query, REQUESTED, Review};

use crate::{Error, Workspace};

/// How the marker of a comment begins that says that another round is there.
pub const ROUND: &str = "round:";
/// How the marker of a comment begins by which a person wants a pull request brought onto its target.
const UPDATE: &str = "update:";

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
        Ok(pulls.iter().find(is_about).and_then(|item| rework_of(item)))
    }

    /// Returns the open issues whose pull requests wait for another round, the oldest pull request first.
    pub(crate) fn reworks(&mut self) -> Result<Vec<(ItemId, Rework)>, Error> {
        let mut found = Vec::new();
        for item in self.forge().pulls(Query::Open)? {
            let issue = item.pull.as_ref().and_then(|pull| pull.issue);
            let (Some(issue), Some(rework)) = (issue, rework_of(&item)) else { continue };
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

/// Reads off a pull request which round it waits for.
pub(crate) fn rework_of(item: &Item) -> Option<Rework> {
    let pull = item.pull.as_ref()?;
    let marked =
        |from: &str, marker: &Option<String>| marker.as_deref().is_some_and(|it| it.starts_with(from));
    let is_update = {
        let marker = Some(format!("{UPDATE}{}", pull.head));
        item.comments.iter().any(|comment| comment.marker == marker)
    };
    let comments = if pull.review == Review::ChangesRequested {
        let last = item.comments.iter().rposition(|comment| marked(ROUND, &comment.marker));
        let round = &item.comments[last.map_or(0, |last| last + 1)..];
        let first = round.iter().position(|comment| marked(REQUESTED, &comment.marker));
        let said = round[first.unwrap_or(0)..].iter();
        // A formal review counts, whoever's it is; other comments are a person's.
        let is_review = |comment: &&forge::Comment| {
            let is_persons = comment.author.actor == Actor::Person && !marked(UPDATE, &comment.marker);
            is_persons || marked(REQUESTED, &comment.marker)
        };
        said.filter(is_review)
            .map(|comment| format!("{}: {}", comment.author.name, comment.text.trim()))
            .collect()
    } else {
        Vec::new()
    };
    if pull.review != Review::ChangesRequested && !is_update {
        return None;
    }
    let (branch, head) = (pull.branch.clone(), pull.head.clone());
    Some(Rework { pull: item.id, branch, head, comments, is_update })
}
