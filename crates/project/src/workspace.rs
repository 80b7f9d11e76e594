//! A workspace and its run.

mod ask;
mod begin;
mod copy;
mod follow;
mod lock;
mod show;
mod tally;
mod workflows;

use std::{io, path::PathBuf, sync::Arc};

use adapters::git::LaidAside;
use engine::{Advice, Fold, FoldError, Held, Record, Refused, Run, Workflow, WorkflowError};
use forge::{By, ForgeError, Host, LocalForge};
use journal::{
    Durable, Listener, OpenError, Query, Scope, State, Store, StoreError, StoredEvent, StreamHead, StreamId,
    StreamView, Streams, Subscription, Version, streams::read_all,
};
use serde::{Deserialize, Serialize, de::IgnoredAny};

pub use ask::Answer;
pub use begin::{Request, Reset};
pub use follow::{Followed, Follower};
pub use tally::{Edits, count_edit};
pub use workflows::{DEFAULT_WORKFLOW, find_workflow, workflow_files};

use crate::{
    Dirs, Place, PlaceError, Shell, base::Start, claim::Claim, config::ConfigError, ports::ProjectStore,
    pushing::Decides, slots::Slot,
};

/// How many events are read at a time.
const PAGE: usize = 1000;

/// A workspace, opened.
#[derive(Debug)]
pub struct Workspace {
    /// The commit in the making whose tests have passed. It goes before the workspace is given back.
    pub laid: Option<LaidAside>,
    /// The dev environment of the run, as far as this process keeps it. It ends before the workspace is given back.
    pub dev: dev::Kept,
    pub place: Place,
    pub dirs: Dirs,
    pub(crate) store: Arc<ProjectStore>,
    /// The project's issues and pull requests, in warp's own name.
    pub(crate) local: LocalForge,
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
    /// The workflow that was read last: a run is loaded several times for one event.
    workflow: Option<Arc<Workflow>>,
    /// The run as it was read or recorded last, where a driver asks for it before every decision.
    last: Option<Current>,
    /// The newest records of that run, as far as they were read: a driver looks through them several times for one phase.
    newest: Option<Newest>,
    /// What the agent of a loop was told of that the commit guard holds.
    pub told_held: Vec<Held>,
    /// What a person is told with the next event that is recorded.
    unsaid: Vec<Advice>,
    views: Views,
}

/// When views are written.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Views {
    /// With every event.
    AtOnce,
    /// Before anybody else may look, by whoever drives a run: most of its events follow each other at once.
    Later {
        /// Where the run stood when this process recorded something last that it has not shown yet. There is no head then, and
        /// the state file is the one before. Whoever else records something shows all of it.
        unshown: Option<Version>,
    },
}

/// Records of a run without a gap, the first of which has this number.
#[derive(Debug)]
struct Newest {
    stream: StreamId,
    from: u64,
    records: Vec<Arc<Record>>,
}

/// A run as it stands in the store.
#[derive(Clone, Debug)]
pub struct Current {
    pub workflow: Arc<Workflow>,
    /// Shared, because a driver asks for it before every decision.
    pub run: Arc<Run>,
    stream: StreamId,
    version: Version,
    shown: Shown,
}

/// What a stream's snapshot holds: the run, and digests of the state file as shown now and before.
///
/// The earlier digest tells a state file that a crash left behind from one that somebody changed. Whoever shows a run later
/// leaves out the other one, which can be made of the run.
#[derive(Debug, Serialize, Deserialize)]
struct Snapshot<R, S> {
    format: u32,
    run: R,
    shown: S,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Shown {
    current: Option<String>,
    before: Option<String>,
}

/// The form in which snapshots are written. In the first all settings were whole; it is read like the second, in which
/// they may be abridged, but a program that knows only the first must not read the second. The third has the run's facts.
const SNAPSHOT_FORMAT: u32 = 3;

/// How the names of runs begin; other streams of the project are its issues and pull requests.
const RUNS: &str = "run:";

/// Why something about a workspace could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "the journal of this project is gone, and with it its runs, issues and pull requests: `{}` is not there any more",
        path.display()
    )]
    JournalGone { path: PathBuf },
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
    #[error("the repository cannot be read: {0}")]
    Git(String),
    #[error(transparent)]
    Forge(ForgeError),
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
        let store = Arc::new(ProjectStore::open(&place, &dirs)?);
        let local = LocalForge::new(Arc::clone(&store) as Arc<dyn Host>, By::warp());
        Ok(Self {
            laid: None,
            told_held: Vec::new(),
            place,
            dirs,
            store,
            local,
            claimed: None,
            shell: Shell::default(),
            slot: None,
            decides: Decides::default(),
            seen_base: None,
            dev: dev::Kept::default(),
            workflow: None,
            last: None,
            newest: None,
            unsaid: Vec::new(),
            views: Views::AtOnce,
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
        self.store.get().is_some()
    }

    /// Makes the journal if there is none: for what is done in a project that never had a run.
    pub fn ensure_store(&mut self) -> Result<(), Error> {
        self.store().map(drop)
    }

    pub(crate) fn store(&self) -> Result<Arc<dyn Store>, Error> {
        self.store.ensure()
    }

    /// Returns the streams that are asked for; none while there is no journal.
    pub(crate) fn find(&self, query: Query<'_>) -> Result<Vec<StreamHead>, Error> {
        self.store.get().map_or(Ok(Vec::new()), |store| Ok(store.find(query)?))
    }

    /// Returns what is kept beside the streams that are asked for; none while there is no journal.
    pub(crate) fn views(&self, query: Query<'_>) -> Result<Vec<StreamView>, Error> {
        self.store.get().map_or(Ok(Vec::new()), |store| Ok(store.views(query)?))
    }

    /// Lets events wait for the disk, and views for whoever may look at them, until something is done about those events.
    ///
    /// For whoever drives a run, and calls [`Workspace::sync`] before anything outside of the journal is done.
    pub fn sync_later(&mut self) -> Result<(), Error> {
        self.store()?;
        self.store.flush_later();
        self.views = Views::Later { unshown: None };
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
        let stores = self.store.get().into_iter().chain(user);
        stores.map(|store| Ok(store.subscribe(Arc::clone(&listener))?)).collect()
    }

    /// Returns the run that is open in this workspace.
    pub fn current(&mut self) -> Result<Option<Current>, Error> {
        let mark = self.place.mark().to_owned();
        if let Some(last) = &self.last {
            let holder = self.find(Query::Mark(&mark))?.pop();
            if holder.is_some_and(|holder| holder.stream == last.stream && holder.version == last.version) {
                return Ok(Some(last.clone()));
            }
        }
        self.views(Query::Mark(&mark))?.pop().map(|view| self.load(view)).transpose()
    }

    /// Returns the run that a person means: by its id, by its issue, or this workspace's.
    ///
    /// Without a selector the open run counts; in a person's checkout then an open one that warp drives; else the one
    /// that was here last.
    pub fn select(&mut self, selector: Option<&str>) -> Result<Option<Current>, Error> {
        match selector {
            None => match self.current()? {
                Some(current) => Ok(Some(current)),
                None => self.nearest(),
            },
            Some(selector) => self.named(selector),
        }
    }

    /// Returns the open runs that warp drives, each in a workspace of its own, the most recent first.
    pub fn driven(&mut self) -> Result<Vec<Current>, Error> {
        let mut driven = Vec::new();
        // An open run holds its workspace, whose path is its mark; the others need not be read.
        let views = self.views(Query::Marks("/"))?;
        for view in views.into_iter().filter(|view| view.stream.as_str().starts_with(RUNS)) {
            let current = self.load(view)?;
            if current.run.owns_workspace {
                driven.push(current);
            }
        }
        Ok(driven)
    }

    /// Returns a run for a workspace that has none open. A run that warp drives belongs to every checkout of the
    /// project, but for the workspaces of other runs.
    fn nearest(&mut self) -> Result<Option<Current>, Error> {
        let root = self.place.mark().to_owned();
        let is_slot = self.place.origin().is_some();
        if is_slot {
            // An open run would have been found by its mark.
            return self.last_here();
        }
        let is_near = |run: &Run| run.root == root || run.owns_workspace;
        match self.newest(|run| run.is_open() && is_near(run))? {
            Some(open) => Ok(Some(open)),
            None => self.newest(is_near),
        }
    }

    fn last_here(&mut self) -> Result<Option<Current>, Error> {
        let root = self.place.mark().to_owned();
        self.newest(|run| run.root == root)
    }

    fn newest(&mut self, is_meant: impl Fn(&Run) -> bool) -> Result<Option<Current>, Error> {
        for head in self.find(Query::Names(RUNS))? {
            let Some(view) = self.store()?.load(&head.stream)? else { continue };
            let current = self.load(view)?;
            if is_meant(&current.run) {
                return Ok(Some(current));
            }
        }
        Ok(None)
    }

    fn named(&mut self, selector: &str) -> Result<Option<Current>, Error> {
        if let Ok(stream) = StreamId::parse(format!("run:{selector}"))
            && let Some(view) = self.views(Query::Stream(&stream))?.pop()
        {
            return self.load(view).map(Some);
        }
        let issue = selector.trim_start_matches('#');
        let views = self.views(Query::Topic(&topic(issue)))?;
        let open = views.iter().position(|view| view.mark.is_some()).unwrap_or(0);
        match views.into_iter().nth(open) {
            Some(view) => self.load(view).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the runs whose newest issue this is, the most recent first.
    pub(crate) fn about_issue(&mut self, issue: &str) -> Result<Vec<Current>, Error> {
        let views = self.views(Query::Topic(&topic(issue)))?;
        views.into_iter().map(|view| self.load(view)).collect()
    }

    /// Returns every run of the project, the most recent first.
    pub fn runs(&mut self) -> Result<Vec<Current>, Error> {
        let views = self.views(Query::Names(RUNS))?;
        views.into_iter().map(|view| self.load(view)).collect()
    }

    /// Returns every record of a run, oldest first.
    pub fn records(&mut self, current: &Current) -> Result<Vec<Record>, Error> {
        let (store, stream) = (self.store()?, &current.stream);
        let mut records = Vec::new();
        let all = store.load(stream)?.map_or(0, |view| view.version.events());
        read_all(&*store, stream, 0, all, |event| {
            records.push(parse_record(stream, event.seq, &event.body)?);
            Ok::<(), Error>(())
        })?;
        Ok(records)
    }

    /// Returns the newest records of a run, oldest first, at most `most`.
    pub fn newest_records(&mut self, current: &Current, most: usize) -> Result<Vec<Arc<Record>>, Error> {
        let from = current.version.events().saturating_sub(most as u64);
        let is_kept = |newest: &Newest| newest.stream == current.stream && newest.from <= from;
        let mut newest = self.newest.take().filter(is_kept).unwrap_or_else(|| Newest {
            stream: current.stream.clone(),
            from,
            records: Vec::new(),
        });
        let next = newest.from + newest.records.len() as u64;
        let missing = usize::try_from(current.version.events().saturating_sub(next)).unwrap_or(usize::MAX);
        if missing > 0 {
            for event in self.store()?.read(Scope::Stream(&current.stream), next, missing)? {
                newest.records.push(Arc::new(parse_record(&current.stream, event.seq, &event.body)?));
            }
        }
        let before = usize::try_from(from - newest.from).unwrap_or(usize::MAX);
        let records = newest.records.iter().skip(before).take(most).cloned().collect();
        self.newest = Some(newest).filter(|newest| self.slot.is_some() && newest.records.len() <= PAGE);
        Ok(records)
    }

    /// Adds what was just recorded to the newest records, if all before it is among them.
    fn add_newest(&mut self, stream: &StreamId, first: u64, records: &[Record]) {
        let newest = self.newest.as_mut().filter(|newest| newest.stream == *stream);
        if let Some(newest) = newest.filter(|newest| newest.from + newest.records.len() as u64 == first) {
            newest.records.extend(records.iter().cloned().map(Arc::new));
        }
    }

    /// Makes a run of what is kept beside its stream, or of its events where that is no use.
    fn load(&mut self, view: StreamView) -> Result<Current, Error> {
        let is_same = |last: &&Current| last.stream == view.stream && last.version == view.version;
        if let Some(last) = self.last.as_ref().filter(is_same) {
            return Ok(last.clone());
        }
        let (stream, older) = (view.stream.clone(), older_shown(&view));
        let loaded = Streams::<Snapshot<Run, Shown>>::of(self.store()?).open(view)?;
        let (run, shown) = (Arc::new(loaded.state.run), older.unwrap_or(loaded.state.shown));
        let workflow = self.workflow_of(&run, &stream)?;
        let current = Current { workflow, run, stream, version: loaded.version, shown };
        self.remember(&current);
        Ok(current)
    }

    /// Remembers a run in a workspace of its own, so that it is not read again before it changes.
    pub(super) fn remember(&mut self, current: &Current) {
        if self.slot.is_some() {
            self.last = Some(current.clone());
        }
    }

    fn workflow_of(&mut self, run: &Run, stream: &StreamId) -> Result<Arc<Workflow>, Error> {
        let is_pinned = |workflow: &Workflow| workflow.digest == run.workflow_digest;
        if let Some(workflow) = self.workflow.as_ref().filter(|workflow| is_pinned(workflow)) {
            return Ok(Arc::clone(workflow));
        }
        let workflow = match Workflow::built_in(&run.workflow).filter(is_pinned) {
            Some(workflow) => workflow,
            None => self.pinned_workflow(stream)?,
        };
        let workflow = Arc::new(workflow);
        self.workflow = Some(Arc::clone(&workflow));
        Ok(workflow)
    }

    /// Reads the workflow that a run began with from its first event.
    fn pinned_workflow(&mut self, stream: &StreamId) -> Result<Workflow, Error> {
        let first = self.store()?.read(Scope::Stream(stream), 0, 1)?;
        let mut fold = Fold::default();
        for event in &first {
            <Snapshot<Run, Shown> as State>::add(&mut fold, event)?;
        }
        let text = fold.finish().map(|(_, text)| text).unwrap_or_default();
        Workflow::parse_proved(&text).map_err(|source| Error::Pinned { run: id_of(stream), source })
    }
}

impl Current {
    /// Returns how many events the run has.
    pub fn events(&self) -> u64 {
        self.version.events()
    }
}

impl State for Snapshot<Run, Shown> {
    type Fold = Fold;
    type Error = Error;

    fn from_snapshot(view: &StreamView) -> Result<Option<Self>, Error> {
        let snapshot: Option<Self> = serde_json::from_slice(&view.snapshot).ok();
        // Older formats lack what is folded from the records; a run that is over needs none of it.
        let is_enough = |snapshot: &Self| match snapshot.format {
            SNAPSHOT_FORMAT => true,
            1..SNAPSHOT_FORMAT => !snapshot.run.is_open(),
            _ => false,
        };
        Ok(snapshot.filter(is_enough))
    }

    fn add(fold: &mut Fold, event: &StoredEvent) -> Result<(), Error> {
        let record = parse_record(&event.stream, event.seq, &event.body)?;
        fold.add(&record).map_err(|source| Error::Fold { run: id_of(&event.stream), source })
    }

    fn finish(stream: &StreamId, fold: Fold) -> Result<Self, Error> {
        let nothing = || Error::Event { run: id_of(stream), seq: 0, problem: "there is no event".to_owned() };
        let (run, _) = fold.finish().ok_or_else(nothing)?;
        Ok(Self { format: SNAPSHOT_FORMAT, run, shown: Shown::default() })
    }
}

/// Returns what a snapshot of an older format knows of the state file.
fn older_shown(view: &StreamView) -> Option<Shown> {
    let snapshot: Snapshot<IgnoredAny, Shown> = serde_json::from_slice(&view.snapshot).ok()?;
    (1..SNAPSHOT_FORMAT).contains(&snapshot.format).then_some(snapshot.shown)
}

fn id_of(stream: &StreamId) -> String {
    stream.as_str().trim_start_matches("run:").to_owned()
}

fn parse_record(stream: &StreamId, seq: u64, body: &[u8]) -> Result<Record, Error> {
    serde_json::from_slice(body).map_err(|error| Error::Event {
        run: id_of(stream),
        seq,
        problem: error.to_string(),
    })
}

fn topic(issue: &str) -> String {
    format!("issue:{issue}")
}
