//! The append-only record of events, behind a small port.
//!
//! Everything Warp Drive knows about a run is a stream of events, and this crate keeps the streams. The port is
//! [`Store`]: append to a stream if nobody else did since it was read, read it back, watch it, and take out leases. Two
//! stores meet it: [`SqliteStore`], a file on one machine, which [`Stores`] opens, and [`MemoryStore`], for simulation.
//!
//! Invariants:
//! - An append is all or nothing, and once acknowledged it survives a kill at any moment; once flushed, a power cut.
//! - Of two writers who saw the same [`Version`], one wins and the other is told [`AppendError::Conflict`].
//! - No operation costs more because a stream is long: appends touch its tail, and what a reader needs is kept
//!   beside the stream as a [`View`].
//! - Events are chained by hash, so a changed, missing, added or swapped event is found and named.
//! - A damaged store is an error that says what is wrong and where; it is never read as an empty one.
//!
//! What is deliberately absent: bodies, snapshots, marks and topics mean nothing here; no clock is read to
//! decide anything (times are passed in); and nothing is ever deleted, only set aside.

mod chain;
mod error;
mod fenced;
mod integrity;
mod memory;
pub mod sqlite;
mod store;
mod stores;
pub mod streams;

pub use error::{AppendError, Corruption, LeaseError, OpenError, StoreError};
pub use fenced::FencedStore;
pub use integrity::{Fault, Mismatch, StreamFault, Verification};
pub use memory::MemoryStore;
pub use sqlite::SqliteStore;
pub use store::{
    Durable, Fence, Lease, Listener, NewEvent, Query, Scope, Store, StoredEvent, StreamHead, StreamId,
    StreamIdError, StreamView, Subscription, Version, View, Watch,
};
pub use stores::Stores;
pub use streams::{Appended, Loaded, State, Streams};
