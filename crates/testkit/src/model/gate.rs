//! A gate that answers wait at until a test opens it.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Holds every answer that comes to it, until it is opened or the model is dropped.
#[derive(Debug, Clone, Default)]
pub struct Gate {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_open: bool,
    is_over: bool,
    reached: usize,
}

impl Gate {
    /// Makes a gate that is shut.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets everything through, what waits and what is to come.
    pub fn open(&self) {
        self.change(|state| state.is_open = true);
    }

    /// Waits until `count` answers have come to the gate, all that is before it already sent; says whether it came to
    /// that in time.
    #[must_use = "a test must not go on as if the answers were held"]
    pub fn wait_until_reached(&self, count: usize, patience: Duration) -> bool {
        let waited =
            self.shared.changed.wait_timeout_while(self.lock(), patience, |state| state.reached < count);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.reached >= count
    }

    /// Waits to be let through; says whether the answer may go on.
    pub(super) fn pass(&self) -> bool {
        self.change(|state| state.reached += 1);
        let waited = self.shared.changed.wait_while(self.lock(), |state| !state.is_open && !state.is_over);
        waited.unwrap_or_else(PoisonError::into_inner).is_open
    }

    /// Ends all waiting, because there is nobody left to answer.
    pub(super) fn end(&self) {
        self.change(|state| state.is_over = true);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.shared.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is whole, so a panic elsewhere does not spoil the state.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartialEq for Gate {
    /// Two gates are the same if opening one opens the other.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}
