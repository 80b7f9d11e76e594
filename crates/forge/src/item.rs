//! An issue or a pull request, as every forge gives it.

use std::collections::BTreeSet;

use engine::{Actor, Boxes, Time, criterion, read_boxes};
use serde::{Deserialize, Serialize};

use crate::ItemId;

/// The label of an issue that gathers requirements, and is not worked on itself.
pub(crate) const CAPABILITY: &str = "cap";

/// Who does something to an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct By {
    pub actor: Actor,
    pub name: String,
}

impl By {
    /// Somebody at a keyboard.
    pub fn person(name: impl Into<String>) -> Self {
        Self { actor: Actor::Person, name: name.into() }
    }

    /// A coding agent.
    pub fn agent(name: impl Into<String>) -> Self {
        Self { actor: Actor::Agent, name: name.into() }
    }

    /// Warp itself.
    pub fn warp() -> Self {
        Self { actor: Actor::Engine, name: "warp".to_owned() }
    }
}

/// An issue; with [`Item::pull`], a pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    #[serde(rename = "number")]
    pub id: ItemId,
    pub title: String,
    /// Markdown. Its boxes are the criteria.
    pub body: String,
    pub labels: BTreeSet<String>,
    pub state: ItemState,
    /// Why it was closed, if somebody said so.
    pub closed_because: Option<String>,
    pub author: By,
    pub assignee: Option<String>,
    /// The person who approved it.
    pub approved_by: Option<String>,
    pub comments: Vec<Comment>,
    pub pull: Option<Pull>,
    pub opened_at: Time,
    pub updated_at: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemState {
    Open,
    Closed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    pub author: By,
    pub at: Time,
    pub text: String,
    /// The marker it was made under, so that it is made once.
    pub marker: Option<String>,
}

/// What a pull request has that an issue has not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pull {
    pub branch: String,
    pub target: String,
    /// The commit that is offered.
    pub head: String,
    /// The issue that it is about.
    pub issue: Option<ItemId>,
    /// The run that has made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    pub review: Review,
    pub reviewed_by: Option<String>,
    /// The commit it was merged as.
    pub merged: Option<String>,
    /// The commits that were offered one after the other, and what reviewers said of each, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<Round>,
}

/// A commit that a pull request has offered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    pub head: String,
    pub at: Time,
    /// What the last reviewer of it said, and who that was.
    pub review: Option<(Review, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Review {
    Pending,
    Approved,
    ChangesRequested,
}

impl Item {
    /// Returns its criteria.
    pub fn boxes(&self) -> Boxes {
        read_boxes(&self.body)
    }

    /// Tells whether it gathers requirements, and has no criteria of its own.
    pub fn is_capability(&self) -> bool {
        self.labels.contains(CAPABILITY)
    }

    pub fn is_open(&self) -> bool {
        self.state == ItemState::Open
    }

    /// Returns how many of these criteria are ticked.
    pub fn count_ticked(&self, criteria: &[String]) -> usize {
        let boxes = self.boxes().items.into_iter().enumerate();
        boxes.filter(|(index, (ticked, _))| *ticked && criteria.contains(&criterion(*index))).count()
    }

    /// Tells whether it has a comment that was made under a marker.
    pub fn has_comment(&self, marker: &str) -> bool {
        self.comments.iter().any(|comment| comment.marker.as_deref() == Some(marker))
    }
}
