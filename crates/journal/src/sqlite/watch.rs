//! Waiting for events without asking again and again.
//!
//! A writer notes every commit in the store's guard file (see [`super::guard`]), and the kernel tells whoever
//! watches that file. Nothing else in the directory wakes a watch, and an idle one costs nothing.
//!
//! No wake-up is lost because of the order: watch the guard, forget what was announced, read, and only then sleep.
//! Whatever is committed after the reading is announced after the forgetting.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd};
use rustix::fs::inotify;
use rustix::io::Errno;

use crate::error::StoreError;
use crate::store::{Listener, Listeners, Scope, StoredEvent, Subscription, Watch, Watched};

use super::Shared;
use super::place::{GUARD, beside};
use super::read;

/// A wait for events of a store, appended by whatever process.
#[derive(Debug)]
struct GuardWatch {
    shared: Arc<Shared>,
    watched: Watched,
    inotify: OwnedFd,
}

pub(super) fn watch(
    shared: &Arc<Shared>,
    scope: Scope<'_>,
    after: u64,
) -> Result<Box<dyn Watch>, StoreError> {
    let path = shared.open().path.clone();
    let inotify = subscribe(&path).map_err(|error| failed(&path, error))?;
    Ok(Box::new(GuardWatch { shared: Arc::clone(shared), watched: Watched::new(scope, after), inotify }))
}

impl Watch for GuardWatch {
    fn wait(&mut self, timeout: Duration) -> Result<Vec<StoredEvent>, StoreError> {
        let started = Instant::now();
        loop {
            self.forget_announced().map_err(|error| self.failed(error))?;
            let shared = &self.shared;
            let events =
                self.watched.read(|scope, after, limit| read::read(&shared.open(), scope, after, limit))?;
            let left = timeout.saturating_sub(started.elapsed());
            if !events.is_empty() || left.is_zero() {
                return Ok(events);
            }
            self.sleep(left).map_err(|error| self.failed(error))?;
        }
    }
}

impl GuardWatch {
    fn failed(&self, error: io::Error) -> StoreError {
        failed(&self.shared.open().path, error)
    }

    fn forget_announced(&self) -> io::Result<()> {
        forget_announced(&self.inotify)
    }

    fn sleep(&self, left: Duration) -> io::Result<()> {
        let mut fds = [PollFd::new(&self.inotify, PollFlags::IN)];
        // A duration too long for the system is as good as the longest it takes.
        let longest = Timespec { tv_sec: i64::from(i32::MAX), tv_nsec: 0 };
        let timeout = Timespec::try_from(left).unwrap_or(longest);
        match rustix::event::poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Calls listeners after every commit, by a thread that begins with the first of them and ends with the store.
#[derive(Debug, Default)]
pub(super) struct Announcer {
    listeners: Arc<Listeners>,
    thread: Mutex<Option<AnnouncerThread>>,
}

#[derive(Debug)]
struct AnnouncerThread {
    /// Written to when the thread is to end.
    stop: OwnedFd,
    thread: JoinHandle<()>,
}

impl Announcer {
    pub(super) fn subscribe(&self, path: &Path, listener: Listener) -> Result<Subscription, StoreError> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let subscription = self.listeners.add(listener);
        if thread.is_none() {
            *thread = Some(self.begin(path).map_err(|error| failed(path, error))?);
        }
        Ok(subscription)
    }

    fn begin(&self, path: &Path) -> io::Result<AnnouncerThread> {
        let inotify = subscribe(path)?;
        let stop = eventfd(0, EventfdFlags::CLOEXEC)?;
        let (told, listeners) = (stop.try_clone()?, Arc::clone(&self.listeners));
        let builder = thread::Builder::new().name("announce".to_owned());
        let thread = builder.spawn(move || announce(&inotify, &told, &listeners))?;
        Ok(AnnouncerThread { stop, thread })
    }
}

impl Drop for Announcer {
    fn drop(&mut self) {
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(AnnouncerThread { stop, thread }) = thread
            && rustix::io::write(&stop, &1_u64.to_ne_bytes()).is_ok()
        {
            // It does not panic, and nobody is left who could be told.
            let _ = thread.join();
        }
    }
}

/// Calls the listeners whenever the guard file is written to, until it is told to stop.
fn announce(inotify: &OwnedFd, stop: &OwnedFd, listeners: &Listeners) {
    loop {
        let mut fds = [PollFd::new(inotify, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
        match rustix::event::poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
        if !fds[1].revents().is_empty() || forget_announced(inotify).is_err() {
            return;
        }
        listeners.call();
    }
}

fn forget_announced(inotify: &OwnedFd) -> io::Result<()> {
    let mut buffer = [MaybeUninit::uninit(); 1024];
    let mut reader = inotify::Reader::new(inotify, &mut buffer);
    loop {
        match reader.next() {
            Ok(_) => {}
            Err(Errno::AGAIN) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn subscribe(path: &Path) -> io::Result<OwnedFd> {
    let inotify = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
    let flags = inotify::WatchFlags::MODIFY | inotify::WatchFlags::CLOSE_WRITE;
    inotify::add_watch(&inotify, beside(path, GUARD), flags)?;
    Ok(inotify)
}

fn failed(path: &Path, error: io::Error) -> StoreError {
    StoreError::Failed { path: path.to_path_buf(), source: Box::new(error) }
}
