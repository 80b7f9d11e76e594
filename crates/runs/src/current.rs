//! A run as it stands in the store, and what is kept of it beside its stream.

use std::sync::Arc;

use engine::{Fold, Record, Run, Workflow};
use journal::{State, StoredEvent, StreamId, StreamView, Version};
use serde::{Deserialize, Serialize, de::IgnoredAny};

use crate::Error;

/// The form in which snapshots are written. In the first all settings were whole; it is read like the second, in which
/// they may be abridged, but a program that knows only the first must not read the second. The third has the run's facts.
const FORMAT: u32 = 3;

/// How the names of runs begin; other streams of the project are its issues and pull requests.
pub(crate) const RUNS: &str = "run:";

/// A run as it stands in the store.
#[derive(Clone, Debug)]
pub struct Current {
    pub workflow: Arc<Workflow>,
    /// Shared, because a driver asks for it before every decision.
    pub run: Arc<Run>,
    /// What its workspace shows of it.
    pub shown: Shown,
    pub(crate) stream: StreamId,
    pub(crate) version: Version,
}

impl Current {
    /// Returns how many events the run has.
    pub fn events(&self) -> u64 {
        self.version.events()
    }

    /// Returns the version that this is the run of.
    pub fn version(&self) -> &Version {
        &self.version
    }
}

/// Digests of a run's state file as shown now and before.
///
/// The earlier one tells a state file that a crash left behind from one that somebody changed. Whoever shows a run later
/// leaves out the other one, which can be made of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    pub current: Option<String>,
    pub before: Option<String>,
}

impl Shown {
    /// Returns what is shown of a run after an event that nobody shows.
    #[must_use]
    pub fn left_behind(&self) -> Self {
        Self { current: None, before: self.current.clone().or_else(|| self.before.clone()) }
    }
}

/// What is kept beside a run's stream.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Snapshot<R, S> {
    format: u32,
    pub(crate) run: R,
    pub(crate) shown: S,
}

impl<R, S> Snapshot<R, S> {
    pub(crate) fn new(run: R, shown: S) -> Self {
        Self { format: FORMAT, run, shown }
    }
}

impl State for Snapshot<Run, Shown> {
    type Fold = Fold;
    type Error = Error;

    fn from_snapshot(view: &StreamView) -> Result<Option<Self>, Error> {
        let snapshot: Option<Self> = serde_json::from_slice(&view.snapshot).ok();
        // Older formats lack what is folded from the records; a run that is over needs none of it.
        let is_enough = |snapshot: &Self| match snapshot.format {
            FORMAT => true,
            1..FORMAT => !snapshot.run.is_open(),
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
        Ok(Self::new(run, Shown::default()))
    }
}

/// Returns what a snapshot of an older format knows of the state file.
pub(crate) fn older_shown(view: &StreamView) -> Option<Shown> {
    let snapshot: Snapshot<IgnoredAny, Shown> = serde_json::from_slice(&view.snapshot).ok()?;
    (1..FORMAT).contains(&snapshot.format).then_some(snapshot.shown)
}

pub(crate) fn id_of(stream: &StreamId) -> String {
    stream.as_str().trim_start_matches(RUNS).to_owned()
}

/// Returns the stream of a run; none if no run can have that id.
pub(crate) fn stream_of(id: &str) -> Option<StreamId> {
    StreamId::parse(format!("{RUNS}{id}")).ok()
}

pub(crate) fn topic(issue: &str) -> String {
    format!("issue:{issue}")
}

pub(crate) fn parse_record(stream: &StreamId, seq: u64, body: &[u8]) -> Result<Record, Error> {
    serde_json::from_slice(body).map_err(|error| Error::Event {
        run: id_of(stream),
        seq,
        problem: error.to_string(),
    })
}
