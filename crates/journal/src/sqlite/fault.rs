//! What SQLite's errors mean to the caller of a store.

use std::path::Path;

use rusqlite::{ErrorCode, ffi};

use crate::error::{Corruption, StoreError};
use crate::integrity::{Mismatch, StreamFault};
use crate::store::StreamId;

/// Puts an error of SQLite's into the store's words.
pub(super) fn classify(path: &Path, error: rusqlite::Error) -> StoreError {
    let path = path.to_path_buf();
    let extended = extended_code(&error);
    let Some(code) = error.sqlite_error_code() else {
        // A value of the wrong type or range: strict tables do not let one in, so the file was changed.
        return malformed(&path, error.to_string());
    };
    let is = |codes: &[ErrorCode]| codes.contains(&code);
    if is(&[ErrorCode::NotADatabase]) {
        StoreError::Corrupt { path, corruption: Corruption::NotADatabase }
    } else if is(&[ErrorCode::DatabaseCorrupt, ErrorCode::Unknown])
        || extended == ffi::SQLITE_IOERR_SHORT_READ
    {
        // `Unknown` is SQLite's plain error. The statements are fixed, so it is the schema that does not fit.
        malformed(&path, error.to_string())
    } else if is(&[ErrorCode::DiskFull]) || extended == ffi::SQLITE_IOERR_SHMSIZE {
        StoreError::Full { path }
    } else if is(&[ErrorCode::ReadOnly, ErrorCode::PermissionDenied]) {
        StoreError::ReadOnly { path }
    } else if is(&[ErrorCode::DatabaseBusy, ErrorCode::DatabaseLocked]) {
        StoreError::Busy { path }
    } else {
        StoreError::Failed { path, source: Box::new(error) }
    }
}

/// Returns whether a row was refused because another one has the same name, mark or number.
pub(super) fn is_duplicate(error: &rusqlite::Error) -> bool {
    extended_code(error) == ffi::SQLITE_CONSTRAINT_UNIQUE
}

/// Returns whether somebody else holds a lock.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

/// The error for a stream that is not what it should be.
pub(super) fn in_stream(path: &Path, stream: &StreamId, seq: u64, mismatch: Mismatch) -> StoreError {
    let fault = StreamFault { stream: stream.clone(), seq, mismatch };
    StoreError::Corrupt { path: path.to_path_buf(), corruption: fault.into() }
}

/// The error for a file that cannot be read as a journal.
pub(super) fn malformed(path: &Path, detail: String) -> StoreError {
    StoreError::Corrupt { path: path.to_path_buf(), corruption: Corruption::Malformed { detail } }
}

fn extended_code(error: &rusqlite::Error) -> i32 {
    error.sqlite_error().map_or(0, |error| error.extended_code)
}
