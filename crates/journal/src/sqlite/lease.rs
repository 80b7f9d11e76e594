//! Leases: a row per holder, whose key is the generation.
//!
//! A change of holder deletes the row and inserts another, so the generation comes from SQLite's own counter, which
//! never goes back, and released leases leave nothing behind.
//!
//! A lease does not wait for the disk: it is between processes of one machine, and none of them outlives a power cut.
//! What is recorded after it takes it along.

use rusqlite::{Connection, OptionalExtension, params};

use crate::error::LeaseError;
use crate::store::Lease;

use super::read::{self, clamp, number};
use super::{Durable, SqliteStore, Statements, Writing, fault};

pub(super) fn acquire(
    store: &mut SqliteStore,
    name: &str,
    owner: &str,
    now: i64,
    expires_at: i64,
) -> Result<Lease, LeaseError> {
    let statements = store.statements;
    let take = |transaction: &Connection| {
        let held = lease(statements, transaction, name)?.filter(|held| now < held.expires_at);
        if let Some(held) = held {
            return Ok(if held.owner == owner {
                Ok(extend(statements, transaction, held, expires_at)?)
            } else {
                Err(held)
            });
        }
        let sql = "DELETE FROM lease WHERE name = ?1";
        statements.with(transaction, sql, |statement| statement.execute([name]))?;
        let sql = "INSERT INTO lease (name, owner, expires_at) VALUES (?1, ?2, ?3)";
        statements.with(transaction, sql, |statement| statement.execute(params![name, owner, expires_at]))?;
        let generation = transaction.last_insert_rowid().unsigned_abs();
        Ok(Ok(Lease { name: name.into(), owner: owner.into(), generation, expires_at }))
    };
    let held = |held: Lease| LeaseError::Held { name: held.name, owner: held.owner, until: held.expires_at };
    in_transaction(store, take)?.map_err(held)
}

pub(super) fn renew(
    store: &mut SqliteStore,
    name: &str,
    generation: u64,
    expires_at: i64,
) -> Result<Lease, LeaseError> {
    let statements = store.statements;
    in_transaction(store, |transaction| match current(statements, transaction, name, generation)? {
        Some(held) => extend(statements, transaction, held, expires_at).map(Some),
        None => Ok(None),
    })?
    .ok_or_else(|| stale(name, generation))
}

pub(super) fn release(store: &mut SqliteStore, name: &str, generation: u64) -> Result<(), LeaseError> {
    let statements = store.statements;
    let released = in_transaction(store, |transaction| {
        let sql = "DELETE FROM lease WHERE name = ?1 AND generation = ?2";
        statements.with(transaction, sql, |statement| statement.execute(params![name, clamp(generation)]))
    })?;
    if released == 0 { Err(stale(name, generation)) } else { Ok(()) }
}

pub(super) fn lease(
    statements: Statements,
    connection: &Connection,
    name: &str,
) -> rusqlite::Result<Option<Lease>> {
    let sql = "SELECT generation, owner, expires_at FROM lease WHERE name = ?1";
    let from_row = |row: &rusqlite::Row<'_>| {
        Ok(Lease {
            name: name.into(),
            owner: row.get(1)?,
            generation: number(row, 0)?,
            expires_at: row.get(2)?,
        })
    };
    read::one(statements, connection, sql, [name], from_row).optional()
}

fn current(
    statements: Statements,
    connection: &Connection,
    name: &str,
    generation: u64,
) -> rusqlite::Result<Option<Lease>> {
    Ok(lease(statements, connection, name)?.filter(|held| held.generation == generation))
}

fn extend(
    statements: Statements,
    connection: &Connection,
    held: Lease,
    expires_at: i64,
) -> rusqlite::Result<Lease> {
    let sql = "UPDATE lease SET expires_at = ?2 WHERE generation = ?1";
    statements
        .with(connection, sql, |statement| statement.execute(params![clamp(held.generation), expires_at]))?;
    Ok(Lease { expires_at, ..held })
}

fn in_transaction<T>(
    store: &mut SqliteStore,
    act: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> Result<T, LeaseError> {
    let statements = store.statements;
    let run = |connection: &Connection| {
        let transaction = Writing::begin(connection, statements)?;
        let outcome = act(&transaction)?;
        transaction.commit()?;
        Ok(outcome)
    };
    store.name_log()?;
    let waits = store.durable == Durable::AtOnce;
    if waits {
        store.set_synchronous(Durable::Later)?;
    }
    let outcome = run(&store.connection).map_err(|error| fault::classify(&store.path, error));
    if waits {
        store.set_synchronous(Durable::AtOnce)?;
    }
    let outcome = outcome?;
    store.has_committed();
    Ok(outcome)
}

fn stale(name: &str, generation: u64) -> LeaseError {
    LeaseError::Stale { name: name.into(), generation }
}
