//! A store as the holder of a lease sees it.
//!
//! Whoever has lost the lease, because it slept past the lease's end and another took over, can read and nothing else:
//! what it appends is refused, and it gets no [`Durable`] that an act on the world outside takes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{AppendError, LeaseError, StoreError};
use crate::store::{
    Durable, Fence, Lease, Listener, NewEvent, Query, Scope, Store, StoredEvent, StreamHead, StreamId,
    StreamView, Subscription, Version, View, Watch,
};

/// A [`Store`] wrapper that sends its lease with every append and flush, once one is set.
#[derive(Debug)]
pub struct FencedStore {
    store: Arc<dyn Store>,
    fence: Mutex<Option<Fence>>,
}

impl FencedStore {
    /// Wraps a store; no lease is set yet.
    pub fn of(store: Arc<dyn Store>) -> Self {
        Self { store, fence: Mutex::default() }
    }

    /// Sets or clears the lease for later calls.
    pub fn set(&self, fence: Option<Fence>) {
        *self.fence() = fence;
    }

    /// Returns the current lease.
    pub fn get(&self) -> Option<Fence> {
        self.fence().clone()
    }

    fn fence(&self) -> MutexGuard<'_, Option<Fence>> {
        self.fence.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for FencedStore {
    fn append_under(
        &self,
        fence: Option<&Fence>,
        stream: &StreamId,
        expected: &Version,
        events: &[NewEvent],
        view: View<'_>,
    ) -> Result<Version, AppendError> {
        let own = self.get();
        self.store.append_under(fence.or(own.as_ref()), stream, expected, events, view)
    }

    fn load(&self, stream: &StreamId) -> Result<Option<StreamView>, StoreError> {
        self.store.load(stream)
    }

    fn find(&self, query: Query<'_>) -> Result<Vec<StreamHead>, StoreError> {
        self.store.find(query)
    }

    fn read(&self, scope: Scope<'_>, after: u64, limit: usize) -> Result<Vec<StoredEvent>, StoreError> {
        self.store.read(scope, after, limit)
    }

    fn last_position(&self) -> Result<u64, StoreError> {
        self.store.last_position()
    }

    fn watch(&self, scope: Scope<'_>, after: u64) -> Result<Box<dyn Watch>, StoreError> {
        self.store.watch(scope, after)
    }

    fn subscribe(&self, listener: Listener) -> Result<Subscription, StoreError> {
        self.store.subscribe(listener)
    }

    fn acquire(&self, name: &str, owner: &str, now: i64, expires_at: i64) -> Result<Lease, LeaseError> {
        self.store.acquire(name, owner, now, expires_at)
    }

    fn renew(&self, name: &str, generation: u64, expires_at: i64) -> Result<Lease, LeaseError> {
        self.store.renew(name, generation, expires_at)
    }

    fn release(&self, name: &str, generation: u64) -> Result<(), LeaseError> {
        self.store.release(name, generation)
    }

    fn lease(&self, name: &str) -> Result<Option<Lease>, StoreError> {
        self.store.lease(name)
    }

    fn flush(&self) -> Result<Durable, StoreError> {
        let durable = self.store.flush()?;
        if let Some(fence) = self.get() {
            fence.check(self.store.lease(&fence.name)?)?;
        }
        Ok(durable)
    }
}
