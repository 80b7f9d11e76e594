//! The store in a file: SQLite with a write-ahead log, shared by any number of processes.
//!
//! Beside the database `x` lie `x-wal` and `x-shm`, which are SQLite's, and `x-guard`, which is ours: a lock,
//! the last acknowledged position, and what wakes a [`Watch`].
//!
//! The path that matters is a process that opens the store, finds one stream by its mark, appends an event or two
//! and exits. What it pays for is the sync of the log, then SQLite's start; measured on that path, with ratios:
//!
//! - The last connection to close would fold the log into the database, which syncs two files more. Leaving the log
//!   and folding it only when it has 64 pages takes 0.6 of the time, with 1 sync instead of 5. A smaller limit
//!   folds too often (16 pages: 0.7), a larger one makes every opener read a longer log (128 pages: no gain).
//! - The log is made that long before it is written to: a sync within a file takes 0.6 of one that makes it longer. (For root
//!   only because SQLite is kept from setting the log's owner with every opening, which the next sync would write: `owner.c`.)
//! - A process that is alone with the store keeps it to itself ([`SqliteStore::open_briefly`]): 0.85 of the time, because
//!   no memory is shared, so no file is cut and grown for it and no lock is taken for every look.
//! - A process that ends next leaves everything to the kernel ([`SqliteStore::leave`]) instead of closing.
//! - SQLite starts and appends in 0.93 of the time with its pools of memory in the sizes that an append takes, and in 0.95
//!   of that as smaller code without the functions that nobody calls: see `.cargo/config.toml` and the release profile.
//! - A low `wal_autocheckpoint` does the opposite of what it seems to (1.3 times the default): a process that comes
//!   after a checkpoint cannot know of it, so it checkpoints everything again and the log never starts over.
//! - The pragmas, the check of the acknowledged position and the seals are each within the noise of the sync.
//! - A page size of 1024 takes 0.95, which is not worth overflow pages for every snapshot.
//! - A stream of 100,000 events takes as long as one of 10.

use std::fs::File;
use std::io;
use std::mem;
use std::ops::Deref;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Statement};

use crate::error::{AppendError, LeaseError, StoreError};
use crate::store::{Lease, NewEvent, Store, StoredEvent, StreamId, StreamView, Version, View};

use guard::Guard;
use kept::{FileId, Part};
use syncer::Syncer;

mod append;
mod fault;
mod guard;
mod kept;
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

pub use kept::Keeping;
pub use repair::{Outcome, RepairError, RepairReport, StreamRepair, ViewRepair, repair};
pub use verify::verify;
pub use watch::{Scope, Watch};

/// The page size, SQLite's usual one: a block of the usual file systems.
const PAGE: u64 = 4096;

/// When the last writer to close finds the log longer than this, in pages, it folds it into the database.
const LOG_PAGES: u64 = 64;

/// How long a log is made before it is written to, in bytes: its header, and that many pages with theirs.
///
/// SQLite takes the zeros at its end for the end. A sync of what lies within a file is one write to the disk; where
/// the file grows, it is several.
const LOG_LENGTH: u64 = 32 + LOG_PAGES * (24 + PAGE);

/// How many statements a process that stays keeps ready: more than there are.
const STATEMENTS: usize = 40;

/// When what is appended is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Durable {
    /// When the append returns.
    AtOnce,
    /// When [`SqliteStore::sync`] returns.
    Later,
}

/// Who else may have the store open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Company {
    None,
    Any,
}

/// Whether a statement is kept for the next time, as a process that stays does; for one that ends it would be in vain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Statements {
    UsedOnce,
    Kept,
}

impl Statements {
    /// Runs a statement.
    fn with<T>(
        self,
        connection: &Connection,
        sql: &str,
        run: impl FnOnce(&mut Statement<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        match self {
            Self::UsedOnce => run(&mut connection.prepare(sql)?),
            Self::Kept => run(&mut *connection.prepare_cached(sql)?),
        }
    }
}

/// A transaction that writes. Unless it is committed, nothing of it is left.
struct Writing<'a> {
    connection: &'a Connection,
    statements: Statements,
}

impl<'a> Writing<'a> {
    fn begin(connection: &'a Connection, statements: Statements) -> rusqlite::Result<Self> {
        statements.with(connection, "BEGIN IMMEDIATE", |statement| statement.execute([]))?;
        Ok(Self { connection, statements })
    }

    fn commit(self) -> rusqlite::Result<()> {
        self.statements.with(self.connection, "COMMIT", |statement| statement.execute([])).map(drop)
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

/// A [`Store`] in a file.
///
/// Drop it before the process ends: closing keeps the log short. A process that is killed instead costs the next
/// ones time, never data.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    /// Which file it is, if it is to be kept open.
    file: Option<FileId>,
    company: Company,
    has_written: bool,
    /// How long the log was when it was last looked at.
    log_length: u64,
    /// Set while the log's name may not be on disk.
    is_log_new: bool,
    durable: Durable,
    statements: Statements,
    /// The last position that was appended and need not be on disk.
    unsynced: Option<u64>,
    /// Up to where the sync goes that is under way.
    syncing: Option<u64>,
    /// Who waits for the disk, once that was wanted.
    syncer: Option<Syncer>,
    // Declared in this order because the guard has to outlive the connection.
    connection: Part<Connection>,
    guard: Part<Guard>,
}

impl SqliteStore {
    /// Returns the path of the database.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets appends return before they are on disk: they are when [`SqliteStore::sync`] has returned, or a later append
    /// of somebody who waits for the disk.
    ///
    /// For a process that records several events before it does anything about them. They keep their order: a power cut
    /// may take the last ones, never one between. A crash of the process alone takes none.
    pub fn sync_later(&mut self) -> Result<(), StoreError> {
        self.set_synchronous(Durable::Later)?;
        self.durable = Durable::Later;
        self.keep_statements();
        Ok(())
    }

    fn keep_statements(&mut self) {
        self.connection.set_prepared_statement_cache_capacity(STATEMENTS);
        self.statements = Statements::Kept;
    }

    /// Returns the stream that holds `mark`, and its version: [`Store::find`] for whoever knows the rest of that version.
    pub fn holder(&mut self, mark: &str) -> Result<Option<(StreamId, Version)>, StoreError> {
        read::holder(self, mark)
    }

    /// Returns the version of a stream: [`Store::view`] for whoever knows the rest of that version.
    pub fn version(&mut self, stream: &StreamId) -> Result<Option<Version>, StoreError> {
        read::version(self.statements, &self.connection, stream)
            .map_err(|error| fault::classify(&self.path, error))
    }

    /// Returns the streams with a topic and their versions: [`Store::views_about`] for whoever knows most of them.
    pub fn versions_about(&mut self, topic: &str) -> Result<Vec<(StreamId, Version)>, StoreError> {
        read::versions_about(self, topic)
    }

    /// Begins to put on disk what was appended, while the caller goes on; [`SqliteStore::sync`] waits for it.
    pub fn begin_sync(&mut self) -> Result<(), StoreError> {
        let Some(position) = self.unsynced else { return Ok(()) };
        if self.syncing.is_some() {
            return self.sync();
        }
        let log = self.open_log().map_err(|error| self.failed(error))?;
        let syncer = match &self.syncer {
            Some(syncer) => syncer,
            None => {
                let started = Syncer::start().map_err(|error| self.failed(error))?;
                self.syncer.insert(started)
            }
        };
        syncer.begin(log).map_err(|error| self.failed(error))?;
        self.syncing = Some(position);
        Ok(())
    }

    /// Sees to it that everything that was appended is on disk.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        if let (Some(position), Some(syncer)) = (self.syncing.take(), &self.syncer) {
            syncer.wait().map_err(|error| self.failed(error))?;
            self.guard.acknowledge(position);
            self.unsynced = self.unsynced.filter(|newest| *newest > position);
        }
        let Some(position) = self.unsynced else { return Ok(()) };
        self.open_log().and_then(|log| log.sync_data()).map_err(|error| self.failed(error))?;
        self.unsynced = None;
        self.guard.acknowledge(position);
        Ok(())
    }

    /// Opens the log by another descriptor than SQLite's, which has no locks on it that closing this one could drop.
    fn open_log(&self) -> io::Result<File> {
        File::options().write(true).open(place::beside(&self.path, place::LOG))
    }

    fn failed(&self, error: io::Error) -> StoreError {
        StoreError::Failed { path: self.path.clone(), source: Box::new(error) }
    }

    fn set_synchronous(&self, durable: Durable) -> Result<(), StoreError> {
        let pragma = match durable {
            Durable::AtOnce => "PRAGMA synchronous = FULL",
            Durable::Later => "PRAGMA synchronous = NORMAL",
        };
        self.connection.execute_batch(pragma).map_err(|error| fault::classify(&self.path, error))
    }

    /// Ends the use of the store by a process that ends next: only a log that has grown long is closed properly.
    ///
    /// What else closing would do, the kernel does at once.
    pub fn leave(self) {
        if !self.must_fold() && self.unsynced.is_none() {
            mem::forget(self);
        }
    }

    /// Notes a write. A process that stays does not let the log grow without end: SQLite folds it when it has 1,000 pages, and
    /// begins at its front again. It is not made shorter then, for within a file a sync is fastest.
    fn has_committed(&mut self) {
        self.has_written = true;
        self.log_length = place::log_length(&self.path).unwrap_or(0);
    }

    /// Makes the name of a log durable that nobody had written to when it was found. Whoever only reads need not wait for it.
    fn name_log(&mut self) -> Result<(), StoreError> {
        if self.is_log_new {
            place::sync_directory(place::directory(&self.path))
                .map_err(|error| open::from_io(&self.path, error))?;
            self.is_log_new = false;
        }
        Ok(())
    }

    /// Makes the log as long as it may become. Only for whoever holds SQLite's lock for writing.
    fn lengthen_log(&self) -> io::Result<()> {
        if self.log_length >= LOG_LENGTH {
            return Ok(());
        }
        let log = self.open_log()?;
        let length = log.metadata()?.len();
        let missing = usize::try_from(LOG_LENGTH.saturating_sub(length)).unwrap_or(0);
        log.write_all_at(&vec![0; missing], length)
    }

    /// Tells whether closing folds the log. Readers never do, so looking at a store cannot change it.
    fn must_fold(&self) -> bool {
        self.has_written && self.log_length > LOG_LENGTH
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        // Whoever has to know whether it succeeded has synced before.
        let is_kept = self.sync().is_ok() && kept::put(self);
        if !is_kept && self.must_fold() {
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

    fn views_marked(&mut self, prefix: &str) -> Result<Vec<StreamView>, StoreError> {
        read::views_marked(self, prefix)
    }

    fn views_named(&mut self, prefix: &str) -> Result<Vec<StreamView>, StoreError> {
        read::views_named(self, prefix)
    }

    fn names(&mut self, prefix: &str) -> Result<Vec<StreamId>, StoreError> {
        read::names(self, prefix)
    }

    fn count_about(&mut self, topic: &str) -> Result<u64, StoreError> {
        read::count_about(self, topic)
    }

    fn last_named(&mut self, prefix: &str) -> Result<Option<StreamId>, StoreError> {
        read::last_named(self, prefix)
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
        read::last_position(self.statements, &self.connection)
            .map_err(|error| fault::classify(&self.path, error))
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
        lease::lease(self.statements, &self.connection, name)
            .map_err(|error| fault::classify(&self.path, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Appends an event to a stream that is not there yet.
    pub(super) fn append(store: &mut SqliteStore, stream: &str) {
        let event = NewEvent { at: 0, kind: "noted".into(), body: b"{}".to_vec() };
        let stream = StreamId::parse(stream).unwrap();
        store.append(&stream, &Version::NONE, &[event], View::default()).unwrap();
    }
}
