//! The store in a file: SQLite with a write-ahead log, shared by any number of processes.
//!
//! Beside the database `x` lie `x-wal` and `x-shm`, which are SQLite's, and `x-guard`, which is ours: a lock,
//! the last acknowledged position, and what wakes a [`crate::Watch`].
//!
//! One connection serves all threads of a process, one after the other. An append is committed without waiting for
//! the disk; [`Store::flush`] waits, and does so without the connection, so that others go on meanwhile. Several
//! threads that flush at once share one sync of the log, and a thread of the store's own syncs what nobody flushes.
//!
//! What was measured for a process that appends an event or two and exits, with ratios:
//!
//! - The last connection to close would fold the log into the database, which syncs two files more. Leaving the log
//!   and folding it only when it has 64 pages takes 0.6 of the time, with 1 sync instead of 5. A smaller limit
//!   folds too often (16 pages: 0.7), a larger one makes every opener read a longer log (128 pages: no gain).
//! - The log is made that long before it is written to: a sync within a file takes less than one that makes it longer.
//! - A low `wal_autocheckpoint` does the opposite of what it seems to (1.3 times the default): a process that comes
//!   after a checkpoint cannot know of it, so it checkpoints everything again and the log never starts over.
//! - A page size of 1024 takes 0.95, which is not worth overflow pages for every snapshot.
//! - A stream of 100,000 events takes as long as one of 10.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Statement};

use crate::error::{AppendError, LeaseError, StoreError};
use crate::store::{
    Durable, Fence, Lease, Listener, NewEvent, Query, Scope, Store, StoredEvent, StreamHead, StreamId,
    StreamView, Subscription, Version, View, Watch,
};

use syncer::Syncer;
use watch::Announcer;

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
mod syncer;
mod verify;
mod watch;

pub use repair::{Outcome, RepairError, RepairReport, StreamRepair, ViewRepair, repair};
pub use verify::verify;

/// The page size, SQLite's usual one: a block of the usual file systems.
const PAGE: u64 = 4096;

/// When the last writer to close finds the log longer than this, in pages, it folds it into the database.
const LOG_PAGES: u64 = 64;

/// How long a log is made before it is written to, in bytes: its header, and that many pages with theirs.
///
/// SQLite takes the zeros at its end for the end. A sync of what lies within a file is one write to the disk; where
/// the file grows, it is several.
const LOG_LENGTH: u64 = 32 + LOG_PAGES * (24 + PAGE);

/// Size of the cache of prepared statements: more than there are.
const STATEMENTS: usize = 40;

/// Runs a statement, which stays prepared for the next time.
fn with<T>(
    connection: &Connection,
    sql: &str,
    run: impl FnOnce(&mut Statement<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    run(&mut *connection.prepare_cached(sql)?)
}

/// A transaction that writes. Unless it is committed, nothing of it is left.
struct Writing<'a> {
    connection: &'a Connection,
}

impl<'a> Writing<'a> {
    fn begin(connection: &'a Connection) -> rusqlite::Result<Self> {
        with(connection, "BEGIN IMMEDIATE", |statement| statement.execute([]))?;
        Ok(Self { connection })
    }

    fn commit(self) -> rusqlite::Result<()> {
        with(self.connection, "COMMIT", |statement| statement.execute([])).map(drop)
    }
}

impl Deref for Writing<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        if !self.connection.is_autocommit() {
            // If even that fails, closing does it.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }
}

/// A [`Store`] in a file. It is closed with the last watch of it.
///
/// Drop it before the process ends: closing keeps the log short. A process that is killed instead costs the next
/// ones time, never data.
#[derive(Debug)]
pub struct SqliteStore {
    shared: Arc<Shared>,
    announcer: Announcer,
}

/// An open store.
#[derive(Debug)]
struct Shared {
    // Declared in this order because the guard, which the syncer has, has to outlive the connection.
    open: Mutex<Open>,
    syncer: Syncer,
}

/// The connection, and what is known of the files: for one thread at a time.
#[derive(Debug)]
struct Open {
    path: PathBuf,
    connection: Connection,
    has_written: bool,
    /// How long the log was when it was last looked at.
    log_length: u64,
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, Open> {
        // A transaction of a thread that panicked has been rolled back.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn classified<T>(&self, outcome: rusqlite::Result<T>) -> Result<T, StoreError> {
        outcome.map_err(|error| fault::classify(&self.path, error))
    }

    /// Notes a write. A process that stays does not let the log grow without end: SQLite folds it when it has 1,000 pages, and
    /// begins at its front again. It is not made shorter then, for within a file a sync is fastest.
    fn has_committed(&mut self) {
        self.has_written = true;
        self.log_length = place::log_length(&self.path).unwrap_or(0);
    }

    /// Makes the log as long as it may become. Only for whoever holds SQLite's lock for writing.
    fn lengthen_log(&self) -> io::Result<()> {
        if self.log_length >= LOG_LENGTH {
            return Ok(());
        }
        let log = open_log(&self.path)?;
        let length = log.metadata()?.len();
        let missing = usize::try_from(LOG_LENGTH.saturating_sub(length)).unwrap_or(0);
        log.write_all_at(&vec![0; missing], length)
    }

    /// Tells whether closing folds the log. Readers never do, so looking at a store cannot change it.
    fn must_fold(&self) -> bool {
        self.has_written && self.log_length > LOG_LENGTH
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Whoever has to know whether it succeeded has flushed before.
        let _ = self.syncer.end();
        let open = self.open.get_mut().unwrap_or_else(PoisonError::into_inner);
        if open.must_fold() {
            // If it fails, the log stays long and the next writer folds it.
            let _ = open.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
        }
    }
}

/// Opens the log by another descriptor than SQLite's, which has no locks on it that closing this one could drop.
fn open_log(path: &Path) -> io::Result<File> {
    File::options().write(true).open(place::beside(path, place::LOG))
}

impl Store for SqliteStore {
    fn append_under(
        &self,
        fence: Option<&Fence>,
        stream: &StreamId,
        expected: &Version,
        events: &[NewEvent],
        view: View<'_>,
    ) -> Result<Version, AppendError> {
        append::append(&self.shared, fence, stream, expected, events, view)
    }

    fn load(&self, stream: &StreamId) -> Result<Option<StreamView>, StoreError> {
        read::load(&self.shared.open(), stream)
    }

    fn find(&self, query: Query<'_>) -> Result<Vec<StreamHead>, StoreError> {
        let open = self.shared.open();
        open.classified(read::find(&open.connection, query))
    }

    fn read(&self, scope: Scope<'_>, after: u64, limit: usize) -> Result<Vec<StoredEvent>, StoreError> {
        read::read(&self.shared.open(), scope, after, limit)
    }

    fn last_position(&self) -> Result<u64, StoreError> {
        let open = self.shared.open();
        open.classified(read::last_position(&open.connection))
    }

    fn watch(&self, scope: Scope<'_>, after: u64) -> Result<Box<dyn Watch>, StoreError> {
        watch::watch(&self.shared, scope, after)
    }

    fn subscribe(&self, listener: Listener) -> Result<Subscription, StoreError> {
        self.announcer.subscribe(&self.shared.open().path, listener)
    }

    fn acquire(&self, name: &str, owner: &str, now: i64, expires_at: i64) -> Result<Lease, LeaseError> {
        lease::acquire(&mut self.shared.open(), name, owner, now, expires_at)
    }

    fn renew(&self, name: &str, generation: u64, expires_at: i64) -> Result<Lease, LeaseError> {
        lease::renew(&mut self.shared.open(), name, generation, expires_at)
    }

    fn release(&self, name: &str, generation: u64) -> Result<(), LeaseError> {
        lease::release(&mut self.shared.open(), name, generation)
    }

    fn lease(&self, name: &str) -> Result<Option<Lease>, StoreError> {
        let open = self.shared.open();
        open.classified(lease::lease(&open.connection, name))
    }

    fn flush(&self) -> Result<Durable, StoreError> {
        // What others have appended was perhaps decided on, so it counts too.
        let position = self.last_position()?;
        self.shared.syncer.sync(position)?;
        Ok(Durable::new())
    }
}
