//! Items in the store: a stream for each, its folded state kept beside it.
//!
//! What was read is cached by its version. Whoever asks again, as a session does for the queue and a run for its issue,
//! reads only what has changed. What is decided about an item is not here.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use engine::Time;
use journal::{
    Appended, NewEvent, Query, State, StoreError, StoredEvent, StreamHead, StreamId, StreamView, Streams,
    Version, View,
    streams::{append, retry},
};
use serde::{Deserialize, Serialize};

use super::{
    Host,
    event::{FORMAT, ItemChange, ItemEvent},
};
use crate::{Author, FiledItem, ForgeError, Item, ItemId, ItemState, Refusal, text};

/// How the names of the streams begin. The number that follows has as many digits as the highest one, so that the
/// last name is that of the highest number.
const ITEMS: &str = "item:";
const DIGITS: usize = 9;
const HIGHEST: u64 = 999_999_999;

/// Topics: what is open is found without reading what is closed, and issues without pull requests.
pub(super) const OPEN_ISSUES: &str = "issues:open";
pub(super) const CLOSED_ISSUES: &str = "issues:closed";
pub(super) const OPEN_PULLS: &str = "pulls:open";
pub(super) const CLOSED_PULLS: &str = "pulls:closed";

/// The items in a project's store.
#[derive(Debug)]
pub(super) struct Items {
    pub(super) host: Arc<dyn Host>,
    cache: Mutex<BTreeMap<ItemId, Stored>>,
}

/// An item as it stands in the store.
#[derive(Clone, Debug)]
struct Stored {
    item: Arc<Item>,
    version: Version,
    /// The mark that the stream holds, which it has to present again.
    mark: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Snapshot<I> {
    format: u32,
    item: I,
}

impl Items {
    pub(super) fn new(host: Arc<dyn Host>) -> Self {
        Self { host, cache: Mutex::default() }
    }

    /// Returns an item.
    pub(super) fn item(&self, id: ItemId) -> Result<Option<Arc<Item>>, ForgeError> {
        Ok(self.load(id)?.map(|stored| stored.item))
    }

    /// Returns the items with a topic, oldest first.
    pub(super) fn about(&self, topic: &str) -> Result<Vec<Arc<Item>>, ForgeError> {
        let heads = self.find(Query::Topic(topic))?;
        let ids: BTreeSet<ItemId> = heads.iter().filter_map(|head| id_of(&head.stream)).collect();
        self.cache().retain(|id, stored| topic_of(&stored.item) != topic || ids.contains(id));
        let mut items = Vec::with_capacity(heads.len());
        for head in &heads {
            let Some(id) = id_of(&head.stream) else { continue };
            let stored = match self.cached(id, head) {
                Some(stored) => Some(stored),
                None => self.read(id, &head.stream)?,
            };
            // It may have left the topic in between.
            items.extend(stored.map(|stored| stored.item).filter(|item| topic_of(item) == topic));
        }
        items.sort_by_key(|item| item.id);
        Ok(items)
    }

    /// Returns every item, oldest first.
    pub(super) fn all(&self) -> Result<Vec<Arc<Item>>, ForgeError> {
        self.sorted(Query::Names(ITEMS))
    }

    /// Returns the items whose marker begins like this, oldest first.
    pub(super) fn marked(&self, marker: &str) -> Result<Vec<Arc<Item>>, ForgeError> {
        self.sorted(Query::Marks(&mark(marker)))
    }

    /// Returns how many items have a topic, without reading them.
    pub(super) fn count(&self, topic: &str) -> Result<u64, ForgeError> {
        Ok(self.find(Query::Topic(topic))?.len() as u64)
    }

    /// Returns the item that was filed under a marker.
    pub(super) fn filed(&self, marker: &str) -> Result<Option<ItemId>, ForgeError> {
        let holder = self.find(Query::Mark(&mark(marker)))?.pop();
        Ok(holder.and_then(|head| id_of(&head.stream)))
    }

    /// Files an item under its number or the next one, with what happens to it first, once for the marker of the event
    /// that opens it.
    pub(super) fn open(
        &self,
        by: &Author,
        whats: &[ItemChange],
        wanted: Option<ItemId>,
    ) -> Result<FiledItem, ForgeError> {
        let [what, later @ ..] = whats else { unreachable!("an event opens it") };
        if let Some(id) = wanted.filter(|id| stream(*id).is_none()) {
            return Err(Refusal::Number { id, most: HIGHEST }.into());
        }
        let filed = |id, was_there| FiledItem { id, was_there, url: None };
        if let Some(marker) = what.marker()
            && let Some(id) = self.filed(marker)?
        {
            return Ok(filed(id, true));
        }
        retry(contended(), || {
            let id = match wanted {
                Some(id) => id,
                None => self.next()?,
            };
            let at = self.host.now();
            let mut item = Item::opened(id, at, by, what).expect("it is an event that opens an item");
            later.iter().for_each(|what| item.apply(at, by, what));
            text::check_room(&item)?;
            let mark = what.marker().map(mark);
            let stored = Stored { item: Arc::new(item), version: Version::NONE, mark };
            match self.append(by, &stored, at, whats)? {
                Appended::Done(_) => Ok(Some(filed(id, false))),
                Appended::Moved if wanted.is_some() => Err(Refusal::Taken { id }.into()),
                Appended::Moved => Ok(None),
                Appended::MarkTaken(holder) => Ok(Some(filed(id_of(&holder).ok_or_else(contended)?, true))),
            }
        })
    }

    /// Records what `decide` makes of an item, and returns the item as it is then.
    pub(super) fn change(
        &self,
        by: &Author,
        id: ItemId,
        decide: impl Fn(&Item) -> Result<Vec<ItemChange>, ForgeError>,
    ) -> Result<Arc<Item>, ForgeError> {
        retry(contended(), || {
            let mut stored = self.load(id)?.ok_or(ForgeError::NotThere { id })?;
            let whats = decide(&stored.item)?;
            if whats.is_empty() {
                return Ok(Some(stored.item));
            }
            // A clock that went back does not make an item older.
            let at = self.host.now().max(stored.item.updated_at);
            let item = Arc::make_mut(&mut stored.item);
            for what in &whats {
                item.apply(at, by, what);
            }
            text::check_room(&stored.item)?;
            match self.append(by, &stored, at, &whats)? {
                Appended::Done(version) => {
                    let item = Arc::clone(&stored.item);
                    self.cache().insert(id, Stored { version, ..stored });
                    Ok(Some(item))
                }
                Appended::Moved => Ok(None),
                Appended::MarkTaken(_) => unreachable!("the stream holds the mark already"),
            }
        })
    }

    fn load(&self, id: ItemId) -> Result<Option<Stored>, ForgeError> {
        let Some(stream) = stream(id) else { return Ok(None) };
        let Some(head) = self.find(Query::Stream(&stream))?.pop() else { return Ok(None) };
        match self.cached(id, &head) {
            Some(stored) => Ok(Some(stored)),
            None => self.read(id, &stream),
        }
    }

    fn cached(&self, id: ItemId, head: &StreamHead) -> Option<Stored> {
        self.cache().get(&id).filter(|stored| stored.version == head.version).cloned()
    }

    fn read(&self, id: ItemId, stream: &StreamId) -> Result<Option<Stored>, ForgeError> {
        let Some(store) = self.host.store() else { return Ok(None) };
        let Some(view) = store.load(stream)? else { return Ok(None) };
        let stored = stored(&Streams::of(store), view)?;
        self.cache().insert(id, stored.clone());
        Ok(Some(stored))
    }

    fn cache(&self) -> MutexGuard<'_, BTreeMap<ItemId, Stored>> {
        // Each change of the cache is one call, so it is whole wherever somebody panicked.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the streams that are asked for; none while the project has no store.
    fn find(&self, query: Query<'_>) -> Result<Vec<StreamHead>, ForgeError> {
        self.host.store().map_or(Ok(Vec::new()), |store| Ok(store.find(query)?))
    }

    fn sorted(&self, query: Query<'_>) -> Result<Vec<Arc<Item>>, ForgeError> {
        let Some(store) = self.host.store() else { return Ok(Vec::new()) };
        let views = store.views(query)?;
        let streams = Streams::of(store);
        let items = views.into_iter().map(|view| Ok(stored(&streams, view)?.item));
        let mut items: Vec<Arc<Item>> = items.collect::<Result<_, ForgeError>>()?;
        items.sort_by_key(|item| item.id);
        Ok(items)
    }

    fn next(&self) -> Result<ItemId, ForgeError> {
        let last = self.find(Query::LastName(ITEMS))?.pop();
        let last = last.and_then(|head| id_of(&head.stream)?.number());
        let number = last.unwrap_or(0).saturating_add(1);
        let id = ItemId::from(number);
        if number > HIGHEST { Err(Refusal::Number { id, most: HIGHEST }.into()) } else { Ok(id) }
    }

    fn append(
        &self,
        by: &Author,
        stored: &Stored,
        at: Time,
        whats: &[ItemChange],
    ) -> Result<Appended, ForgeError> {
        let json = "an item can be written as JSON";
        let event = |what: &ItemChange| NewEvent {
            at: at.millis(),
            kind: what.name().to_owned(),
            body: serde_json::to_vec(&ItemEvent { format: FORMAT, by: by.clone(), what: what.clone() })
                .expect(json),
        };
        let events: Vec<NewEvent> = whats.iter().map(event).collect();
        let snapshot = serde_json::to_vec(&Snapshot { format: FORMAT, item: &*stored.item }).expect(json);
        let view =
            View { snapshot: &snapshot, mark: stored.mark.as_deref(), topic: Some(topic_of(&stored.item)) };
        let name = whats.last().map_or("nothing", ItemChange::name);
        let stream = stream(stored.item.id).expect("its id was checked before");
        let store = self.host.ensure_store()?;
        let mut appended = None;
        self.host.around(name, &mut || {
            appended = Some(append(&*store, &stream, &stored.version, &events, view));
        });
        let appended = appended.expect("the host calls it once")?;
        self.host.has_recorded()?;
        Ok(appended)
    }
}

/// Makes an item of what is kept beside its stream, or of its events where that is no use.
fn stored(streams: &Streams<Item>, view: StreamView) -> Result<Stored, ForgeError> {
    let loaded = streams.open(view)?;
    let mut item = loaded.state;
    // Items that are older than the field say it by the marker that they were opened under.
    if let Some(pull) = item.pull.as_mut().filter(|pull| pull.run.is_none()) {
        let marked = loaded.mark.as_deref().and_then(|mark| mark.strip_prefix(FILED)?.strip_prefix("pull:"));
        pull.run = marked.and_then(|marked| Some(marked.split_once(':')?.0.to_owned()));
    }
    Ok(Stored { item: Arc::new(item), version: loaded.version, mark: loaded.mark })
}

impl State for Item {
    type Fold = Option<Self>;
    type Error = ForgeError;

    fn from_snapshot(view: &StreamView) -> Result<Option<Self>, ForgeError> {
        let snapshot: Option<Snapshot<Self>> = serde_json::from_slice(&view.snapshot).ok();
        Ok(snapshot.filter(|snapshot| snapshot.format == FORMAT).map(|snapshot| snapshot.item))
    }

    fn add(fold: &mut Option<Self>, event: &StoredEvent) -> Result<(), ForgeError> {
        let happened: ItemEvent = serde_json::from_slice(&event.body)
            .map_err(|error| unreadable(&event.stream, event.seq, &error.to_string()))?;
        let at = Time::from_millis(event.at);
        match fold {
            Some(item) => item.apply(at, &happened.by, &happened.what),
            None => {
                let id = id_of(&event.stream)
                    .ok_or_else(|| unreadable(&event.stream, event.seq, "its stream has no number"))?;
                *fold = Self::opened(id, at, &happened.by, &happened.what);
            }
        }
        Ok(())
    }

    fn finish(stream: &StreamId, fold: Option<Self>) -> Result<Self, ForgeError> {
        fold.ok_or_else(|| unreadable(stream, 0, "nothing opens it"))
    }
}

impl From<StoreError> for ForgeError {
    fn from(error: StoreError) -> Self {
        Self::unreachable(error)
    }
}

fn unreadable(stream: &StreamId, seq: u64, problem: &str) -> ForgeError {
    let id = id_of(stream).map_or_else(|| stream.to_string(), |id| format!("#{id}"));
    ForgeError::BadAnswer { problem: format!("event {seq} of {id} cannot be read: {problem}") }
}

fn contended() -> ForgeError {
    let why = "events were recorded by others all the time; nothing was done".to_owned();
    ForgeError::Later { until: None, why }
}

/// Returns the stream of an item; none if the id is no number that an item can have here.
fn stream(id: ItemId) -> Option<StreamId> {
    let number = id.number().filter(|number| (1..=HIGHEST).contains(number))?;
    Some(StreamId::parse(format!("{ITEMS}{number:0DIGITS$}")).expect("a number is made of plain characters"))
}

fn id_of(stream: &StreamId) -> Option<ItemId> {
    stream.as_str().strip_prefix(ITEMS)?.parse::<u64>().ok().map(ItemId::from)
}

/// How the marks of items begin.
const FILED: &str = "file:";

fn mark(marker: &str) -> String {
    format!("{FILED}{marker}")
}

fn topic_of(item: &Item) -> &'static str {
    match (&item.pull, item.state) {
        (None, ItemState::Open) => OPEN_ISSUES,
        (None, ItemState::Closed) => CLOSED_ISSUES,
        (Some(_), ItemState::Open) => OPEN_PULLS,
        (Some(_), ItemState::Closed) => CLOSED_PULLS,
    }
}
