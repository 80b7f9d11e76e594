//! Waiting for events without asking again and again.
//!
//! A writer notes every commit in the store's guard file (see [`super::guard`]), and the kernel tells whoever
//! watches that file. Nothing else in the directory wakes a watch, and an idle one costs nothing.
//!
//! No wake-up is lost because of the order: watch the guard, forget what was announced, read, and only then sleep.
//! Whatever is committed after the reading is announced after the forgetting.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::params;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::inotify;
use rustix::io::Errno;

use crate::error::{OpenError, StoreError};
use crate::store::{StoredEvent, StreamId};

use super::place::{GUARD, beside};
use super::read::{self, clamp};
use super::{SqliteStore, fault};

/// The most events that one wait returns; the next one returns the rest.
const BATCH: usize = 1000;

/// What a watch looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Every stream of the store.
    Store,
    /// One stream, which need not exist yet.
    Stream(StreamId),
}

/// A wait for events of a store, appended by whatever process.
#[derive(Debug)]
pub struct Watch {
    store: SqliteStore,
    scope: Scope,
    inotify: OwnedFd,
}

impl Watch {
    /// Watches the store at `path`, over a connection of its own. Makes the store if there is none.
    pub fn open(path: impl AsRef<Path>, scope: Scope) -> Result<Self, OpenError> {
        let store = SqliteStore::open(path)?;
        let inotify = subscribe(&store.path).map_err(|error| failed(&store.path, error))?;
        Ok(Self { store, scope, inotify })
    }

    /// Waits until there are events after `after_position` and returns them in order, a batch at most.
    ///
    /// Returns none if `timeout` passes first; with a timeout of zero it does not wait.
    pub fn wait(&mut self, after_position: u64, timeout: Duration) -> Result<Vec<StoredEvent>, StoreError> {
        let started = Instant::now();
        loop {
            self.forget_announced().map_err(|error| failed(&self.store.path, error))?;
            let events = self.read(after_position)?;
            let left = timeout.saturating_sub(started.elapsed());
            if !events.is_empty() || left.is_zero() {
                return Ok(events);
            }
            self.sleep(left).map_err(|error| failed(&self.store.path, error))?;
        }
    }

    fn read(&self, after_position: u64) -> Result<Vec<StoredEvent>, StoreError> {
        match &self.scope {
            Scope::Store => read::read_all(&self.store, after_position, BATCH),
            Scope::Stream(stream) => {
                let seq = self
                    .first_after(stream, after_position)
                    .map_err(|error| fault::classify(&self.store.path, error))?;
                read::read(&self.store, stream, seq, BATCH)
            }
        }
    }

    /// Returns the number of the first event of `stream` after a position.
    ///
    /// Found by halving, because no index has positions by stream and a long stream must not make this slower.
    fn first_after(&self, stream: &StreamId, position: u64) -> rusqlite::Result<u64> {
        let connection = &self.store.connection;
        let Some(version) = read::version(self.store.statements, connection, stream)? else { return Ok(0) };
        let sql = "SELECT position > ?3 FROM event WHERE stream = ?1 AND seq = ?2";
        let mut statement = connection.prepare(sql)?;
        let (mut low, mut high) = (0, version.events());
        while low < high {
            let middle = low.midpoint(high);
            let bounds = params![stream.as_str(), clamp(middle), clamp(position)];
            if statement.query_row(bounds, |row| row.get(0))? {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(low)
    }

    fn forget_announced(&self) -> io::Result<()> {
        let mut buffer = [MaybeUninit::uninit(); 1024];
        let mut reader = inotify::Reader::new(&self.inotify, &mut buffer);
        loop {
            match reader.next() {
                Ok(_) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
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

impl AsFd for Watch {
    /// Returns a descriptor that becomes readable when it is worth calling [`Watch::wait`] again.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
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
