//! Repairing a damaged store: what can be proved is kept, and the damaged files are set aside, whole.
//!
//! The damaged store is only read, and only as a copy, until its replacement is complete and synced. Then files are
//! renamed in an order that leaves no moment at which a crash would make a damaged, older or empty store look like
//! the good one; whoever comes next, another repair or an ordinary open, finishes it.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, params};
use thiserror::Error;

use crate::error::{OpenError, StoreError};
use crate::store::StreamId;

use super::guard::{self, Guard};
use super::open::Kind;
use super::place::{self, FileState, beside};
use super::read::{clamp, last_position};
use super::salvage::{self, SalvagedStore};
use super::{PAGE, fault, open, schema, verify};

/// What a repair did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairReport {
    /// What became of the store.
    pub outcome: Outcome,
    /// The directory that the damaged files are in, if there were any.
    pub set_aside: Option<PathBuf>,
    /// What became of each stream that left a trace, by name. Empty if the store was sound.
    pub streams: Vec<StreamRepair>,
    /// How many positions were acknowledged after the last one that left a trace: a log was lost, or an older
    /// copy put back. Their events are in no stream's count.
    pub vanished: u64,
}

/// What became of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing was wrong with it, and nothing was done.
    Sound,
    /// It was replaced by one with everything that could be proved.
    Rebuilt,
    /// Nothing of it could be read. It was replaced by an empty one.
    Unreadable,
}

/// What became of one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamRepair {
    /// The stream.
    pub stream: StreamId,
    /// How many events were kept: the first ones, up to the end of an append.
    pub kept: u64,
    /// How many are known to be lost; `None` if it can no longer be told how many there were.
    pub lost: Option<u64>,
    /// What became of the row beside it.
    pub view: ViewRepair,
}

/// What became of what is kept beside a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewRepair {
    /// The stream is whole, and so is its snapshot.
    Kept,
    /// The snapshot is empty, to be folded again from the events. Mark and topic are kept if they could be read.
    Emptied,
    /// No event could be kept, so there is no stream.
    Dropped,
}

/// Why a store was not repaired. It is as it was.
#[derive(Debug, Error)]
pub enum RepairError {
    /// A process has the store open.
    #[error("journal `{}` is in use", path.display())]
    InUse {
        /// The store.
        path: PathBuf,
    },
    /// There is no store.
    #[error("there is no journal at `{}`", path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The file is not a journal of this version of the program, and not damaged.
    #[error(transparent)]
    Refused(OpenError),
    /// A file could not be read, written or moved.
    #[error("failed to move or copy the files of journal `{}`", path.display())]
    Files {
        /// The store.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: io::Error,
    },
    /// The replacement could not be written.
    #[error(transparent)]
    Store(StoreError),
}

/// Replaces the store at `path` by one with everything that can be proved, and sets the damaged one aside.
///
/// Its files are moved together into a directory of their own under `set_aside`, named after the store and `now`
/// (milliseconds since the epoch). A sound store is left alone. After a crash at any moment, calling it again, or
/// opening the store, ends well.
pub fn repair(
    path: impl AsRef<Path>,
    set_aside: impl AsRef<Path>,
    now: i64,
) -> Result<RepairReport, RepairError> {
    let (path, aside) = (path.as_ref(), set_aside.as_ref());
    let files = |source| RepairError::Files { path: path.to_path_buf(), source };
    if place::look(path).map_err(files)? == FileState::Nothing && guard::acknowledged_at(path) == 0 {
        return Err(RepairError::Missing { path: path.to_path_buf() });
    }
    let guard = Guard::own(path).map_err(files)?;
    let guard = guard.ok_or_else(|| RepairError::InUse { path: path.to_path_buf() })?;
    DirBuilder::new().recursive(true).mode(0o700).create(aside).map_err(files)?;

    // What an interrupted repair left.
    if place::look(path).map_err(files)? == FileState::Unfinished {
        place::swap(path).map_err(files)?;
    }
    let earlier = place::set_aside(path, aside, now).map_err(files)?;
    place::clear(path).map_err(files)?;

    let acknowledged = guard.acknowledged();
    let copied = copy(path).map_err(files)?;
    if examine(path, acknowledged)? == Condition::Sound {
        place::clear(path).map_err(files)?;
        let streams = Vec::new();
        return Ok(RepairReport { outcome: Outcome::Sound, set_aside: earlier, streams, vanished: 0 });
    }
    let rebuilt = Rebuild { path, copied, acknowledged, now }.run()?;
    place::swap(path).map_err(files)?;
    guard.acknowledge(rebuilt.last_position);
    let set_aside = place::set_aside(path, aside, now).map_err(files)?;
    place::clear(path).map_err(files)?;
    let outcome = if rebuilt.is_readable { Outcome::Rebuilt } else { Outcome::Unreadable };
    let Rebuilt { streams, vanished, .. } = rebuilt;
    Ok(RepairReport { outcome, set_aside: set_aside.or(earlier), streams, vanished })
}

/// Copies database and log, and returns how many bytes they have. The copy of a missing file is empty.
fn copy(path: &Path) -> io::Result<u64> {
    let copy = beside(path, place::COPY);
    let mut copied = 0;
    for side in ["", place::LOG] {
        let from = beside(path, side);
        if from.exists() {
            copied += fs::copy(from, beside(&copy, side))?;
        } else if side.is_empty() {
            File::create(&copy)?;
        }
    }
    Ok(copied)
}

#[derive(PartialEq, Eq)]
enum Condition {
    Sound,
    Damaged,
}

/// Tells a sound store, and one that is none of ours, from a damaged one.
fn examine(path: &Path, acknowledged: u64) -> Result<Condition, RepairError> {
    let copy = beside(path, place::COPY);
    // SQLite would take an empty file for an empty database, and delete the log beside it.
    let is_empty = place::is_empty(&copy).unwrap_or(true);
    let Some(connection) = (!is_empty).then(|| open::connect(&copy).ok()).flatten() else {
        return Ok(Condition::Damaged);
    };
    let Ok(kind) = Kind::read(&connection) else { return Ok(Condition::Damaged) };
    let path = path.to_path_buf();
    if kind == Kind::FRESH {
        return Ok(if acknowledged == 0 { Condition::Sound } else { Condition::Damaged });
    }
    if kind.is_misnumbered(&connection).unwrap_or(false) {
        return Ok(Condition::Damaged);
    }
    if kind.application_id != schema::APPLICATION_ID {
        let is_ours = connection.prepare("SELECT hash FROM event").is_ok();
        let answer = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0));
        let is_healthy = answer.is_ok_and(|answer: String| answer == "ok");
        if is_healthy && !is_ours {
            let application_id = kind.application_id;
            return Err(RepairError::Refused(OpenError::Foreign { path, application_id }));
        }
        return Ok(Condition::Damaged);
    }
    if kind.version > schema::CURRENT {
        let newer = OpenError::Newer { path, found: kind.version, known: schema::CURRENT };
        return Err(RepairError::Refused(newer));
    }
    let reaches = last_position(&connection).is_ok_and(|position| position >= acknowledged);
    let verification = verify::check(&connection);
    let is_sound = kind.version > 0 && reaches && verification.is_ok_and(|found| found.is_sound());
    Ok(if is_sound { Condition::Sound } else { Condition::Damaged })
}

/// The making of a replacement, up to its last sync.
struct Rebuild<'a> {
    path: &'a Path,
    copied: u64,
    acknowledged: u64,
    now: i64,
}

struct Rebuilt {
    is_readable: bool,
    last_position: u64,
    streams: Vec<StreamRepair>,
    vanished: u64,
}

impl Rebuild<'_> {
    fn run(&self) -> Result<Rebuilt, RepairError> {
        let files = |source| RepairError::Files { path: self.path.to_path_buf(), source };
        let store = |error| RepairError::Store(fault::classify(self.path, error));
        let making = beside(self.path, place::REPAIRING);
        open::make_file(&making).map_err(RepairError::Store)?;
        let target = make(&making).map_err(store)?;
        let remains = salvage::read(&beside(self.path, place::COPY), &making).map_err(files)?;
        let rebuilt = self.fill(&target, remains.as_ref()).map_err(store)?;
        // The header says from now on that the store has a log; closing leaves none behind.
        open::write_ahead(&target).map_err(store)?;
        target.close().map_err(|(_, error)| store(error))?;
        let complete = || {
            File::open(&making)?.sync_all()?;
            fs::rename(&making, beside(self.path, place::REPAIRED))?;
            place::sync_directory(place::directory(self.path))
        };
        complete().map_err(files)?;
        Ok(rebuilt)
    }

    fn fill(&self, target: &Connection, remains: Option<&SalvagedStore>) -> rusqlite::Result<Rebuilt> {
        let transaction = target.unchecked_transaction()?;
        // No position and no generation may come back, not even those of events that are lost without a trace.
        let slack = self.copied / PAGE * 64;
        let traced = remains.map_or(0, SalvagedStore::last_position);
        let vanished = self.acknowledged.saturating_sub(traced);
        let last_position = traced.max(self.acknowledged).saturating_add(slack);
        let now = u64::try_from(self.now).unwrap_or(0);
        let last_generation = remains.map_or(0, SalvagedStore::last_generation).max(now);
        let sql = "INSERT INTO sqlite_sequence (name, seq) VALUES ('event', ?1), ('lease', ?2)";
        transaction.execute(sql, params![clamp(last_position), clamp(last_generation)])?;
        let streams = remains.map_or(Ok(Vec::new()), |remains| remains.pour(&transaction))?;
        let last_position = super::read::last_position(&transaction)?;
        transaction.commit()?;
        Ok(Rebuilt { is_readable: remains.is_some(), last_position, streams, vanished })
    }
}

/// Makes the tables in the file at `path`, without a log until it is complete.
fn make(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.execute_batch("PRAGMA synchronous = OFF")?;
    schema::migrate(&connection, &schema::STEPS)?;
    Ok(connection)
}
