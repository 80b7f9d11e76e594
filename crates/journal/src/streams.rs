//! Streams whose events fold into a state: load it, decide on it, append if nobody else did, or decide again.

use std::marker::PhantomData;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::error::{AppendError, StoreError};
use crate::store::{NewEvent, Scope, Store, StoredEvent, StreamId, StreamView, Version, View};

/// How many events are read at a time.
const PAGE: usize = 1000;

/// Limit of retries after conflicts; with the pauses, some 15 seconds.
const TRIES: usize = 2000;

/// How long one who was not the fastest lets the others go first: at first, and at most.
const SHORTEST_PAUSE: Duration = Duration::from_micros(100);
const LONGEST_PAUSE: Duration = Duration::from_millis(8);

/// A state that the events of a stream fold into.
pub trait State: Sized {
    /// The accumulator of the fold.
    type Fold: Default;
    /// Why there is none.
    type Error: From<StoreError>;

    /// Reads the state from what is kept beside the stream; `None` if that is of no use, and the events have to be folded.
    fn from_snapshot(view: &StreamView) -> Result<Option<Self>, Self::Error>;

    /// Applies one event to the accumulator.
    fn add(fold: &mut Self::Fold, event: &StoredEvent) -> Result<(), Self::Error>;

    /// Builds the state once all events are applied.
    fn finish(stream: &StreamId, fold: Self::Fold) -> Result<Self, Self::Error>;
}

/// A loaded state, with the version that an append must expect.
#[derive(Debug, Clone)]
pub struct Loaded<T> {
    /// The state.
    pub state: T,
    /// The version that it is the state of.
    pub version: Version,
    /// The mark that the stream holds.
    pub mark: Option<String>,
}

/// Result of an append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Appended {
    /// It is recorded, and this is the stream's version.
    Done(Version),
    /// The stream has moved on.
    Moved,
    /// This stream holds the mark.
    MarkTaken(StreamId),
}

/// The streams of a store that fold into `T`.
#[derive(Debug)]
pub struct Streams<T> {
    store: Arc<dyn Store>,
    state: PhantomData<fn() -> T>,
}

impl<T: State> Streams<T> {
    /// Returns the streams of a store.
    pub fn of(store: Arc<dyn Store>) -> Self {
        Self { store, state: PhantomData }
    }

    /// Returns the state of a stream, if there is one.
    pub fn load(&self, stream: &StreamId) -> Result<Option<Loaded<T>>, T::Error> {
        self.store.load(stream)?.map(|view| self.open(view)).transpose()
    }

    /// Returns the state from the view's snapshot, or folds the events if the snapshot cannot be used.
    pub fn open(&self, view: StreamView) -> Result<Loaded<T>, T::Error> {
        let state = match T::from_snapshot(&view)? {
            Some(state) => state,
            None => {
                let mut fold = T::Fold::default();
                let add = |event: &StoredEvent| T::add(&mut fold, event);
                read_all(&*self.store, &view.stream, 0, view.version.events(), add)?;
                T::finish(&view.stream, fold)?
            }
        };
        Ok(Loaded { state, version: view.version, mark: view.mark })
    }
}

/// Reads the events of a stream from number `from` up to number `to`.
pub fn read_all<E: From<StoreError>>(
    store: &dyn Store,
    stream: &StreamId,
    from: u64,
    to: u64,
    mut visit: impl FnMut(&StoredEvent) -> Result<(), E>,
) -> Result<(), E> {
    let mut next = from;
    while next < to {
        let left = usize::try_from(to - next).unwrap_or(PAGE);
        let page = store.read(Scope::Stream(stream), next, left.min(PAGE))?;
        // A store has the events that it has told of, or it is damaged and says so.
        let Some(last) = page.last() else { return Ok(()) };
        next = last.seq + 1;
        page.iter().try_for_each(&mut visit)?;
    }
    Ok(())
}

/// Appends events to a stream, if it is unchanged.
pub fn append(
    store: &dyn Store,
    stream: &StreamId,
    expected: &Version,
    events: &[NewEvent],
    view: View<'_>,
) -> Result<Appended, StoreError> {
    match store.append(stream, expected, events, view) {
        Ok(version) => Ok(Appended::Done(version)),
        Err(AppendError::Conflict { .. }) => Ok(Appended::Moved),
        Err(AppendError::MarkTaken { holder, .. }) => Ok(Appended::MarkTaken(holder)),
        Err(AppendError::Store(error)) => Err(error),
        Err(AppendError::NoEvents) => unreachable!("whoever appends has decided on something"),
    }
}

/// Calls `decide` until it returns something: it returns nothing where others were faster. If they are all the time, the error
/// is `contended`.
pub fn retry<R, E>(
    contended: impl Into<E>,
    mut decide: impl FnMut() -> Result<Option<R>, E>,
) -> Result<R, E> {
    let mut pause = SHORTEST_PAUSE;
    for _ in 0..TRIES {
        if let Some(decided) = decide()? {
            return Ok(decided);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    Err(contended.into())
}
