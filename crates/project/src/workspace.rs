//! A workspace and its run.

mod ask;
mod begin;
mod copy;
mod lock;
mod remote;
mod show;
mod tally;
mod workflows;

use std::{
    io,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use adapters::git::PreparedCommit;
use engine::{Advice, Held, Record, Run, WorkflowError};
use forge::{ForgeError, Hosting};
use journal::{Durable, Listener, OpenError, Store, StoreError, Subscription, Version};
use runs::{Claim, Current, Followed, Follower, Runs};

pub use begin::{Request, Reset};
pub use tally::{Edits, count_edit};
pub use workflows::{DEFAULT_WORKFLOW, find_workflow, workflow_files};

use crate::{
    Dirs, Place, PlaceError, Shell, base::Start, config::ConfigError, ports::ProjectStore, pushing::Decides,
    slots::Slot,
};

/// A workspace, opened.
#[derive(Debug)]
pub struct Workspace {
    /// The commit in the making whose tests have passed. It goes before the workspace is given back.
    pub laid: Option<PreparedCommit>,
    /// The dev environment of the run, as far as this process keeps it. It ends before the workspace is given back.
    pub dev: dev::ServerHandle,
    pub place: Place,
    pub dirs: Dirs,
    pub(crate) runs: Runs,
    pub(crate) store: Arc<ProjectStore>,
    /// What hosts the project's issues and pull requests, once somebody has asked for them.
    pub(crate) hosting: OnceLock<Arc<dyn Hosting>>,
    /// What this workspace's run has claimed.
    pub(crate) claimed: Option<Claim>,
    /// How what the repository holds is run.
    pub shell: Shell,
    /// Set in a workspace of the run's own: what connects it with the person's repository.
    pub slot: Option<Slot>,
    /// Who decides about a push that needs a person's word.
    pub decides: Decides,
    /// The base that was looked up when the run was announced, so that a remote is asked once.
    pub seen_base: Option<(String, Start)>,
    /// What the agent of a loop was told of that the commit guard holds.
    pub told_held: Vec<Held>,
    /// What a person is told with the next event that is recorded.
    unsaid: Vec<Advice>,
    showing: Showing,
}

/// When views are written.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Showing {
    /// With every event.
    AtOnce,
    /// Before anybody else may look, by whoever drives a run: most of its events follow each other at once.
    Later {
        /// Where the run stood when this process recorded something last that it has not shown yet. There is no head then, and
        /// the state file is the one before. Whoever else records something shows all of it.
        unshown: Option<Version>,
    },
}

/// Why something about a workspace could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Runs(#[from] runs::Error),
    #[error(
        "the journal of this project is gone, and with it its runs, issues and pull requests: `{}` is not there any more",
        path.display()
    )]
    JournalGone { path: PathBuf },
    #[error("another process has held `{}` for {seconds} seconds", path.display())]
    Locked { path: PathBuf, seconds: u64 },
    #[error("failed to write `{}`", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the repository cannot be read: {0}")]
    Git(String),
    #[error(transparent)]
    Forge(ForgeError),
}

/// Why an event was not taken.
pub type AskError = runs::AskError<Error>;

impl From<Error> for AskError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Runs(error.into())
    }
}

/// Why a run could not begin.
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    #[error("Active session exists: run `{run}` is in `{phase}`")]
    Active { run: String, phase: String },
    #[error("Active session exists: `{}` is there, but the journal knows no run for it", file.display())]
    ForeignStateFile { file: PathBuf },
    #[error("Automation level must be {}", .allowed.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or "))]
    Level { level: u64, allowed: Vec<u64>, configured: bool },
    #[error("there is no workflow `{name}`; there are {}", .known.join(", "))]
    NoWorkflow { name: String, known: Vec<String> },
    #[error("{place} is no workflow that can be run:\n{source}")]
    Workflow { place: String, source: WorkflowError },
    #[error("a run of `{workflow}` needs `--feature TEXT`")]
    NoFeature { workflow: String },
    #[error("`{}` cannot be adopted: {source}", file.display())]
    Adopt { file: PathBuf, source: engine::view::AdoptError },
    #[error("failed to read `{}`", file.display())]
    ReadState {
        file: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Failed(#[from] Error),
}

impl Workspace {
    /// Opens the workspace at `place`. A project without runs has no store yet.
    pub fn open(place: Place, dirs: Dirs) -> Result<Self, Error> {
        let runs = Runs::new(dirs.clock.clone(), dirs.leases.clone());
        let store = Arc::new(ProjectStore::open(&place, &dirs, runs.clone())?);
        Ok(Self {
            laid: None,
            told_held: Vec::new(),
            place,
            dirs,
            runs,
            store,
            hosting: OnceLock::new(),
            claimed: None,
            shell: Shell::default(),
            slot: None,
            decides: Decides::default(),
            seen_base: None,
            dev: dev::ServerHandle::default(),
            unsaid: Vec::new(),
            showing: Showing::AtOnce,
        })
    }

    /// Opens a workspace of a run's own.
    pub fn open_slot(mut slot: Slot, dirs: Dirs) -> Result<Self, Error> {
        let mut workspace = Self::open(slot.place.clone(), dirs)?;
        workspace.say_next(slot.take_passed_over().into_iter().map(Advice).collect());
        workspace.slot = Some(slot);
        Ok(workspace)
    }

    /// Has a person told this with the next event that is recorded: whoever begins a run has nobody yet who looks on.
    pub fn say_next(&mut self, advice: Vec<Advice>) {
        self.unsaid.extend(advice);
    }

    /// Returns where the store is; none while the project never had a run.
    pub fn store_path(&self) -> Result<Option<PathBuf>, Error> {
        let id = self.place.project_id()?;
        Ok(id.map(|id| self.dirs.journal(&id)))
    }

    /// Tells whether there is a journal.
    pub(crate) fn has_store(&self) -> bool {
        self.runs.store().is_some()
    }

    /// Makes the journal if there is none: for what is done in a project that never had a run.
    pub fn ensure_store(&mut self) -> Result<(), Error> {
        self.store().map(drop)
    }

    pub(crate) fn store(&self) -> Result<Arc<dyn Store>, Error> {
        self.store.ensure()
    }

    /// Lets events wait for the disk, and views for whoever may look at them, until something is done about those events.
    ///
    /// For whoever drives a run, and calls [`Workspace::sync`] before anything outside of the journal is done.
    pub fn sync_later(&mut self) -> Result<(), Error> {
        self.store()?;
        self.runs.flush_later();
        self.showing = Showing::Later { unshown: None };
        Ok(())
    }

    /// Sees to it that everything that was recorded is on disk and is shown.
    pub fn sync(&mut self) -> Result<Durable, Error> {
        let durable = self.sync_journal()?;
        self.show_now()?;
        Ok(durable)
    }

    /// Sees to it that everything that was recorded is on disk. For acts of warp's own, which look at no view.
    pub fn sync_journal(&self) -> Result<Durable, Error> {
        self.store.flush()
    }

    /// Calls a listener when something is recorded in the project's store or the user's, until the subscriptions are dropped.
    pub fn subscribe(&self, listener: Listener) -> Result<Vec<Subscription>, Error> {
        let user = self.dirs.stores.open_existing(self.dirs.user_store())?;
        let stores = self.runs.store().into_iter().chain(user);
        stores.map(|store| Ok(store.subscribe(Arc::clone(&listener))?)).collect()
    }

    /// Returns the run that is open in this workspace.
    pub fn current(&mut self) -> Result<Option<Current>, Error> {
        Ok(self.runs.in_workspace(self.place.mark())?)
    }

    /// Returns the run that a person means: by its id, by its issue, or this workspace's.
    ///
    /// Without a selector the open run counts; in a person's checkout then an open one that warp drives; else the one
    /// that was here last.
    pub fn select(&mut self, selector: Option<&str>) -> Result<Option<Current>, Error> {
        if let Some(selector) = selector {
            return Ok(self.runs.named(selector)?);
        }
        if let Some(current) = self.current()? {
            return Ok(Some(current));
        }
        if self.place.origin().is_some() {
            return self.last_here();
        }
        // A run that warp drives belongs to every checkout of the project, but for the workspaces of other runs.
        let root = self.place.mark();
        let is_near = |run: &Run| run.root == root || run.owns_workspace;
        match self.runs.newest(|run| run.is_open() && is_near(run))? {
            Some(open) => Ok(Some(open)),
            None => Ok(self.runs.newest(is_near)?),
        }
    }

    fn last_here(&self) -> Result<Option<Current>, Error> {
        Ok(self.runs.newest(|run| run.root == self.place.mark())?)
    }

    /// Returns the open runs that warp drives, each in a workspace of its own, the most recent first.
    pub fn driven(&mut self) -> Result<Vec<Current>, Error> {
        let mut driven = self.runs.in_workspaces()?;
        driven.retain(|current| current.run.owns_workspace);
        Ok(driven)
    }

    /// Returns every run of the project, the most recent first.
    pub fn runs(&mut self) -> Result<Vec<Current>, Error> {
        Ok(self.runs.all()?)
    }

    /// Returns every record of a run, oldest first.
    pub fn records(&mut self, current: &Current) -> Result<Vec<Record>, Error> {
        Ok(self.runs.records(current)?)
    }

    /// Returns the newest records of a run, oldest first, at most `most`.
    pub fn newest_records(&mut self, current: &Current, most: usize) -> Result<Vec<Arc<Record>>, Error> {
        Ok(self.runs.newest_records(current, most)?)
    }

    /// Begins to follow the project's journal; nothing while it has none.
    pub fn follower(&mut self) -> Result<Option<Follower>, Error> {
        Ok(self.runs.follower()?)
    }

    /// Waits for events of runs, and returns them in order; none if `patience` ends first, or others came.
    pub fn follow(&mut self, follower: &mut Follower, patience: Duration) -> Result<Vec<Followed>, Error> {
        Ok(self.runs.follow(follower, patience)?)
    }
}
