//! What can be wrong with a store, named precisely enough to act on.

use std::fmt;

use thiserror::Error;

use crate::store::StreamId;

/// Result of verifying a store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verification {
    /// Number of streams checked.
    pub streams: u64,
    /// Number of events checked.
    pub events: u64,
    /// What is wrong, in the order it was found.
    pub faults: Vec<Fault>,
}

impl Verification {
    /// Returns whether no fault was found.
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }
}

/// A fault of a store.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    /// The file is not a well-formed database: the detail names the tree and page where they are known.
    #[error("{detail}")]
    Structure {
        /// What the database's own check says.
        detail: String,
    },
    /// A stream is not what its hash chain says.
    #[error(transparent)]
    Stream(#[from] StreamFault),
}

/// A fault of one stream.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct StreamFault {
    /// The stream.
    pub stream: StreamId,
    /// The number of the event at which it shows.
    pub seq: u64,
    /// What is wrong there.
    pub mismatch: Mismatch,
}

impl fmt::Display for StreamFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream `{}`, event {}: {}", self.stream, self.seq, self.mismatch)
    }
}

/// Kind of a stream's fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Mismatch {
    /// The event, or the hash before it, is not what was appended.
    #[error("its hash differs")]
    HashDiffers,
    /// The event is not there, though later ones are.
    #[error("it is missing")]
    Missing,
    /// This event and all after it are not there.
    #[error("the tail is cut: {expected} events were appended")]
    TailCut {
        /// How many events the stream should have.
        expected: u64,
    },
    /// The event lies past the end that the stream records.
    #[error("it lies beyond the tail: {expected} events were appended")]
    BeyondTail {
        /// How many events the stream should have.
        expected: u64,
    },
    /// The last event is there, but is not the one the stream records as its last.
    #[error("the stream's head is another event")]
    HeadDiffers,
    /// The record that the event belongs to has no end.
    #[error("the append it belongs to is incomplete")]
    RecordTorn,
    /// Its position does not follow that of the event before it, or is not the one the stream records.
    #[error("its position is out of order")]
    OutOfOrder,
    /// There are events, but nothing is kept beside them.
    #[error("the stream's row is missing")]
    ViewMissing,
    /// What is kept beside the stream is not what was given with the last append.
    #[error("the stream's snapshot, mark or topic differs from its seal")]
    ViewDiffers,
    /// The database could not read it.
    #[error("it cannot be read")]
    Unreadable,
}
