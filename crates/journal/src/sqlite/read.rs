//! Reading streams and what is kept beside them.

use rusqlite::{Connection, OptionalExtension, Params, Row, params};

use crate::chain::{self, Digest};
use crate::error::StoreError;
use crate::integrity::Mismatch;
use crate::store::{StoredEvent, StreamId, StreamView, Version, View};

use super::{SqliteStore, fault};

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
    let sql = "SELECT EXISTS (SELECT 1 FROM event WHERE stream = ?1)";
    let has_events = store.connection.query_row(sql, [stream.as_str()], |row| row.get(0));
    if has_events.map_err(|error| fault::classify(&store.path, error))? {
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
    let Some(version) = version(&transaction, stream).map_err(classify)? else {
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
    let events = select(&transaction, sql, bounds, event_from_row).map_err(classify)?;
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
    select(&store.connection, sql, bounds, event_from_row)
        .map_err(|error| fault::classify(&store.path, error))
}

/// Returns the highest position ever given out, also if the event that had it is gone.
pub(super) fn last_position(connection: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT seq FROM sqlite_sequence WHERE name = 'event'";
    let last = connection.query_row(sql, [], |row| number(row, 0)).optional()?;
    Ok(last.unwrap_or(0))
}

/// Returns the version of `stream`, or `None` if it does not exist.
pub(super) fn version(connection: &Connection, stream: &StreamId) -> rusqlite::Result<Option<Version>> {
    let sql = "SELECT events, head FROM stream WHERE name = ?1";
    connection
        .query_row(sql, [stream.as_str()], |row| Ok(Version::new(number(row, 0)?, digest(row, 1)?)))
        .optional()
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
    let rows = select(&store.connection, sql, params, Sealed::from_row)
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
    connection: &Connection,
    sql: &str,
    params: impl Params,
    from_row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare(sql)?.query_map(params, from_row)?.collect()
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
