//! Reading streams and what is kept beside them.

use rusqlite::{Connection, OptionalExtension, Params, Row, params};

use crate::chain::{self, Digest};
use crate::error::StoreError;
use crate::integrity::Mismatch;
use crate::store::{Query, Scope, StoredEvent, StreamHead, StreamId, StreamView, Version, View};

use super::{Open, fault, with};

/// The columns that [`SealedView::from_row`] takes.
macro_rules! view_columns {
    () => {
        "name, events, head, position, updated_at, mark, topic, seal, snapshot"
    };
}
pub(super) use view_columns;

/// The columns that [`event_from_row`] takes.
macro_rules! event_columns {
    () => {
        "position, stream, seq, record, at, kind, body"
    };
}

pub(super) fn load(open: &Open, stream: &StreamId) -> Result<Option<StreamView>, StoreError> {
    let sql = concat!("SELECT ", view_columns!(), " FROM stream WHERE name = ?1");
    match open.classified(one(&open.connection, sql, [stream.as_str()], SealedView::from_row).optional())? {
        Some(row) if row.is_intact() => Ok(Some(row.view)),
        Some(row) => {
            let last = row.view.version.events().saturating_sub(1);
            Err(fault::in_stream(&open.path, stream, last, Mismatch::ViewDiffers))
        }
        None => refuse_orphans(open, stream).map(|()| None),
    }
}

/// Tells a stream that does not exist from one that lost its row.
fn refuse_orphans(open: &Open, stream: &StreamId) -> Result<(), StoreError> {
    // One statement, so that a stream whose first events are just being appended is not taken for one without a row.
    let sql = "SELECT EXISTS (SELECT 1 FROM event WHERE stream = ?1)
        AND NOT EXISTS (SELECT 1 FROM stream WHERE name = ?1)";
    if open.classified(one(&open.connection, sql, [stream.as_str()], |row| row.get(0)))? {
        return Err(fault::in_stream(&open.path, stream, 0, Mismatch::ViewMissing));
    }
    Ok(())
}

/// Only rows are read, without what is kept in them.
pub(super) fn find(connection: &Connection, query: Query<'_>) -> rusqlite::Result<Vec<StreamHead>> {
    macro_rules! heads {
        ($rest:literal) => {
            concat!("SELECT name, events, head, mark FROM stream WHERE ", $rest)
        };
    }
    let is = |sql, text: &str| select(connection, sql, [text], head);
    let begins = |sql, prefix: &str| select(connection, sql, [prefix, &past(prefix)], head);
    match query {
        Query::Stream(stream) => is(heads!("name = ?1"), stream.as_str()),
        Query::Mark(mark) => is(heads!("mark = ?1"), mark),
        Query::Marks(prefix) => begins(heads!("mark >= ?1 AND mark < ?2 ORDER BY position DESC"), prefix),
        Query::Topic(topic) => is(heads!("topic = ?1 ORDER BY position DESC"), topic),
        Query::Names(prefix) => begins(heads!("name >= ?1 AND name < ?2 ORDER BY position DESC"), prefix),
        Query::LastName(prefix) => {
            begins(heads!("name >= ?1 AND name < ?2 ORDER BY name DESC LIMIT 1"), prefix)
        }
    }
}

fn head(row: &Row<'_>) -> rusqlite::Result<StreamHead> {
    let version = Version::new(number(row, 1)?, digest(row, 2)?);
    Ok(StreamHead { stream: stream_id(row, 0)?, version, mark: row.get(3)? })
}

/// A text that comes after every one with the prefix: no character is higher than this one.
fn past(prefix: &str) -> String {
    format!("{prefix}{}", char::MAX)
}

pub(super) fn read(
    open: &Open,
    scope: Scope<'_>,
    after: u64,
    limit: usize,
) -> Result<Vec<StoredEvent>, StoreError> {
    match scope {
        Scope::Store => open.classified(read_all(&open.connection, after, limit)),
        Scope::Stream(stream) => read_stream(open, stream, after, limit),
    }
}

/// Reads events of one stream, and notices if one is missing.
fn read_stream(
    open: &Open,
    stream: &StreamId,
    from_seq: u64,
    limit: usize,
) -> Result<Vec<StoredEvent>, StoreError> {
    // One transaction, so that the number of events and the events are of the same moment.
    let transaction = open.classified(open.connection.unchecked_transaction())?;
    let Some(version) = open.classified(version(&transaction, stream))? else {
        refuse_orphans(open, stream)?;
        return Ok(Vec::new());
    };
    let sql = concat!(
        "SELECT ",
        event_columns!(),
        " FROM event WHERE stream = ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3"
    );
    let end = version.events().min(from_seq.saturating_add(limit as u64));
    let wanted = end.saturating_sub(from_seq);
    let bounds = params![stream.as_str(), clamp(from_seq), clamp(wanted)];
    let events = open.classified(select(&transaction, sql, bounds, event_from_row))?;
    for (seq, found) in (from_seq..end).zip(events.iter().map(Some).chain(std::iter::repeat(None))) {
        if found.is_none_or(|event| event.seq != seq) {
            let is_tail = found.is_none();
            let mismatch =
                if is_tail { Mismatch::TailCut { expected: version.events() } } else { Mismatch::Missing };
            return Err(fault::in_stream(&open.path, stream, seq, mismatch));
        }
    }
    Ok(events)
}

fn read_all(connection: &Connection, after: u64, limit: usize) -> rusqlite::Result<Vec<StoredEvent>> {
    let sql =
        concat!("SELECT ", event_columns!(), " FROM event WHERE position > ?1 ORDER BY position LIMIT ?2");
    select(connection, sql, [clamp(after), clamp(limit as u64)], event_from_row)
}

/// Returns the highest position ever given out, also if the event that had it is gone.
pub(super) fn last_position(connection: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT seq FROM sqlite_sequence WHERE name = 'event'";
    let last = one(connection, sql, [], |row| number(row, 0)).optional()?;
    Ok(last.unwrap_or(0))
}

/// Returns the version of `stream`, or `None` if it does not exist.
pub(super) fn version(connection: &Connection, stream: &StreamId) -> rusqlite::Result<Option<Version>> {
    let sql = "SELECT events, head FROM stream WHERE name = ?1";
    let from_row = |row: &Row<'_>| Ok(Version::new(number(row, 0)?, digest(row, 1)?));
    one(connection, sql, [stream.as_str()], from_row).optional()
}

/// Returns the one row of a statement.
pub(super) fn one<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    from_row: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    with(connection, sql, |statement| statement.query_row(params, from_row))
}

/// A stream's view, with its seal.
pub(super) struct SealedView {
    pub(super) view: StreamView,
    seal: Digest,
}

impl SealedView {
    pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let view = StreamView {
            stream: stream_id(row, 0)?,
            version: Version::new(number(row, 1)?, digest(row, 2)?),
            position: number(row, 3)?,
            updated_at: row.get(4)?,
            mark: row.get(5)?,
            topic: row.get(6)?,
            snapshot: row.get(8)?,
        };
        Ok(Self { view, seal: digest(row, 7)? })
    }

    /// Returns whether the row is what the last append wrote.
    pub(super) fn is_intact(&self) -> bool {
        let view = &self.view;
        let parts =
            View { snapshot: &view.snapshot, mark: view.mark.as_deref(), topic: view.topic.as_deref() };
        self.seal == chain::seal(&view.stream, &view.version, view.updated_at, parts)
    }
}

fn select<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    from_row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    with(connection, sql, |statement| statement.query_map(params, from_row)?.collect())
}

fn event_from_row(row: &Row<'_>) -> rusqlite::Result<StoredEvent> {
    Ok(StoredEvent {
        position: number(row, 0)?,
        stream: stream_id(row, 1)?,
        seq: number(row, 2)?,
        record: number(row, 3)?,
        at: row.get(4)?,
        kind: row.get(5)?,
        body: row.get(6)?,
    })
}

pub(super) fn stream_id(row: &Row<'_>, column: usize) -> rusqlite::Result<StreamId> {
    StreamId::parse(row.get::<_, String>(column)?).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
    })
}

pub(super) fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, value))
}

pub(super) fn digest(row: &Row<'_>, column: usize) -> rusqlite::Result<Digest> {
    let bytes = row.get_ref(column)?.as_blob()?;
    Digest::from_slice(bytes)
        .ok_or_else(|| rusqlite::Error::InvalidColumnType(column, "hash".into(), rusqlite::types::Type::Blob))
}

/// Returns `value` as SQLite counts. Nothing in a store is numbered higher than that.
pub(super) fn clamp(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
