//! What happens to an item of the embedded forge, and what that makes of it.

use std::collections::BTreeSet;

use engine::{Actor, Time, with_ticks};
use serde::{Deserialize, Serialize};

use crate::{APPROVED, Author, Comment, Item, ItemId, ItemState, Pull, Review, Round, Trust};

/// How many rounds of a pull request are kept.
const ROUNDS_KEPT: usize = 50;

fn begin_round(pull: &mut Pull, head: &str, at: Time) {
    pull.rounds.push(Round { head: head.to_owned(), at, review: None });
    let old = pull.rounds.len().saturating_sub(ROUNDS_KEPT);
    pull.rounds.drain(..old);
}

/// Event of an item, as stored in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ItemEvent {
    pub(super) format: u32,
    pub(super) by: Author,
    #[serde(flatten)]
    pub(super) what: ItemChange,
}

/// The format of [`ItemEvent`] and of the snapshot.
pub(super) const FORMAT: u32 = 1;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum ItemChange {
    IssueOpened {
        title: String,
        body: String,
        labels: BTreeSet<String>,
        marker: Option<String>,
    },
    PullOpened {
        title: String,
        body: String,
        marker: Option<String>,
        pull: Pull,
    },
    Edited {
        title: Option<String>,
        body: Option<String>,
    },
    Commented {
        text: String,
        marker: Option<String>,
    },
    Labelled {
        added: BTreeSet<String>,
        removed: BTreeSet<String>,
    },
    Assigned {
        to: Option<String>,
    },
    /// The places of the boxes are recorded, so that a later way of reading boxes leaves history as it is.
    Ticked {
        criteria: Vec<String>,
        at: Vec<usize>,
    },
    Closed {
        reason: Option<String>,
    },
    Reopened,
    Reviewed {
        review: Review,
    },
    /// Another commit is offered, which nobody has reviewed yet, unless it is the same work on a newer target.
    HeadMoved {
        head: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        keeps_review: bool,
    },
    Merged {
        commit: String,
    },
}

impl ItemChange {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::IssueOpened { .. } => "issue_opened",
            Self::PullOpened { .. } => "pull_opened",
            Self::Edited { .. } => "edited",
            Self::Commented { .. } => "commented",
            Self::Labelled { .. } => "labelled",
            Self::Assigned { .. } => "assigned",
            Self::Ticked { .. } => "ticked",
            Self::Closed { .. } => "closed",
            Self::Reopened => "reopened",
            Self::Reviewed { .. } => "reviewed",
            Self::HeadMoved { .. } => "head_moved",
            Self::Merged { .. } => "merged",
        }
    }

    /// Returns the marker that an item is filed under.
    pub(super) fn marker(&self) -> Option<&str> {
        match self {
            Self::IssueOpened { marker, .. } | Self::PullOpened { marker, .. } => marker.as_deref(),
            Self::Edited { .. }
            | Self::Commented { .. }
            | Self::Labelled { .. }
            | Self::Assigned { .. }
            | Self::Ticked { .. }
            | Self::Closed { .. }
            | Self::Reopened
            | Self::Reviewed { .. }
            | Self::HeadMoved { .. }
            | Self::Merged { .. } => None,
        }
    }
}

impl Item {
    /// Makes an item of the event that opens it; nothing if it is another event.
    pub(super) fn opened(id: ItemId, at: Time, by: &Author, what: &ItemChange) -> Option<Self> {
        let (title, body, labels, pull) = match what {
            ItemChange::IssueOpened { title, body, labels, .. } => (title, body, labels.clone(), None),
            ItemChange::PullOpened { title, body, pull, .. } => {
                let mut pull = pull.clone();
                let head = pull.head.clone();
                begin_round(&mut pull, &head, at);
                (title, body, BTreeSet::new(), Some(pull))
            }
            ItemChange::Edited { .. }
            | ItemChange::Commented { .. }
            | ItemChange::Labelled { .. }
            | ItemChange::Assigned { .. }
            | ItemChange::Ticked { .. }
            | ItemChange::Closed { .. }
            | ItemChange::Reopened
            | ItemChange::Reviewed { .. }
            | ItemChange::HeadMoved { .. }
            | ItemChange::Merged { .. } => return None,
        };
        Some(Self {
            id,
            title: title.clone(),
            body: body.clone(),
            approved_by: approver(&labels, by),
            labels,
            state: ItemState::Open,
            closed_because: None,
            author: by.clone(),
            assignee: None,
            comments: Vec::new(),
            pull,
            opened_at: at,
            updated_at: at,
            trust: Trust::Trusted,
        })
    }

    /// Applies what happened after it was opened.
    pub(super) fn apply(&mut self, at: Time, by: &Author, what: &ItemChange) {
        self.updated_at = at;
        match what {
            ItemChange::IssueOpened { .. } | ItemChange::PullOpened { .. } => {}
            ItemChange::Edited { title, body } => {
                self.title = title.clone().unwrap_or_else(|| self.title.clone());
                self.body = body.clone().unwrap_or_else(|| self.body.clone());
            }
            ItemChange::Commented { text, marker } => self.comments.push(Comment {
                author: by.clone(),
                at,
                text: text.clone(),
                marker: marker.clone(),
                trust: Trust::Trusted,
            }),
            ItemChange::Labelled { added, removed } => {
                self.labels.retain(|label| !removed.contains(label));
                self.labels.extend(added.iter().cloned());
                if removed.contains(APPROVED) {
                    self.approved_by = None;
                }
                self.approved_by = self.approved_by.take().or_else(|| approver(added, by));
            }
            ItemChange::Assigned { to } => self.assignee.clone_from(to),
            ItemChange::Ticked { at, .. } => self.body = with_ticks(&self.body, at),
            ItemChange::Closed { reason } => {
                self.state = ItemState::Closed;
                self.closed_because.clone_from(reason);
            }
            ItemChange::Reopened => {
                self.state = ItemState::Open;
                self.closed_because = None;
            }
            ItemChange::Reviewed { review } => {
                if let Some(pull) = &mut self.pull {
                    pull.review = *review;
                    pull.reviewed_by = Some(by.name.clone());
                    if let Some(round) = pull.rounds.last_mut() {
                        round.review = Some((*review, by.name.clone()));
                    }
                }
            }
            ItemChange::HeadMoved { head, keeps_review } => {
                if let Some(pull) = &mut self.pull {
                    pull.head.clone_from(head);
                    if *keeps_review {
                        if let Some(round) = pull.rounds.last_mut() {
                            round.head.clone_from(head);
                        }
                    } else {
                        pull.review = Review::Pending;
                        pull.reviewed_by = None;
                        begin_round(pull, head, at);
                    }
                }
            }
            ItemChange::Merged { commit } => {
                self.state = ItemState::Closed;
                if let Some(pull) = &mut self.pull {
                    pull.merged = Some(commit.clone());
                }
            }
        }
    }
}

/// Returns who approves by setting these labels.
fn approver(labels: &BTreeSet<String>, by: &Author) -> Option<String> {
    (labels.contains(APPROVED) && by.actor == Actor::Person).then(|| by.name.clone())
}
