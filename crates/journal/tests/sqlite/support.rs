//! Stores with something in them, and ways to look at and get at their files.

use std::fs;
use std::path::{Path, PathBuf};

use journal::{NewEvent, Scope, SqliteStore, Store, StoredEvent, StreamId, Version, View};
use rusqlite::Connection;
use tempfile::TempDir;

/// A directory with a store in it.
pub(crate) struct Place {
    directory: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    /// A place in memory, if the system has one, for tests that are not about what a disk does.
    pub(crate) fn in_memory() -> Self {
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self { directory: directory.unwrap() }
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("journal.db")
    }

    pub(crate) fn side(&self, suffix: &str) -> PathBuf {
        self.directory.path().join(format!("journal.db{suffix}"))
    }

    pub(crate) fn aside(&self) -> PathBuf {
        self.directory.path().join("aside")
    }

    pub(crate) fn open(&self) -> SqliteStore {
        SqliteStore::open(self.path()).unwrap()
    }

    /// Returns a connection that goes round the store. Closing the last one folds the log.
    pub(crate) fn raw(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    /// Folds the log into the database, so that all of the store is in one file.
    pub(crate) fn fold(&self) {
        drop(self.raw().query_row("SELECT count(*) FROM event", [], |row| row.get::<_, i64>(0)));
        assert!(!self.side("-wal").exists());
    }

    /// Returns a copy of this place, but for what only lives while a store is open.
    pub(crate) fn copy(&self) -> Self {
        let copy = Self::in_memory();
        for suffix in ["", "-wal", "-guard"] {
            if self.side(suffix).exists() {
                fs::copy(self.side(suffix), copy.side(suffix)).unwrap();
            }
        }
        copy
    }
}

pub(crate) fn id(name: &str) -> StreamId {
    StreamId::parse(name).unwrap()
}

/// Appends one event of each kind to a stream, whatever its version, in one append.
pub(crate) fn append(store: &SqliteStore, name: &str, kinds: &[&str]) -> Version {
    let version = store.load(&id(name)).unwrap().map_or(Version::NONE, |view| view.version);
    let events: Vec<NewEvent> = kinds.iter().map(|kind| event(kind)).collect();
    let snapshot = format!("{name} after {kinds:?}");
    let view = View { snapshot: snapshot.as_bytes(), mark: Some(name), topic: Some("topic") };
    store.append(&id(name), &version, &events, view).unwrap()
}

pub(crate) fn event(kind: &str) -> NewEvent {
    NewEvent { at: 1_700_000_000_000, kind: kind.into(), body: format!("{{\"of\":\"{kind}\"}}").into() }
}

/// A store with several streams, long and short, with appends of one, two and many events and a lease.
pub(crate) fn furnished() -> Place {
    let place = Place::in_memory();
    let store = place.open();
    for round in 0..12 {
        for name in ["run:a", "run:b", "project"] {
            append(&store, name, &[&format!("first {round}"), &format!("second {round}")]);
        }
    }
    append(&store, "run:single", &["only"]);
    let many: Vec<String> = (0..40).map(|number| format!("one of many {number}")).collect();
    append(&store, "run:many", &many.iter().map(String::as_str).collect::<Vec<_>>());
    let bulky = NewEvent { body: vec![b'x'; 20_000], ..event("bulky") };
    let view = View { snapshot: &[7; 9000], ..View::default() };
    store.append(&id("run:bulky"), &Version::NONE, &[bulky], view).unwrap();
    store.acquire("factory", "one", 0, 1_000_000).unwrap();
    drop(store);
    place.fold();
    place
}

/// Every event of a store, in order.
pub(crate) fn events(store: &SqliteStore) -> Vec<StoredEvent> {
    store.read(Scope::Store, 0, 100_000).unwrap()
}
