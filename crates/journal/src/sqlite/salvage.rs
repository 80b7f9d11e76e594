//! Getting out of a damaged store what can still be proved.
//!
//! Works on a copy, which it may mend: the recorded number of pages is forgotten, and a first page that
//! cannot be read is replaced by that of an empty store, which has the same tables in the same places. Neither can
//! bring in anything false, because an event is kept only if the chain from the first event of its stream leads to
//! it, and only together with the other events of its append.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::chain::{self, Digest, Link};
use crate::store::{StreamId, Version, View};

use super::guard::PLAUSIBLE;
use super::read::{SealedView, clamp, digest, number, stream_id, view_columns};
use super::repair::{StreamRepair, ViewRepair};
use super::{PAGE, open, place, schema};

/// How many keys in a row are tried without success before the rest of a table is given up.
///
/// The steps between them grow, so that this many get over an unreadable stretch of millions of events.
const FAILURES: i64 = 20_000;

/// The readable rows of a damaged store: positions of events, views and leases.
pub(super) struct SalvagedStore {
    connection: Connection,
    streams: BTreeMap<StreamId, SalvagedStream>,
    leases: Vec<(i64, String, String, i64)>,
    last_position: u64,
    last_generation: u64,
}

/// The readable rows of one stream.
#[derive(Default)]
struct SalvagedStream {
    /// Positions by number. More than one only if the file is so damaged that rows appear twice.
    positions: BTreeMap<u64, Vec<i64>>,
    row: Option<SealedView>,
}

/// Reads what can be read of the copy at `path`, or returns `None` if that is nothing at all.
///
/// `template` is an empty store.
pub(super) fn read(path: &Path, template: &Path) -> io::Result<Option<SalvagedStore>> {
    // SQLite would delete the log beside an empty database.
    if !place::is_empty(path)? {
        mend_length(path)?;
        let remains = SalvagedStore::read(path).filter(SalvagedStore::has_events);
        if remains.is_some() {
            return Ok(remains);
        }
    }
    mend_first_page(path, template)?;
    Ok(SalvagedStore::read(path).filter(|remains| !remains.streams.is_empty()))
}

impl SalvagedStore {
    fn read(path: &Path) -> Option<Self> {
        let connection = open::connect(path).ok()?;
        // An older store is read as a current one; if it does not get that far, it is read as it is.
        let _ = schema::migrate(&connection, &schema::STEPS);
        let sequence = |name: &str| {
            let sql = "SELECT seq FROM sqlite_sequence WHERE name = ?1";
            let last = connection.query_row(sql, [name], |row| number(row, 0)).optional().ok().flatten();
            last.filter(|last| *last <= PLAUSIBLE).unwrap_or(0)
        };
        let (mut last_position, mut last_generation) = (sequence("event"), sequence("lease"));
        let mut streams: BTreeMap<StreamId, SalvagedStream> = BTreeMap::new();

        let sql = "SELECT position, stream, seq FROM event WHERE position >= ?1 ORDER BY position";
        scan(&connection, sql, |row| {
            let (position, stream, seq) = (number(row, 0)?, stream_id(row, 1)?, number(row, 2)?);
            streams.entry(stream).or_default().positions.entry(seq).or_default().push(clamp(position));
            last_position = last_position.max(plausible(position));
            Ok(())
        });

        let sql = "SELECT rowid, name FROM stream WHERE rowid >= ?1 ORDER BY rowid";
        let mut rows = Vec::new();
        scan(&connection, sql, |row| {
            rows.push((row.get::<_, i64>(0)?, stream_id(row, 1)?));
            Ok(())
        });
        for (id, stream) in rows {
            let sql = concat!("SELECT ", view_columns!(), " FROM stream WHERE rowid = ?1");
            let row = connection.query_row(sql, [id], SealedView::from_row).ok();
            if let Some(row) = &row {
                last_position = last_position.max(plausible(row.view.position));
            }
            streams.entry(stream).or_default().row = row;
        }

        let sql = "SELECT generation, name, owner, expires_at FROM lease WHERE generation >= ?1 ORDER BY generation";
        let mut leases = Vec::new();
        scan(&connection, sql, |row| {
            let generation = plausible(number(row, 0)?);
            if generation > 0 {
                leases.push((clamp(generation), row.get(1)?, row.get(2)?, row.get(3)?));
            }
            last_generation = last_generation.max(generation);
            Ok(())
        });
        Some(Self { connection, streams, leases, last_position, last_generation })
    }

    fn has_events(&self) -> bool {
        self.streams.values().any(|traces| !traces.positions.is_empty())
    }

    pub(super) fn last_position(&self) -> u64 {
        self.last_position
    }

    pub(super) fn last_generation(&self) -> u64 {
        self.last_generation
    }

    /// Writes what can be proved to the empty store behind `target`, and reports on every stream.
    pub(super) fn pour(&self, target: &Connection) -> rusqlite::Result<Vec<StreamRepair>> {
        let mut marks = HashSet::new();
        let mut report = Vec::new();
        for (stream, traces) in &self.streams {
            let kept = self.pour_events(target, stream, traces)?;
            let view = kept.write_row(target, stream, traces.row.as_ref(), &mut marks)?;
            // A row that is not what was written may as well have another number, or another stream's name.
            let lost = traces.row.as_ref().filter(|row| row.is_intact()).map(|row| {
                let expected = row.view.version.events();
                expected.saturating_sub(kept.version.events())
            });
            report.push(StreamRepair { stream: stream.clone(), kept: kept.version.events(), lost, view });
        }
        for (generation, name, owner, expires_at) in &self.leases {
            let sql =
                "INSERT OR IGNORE INTO lease (generation, name, owner, expires_at) VALUES (?1, ?2, ?3, ?4)";
            target.execute(sql, params![generation, name, owner, expires_at])?;
        }
        Ok(report)
    }

    /// Writes the longest run of whole appends whose chain holds.
    fn pour_events(
        &self,
        target: &Connection,
        stream: &StreamId,
        traces: &SalvagedStream,
    ) -> rusqlite::Result<StreamTail> {
        let mut kept = StreamTail { version: Version::NONE, position: 0, updated_at: 0 };
        let mut head = Digest::ZERO;
        let mut append: Vec<Event> = Vec::new();
        for (expected, (seq, positions)) in (0..).zip(&traces.positions) {
            let candidates = positions.iter().filter_map(|position| self.event(*position));
            let mut proved = candidates.filter(|event| event.link(stream, *seq).hash(&head) == event.hash);
            let Some(event) = proved.next().filter(|_| *seq == expected) else { break };
            head = event.hash;
            let is_last = event.record == *seq;
            append.push(event);
            if is_last {
                kept.add(target, stream, append.drain(..), self.last_position)?;
                kept.version = Version::new(*seq + 1, head);
            }
        }
        Ok(kept)
    }

    fn event(&self, position: i64) -> Option<Event> {
        let sql = "SELECT record, at, kind, hash, body FROM event WHERE position = ?1";
        let from_row = |row: &Row<'_>| {
            Ok(Event {
                position,
                record: number(row, 0)?,
                at: row.get(1)?,
                kind: row.get(2)?,
                hash: digest(row, 3)?,
                body: row.get(4)?,
            })
        };
        self.connection.query_row(sql, [position], from_row).ok()
    }
}

struct Event {
    position: i64,
    record: u64,
    at: i64,
    kind: String,
    hash: Digest,
    body: Vec<u8>,
}

impl Event {
    fn link<'a>(&'a self, stream: &'a StreamId, seq: u64) -> Link<'a> {
        Link { stream, seq, record: self.record, at: self.at, kind: &self.kind, body: &self.body }
    }

    fn write(
        &self,
        target: &Connection,
        stream: &StreamId,
        seq: u64,
        position: Option<i64>,
    ) -> rusqlite::Result<usize> {
        let sql = "INSERT INTO event (position, stream, seq, record, at, kind, hash, body)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let record = clamp(self.record);
        target.execute(
            sql,
            params![
                position,
                stream.as_str(),
                clamp(seq),
                record,
                self.at,
                self.kind,
                self.hash.as_bytes(),
                self.body
            ],
        )
    }
}

/// The end of a stream as repair rebuilt it.
struct StreamTail {
    version: Version,
    position: i64,
    updated_at: i64,
}

impl StreamTail {
    /// Writes the events of one append after those before them.
    fn add(
        &mut self,
        target: &Connection,
        stream: &StreamId,
        events: impl Iterator<Item = Event>,
        last_position: u64,
    ) -> rusqlite::Result<()> {
        for (seq, event) in (self.version.events()..).zip(events) {
            // A position that is out of order is replaced by one after all others.
            let in_order = event.position > self.position && event.position <= clamp(last_position);
            let position = in_order.then_some(event.position);
            event.write(target, stream, seq, position)?;
            self.position = position.unwrap_or_else(|| target.last_insert_rowid());
            self.updated_at = event.at;
        }
        Ok(())
    }

    /// Writes what is kept beside the stream, with its snapshot only if nothing of the stream is lost.
    fn write_row(
        &self,
        target: &Connection,
        stream: &StreamId,
        row: Option<&SealedView>,
        marks: &mut HashSet<String>,
    ) -> rusqlite::Result<ViewRepair> {
        if self.version == Version::NONE {
            return Ok(ViewRepair::Dropped);
        }
        let whole = row.filter(|row| row.view.version == self.version && row.is_intact());
        let mark = row.and_then(|row| row.view.mark.clone()).filter(|mark| marks.insert(mark.clone()));
        let view = View {
            snapshot: whole.map_or(&[], |row| row.view.snapshot.as_slice()),
            mark: mark.as_deref(),
            topic: row.and_then(|row| row.view.topic.as_deref()),
        };
        let seal = chain::seal(stream, &self.version, self.updated_at, view);
        let sql = "INSERT INTO stream (name, events, head, position, updated_at, mark, topic, seal, snapshot)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        target.execute(
            sql,
            params![
                stream.as_str(),
                clamp(self.version.events()),
                self.version.head().as_bytes(),
                self.position,
                self.updated_at,
                view.mark,
                view.topic,
                seal.as_bytes(),
                view.snapshot,
            ],
        )?;
        Ok(if whole.is_some() { ViewRepair::Kept } else { ViewRepair::Emptied })
    }
}

/// Visits every row that can be read, in the order of the key in column 0.
///
/// A page that cannot be read stops SQLite. The scan goes on with the keys after it until a readable page has one,
/// in steps of one at first; at the end of a very long stretch a few rows may be passed over.
fn scan(connection: &Connection, sql: &str, mut visit: impl FnMut(&Row<'_>) -> rusqlite::Result<()>) {
    let Ok(mut statement) = connection.prepare(sql) else { return };
    let (mut key, mut failures) = (0_i64, 0);
    while failures < FAILURES {
        let mut pass = || -> rusqlite::Result<()> {
            let mut rows = statement.query([key])?;
            while let Some(row) = rows.next()? {
                let next = row.get::<_, i64>(0)?.saturating_add(1);
                // Never backwards: the order of a damaged tree cannot be relied on.
                if next > key {
                    (key, failures) = (next, 0);
                }
                // A row whose values make no sense is lost, the next one need not be.
                let _ = visit(row);
            }
            Ok(())
        };
        if pass().is_ok() {
            return;
        }
        failures += 1;
        key = key.saturating_add(1 + failures / 64);
    }
}

fn plausible(number: u64) -> u64 {
    if number <= PLAUSIBLE { number } else { 0 }
}

/// Makes the file a whole number of pages, and lets SQLite count them.
fn mend_length(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    let pages = file.metadata()?.len().div_ceil(PAGE);
    file.set_len(pages * PAGE)?;
    forget_page_count(&file)
}

fn mend_first_page(path: &Path, template: &Path) -> io::Result<()> {
    let page = fs::read(template)?;
    let file = OpenOptions::new().write(true).open(path)?;
    file.write_all_at(page.get(..PAGE as usize).unwrap_or_default(), 0)?;
    forget_page_count(&file)
}

/// Clears the recorded number of pages. SQLite then goes by the length of the file and by the log.
fn forget_page_count(file: &fs::File) -> io::Result<()> {
    file.write_all_at(&[0; 4], 28)
}
