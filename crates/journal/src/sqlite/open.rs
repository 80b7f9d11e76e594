//! Opening a store: making it, recognising it, refusing what is not it.
//!
//! A file that is not a whole journal is refused and left alone. The care is in the cases that look like a store
//! that was never used: SQLite takes a file of no length for an empty database and deletes a log it finds beside
//! it, so those files never get as far as SQLite.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{CWD, FileType, Mode};
use rustix::io::Errno;

use crate::error::{Corruption, OpenError, StoreError};

use super::guard::{self, Guard, PATIENCE};
use super::place::{self, FileState};
use super::syncer::Syncer;
use super::watch::Announcer;
use super::{Open, STATEMENTS, Shared, SqliteStore, fault, read, schema};

/// How often something that another process is just doing is looked at again.
const PAUSE: Duration = Duration::from_millis(2);

/// What is asked of every connection, in words that already look at the file.
///
/// A commit does not sync the log, which [`Syncer`] does. SQLite syncs the header of a new log, with its directory, and
/// the log before it folds it.
const SAFE: &str = "PRAGMA synchronous = NORMAL; PRAGMA cell_size_check = ON";

impl SqliteStore {
    /// Opens the store at `path`, and makes it and its directory if there is none.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        let path = path.as_ref();
        if look(path)? == FileState::Nothing {
            prepare_directory(place::directory(path))?;
        }
        open(path)
    }

    /// Opens the store at `path`, or returns `None` if there is none.
    pub fn open_existing(path: impl AsRef<Path>) -> Result<Option<Self>, OpenError> {
        let path = path.as_ref();
        if look(path)? == FileState::Nothing {
            refuse_if_behind(path, guard::acknowledged_at(path), 0)?;
            return Ok(None);
        }
        open(path).map(Some)
    }
}

fn open(path: &Path) -> Result<SqliteStore, OpenError> {
    let mut guard = share(path)?;
    // A repair may have been waited for, so what is there is looked at again.
    match look(path)? {
        FileState::Store => {}
        FileState::LoneLog => return Err(corrupt(path, Corruption::DatabaseGone).into()),
        FileState::Nothing => {
            refuse_if_behind(path, guard.acknowledged(), 0)?;
            make_file(path)?;
        }
        FileState::Unfinished => {
            drop(guard);
            finish_repair(path)?;
            guard = share(path)?;
        }
    }
    let log_length = place::log_length(path).map_err(|error| from_io(path, error))?;
    // Taken before the database is read: whatever is noted by then can be seen.
    let acknowledged = guard.acknowledged();
    let connection = match connect(path).and_then(|connection| ready(connection, acknowledged)) {
        Ok(ConnectionState::Open(connection)) => connection,
        Ok(ConnectionState::Foreign { application_id }) => {
            return Err(OpenError::Foreign { path: path.to_path_buf(), application_id });
        }
        Ok(ConnectionState::Newer { found }) => {
            return Err(OpenError::Newer { path: path.to_path_buf(), found, known: schema::CURRENT });
        }
        Ok(ConnectionState::Misnumbered(kind)) => return Err(corrupt(path, kind.misnumbered()).into()),
        Ok(ConnectionState::Behind { found }) => {
            return Err(corrupt(path, Corruption::Behind { acknowledged, found }).into());
        }
        Err(error) => return Err(diagnose(path, fault::classify(path, error)).into()),
    };
    let open = Open { path: path.to_path_buf(), connection, has_written: false, log_length };
    let syncer = Syncer::new(path.to_path_buf(), guard);
    let shared = Arc::new(Shared { open: Mutex::new(open), syncer });
    Ok(SqliteStore { shared, announcer: Announcer::default() })
}

/// Connects to the file at `path`, which exists, with every setting that keeps it safe.
pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    // What is asked never depends on what is bound, so nothing is compiled a second time for it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.busy_timeout(PATIENCE)?;
    connection.execute_batch(SAFE)?;
    Ok(connection)
}

/// State of a database that was just opened.
enum ConnectionState {
    Open(Connection),
    Foreign {
        application_id: i64,
    },
    Newer {
        found: i64,
    },
    /// The numbers in the header are damaged, and the tables are not.
    Misnumbered(Kind),
    Behind {
        found: u64,
    },
}

fn ready(connection: Connection, acknowledged: u64) -> rusqlite::Result<ConnectionState> {
    let kind = Kind {
        application_id: schema::application_id(&connection)?,
        version: schema::version(&connection)?,
        is_empty: false,
    };
    if kind != Kind::CURRENT {
        // Somebody may be just making it, so everything that tells what it is has to be of one moment.
        let kind = Kind::read(&connection)?;
        if kind == Kind::FRESH {
            if acknowledged > 0 {
                return Ok(ConnectionState::Behind { found: 0 });
            }
            make(&connection)?;
        } else if kind.is_misnumbered(&connection)? {
            return Ok(ConnectionState::Misnumbered(kind));
        } else if kind.application_id != schema::APPLICATION_ID {
            return Ok(ConnectionState::Foreign { application_id: kind.application_id });
        } else if kind.version > schema::CURRENT {
            return Ok(ConnectionState::Newer { found: kind.version });
        } else {
            schema::migrate(&connection, &schema::STEPS)?;
        }
    }
    let found = read::last_position(&connection)?;
    if found < acknowledged {
        return Ok(ConnectionState::Behind { found });
    }
    Ok(ConnectionState::Open(connection))
}

/// What tells a journal from other databases.
#[derive(PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) application_id: i64,
    pub(super) version: i64,
    is_empty: bool,
}

impl Kind {
    const CURRENT: Self =
        Self { application_id: schema::APPLICATION_ID, version: schema::CURRENT, is_empty: false };
    /// A database in which nobody has done anything yet.
    pub(super) const FRESH: Self = Self { application_id: 0, version: 0, is_empty: true };

    /// Tells whether the header says that it is no journal of this version, and the tables say that it is: then a byte of the
    /// header is damaged.
    pub(super) fn is_misnumbered(&self, connection: &Connection) -> rusqlite::Result<bool> {
        let is_other = self.application_id != schema::APPLICATION_ID || self.version != schema::CURRENT;
        Ok(is_other && schema::has_current_tables(connection)?)
    }

    fn misnumbered(&self) -> Corruption {
        let detail = format!(
            "its header has schema {} and application id {:#x}, but its tables are those of schema {}",
            self.version,
            self.application_id,
            schema::CURRENT
        );
        Corruption::Malformed { detail }
    }

    pub(super) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let moment = connection.unchecked_transaction()?;
        Ok(Self {
            is_empty: schema::is_empty(&moment)?,
            application_id: schema::application_id(&moment)?,
            version: schema::version(&moment)?,
        })
    }
}

/// Turns an empty file into a store.
///
/// The tables are folded into the file at once: a store whose log is lost right after its making is then still
/// recognised as one.
fn make(connection: &Connection) -> rusqlite::Result<()> {
    write_ahead(connection)?;
    schema::migrate(connection, &schema::STEPS)?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

/// Switches the file to a write-ahead log, for good.
pub(super) fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let started = Instant::now();
    loop {
        match connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())) {
            // SQLite does not wait here by itself when two processes make the same store at once.
            Err(error) if fault::is_busy(&error) && started.elapsed() < PATIENCE => thread::sleep(PAUSE),
            outcome => return outcome,
        }
    }
}

fn look(path: &Path) -> Result<FileState, StoreError> {
    place::look(path).map_err(|error| from_io(path, error))
}

fn share(path: &Path) -> Result<Guard, StoreError> {
    Guard::share(path).map_err(|error| from_io(path, error))
}

fn refuse_if_behind(path: &Path, acknowledged: u64, found: u64) -> Result<(), StoreError> {
    if found < acknowledged {
        return Err(corrupt(path, Corruption::Behind { acknowledged, found }));
    }
    Ok(())
}

/// Makes an empty file that only its owner can read.
///
/// It is made without being opened: closing a second descriptor of a database drops the locks that SQLite holds on
/// it elsewhere in this process.
pub(super) fn make_file(path: &Path) -> Result<(), StoreError> {
    let mode = Mode::RUSR | Mode::WUSR;
    match rustix::fs::mknodat(CWD, path, FileType::RegularFile, mode, 0) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(from_io(path, error.into())),
    }
}

fn prepare_directory(directory: &Path) -> Result<(), OpenError> {
    let missing: Vec<&Path> = directory
        .ancestors()
        .take_while(|ancestor| !ancestor.as_os_str().is_empty() && !ancestor.exists())
        .collect();
    let failed = |source| OpenError::Directory { path: directory.to_path_buf(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
    // An event is not durable if the directory it lies in is not.
    for made in missing {
        place::sync_directory(place::directory(made)).map_err(failed)?;
    }
    Ok(())
}

fn finish_repair(path: &Path) -> Result<(), StoreError> {
    let started = Instant::now();
    while look(path)? == FileState::Unfinished {
        if let Some(_owned) = Guard::own(path).map_err(|error| from_io(path, error))? {
            if look(path)? == FileState::Unfinished {
                place::swap(path).map_err(|error| from_io(path, error))?;
            }
        } else if started.elapsed() < PATIENCE {
            thread::sleep(PAUSE);
        } else {
            return Err(StoreError::Busy { path: path.to_path_buf() });
        }
    }
    Ok(())
}

/// Says more about a file that SQLite could not read.
fn diagnose(path: &Path, error: StoreError) -> StoreError {
    let unreadable = matches!(
        error,
        StoreError::Corrupt { corruption: Corruption::NotADatabase | Corruption::Malformed { .. }, .. }
    );
    match if unreadable { cut_short(path) } else { None } {
        Some(corruption) => corrupt(path, corruption),
        None => error,
    }
}

fn cut_short(path: &Path) -> Option<Corruption> {
    const MAGIC: &[u8; 16] = b"SQLite format 3\0";
    let length = fs::metadata(path).ok()?.len();
    let mut header = Vec::with_capacity(100);
    File::open(path).ok()?.take(100).read_to_end(&mut header).ok()?;
    if !header.starts_with(MAGIC) {
        return None;
    }
    let found = length / super::PAGE;
    let recorded = match header.get(28..32).and_then(|bytes| bytes.try_into().ok()) {
        Some(bytes) => u64::from(u32::from_be_bytes(bytes)),
        None => 1,
    };
    (recorded > found).then_some(Corruption::Truncated { recorded, found })
}

fn corrupt(path: &Path, corruption: Corruption) -> StoreError {
    StoreError::Corrupt { path: path.to_path_buf(), corruption }
}

/// Puts an error of the file system into the store's words.
pub(super) fn from_io(path: &Path, error: io::Error) -> StoreError {
    let path = PathBuf::from(path);
    let kind = error.kind();
    let is = |kinds: &[io::ErrorKind]| kinds.contains(&kind);
    if is(&[io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem]) {
        StoreError::ReadOnly { path }
    } else if is(&[io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded]) {
        StoreError::Full { path }
    } else if is(&[io::ErrorKind::WouldBlock]) {
        StoreError::Busy { path }
    } else {
        StoreError::Failed { path, source: Box::new(error) }
    }
}
