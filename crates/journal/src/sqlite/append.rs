//! Appending: one transaction, which does not wait for the disk.
//!
//! The usual append is four statements. It does not read before it writes: the hashes follow from the version the
//! caller presents, and the update of the stream's row finds nothing to update if that version is not the current
//! one. Only then is it worth finding out why.

use rusqlite::{Connection, params};

use crate::chain::{self, Digest, Extension};
use crate::error::{AppendError, StoreError};
use crate::integrity::Mismatch;
use crate::store::{Fence, NewEvent, StreamId, Version, View};

use super::read::{self, clamp};
use super::{Open, Shared, Writing, fault, lease, with};

pub(super) fn append(
    shared: &Shared,
    fence: Option<&Fence>,
    stream: &StreamId,
    expected: &Version,
    events: &[NewEvent],
    view: View<'_>,
) -> Result<Version, AppendError> {
    let Some(last) = events.last() else { return Err(AppendError::NoEvents) };
    // Hashed before the lock is taken, so that nobody waits for it.
    let extension = chain::extend(stream, expected, events);
    let seal = chain::seal(stream, &extension.version, last.at, view);
    let row = Row { stream, expected, extension: &extension, updated_at: last.at, seal, view };
    let mut open = shared.open();
    let position = row.write(&open, fence, events).map_err(|refusal| match refusal {
        Refusal::Conflict(actual) => AppendError::Conflict { actual },
        Refusal::MarkTaken(mark, holder) => AppendError::MarkTaken { mark, holder },
        Refusal::BeyondTail(seq) => {
            let mismatch = Mismatch::BeyondTail { expected: expected.events() };
            fault::in_stream(&open.path, stream, seq, mismatch).into()
        }
        Refusal::Stale(error) => AppendError::Store(error),
        Refusal::Sqlite(error) => AppendError::Store(fault::classify(&open.path, error)),
    })?;
    open.has_committed();
    drop(open);
    shared.syncer.note(position);
    Ok(extension.version)
}

enum Refusal {
    Conflict(Version),
    MarkTaken(String, StreamId),
    BeyondTail(u64),
    Stale(StoreError),
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// The stream's row as the append will leave it.
struct Row<'a> {
    stream: &'a StreamId,
    expected: &'a Version,
    extension: &'a Extension,
    updated_at: i64,
    seal: Digest,
    view: View<'a>,
}

impl Row<'_> {
    /// Writes events and row in one transaction, and returns the position of the last event.
    fn write(&self, open: &Open, fence: Option<&Fence>, events: &[NewEvent]) -> Result<u64, Refusal> {
        let transaction = Writing::begin(&open.connection)?;
        if let Some(fence) = fence {
            fence.check(lease::lease(&transaction, &fence.name)?).map_err(Refusal::Stale)?;
        }
        // If that fails, so may the append, and says it better.
        let _ = open.lengthen_log();
        let position = match self.insert_events(&transaction, events) {
            Err(error) if fault::is_duplicate(&error) => {
                let actual = self.actual(&transaction)?;
                return Err(if actual == *self.expected {
                    Refusal::BeyondTail(self.extension.first_seq)
                } else {
                    Refusal::Conflict(actual)
                });
            }
            outcome => outcome?,
        };
        let outcome = if *self.expected == Version::NONE {
            self.insert(&transaction, position)
        } else {
            self.update(&transaction, position)
        };
        match outcome {
            Ok(1) => {}
            Err(error) if !fault::is_duplicate(&error) => return Err(error.into()),
            Ok(_) | Err(_) => return Err(self.refusal(&transaction)?),
        }
        transaction.commit()?;
        Ok(position.unsigned_abs())
    }

    fn insert_events(&self, transaction: &Connection, events: &[NewEvent]) -> rusqlite::Result<i64> {
        let sql = "INSERT INTO event (stream, seq, record, at, kind, hash, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let record = clamp(self.extension.record);
        with(transaction, sql, |statement| {
            for ((seq, event), hash) in (self.extension.first_seq..).zip(events).zip(&self.extension.hashes) {
                statement.execute(params![
                    self.stream.as_str(),
                    clamp(seq),
                    record,
                    event.at,
                    event.kind,
                    hash.as_bytes(),
                    event.body
                ])?;
            }
            Ok(())
        })?;
        Ok(transaction.last_insert_rowid())
    }

    fn insert(&self, transaction: &Connection, position: i64) -> rusqlite::Result<usize> {
        let sql = "INSERT INTO stream (name, events, head, position, updated_at, seal, snapshot, mark, topic)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        let row = params![
            self.stream.as_str(),
            clamp(self.extension.version.events()),
            self.extension.version.head().as_bytes(),
            position,
            self.updated_at,
            self.seal.as_bytes(),
            self.view.snapshot,
            self.view.mark,
            self.view.topic,
        ];
        with(transaction, sql, |statement| statement.execute(row))
    }

    fn update(&self, transaction: &Connection, position: i64) -> rusqlite::Result<usize> {
        // Mark and topic seldom change, and setting them again would write the pages of their indexes.
        let unchanged = "UPDATE stream SET events = ?2, head = ?3, position = ?4, updated_at = ?5, seal = ?6,
            snapshot = ?7 WHERE name = ?1 AND events = ?10 AND head = ?11 AND mark IS ?8 AND topic IS ?9";
        let changed = "UPDATE stream SET events = ?2, head = ?3, position = ?4, updated_at = ?5, seal = ?6,
            snapshot = ?7, mark = ?8, topic = ?9 WHERE name = ?1 AND events = ?10 AND head = ?11";
        let update = |sql| {
            let row = params![
                self.stream.as_str(),
                clamp(self.extension.version.events()),
                self.extension.version.head().as_bytes(),
                position,
                self.updated_at,
                self.seal.as_bytes(),
                self.view.snapshot,
                self.view.mark,
                self.view.topic,
                clamp(self.expected.events()),
                self.expected.head().as_bytes(),
            ];
            with(transaction, sql, |statement| statement.execute(row))
        };
        match update(unchanged)? {
            0 => update(changed),
            updated => Ok(updated),
        }
    }

    /// Finds out why the row could not be written: another version, or a mark that is taken.
    fn refusal(&self, transaction: &Connection) -> rusqlite::Result<Refusal> {
        let actual = self.actual(transaction)?;
        if actual != *self.expected {
            return Ok(Refusal::Conflict(actual));
        }
        let mark = self.view.mark.unwrap_or_default();
        let holder = transaction
            .query_row("SELECT name FROM stream WHERE mark = ?1", [mark], |row| read::stream_id(row, 0))?;
        Ok(Refusal::MarkTaken(mark.into(), holder))
    }

    fn actual(&self, transaction: &Connection) -> rusqlite::Result<Version> {
        Ok(read::version(transaction, self.stream)?.unwrap_or(Version::NONE))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::error::StoreError;
    use crate::sqlite::SqliteStore;
    use crate::store::Store as _;

    #[test]
    fn a_full_disk_is_told_as_such_and_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path().join("journal.db")).unwrap();
        {
            let connection = &store.shared.open().connection;
            let pages: i64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
            connection.pragma_update(None, "max_page_count", pages + 4).unwrap();
        }
        let stream = StreamId::parse("run:a").unwrap();
        let huge = NewEvent { at: 0, kind: "huge".into(), body: vec![b'x'; 100_000] };
        let outcome = store.append(&stream, &Version::NONE, &[huge], View::default());
        assert!(matches!(outcome, Err(AppendError::Store(StoreError::Full { .. }))), "{outcome:?}");
        assert_eq!(store.load(&stream).unwrap(), None);
        let small = NewEvent { at: 0, kind: "small".into(), body: Vec::new() };
        store.append(&stream, &Version::NONE, &[small], View::default()).unwrap();
    }

    #[test]
    fn a_store_that_stays_locked_is_told_as_such() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal.db");
        let (other, store) = (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
        let others = other.shared.open();
        let _writing = Writing::begin(&others.connection).unwrap();
        store.shared.open().connection.busy_timeout(Duration::ZERO).unwrap();
        let event = NewEvent { at: 0, kind: "late".into(), body: Vec::new() };
        let stream = StreamId::parse("run:a").unwrap();
        let outcome = store.append(&stream, &Version::NONE, &[event], View::default());
        assert!(matches!(outcome, Err(AppendError::Store(StoreError::Busy { .. }))), "{outcome:?}");
    }
}
