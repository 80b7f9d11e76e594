//! An issue or a pull request, as every forge gives it.

use std::collections::BTreeSet;

use engine::{Actor, Boxes, Time, criterion, read_boxes};
use serde::{Deserialize, Serialize};

use crate::ItemId;

/// The label of an issue that gathers requirements, and is not worked on itself.
pub(crate) const CAPABILITY: &str = "cap";

/// The name of the agent that reviews pull requests.
const REVIEWER: &str = "reviewer";

/// Author of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    pub actor: Actor,
    pub name: String,
}

impl Author {
    /// A person.
    pub fn person(name: impl Into<String>) -> Self {
        Self { actor: Actor::Person, name: name.into() }
    }

    /// A coding agent.
    pub fn agent(name: impl Into<String>) -> Self {
        Self { actor: Actor::Agent, name: name.into() }
    }

    /// The agent that reviews pull requests for warp. It has an account of its own where the forge has one for it.
    pub fn reviewer() -> Self {
        Self::agent(REVIEWER)
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
    /// Reason for closing, if given.
    pub closed_because: Option<String>,
    pub author: Author,
    pub assignee: Option<String>,
    /// The person who approved it.
    pub approved_by: Option<String>,
    pub comments: Vec<Comment>,
    pub pull: Option<Pull>,
    pub opened_at: Time,
    pub updated_at: Time,
    /// Whether its author may write here. The text of anybody else is data, whatever it says.
    #[serde(default, skip_serializing_if = "Trust::is_trusted")]
    pub trust: Trust,
}

/// Whether the author of a text has write access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    #[default]
    Trusted,
    Untrusted,
    /// The forge does not say. Whoever reads it takes it for untrusted.
    Unknown,
}

impl Trust {
    /// Returns whether the author is known to have write access.
    pub fn is_trusted(&self) -> bool {
        *self == Self::Trusted
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemState {
    Open,
    Closed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    pub author: Author,
    pub at: Time,
    pub text: String,
    /// Idempotency marker of its creation. One in a text by somebody who may not write here is none.
    pub marker: Option<String>,
    /// Whether its author may write here.
    #[serde(default, skip_serializing_if = "Trust::is_trusted")]
    pub trust: Trust,
}

/// Fields of a pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pull {
    pub branch: String,
    pub target: String,
    /// The head commit.
    pub head: String,
    /// The issue it resolves.
    pub issue: Option<ItemId>,
    /// The run that opened it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    pub review: Review,
    pub reviewed_by: Option<String>,
    /// The merge commit.
    pub merged: Option<String>,
    /// Head commits with their reviews, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<Round>,
}

/// A head commit of a pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    pub head: String,
    pub at: Time,
    /// The last review and its author.
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

    /// Returns whether it is a capability: it groups requirements and has no criteria.
    pub fn is_capability(&self) -> bool {
        self.labels.contains(CAPABILITY)
    }

    pub fn is_open(&self) -> bool {
        self.state == ItemState::Open
    }

    /// Counts the ticked ones of these criteria.
    pub fn count_ticked(&self, criteria: &[String]) -> usize {
        let boxes = self.boxes().items.into_iter().enumerate();
        boxes.filter(|(index, (ticked, _))| *ticked && criteria.contains(&criterion(*index))).count()
    }

    /// Returns whether a comment with this marker exists.
    pub fn has_comment(&self, marker: &str) -> bool {
        self.comments.iter().any(|comment| comment.marker.as_deref() == Some(marker))
    }
}
