//! The user's directories, and what opens what is in them.

use std::{env, fmt, path::PathBuf, sync::Arc};

use adapters::{clock::Clock, machine, process::StopCheck};
use forge::Hosting;
use journal::{Store, Stores};
use runs::{Answer, Leases};
use workspace::{Place, PlaceError};

use crate::hosting::Servers;

/// The user's directories, from the environment.
#[derive(Clone, Debug)]
pub struct Dirs {
    /// Where stores are kept.
    pub state: PathBuf,
    /// Where the user's own configuration is.
    pub config: PathBuf,
    /// What opens the stores in them. Clones share what is open.
    pub stores: Stores,
    /// What tells the time and wakes those who wait.
    pub clock: Clock,
    /// What renews the leases that are held.
    pub leases: Leases,
    /// Where projects have their issues and pull requests; without it, in their journals.
    pub hosts: Option<Arc<dyn Hosts>>,
    /// Who may interrupt what waits for others, as for a remote.
    pub stop: StopCheck,
    /// Who is told of what is recorded in runs.
    pub recorded: Option<Arc<dyn Recorded>>,
}

/// Hears of what is recorded in a run, whoever has recorded it: notices follow the journal.
pub trait Recorded: fmt::Debug + Send + Sync {
    /// Hears what became of an event in a workspace.
    fn recorded(&self, place: &Place, dirs: &Dirs, answer: &Answer);
}

/// Finds what hosts the issues and pull requests of a project.
pub trait Hosts: fmt::Debug + Send + Sync {
    /// Returns what hosts those of the project that this is a workspace of; none if its own journal does.
    fn of(&self, place: &Place) -> Option<Arc<dyn Hosting>>;

    /// Says which server and account that is, or why it cannot be used; nothing where the project's journal has them.
    fn about(&self, place: &Place) -> Option<String>;
}

impl Dirs {
    /// Finds the user's directories.
    pub fn from_environment() -> Result<Self, PlaceError> {
        let state = machine::state_directory().ok_or(PlaceError::NoHome)?;
        let in_home = || machine::absolute("HOME").map(|home| home.join(".config"));
        let config = machine::absolute("XDG_CONFIG_HOME").or_else(in_home).ok_or(PlaceError::NoHome)?;
        let dirs = Self::new(state, config.join("warp"));
        let servers = Servers::of_user(&dirs, Arc::new(|name: &str| env::var(name).ok()));
        Ok(Self { hosts: Some(Arc::new(servers)), ..dirs })
    }

    /// Returns a user's directories with these places.
    pub fn new(state: PathBuf, config: PathBuf) -> Self {
        let clock = Clock::default();
        let (stores, leases) = (Stores::default(), Leases::new(clock.clone()));
        Self { state, config, stores, leases, clock, hosts: None, stop: StopCheck::default(), recorded: None }
    }

    /// Returns the same directories with another clock.
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { leases: Leases::new(clock.clone()), clock, ..self }
    }

    /// Returns the same directories with somebody who may interrupt what waits for others.
    pub fn stopped_by(self, stop: StopCheck) -> Self {
        Self { stop, ..self }
    }

    /// Returns the same directories with somebody who is told of what is recorded.
    pub fn told_to(self, recorded: Arc<dyn Recorded>) -> Self {
        Self { recorded: Some(recorded), ..self }
    }

    /// Returns the directory of a project's store.
    pub fn project(&self, id: &str) -> PathBuf {
        self.state.join("projects").join(id)
    }

    /// Returns a project's journal.
    pub fn journal(&self, id: &str) -> PathBuf {
        self.project(id).join("journal.db")
    }

    /// Returns the user's own store: what was spent in all projects.
    pub fn user_store(&self) -> PathBuf {
        self.state.join("user.db")
    }

    /// Opens the stores that runs of a project use, as far as there are any, so that they stay open until this is dropped.
    pub fn open_stores(&self, place: &Place) -> Vec<Arc<dyn Store>> {
        let project = place.project_id().ok().flatten().map(|id| self.journal(&id));
        // Whoever uses one that cannot be opened says so.
        let open = |path| self.stores.open_existing(path).ok().flatten();
        project.into_iter().chain([self.user_store()]).filter_map(open).collect()
    }

    /// Returns the user's own price list.
    pub fn prices(&self) -> PathBuf {
        self.config.join("prices.toml")
    }
}
