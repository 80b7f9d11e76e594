//! The stores that a process has open: each once, whoever asks for it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::error::OpenError;
use crate::memory::MemoryStore;
use crate::sqlite::SqliteStore;
use crate::store::Store;

/// Opens stores. Clones share what they have opened; a file is closed when nobody uses it any more.
#[derive(Clone, Debug, Default)]
pub struct Stores {
    open: Arc<Mutex<Open>>,
}

#[derive(Debug)]
enum Open {
    Files(BTreeMap<PathBuf, OpenStore>),
    Memory(BTreeMap<PathBuf, Arc<MemoryStore>>),
}

impl Default for Open {
    fn default() -> Self {
        Self::Files(BTreeMap::new())
    }
}

#[derive(Debug)]
struct OpenStore {
    file: FileId,
    store: Weak<SqliteStore>,
}

/// The device and the number of a file: another file under the same name has others.
type FileId = (u64, u64);

impl Stores {
    /// Opens stores in memory, which last as long as this value and its clones: for simulation.
    pub fn in_memory() -> Self {
        Self { open: Arc::new(Mutex::new(Open::Memory(BTreeMap::new()))) }
    }

    /// Returns other stores with what is in these now, if they are in memory: what a crash at this moment would leave. Files
    /// are the same.
    pub fn snapshot(&self) -> Self {
        let Open::Memory(stores) = &*self.lock() else { return Self::default() };
        let copies = stores.iter().map(|(path, store)| (path.clone(), Arc::new(store.snapshot())));
        Self { open: Arc::new(Mutex::new(Open::Memory(copies.collect()))) }
    }

    /// Opens the store at `path`, and makes it and its directory if there is none.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Arc<dyn Store>, OpenError> {
        let path = path.as_ref();
        match &mut *self.lock() {
            Open::Memory(stores) => Ok(Arc::clone(stores.entry(path.to_path_buf()).or_default()) as _),
            Open::Files(files) => {
                let store = get_or(files, path, || SqliteStore::open(path).map(Some))?;
                Ok(store.expect("a store that is not there is made"))
            }
        }
    }

    /// Opens the store at `path`, or returns `None` if there is none.
    pub fn open_existing(&self, path: impl AsRef<Path>) -> Result<Option<Arc<dyn Store>>, OpenError> {
        let path = path.as_ref();
        match &mut *self.lock() {
            Open::Memory(stores) => Ok(stores.get(path).map(|store| Arc::clone(store) as _)),
            Open::Files(files) => get_or(files, path, || SqliteStore::open_existing(path)),
        }
    }

    // Held while a store is opened: another thread that wants it waits, and does not open it too.
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn get_or(
    files: &mut BTreeMap<PathBuf, OpenStore>,
    path: &Path,
    open: impl FnOnce() -> Result<Option<SqliteStore>, OpenError>,
) -> Result<Option<Arc<dyn Store>>, OpenError> {
    if let Some(opened) = files.get(path)
        && let Some(store) = opened.store.upgrade()
        && file_id(path) == Some(opened.file)
    {
        return Ok(Some(store));
    }
    let Some(store) = open()?.map(Arc::new) else { return Ok(None) };
    if let Some(file) = file_id(path) {
        files.retain(|_, opened| opened.store.strong_count() > 0);
        files.insert(path.to_path_buf(), OpenStore { file, store: Arc::downgrade(&store) });
    }
    Ok(Some(store))
}

fn file_id(path: &Path) -> Option<FileId> {
    fs::metadata(path).ok().map(|data| (data.dev(), data.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{NewEvent, Query, StreamId, Version, View};

    fn append(store: &dyn Store, stream: &str) {
        let event = NewEvent { at: 0, kind: "noted".into(), body: b"{}".to_vec() };
        let stream = StreamId::parse(stream).unwrap();
        store.append(&stream, &Version::NONE, &[event], View::default()).unwrap();
    }

    #[test]
    fn a_store_is_opened_once_while_somebody_uses_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal.db");
        let stores = Stores::default();
        assert!(stores.open_existing(&path).unwrap().is_none());
        let store = stores.open(&path).unwrap();
        let again = stores.clone().open_existing(&path).unwrap().unwrap();
        assert!(Arc::ptr_eq(&store, &again));
        drop((store, again));
        let Open::Files(files) = &*stores.lock() else { panic!("they are files") };
        assert!(files[&path].store.upgrade().is_none());
    }

    #[test]
    fn stores_in_memory_outlast_their_users_and_touch_no_file() {
        let path = Path::new("/nowhere/journal.db");
        let stores = Stores::in_memory();
        assert!(stores.open_existing(path).unwrap().is_none());
        append(&*stores.open(path).unwrap(), "run:a");
        let again = stores.clone().open_existing(path).unwrap().unwrap();
        assert_eq!(again.find(Query::Names("run:")).unwrap().len(), 1);
    }

    #[test]
    fn another_file_under_the_same_name_is_another_store() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal.db");
        let stores = Stores::default();
        let store = stores.open(&path).unwrap();
        append(&*store, "run:a");
        for file in fs::read_dir(directory.path()).unwrap() {
            fs::remove_file(file.unwrap().path()).unwrap();
        }
        assert!(stores.open(&path).unwrap().find(Query::Names("run:")).unwrap().is_empty());
        assert_eq!(store.find(Query::Names("run:")).unwrap().len(), 1);
    }
}
