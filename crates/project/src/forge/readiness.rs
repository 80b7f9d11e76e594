//! Which issues can be taken, in which order, and why the others cannot.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use engine::{find_cycle, read_dependencies};

use super::{Forge, ForgeError, Item, kept::OPEN_ISSUES};
use crate::Workspace;

/// The label of an issue that is to be worked on.
pub(super) const REQUIREMENT: &str = "req";
/// The label of an issue that gathers requirements, and is not worked on itself.
pub(super) const CAPABILITY: &str = "cap";
/// The label of an issue that a person has approved.
pub(super) const APPROVED: &str = "approved";

/// An open issue that is labelled as a requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub item: Arc<Item>,
    pub priority: Priority,
    pub readiness: Readiness,
}

/// How urgent an issue is. What nobody has judged comes after what somebody has, however low.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    Critical,
    High,
    Medium,
    Low,
    None,
}

/// Whether an issue can be taken.
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
        on: Vec<u64>,
    },
    /// Its dependencies lead back to it, by this path.
    Cycle {
        path: Vec<u64>,
    },
}

impl Priority {
    /// Reads the priority from labels; of several the highest counts.
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
        let list = |numbers: &[u64], between: &str| {
            numbers.iter().map(|number| format!("#{number}")).collect::<Vec<_>>().join(between)
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

/// Who depends on whom, as far as it was asked for.
#[derive(Default)]
struct Dependencies {
    /// What each issue depends on; nothing once it is closed.
    known: BTreeMap<u64, BTreeSet<u64>>,
    /// Issues that hold others up: they are open, or not there.
    holding: BTreeSet<u64>,
}

impl Forge<'_> {
    /// Returns every open requirement in the order in which they are taken: by priority, then oldest first.
    pub fn candidates(&mut self) -> Result<Vec<Candidate>, ForgeError> {
        let issues = self.about(OPEN_ISSUES)?;
        let mut dependencies = Dependencies::default();
        for item in &issues {
            dependencies.learn(item.number, Some(item));
        }
        let mut candidates = Vec::new();
        for (priority, item) in requirements(issues) {
            let readiness = self.judge(&item, &mut dependencies)?;
            candidates.push(Candidate { item, priority, readiness });
        }
        Ok(candidates)
    }

    /// Offers the open requirements that can be taken in the order in which they are, until `take` has taken one.
    pub(crate) fn first_ready<Took>(
        &mut self,
        mut take: impl FnMut(&mut Workspace, &Arc<Item>) -> Result<Option<Took>, ForgeError>,
    ) -> Result<Option<Took>, ForgeError> {
        let mut dependencies = Dependencies::default();
        for (_, item) in requirements(self.about(OPEN_ISSUES)?) {
            if self.judge(&item, &mut dependencies)? == Readiness::Ready
                && let Some(took) = take(self.workspace, &item)?
            {
                return Ok(Some(took));
            }
        }
        Ok(None)
    }

    /// Tells whether an issue can be taken, and why not.
    pub fn readiness(&mut self, number: u64) -> Result<Readiness, ForgeError> {
        match self.item(number)? {
            Some(item) => self.judge(&item, &mut Dependencies::default()),
            None => Ok(Readiness::Missing),
        }
    }

    /// Tells whether an issue could be taken once a person has approved it.
    pub fn readiness_if_approved(&mut self, number: u64) -> Result<Readiness, ForgeError> {
        let Some(item) = self.item(number)? else { return Ok(Readiness::Missing) };
        if item.pull.is_some() {
            return Err(ForgeError::NotAnIssue { number });
        }
        let mut item = Item::clone(&item);
        item.labels.insert(REQUIREMENT.to_owned());
        item.approved_by.get_or_insert_with(String::new);
        self.judge(&item, &mut Dependencies::default())
    }

    fn judge(&mut self, item: &Item, dependencies: &mut Dependencies) -> Result<Readiness, ForgeError> {
        if !item.is_open() {
            return Ok(Readiness::Closed);
        }
        if !item.labels.contains(REQUIREMENT) {
            return Ok(Readiness::NotARequirement);
        }
        if item.approved_by.is_none() {
            return Ok(Readiness::NotApproved);
        }
        let boxes = item.boxes().items;
        if !boxes.is_empty() && boxes.iter().all(|(ticked, _)| *ticked) {
            return Ok(Readiness::Met);
        }
        dependencies.learn(item.number, Some(item));
        let mut on = Vec::new();
        for number in self.depends_on(item.number, dependencies)? {
            self.depends_on(number, dependencies)?;
            if dependencies.holding.contains(&number) {
                on.push(number);
            }
        }
        if on.is_empty() {
            return Ok(Readiness::Ready);
        }
        Ok(match find_cycle(item.number, |number| self.depends_on(number, dependencies))? {
            Some(path) => Readiness::Cycle { path },
            None => Readiness::Blocked { on },
        })
    }

    fn depends_on(
        &mut self,
        number: u64,
        dependencies: &mut Dependencies,
    ) -> Result<BTreeSet<u64>, ForgeError> {
        if !dependencies.known.contains_key(&number) {
            let item = self.item(number)?;
            dependencies.learn(number, item.as_deref());
        }
        Ok(dependencies.known.get(&number).cloned().unwrap_or_default())
    }
}

/// Returns the requirements among issues by priority, then oldest first.
fn requirements(issues: Vec<Arc<Item>>) -> Vec<(Priority, Arc<Item>)> {
    let requirements = issues.into_iter().filter(|item| item.labels.contains(REQUIREMENT));
    let mut all: Vec<_> = requirements.map(|item| (Priority::of(&item.labels), item)).collect();
    all.sort_by_key(|(priority, item)| (*priority, item.number));
    all
}

impl Dependencies {
    fn learn(&mut self, number: u64, item: Option<&Item>) {
        if self.known.contains_key(&number) {
            return;
        }
        let open = item.filter(|item| item.is_open());
        if open.is_some() || item.is_none() {
            self.holding.insert(number);
        }
        let on = open.map(|item| read_dependencies(&item.body, number)).unwrap_or_default();
        self.known.insert(number, on);
    }
}
