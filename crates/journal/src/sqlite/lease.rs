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
use super::{Open, Writing, with};

pub(super) fn acquire(
    open: &mut Open,
    name: &str,
    owner: &str,
    now: i64,
    expires_at: i64,
) -> Result<Lease, LeaseError> {
    let take = |transaction: &Connection| {
        let held = lease(transaction, name)?.filter(|held| now < held.expires_at);
        if let Some(held) = held {
            return Ok(if held.owner == owner {
                Ok(extend(transaction, held, expires_at)?)
            } else {
                Err(held)
            });
        }
        let sql = "DELETE FROM lease WHERE name = ?1";
        with(transaction, sql, |statement| statement.execute([name]))?;
        let sql = "INSERT INTO lease (name, owner, expires_at) VALUES (?1, ?2, ?3)";
        with(transaction, sql, |statement| statement.execute(params![name, owner, expires_at]))?;
        let generation = transaction.last_insert_rowid().unsigned_abs();
        Ok(Ok(Lease { name: name.into(), owner: owner.into(), generation, expires_at }))
    };
    let held = |held: Lease| LeaseError::Held { name: held.name, owner: held.owner, until: held.expires_at };
    in_transaction(open, take)?.map_err(held)
}

pub(super) fn renew(
    open: &mut Open,
    name: &str,
    generation: u64,
    expires_at: i64,
) -> Result<Lease, LeaseError> {
    in_transaction(open, |transaction| match current(transaction, name, generation)? {
        Some(held) => extend(transaction, held, expires_at).map(Some),
        None => Ok(None),
    })?
    .ok_or_else(|| stale(name, generation))
}

pub(super) fn release(open: &mut Open, name: &str, generation: u64) -> Result<(), LeaseError> {
    let released = in_transaction(open, |transaction| {
        let sql = "DELETE FROM lease WHERE name = ?1 AND generation = ?2";
        with(transaction, sql, |statement| statement.execute(params![name, clamp(generation)]))
    })?;
    if released == 0 { Err(stale(name, generation)) } else { Ok(()) }
}

pub(super) fn lease(connection: &Connection, name: &str) -> rusqlite::Result<Option<Lease>> {
    let sql = "SELECT generation, owner, expires_at FROM lease WHERE name = ?1";
    let from_row = |row: &rusqlite::Row<'_>| {
        Ok(Lease {
            name: name.into(),
            owner: row.get(1)?,
            generation: number(row, 0)?,
            expires_at: row.get(2)?,
        })
    };
    read::one(connection, sql, [name], from_row).optional()
}

fn current(connection: &Connection, name: &str, generation: u64) -> rusqlite::Result<Option<Lease>> {
    Ok(lease(connection, name)?.filter(|held| held.generation == generation))
}

fn extend(connection: &Connection, held: Lease, expires_at: i64) -> rusqlite::Result<Lease> {
    let sql = "UPDATE lease SET expires_at = ?2 WHERE generation = ?1";
    with(connection, sql, |statement| statement.execute(params![clamp(held.generation), expires_at]))?;
    Ok(Lease { expires_at, ..held })
}

fn in_transaction<T>(
    open: &mut Open,
    act: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> Result<T, LeaseError> {
    let run = |connection: &Connection| {
        let transaction = Writing::begin(connection)?;
        let outcome = act(&transaction)?;
        transaction.commit()?;
        Ok(outcome)
    };
    let outcome = open.classified(run(&open.connection))?;
    open.has_committed();
    Ok(outcome)
}

fn stale(name: &str, generation: u64) -> LeaseError {
    LeaseError::Stale { name: name.into(), generation }
}
