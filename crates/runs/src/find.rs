//! Finding runs, and reading what is recorded of them.

use std::sync::Arc;

use engine::{Fold, Record, Run, Standing, Workflow};
use journal::{Query, Scope, State, StreamHead, StreamId, StreamView, Streams, streams::read_all};

use crate::{
    Current, Error, Newest, Runs, Shown,
    current::{RUNS, Snapshot, id_of, older_shown, parse_record, stream_of, topic},
};

/// How many records are cached.
const MOST_CACHED: usize = 1000;

impl Runs {
    /// Returns a run by its id.
    pub fn by_id(&self, id: &str) -> Result<Option<Current>, Error> {
        let Some(stream) = stream_of(id) else { return Ok(None) };
        self.newest_of(Query::Stream(&stream))
    }

    /// Returns the run that is open in the workspace with this root.
    pub fn in_workspace(&self, root: &str) -> Result<Option<Current>, Error> {
        self.newest_of(Query::Mark(root))
    }

    /// Returns the run that a person names, by its id or by its issue: of several about one issue the open one, or else the
    /// newest.
    pub fn named(&self, selector: &str) -> Result<Option<Current>, Error> {
        if let Some(current) = self.by_id(selector)? {
            return Ok(Some(current));
        }
        let mut runs = self.about_issue(selector.trim_start_matches('#'))?;
        let open = runs.iter().position(|current| current.run.is_open()).unwrap_or(0);
        Ok((!runs.is_empty()).then(|| runs.swap_remove(open)))
    }

    /// Returns the runs whose newest issue this is, the most recent first.
    pub fn about_issue(&self, issue: &str) -> Result<Vec<Current>, Error> {
        self.load_all(Query::Topic(&topic(issue)))
    }

    /// Returns every run, the most recent first.
    pub fn all(&self) -> Result<Vec<Current>, Error> {
        self.load_all(Query::Names(RUNS))
    }

    /// Returns the open runs that have a workspace, the most recent first. Those that are over are not read.
    pub fn in_workspaces(&self) -> Result<Vec<Current>, Error> {
        self.load_all(Query::Marks("/"))
    }

    /// Returns the most recent run that is meant.
    pub fn newest(&self, is_meant: impl Fn(&Run) -> bool) -> Result<Option<Current>, Error> {
        for head in self.find(Query::Names(RUNS))? {
            let Some(view) = self.stored()?.load(&head.stream)? else { continue };
            let current = self.load(view)?;
            if is_meant(&current.run) {
                return Ok(Some(current));
            }
        }
        Ok(None)
    }

    /// Tells whether no other run is open in a workspace.
    pub fn is_alone(&self, current: &Current) -> Result<bool, Error> {
        let mut open = self.find(Query::Marks("/"))?.into_iter().map(|head| head.stream).filter(is_run);
        Ok(open.next().as_ref() == Some(&current.stream) && open.next().is_none())
    }

    /// Returns the runs in workspaces of their own that have more to do and that nobody carries on, the most recent first.
    pub fn left(&self) -> Result<Vec<Current>, Error> {
        let mut left = Vec::new();
        for current in self.in_workspaces()?.into_iter().filter(|current| current.run.owns_workspace) {
            let has_more = match current.run.standing {
                Standing::Active | Standing::Parked { .. } | Standing::Suspended { .. } => true,
                Standing::Stopped | Standing::Ended { .. } => false,
            };
            if has_more && self.is_left(&current.run)? {
                left.push(current);
            }
        }
        Ok(left)
    }

    /// Tells whether a run waits for a time that has not come.
    pub fn is_waiting(&self, run: &Run) -> bool {
        match &run.standing {
            Standing::Suspended { wait } => wait.until.is_some_and(|until| self.0.clock.now() < until),
            Standing::Active | Standing::Parked { .. } | Standing::Stopped | Standing::Ended { .. } => false,
        }
    }

    /// Returns every record of a run, oldest first.
    pub fn records(&self, current: &Current) -> Result<Vec<Record>, Error> {
        let (store, stream) = (self.stored()?, &current.stream);
        let mut records = Vec::new();
        let all = store.load(stream)?.map_or(0, |view| view.version.events());
        read_all(&*store, stream, 0, all, |event| {
            records.push(parse_record(stream, event.seq, &event.body)?);
            Ok::<(), Error>(())
        })?;
        Ok(records)
    }

    /// Returns the newest records of a run, oldest first, at most `most`.
    pub fn newest_records(&self, current: &Current, most: usize) -> Result<Vec<Arc<Record>>, Error> {
        let from = current.version.events().saturating_sub(most as u64);
        let is_cached = |newest: &Newest| newest.stream == current.stream && newest.from <= from;
        let mut newest = self.cache().newest.take().filter(is_cached).unwrap_or_else(|| Newest {
            stream: current.stream.clone(),
            from,
            records: Vec::new(),
        });
        let next = newest.from + newest.records.len() as u64;
        let missing = usize::try_from(current.version.events().saturating_sub(next)).unwrap_or(usize::MAX);
        if missing > 0 {
            for event in self.stored()?.read(Scope::Stream(&current.stream), next, missing)? {
                newest.records.push(Arc::new(parse_record(&current.stream, event.seq, &event.body)?));
            }
        }
        let before = usize::try_from(from - newest.from).unwrap_or(usize::MAX);
        let records = newest.records.iter().skip(before).take(most).cloned().collect();
        self.cache().newest = Some(newest).filter(|newest| newest.records.len() <= MOST_CACHED);
        Ok(records)
    }

    /// Adds what was just recorded to what is cached.
    pub(crate) fn remember(&self, current: &Current, first: u64, records: &[Record]) {
        let mut cache = self.cache();
        cache.last = Some(current.clone());
        let newest = cache.newest.as_mut().filter(|newest| newest.stream == current.stream);
        if let Some(newest) = newest.filter(|newest| newest.from + newest.records.len() as u64 == first) {
            newest.records.extend(records.iter().cloned().map(Arc::new));
        }
    }

    fn find(&self, query: Query<'_>) -> Result<Vec<StreamHead>, Error> {
        self.store().map_or(Ok(Vec::new()), |store| Ok(store.find(query)?))
    }

    fn load_all(&self, query: Query<'_>) -> Result<Vec<Current>, Error> {
        let Some(store) = self.store() else { return Ok(Vec::new()) };
        let views = store.views(query)?.into_iter().filter(|view| is_run(&view.stream));
        views.map(|view| self.load(view)).collect()
    }

    /// Returns the first run that is asked for. One that has not changed since it was read is not read again.
    fn newest_of(&self, query: Query<'_>) -> Result<Option<Current>, Error> {
        let Some(store) = self.store() else { return Ok(None) };
        let last = self.cache().last.clone();
        if let Some(last) = last {
            let head = store.find(query)?.pop();
            if head.is_some_and(|head| head.stream == last.stream && head.version == last.version) {
                return Ok(Some(last));
            }
        }
        store.views(query)?.pop().map(|view| self.load(view)).transpose()
    }

    /// Makes a run of what is kept beside its stream, or of its events where that is no use.
    pub(crate) fn load(&self, view: StreamView) -> Result<Current, Error> {
        let is_same = |last: &&Current| last.stream == view.stream && last.version == view.version;
        if let Some(last) = self.cache().last.as_ref().filter(is_same) {
            return Ok(last.clone());
        }
        let (stream, older) = (view.stream.clone(), older_shown(&view));
        let loaded = Streams::<Snapshot<Run, Shown>>::of(self.stored()?).open(view)?;
        let (run, shown) = (Arc::new(loaded.state.run), older.unwrap_or(loaded.state.shown));
        let workflow = self.workflow_of(&run, &stream)?.under(&run.settings);
        let current = Current { workflow, run, shown, stream, version: loaded.version };
        self.cache().last = Some(current.clone());
        Ok(current)
    }

    /// Returns the workflow that a run is pinned to.
    fn workflow_of(&self, run: &Run, stream: &StreamId) -> Result<Arc<Workflow>, Error> {
        let is_pinned = |workflow: &Workflow| workflow.digest == run.workflow_digest;
        let cached = self.cache().workflow.clone();
        if let Some(workflow) = cached.filter(|workflow| is_pinned(workflow)) {
            return Ok(workflow);
        }
        let workflow = match Workflow::built_in(&run.workflow).filter(is_pinned) {
            Some(workflow) => workflow,
            None => self.first_workflow(stream)?,
        };
        let workflow = Arc::new(workflow);
        self.cache().workflow = Some(Arc::clone(&workflow));
        Ok(workflow)
    }

    /// Reads the workflow that a run began with from its first event.
    fn first_workflow(&self, stream: &StreamId) -> Result<Workflow, Error> {
        let first = self.stored()?.read(Scope::Stream(stream), 0, 1)?;
        let mut fold = Fold::default();
        for event in &first {
            <Snapshot<Run, Shown> as State>::add(&mut fold, event)?;
        }
        let text = fold.finish().map(|(_, text)| text).unwrap_or_default();
        Workflow::parse_proved(&text).map_err(|source| Error::Pinned { run: id_of(stream), source })
    }
}

fn is_run(stream: &StreamId) -> bool {
    stream.as_str().starts_with(RUNS)
}
