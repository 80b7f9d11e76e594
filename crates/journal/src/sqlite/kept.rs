//! Stores that are kept open between two uses, for a thread that drives one run after the other.
//!
//! To open a store is to read its schema, and whatever is asked of it is compiled first. While a [`Keeping`] lives, what its
//! thread closes is kept as it is, and whoever opens the same file again gets it back.

use std::cell::RefCell;
use std::fs;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::guard::Guard;
use super::syncer::Syncer;
use super::{Company, Durable, SqliteStore, Statements, place};

/// How many stores are kept at most. A driver uses its project's through two workspaces at a time, and the user's.
const MOST: usize = 4;

thread_local! {
    /// The stores that are kept; none while nobody wants them to be.
    static KEPT: RefCell<Option<Vec<Kept>>> = const { RefCell::new(None) };
}

/// While it lives, stores that this thread closes are kept open.
#[derive(Debug)]
#[must_use = "stores are kept until it is dropped"]
pub struct Keeping {
    is_outermost: bool,
    /// What is kept belongs to one thread.
    _here: PhantomData<*const ()>,
}

impl Keeping {
    /// Begins to keep stores open.
    pub fn begin() -> Self {
        let is_outermost = KEPT.with_borrow(Option::is_none);
        if is_outermost {
            KEPT.set(Some(Vec::new()));
        }
        Self { is_outermost, _here: PhantomData }
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        if self.is_outermost {
            // Each is closed as it would have been. The last of them folds a log that any has written.
            let kept = KEPT.take().unwrap_or_default();
            let written: Vec<FileId> =
                kept.iter().filter(|kept| kept.has_written).map(|kept| kept.file).collect();
            for kept in kept {
                let has_written = written.contains(&kept.file);
                drop(Kept { has_written, ..kept }.open());
            }
        }
    }
}

/// A part of a store that outlives it if the store is kept.
#[derive(Debug)]
pub(super) struct Part<T>(Option<T>);

impl<T> Part<T> {
    pub(super) fn new(part: T) -> Self {
        Self(Some(part))
    }
}

const THERE: &str = "it is taken when the store is dropped";

impl<T> Deref for Part<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect(THERE)
    }
}

impl<T> DerefMut for Part<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect(THERE)
    }
}

/// The device and the number of a file: another file under the same name has others.
pub(super) type FileId = (u64, u64);

/// Returns what tells a store's file from another, if stores are kept.
pub(super) fn file_id(path: &Path) -> Option<FileId> {
    let are_kept = KEPT.try_with(|kept| kept.borrow().is_some()).unwrap_or(false);
    if are_kept { id_of(path) } else { None }
}

fn id_of(path: &Path) -> Option<FileId> {
    fs::metadata(path).ok().map(|data| (data.dev(), data.ino()))
}

#[derive(Debug)]
struct Kept {
    path: PathBuf,
    file: FileId,
    has_written: bool,
    is_log_new: bool,
    syncer: Option<Syncer>,
    connection: Connection,
    guard: Guard,
}

impl Kept {
    fn open(self) -> SqliteStore {
        SqliteStore {
            log_length: place::log_length(&self.path).unwrap_or(0),
            path: self.path,
            file: Some(self.file),
            company: Company::Any,
            has_written: self.has_written,
            is_log_new: self.is_log_new,
            durable: Durable::AtOnce,
            statements: Statements::Kept,
            unsynced: None,
            syncing: None,
            syncer: self.syncer,
            connection: Part::new(self.connection),
            guard: Part::new(self.guard),
        }
    }
}

/// Keeps a store that is being closed, and has all that it recorded on disk; tells whether anybody wants it kept.
pub(super) fn put(store: &mut SqliteStore) -> bool {
    let Some(file) = store.file else { return false };
    // It is as it was opened, so that whoever gets it waits for the disk unless they say otherwise.
    if store.durable == Durable::Later && store.set_synchronous(Durable::AtOnce).is_err() {
        return false;
    }
    let keep = |kept: &RefCell<Option<Vec<Kept>>>| {
        let mut kept = kept.try_borrow_mut().ok()?;
        let kept = kept.as_mut().filter(|kept| kept.len() < MOST)?;
        let (connection, guard) = (store.connection.0.take()?, store.guard.0.take()?);
        let (path, has_written, is_log_new) = (store.path.clone(), store.has_written, store.is_log_new);
        let syncer = store.syncer.take();
        kept.push(Kept { path, file, has_written, is_log_new, syncer, connection, guard });
        Some(())
    };
    // When the thread ends there is nobody left.
    KEPT.try_with(keep).ok().flatten().is_some()
}

/// Returns the store at `path` if it is kept, and its file is still the one under that name.
pub(super) fn take(path: &Path) -> Option<SqliteStore> {
    let take = |kept: &RefCell<Option<Vec<Kept>>>| {
        let mut kept = kept.try_borrow_mut().ok()?;
        let kept = kept.as_mut()?;
        let index = kept.iter().position(|kept| kept.path == path)?;
        Some(kept.swap_remove(index))
    };
    let kept = KEPT.try_with(take).ok().flatten()?;
    let is_same = id_of(path) == Some(kept.file);
    is_same.then(|| kept.open())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::tests::append;
    use crate::store::Store as _;

    #[test]
    fn a_store_that_is_kept_is_opened_again_as_it_was_opened_first() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal.db");
        let keeping = Keeping::begin();
        let mut store = SqliteStore::open(&path).unwrap();
        store.sync_later().unwrap();
        append(&mut store, "run:a");
        drop(store);
        assert_eq!(KEPT.with_borrow(|kept| kept.as_ref().map(Vec::len)), Some(1));
        let mut again = SqliteStore::open_existing(&path).unwrap().unwrap();
        assert_eq!(KEPT.with_borrow(|kept| kept.as_ref().map(Vec::len)), Some(0));
        assert_eq!(again.durable, Durable::AtOnce);
        append(&mut again, "run:b");
        assert_eq!(again.names("run:").unwrap().len(), 2);
        drop(again);
        drop(keeping);
        assert!(KEPT.with_borrow(Option::is_none));
    }

    #[test]
    fn a_log_that_one_of_several_has_written_is_folded_in_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal.db");
        let keeping = Keeping::begin();
        let (mut writes, mut looks) = (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
        for number in 0..100 {
            append(&mut writes, &format!("run:{number}"));
        }
        assert_eq!(looks.names("run:").unwrap().len(), 100);
        drop(writes);
        drop(looks);
        assert!(place::log_length(&path).unwrap() > 0);
        drop(keeping);
        assert_eq!(place::log_length(&path).unwrap(), 0);
    }

    #[test]
    fn another_file_under_the_same_name_is_another_store() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal.db");
        let _keeping = Keeping::begin();
        let mut store = SqliteStore::open(&path).unwrap();
        append(&mut store, "run:a");
        drop(store);
        for side in ["", "-wal", "-shm", "-guard"] {
            let _ = fs::remove_file(place::beside(&path, side));
        }
        assert_eq!(SqliteStore::open(&path).unwrap().names("run:").unwrap().len(), 0);
    }

    #[test]
    fn without_anybody_who_keeps_it_a_store_is_closed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal.db");
        append(&mut SqliteStore::open(&path).unwrap(), "run:a");
        assert!(Guard::own(&path).unwrap().is_some());
    }
}
