//! The port: what a store of events can do, and the words it is asked in.
//!
//! The one idea is optimistic concurrency. A reader gets a [`Version`], an opaque token for what it saw; an append
//! names the version it was decided on and is refused if the stream has moved. Nothing needs two streams to agree.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use thiserror::Error;

use crate::chain::Digest;
use crate::error::{AppendError, LeaseError, StoreError};

/// Limit of retries of a query whose streams changed meanwhile.
const LOOKS: usize = 100;

/// An append-only store of streams of events.
///
/// Any number of threads may use one, and any number of processes the same file.
pub trait Store: fmt::Debug + Send + Sync {
    /// Appends `events` to `stream` and replaces what is kept beside it, if the stream is still at `expected` and the
    /// lease of `fence`, if there is one, is still of that generation.
    ///
    /// All of it happens or none of it, and once it returns it survives the death of the process. A power cut may take it
    /// until [`Store::flush`] has returned, but nothing before it without it. The events of one call form a record: repair
    /// never keeps a part of one.
    fn append_under(
        &self,
        fence: Option<&Fence>,
        stream: &StreamId,
        expected: &Version,
        events: &[NewEvent],
        view: View<'_>,
    ) -> Result<Version, AppendError>;

    /// Appends without a lease: see [`Store::append_under`].
    fn append(
        &self,
        stream: &StreamId,
        expected: &Version,
        events: &[NewEvent],
        view: View<'_>,
    ) -> Result<Version, AppendError> {
        self.append_under(None, stream, expected, events, view)
    }

    /// Returns the view of `stream`, or `None` if the stream does not exist.
    fn load(&self, stream: &StreamId) -> Result<Option<StreamView>, StoreError>;

    /// Returns the heads of the streams that match, without their views.
    fn find(&self, query: Query<'_>) -> Result<Vec<StreamHead>, StoreError>;

    /// Reads up to `limit` events of `scope` in order, after `after` as that scope counts.
    fn read(&self, scope: Scope<'_>, after: u64, limit: usize) -> Result<Vec<StoredEvent>, StoreError>;

    /// Returns the highest position so far: where a reader of new events starts.
    fn last_position(&self) -> Result<u64, StoreError>;

    /// Watches for events of `scope` after `after`, as that scope counts, appended by whatever process.
    fn watch(&self, scope: Scope<'_>, after: u64) -> Result<Box<dyn Watch>, StoreError>;

    /// Calls `listener` after every append of whatever process, until the subscription is dropped.
    ///
    /// It may be called more often, and has to be quick.
    fn subscribe(&self, listener: Listener) -> Result<Subscription, StoreError>;

    /// Takes the lease `name` for `owner` until `expires_at`, if at `now` nobody else holds it.
    ///
    /// An owner who still holds it keeps the generation and gets the new expiry; after expiry or release the
    /// generation is a higher one, whoever takes it. Times are milliseconds since the epoch.
    fn acquire(&self, name: &str, owner: &str, now: i64, expires_at: i64) -> Result<Lease, LeaseError>;

    /// Moves the expiry of the lease `name`, if `generation` is still the current one.
    ///
    /// A lease that ran out but was taken by nobody can be renewed: no other holder can have acted meanwhile.
    fn renew(&self, name: &str, generation: u64, expires_at: i64) -> Result<Lease, LeaseError>;

    /// Releases the lease `name`, if `generation` is still the current one.
    fn release(&self, name: &str, generation: u64) -> Result<(), LeaseError>;

    /// Returns the lease `name` as last taken, run out or not; `None` once it has been released.
    fn lease(&self, name: &str) -> Result<Option<Lease>, StoreError>;

    /// Waits until everything that was appended so far, by whatever process, outlasts a power cut.
    fn flush(&self) -> Result<Durable, StoreError>;

    /// Returns the views of the streams that match.
    fn views(&self, query: Query<'_>) -> Result<Vec<StreamView>, StoreError> {
        let mut views = Vec::new();
        // A mark or a topic may go to another stream in between, but not all the time: then its index is damaged.
        for _ in 0..LOOKS {
            let heads = self.find(query)?;
            let found = heads.iter().filter_map(|head| self.load(&head.stream).transpose());
            views = found.collect::<Result<Vec<_>, _>>()?;
            if views.iter().all(|view| query.is_met_by(view)) {
                return Ok(views);
            }
        }
        views.retain(|view| query.is_met_by(view));
        Ok(views)
    }
}

/// Proof that what was recorded is on disk: whoever acts on the world outside of the store takes one.
///
/// Only [`Store::flush`] gives one out. It says nothing about what is recorded after it.
#[derive(Debug)]
pub struct Durable(());

impl Durable {
    pub(crate) fn new() -> Self {
        Self(())
    }
}

/// Waits for events and returns each once.
pub trait Watch: fmt::Debug + Send {
    /// Waits until there are further events and returns them in order, a batch at most.
    ///
    /// Returns none if `timeout` passes first; with a timeout of zero it does not wait.
    fn wait(&mut self, timeout: Duration) -> Result<Vec<StoredEvent>, StoreError>;
}

/// A callback for appends.
pub type Listener = Arc<dyn Fn() + Send + Sync>;

/// A subscription of a [`Listener`]; dropping it unsubscribes.
#[derive(Debug)]
pub struct Subscription {
    listeners: Weak<Listeners>,
    number: u64,
}

/// The callbacks subscribed to a store.
#[derive(Default)]
pub(crate) struct Listeners {
    all: Mutex<(u64, BTreeMap<u64, Listener>)>,
}

impl Listeners {
    pub(crate) fn add(self: &Arc<Self>, listener: Listener) -> Subscription {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.0 += 1;
        let number = all.0;
        all.1.insert(number, listener);
        Subscription { listeners: Arc::downgrade(self), number }
    }

    pub(crate) fn call(&self) {
        // Called without the lock, so that a listener may use the store.
        let all: Vec<Listener> =
            self.all.lock().unwrap_or_else(PoisonError::into_inner).1.values().cloned().collect();
        all.iter().for_each(|listener| listener());
    }
}

impl fmt::Debug for Listeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listeners")
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(listeners) = self.listeners.upgrade() {
            listeners.all.lock().unwrap_or_else(PoisonError::into_inner).1.remove(&self.number);
        }
    }
}

/// A query for streams. Results are ordered by the latest append, except for the last variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Query<'a> {
    /// This stream: for whoever only wants to know its version.
    Stream(&'a StreamId),
    /// The stream that holds this mark.
    Mark(&'a str),
    /// The streams that hold a mark which begins like this.
    Marks(&'a str),
    /// The streams with this topic.
    Topic(&'a str),
    /// The streams whose names begin like this.
    Names(&'a str),
    /// Of those, the last in alphabetical order, in a time that does not grow with their number: the numbers of issues
    /// are given out by it. A store without an ordered index has to keep that name.
    LastName(&'a str),
}

impl Query<'_> {
    pub(crate) fn is_met_by(&self, view: &StreamView) -> bool {
        match self {
            Self::Stream(stream) => view.stream == **stream,
            Self::Mark(mark) => view.mark.as_deref() == Some(mark),
            Self::Marks(prefix) => view.mark.as_ref().is_some_and(|mark| mark.starts_with(prefix)),
            Self::Topic(topic) => view.topic.as_deref() == Some(topic),
            Self::Names(prefix) | Self::LastName(prefix) => view.stream.as_str().starts_with(prefix),
        }
    }
}

/// The events to read or watch, and how they are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// Every stream of the store, counted by positions. They grow but may skip numbers; `0` comes before every event.
    Store,
    /// One stream, which need not exist yet, counted by its events: after 3 of them comes the one with number 3.
    Stream(&'a StreamId),
}

/// Scope and position of a watch.
#[derive(Debug)]
pub(crate) struct Watched {
    stream: Option<StreamId>,
    after: u64,
}

impl Watched {
    /// The most events that one wait returns; the next one returns the rest.
    const BATCH: usize = 1000;

    pub(crate) fn new(scope: Scope<'_>, after: u64) -> Self {
        let stream = match scope {
            Scope::Store => None,
            Scope::Stream(stream) => Some(stream.clone()),
        };
        Self { stream, after }
    }

    /// Reads the next batch.
    pub(crate) fn read(
        &mut self,
        read: impl FnOnce(Scope<'_>, u64, usize) -> Result<Vec<StoredEvent>, StoreError>,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        let scope = self.stream.as_ref().map_or(Scope::Store, Scope::Stream);
        let events = read(scope, self.after, Self::BATCH)?;
        if let Some(last) = events.last() {
            self.after = if self.stream.is_some() { last.seq + 1 } else { last.position };
        }
        Ok(events)
    }
}

/// The name of a stream: 1 to 200 characters of `A-Z a-z 0-9 . _ : -`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(String);

impl StreamId {
    /// The longest name: it is repeated in every event of the stream.
    const MAX_CHARS: usize = 200;

    /// Checks `name` and wraps it.
    pub fn parse(name: impl Into<String>) -> Result<Self, StreamIdError> {
        let name = name.into();
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
        if let Some(found) = name.chars().find(|c| !u8::try_from(*c).is_ok_and(allowed)) {
            return Err(StreamIdError::Character { name, found });
        }
        match name.len() {
            0 => Err(StreamIdError::Empty),
            1..=Self::MAX_CHARS => Ok(Self(name)),
            chars => Err(StreamIdError::TooLong { chars }),
        }
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for StreamId {
    type Err = StreamIdError;

    fn from_str(name: &str) -> Result<Self, StreamIdError> {
        Self::parse(name)
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StreamId({})", self.0)
    }
}

/// Why a text is not the name of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StreamIdError {
    /// The text is empty.
    #[error("the name of a stream is empty")]
    Empty,
    /// The text is longer than a name may be.
    #[error("the name of a stream has {chars} characters, {} are allowed", StreamId::MAX_CHARS)]
    TooLong {
        /// How long it is.
        chars: usize,
    },
    /// The text has a character that a name may not have.
    #[error("`{}` is not the name of a stream: {found:?} is not allowed", name.escape_debug())]
    Character {
        /// The text.
        name: String,
        /// The first such character.
        found: char,
    },
}

/// What a reader saw of a stream: the token an append has to present.
///
/// It stands for the whole history, not only its length: two streams of ten events each have different versions.
#[derive(Clone, PartialEq, Eq)]
pub struct Version {
    events: u64,
    head: Digest,
}

impl Version {
    /// The version of a stream that does not exist.
    pub const NONE: Self = Self { events: 0, head: Digest::ZERO };

    pub(crate) fn new(events: u64, head: Digest) -> Self {
        Self { events, head }
    }

    /// Returns the number of events in the stream; the next one gets this `seq`.
    pub fn events(&self) -> u64 {
        self.events
    }

    pub(crate) fn head(&self) -> &Digest {
        &self.head
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Version({} events, {:?})", self.events, self.head)
    }
}

/// An event to be appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// When it happened, in milliseconds since the epoch.
    pub at: i64,
    /// What happened, in the past tense.
    pub kind: String,
    /// The rest of it, as JSON text. The store does not look inside.
    pub body: Vec<u8>,
}

/// An event as it stands in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    /// Its place among all events of the store: the later event has the higher one.
    pub position: u64,
    /// Its stream.
    pub stream: StreamId,
    /// Its number in its stream, from 0.
    pub seq: u64,
    /// The `seq` of the last event that was appended together with this one: equal to `seq` where a record ends.
    pub record: u64,
    /// When it happened, in milliseconds since the epoch.
    pub at: i64,
    /// What happened.
    pub kind: String,
    /// The rest of it, as it was given.
    pub body: Vec<u8>,
}

/// What is kept beside a stream so that nobody has to replay it: replaced with every append, atomically.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct View<'a> {
    /// The stream folded up to and including this append, in the caller's own format.
    pub snapshot: &'a [u8],
    /// A name by which [`Query::Mark`] gets at the stream. One stream has it at a time; `None` gives it up.
    pub mark: Option<&'a str>,
    /// What the stream is about, for [`Query::Topic`]. Any number of streams may share it.
    pub topic: Option<&'a str>,
}

/// A stream's version and mark: enough to detect a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamHead {
    /// The stream.
    pub stream: StreamId,
    /// The token for the next append.
    pub version: Version,
    /// The mark it holds.
    pub mark: Option<String>,
}

/// A stream as its last append left it, without its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamView {
    /// The stream.
    pub stream: StreamId,
    /// The token for the next append.
    pub version: Version,
    /// The position of its last event.
    pub position: u64,
    /// The snapshot given with the last append. Empty after a repair that could not keep it: fold the events.
    pub snapshot: Vec<u8>,
    /// The mark it holds.
    pub mark: Option<String>,
    /// Its topic.
    pub topic: Option<String>,
    /// The time of its last event, in milliseconds since the epoch.
    pub updated_at: i64,
}

/// A lease: the exclusive right of one owner to act until it expires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Name of the lease.
    pub name: String,
    /// Who holds it.
    pub owner: String,
    /// Grows with every change of holder and never goes back, so the highest one seen is the one to obey.
    ///
    /// Generations are counted over the whole store: two leases never share one.
    pub generation: u64,
    /// Expiry, in milliseconds since the epoch.
    pub expires_at: i64,
}

/// The lease that its holder acts under: what is appended with it is refused once somebody else has the lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// The lease's name.
    pub name: String,
    /// The generation in which it was taken.
    pub generation: u64,
}

impl Lease {
    /// Returns the fencing token of this lease.
    pub fn fence(&self) -> Fence {
        Fence { name: self.name.clone(), generation: self.generation }
    }
}

impl Fence {
    pub(crate) fn check(&self, current: Option<Lease>) -> Result<(), StoreError> {
        match current {
            Some(lease) if lease.generation == self.generation => Ok(()),
            Some(_) | None => Err(StoreError::Stale { name: self.name.clone(), generation: self.generation }),
        }
    }
}
