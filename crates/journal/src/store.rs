//! The port: what a store of events can do, and the words it is asked in.
//!
//! The one idea is optimistic concurrency. A reader gets a [`Version`], an opaque token for what it saw; an append
//! names the version it was decided on and is refused if the stream has moved. Nothing needs two streams to agree.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::chain::Digest;
use crate::error::{AppendError, LeaseError, StoreError};

/// An append-only store of streams of events.
///
/// Methods take `&mut self`: one holder, one connection. Any number of stores may be open on the same file, in
/// any number of processes.
pub trait Store {
    /// Appends `events` to `stream` and replaces what is kept beside it, if the stream is still at `expected`.
    ///
    /// All of it happens or none of it. The events of one call form a record: repair never keeps a part of one.
    fn append(
        &mut self,
        stream: &StreamId,
        expected: &Version,
        events: &[NewEvent],
        view: View<'_>,
    ) -> Result<Version, AppendError>;

    /// Returns what is kept beside `stream`, or `None` if the stream does not exist.
    fn view(&mut self, stream: &StreamId) -> Result<Option<StreamView>, StoreError>;

    /// Returns the stream that holds `mark`.
    fn find(&mut self, mark: &str) -> Result<Option<StreamView>, StoreError>;

    /// Returns every stream, the most recently appended to first.
    fn views(&mut self) -> Result<Vec<StreamView>, StoreError>;

    /// Returns the streams with this topic, the most recently appended to first.
    fn views_about(&mut self, topic: &str) -> Result<Vec<StreamView>, StoreError>;

    /// Returns the streams that hold a mark which begins with `prefix`, the most recently appended to first.
    fn views_marked(&mut self, prefix: &str) -> Result<Vec<StreamView>, StoreError>;

    /// Returns the streams whose names begin with `prefix`, the most recently appended to first.
    fn views_named(&mut self, prefix: &str) -> Result<Vec<StreamView>, StoreError>;

    /// Returns the names that begin with `prefix`, that of the most recently appended to first, without reading the streams.
    fn names(&mut self, prefix: &str) -> Result<Vec<StreamId>, StoreError>;

    /// Returns how many streams have this topic, without reading them.
    fn count_about(&mut self, topic: &str) -> Result<u64, StoreError>;

    /// Returns the last in alphabetical order of the streams whose names begin with `prefix`.
    fn last_named(&mut self, prefix: &str) -> Result<Option<StreamId>, StoreError>;

    /// Reads up to `limit` events of `stream` in order, beginning with number `from_seq`.
    fn read(
        &mut self,
        stream: &StreamId,
        from_seq: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError>;

    /// Reads up to `limit` events of all streams in the order they were appended, after `after_position`.
    ///
    /// Positions grow but may skip numbers; `0` comes before every event.
    fn read_all(&mut self, after_position: u64, limit: usize) -> Result<Vec<StoredEvent>, StoreError>;

    /// Returns the highest position given out so far: where a reader who wants only what comes next begins.
    fn last_position(&mut self) -> Result<u64, StoreError>;

    /// Takes the lease `name` for `owner` until `expires_at`, if at `now` nobody else holds it.
    ///
    /// An owner who still holds it keeps the generation and gets the new expiry; after expiry or release the
    /// generation is a higher one, whoever takes it. Times are milliseconds since the epoch.
    fn acquire(&mut self, name: &str, owner: &str, now: i64, expires_at: i64) -> Result<Lease, LeaseError>;

    /// Moves the expiry of the lease `name`, if `generation` is still the current one.
    ///
    /// A lease that ran out but was taken by nobody can be renewed: no other holder can have acted meanwhile.
    fn renew(&mut self, name: &str, generation: u64, expires_at: i64) -> Result<Lease, LeaseError>;

    /// Gives the lease `name` back, if `generation` is still the current one.
    fn release(&mut self, name: &str, generation: u64) -> Result<(), LeaseError>;

    /// Returns the lease `name` as last taken, run out or not; `None` once it has been released.
    fn lease(&mut self, name: &str) -> Result<Option<Lease>, StoreError>;
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
    /// A name by which [`Store::find`] gets at the stream. One stream has it at a time; `None` gives it up.
    pub mark: Option<&'a str>,
    /// What the stream is about, for [`Store::views_about`]. Any number of streams may share it.
    pub topic: Option<&'a str>,
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

/// A lease: the right of one owner to act, until a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// What it is a lease of.
    pub name: String,
    /// Who holds it.
    pub owner: String,
    /// Grows with every change of holder and never goes back, so the highest one seen is the one to obey.
    ///
    /// Generations are counted over the whole store: two leases never share one.
    pub generation: u64,
    /// When it runs out, in milliseconds since the epoch.
    pub expires_at: i64,
}
