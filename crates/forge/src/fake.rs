//! A double for tests: the embedded forge in memory, which fails when it is told to.
//!
//! A fault is armed for the next call of one verb. What the double answers without a fault is what [`LocalForge`] answers,
//! so it keeps the contract; what it cannot show is how a real server differs from that.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
};

use engine::Time;
use journal::{MemoryStore, Store};

use crate::{
    Author, Capabilities, ChangedFile, Checks, ChecksState, Edit, FiledItem, Forge, ForgeError, Host,
    Hosting, Item, ItemId, LocalForge, Merge, NewItem, NewPull, Query, Refusal, Requirements, Review, StepId,
    Tracker,
};

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nobody is reached. Nothing has happened.
    Before,
    /// It happens, and its answer is lost.
    After,
    /// No answer comes in time. Nothing has happened, which the caller cannot know.
    Timeout,
    /// The forge is asked too often.
    Later,
    /// The forge answers, and cannot tell.
    Unknown,
}

/// A forge in memory, acting for one author.
#[derive(Clone, Debug)]
pub struct Fake {
    store: Arc<MemoryStore>,
    local: LocalForge,
    memory: Arc<Memory>,
    faults: Arc<Mutex<VecDeque<(String, Fault)>>>,
}

impl Fake {
    /// Creates an empty forge for an author.
    pub fn new(by: Author) -> Self {
        Self::of(MemoryStore::new(), 0, by)
    }

    /// Returns another forge with what is in this one now, in somebody's name, without its faults.
    pub fn snapshot(&self, by: Author) -> Self {
        Self::of(self.store.snapshot(), self.memory.now.load(Ordering::Relaxed), by)
    }

    fn of(store: MemoryStore, now: i64, by: Author) -> Self {
        let store = Arc::new(store);
        let memory = Arc::new(Memory { store: Arc::clone(&store) as _, now: AtomicI64::new(now) });
        Self { store, local: LocalForge::new(Arc::clone(&memory) as _, by), memory, faults: Arc::default() }
    }

    /// Returns the same forge for another author.
    #[must_use]
    pub fn by(&self, by: Author) -> Self {
        Self { local: self.local.by(by), ..self.clone() }
    }

    /// Lets the next call of `verb`, the name of a method of the ports, fail, whoever calls it. Several calls fail in the
    /// order in which this was said.
    pub fn fail(&self, verb: &str, fault: Fault) {
        locked(&self.faults).push_back((verb.to_owned(), fault));
    }

    /// Returns the number of faults still armed.
    pub fn armed(&self) -> usize {
        locked(&self.faults).len()
    }

    fn call<T>(&self, verb: &str, act: impl FnOnce() -> Result<T, ForgeError>) -> Result<T, ForgeError> {
        let fault = {
            let mut faults = locked(&self.faults);
            let next = faults.iter().position(|(of, _)| of == verb);
            next.and_then(|next| faults.remove(next)).map(|(_, fault)| fault)
        };
        match fault {
            None => act(),
            Some(Fault::Before) => Err(ForgeError::unreachable("the forge is not reached")),
            Some(Fault::Timeout) => Err(ForgeError::unreachable("the forge does not answer in time")),
            Some(Fault::After) => {
                act()?;
                Err(ForgeError::unreachable("the connection broke before the answer"))
            }
            Some(Fault::Later) => {
                let why = "the forge is asked too often".to_owned();
                Err(ForgeError::Later { until: Some(self.memory.now()), why })
            }
            Some(Fault::Unknown) => {
                Err(ForgeError::BadAnswer { problem: format!("the forge cannot tell ({verb})") })
            }
        }
    }
}

impl Hosting for Fake {
    fn tracker(&self, by: Author) -> Arc<dyn Tracker> {
        Arc::new(self.by(by))
    }

    fn forge(&self, by: Author) -> Arc<dyn Forge> {
        Arc::new(self.by(by))
    }
}

/// Calls of a port that may fail.
macro_rules! calls {
    ($port:ident: $($verb:ident($($name:ident: $kind:ty),*) -> $answer:ty;)+) => {
        $(fn $verb(&self, $($name: $kind),*) -> Result<$answer, ForgeError> {
            self.call(stringify!($verb), || $port::$verb(&self.local, $($name),*))
        })+
    };
}

impl Tracker for Fake {
    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "the fake forge", ..Tracker::capabilities(&self.local) }
    }

    calls! {
        Tracker:
        whoami() -> Author;
        item(id: ItemId) -> Option<Arc<Item>>;
        items(query: Query<'_>) -> Vec<Arc<Item>>;
        changed_since(since: Time) -> Vec<Arc<Item>>;
        count_closed() -> u64;
        filed(marker: &str) -> Option<ItemId>;
        file(new: &NewItem, marker: Option<&str>) -> FiledItem;
        edit(id: ItemId, edit: &Edit) -> Arc<Item>;
        comment(id: ItemId, text: &str, marker: Option<&str>) -> Arc<Item>;
        ensure_labels(id: ItemId, add: &[&str], remove: &[&str]) -> Arc<Item>;
        approve(id: ItemId) -> Arc<Item>;
        approval(item: &Item) -> Option<String>;
        assign(id: ItemId, to: Option<&str>) -> Arc<Item>;
        tick(id: ItemId, criteria: &[String]) -> Arc<Item>;
        untick(id: ItemId, criteria: &[String]) -> Arc<Item>;
        close(id: ItemId, reason: Option<&str>) -> Arc<Item>;
        reopen(id: ItemId) -> Arc<Item>;
    }
}

impl Forge for Fake {
    fn capabilities(&self) -> Capabilities {
        Tracker::capabilities(self)
    }

    calls! {
        Forge:
        whoami() -> Author;
        pull(id: ItemId) -> Option<Arc<Item>>;
        pulls(query: Query<'_>) -> Vec<Arc<Item>>;
        count_closed() -> u64;
        opened(marker: &str) -> Option<ItemId>;
        ensure_pull(new: &NewPull, marker: &str) -> FiledItem;
        offer_head(id: ItemId, head: &str, same_as: Option<&str>) -> Arc<Item>;
        comment(id: ItemId, text: &str, marker: Option<&str>) -> Arc<Item>;
        review(id: ItemId, head: &str, review: Review, text: Option<&str>) -> Arc<Item>;
        merge(id: ItemId, merge: &Merge<'_>) -> Arc<Item>;
        close(id: ItemId, reason: Option<&str>) -> Arc<Item>;
        ensure_branch_removed(id: ItemId) -> ();
        files(id: ItemId) -> Vec<ChangedFile>;
        requirements(target: &str) -> Requirements;
    }
}

/// Checks with scripted states; a commit without a script is not started.
#[derive(Debug, Default)]
pub struct FakeChecks {
    states: Mutex<BTreeMap<String, VecDeque<ChecksState>>>,
    logs: Mutex<BTreeMap<StepId, String>>,
    restarted: Mutex<Vec<String>>,
}

impl FakeChecks {
    /// Scripts the states of a commit's checks, one per query; the last one stays.
    pub fn say(&self, commit: &str, states: impl IntoIterator<Item = ChecksState>) {
        locked(&self.states).insert(commit.to_owned(), states.into_iter().collect());
    }

    /// Sets the log of a step.
    pub fn print(&self, step: StepId, log: &str) {
        locked(&self.logs).insert(step, log.to_owned());
    }

    /// Returns the commits whose checks were restarted.
    pub fn restarted(&self) -> Vec<String> {
        locked(&self.restarted).clone()
    }
}

impl Checks for FakeChecks {
    fn state(&self, commit: &str) -> Result<ChecksState, ForgeError> {
        let mut states = locked(&self.states);
        let Some(states) = states.get_mut(commit) else { return Ok(ChecksState::NotStarted) };
        let state = if states.len() > 1 { states.pop_front() } else { states.front().cloned() };
        Ok(state.unwrap_or(ChecksState::NotStarted))
    }

    fn log(&self, step: &StepId) -> Result<String, ForgeError> {
        let why = || Refusal::Said { why: format!("there is no log of `{}`", step.name) };
        Ok(locked(&self.logs).get(step).cloned().ok_or_else(why)?)
    }

    fn restart(&self, commit: &str) -> Result<(), ForgeError> {
        locked(&self.restarted).push(commit.to_owned());
        Ok(())
    }
}

/// A [`Host`] in memory whose clock ticks with every call.
#[derive(Debug)]
pub struct Memory {
    store: Arc<dyn Store>,
    now: AtomicI64,
}

impl Memory {
    /// Creates a host of this store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, now: AtomicI64::new(0) }
    }
}

impl Host for Memory {
    fn now(&self) -> Time {
        Time::from_millis(self.now.fetch_add(1, Ordering::Relaxed))
    }

    fn redact(&self, text: String) -> String {
        text
    }

    fn store(&self) -> Option<Arc<dyn Store>> {
        Some(Arc::clone(&self.store))
    }

    fn ensure_store(&self) -> Result<Arc<dyn Store>, ForgeError> {
        Ok(Arc::clone(&self.store))
    }

    fn has_recorded(&self) -> Result<(), ForgeError> {
        Ok(())
    }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
