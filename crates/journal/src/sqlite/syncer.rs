//! Group commit: the log is synced for all that was appended, not for each append.
//!
//! Whoever flushes syncs the log at once, and everything that was appended by then goes along; who comes meanwhile
//! waits, and finds that it was done for them too. What nobody flushes, a thread syncs a moment later, so that a power
//! cut takes no more than that moment while a long job runs.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::error::StoreError;

use super::guard::Guard;
use super::open_log;

/// The stack size of the thread, in bytes: it does nothing else.
const STACK: usize = 64 * 1024;

/// How long after an append the thread syncs: more follow, or somebody flushes.
const LINGER: Duration = Duration::from_millis(10);

/// What syncs the log of one store.
#[derive(Debug)]
pub(super) struct Syncer {
    log: Arc<Log>,
    /// Started with the first append.
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Log {
    path: PathBuf,
    guard: Guard,
    progress: Mutex<Progress>,
    /// Told when something was appended, and when the store closes.
    news: Condvar,
    /// Held while the log is synced.
    sync: Mutex<SyncState>,
}

#[derive(Debug, Default)]
struct Progress {
    /// The last position that this process appended.
    appended: u64,
    is_closing: bool,
}

#[derive(Debug, Default)]
struct SyncState {
    /// Everything up to here is on disk.
    position: u64,
    /// Why the thread could not sync. The system reports a failed write once, so the next flush has to.
    failure: Option<io::Error>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Syncer {
    pub(super) fn new(path: PathBuf, guard: Guard) -> Self {
        let log =
            Log { path, guard, progress: Mutex::default(), news: Condvar::new(), sync: Mutex::default() };
        Self { log: Arc::new(log), thread: Mutex::default() }
    }

    /// Notes that everything up to `position` was appended, to be synced soon.
    pub(super) fn note(&self, position: u64) {
        let mut thread = lock(&self.thread);
        {
            let mut progress = lock(&self.log.progress);
            progress.appended = progress.appended.max(position);
        }
        if thread.is_none() {
            let log = Arc::clone(&self.log);
            let builder = thread::Builder::new().name("sync".to_owned()).stack_size(STACK);
            // Without it, what nobody flushes waits until the store closes.
            *thread = builder.spawn(move || log.follow()).ok();
        }
        self.log.news.notify_all();
    }

    /// Returns when everything up to `position` is on disk.
    pub(super) fn sync(&self, position: u64) -> Result<(), StoreError> {
        let failed = |source| StoreError::Failed { path: self.log.path.clone(), source: Box::new(source) };
        self.log.sync(position).map_err(failed)
    }

    /// Ends the thread, and puts on disk what was appended.
    pub(super) fn end(&self) -> Result<(), StoreError> {
        let appended = {
            let mut progress = lock(&self.log.progress);
            progress.is_closing = true;
            progress.appended
        };
        self.log.news.notify_all();
        if let Some(thread) = lock(&self.thread).take() {
            // It does not panic, and nobody is left who could be told.
            let _ = thread.join();
        }
        self.sync(appended)
    }
}

impl Log {
    fn sync(&self, position: u64) -> io::Result<()> {
        let mut synced = lock(&self.sync);
        if let Some(failure) = synced.failure.take() {
            return Err(failure);
        }
        self.sync_to(&mut synced, position)
    }

    fn sync_to(&self, synced: &mut SyncState, position: u64) -> io::Result<()> {
        // Another process may have been faster.
        if position <= synced.position || position <= self.guard.acknowledged() {
            return Ok(());
        }
        let newest = lock(&self.progress).appended.max(position);
        open_log(&self.path)?.sync_data()?;
        synced.position = newest;
        self.guard.acknowledge(newest);
        Ok(())
    }

    /// Syncs what is appended, until the store closes.
    fn follow(&self) {
        let mut done = 0;
        let mut progress = lock(&self.progress);
        loop {
            while progress.appended <= done && !progress.is_closing {
                progress = self.news.wait(progress).unwrap_or_else(PoisonError::into_inner);
            }
            let wait = self.news.wait_timeout_while(progress, LINGER, |progress| !progress.is_closing);
            progress = wait.unwrap_or_else(PoisonError::into_inner).0;
            if progress.is_closing {
                return;
            }
            done = progress.appended;
            drop(progress);
            let mut synced = lock(&self.sync);
            if let Err(error) = self.sync_to(&mut synced, done) {
                synced.failure = Some(error);
            }
            drop(synced);
            progress = lock(&self.progress);
        }
    }
}
