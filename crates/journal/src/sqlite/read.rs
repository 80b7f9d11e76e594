//! Reading streams and what is kept beside them.

use rusqlite::{Connection, OptionalExtension, Params, Row, params};

use crate::chain::{self, Digest};
use crate::error::StoreError;
use crate::integrity::Mismatch;
use crate::store::{StoredEvent, StreamId, StreamView, Version, View};

use super::{SqliteStore, Statements, fault};

/// The columns that [`Sealed::from_row`] takes.
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

pub(super) fn view(store: &SqliteStore, stream: &StreamId) -> Result<Option<StreamView>, StoreError> {
    let sql = concat!("SELECT ", view_columns!(), " FROM stream WHERE name = ?1");
    let found = select_views(store, sql, [stream.as_str()])?.pop();
    if found.is_none() {
        refuse_orphans(store, stream)?;
    }
    Ok(found)
}

/// Tells a stream that does not exist from one that lost its row.
fn refuse_orphans(store: &SqliteStore, stream: &StreamId) -> Result<(), StoreError> {
    // One statement, so that a stream whose first events are just being appended is not taken for one without a row.
    let sql = "SELECT EXISTS (SELECT 1 FROM event WHERE stream = ?1)
        AND NOT EXISTS (SELECT 1 FROM stream WHERE name = ?1)";
    let is_orphan = one(store.statements, &store.connection, sql, [stream.as_str()], |row| row.get(0));
    if is_orphan.map_err(|error| fault::classify(&store.path, error))? {
        return Err(fault::in_stream(&store.path, stream, 0, Mismatch::ViewMissing));
    }
    Ok(())
}

pub(super) fn find(store: &SqliteStore, mark: &str) -> Result<Option<StreamView>, StoreError> {
    let sql = concat!("SELECT ", view_columns!(), " FROM stream WHERE mark = ?1");
    select_views(store, sql, [mark]).map(|mut views| views.pop())
}

pub(super) fn views(store: &SqliteStore) -> Result<Vec<StreamView>, StoreError> {
    let sql = concat!("SELECT ", view_columns!(), " FROM stream ORDER BY position DESC");
    select_views(store, sql, [])
}

pub(super) fn views_about(store: &SqliteStore, topic: &str) -> Result<Vec<StreamView>, StoreError> {
    let sql = concat!("SELECT ", view_columns!(), " FROM stream WHERE topic = ?1 ORDER BY position DESC");
    select_views(store, sql, [topic])
}

/// A text that comes after every one with the prefix: no character is higher than this one.
fn past(prefix: &str) -> String {
    format!("{prefix}{}", char::MAX)
}

pub(super) fn views_marked(store: &SqliteStore, prefix: &str) -> Result<Vec<StreamView>, StoreError> {
    let sql = concat!(
        "SELECT ",
        view_columns!(),
        " FROM stream WHERE mark >= ?1 AND mark < ?2 ORDER BY position DESC"
    );
    select_views(store, sql, [prefix, &past(prefix)])
}

pub(super) fn views_named(store: &SqliteStore, prefix: &str) -> Result<Vec<StreamView>, StoreError> {
    let sql = concat!(
        "SELECT ",
        view_columns!(),
        " FROM stream WHERE name >= ?1 AND name < ?2 ORDER BY position DESC"
    );
    select_views(store, sql, [prefix, &past(prefix)])
}

/// Only rows are read, without what is kept in them.
pub(super) fn names(store: &SqliteStore, prefix: &str) -> Result<Vec<StreamId>, StoreError> {
    let sql = "SELECT name FROM stream WHERE name >= ?1 AND name < ?2 ORDER BY position DESC";
    select(store.statements, &store.connection, sql, [prefix, &past(prefix)], |row| stream_id(row, 0))
        .map_err(|error| fault::classify(&store.path, error))
}

pub(super) fn count_about(store: &SqliteStore, topic: &str) -> Result<u64, StoreError> {
    let sql = "SELECT COUNT(*) FROM stream WHERE topic = ?1";
    let count = one(store.statements, &store.connection, sql, [topic], |row| number(row, 0));
    count.map_err(|error| fault::classify(&store.path, error))
}

pub(super) fn last_named(store: &SqliteStore, prefix: &str) -> Result<Option<StreamId>, StoreError> {
    let sql = "SELECT name FROM stream WHERE name >= ?1 AND name < ?2 ORDER BY name DESC LIMIT 1";
    let bounds = [prefix, &past(prefix)];
    let last = one(store.statements, &store.connection, sql, bounds, |row| stream_id(row, 0));
    last.optional().map_err(|error| fault::classify(&store.path, error))
}

/// Reads events of one stream, and notices if one is missing.
pub(super) fn read(
    store: &SqliteStore,
    stream: &StreamId,
    from_seq: u64,
    limit: usize,
) -> Result<Vec<StoredEvent>, StoreError> {
    let classify = |error| fault::classify(&store.path, error);
    // One transaction, so that the number of events and the events are of the same moment.
    let transaction = store.connection.unchecked_transaction().map_err(classify)?;
    let Some(version) = version(store.statements, &transaction, stream).map_err(classify)? else {
        refuse_orphans(store, stream)?;
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
    let events = select(store.statements, &transaction, sql, bounds, event_from_row).map_err(classify)?;
    for (seq, found) in (from_seq..end).zip(events.iter().map(Some).chain(std::iter::repeat(None))) {
        if found.is_none_or(|event| event.seq != seq) {
            let is_tail = found.is_none();
            let mismatch =
                if is_tail { Mismatch::TailCut { expected: version.events() } } else { Mismatch::Missing };
            return Err(fault::in_stream(&store.path, stream, seq, mismatch));
        }
    }
    Ok(events)
}

pub(super) fn read_all(
    store: &SqliteStore,
    after_position: u64,
    limit: usize,
) -> Result<Vec<StoredEvent>, StoreError> {
    let sql =
        concat!("SELECT ", event_columns!(), " FROM event WHERE position > ?1 ORDER BY position LIMIT ?2");
    let bounds = [clamp(after_position), clamp(limit as u64)];
    select(store.statements, &store.connection, sql, bounds, event_from_row)
        .map_err(|error| fault::classify(&store.path, error))
}

/// Returns the highest position ever given out, also if the event that had it is gone.
pub(super) fn last_position(statements: Statements, connection: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT seq FROM sqlite_sequence WHERE name = 'event'";
    let last = one(statements, connection, sql, [], |row| number(row, 0)).optional()?;
    Ok(last.unwrap_or(0))
}

/// Returns the version of `stream`, or `None` if it does not exist.
pub(super) fn version(
    statements: Statements,
    connection: &Connection,
    stream: &StreamId,
) -> rusqlite::Result<Option<Version>> {
    let sql = "SELECT events, head FROM stream WHERE name = ?1";
    let from_row = |row: &Row<'_>| Ok(Version::new(number(row, 0)?, digest(row, 1)?));
    one(statements, connection, sql, [stream.as_str()], from_row).optional()
}

/// Returns the stream that holds a mark, and its version, without what is kept beside it.
pub(super) fn holder(store: &SqliteStore, mark: &str) -> Result<Option<(StreamId, Version)>, StoreError> {
    let sql = "SELECT name, events, head FROM stream WHERE mark = ?1";
    let holder = one(store.statements, &store.connection, sql, [mark], named_version).optional();
    holder.map_err(|error| fault::classify(&store.path, error))
}

/// Returns the streams with a topic and their versions, without what is kept beside them.
pub(super) fn versions_about(
    store: &SqliteStore,
    topic: &str,
) -> Result<Vec<(StreamId, Version)>, StoreError> {
    let sql = "SELECT name, events, head FROM stream WHERE topic = ?1 ORDER BY position DESC";
    select(store.statements, &store.connection, sql, [topic], named_version)
        .map_err(|error| fault::classify(&store.path, error))
}

fn named_version(row: &Row<'_>) -> rusqlite::Result<(StreamId, Version)> {
    Ok((stream_id(row, 0)?, Version::new(number(row, 1)?, digest(row, 2)?)))
}

/// Returns the one row of a statement.
pub(super) fn one<T>(
    statements: Statements,
    connection: &Connection,
    sql: &str,
    params: impl Params,
    from_row: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    statements.with(connection, sql, |statement| statement.query_row(params, from_row))
}

/// A row beside a stream, with the seal it was stored under.
pub(super) struct Sealed {
    pub(super) view: StreamView,
    seal: Digest,
}

impl Sealed {
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

fn select_views(store: &SqliteStore, sql: &str, params: impl Params) -> Result<Vec<StreamView>, StoreError> {
    let rows = select(store.statements, &store.connection, sql, params, Sealed::from_row)
        .map_err(|error| fault::classify(&store.path, error))?;
    let open = |row: Sealed| {
        if row.is_intact() {
            return Ok(row.view);
        }
        let last = row.view.version.events().saturating_sub(1);
        Err(fault::in_stream(&store.path, &row.view.stream, last, Mismatch::ViewDiffers))
    };
    rows.into_iter().map(open).collect()
}

fn select<T>(
    statements: Statements,
    connection: &Connection,
    sql: &str,
    params: impl Params,
    from_row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    statements.with(connection, sql, |statement| statement.query_map(params, from_row)?.collect())
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
