//! The embedded forge: issues and pull requests in the project's journal.
//!
//! An item is a stream of its own, and its folded state is kept beside the stream. Issues and pull requests share one
//! row of numbers. What is open and what is closed have topics of their own, so that looking at the open ones never
//! reads the closed.
//!
//! Invariants:
//! - Filing with a marker happens once: whoever comes again with it is given the number that is there.
//! - An item is approved only by a person; the label alone, set by anybody else, approves nothing.
//! - Every text has a bound, so an item does.

mod import;
mod item;
mod kept;
mod readiness;
mod text;

use std::{collections::BTreeSet, env, path::Path, sync::Arc};

use adapters::git::Git;
use engine::{Actor, Boxes, Seen, open_boxes, read_boxes, without_ticks};

pub use import::{FromFile, Imported, read_markdown};
pub use item::{Comment, Item, ItemState, Pull, Review, Round};
pub(crate) use kept::Kept;
pub use readiness::{Candidate, Priority, Readiness};

use crate::{Error, Workspace, next::REQUESTED};
use item::What;
use readiness::{APPROVED, CAPABILITY, REQUIREMENT};

/// The issues and pull requests of a project, in somebody's name.
#[derive(Debug)]
pub struct Forge<'a> {
    workspace: &'a mut Workspace,
    by: By,
}

/// Who does something to an item.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct By {
    pub actor: Actor,
    pub name: String,
}

impl By {
    /// Somebody at a keyboard.
    pub fn person(name: impl Into<String>) -> Self {
        Self { actor: Actor::Person, name: name.into() }
    }

    /// Somebody at a keyboard who works in a directory, by the name that git knows.
    pub fn person_in(root: &Path) -> Self {
        let name = || env::var("USER").ok().filter(|name| !name.is_empty());
        Self::person(Git::new(root).author().or_else(name).unwrap_or_else(|| "somebody".to_owned()))
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

/// An issue to be filed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewItem {
    pub title: String,
    pub body: String,
    pub labels: BTreeSet<String>,
    /// The number it must have; without one, the next that is free.
    pub number: Option<u64>,
}

/// A pull request to be opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewPull {
    pub title: String,
    pub body: String,
    pub branch: String,
    pub target: String,
    /// The commit that is offered.
    pub head: String,
    /// The issue that it is about.
    pub issue: Option<u64>,
}

/// What is to be changed in an item's text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    pub title: Option<String>,
    pub body: Option<String>,
}

/// Where something was filed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filed {
    pub number: u64,
    /// Whether it was filed before, under the same marker.
    pub was_there: bool,
}

/// Why something about an item could not be done. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum ForgeError {
    #[error("there is no issue or pull request #{number}")]
    Missing { number: u64 },
    #[error("#{number} is no pull request")]
    NotAPull { number: u64 },
    #[error("#{number} is a pull request")]
    NotAnIssue { number: u64 },
    #[error("#{number} is there already")]
    Taken { number: u64 },
    #[error("{number} is no number for an issue: 1 to {most} are")]
    Number { number: u64, most: u64 },
    #[error("the {what} {problem}")]
    Text { what: &'static str, problem: String },
    #[error("#{number} is full: {problem}")]
    Full { number: u64, problem: String },
    #[error("only a person approves, and {name} is none")]
    NotAPerson { name: String },
    #[error("{name} has opened #{number}; somebody else reviews it")]
    OwnPull { number: u64, name: String },
    #[error("#{number} is merged, and stays closed")]
    Merged { number: u64 },
    #[error("`{file}` was imported as #{number}")]
    ImportedAs { file: String, number: u64 },
    #[error("event {seq} of #{number} cannot be read: {problem}")]
    Event { number: u64, seq: u64, problem: String },
    #[error("the repository cannot be read: {0}")]
    Git(String),
    #[error(transparent)]
    Failed(#[from] Error),
}

/// Reads the number of an issue: `42` or `#42`.
pub fn issue_number(text: &str) -> Option<u64> {
    let text = text.trim();
    text.strip_prefix('#').unwrap_or(text).parse().ok().filter(|number| *number > 0)
}

impl Workspace {
    /// Returns the project's issues and pull requests, in warp's own name.
    pub fn forge(&mut self) -> Forge<'_> {
        Forge { workspace: self, by: By::warp() }
    }
}

impl Forge<'_> {
    /// Does what follows in somebody else's name.
    #[must_use]
    pub fn by(self, by: By) -> Self {
        Self { by, ..self }
    }

    /// Returns an issue or a pull request.
    pub fn item(&mut self, number: u64) -> Result<Option<Arc<Item>>, ForgeError> {
        Ok(self.load(number)?.map(|kept| kept.item))
    }

    /// Looks at the criteria of an issue that is named in a run.
    pub fn boxes(&mut self, issue: &str) -> Seen<Boxes> {
        let absent = || Seen::Absent(format!("there is no issue {issue}"));
        let Some(number) = issue_number(issue) else { return absent() };
        match self.item(number) {
            Ok(Some(item)) => Seen::Value(read_boxes(&item.body)),
            Ok(None) => absent(),
            Err(error) => Seen::Failed(error.to_string()),
        }
    }

    /// Files an issue, once for each marker.
    pub fn file(&mut self, new: NewItem, marker: Option<&str>) -> Result<Filed, ForgeError> {
        self.open(&[opened(&new, marker)?], new.number)
    }

    /// Files an issue that is closed from the beginning, once for each marker.
    pub fn file_closed(&mut self, new: NewItem, marker: Option<&str>) -> Result<Filed, ForgeError> {
        let filed = self.open(&[opened(&new, marker)?, What::Closed { reason: None }], new.number)?;
        if filed.was_there {
            self.close(filed.number, None)?;
        }
        Ok(filed)
    }

    /// Opens a pull request, once for each marker.
    pub fn open_pull(&mut self, new: NewPull, marker: Option<&str>) -> Result<Filed, ForgeError> {
        let what = What::PullOpened {
            title: text::title(&new.title)?,
            body: text::body(&new.body)?,
            marker: marker.map(text::marker).transpose()?,
            pull: Pull {
                branch: text::name("branch", &new.branch)?,
                target: text::name("target branch", &new.target)?,
                head: text::name("commit", &new.head)?,
                issue: new.issue,
                review: Review::Pending,
                reviewed_by: None,
                merged: None,
                rounds: Vec::new(),
            },
        };
        self.open(&[what], None)
    }

    /// Returns the item that was filed under a marker.
    pub fn filed(&mut self, marker: &str) -> Result<Option<u64>, ForgeError> {
        self.find(&text::marker(marker)?)
    }

    /// Changes an item's title or text. An issue that gets its first criteria becomes a requirement.
    pub fn edit(&mut self, number: u64, edit: &Edit) -> Result<Arc<Item>, ForgeError> {
        let title = edit.title.as_deref().map(text::title).transpose()?;
        let body = edit.body.as_deref().map(text::body).transpose()?;
        self.change(number, |item| {
            let title = title.clone().filter(|title| *title != item.title);
            let body = body.clone().filter(|body| *body != item.body);
            let gains_criteria = body
                .as_ref()
                .is_some_and(|body| item.boxes().items.is_empty() && !read_boxes(body).items.is_empty());
            let is_news = item.pull.is_none() && !item.is_capability() && !item.labels.contains(REQUIREMENT);
            let mut whats = Vec::new();
            if title.is_some() || body.is_some() {
                whats.push(What::Edited { title, body });
            }
            if gains_criteria && is_news {
                let added = BTreeSet::from([REQUIREMENT.to_owned()]);
                whats.push(What::Labelled { added, removed: BTreeSet::new() });
            }
            Ok(whats)
        })
    }

    /// Adds a comment, once for each marker.
    pub fn comment(
        &mut self,
        number: u64,
        words: &str,
        marker: Option<&str>,
    ) -> Result<Arc<Item>, ForgeError> {
        let comment = commented(words, marker)?;
        self.change(number, |item| Ok(news(item, &comment).into_iter().collect()))
    }

    /// Adds and removes labels. A person who adds `approved` approves, and whoever removes it takes that back.
    pub fn label(&mut self, number: u64, add: &[&str], remove: &[&str]) -> Result<Arc<Item>, ForgeError> {
        let clean = |labels: &[&str]| -> Result<BTreeSet<String>, ForgeError> {
            labels.iter().map(|label| text::label(label)).collect()
        };
        let (add, remove) = (clean(add)?, clean(remove)?);
        let is_person = self.by.actor == Actor::Person;
        self.change(number, |item| {
            // The label may be there without an approval: somebody set it who is no person.
            let is_news = |label: &&String| {
                !item.labels.contains(*label)
                    || (is_person && *label == APPROVED && item.approved_by.is_none())
            };
            let added: BTreeSet<String> = add.iter().filter(is_news).cloned().collect();
            let removed: BTreeSet<String> =
                remove.intersection(&item.labels).filter(|label| !add.contains(*label)).cloned().collect();
            let is_same = added.is_empty() && removed.is_empty();
            Ok(if is_same { Vec::new() } else { vec![What::Labelled { added, removed }] })
        })
    }

    /// Approves an issue, in a person's name. The first approval stays.
    pub fn approve(&mut self, number: u64) -> Result<Arc<Item>, ForgeError> {
        if self.by.actor != Actor::Person {
            return Err(ForgeError::NotAPerson { name: self.by.name.clone() });
        }
        match self.item(number)? {
            Some(item) if item.pull.is_some() => Err(ForgeError::NotAnIssue { number }),
            Some(_) | None => self.label(number, &[APPROVED], &[]),
        }
    }

    /// Says who works on an issue; none gives it back.
    pub fn assign(&mut self, number: u64, to: Option<&str>) -> Result<Arc<Item>, ForgeError> {
        let to = to.map(|to| text::name("name", to)).transpose()?;
        self.change(number, |item| {
            let is_same = item.assignee == to;
            Ok(if is_same { Vec::new() } else { vec![What::Assigned { to: to.clone() }] })
        })
    }

    /// Ticks criteria (`AC-01` is the first box) and returns how many of them are ticked then.
    pub fn tick(&mut self, number: u64, criteria: &[String]) -> Result<usize, ForgeError> {
        let item = self.change(number, |item| {
            let at = open_boxes(&item.body, criteria);
            Ok(if at.is_empty() {
                Vec::new()
            } else {
                vec![What::Ticked { criteria: criteria.to_vec(), at }]
            })
        })?;
        let boxes = item.boxes();
        let is_wanted = |(index, (ticked, _)): &(usize, &(bool, String))| {
            *ticked && criteria.contains(&engine::criterion(*index))
        };
        Ok(boxes.items.iter().enumerate().filter(is_wanted).count())
    }

    /// Takes the ticks from criteria.
    pub fn untick(&mut self, number: u64, criteria: &[String]) -> Result<Arc<Item>, ForgeError> {
        self.change(number, |item| {
            let body = without_ticks(&item.body, criteria);
            let is_same = body == item.body;
            Ok(if is_same { Vec::new() } else { vec![What::Edited { title: None, body: Some(body) }] })
        })
    }

    /// Closes an issue or a pull request.
    pub fn close(&mut self, number: u64, reason: Option<&str>) -> Result<Arc<Item>, ForgeError> {
        let reason = reason.map(text::title).transpose()?;
        self.change(number, |item| Ok(closed(item, reason.as_deref()).into_iter().collect()))
    }

    /// Adds a comment, once for each marker, and closes an item with it.
    pub fn close_with(
        &mut self,
        number: u64,
        words: &str,
        marker: &str,
        reason: &str,
    ) -> Result<Arc<Item>, ForgeError> {
        let (comment, reason) = (commented(words, Some(marker))?, text::title(reason)?);
        self.change(number, |item| {
            Ok(news(item, &comment).into_iter().chain(closed(item, Some(&reason))).collect())
        })
    }

    /// Opens an issue or a pull request again.
    pub fn reopen(&mut self, number: u64) -> Result<Arc<Item>, ForgeError> {
        self.change(number, |item| {
            if item.pull.as_ref().is_some_and(|pull| pull.merged.is_some()) {
                return Err(ForgeError::Merged { number });
            }
            Ok(match item.state {
                ItemState::Open => Vec::new(),
                ItemState::Closed => vec![What::Reopened],
            })
        })
    }

    /// Reviews a pull request. Nobody approves their own.
    pub fn review(
        &mut self,
        number: u64,
        review: Review,
        words: Option<&str>,
    ) -> Result<Arc<Item>, ForgeError> {
        let said = words.map(text::comment).transpose()?;
        let by = self.by.clone();
        self.change(number, |item| {
            let pull = item.pull.as_ref().ok_or(ForgeError::NotAPull { number })?;
            if pull.merged.is_some() {
                return Err(ForgeError::Merged { number });
            }
            if review == Review::Approved && item.author == by {
                return Err(ForgeError::OwnPull { number, name: by.name.clone() });
            }
            let mut whats = Vec::new();
            if pull.review != review {
                whats.push(What::Reviewed { review });
            }
            let marker =
                (review == Review::ChangesRequested).then(|| format!("{REQUESTED}{}", item.comments.len()));
            whats.extend(said.clone().map(|text| What::Commented { text, marker: marker.clone() }));
            Ok(whats)
        })
    }

    /// Offers another commit in a pull request; who has reviewed the one before has not reviewed this one.
    pub fn offer_head(&mut self, number: u64, head: &str) -> Result<Arc<Item>, ForgeError> {
        self.move_head(number, head, false)
    }

    /// Offers the same work on a newer target in a pull request; its review stays.
    pub fn rebase_head(&mut self, number: u64, head: &str) -> Result<Arc<Item>, ForgeError> {
        self.move_head(number, head, true)
    }

    fn move_head(&mut self, number: u64, head: &str, keeps_review: bool) -> Result<Arc<Item>, ForgeError> {
        let head = text::name("commit", head)?;
        self.change(number, |item| {
            let pull = item.pull.as_ref().ok_or(ForgeError::NotAPull { number })?;
            if pull.merged.is_some() {
                return Err(ForgeError::Merged { number });
            }
            let is_same = pull.head == head;
            Ok(if is_same { Vec::new() } else { vec![What::HeadMoved { head: head.clone(), keeps_review }] })
        })
    }

    /// Records that a pull request was merged as this commit, which closes it.
    pub fn merged(&mut self, number: u64, commit: &str) -> Result<Arc<Item>, ForgeError> {
        let commit = text::name("commit", commit)?;
        self.change(number, |item| {
            let pull = item.pull.as_ref().ok_or(ForgeError::NotAPull { number })?;
            let is_known = pull.merged.is_some();
            Ok(if is_known { Vec::new() } else { vec![What::Merged { commit: commit.clone() }] })
        })
    }
}

/// Returns the event with which an issue begins.
fn opened(new: &NewItem, marker: Option<&str>) -> Result<What, ForgeError> {
    Ok(What::IssueOpened {
        title: text::title(&new.title)?,
        body: text::body(&new.body)?,
        labels: new.labels.iter().map(|label| text::label(label)).collect::<Result<_, _>>()?,
        marker: marker.map(text::marker).transpose()?,
    })
}

/// Returns the event that adds a comment.
fn commented(words: &str, marker: Option<&str>) -> Result<What, ForgeError> {
    Ok(What::Commented { text: text::comment(words)?, marker: marker.map(text::marker).transpose()? })
}

/// Returns the event that adds a comment, unless one with its marker is there.
fn news(item: &Item, comment: &What) -> Option<What> {
    let What::Commented { marker: Some(marker), .. } = comment else { return Some(comment.clone()) };
    let is_known = item.comments.iter().any(|known| known.marker.as_ref() == Some(marker));
    (!is_known).then(|| comment.clone())
}

/// Returns the event that closes an item, unless it is closed.
fn closed(item: &Item, reason: Option<&str>) -> Option<What> {
    item.is_open().then(|| What::Closed { reason: reason.map(str::to_owned) })
}

impl NewItem {
    /// Makes an issue of a text. One with criteria is a requirement, unless it is a capability: the boxes of that are
    /// requirements.
    pub fn of(title: impl Into<String>, body: impl Into<String>, mut labels: BTreeSet<String>) -> Self {
        let body = body.into();
        if !labels.contains(CAPABILITY) && !read_boxes(&body).items.is_empty() {
            labels.insert(REQUIREMENT.to_owned());
        }
        Self { title: title.into(), body, labels, number: None }
    }
}
