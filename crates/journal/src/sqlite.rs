//! The store in a file: SQLite with a write-ahead log, shared by any number of processes.
//!
//! Beside the database `x` lie `x-wal` and `x-shm`, which are SQLite's, and `x-guard`, which is ours: a lock,
//! the last acknowledged position, and what wakes a [`Watch`].
//!
//! The path that matters is a process that opens the store, finds one stream by its mark, appends an event or two
//! and exits. What it pays for is the sync of the log, then SQLite's start; measured on that path, with ratios:
//!
//! - The last connection to close would fold the log into the database, which syncs two files more. Leaving the log
//!   and folding it only when it has 64 pages takes 0.6 of the time, with 2 syncs instead of 5. A smaller limit
//!   folds too often (16 pages: 0.7), a larger one makes every opener read a longer log (128 pages: no gain).
//! - A low `wal_autocheckpoint` does the opposite of what it seems to (1.3 times the default): a process that comes
//!   after a checkpoint cannot know of it, so it checkpoints everything again and the log never starts over.
//! - The pragmas, the check of the acknowledged position and the seals are each within the noise of the sync.
//! - A page size of 1024 takes 0.95, which is not worth overflow pages for every snapshot.
//! - A stream of 100,000 events takes as long as one of 10.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::error::{AppendError, LeaseError, StoreError};
use crate::store::{Lease, NewEvent, Store, StoredEvent, StreamId, StreamView, Version, View};

use guard::{Guard, PATIENCE};

mod append;
mod fault;
mod guard;
mod lease;
mod open;
mod place;
mod read;
mod repair;
mod salvage;
mod schema;
mod verify;
mod watch;

pub use repair::{Outcome, RepairError, RepairReport, StreamRepair, ViewRepair, repair};
pub use verify::verify;
pub use watch::{Scope, Watch};

/// The page size, SQLite's usual one: a block of the usual file systems.
const PAGE: u64 = 4096;

/// When the last writer to close finds the log this long, in pages, it folds it into the database.
const LOG_PAGES: u64 = 64;

/// When the log is this long, in pages, it is folded at once.
///
/// This is for a process that stays, and for those that end without closing their store: whoever comes next never
/// has a longer log to read. For a process that stays it adds a few syncs to every 64 appends or so.
const LOG_PAGES_AT_MOST: u64 = 256;

/// A [`Store`] in a file.
///
/// Drop it before the process ends: closing keeps the log short. A process that is killed instead costs the next
/// ones time, never data.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    has_written: bool,
    // Declared in this order because the guard has to outlive the connection.
    connection: Connection,
    guard: Guard,
}

impl SqliteStore {
    /// Returns the path of the database.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the log short after a write.
    fn has_committed(&mut self) {
        self.has_written = true;
        if self.log_pages() > LOG_PAGES_AT_MOST {
            // The write has succeeded whatever comes of this, and nobody should wait for a reader because of it.
            let _ = self.connection.busy_timeout(Duration::ZERO);
            let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            let _ = self.connection.busy_timeout(PATIENCE);
        }
    }

    fn log_pages(&self) -> u64 {
        let length = fs::metadata(place::beside(&self.path, place::LOG)).map_or(0, |metadata| metadata.len());
        length / PAGE
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        // Readers never fold the log, so looking at a store cannot change it.
        if self.has_written && self.log_pages() >= LOG_PAGES {
            // If it fails, the log stays long and the next writer folds it.
            let _ = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
        }
    }
}

impl Store for SqliteStore {
    fn append(
        &mut self,
        stream: &StreamId,
        expected: &Version,
        events: &[NewEvent],
        view: View<'_>,
    ) -> Result<Version, AppendError> {
        append::append(self, stream, expected, events, view)
    }

    fn view(&mut self, stream: &StreamId) -> Result<Option<StreamView>, StoreError> {
        read::view(self, stream)
    }

    fn find(&mut self, mark: &str) -> Result<Option<StreamView>, StoreError> {
        read::find(self, mark)
    }

    fn views(&mut self) -> Result<Vec<StreamView>, StoreError> {
        read::views(self)
    }

    fn views_about(&mut self, topic: &str) -> Result<Vec<StreamView>, StoreError> {
        read::views_about(self, topic)
    }

    fn read(
        &mut self,
        stream: &StreamId,
        from_seq: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        read::read(self, stream, from_seq, limit)
    }

    fn read_all(&mut self, after_position: u64, limit: usize) -> Result<Vec<StoredEvent>, StoreError> {
        read::read_all(self, after_position, limit)
    }

    fn last_position(&mut self) -> Result<u64, StoreError> {
        read::last_position(&self.connection).map_err(|error| fault::classify(&self.path, error))
    }

    fn acquire(&mut self, name: &str, owner: &str, now: i64, expires_at: i64) -> Result<Lease, LeaseError> {
        lease::acquire(self, name, owner, now, expires_at)
    }

    fn renew(&mut self, name: &str, generation: u64, expires_at: i64) -> Result<Lease, LeaseError> {
        lease::renew(self, name, generation, expires_at)
    }

    fn release(&mut self, name: &str, generation: u64) -> Result<(), LeaseError> {
        lease::release(self, name, generation)
    }

    fn lease(&mut self, name: &str) -> Result<Option<Lease>, StoreError> {
        lease::lease(&self.connection, name).map_err(|error| fault::classify(&self.path, error))
    }
}
