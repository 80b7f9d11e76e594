//! Checking a whole store: the database as a database, then every stream against its chain.
//!
//! A fault is reported where it is, once. Each event is checked against the stored hash before it, not against a
//! recomputed one, so one changed event is one fault and not a fault in everything after it.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row};

use crate::chain::{Digest, Link};
use crate::error::{OpenError, StoreError};
use crate::integrity::{Fault, Mismatch, StreamFault, Verification};
use crate::store::StreamId;

use super::SqliteStore;
use super::read::{SealedView, digest, number, view_columns};

/// How many faults of structure are listed. More would say no more.
const STRUCTURE_FAULTS: usize = 100;

/// Checks the store at `path` and changes nothing. A store that does not exist has nothing wrong with it.
pub fn verify(path: impl AsRef<Path>) -> Result<Verification, OpenError> {
    match SqliteStore::open_existing(path)? {
        Some(store) => Ok(store.verify()?),
        None => Ok(Verification::default()),
    }
}

impl SqliteStore {
    /// Checks the whole store, as it is at this moment, and changes nothing.
    pub fn verify(&self) -> Result<Verification, StoreError> {
        let open = self.shared.open();
        open.classified(check(&open.connection))
    }
}

/// Checks the whole database. Damage is in the answer; an error is something else.
pub(super) fn check(connection: &Connection) -> rusqlite::Result<Verification> {
    let _moment = connection.unchecked_transaction()?;
    let mut verification = Verification { faults: structure(connection), ..Verification::default() };
    for stream in names(connection, "SELECT name FROM stream ORDER BY rowid", &mut verification) {
        verification.streams += 1;
        Chain::check(connection, &stream, &mut verification);
    }
    // Events whose stream has no row. The index on (stream, seq) keeps this to one pass.
    let sql = "SELECT DISTINCT stream FROM event WHERE stream NOT IN (SELECT name FROM stream)";
    for stream in names(connection, sql, &mut verification) {
        verification.streams += 1;
        verification.faults.push(of(&stream, 0, Mismatch::ViewMissing));
        Chain::check(connection, &stream, &mut verification);
    }
    Ok(verification)
}

fn structure(connection: &Connection) -> Vec<Fault> {
    let sql = format!("PRAGMA integrity_check({STRUCTURE_FAULTS})");
    let lines: rusqlite::Result<Vec<String>> = connection
        .prepare(&sql)
        .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect());
    let lines = lines.unwrap_or_else(|error| vec![error.to_string()]);
    lines.into_iter().filter(|line| line != "ok").map(|detail| Fault::Structure { detail }).collect()
}

fn names(connection: &Connection, sql: &str, verification: &mut Verification) -> Vec<StreamId> {
    let mut names = Vec::new();
    let mut collect = || -> rusqlite::Result<()> {
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            match StreamId::parse(row.get::<_, String>(0)?) {
                Ok(name) => names.push(name),
                Err(error) => verification.faults.push(Fault::Structure { detail: error.to_string() }),
            }
        }
        Ok(())
    };
    if let Err(error) = collect() {
        verification.faults.push(Fault::Structure { detail: error.to_string() });
    }
    names
}

fn of(stream: &StreamId, seq: u64, mismatch: Mismatch) -> Fault {
    StreamFault { stream: stream.clone(), seq, mismatch }.into()
}

/// One stream in the course of being checked.
struct Chain<'a> {
    stream: &'a StreamId,
    row: Option<SealedView>,
    /// The number the next event should have.
    next: u64,
    /// The hash before the next event; unknown after a gap.
    previous: Option<Digest>,
    position: u64,
    /// Whether the last event ends the append it came with.
    is_whole: bool,
    faults: Vec<Fault>,
    events: u64,
}

impl<'a> Chain<'a> {
    fn check(connection: &Connection, stream: &'a StreamId, verification: &mut Verification) {
        let sql = concat!("SELECT ", view_columns!(), " FROM stream WHERE name = ?1");
        let row = connection.query_row(sql, [stream.as_str()], SealedView::from_row).optional();
        let is_readable = row.is_ok();
        let mut chain = Chain {
            stream,
            row: row.ok().flatten(),
            next: 0,
            previous: Some(Digest::ZERO),
            position: 0,
            is_whole: true,
            faults: Vec::new(),
            events: 0,
        };
        if !is_readable || chain.events(connection).is_err() {
            chain.fault(chain.next, Mismatch::Unreadable);
        } else {
            chain.end();
        }
        verification.events += chain.events;
        verification.faults.append(&mut chain.faults);
    }

    fn events(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let sql =
            "SELECT position, seq, record, at, kind, hash, body FROM event WHERE stream = ?1 ORDER BY seq";
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([self.stream.as_str()])?;
        while let Some(row) = rows.next()? {
            self.event(row)?;
        }
        Ok(())
    }

    fn event(&mut self, row: &Row<'_>) -> rusqlite::Result<()> {
        let (position, seq, record) = (number(row, 0)?, number(row, 1)?, number(row, 2)?);
        let hash = digest(row, 5)?;
        let kind: String = row.get(4)?;
        let body = row.get_ref(6)?.as_blob()?;
        if seq > self.next {
            self.fault(self.next, Mismatch::Missing);
            self.previous = None;
        }
        let link = Link { stream: self.stream, seq, record, at: row.get(3)?, kind: &kind, body };
        if self.previous.is_some_and(|previous| link.hash(&previous) != hash) {
            self.fault(seq, Mismatch::HashDiffers);
        }
        if position <= self.position {
            self.fault(seq, Mismatch::OutOfOrder);
        }
        let expected = self.row.as_ref().map(|row| row.view.version.events());
        if let Some(expected) = expected.filter(|expected| seq == *expected) {
            self.fault(seq, Mismatch::BeyondTail { expected });
        }
        self.previous = Some(hash);
        self.position = position;
        self.is_whole = record == seq;
        self.next = seq + 1;
        self.events += 1;
        Ok(())
    }

    /// Checks the end of the stream against its row.
    fn end(&mut self) {
        let last = self.next.saturating_sub(1);
        if !self.is_whole {
            self.fault(last, Mismatch::RecordTorn);
        }
        let Some(row) = self.row.take() else { return };
        let version = &row.view.version;
        if self.next < version.events() {
            self.fault(self.next, Mismatch::TailCut { expected: version.events() });
        } else if self.next == version.events() {
            if self.previous != Some(*version.head()) {
                self.fault(last, Mismatch::HeadDiffers);
            }
            if self.position != row.view.position {
                self.fault(last, Mismatch::OutOfOrder);
            }
        }
        if !row.is_intact() {
            self.fault(version.events().saturating_sub(1), Mismatch::ViewDiffers);
        }
    }

    fn fault(&mut self, seq: u64, mismatch: Mismatch) {
        self.faults.push(of(self.stream, seq, mismatch));
    }
}
