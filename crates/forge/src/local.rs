//! The embedded forge: issues and pull requests in the project's journal.
//!
//! An item is a stream of its own, and its folded state is kept beside the stream. Issues and pull requests share one
//! row of numbers. What is open and what is closed have topics of their own, so that looking at the open ones never
//! reads the closed. It has no branches: whoever merges lands the work with git and says as which commit.
//!
//! Every text has a bound, so an item does.

mod event;
mod streams;

use std::{collections::BTreeSet, fmt, sync::Arc};

use engine::{Actor, Time, open_boxes, read_boxes, without_ticks};
use journal::Store;

use crate::{
    APPROVED, Author, Capabilities, ChangedFile, Edit, FiledItem, Forge, ForgeError, Hosting, Item, ItemId,
    ItemState, Merge, NewItem, NewPull, OwnVerdict, Pull, Query, REQUESTED, REQUIREMENT, Refusal,
    Requirements, Review, Tracker, check_person, text,
};
use event::ItemChange;
use streams::{CLOSED_ISSUES, CLOSED_PULLS, Items, OPEN_ISSUES, OPEN_PULLS};

/// Environment of the embedded forge.
pub trait Host: fmt::Debug + Send + Sync {
    /// Returns the time.
    fn now(&self) -> Time;

    /// Takes secrets out of a text before it is kept.
    fn redact(&self, text: String) -> String;

    /// Returns the project's store; none while nothing was ever recorded.
    fn store(&self) -> Option<Arc<dyn Store>>;

    /// Returns the project's store, and makes it if there is none.
    fn ensure_store(&self) -> Result<Arc<dyn Store>, ForgeError>;

    /// Waits until what was just recorded is on disk, unless somebody does so later.
    fn has_recorded(&self) -> Result<(), ForgeError>;

    /// Calls `act`, which is about to record `name`: a place for the points of crash tests.
    fn around(&self, name: &str, act: &mut dyn FnMut()) {
        let _ = name;
        act();
    }
}

/// The embedded forge, acting for one author.
#[derive(Clone, Debug)]
pub struct LocalForge {
    items: Arc<Items>,
    by: Author,
}

impl LocalForge {
    /// Creates the forge of a project for an author.
    pub fn new(host: Arc<dyn Host>, by: Author) -> Self {
        Self { items: Arc::new(Items::new(host)), by }
    }

    /// Returns the forge for another author; both share one cache.
    #[must_use]
    pub fn by(&self, by: Author) -> Self {
        Self { items: Arc::clone(&self.items), by }
    }

    fn redact(&self, text: String) -> String {
        self.items.host.redact(text)
    }

    fn change(
        &self,
        id: ItemId,
        decide: impl Fn(&Item) -> Result<Vec<ItemChange>, ForgeError>,
    ) -> Result<Arc<Item>, ForgeError> {
        self.items.change(&self.by, id, decide)
    }

    /// Changes a pull request that is not merged.
    fn change_pull(
        &self,
        id: ItemId,
        decide: impl Fn(&Item, &Pull) -> Result<Vec<ItemChange>, ForgeError>,
    ) -> Result<Arc<Item>, ForgeError> {
        self.change(id, |item| {
            let pull = item.pull.as_ref().ok_or(Refusal::NotAPull { id })?;
            if pull.merged.is_some() {
                return Err(Refusal::Merged { id }.into());
            }
            decide(item, pull)
        })
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            name: "the embedded forge",
            chooses_ids: true,
            shares_ids: true,
            moves_branches: false,
            reviews_own: OwnVerdict::None,
            longest_text: text::BODY,
            longest_comment: text::COMMENT,
        }
    }

    fn query(
        &self,
        query: Query<'_>,
        open: &str,
        is_meant: fn(&Item) -> bool,
    ) -> Result<Vec<Arc<Item>>, ForgeError> {
        let mut items = match query {
            Query::Open => return self.items.about(open),
            Query::All => self.items.all()?,
            Query::Marked(marker) => self.items.marked(marker)?,
        };
        items.retain(|item| is_meant(item));
        Ok(items)
    }

    fn find(&self, marker: &str) -> Result<Option<ItemId>, ForgeError> {
        self.items.filed(&self.marker(marker)?)
    }

    fn marker(&self, marker: &str) -> Result<String, ForgeError> {
        text::marker(marker, |text| self.redact(text))
    }

    fn line(&self, kind: text::Line, text: &str) -> Result<String, ForgeError> {
        text::line(kind, text, |text| self.redact(text))
    }

    fn add_comment(&self, id: ItemId, text: &str, marker: Option<&str>) -> Result<Arc<Item>, ForgeError> {
        let text = text::comment(text, text::COMMENT, |text| self.redact(text))?;
        let marker = marker.map(|marker| self.marker(marker)).transpose()?;
        self.change(id, |item| {
            let is_known = marker.as_ref().is_some_and(|marker| item.has_comment(marker));
            let comment = || ItemChange::Commented { text: text.clone(), marker: marker.clone() };
            Ok(if is_known { Vec::new() } else { vec![comment()] })
        })
    }

    fn close_item(&self, id: ItemId, reason: Option<&str>) -> Result<Arc<Item>, ForgeError> {
        let reason = reason.map(|reason| self.line(text::TITLE, reason)).transpose()?;
        self.change(id, |item| {
            let closed = || ItemChange::Closed { reason: reason.clone() };
            Ok(if item.is_open() { vec![closed()] } else { Vec::new() })
        })
    }
}

impl Hosting for LocalForge {
    fn tracker(&self, by: Author) -> Arc<dyn Tracker> {
        Arc::new(self.by(by))
    }

    fn forge(&self, by: Author) -> Arc<dyn Forge> {
        Arc::new(self.by(by))
    }
}

impl Tracker for LocalForge {
    fn capabilities(&self) -> Capabilities {
        self.capabilities()
    }

    fn whoami(&self) -> Result<Author, ForgeError> {
        Ok(self.by.clone())
    }

    fn item(&self, id: ItemId) -> Result<Option<Arc<Item>>, ForgeError> {
        self.items.item(id)
    }

    fn items(&self, query: Query<'_>) -> Result<Vec<Arc<Item>>, ForgeError> {
        self.query(query, OPEN_ISSUES, |item| item.pull.is_none())
    }

    fn changed_since(&self, since: Time) -> Result<Vec<Arc<Item>>, ForgeError> {
        let mut items = self.items.all()?;
        items.retain(|item| item.updated_at >= since);
        Ok(items)
    }

    fn count_closed(&self) -> Result<u64, ForgeError> {
        self.items.count(CLOSED_ISSUES)
    }

    fn filed(&self, marker: &str) -> Result<Option<ItemId>, ForgeError> {
        self.find(marker)
    }

    fn file(&self, new: &NewItem, marker: Option<&str>) -> Result<FiledItem, ForgeError> {
        let mut whats = vec![ItemChange::IssueOpened {
            title: self.line(text::TITLE, &new.title)?,
            body: text::body(&new.body, text::BODY, |text| self.redact(text))?,
            labels: self.labels(new.labels.iter().map(String::as_str))?,
            marker: marker.map(|marker| self.marker(marker)).transpose()?,
        }];
        if new.is_closed {
            whats.push(ItemChange::Closed { reason: None });
        }
        self.items.open(&self.by, &whats, new.id)
    }

    fn edit(&self, id: ItemId, edit: &Edit) -> Result<Arc<Item>, ForgeError> {
        let title = edit.title.as_deref().map(|title| self.line(text::TITLE, title)).transpose()?;
        let clean = |body: &str| text::body(body, text::BODY, |text| self.redact(text));
        let body = edit.body.as_deref().map(clean).transpose()?;
        self.change(id, |item| {
            if edit.base.as_ref().is_some_and(|base| *base != item.body) {
                let problem = "its text is another by now".to_owned();
                return Err(ForgeError::Conflict { id, problem });
            }
            let title = title.clone().filter(|title| *title != item.title);
            let body = body.clone().filter(|body| *body != item.body);
            let gains_criteria = body
                .as_ref()
                .is_some_and(|body| item.boxes().items.is_empty() && !read_boxes(body).items.is_empty());
            let is_news = item.pull.is_none() && !item.is_capability() && !item.labels.contains(REQUIREMENT);
            let mut whats = Vec::new();
            if title.is_some() || body.is_some() {
                whats.push(ItemChange::Edited { title, body });
            }
            if gains_criteria && is_news {
                let added = BTreeSet::from([REQUIREMENT.to_owned()]);
                whats.push(ItemChange::Labelled { added, removed: BTreeSet::new() });
            }
            Ok(whats)
        })
    }

    fn comment(&self, id: ItemId, text: &str, marker: Option<&str>) -> Result<Arc<Item>, ForgeError> {
        self.add_comment(id, text, marker)
    }

    /// A person who adds `approved` approves, and whoever removes it takes that back.
    fn ensure_labels(&self, id: ItemId, add: &[&str], remove: &[&str]) -> Result<Arc<Item>, ForgeError> {
        let (add, remove) = (self.labels(add.iter().copied())?, self.labels(remove.iter().copied())?);
        let is_person = self.by.actor == Actor::Person;
        self.change(id, |item| {
            // The label may be there without an approval: somebody set it who is no person.
            let is_news = |label: &&String| {
                !item.labels.contains(*label)
                    || (is_person && *label == APPROVED && item.approved_by.is_none())
            };
            let added: BTreeSet<String> = add.iter().filter(is_news).cloned().collect();
            let removed: BTreeSet<String> =
                remove.intersection(&item.labels).filter(|label| !add.contains(*label)).cloned().collect();
            let is_same = added.is_empty() && removed.is_empty();
            Ok(if is_same { Vec::new() } else { vec![ItemChange::Labelled { added, removed }] })
        })
    }

    fn approve(&self, id: ItemId) -> Result<Arc<Item>, ForgeError> {
        check_person(&self.by)?;
        match self.items.item(id)? {
            Some(item) if item.pull.is_some() => Err(Refusal::NotAnIssue { id }.into()),
            Some(_) | None => self.ensure_labels(id, &[APPROVED], &[]),
        }
    }

    fn approval(&self, item: &Item) -> Result<Option<String>, ForgeError> {
        Ok(item.approved_by.clone())
    }

    fn assign(&self, id: ItemId, to: Option<&str>) -> Result<Arc<Item>, ForgeError> {
        let to = to.map(|to| self.line(text::NAME, to)).transpose()?;
        self.change(id, |item| {
            let is_same = item.assignee == to;
            Ok(if is_same { Vec::new() } else { vec![ItemChange::Assigned { to: to.clone() }] })
        })
    }

    fn tick(&self, id: ItemId, criteria: &[String]) -> Result<Arc<Item>, ForgeError> {
        self.change(id, |item| {
            let at = open_boxes(&item.body, criteria);
            let ticked = || ItemChange::Ticked { criteria: criteria.to_vec(), at: at.clone() };
            Ok(if at.is_empty() { Vec::new() } else { vec![ticked()] })
        })
    }

    fn untick(&self, id: ItemId, criteria: &[String]) -> Result<Arc<Item>, ForgeError> {
        self.change(id, |item| {
            let body = without_ticks(&item.body, criteria);
            let is_same = body == item.body;
            Ok(if is_same { Vec::new() } else { vec![ItemChange::Edited { title: None, body: Some(body) }] })
        })
    }

    fn close(&self, id: ItemId, reason: Option<&str>) -> Result<Arc<Item>, ForgeError> {
        self.close_item(id, reason)
    }

    fn reopen(&self, id: ItemId) -> Result<Arc<Item>, ForgeError> {
        self.change(id, |item| {
            if item.pull.as_ref().is_some_and(|pull| pull.merged.is_some()) {
                return Err(Refusal::Merged { id }.into());
            }
            Ok(match item.state {
                ItemState::Open => Vec::new(),
                ItemState::Closed => vec![ItemChange::Reopened],
            })
        })
    }
}

impl LocalForge {
    fn labels<'a>(&self, labels: impl Iterator<Item = &'a str>) -> Result<BTreeSet<String>, ForgeError> {
        labels.map(|label| text::label(label, |text| self.redact(text))).collect()
    }
}

impl Forge for LocalForge {
    fn capabilities(&self) -> Capabilities {
        self.capabilities()
    }

    fn whoami(&self) -> Result<Author, ForgeError> {
        Ok(self.by.clone())
    }

    fn pull(&self, id: ItemId) -> Result<Option<Arc<Item>>, ForgeError> {
        match self.items.item(id)? {
            Some(item) if item.pull.is_none() => Err(Refusal::NotAPull { id }.into()),
            found => Ok(found),
        }
    }

    fn pulls(&self, query: Query<'_>) -> Result<Vec<Arc<Item>>, ForgeError> {
        self.query(query, OPEN_PULLS, |item| item.pull.is_some())
    }

    fn count_closed(&self) -> Result<u64, ForgeError> {
        self.items.count(CLOSED_PULLS)
    }

    fn opened(&self, marker: &str) -> Result<Option<ItemId>, ForgeError> {
        self.find(marker)
    }

    fn ensure_pull(&self, new: &NewPull, marker: &str) -> Result<FiledItem, ForgeError> {
        let what = ItemChange::PullOpened {
            title: self.line(text::TITLE, &new.title)?,
            body: text::body(&new.body, text::BODY, |text| self.redact(text))?,
            marker: Some(self.marker(marker)?),
            pull: Pull {
                branch: self.line(text::BRANCH, &new.branch)?,
                target: self.line(text::TARGET, &new.target)?,
                head: self.line(text::COMMIT, &new.head)?,
                issue: new.issue,
                run: new.run.clone(),
                review: Review::Pending,
                reviewed_by: None,
                merged: None,
                rounds: Vec::new(),
            },
        };
        self.items.open(&self.by, &[what], None)
    }

    fn offer_head(&self, id: ItemId, head: &str, same_as: Option<&str>) -> Result<Arc<Item>, ForgeError> {
        let head = self.line(text::COMMIT, head)?;
        self.change_pull(id, |_, pull| {
            let keeps_review = same_as == Some(pull.head.as_str());
            let moved = || ItemChange::HeadMoved { head: head.clone(), keeps_review };
            Ok(if pull.head == head { Vec::new() } else { vec![moved()] })
        })
    }

    fn comment(&self, id: ItemId, text: &str, marker: Option<&str>) -> Result<Arc<Item>, ForgeError> {
        self.add_comment(id, text, marker)
    }

    fn review(
        &self,
        id: ItemId,
        head: &str,
        review: Review,
        text: Option<&str>,
    ) -> Result<Arc<Item>, ForgeError> {
        let said =
            text.map(|text| text::comment(text, text::COMMENT, |text| self.redact(text))).transpose()?;
        self.change_pull(id, |item, pull| {
            check_head(id, pull, head)?;
            if review == Review::Approved && item.author == self.by {
                return Err(Refusal::OwnPull { id, name: self.by.name.clone() }.into());
            }
            let mut whats = Vec::new();
            if pull.review != review {
                whats.push(ItemChange::Reviewed { review });
            }
            let marker =
                (review == Review::ChangesRequested).then(|| format!("{REQUESTED}{}", item.comments.len()));
            whats.extend(said.clone().map(|text| ItemChange::Commented { text, marker: marker.clone() }));
            Ok(whats)
        })
    }

    fn merge(&self, id: ItemId, merge: &Merge<'_>) -> Result<Arc<Item>, ForgeError> {
        let name = self.capabilities().name;
        let landed = merge.landed.ok_or(Refusal::Unsupported { forge: name, what: "it has no branches" })?;
        let commit = self.line(text::COMMIT, landed)?;
        self.change(id, |item| {
            let pull = item.pull.as_ref().ok_or(Refusal::NotAPull { id })?;
            if pull.merged.is_some() {
                return Ok(Vec::new());
            }
            check_head(id, pull, merge.head)?;
            Ok(vec![ItemChange::Merged { commit: commit.clone() }])
        })
    }

    fn close(&self, id: ItemId, reason: Option<&str>) -> Result<Arc<Item>, ForgeError> {
        self.close_item(id, reason)
    }

    /// It has no branches, so none is left.
    fn ensure_branch_removed(&self, id: ItemId) -> Result<(), ForgeError> {
        Forge::get(self, id).map(drop)
    }

    fn files(&self, id: ItemId) -> Result<Vec<ChangedFile>, ForgeError> {
        Forge::get(self, id)?;
        Err(Refusal::Unsupported { forge: self.capabilities().name, what: "it has no files" }.into())
    }

    /// It protects no branch.
    fn requirements(&self, _: &str) -> Result<Requirements, ForgeError> {
        Ok(Requirements::default())
    }
}

/// Refuses what is about another commit than the one that is offered.
fn check_head(id: ItemId, pull: &Pull, head: &str) -> Result<(), ForgeError> {
    if pull.head == head {
        return Ok(());
    }
    let problem = format!("it offers {} now, and not {head}", pull.head);
    Err(ForgeError::Conflict { id, problem })
}
