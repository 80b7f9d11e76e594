//! A signal that ends a wait, whether the waiting is done here or in a request.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::Notify;

/// Wakes whoever waits; a signal that finds nobody waiting is kept for the next wait.
#[derive(Clone, Debug, Default)]
pub struct Wake(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    is_set: Mutex<bool>,
    changed: Condvar,
    notify: Notify,
}

impl Wake {
    /// Wakes whoever waits.
    pub fn signal(&self) {
        *self.0.is_set.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.changed.notify_all();
        self.0.notify.notify_one();
    }

    /// Waits for a signal; tells whether there was one in time.
    pub fn wait(&self, patience: Duration) -> bool {
        let is_set = self.0.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.changed.wait_timeout_while(is_set, patience, |is_set| !*is_set);
        let (mut is_set, _) = waited.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *is_set)
    }

    /// Waits for a signal within a request. The signal stays for [`Wake::wait`].
    pub(crate) async fn notified(&self) {
        self.0.notify.notified().await;
    }
}
