//! The leases that this process holds, renewed by one thread for as long as their holders live: a job may take longer than
//! a lease.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use adapters::clock::{Bell, Clock, Woken, after};
use journal::{Fence, Lease, LeaseError, Store, StoreError};

/// Duration of a lease between renewals.
pub const HOLDS: Duration = Duration::from_secs(120);
/// How often it is renewed.
const RENEWED: Duration = Duration::from_secs(30);

/// Renews the leases of this process in a thread.
#[derive(Clone, Debug)]
pub struct Leases(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    held: BTreeMap<u64, HeldLease>,
    last: u64,
    /// Rung when the last lease is given up, while there is a thread.
    bell: Option<Bell>,
}

struct HeldLease {
    store: Arc<dyn Store>,
    fence: Fence,
    is_lost: Arc<AtomicBool>,
}

impl fmt::Debug for HeldLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fence.fmt(f)
    }
}

/// A lease that is renewed until dropped, then released.
#[derive(Debug)]
pub struct RenewedLease {
    leases: Leases,
    number: u64,
    store: Arc<dyn Store>,
    fence: Fence,
    is_lost: Arc<AtomicBool>,
}

impl Leases {
    /// Returns leases that are renewed by this clock.
    pub fn new(clock: Clock) -> Self {
        Self(Arc::new(Shared { clock, state: Mutex::default() }))
    }

    /// Returns whether this process holds the lease of that name.
    pub fn holds(&self, name: &str) -> bool {
        self.0.state().held.values().any(|held| held.fence.name == name)
    }

    /// Starts to renew a lease.
    pub fn renew(&self, store: Arc<dyn Store>, lease: &Lease) -> RenewedLease {
        let (fence, is_lost) = (lease.fence(), Arc::new(AtomicBool::new(false)));
        let mut state = self.0.state();
        state.last += 1;
        let number = state.last;
        let held =
            HeldLease { store: Arc::clone(&store), fence: fence.clone(), is_lost: Arc::clone(&is_lost) };
        state.held.insert(number, held);
        if state.bell.is_none() {
            let bell = self.0.clock.bell();
            let (shared, heard, busy) = (Arc::clone(&self.0), bell.clone(), self.0.clock.enter());
            let builder = thread::Builder::new().name("leases".to_owned());
            let begun = builder.spawn(move || {
                let _busy = busy;
                shared.follow(&heard);
            });
            // Without it the lease runs out: then whoever takes it over is told, and so is its holder.
            state.bell = begun.is_ok().then_some(bell);
        }
        drop(state);
        RenewedLease { leases: self.clone(), number, store, fence, is_lost }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Renews until no lease is held.
    fn follow(&self, bell: &Bell) {
        loop {
            let due = after(self.clock.now(), RENEWED);
            let woken = bell.wait(Some(due));
            let mut state = self.state();
            if state.held.is_empty() {
                state.bell = None;
                return;
            }
            if woken == Woken::Rung {
                continue;
            }
            let until = after(self.clock.now(), HOLDS).millis();
            for held in state.held.values() {
                match held.store.renew(&held.fence.name, held.fence.generation, until) {
                    Err(LeaseError::Stale { .. } | LeaseError::Held { .. }) => {
                        held.is_lost.store(true, Ordering::Relaxed);
                    }
                    // A store that fails now may answer before the lease runs out.
                    Ok(_) | Err(LeaseError::Store(_)) => {}
                }
            }
        }
    }
}

impl RenewedLease {
    /// Returns the fencing token.
    pub fn fence(&self) -> &Fence {
        &self.fence
    }

    /// Returns whether another owner took the lease.
    pub fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    /// Releases the lease, unless another owner took it.
    pub fn release(self) -> Result<(), StoreError> {
        self.give_back()
    }

    fn give_back(&self) -> Result<(), StoreError> {
        if self.is_lost.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        match self.store.release(&self.fence.name, self.fence.generation) {
            Err(LeaseError::Store(error)) => Err(error),
            Ok(()) | Err(LeaseError::Stale { .. } | LeaseError::Held { .. }) => Ok(()),
        }
    }
}

impl Drop for RenewedLease {
    fn drop(&mut self) {
        let mut state = self.leases.0.state();
        state.held.remove(&self.number);
        if state.held.is_empty()
            && let Some(bell) = &state.bell
        {
            bell.ring();
        }
        drop(state);
        // One that cannot be given back runs out.
        let _ = self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use journal::MemoryStore;

    use super::*;

    #[test]
    fn a_lease_is_held_for_as_long_as_a_job_takes_and_a_lost_one_is_noticed() {
        let clock = Clock::simulated();
        let leases = Leases::new(clock.clone());
        let _busy = clock.enter();
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let take = |owner| {
            let now = clock.now();
            store.acquire("issue:1", owner, now.millis(), after(now, HOLDS).millis())
        };
        let renewed = leases.renew(Arc::clone(&store), &take("one").unwrap());
        clock.pause(Duration::from_secs(3600));
        assert!(matches!(take("two"), Err(LeaseError::Held { .. })));
        store.release("issue:1", renewed.fence().generation).unwrap();
        let lease = take("two").unwrap();
        clock.pause(RENEWED);
        clock.pause(RENEWED);
        assert!(renewed.is_lost());
        drop(renewed);
        assert!(!leases.holds("issue:1"));
        assert_eq!(store.lease("issue:1").unwrap().as_ref(), Some(&lease), "it is another's by now");
        drop(leases.renew(Arc::clone(&store), &lease));
        assert_eq!(store.lease("issue:1").unwrap(), None);
    }
}
