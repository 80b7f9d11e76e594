//! A store that lives in memory, for simulation.
//!
//! It keeps the same promises as the file, the hash chain included, and never fails.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::chain;
use crate::error::{AppendError, LeaseError, StoreError};
use crate::store::{
    Durable, Fence, Lease, Listener, Listeners, NewEvent, Query, Scope, Store, StoredEvent, StreamHead,
    StreamId, StreamView, Subscription, Version, View, Watch, Watched,
};

/// A [`Store`] in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    contents: Mutex<Contents>,
    /// Told with every append.
    news: Condvar,
    listeners: Arc<Listeners>,
}

#[derive(Clone, Debug, Default)]
struct Contents {
    /// Every event, in the order of appending. The position of the first is 1.
    log: Vec<StoredEvent>,
    streams: BTreeMap<StreamId, Stream>,
    leases: BTreeMap<String, Lease>,
    last_generation: u64,
}

#[derive(Clone, Debug)]
struct Stream {
    view: StreamView,
    /// Where in the log its events are.
    places: Vec<usize>,
}

impl MemoryStore {
    /// Returns a store without streams.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns another store with what is in this one now: what a crash at this moment would leave.
    pub fn snapshot(&self) -> Self {
        let contents = Mutex::new(self.contents().clone());
        Self { shared: Arc::new(Shared { contents, ..Shared::default() }) }
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.shared.contents()
    }
}

impl Shared {
    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Contents {
    fn append(
        &mut self,
        stream: &StreamId,
        expected: &Version,
        events: &[NewEvent],
        view: View<'_>,
    ) -> Result<Version, AppendError> {
        let Some(last) = events.last() else { return Err(AppendError::NoEvents) };
        let actual = self.streams.get(stream).map_or(Version::NONE, |stream| stream.view.version.clone());
        if actual != *expected {
            return Err(AppendError::Conflict { actual });
        }
        if let Some(mark) = view.mark
            && let Some(holder) = self.find(Query::Mark(mark)).pop().filter(|holder| holder.stream != *stream)
        {
            return Err(AppendError::MarkTaken { mark: mark.into(), holder: holder.stream });
        }
        let extension = chain::extend(stream, expected, events);
        let mut places = self.streams.remove(stream).map(|stream| stream.places).unwrap_or_default();
        for (seq, event) in (extension.first_seq..).zip(events) {
            places.push(self.log.len());
            self.log.push(StoredEvent {
                position: self.log.len() as u64 + 1,
                stream: stream.clone(),
                seq,
                record: extension.record,
                at: event.at,
                kind: event.kind.clone(),
                body: event.body.clone(),
            });
        }
        let view = StreamView {
            stream: stream.clone(),
            version: extension.version.clone(),
            position: self.log.len() as u64,
            snapshot: view.snapshot.to_vec(),
            mark: view.mark.map(Into::into),
            topic: view.topic.map(Into::into),
            updated_at: last.at,
        };
        self.streams.insert(stream.clone(), Stream { view, places });
        Ok(extension.version)
    }

    fn find(&self, query: Query<'_>) -> Vec<StreamHead> {
        let mut views: Vec<&StreamView> =
            self.streams.values().map(|stream| &stream.view).filter(|view| query.is_met_by(view)).collect();
        if let Query::LastName(_) = query {
            // They are in the order of their names.
            views.drain(..views.len().saturating_sub(1));
        } else {
            views.sort_by_key(|view| std::cmp::Reverse(view.position));
        }
        let head = |view: &StreamView| StreamHead {
            stream: view.stream.clone(),
            version: view.version.clone(),
            mark: view.mark.clone(),
        };
        views.into_iter().map(head).collect()
    }

    fn read(&self, scope: Scope<'_>, after: u64, limit: usize) -> Vec<StoredEvent> {
        let after = usize::try_from(after).unwrap_or(usize::MAX);
        match scope {
            Scope::Store => self.log.iter().skip(after).take(limit).cloned().collect(),
            Scope::Stream(stream) => {
                let places = self.streams.get(stream).map(|stream| stream.places.as_slice());
                let places = places.unwrap_or_default().iter().skip(after).take(limit);
                places.map(|place| self.log[*place].clone()).collect()
            }
        }
    }

    fn current(&mut self, name: &str, generation: u64) -> Result<&mut Lease, LeaseError> {
        self.leases
            .get_mut(name)
            .filter(|lease| lease.generation == generation)
            .ok_or_else(|| LeaseError::Stale { name: name.into(), generation })
    }
}

impl Store for MemoryStore {
    fn append_under(
        &self,
        fence: Option<&Fence>,
        stream: &StreamId,
        expected: &Version,
        events: &[NewEvent],
        view: View<'_>,
    ) -> Result<Version, AppendError> {
        let mut contents = self.contents();
        if let Some(fence) = fence {
            fence.check(contents.leases.get(&fence.name).cloned())?;
        }
        let version = contents.append(stream, expected, events, view)?;
        drop(contents);
        self.shared.news.notify_all();
        self.shared.listeners.call();
        Ok(version)
    }

    fn load(&self, stream: &StreamId) -> Result<Option<StreamView>, StoreError> {
        Ok(self.contents().streams.get(stream).map(|stream| stream.view.clone()))
    }

    fn find(&self, query: Query<'_>) -> Result<Vec<StreamHead>, StoreError> {
        Ok(self.contents().find(query))
    }

    fn read(&self, scope: Scope<'_>, after: u64, limit: usize) -> Result<Vec<StoredEvent>, StoreError> {
        Ok(self.contents().read(scope, after, limit))
    }

    fn last_position(&self) -> Result<u64, StoreError> {
        Ok(self.contents().log.len() as u64)
    }

    fn watch(&self, scope: Scope<'_>, after: u64) -> Result<Box<dyn Watch>, StoreError> {
        let watched = Watched::new(scope, after);
        Ok(Box::new(MemoryWatch { shared: Arc::clone(&self.shared), watched }))
    }

    fn subscribe(&self, listener: Listener) -> Result<Subscription, StoreError> {
        Ok(self.shared.listeners.add(listener))
    }

    fn acquire(&self, name: &str, owner: &str, now: i64, expires_at: i64) -> Result<Lease, LeaseError> {
        let mut contents = self.contents();
        if let Some(held) = contents.leases.get_mut(name).filter(|held| now < held.expires_at) {
            if held.owner != owner {
                let (owner, until) = (held.owner.clone(), held.expires_at);
                return Err(LeaseError::Held { name: name.into(), owner, until });
            }
            held.expires_at = expires_at;
            return Ok(held.clone());
        }
        contents.last_generation += 1;
        let generation = contents.last_generation;
        let lease = Lease { name: name.into(), owner: owner.into(), generation, expires_at };
        contents.leases.insert(name.into(), lease.clone());
        Ok(lease)
    }

    fn renew(&self, name: &str, generation: u64, expires_at: i64) -> Result<Lease, LeaseError> {
        let mut contents = self.contents();
        let lease = contents.current(name, generation)?;
        lease.expires_at = expires_at;
        Ok(lease.clone())
    }

    fn release(&self, name: &str, generation: u64) -> Result<(), LeaseError> {
        let mut contents = self.contents();
        contents.current(name, generation)?;
        contents.leases.remove(name);
        Ok(())
    }

    fn lease(&self, name: &str) -> Result<Option<Lease>, StoreError> {
        Ok(self.contents().leases.get(name).cloned())
    }

    /// Nothing of it outlasts the process, so there is nothing to wait for.
    fn flush(&self) -> Result<Durable, StoreError> {
        Ok(Durable::new())
    }
}

#[derive(Debug)]
struct MemoryWatch {
    shared: Arc<Shared>,
    watched: Watched,
}

impl Watch for MemoryWatch {
    fn wait(&mut self, timeout: Duration) -> Result<Vec<StoredEvent>, StoreError> {
        let started = Instant::now();
        let mut contents = self.shared.contents();
        loop {
            let events = self.watched.read(|scope, after, limit| Ok(contents.read(scope, after, limit)))?;
            let left = timeout.saturating_sub(started.elapsed());
            if !events.is_empty() || left.is_zero() {
                return Ok(events);
            }
            let woken = self.shared.news.wait_timeout(contents, left);
            contents = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
