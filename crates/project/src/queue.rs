//! The queue: every requirement in the order in which it is taken, and what keeps one from being taken.
//!
//! Whoever takes an issue and whoever explains why one is not taken ask here, so that they cannot disagree.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use engine::{Owner, PROVIDER, Run, RunId, Standing};
use forge::{Candidate, Item, ItemId, Query, Readiness, candidates, readiness, ready};

use crate::{ClaimError, Current, Error, Rework, Workspace};

/// What keeps an issue that is ready from being taken.
#[derive(Debug)]
pub enum Taken {
    /// A run is on its way with it.
    Run(Box<Current>),
    /// A process has claimed it, and has no run for it.
    Claimed(Owner),
    /// It was handed over as this pull request.
    Pull(Arc<Item>),
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(current) => write!(f, "run {} has it, in {}", current.run.id, current.run.phase),
            Self::Claimed(owner) => write!(f, "claimed by process {}", owner.pid),
            Self::Pull(pull) => write!(f, "ready for review as pull request #{}", pull.id),
        }
    }
}

/// A run that was left before it was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupted {
    pub run: String,
    /// Nothing if it was left before it had chosen one.
    pub issue: Option<ItemId>,
}

/// Which runs are resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Those that can go on now.
    Now,
    /// Those, too, that wait for a time.
    Later,
}

/// An open requirement in its place.
#[derive(Debug)]
pub struct Queued {
    pub candidate: Candidate,
    /// Nothing if it is free; what is not ready was not looked at.
    pub taken: Option<Taken>,
    /// The pull request of it that waits for another round.
    pub rework: Option<ItemId>,
}

impl Queued {
    /// Tells whether it would be taken, if it were the first.
    pub fn is_free(&self) -> bool {
        (self.candidate.readiness == Readiness::Ready || self.rework.is_some()) && self.taken.is_none()
    }
}

impl Workspace {
    /// Returns every open requirement in the order in which they are taken: what reviewers wait for comes first.
    pub fn queue(&mut self) -> Result<Vec<Queued>, Error> {
        let candidates = candidates(&*self.tracker())?;
        let pulls = self.forge().pulls(Query::Open)?;
        let reworks = self.reworks()?;
        let mut queue = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            let taken = match candidate.readiness {
                // What is on its way may have met all its criteria.
                Readiness::Ready | Readiness::Met => self.taken(candidate.item.id, &pulls, None)?,
                Readiness::Missing
                | Readiness::Closed
                | Readiness::NotARequirement
                | Readiness::NotApproved
                | Readiness::Blocked { .. }
                | Readiness::Cycle { .. } => None,
            };
            let is_it = |(issue, _): &&(ItemId, Rework)| *issue == candidate.item.id;
            let rework = reworks.iter().find(is_it).map(|(_, rework)| rework.pull);
            queue.push(Queued { candidate, taken, rework });
        }
        queue.sort_by_key(|queued| (queued.rework.is_none(), queued.rework));
        Ok(queue)
    }

    /// Returns what keeps issues from being taken, by their numbers.
    pub fn all_taken(&mut self) -> Result<BTreeMap<ItemId, Taken>, Error> {
        let queue = self.queue()?.into_iter();
        Ok(queue.filter_map(|queued| Some((queued.candidate.item.id, queued.taken?))).collect())
    }

    /// Returns the first issue that is ready and free, and none of those that are `passed` over.
    pub fn first_free(&mut self, passed: &BTreeSet<ItemId>) -> Result<Option<ItemId>, Error> {
        let pulls = self.forge().pulls(Query::Open)?;
        for (issue, _) in self.reworks()? {
            if !passed.contains(&issue) && self.taken(issue, &pulls, None)?.is_none() {
                return Ok(Some(issue));
            }
        }
        let tracker = self.tracker();
        for item in ready(&*tracker)? {
            let id = item?.id;
            if !passed.contains(&id) && self.taken(id, &pulls, None)?.is_none() {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Takes the first issue that is ready and free, and claims it. A run does not stand in its own way.
    pub fn take_next(&mut self, by: &RunId) -> Result<Option<Arc<Item>>, Error> {
        let pulls = self.forge().pulls(Query::Open)?;
        for (issue, _) in self.reworks()? {
            let Some(item) = self.tracker().item(issue)? else { continue };
            if let Some(taken) = self.take(&item, &pulls, by)? {
                return Ok(Some(taken));
            }
        }
        let tracker = self.tracker();
        for item in ready(&*tracker)? {
            if let Some(taken) = self.take(&item?, &pulls, by)? {
                return Ok(Some(taken));
            }
        }
        Ok(None)
    }

    /// Claims an issue that is ready, if it is free.
    fn take(
        &mut self,
        item: &Arc<Item>,
        pulls: &[Arc<Item>],
        by: &RunId,
    ) -> Result<Option<Arc<Item>>, Error> {
        if self.taken(item.id, pulls, Some(by))?.is_some() {
            return Ok(None);
        }
        // What an earlier run has left may have been merged meanwhile.
        let is_news = self.settle_left(item.id)?.is_some();
        if is_news
            && readiness(&*self.tracker(), item.id)? == Readiness::Met
            && self.rework(item.id)?.is_none()
        {
            return Ok(None);
        }
        match self.claim(&item.id.to_string()) {
            Ok(()) => Ok(Some(Arc::clone(item))),
            // Somebody was faster.
            Err(ClaimError::Held { .. }) => Ok(None),
            Err(ClaimError::Failed(error)) => Err(error),
        }
    }

    /// Returns what keeps an issue from being taken: somebody works on it, or has handed it over.
    pub(crate) fn taken(
        &mut self,
        number: ItemId,
        pulls: &[Arc<Item>],
        by: Option<&RunId>,
    ) -> Result<Option<Taken>, Error> {
        let issue = number.to_string();
        let run = self.select(Some(&issue))?;
        let is_other = |current: &Current| current.run.is_open() && Some(&current.run.id) != by;
        if let Some(current) = run.filter(is_other) {
            return Ok(Some(Taken::Run(Box::new(current))));
        }
        let is_about = |item: &&Arc<Item>| item.pull.as_ref().is_some_and(|pull| pull.issue == Some(number));
        // One that waits for another round is worked on.
        if let Some(item) = pulls.iter().find(is_about)
            && self.rework_of(item)?.is_none()
        {
            return Ok(Some(Taken::Pull(Arc::clone(item))));
        }
        Ok(self.runs.claimant(&issue)?.map(Taken::Claimed))
    }

    /// Returns a run that nobody carries on, that needs no answer about its work, and that is none of those that are `passed`
    /// over. One that waits for a time comes only if `when` says so.
    pub fn first_left(
        &mut self,
        passed: &BTreeSet<String>,
        when: When,
    ) -> Result<Option<Interrupted>, Error> {
        let left = self.runs.left()?;
        let can_go_on = |run: &Run| match &run.standing {
            Standing::Active => true,
            Standing::Parked { decision } => decision.reason == PROVIDER,
            Standing::Suspended { .. } => when == When::Later || !self.runs.is_waiting(run),
            Standing::Stopped | Standing::Ended { .. } => false,
        };
        let is_new = |run: &Run| !passed.contains(run.id.as_str());
        let left = left.into_iter().filter(|current| can_go_on(&current.run));
        Ok(left.map(|current| current.run).find(|run| is_new(run)).map(|run| Interrupted {
            run: run.id.to_string(),
            issue: run.issue.as_deref().and_then(ItemId::typed),
        }))
    }

    /// Returns the newest run of warp's own that nobody carries on.
    pub fn unfinished(&mut self) -> Result<Option<Current>, Error> {
        let mut left = self.runs.left()?;
        // One that waits for a time comes after everything that can be done now.
        left.sort_by_key(|current| self.runs.is_waiting(&current.run));
        match left.into_iter().next() {
            Some(current)
                if self.runs.is_waiting(&current.run) && self.first_free(&BTreeSet::new())?.is_some() =>
            {
                Ok(None)
            }
            first => Ok(first),
        }
    }
}

/// Says why nothing is taken, and what would change that.
pub fn why_nothing(queue: &[Queued]) -> String {
    let count = |is: fn(&Queued) -> bool| queue.iter().filter(|queued| is(queued)).count();
    let unapproved = count(|queued| queued.candidate.readiness == Readiness::NotApproved);
    // What is ready and still not taken was taken by somebody just now.
    let taken = count(|queued| queued.taken.is_some() || queued.candidate.readiness == Readiness::Ready);
    let met = count(|queued| queued.candidate.readiness == Readiness::Met);
    if queue.is_empty() {
        return "no open issue is labelled `req`: `warp issue new` files one".to_owned();
    }
    if unapproved == queue.len() {
        return "no issue is approved: `warp issue approve N` lets one be taken".to_owned();
    }
    if taken > 0 {
        return "every issue that is ready is taken already".to_owned();
    }
    if met > 0 && unapproved + met == queue.len() {
        return "every criterion of what is approved is ticked: `warp issue close N` closes what is done"
            .to_owned();
    }
    "no issue is ready: what is approved is blocked by others".to_owned()
}
