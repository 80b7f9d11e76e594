//! A store that lives in memory, for simulation.
//!
//! It keeps the same promises as the file, the hash chain included, and never fails. A clone is a copy of its own:
//! a simulation takes one to go back to.

use std::collections::BTreeMap;

use crate::chain;
use crate::error::{AppendError, LeaseError, StoreError};
use crate::store::{Lease, NewEvent, Store, StoredEvent, StreamId, StreamView, Version, View};

/// A [`Store`] in memory.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    /// Every event, in the order of appending. The position of the first is 1.
    log: Vec<StoredEvent>,
    streams: BTreeMap<StreamId, Stream>,
    leases: BTreeMap<String, Lease>,
    last_generation: u64,
}

#[derive(Debug, Clone)]
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

    fn version(&self, stream: &StreamId) -> Version {
        self.streams.get(stream).map_or(Version::NONE, |stream| stream.view.version.clone())
    }

    fn sorted_views(&self, keep: impl Fn(&StreamView) -> bool) -> Vec<StreamView> {
        let mut views: Vec<StreamView> =
            self.streams.values().map(|stream| &stream.view).filter(|view| keep(view)).cloned().collect();
        views.sort_by_key(|view| std::cmp::Reverse(view.position));
        views
    }

    fn current(&mut self, name: &str, generation: u64) -> Result<&mut Lease, LeaseError> {
        self.leases
            .get_mut(name)
            .filter(|lease| lease.generation == generation)
            .ok_or_else(|| LeaseError::Stale { name: name.into(), generation })
    }
}

impl Store for MemoryStore {
    fn append(
        &mut self,
        stream: &StreamId,
        expected: &Version,
        events: &[NewEvent],
        view: View<'_>,
    ) -> Result<Version, AppendError> {
        let Some(last) = events.last() else { return Err(AppendError::NoEvents) };
        let actual = self.version(stream);
        if actual != *expected {
            return Err(AppendError::Conflict { actual });
        }
        if let Some(mark) = view.mark
            && let Some(holder) = self.find(mark)?.filter(|holder| holder.stream != *stream)
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

    fn view(&mut self, stream: &StreamId) -> Result<Option<StreamView>, StoreError> {
        Ok(self.streams.get(stream).map(|stream| stream.view.clone()))
    }

    fn find(&mut self, mark: &str) -> Result<Option<StreamView>, StoreError> {
        let mut views = self.streams.values().map(|stream| &stream.view);
        Ok(views.find(|view| view.mark.as_deref() == Some(mark)).cloned())
    }

    fn views(&mut self) -> Result<Vec<StreamView>, StoreError> {
        Ok(self.sorted_views(|_| true))
    }

    fn views_about(&mut self, topic: &str) -> Result<Vec<StreamView>, StoreError> {
        Ok(self.sorted_views(|view| view.topic.as_deref() == Some(topic)))
    }

    fn views_marked(&mut self, prefix: &str) -> Result<Vec<StreamView>, StoreError> {
        Ok(self.sorted_views(|view| view.mark.as_ref().is_some_and(|mark| mark.starts_with(prefix))))
    }

    fn views_named(&mut self, prefix: &str) -> Result<Vec<StreamView>, StoreError> {
        Ok(self.sorted_views(|view| view.stream.as_str().starts_with(prefix)))
    }

    fn names(&mut self, prefix: &str) -> Result<Vec<StreamId>, StoreError> {
        Ok(self.views_named(prefix)?.into_iter().map(|view| view.stream).collect())
    }

    fn count_about(&mut self, topic: &str) -> Result<u64, StoreError> {
        Ok(self.views_about(topic)?.len() as u64)
    }

    fn last_named(&mut self, prefix: &str) -> Result<Option<StreamId>, StoreError> {
        Ok(self.streams.keys().rfind(|stream| stream.as_str().starts_with(prefix)).cloned())
    }

    fn read(
        &mut self,
        stream: &StreamId,
        from_seq: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        let from = usize::try_from(from_seq).unwrap_or(usize::MAX);
        let places = self.streams.get(stream).map(|stream| stream.places.as_slice()).unwrap_or_default();
        Ok(places.iter().skip(from).take(limit).map(|place| self.log[*place].clone()).collect())
    }

    fn read_all(&mut self, after_position: u64, limit: usize) -> Result<Vec<StoredEvent>, StoreError> {
        let after = usize::try_from(after_position).unwrap_or(usize::MAX);
        Ok(self.log.iter().skip(after).take(limit).cloned().collect())
    }

    fn last_position(&mut self) -> Result<u64, StoreError> {
        Ok(self.log.len() as u64)
    }

    fn acquire(&mut self, name: &str, owner: &str, now: i64, expires_at: i64) -> Result<Lease, LeaseError> {
        if let Some(held) = self.leases.get_mut(name).filter(|held| now < held.expires_at) {
            if held.owner != owner {
                let (owner, until) = (held.owner.clone(), held.expires_at);
                return Err(LeaseError::Held { name: name.into(), owner, until });
            }
            held.expires_at = expires_at;
            return Ok(held.clone());
        }
        self.last_generation += 1;
        let generation = self.last_generation;
        let lease = Lease { name: name.into(), owner: owner.into(), generation, expires_at };
        self.leases.insert(name.into(), lease.clone());
        Ok(lease)
    }

    fn renew(&mut self, name: &str, generation: u64, expires_at: i64) -> Result<Lease, LeaseError> {
        let lease = self.current(name, generation)?;
        lease.expires_at = expires_at;
        Ok(lease.clone())
    }

    fn release(&mut self, name: &str, generation: u64) -> Result<(), LeaseError> {
        self.current(name, generation)?;
        self.leases.remove(name);
        Ok(())
    }

    fn lease(&mut self, name: &str) -> Result<Option<Lease>, StoreError> {
        Ok(self.leases.get(name).cloned())
    }
}
