//! A project's runs, by their ids: begun, offered events, followed, claimed and decided about.
//!
//! [`Runs`] is one handle on the project's store. What it records takes one path ([`Runs::ask`]): event, needs, probes,
//! step, journal. A run may have no workspace and may be another run's child; what a directory shows of a run, and what can
//! only be looked up there, is behind [`Views`].
//!
//! Invariants:
//! - An event is decided on the run as it stands in the store, and recorded only if nobody recorded another in between.
//! - Two runs never work on one issue or feature at once: a [`Claim`] is a lease, and whoever has lost it records nothing more.
//! - The claim of another machine's process is never taken before it has run out.
//!
//! What is deliberately absent: directories, git and settings files.

mod ask;
mod begin;
mod claim;
mod current;
mod decide;
mod error;
mod find;
mod follow;
mod leases;
#[cfg(test)]
mod tests;
mod views;

use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use adapters::clock::Clock;
use engine::{Record, Workflow};
use journal::{Durable, Fence, FencedStore, Store, StreamId};

pub use ask::Answer;
pub use claim::{Claim, ClaimError};
pub use current::{Current, Shown};
pub use decide::{Decided, Given};
pub use error::{AskError, Error};
pub use follow::{Followed, Follower};
pub use leases::{HOLDS, Leases, RenewedLease};
pub use views::{Views, unseen};

/// A project's runs. Clones are one handle: what is claimed through it fences all that it records.
#[derive(Clone, Debug)]
pub struct Runs(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// The project's store; none while nothing was ever recorded.
    store: OnceLock<Arc<FencedStore>>,
    /// Whether somebody sees to it later that what is recorded is on disk.
    flushes_later: AtomicBool,
    clock: Clock,
    leases: Leases,
    cache: Mutex<Cache>,
}

/// What was read or recorded last: whoever drives a run asks for it several times for one event.
#[derive(Debug, Default)]
struct Cache {
    workflow: Option<Arc<Workflow>>,
    last: Option<Current>,
    newest: Option<Newest>,
}

/// Records of a run without a gap, the first of which has this number.
#[derive(Debug)]
struct Newest {
    stream: StreamId,
    from: u64,
    records: Vec<Arc<Record>>,
}

impl Runs {
    /// Returns a project's runs, before there is a store.
    pub fn new(clock: Clock, leases: Leases) -> Self {
        Self(Arc::new(Shared {
            store: OnceLock::new(),
            flushes_later: AtomicBool::new(false),
            clock,
            leases,
            cache: Mutex::default(),
        }))
    }

    /// Records in this store from now on, unless there is one already; returns the one that there is.
    pub fn use_store(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::clone(self.0.store.get_or_init(|| Arc::new(FencedStore::of(store)))) as Arc<dyn Store>
    }

    /// Returns the project's store; none while nothing was ever recorded.
    pub fn store(&self) -> Option<Arc<dyn Store>> {
        self.0.store.get().map(|store| Arc::clone(store) as Arc<dyn Store>)
    }

    fn stored(&self) -> Result<Arc<dyn Store>, Error> {
        self.store().ok_or(Error::NoStore)
    }

    /// Presents a lease with everything that is recorded and flushed from now on, or none.
    fn set_fence(&self, fence: Option<Fence>) {
        if let Some(store) = self.0.store.get() {
            store.set(fence);
        }
    }

    /// Lets what is recorded wait for the disk until somebody calls [`Runs::flush`].
    pub fn flush_later(&self) {
        self.0.flushes_later.store(true, Ordering::Relaxed);
    }

    /// Sees to it that everything that was recorded is on disk.
    pub fn flush(&self) -> Result<Durable, Error> {
        Ok(self.stored()?.flush()?)
    }

    /// Waits until what was just recorded is on disk, unless somebody does so later.
    pub fn has_recorded(&self) -> Result<(), Error> {
        if !self.0.flushes_later.load(Ordering::Relaxed) {
            self.flush()?;
        }
        Ok(())
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.0.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
