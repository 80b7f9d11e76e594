//! Items in the store: streams, numbers, snapshots.
//!
//! A workspace keeps the items that it has read with their versions. Whoever asks again, as a session does for the queue
//! and a run for its issue, reads only what has changed.

use std::{collections::BTreeMap, sync::Arc};

use adapters::{boundary, machine};
use engine::Time;
use journal::{
    Appended, NewEvent, Query, State, StoreError, StoredEvent, StreamId, StreamView, Streams, Version, View,
    streams::{append, retry},
};
use serde::{Deserialize, Serialize};

use super::{
    Filed, Forge, ForgeError, Item, ItemState,
    item::{FORMAT, Happened, What},
    text,
};
use crate::Error;

/// How the names of the streams begin. The number that follows has as many digits as the highest one, so that the
/// last name is that of the highest number.
const ITEMS: &str = "item:";
const DIGITS: usize = 9;
const HIGHEST: u64 = 999_999_999;

/// Topics: what is open is found without reading what is closed, and issues without pull requests.
pub(super) const OPEN_ISSUES: &str = "issues:open";
const CLOSED_ISSUES: &str = "issues:closed";
const OPEN_PULLS: &str = "pulls:open";
const CLOSED_PULLS: &str = "pulls:closed";

/// An item as it stands in the store.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(super) item: Arc<Item>,
    version: Version,
    /// The mark that the stream holds, which it has to present again.
    mark: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Snapshot<I> {
    format: u32,
    item: I,
}

impl Forge<'_> {
    /// Returns the open issues and pull requests, oldest first.
    pub fn open_items(&mut self) -> Result<Vec<Arc<Item>>, ForgeError> {
        let mut items = self.about(OPEN_ISSUES)?;
        items.extend(self.about(OPEN_PULLS)?);
        items.sort_by_key(|item| item.number);
        Ok(items)
    }

    /// Returns the open pull requests, oldest first.
    pub fn open_pulls(&mut self) -> Result<Vec<Arc<Item>>, ForgeError> {
        self.about(OPEN_PULLS)
    }

    /// Returns every issue and pull request, oldest first.
    pub fn all_items(&mut self) -> Result<Vec<Arc<Item>>, ForgeError> {
        let views = self.workspace.views(Query::Names(ITEMS))?;
        self.sorted(views)
    }

    /// Returns those that were filed with a marker that begins like this, oldest first.
    pub(crate) fn filed_as(&mut self, marker: &str) -> Result<Vec<Arc<Item>>, ForgeError> {
        let views = self.workspace.views(Query::Marks(&mark(marker)))?;
        self.sorted(views)
    }

    /// Returns how many issues are closed, without reading them.
    pub fn closed_issues(&mut self) -> Result<u64, ForgeError> {
        self.count(CLOSED_ISSUES)
    }

    /// Returns how many pull requests are closed, without reading them.
    pub fn closed_pulls(&mut self) -> Result<u64, ForgeError> {
        self.count(CLOSED_PULLS)
    }

    fn count(&mut self, topic: &str) -> Result<u64, ForgeError> {
        Ok(self.workspace.find(Query::Topic(topic))?.len() as u64)
    }

    pub(super) fn about(&mut self, topic: &str) -> Result<Vec<Arc<Item>>, ForgeError> {
        let heads = self.workspace.find(Query::Topic(topic))?;
        let versions: BTreeMap<u64, Version> =
            heads.into_iter().filter_map(|head| Some((number_of(&head.stream)?, head.version))).collect();
        let items = &mut self.workspace.items;
        items.retain(|number, kept| topic_of(&kept.item) != topic || versions.contains_key(number));
        let is_news = |(number, version): &(&u64, &Version)| {
            items.get(number).is_none_or(|known| known.version != **version)
        };
        let news: Vec<u64> = versions.iter().filter(is_news).map(|(number, _)| *number).collect();
        for number in news {
            self.load(number)?;
        }
        let known = self.workspace.items.values().map(|kept| &kept.item);
        Ok(known.filter(|item| topic_of(item) == topic).cloned().collect())
    }

    fn sorted(&mut self, views: Vec<StreamView>) -> Result<Vec<Arc<Item>>, ForgeError> {
        let mut items = Vec::with_capacity(views.len());
        for view in views {
            items.push(self.read(view)?.item);
        }
        items.sort_by_key(|item| item.number);
        Ok(items)
    }

    pub(super) fn load(&mut self, number: u64) -> Result<Option<Kept>, ForgeError> {
        let Some(store) = self.workspace.store.clone() else { return Ok(None) };
        if !(1..=HIGHEST).contains(&number) {
            return Ok(None);
        }
        let stream = stream(number);
        if let Some(known) = self.workspace.items.get(&number)
            && let Some(head) = store.find(Query::Stream(&stream))?.pop()
            && head.version == known.version
        {
            return Ok(Some(known.clone()));
        }
        let Some(view) = store.load(&stream)? else { return Ok(None) };
        let kept = self.read(view)?;
        self.workspace.items.insert(number, kept.clone());
        Ok(Some(kept))
    }

    pub(super) fn find(&mut self, marker: &str) -> Result<Option<u64>, ForgeError> {
        let holder = self.workspace.find(Query::Mark(&mark(marker)))?.pop();
        Ok(holder.and_then(|head| number_of(&head.stream)))
    }

    fn read(&mut self, view: StreamView) -> Result<Kept, ForgeError> {
        let loaded = Streams::<Item>::of(self.workspace.store()?).open(view)?;
        Ok(Kept { item: Arc::new(loaded.state), version: loaded.version, mark: loaded.mark })
    }

    /// Files an item under its number or the next one, with what happened to it first.
    pub(super) fn open(&mut self, whats: &[What], wanted: Option<u64>) -> Result<Filed, ForgeError> {
        if let Some(number) = wanted.filter(|number| !(1..=HIGHEST).contains(number)) {
            return Err(ForgeError::Number { number, most: HIGHEST });
        }
        self.workspace.store()?;
        let [what, later @ ..] = whats else { unreachable!("an event opens it") };
        let mark = what.marker().map(mark);
        if let Some(marker) = what.marker()
            && let Some(number) = self.find(marker)?
        {
            return Ok(Filed { number, was_there: true });
        }
        retry(Error::Contended, || {
            let number = match wanted {
                Some(number) => number,
                None => self.next_number()?,
            };
            let at = machine::now();
            let mut item =
                Item::opened(number, at, &self.by, what).expect("it is an event that opens an item");
            later.iter().for_each(|what| item.apply(at, &self.by, what));
            let kept = Kept { item: Arc::new(item), version: Version::NONE, mark: mark.clone() };
            match self.append(&kept, at, whats)? {
                Appended::Done(_) => Ok(Some(Filed { number, was_there: false })),
                Appended::Moved if wanted.is_some() => Err(ForgeError::Taken { number }),
                Appended::Moved => Ok(None),
                Appended::MarkTaken(holder) => {
                    let number = number_of(&holder).ok_or(Error::Contended)?;
                    Ok(Some(Filed { number, was_there: true }))
                }
            }
        })
    }

    fn next_number(&mut self) -> Result<u64, ForgeError> {
        let last = self.workspace.find(Query::LastName(ITEMS))?.pop();
        let number = last.and_then(|head| number_of(&head.stream)).unwrap_or(0).saturating_add(1);
        if number > HIGHEST { Err(ForgeError::Number { number, most: HIGHEST }) } else { Ok(number) }
    }

    /// Records what `decide` makes of an item, and returns the item as it is then.
    pub(super) fn change(
        &mut self,
        number: u64,
        decide: impl Fn(&Item) -> Result<Vec<What>, ForgeError>,
    ) -> Result<Arc<Item>, ForgeError> {
        retry(Error::Contended, || {
            let mut kept = self.load(number)?.ok_or(ForgeError::Missing { number })?;
            let whats = decide(&kept.item)?;
            if whats.is_empty() {
                return Ok(Some(kept.item));
            }
            // A clock that went back does not make an item older.
            let at = machine::now().max(kept.item.updated_at);
            let item = Arc::make_mut(&mut kept.item);
            for what in &whats {
                item.apply(at, &self.by, what);
            }
            text::check_room(&kept.item)?;
            match self.append(&kept, at, &whats)? {
                Appended::Done(version) => {
                    let item = Arc::clone(&kept.item);
                    self.workspace.items.insert(number, Kept { version, ..kept });
                    Ok(Some(item))
                }
                Appended::Moved => Ok(None),
                Appended::MarkTaken(_) => unreachable!("the stream holds the mark already"),
            }
        })
    }

    fn append(&mut self, kept: &Kept, at: Time, whats: &[What]) -> Result<Appended, Error> {
        let json = "an item can be written as JSON";
        let event = |what: &What| NewEvent {
            at: at.millis(),
            kind: what.name().to_owned(),
            body: serde_json::to_vec(&Happened { format: FORMAT, by: self.by.clone(), what: what.clone() })
                .expect(json),
        };
        let events: Vec<NewEvent> = whats.iter().map(event).collect();
        let snapshot = serde_json::to_vec(&Snapshot { format: FORMAT, item: &*kept.item }).expect(json);
        let view =
            View { snapshot: &snapshot, mark: kept.mark.as_deref(), topic: Some(topic_of(&kept.item)) };
        let name = whats.last().map_or("nothing", What::name);
        let (store, stream) = (self.workspace.store()?, stream(kept.item.number));
        let appended = boundary::around(name, || append(&*store, &stream, &kept.version, &events, view))?;
        self.workspace.has_recorded()?;
        Ok(appended)
    }
}

impl State for Item {
    type Fold = Option<Self>;
    type Error = ForgeError;

    fn from_snapshot(view: &StreamView) -> Result<Option<Self>, ForgeError> {
        let snapshot: Option<Snapshot<Self>> = serde_json::from_slice(&view.snapshot).ok();
        Ok(snapshot.filter(|snapshot| snapshot.format == FORMAT).map(|snapshot| snapshot.item))
    }

    fn add(fold: &mut Option<Self>, event: &StoredEvent) -> Result<(), ForgeError> {
        let number = number_of(&event.stream).unwrap_or_default();
        let bad = |error: serde_json::Error| ForgeError::Event {
            number,
            seq: event.seq,
            problem: error.to_string(),
        };
        let happened: Happened = serde_json::from_slice(&event.body).map_err(bad)?;
        let at = Time::from_millis(event.at);
        match fold {
            Some(item) => item.apply(at, &happened.by, &happened.what),
            None => *fold = Self::opened(number, at, &happened.by, &happened.what),
        }
        Ok(())
    }

    fn finish(stream: &StreamId, fold: Option<Self>) -> Result<Self, ForgeError> {
        let number = number_of(stream).unwrap_or_default();
        fold.ok_or_else(|| ForgeError::Event { number, seq: 0, problem: "nothing opens it".to_owned() })
    }
}

impl From<StoreError> for ForgeError {
    fn from(error: StoreError) -> Self {
        Error::from(error).into()
    }
}

fn stream(number: u64) -> StreamId {
    StreamId::parse(format!("{ITEMS}{number:0DIGITS$}")).expect("a number is made of plain characters")
}

fn number_of(stream: &StreamId) -> Option<u64> {
    stream.as_str().strip_prefix(ITEMS)?.parse().ok()
}

fn mark(marker: &str) -> String {
    format!("file:{marker}")
}

fn topic_of(item: &Item) -> &'static str {
    match (&item.pull, item.state) {
        (None, ItemState::Open) => OPEN_ISSUES,
        (None, ItemState::Closed) => CLOSED_ISSUES,
        (Some(_), ItemState::Open) => OPEN_PULLS,
        (Some(_), ItemState::Closed) => CLOSED_PULLS,
    }
}
