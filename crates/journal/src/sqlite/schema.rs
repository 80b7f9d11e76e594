//! The tables, and how an older file gets them.
//!
//! The schema's number is the count of steps a file has taken, kept as SQLite's `user_version`. A step is never
//! edited once released: a change is a new step at the end. Tables are strict, so a value of the wrong type is a
//! sign of damage. `AUTOINCREMENT` is meant: a position or generation is never given out twice, even if the rows
//! are gone.

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// The number that marks a database as a journal: `WarD` in ASCII.
pub(super) const APPLICATION_ID: i64 = 0x5761_7244;

/// Every step from an empty file to the current schema.
pub(super) const STEPS: [&str; 1] = ["
    CREATE TABLE event (
        position INTEGER PRIMARY KEY AUTOINCREMENT,
        stream TEXT NOT NULL,
        seq INTEGER NOT NULL,
        record INTEGER NOT NULL,
        at INTEGER NOT NULL,
        kind TEXT NOT NULL,
        hash BLOB NOT NULL,
        body BLOB NOT NULL,
        UNIQUE (stream, seq)
    ) STRICT;
    CREATE TABLE stream (
        name TEXT NOT NULL UNIQUE,
        events INTEGER NOT NULL,
        head BLOB NOT NULL,
        position INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        mark TEXT,
        topic TEXT,
        seal BLOB NOT NULL,
        snapshot BLOB NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX stream_mark ON stream (mark) WHERE mark IS NOT NULL;
    CREATE INDEX stream_topic ON stream (topic) WHERE topic IS NOT NULL;
    CREATE TABLE lease (
        generation INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        owner TEXT NOT NULL,
        expires_at INTEGER NOT NULL
    ) STRICT;
"];

/// The schema this program reads and writes.
pub(super) const CURRENT: i64 = STEPS.len() as i64;

/// Returns the number of steps the database has taken.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Returns the application id of the database.
pub(super) fn application_id(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA application_id", [], |row| row.get(0))
}

/// Returns whether the database has no tables.
pub(super) fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))
}

/// Tells whether the tables are exactly those of this program. A later schema has others: a step changes the tables.
pub(super) fn has_current_tables(connection: &Connection) -> rusqlite::Result<bool> {
    let expected = Connection::open_in_memory()?;
    migrate(&expected, &STEPS)?;
    Ok(tables(connection)? == tables(&expected)?)
}

fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement =
        connection.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// Takes the steps that are missing, each in a transaction of its own.
///
/// Several processes may do so at once: each step looks again, under the lock, at how far the others came.
pub(super) fn migrate(connection: &Connection, steps: &[&str]) -> rusqlite::Result<()> {
    loop {
        let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        let taken = version(&transaction)?;
        let Some(step) = usize::try_from(taken).ok().and_then(|taken| steps.get(taken)) else {
            return Ok(());
        };
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", taken + 1)?;
        transaction.commit()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_missing_steps_are_taken() {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection, &["CREATE TABLE a (x)"]).unwrap();
        assert_eq!(version(&connection).unwrap(), 1);
        migrate(&connection, &["CREATE TABLE a (x)", "ALTER TABLE a ADD COLUMN y"]).unwrap();
        assert_eq!(version(&connection).unwrap(), 2);
        connection.execute("INSERT INTO a VALUES (1, 2)", []).unwrap();
    }

    #[test]
    fn a_failed_step_leaves_the_step_before() {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection, &["CREATE TABLE a (x)", "CREATE TABLE b (x); CREATE TABLE a (x)"]).unwrap_err();
        assert_eq!(version(&connection).unwrap(), 1);
        connection.execute("INSERT INTO a VALUES (1)", []).unwrap();
        connection.execute("INSERT INTO b VALUES (1)", []).unwrap_err();
    }
}
