//! How a workspace gets at its issues, its pull requests and its checks.

use std::{
    env,
    io::{self, Read as _},
    path::Path,
    sync::{Arc, OnceLock},
    time::Duration,
};

use adapters::{boundary, git::Git, machine, process, secrets::redacted};
use engine::Time;
use forge::{Access, BODY, By, Forge, ForgeError, Gh, GhAnswer, Host, LocalForge, Tracker};
use journal::Store;

use crate::{Dirs, Error, Place, Workspace, text};

impl Workspace {
    /// Returns the project's issues, in warp's own name.
    pub fn tracker(&self) -> Arc<dyn Tracker> {
        self.tracker_as(By::warp())
    }

    /// Returns the project's issues, in somebody's name.
    pub fn tracker_as(&self, by: By) -> Arc<dyn Tracker> {
        Arc::new(self.local(by))
    }

    /// Returns the project's pull requests, in warp's own name.
    pub fn forge(&self) -> Arc<dyn Forge> {
        self.forge_as(By::warp())
    }

    /// Returns the project's pull requests, in somebody's name.
    pub fn forge_as(&self, by: By) -> Arc<dyn Forge> {
        Arc::new(self.local(by))
    }

    fn local(&self, by: By) -> LocalForge {
        let around = Around { store: self.store.clone(), syncs_later: self.syncs_later() };
        LocalForge::new(Arc::new(around), by)
    }
}

/// Returns who is at the keyboard in a directory, by the name that git knows.
pub fn person_in(root: &Path) -> By {
    let name = || env::var("USER").ok().filter(|name| !name.is_empty());
    By::person(Git::new(root).author().or_else(name).unwrap_or_else(|| "somebody".to_owned()))
}

/// Reads a Markdown text for an issue from a file, or from the standard input if it is `-`.
pub fn read_markdown(path: &Path) -> io::Result<String> {
    let largest = BODY as u64;
    if path != Path::new("-") {
        return text::read(path, largest);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().take(largest.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > largest {
        let problem = format!("it has more than {largest} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Returns GitHub's command line as it answers in a directory; none if it is not installed. It may take so long.
pub(crate) fn gh(root: &Path, limit: Duration) -> Option<Gh> {
    // To try to start what is not there takes longer than to look for it.
    if !process::is_installed("gh") {
        return None;
    }
    let root = root.to_owned();
    Some(Gh::new(move |arguments| {
        let finished = process::run("gh", arguments, &root, &[("GH_PROMPT_DISABLED", "1")], limit)
            .map_err(ForgeError::unreachable)?;
        let problem = format!("ended with {}: {}", finished.end, finished.last_words(300));
        Ok(GhAnswer { is_success: finished.is_success(), out: finished.text(), problem })
    }))
}

/// The project's store, shared by a workspace and its forge; none while nothing was ever recorded.
#[derive(Clone, Debug)]
pub(crate) struct ProjectStore {
    place: Place,
    dirs: Dirs,
    store: Arc<OnceLock<Arc<dyn Store>>>,
}

impl ProjectStore {
    /// Opens a project's store, if there is one.
    pub(crate) fn open(place: &Place, dirs: &Dirs) -> Result<Self, Error> {
        let opened = Self { place: place.clone(), dirs: dirs.clone(), store: Arc::default() };
        if let Some(id) = place.project_id()? {
            let path = dirs.journal(&id);
            match dirs.stores.open_existing(&path)? {
                Some(store) => opened.keep(&path, store),
                None if place.had_journal(&path) => return Err(Error::JournalGone { path }),
                None => {}
            }
        }
        Ok(opened)
    }

    /// Returns the store, if there is one.
    pub(crate) fn get(&self) -> Option<&Arc<dyn Store>> {
        self.store.get()
    }

    /// Returns the store, and makes it if there is none.
    pub(crate) fn ensure(&self) -> Result<Arc<dyn Store>, Error> {
        if let Some(store) = self.get() {
            return Ok(Arc::clone(store));
        }
        let id = self.place.ensure_project_id()?;
        let path = self.dirs.journal(&id);
        let store = self.dirs.stores.open(&path)?;
        self.keep(&path, Arc::clone(&store));
        Ok(store)
    }

    fn keep(&self, path: &Path, store: Arc<dyn Store>) {
        self.place.note_journal(path);
        // Whoever was faster has opened the same one.
        let _ = self.store.set(store);
    }
}

/// The project around its embedded forge.
#[derive(Debug)]
struct Around {
    store: ProjectStore,
    /// Whether whoever drives a run waits for the disk before something is done about what was recorded.
    syncs_later: bool,
}

impl Host for Around {
    fn now(&self) -> Time {
        machine::now()
    }

    fn redact(&self, text: String) -> String {
        redacted(text)
    }

    fn store(&self, access: Access) -> Result<Option<Arc<dyn Store>>, ForgeError> {
        match access {
            Access::Read => Ok(self.store.get().cloned()),
            Access::Write => self.store.ensure().map(Some).map_err(ForgeError::unreachable),
        }
    }

    fn around(&self, name: &str, act: &mut dyn FnMut()) {
        boundary::around(name, act);
    }

    fn has_recorded(&self) -> Result<(), ForgeError> {
        match self.store.get().filter(|_| !self.syncs_later) {
            Some(store) => store.flush().map(drop).map_err(ForgeError::unreachable),
            None => Ok(()),
        }
    }
}

impl From<ForgeError> for Error {
    /// What kept the embedded forge from its store is told as that.
    fn from(error: ForgeError) -> Self {
        let cause = match error {
            ForgeError::Unreachable(cause) => cause,
            error @ (ForgeError::NotThere { .. }
            | ForgeError::Refused(_)
            | ForgeError::Conflict { .. }
            | ForgeError::Later { .. }
            | ForgeError::BadAnswer { .. }) => return Self::Forge(error),
        };
        match cause.downcast() {
            Ok(error) => *error,
            Err(cause) => match cause.downcast() {
                Ok(error) => Self::Store(*error),
                Err(cause) => Self::Forge(ForgeError::Unreachable(cause)),
            },
        }
    }
}
