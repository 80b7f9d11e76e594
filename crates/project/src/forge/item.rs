//! An issue or a pull request, and what can happen to it.

use std::collections::BTreeSet;

use engine::{Actor, Boxes, Time, read_boxes, with_ticks};
use serde::{Deserialize, Serialize};

use super::{
    By,
    readiness::{APPROVED, CAPABILITY},
};

/// An issue; with [`Item::pull`], a pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    pub number: u64,
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
    pub issue: Option<u64>,
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

/// How many rounds of a pull request are kept.
const ROUNDS_KEPT: usize = 50;

impl Pull {
    fn begin_round(&mut self, head: &str, at: Time) {
        self.rounds.push(Round { head: head.to_owned(), at, review: None });
        let old = self.rounds.len().saturating_sub(ROUNDS_KEPT);
        self.rounds.drain(..old);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Review {
    Pending,
    Approved,
    ChangesRequested,
}

/// What happened to an item, as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Happened {
    pub(super) format: u32,
    pub(super) by: By,
    #[serde(flatten)]
    pub(super) what: What,
}

/// The format of [`Happened`] and of the snapshot.
pub(super) const FORMAT: u32 = 1;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum What {
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

impl What {
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

    /// Makes an item of the event that opens it; nothing if it is another event.
    pub(super) fn opened(number: u64, at: Time, by: &By, what: &What) -> Option<Self> {
        let (title, body, labels, pull) = match what {
            What::IssueOpened { title, body, labels, .. } => (title, body, labels.clone(), None),
            What::PullOpened { title, body, pull, .. } => {
                let mut pull = pull.clone();
                let head = pull.head.clone();
                pull.begin_round(&head, at);
                (title, body, BTreeSet::new(), Some(pull))
            }
            What::Edited { .. }
            | What::Commented { .. }
            | What::Labelled { .. }
            | What::Assigned { .. }
            | What::Ticked { .. }
            | What::Closed { .. }
            | What::Reopened
            | What::Reviewed { .. }
            | What::HeadMoved { .. }
            | What::Merged { .. } => return None,
        };
        Some(Self {
            number,
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
        })
    }

    /// Applies what happened after it was opened.
    pub(super) fn apply(&mut self, at: Time, by: &By, what: &What) {
        self.updated_at = at;
        match what {
            What::IssueOpened { .. } | What::PullOpened { .. } => {}
            What::Edited { title, body } => {
                self.title = title.clone().unwrap_or_else(|| self.title.clone());
                self.body = body.clone().unwrap_or_else(|| self.body.clone());
            }
            What::Commented { text, marker } => self.comments.push(Comment {
                author: by.clone(),
                at,
                text: text.clone(),
                marker: marker.clone(),
            }),
            What::Labelled { added, removed } => {
                self.labels.retain(|label| !removed.contains(label));
                self.labels.extend(added.iter().cloned());
                if removed.contains(APPROVED) {
                    self.approved_by = None;
                }
                self.approved_by = self.approved_by.take().or_else(|| approver(added, by));
            }
            What::Assigned { to } => self.assignee.clone_from(to),
            What::Ticked { at, .. } => self.body = with_ticks(&self.body, at),
            What::Closed { reason } => {
                self.state = ItemState::Closed;
                self.closed_because.clone_from(reason);
            }
            What::Reopened => {
                self.state = ItemState::Open;
                self.closed_because = None;
            }
            What::Reviewed { review } => {
                if let Some(pull) = &mut self.pull {
                    pull.review = *review;
                    pull.reviewed_by = Some(by.name.clone());
                    if let Some(round) = pull.rounds.last_mut() {
                        round.review = Some((*review, by.name.clone()));
                    }
                }
            }
            What::HeadMoved { head, keeps_review } => {
                if let Some(pull) = &mut self.pull {
                    pull.head.clone_from(head);
                    if *keeps_review {
                        if let Some(round) = pull.rounds.last_mut() {
                            round.head.clone_from(head);
                        }
                    } else {
                        pull.review = Review::Pending;
                        pull.reviewed_by = None;
                        pull.begin_round(head, at);
                    }
                }
            }
            What::Merged { commit } => {
                self.state = ItemState::Closed;
                if let Some(pull) = &mut self.pull {
                    pull.merged = Some(commit.clone());
                }
            }
        }
    }
}

/// Returns who approves by setting these labels.
fn approver(labels: &BTreeSet<String>, by: &By) -> Option<String> {
    (labels.contains(APPROVED) && by.actor == Actor::Person).then(|| by.name.clone())
}
