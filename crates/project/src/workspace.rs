//! A workspace and its run.

mod ask;
mod begin;
mod lock;
mod show;
mod tally;
mod workflows;

use std::{io, path::PathBuf, sync::Arc};

use engine::{Fold, FoldError, Record, Refused, Run, Workflow, WorkflowError};
use journal::{AppendError, OpenError, SqliteStore, Store, StoreError, StreamId, StreamView, Version};
use serde::{Deserialize, Serialize};

pub use ask::Answer;
pub use begin::{Request, Reset};
pub use tally::{Edits, count_edit};
pub use workflows::{find_workflow, workflow_files};

use crate::{Dirs, Place, PlaceError, config::ConfigError};

/// How many events are read at a time.
const PAGE: usize = 1000;

/// A workspace, opened.
#[derive(Debug)]
pub struct Workspace {
    pub place: Place,
    pub dirs: Dirs,
    /// None while the project never had a run.
    store: Option<SqliteStore>,
    /// The workflow that was read last: a run is loaded several times for one event.
    workflow: Option<Arc<Workflow>>,
}

/// A run as it stands in the store.
#[derive(Debug)]
pub struct Current {
    pub workflow: Arc<Workflow>,
    pub run: Run,
    stream: StreamId,
    version: Version,
    shown: Shown,
}

/// What a stream's snapshot holds: the run, and digests of the state file as shown now and before.
///
/// The earlier digest tells a state file that a crash left behind from one that somebody changed.
#[derive(Debug, Serialize, Deserialize)]
struct Snapshot {
    format: u32,
    run: Run,
    shown: Shown,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Shown {
    current: Option<String>,
    before: Option<String>,
}

const SNAPSHOT_FORMAT: u32 = 1;

/// Why something about a workspace could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("event {seq} of run `{run}` cannot be read: {problem}")]
    Event { run: String, seq: u64, problem: String },
    #[error("run `{run}` cannot be put together")]
    Fold {
        run: String,
        #[source]
        source: FoldError,
    },
    #[error("the workflow that run `{run}` is pinned to is not usable any more")]
    Pinned {
        run: String,
        #[source]
        source: WorkflowError,
    },
    #[error("another process has held `{}` for {seconds} seconds", path.display())]
    Locked { path: PathBuf, seconds: u64 },
    #[error("failed to write `{}`", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("events were recorded by others all the time; nothing was done")]
    Contended,
}

/// Why an event was not taken.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error("no active session")]
    NoRun,
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    Failed(#[from] Error),
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
        let store = match place.project_id()? {
            Some(id) => SqliteStore::open_existing(dirs.journal(&id))?,
            None => None,
        };
        Ok(Self { place, dirs, store, workflow: None })
    }

    /// Returns where the store is; none while the project never had a run.
    pub fn store_path(&self) -> Result<Option<PathBuf>, Error> {
        let id = self.place.project_id()?;
        Ok(id.map(|id| self.dirs.journal(&id)))
    }

    /// Tells whether there is a journal.
    pub(crate) fn has_store(&self) -> bool {
        self.store.is_some()
    }

    fn store(&mut self) -> Result<&mut SqliteStore, Error> {
        if self.store.is_none() {
            let id = self.place.ensure_project_id()?;
            self.store = Some(SqliteStore::open(self.dirs.journal(&id))?);
        }
        Ok(self.store.as_mut().expect("it was opened just now"))
    }

    /// Returns the run that is open in this workspace.
    pub fn current(&mut self) -> Result<Option<Current>, Error> {
        let mark = self.place.mark().to_owned();
        let Some(store) = &mut self.store else { return Ok(None) };
        match store.find(&mark)? {
            Some(view) => self.load(view).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the run that a person means: by its id, by its issue, or this workspace's.
    ///
    /// Without a selector the open run counts, else the one that was here last.
    pub fn select(&mut self, selector: Option<&str>) -> Result<Option<Current>, Error> {
        match selector {
            None => match self.current()? {
                Some(current) => Ok(Some(current)),
                None => self.last_here(),
            },
            Some(selector) => self.named(selector),
        }
    }

    fn last_here(&mut self) -> Result<Option<Current>, Error> {
        let root = self.place.mark().to_owned();
        let Some(store) = &mut self.store else { return Ok(None) };
        for view in store.views()? {
            let current = self.load(view)?;
            if current.run.root == root {
                return Ok(Some(current));
            }
        }
        Ok(None)
    }

    fn named(&mut self, selector: &str) -> Result<Option<Current>, Error> {
        let Some(store) = &mut self.store else { return Ok(None) };
        if let Ok(stream) = StreamId::parse(format!("run:{selector}"))
            && let Some(view) = store.view(&stream)?
        {
            return self.load(view).map(Some);
        }
        let issue = selector.trim_start_matches('#');
        let views = store.views_about(&topic(issue))?;
        let open = views.iter().position(|view| view.mark.is_some()).unwrap_or(0);
        match views.into_iter().nth(open) {
            Some(view) => self.load(view).map(Some),
            None => Ok(None),
        }
    }

    /// Returns every run of the project, the most recent first.
    pub fn runs(&mut self) -> Result<Vec<Current>, Error> {
        let Some(store) = &mut self.store else { return Ok(Vec::new()) };
        let views = store.views()?;
        views.into_iter().map(|view| self.load(view)).collect()
    }

    /// Returns every record of a run, oldest first.
    pub fn records(&mut self, current: &Current) -> Result<Vec<Record>, Error> {
        let stream = current.stream.clone();
        let mut records = Vec::new();
        loop {
            let store = self.store()?;
            let page = store.read(&stream, records.len() as u64, PAGE)?;
            let is_last = page.len() < PAGE;
            for event in page {
                records.push(parse_record(&stream, event.seq, &event.body)?);
            }
            if is_last {
                return Ok(records);
            }
        }
    }

    /// Makes a run of what is kept beside its stream, or of its events where that is no use.
    fn load(&mut self, view: StreamView) -> Result<Current, Error> {
        let id = view.stream.as_str().trim_start_matches("run:").to_owned();
        let snapshot: Option<Snapshot> = serde_json::from_slice(&view.snapshot).ok();
        let (run, shown) = match snapshot.filter(|snapshot| snapshot.format == SNAPSHOT_FORMAT) {
            Some(snapshot) => (snapshot.run, snapshot.shown),
            None => (self.fold(&view.stream, &id)?, Shown::default()),
        };
        let workflow = self.workflow_of(&run, &view.stream, &id)?;
        Ok(Current { workflow, run, stream: view.stream, version: view.version, shown })
    }

    fn fold(&mut self, stream: &StreamId, id: &str) -> Result<Run, Error> {
        let mut fold = Fold::default();
        let mut next = 0;
        loop {
            let page = self.store()?.read(stream, next, PAGE)?;
            for event in &page {
                let record = parse_record(stream, event.seq, &event.body)?;
                fold.add(&record).map_err(|source| Error::Fold { run: id.to_owned(), source })?;
            }
            next += page.len() as u64;
            if page.len() < PAGE {
                break;
            }
        }
        let nothing = || Error::Event { run: id.to_owned(), seq: 0, problem: "there is no event".to_owned() };
        fold.finish().map(|(run, _)| run).ok_or_else(nothing)
    }

    fn workflow_of(&mut self, run: &Run, stream: &StreamId, id: &str) -> Result<Arc<Workflow>, Error> {
        let is_pinned = |workflow: &Workflow| workflow.digest == run.workflow_digest;
        if let Some(workflow) = self.workflow.as_ref().filter(|workflow| is_pinned(workflow)) {
            return Ok(Arc::clone(workflow));
        }
        let workflow = match Workflow::built_in(&run.workflow).filter(is_pinned) {
            Some(workflow) => workflow,
            None => self.pinned_workflow(stream, id)?,
        };
        let workflow = Arc::new(workflow);
        self.workflow = Some(Arc::clone(&workflow));
        Ok(workflow)
    }

    /// Reads the workflow that a run began with from its first event.
    fn pinned_workflow(&mut self, stream: &StreamId, id: &str) -> Result<Workflow, Error> {
        let first = self.store()?.read(stream, 0, 1)?;
        let mut fold = Fold::default();
        for event in &first {
            let record = parse_record(stream, event.seq, &event.body)?;
            fold.add(&record).map_err(|source| Error::Fold { run: id.to_owned(), source })?;
        }
        let text = fold.finish().map(|(_, text)| text).unwrap_or_default();
        Workflow::parse_proved(&text).map_err(|source| Error::Pinned { run: id.to_owned(), source })
    }
}

impl Current {
    /// Returns how many events the run has.
    pub fn events(&self) -> u64 {
        self.version.events()
    }
}

fn parse_record(stream: &StreamId, seq: u64, body: &[u8]) -> Result<Record, Error> {
    serde_json::from_slice(body).map_err(|error| Error::Event {
        run: stream.as_str().trim_start_matches("run:").to_owned(),
        seq,
        problem: error.to_string(),
    })
}

fn topic(issue: &str) -> String {
    format!("issue:{issue}")
}

/// Whether an append may be tried again on what is there now.
enum Append {
    Done(Version),
    Moved,
    MarkTaken,
}

fn append_outcome(result: Result<Version, AppendError>) -> Result<Append, Error> {
    match result {
        Ok(version) => Ok(Append::Done(version)),
        Err(AppendError::Conflict { .. }) => Ok(Append::Moved),
        Err(AppendError::MarkTaken { .. }) => Ok(Append::MarkTaken),
        Err(AppendError::Store(error)) => Err(Error::Store(error)),
        Err(AppendError::NoEvents) => unreachable!("a step has at least one record"),
    }
}
