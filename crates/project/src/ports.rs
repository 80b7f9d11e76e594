//! How a workspace gets at its issues, its pull requests and its checks.

use std::{
    env,
    io::{self, Read as _},
    path::Path,
    sync::Arc,
    time::Duration,
};

use adapters::{boundary, git::Git, process, secrets::redacted};
use engine::Time;
use forge::{
    Author, BODY, Budget, Forge, ForgeError, Gh, GhAnswer, Host, Hosting, LocalForge, SharedChecks, Tracker,
};
use journal::{Durable, Store, StoreError};
use runs::Runs;

use crate::{Dirs, Error, Place, Workspace, text};

impl Workspace {
    /// Returns what hosts the project's issues and pull requests. It is looked for when it is first asked for, because few
    /// commands do.
    fn hosting(&self) -> &Arc<dyn Hosting> {
        self.hosting.get_or_init(|| {
            let server = self.dirs.hosts.as_ref().and_then(|hosts| hosts.of(&self.place));
            server.unwrap_or_else(|| {
                Arc::new(LocalForge::new(Arc::clone(&self.store) as Arc<dyn Host>, Author::warp()))
            })
        })
    }

    /// Says which server and account are in use; nothing where the journal has the issues.
    pub fn about_forge(&self) -> Option<String> {
        self.dirs.hosts.as_ref()?.about(&self.place)
    }

    /// Returns what the server still allows; nothing where there is none.
    pub fn forge_budget(&self) -> Option<Budget> {
        self.hosting().budget()
    }

    /// Returns the project's issues, in warp's own name.
    pub fn tracker(&self) -> Arc<dyn Tracker> {
        self.tracker_as(Author::warp())
    }

    /// Returns the project's issues, in somebody's name.
    pub fn tracker_as(&self, by: Author) -> Arc<dyn Tracker> {
        self.hosting().tracker(by)
    }

    /// Returns the project's pull requests, in warp's own name.
    pub fn forge(&self) -> Arc<dyn Forge> {
        self.forge_as(Author::warp())
    }

    /// Returns the checks of commits at the project's server, if it has one.
    pub fn checks(&self) -> Option<SharedChecks> {
        self.hosting().checks()
    }

    /// Returns the project's pull requests, in somebody's name.
    pub fn forge_as(&self, by: Author) -> Arc<dyn Forge> {
        self.hosting().forge(by)
    }
}

/// Returns who is at the keyboard in a directory, by the name that git knows.
pub fn person_in(root: &Path) -> Author {
    let name = || env::var("USER").ok().filter(|name| !name.is_empty());
    Author::person(Git::new(root).author().or_else(name).unwrap_or_else(|| "somebody".to_owned()))
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
pub fn gh(root: &Path, limit: Duration) -> Option<Gh> {
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

/// Where the store of a project's runs is, for a workspace and its forge.
#[derive(Debug)]
pub(crate) struct ProjectStore {
    place: Place,
    dirs: Dirs,
    runs: Runs,
}

impl ProjectStore {
    /// Opens a project's store, if there is one.
    pub(crate) fn open(place: &Place, dirs: &Dirs, runs: Runs) -> Result<Self, Error> {
        if let Some(id) = place.project_id()? {
            let path = dirs.journal(&id);
            match dirs.stores.open_existing(&path)? {
                Some(store) => {
                    place.note_journal(&path);
                    runs.use_store(store);
                }
                None if place.had_journal(&path) => return Err(Error::JournalGone { path }),
                None => {}
            }
        }
        Ok(Self { place: place.clone(), dirs: dirs.clone(), runs })
    }

    /// Returns the store, and makes it if there is none.
    pub(crate) fn ensure(&self) -> Result<Arc<dyn Store>, Error> {
        if let Some(store) = self.runs.store() {
            return Ok(store);
        }
        let id = self.place.ensure_project_id()?;
        let path = self.dirs.journal(&id);
        let store = self.dirs.stores.open(&path)?;
        self.place.note_journal(&path);
        Ok(self.runs.use_store(store))
    }

    /// Sees to it that everything that was recorded is on disk.
    pub(crate) fn flush(&self) -> Result<Durable, Error> {
        match self.runs.flush() {
            // Acts follow from what was recorded: without a journal there is nothing to act on.
            Err(runs::Error::NoStore) => {
                let id = self.place.project_id()?;
                let path = id.map(|id| self.dirs.journal(&id)).unwrap_or_default();
                Err(Error::JournalGone { path })
            }
            flushed => Ok(flushed?),
        }
    }
}

impl Host for ProjectStore {
    fn now(&self) -> Time {
        self.dirs.clock.now()
    }

    fn redact(&self, text: String) -> String {
        redacted(text)
    }

    fn store(&self) -> Option<Arc<dyn Store>> {
        self.runs.store()
    }

    fn ensure_store(&self) -> Result<Arc<dyn Store>, ForgeError> {
        self.ensure().map_err(ForgeError::unreachable)
    }

    fn has_recorded(&self) -> Result<(), ForgeError> {
        self.runs.has_recorded().map_err(ForgeError::unreachable)
    }

    fn around(&self, name: &str, act: &mut dyn FnMut()) {
        boundary::around(name, act);
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
                Ok(error) => Self::Runs(*error),
                Err(cause) => match cause.downcast::<StoreError>() {
                    Ok(error) => Self::from(*error),
                    Err(cause) => Self::Forge(ForgeError::Unreachable(cause)),
                },
            },
        }
    }
}
