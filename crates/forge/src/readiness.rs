//! Which issues can be taken, in which order, and why the others cannot.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
    vec,
};

use engine::{find_cycle, read_dependencies};

use crate::{ForgeError, Item, ItemId, Query, Refusal, Tracker};

/// Label of requirements.
pub const REQUIREMENT: &str = "req";
/// Label of approved issues.
pub const APPROVED: &str = "approved";

/// An open issue that is labelled as a requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub item: Arc<Item>,
    pub priority: Priority,
    pub readiness: Readiness,
}

/// Priority of an issue; unlabelled issues come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    Critical,
    High,
    Medium,
    Low,
    None,
}

/// Whether work on an issue can start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    Ready,
    /// There is no such issue.
    Missing,
    Closed,
    /// It is not labelled `req`.
    NotARequirement,
    /// No person has approved it.
    NotApproved,
    /// All its criteria are ticked, so nothing is left that a run could show.
    Met,
    /// It depends on issues that are not closed, or not there.
    Blocked {
        on: Vec<ItemId>,
    },
    /// Its dependencies lead back to it, by this path.
    Cycle {
        path: Vec<ItemId>,
    },
}

impl Priority {
    /// Parses the priority from labels; the highest counts.
    pub fn of(labels: &BTreeSet<String>) -> Self {
        let names = [
            ("p1-critical", Self::Critical),
            ("p2-high", Self::High),
            ("p3-medium", Self::Medium),
            ("p4-low", Self::Low),
        ];
        let found = names.iter().find(|(name, _)| labels.contains(*name));
        found.map_or(Self::None, |(_, priority)| *priority)
    }
}

impl fmt::Display for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |ids: &[ItemId], between: &str| {
            ids.iter().map(|id| format!("#{id}")).collect::<Vec<_>>().join(between)
        };
        match self {
            Self::Ready => f.write_str("ready"),
            Self::Missing => f.write_str("not there"),
            Self::Closed => f.write_str("closed"),
            Self::NotARequirement => write!(f, "not labelled `{REQUIREMENT}`"),
            Self::NotApproved => f.write_str("not approved"),
            Self::Met => f.write_str("every criterion is ticked"),
            Self::Blocked { on } => write!(f, "blocked by {}", list(on, ", ")),
            Self::Cycle { path } => write!(f, "blocked by itself: {}", list(path, " -> ")),
        }
    }
}

/// Returns every open requirement in the order in which they are taken: by priority, then oldest first.
pub fn candidates(tracker: &dyn Tracker) -> Result<Vec<Candidate>, ForgeError> {
    let issues = tracker.items(Query::Open)?;
    let mut judge = DependencyCheck::of(tracker);
    for item in &issues {
        judge.learn(item.id, Some(item));
    }
    let mut candidates = Vec::new();
    for (priority, item) in requirements(issues) {
        let readiness = judge.readiness(&item)?;
        candidates.push(Candidate { item, priority, readiness });
    }
    Ok(candidates)
}

/// Returns the ready requirements in the same order, evaluated lazily.
pub fn ready(tracker: &dyn Tracker) -> Result<ReadyRequirements<'_>, ForgeError> {
    let requirements = requirements(tracker.items(Query::Open)?);
    Ok(ReadyRequirements { requirements: requirements.into_iter(), judge: DependencyCheck::of(tracker) })
}

/// Returns whether an issue is ready, and why not.
pub fn readiness(tracker: &dyn Tracker, id: ItemId) -> Result<Readiness, ForgeError> {
    match tracker.item(id)? {
        Some(item) => DependencyCheck::of(tracker).readiness(&item),
        None => Ok(Readiness::Missing),
    }
}

/// Returns whether an issue would be ready once approved.
pub fn readiness_if_approved(tracker: &dyn Tracker, id: ItemId) -> Result<Readiness, ForgeError> {
    match tracker.item(id)? {
        Some(item) if item.pull.is_some() => Err(Refusal::NotAnIssue { id }.into()),
        Some(item) if !item.is_open() => Ok(Readiness::Closed),
        Some(item) => DependencyCheck::of(tracker).if_approved(&item),
        None => Ok(Readiness::Missing),
    }
}

/// Iterator of requirements that are ready.
#[derive(Debug)]
pub struct ReadyRequirements<'a> {
    requirements: vec::IntoIter<(Priority, Arc<Item>)>,
    judge: DependencyCheck<'a>,
}

impl Iterator for ReadyRequirements<'_> {
    type Item = Result<Arc<Item>, ForgeError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (_, item) = self.requirements.next()?;
            match self.judge.readiness(&item) {
                Ok(Readiness::Ready) => return Some(Ok(item)),
                Ok(_) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Cache of dependencies between issues.
#[derive(Debug)]
struct DependencyCheck<'a> {
    tracker: &'a dyn Tracker,
    /// What each issue depends on; nothing once it is closed.
    known: BTreeMap<ItemId, BTreeSet<ItemId>>,
    /// Issues that hold others up: they are open, or not there.
    holding: BTreeSet<ItemId>,
}

impl<'a> DependencyCheck<'a> {
    fn of(tracker: &'a dyn Tracker) -> Self {
        Self { tracker, known: BTreeMap::new(), holding: BTreeSet::new() }
    }

    fn readiness(&mut self, item: &Item) -> Result<Readiness, ForgeError> {
        if !item.is_open() {
            return Ok(Readiness::Closed);
        }
        if !item.labels.contains(REQUIREMENT) {
            return Ok(Readiness::NotARequirement);
        }
        match self.tracker.approval(item)? {
            Some(_) => self.if_approved(item),
            None => Ok(Readiness::NotApproved),
        }
    }

    fn if_approved(&mut self, item: &Item) -> Result<Readiness, ForgeError> {
        let boxes = item.boxes().items;
        if !boxes.is_empty() && boxes.iter().all(|(ticked, _)| *ticked) {
            return Ok(Readiness::Met);
        }
        self.learn(item.id, Some(item));
        let mut on = Vec::new();
        for id in self.depends_on(item.id)? {
            self.depends_on(id)?;
            if self.holding.contains(&id) {
                on.push(id);
            }
        }
        if on.is_empty() {
            return Ok(Readiness::Ready);
        }
        Ok(match find_cycle(item.id, |id| self.depends_on(id))? {
            Some(path) => Readiness::Cycle { path },
            None => Readiness::Blocked { on },
        })
    }

    fn depends_on(&mut self, id: ItemId) -> Result<BTreeSet<ItemId>, ForgeError> {
        if !self.known.contains_key(&id) {
            let item = self.tracker.item(id)?;
            self.learn(id, item.as_deref());
        }
        Ok(self.known.get(&id).cloned().unwrap_or_default())
    }

    fn learn(&mut self, id: ItemId, item: Option<&Item>) {
        if self.known.contains_key(&id) {
            return;
        }
        let open = item.filter(|item| item.is_open());
        if open.is_some() || item.is_none() {
            self.holding.insert(id);
        }
        self.known.insert(id, open.map(Item::depends_on).unwrap_or_default());
    }
}

impl Item {
    /// Returns the dependencies named in its text.
    pub fn depends_on(&self) -> BTreeSet<ItemId> {
        let own = self.id.number().unwrap_or_default();
        read_dependencies(&self.body, own).into_iter().map(ItemId::from).collect()
    }
}

/// Returns the requirements among issues by priority, then oldest first.
fn requirements(issues: Vec<Arc<Item>>) -> Vec<(Priority, Arc<Item>)> {
    let requirements = issues.into_iter().filter(|item| item.labels.contains(REQUIREMENT));
    let mut all: Vec<_> = requirements.map(|item| (Priority::of(&item.labels), item)).collect();
    all.sort_by_key(|(priority, item)| (*priority, item.id));
    all
}
