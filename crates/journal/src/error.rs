//! Why a store said no, or could not answer.
//!
//! A refusal (a conflict, a mark or lease that is taken) belongs to one operation and is an ordinary outcome. A
//! [`StoreError`] can befall any of them: then nothing is known and, for a write, nothing was acknowledged.

use std::error::Error as StdError;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::integrity::StreamFault;
use crate::store::{StreamId, Version};

/// Why events were not appended. Nothing has changed.
#[derive(Debug, Error)]
pub enum AppendError {
    /// The stream is not at the version the append was decided on.
    #[error("the stream has moved on: it has {} events", actual.events())]
    Conflict {
        /// Where it is; [`Version::NONE`] if it does not exist.
        actual: Version,
    },
    /// Another stream holds the mark.
    #[error("mark `{mark}` is held by stream `{holder}`")]
    MarkTaken {
        /// The mark.
        mark: String,
        /// The stream that holds it.
        holder: StreamId,
    },
    /// There was nothing to append.
    #[error("an append needs at least one event")]
    NoEvents,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a lease was not taken, renewed or released. Nothing has changed.
#[derive(Debug, Error)]
pub enum LeaseError {
    /// Somebody else holds the lease.
    #[error("lease `{name}` is held by `{owner}`")]
    Held {
        /// The lease.
        name: String,
        /// Who holds it.
        owner: String,
        /// Expiry, in milliseconds since the epoch.
        until: i64,
    },
    /// The lease was released or has had another holder since.
    #[error("generation {generation} of lease `{name}` is over")]
    Stale {
        /// The lease.
        name: String,
        /// The generation that was presented.
        generation: u64,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a store could not be opened. Nothing has changed on disk.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The directory of the store cannot be made or used.
    #[error("failed to prepare directory `{}`", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: io::Error,
    },
    /// The file is a database, but not a journal.
    #[error("`{}` is a database of another program", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The application id in its header.
        application_id: i64,
    },
    /// The journal was written by a later version of the program.
    #[error("journal `{}` has schema {found}, this program knows up to {known}: upgrade warp", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The latest schema this program knows.
        known: i64,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An error that any store operation can return.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The journal is damaged. It is left as it is: verify names every fault, repair sets it aside.
    #[error("journal `{}` is damaged: {corruption}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        corruption: Corruption,
    },
    /// There is no space left.
    #[error("no space is left for journal `{}`", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The file or its directory may not be written.
    #[error("journal `{}` may not be written", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// Another process kept the journal locked for longer than anyone should.
    #[error("journal `{}` is kept locked by another process", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The lease under which something was to be recorded or done has another holder by now, or was given back.
    #[error("lease `{name}` has been taken over")]
    Stale {
        /// The lease.
        name: String,
        /// The generation that was presented.
        generation: u64,
    },
    /// Anything else.
    #[error("failed to use journal `{}`", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
}

/// Kind of damage to a journal.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Corruption {
    /// The file does not begin as a database does.
    #[error("it is not a database")]
    NotADatabase,
    /// The file is shorter than it says.
    #[error("it is cut short: {recorded} pages are recorded and {found} are there")]
    Truncated {
        /// How many pages its header records.
        recorded: u64,
        /// How many there are.
        found: u64,
    },
    /// The write-ahead log is there, the database it belongs to is not.
    #[error("its write-ahead log is there but the database is gone or empty")]
    DatabaseGone,
    /// Events that were acknowledged are not there: the log was lost, or an older copy was put back.
    #[error("it ends at position {found}, but position {acknowledged} was acknowledged")]
    Behind {
        /// The last position known to have been acknowledged.
        acknowledged: u64,
        /// The last position in the file.
        found: u64,
    },
    /// The database cannot be read as one.
    #[error("{detail}")]
    Malformed {
        /// What the database says about it.
        detail: String,
    },
    /// One stream is not what it should be.
    #[error(transparent)]
    Stream(#[from] StreamFault),
}
