//! The outlook: why an issue is worked on or not, what `warp run` would do now, and what a person can do about it.
//!
//! It is read where issues are taken ([`crate::Queued`]), so what is said here is what happens.

mod prospect;
mod unpushed;
mod words;

use std::{path::PathBuf, sync::Arc};

use adapters::{
    git::{
        self, Git,
        resume::{commits_between, conflicts},
    },
    machine, refs,
};
use engine::{
    Owner, PhaseName, Run, Standing, Time, Wait,
    view::{self, Asked, Explanation, Used},
    workflow::Job,
};
use forge::{Comment, Item, ItemId, Pull, Query, Readiness, Review, readiness};
use serde::Serialize;

pub use prospect::{Place, Prospect, Would};
pub use unpushed::AtRemote;

use crate::{Current, Error, Leftover, Taken, Workspace, pushing::REFUSED_PUSH, rework::is_update_wanted};

/// How many commits of an issue are named.
const MOST_COMMITS: usize = 50;

/// Why an issue is where it is.
#[derive(Debug, Serialize)]
pub struct Outlook {
    pub version: u32,
    pub issue: ItemId,
    pub title: Option<String>,
    #[serde(flatten)]
    pub is: Is,
    /// What a person can do, the most likely first.
    pub next: Vec<Remedy>,
    /// More about the run that has the issue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
}

/// Where an issue is.
#[derive(Debug, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Is {
    Missing,
    NotARequirement,
    NotApproved,
    /// All its criteria are ticked.
    Met,
    Blocked {
        on: Vec<Blocker>,
    },
    Cycle {
        path: Vec<ItemId>,
    },
    /// It would be taken again, but nobody has answered what its last run asked.
    PutOff {
        todos: Vec<Todo>,
        after: Vec<ItemId>,
    },
    /// It would be taken; these come before it.
    Ready {
        after: Vec<ItemId>,
    },
    /// A process has claimed it, and has no run for it.
    Claimed {
        pid: u32,
        directory: Option<PathBuf>,
    },
    /// It is worked on right now.
    Working(Worked),
    /// Its run is in a checkout of a person's.
    InCheckout(Worked),
    /// Nobody carries its run on.
    Interrupted(Worked),
    Parked {
        #[serde(flatten)]
        by: Worked,
        decision: Asked,
    },
    OverBudget {
        #[serde(flatten)]
        by: Worked,
        budgets: Vec<Used>,
        decision: Asked,
    },
    /// Its run waits for something that ends by itself.
    Waiting {
        #[serde(flatten)]
        by: Worked,
        wait: Wait,
    },
    /// Its run stands still where it is.
    Halted(Worked),
    /// Its last run was stopped, and is over.
    Stopped {
        run: String,
        at: Time,
        /// Where its work is, if there was any.
        branch: Option<String>,
        /// How many chunks are done there, and of how many.
        done: usize,
        planned: usize,
        /// Whether `warp run` continues what is on the branch.
        resumes: bool,
    },
    /// It was merged, and that was taken back.
    Reverted {
        run: String,
        at: Time,
    },
    HandedOver(Handed),
    /// It is no issue, but a pull request.
    PullRequest(Handed),
    Done {
        at: Time,
        run: String,
        merged: String,
        commits: Vec<String>,
    },
    Closed {
        at: Time,
        because: Option<String>,
    },
}

/// An issue that another one waits for.
#[derive(Debug, Serialize)]
pub struct Blocker {
    pub issue: ItemId,
    /// Nothing if there is no such issue.
    pub title: Option<String>,
}

/// An issue that a question has become.
#[derive(Debug, Serialize)]
pub struct Todo {
    pub issue: ItemId,
    pub question: String,
}

/// A run and who carries it on.
#[derive(Clone, Debug, Serialize)]
pub struct Worked {
    pub run: String,
    pub phase: PhaseName,
    pub chunk: u64,
    pub chunks: usize,
    pub pid: u32,
    /// Whether that process is still there.
    pub is_live: bool,
    pub root: String,
    /// Whether warp itself works on it, in a workspace of its own.
    pub is_driven: bool,
    /// Whether it was stopped for good, and only has to be cleaned up.
    #[serde(skip)]
    pub cleans_up: bool,
}

/// A pull request.
#[derive(Debug, Serialize)]
pub struct Handed {
    pub pull: ItemId,
    pub about: Option<ItemId>,
    pub branch: String,
    pub target: String,
    pub review: Review,
    /// Whether it waits to be merged.
    pub is_open: bool,
    /// The files in which the target has changed the same lines.
    pub conflicts: Vec<String>,
    /// Whether a person has asked to have it brought onto its target.
    pub is_update_wanted: bool,
    pub merged: Option<String>,
    /// Set if the remote has refused the merge target: then it is merged there.
    pub is_refused: bool,
}

/// Something that a person can do.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Remedy {
    pub command: String,
    pub does: String,
}

impl Workspace {
    /// Says why an issue is where it is.
    pub fn outlook(&mut self, number: ItemId) -> Result<Outlook, Error> {
        let item = self.tracker().item(number)?;
        let run = self.select(Some(&number.to_string()))?;
        let open = run.as_ref().filter(|current| current.run.is_open());
        let explanation =
            open.map(|current| view::explain(&current.workflow, &current.run, self.dirs.clock.now()));
        let is = match (open, &item) {
            (Some(current), _) => in_run(current),
            (None, None) => Is::Missing,
            (None, Some(item)) => self.of_item(item, run.as_ref())?,
        };
        let title = item.map(|item| item.title.clone());
        let mut next = words::remedies(number, &is);
        next.extend(self.unpushed(&is));
        Ok(Outlook { version: 1, issue: number, title, is, next, explanation })
    }

    fn of_item(&mut self, item: &Item, last: Option<&Current>) -> Result<Is, Error> {
        let number = item.id;
        if item.pull.is_some() {
            return Ok(self.handed(item).map_or(Is::Missing, Is::PullRequest));
        }
        if !item.is_open() {
            return self.closed(item);
        }
        let pulls = self.forge().pulls(Query::Open)?;
        Ok(match self.taken(number, &pulls, None)? {
            Some(Taken::Run(current)) => in_run(&current),
            Some(Taken::Pull(pull)) => self.handed(&pull).map_or(Is::Missing, Is::HandedOver),
            Some(Taken::Claimed(owner)) => claimed(&owner),
            None => self.untaken(item, &pulls, last)?,
        })
    }

    /// Says how an issue stands that nobody works on.
    fn untaken(&mut self, item: &Item, pulls: &[Arc<Item>], last: Option<&Current>) -> Result<Is, Error> {
        let number = item.id;
        // A pull request whose reviewer wants changes does not keep its issue from being taken.
        let is_about = |item: &&Arc<Item>| item.pull.as_ref().is_some_and(|pull| pull.issue == Some(number));
        if let Some(handed) = pulls.iter().find(is_about).and_then(|pull| self.handed(pull)) {
            return Ok(Is::HandedOver(handed));
        }
        Ok(match readiness(&*self.tracker(), number)? {
            Readiness::Missing => Is::Missing,
            Readiness::Closed => self.closed(item)?,
            Readiness::NotARequirement => Is::NotARequirement,
            Readiness::NotApproved => self.reverted(item)?.unwrap_or(Is::NotApproved),
            Readiness::Met => Is::Met,
            Readiness::Blocked { on } => Is::Blocked { on: self.blockers(&on)? },
            Readiness::Cycle { path } => Is::Cycle { path },
            Readiness::Ready => match (self.left_over(number)?, last.filter(|last| last.run.aborted)) {
                (Some(Leftover { run, branch, left: Some(_), done, planned, .. }), _) => {
                    let at =
                        self.select(Some(&run))?.map_or(item.updated_at, |current| current.run.updated_at);
                    Is::Stopped { run, at, branch: Some(branch), done, planned, resumes: true }
                }
                (_, Some(last)) => self.stopped(&last.run),
                (_, None) => self.free(number)?,
            },
        })
    }

    fn blockers(&mut self, on: &[ItemId]) -> Result<Vec<Blocker>, Error> {
        let mut blockers = Vec::with_capacity(on.len());
        for issue in on {
            let title = self.tracker().item(*issue)?.map(|item| item.title.clone());
            blockers.push(Blocker { issue: *issue, title });
        }
        Ok(blockers)
    }

    /// Says how an issue stands that can be taken.
    fn free(&mut self, number: ItemId) -> Result<Is, Error> {
        let after = self.free_before(number)?;
        let todos = self.todos(number)?.into_iter();
        let todos: Vec<Todo> = todos.map(|(issue, question)| Todo { issue, question }).collect();
        Ok(if todos.is_empty() { Is::Ready { after } } else { Is::PutOff { todos, after } })
    }

    fn free_before(&mut self, number: ItemId) -> Result<Vec<ItemId>, Error> {
        let queue = self.queue()?;
        let free = queue.iter().filter(|queued| queued.is_free()).map(|queued| queued.candidate.item.id);
        Ok(free.take_while(|free| *free != number).collect())
    }

    /// Says what a run has left that was stopped. Without work to keep it has made no branch.
    fn stopped(&self, run: &Run) -> Is {
        let name = run.branches.branch.as_str();
        let location = git::locate(self.place.origin().unwrap_or(&self.place.root));
        let is_there =
            |location| refs::one(&location, &format!("refs/heads/{name}")).is_ok_and(|tip| tip.is_some());
        let branch = location.is_some_and(is_there).then(|| name.to_owned());
        let run_id = run.id.to_string();
        Is::Stopped { run: run_id, at: run.updated_at, branch, done: 0, planned: 0, resumes: false }
    }

    /// Says that an issue's work was taken back after its merge, if nothing was done for it since.
    fn reverted(&mut self, item: &Item) -> Result<Option<Is>, Error> {
        let account = self.account(item.id)?;
        let Some(last) = account.stints.last().filter(|stint| stint.is_undone) else { return Ok(None) };
        let marker = format!("undone:{}", last.run);
        let said = item.comments.iter().rev().find(|comment| comment.marker.as_ref() == Some(&marker));
        let at = said.map_or(item.updated_at, |comment| comment.at);
        Ok(Some(Is::Reverted { run: last.run.clone(), at }))
    }

    /// Says how a closed issue was done: what was merged is told by the comment that warp left then.
    fn closed(&mut self, item: &Item) -> Result<Is, Error> {
        let merged = item.comments.iter().rev().find_map(|comment| Some((comment.at, merge(comment)?)));
        let Some((at, (run, merged))) = merged else {
            return Ok(Is::Closed { at: item.updated_at, because: item.closed_because.clone() });
        };
        let commits = self.commits_of(item.id, &merged)?;
        Ok(Is::Done { at, run, merged, commits })
    }

    /// Names the commits of an issue, whatever runs made them.
    fn commits_of(&mut self, issue: ItemId, merged: &str) -> Result<Vec<String>, Error> {
        let ranges = self.account(issue)?.ranges();
        let root = self.place.origin().unwrap_or(&self.place.root);
        let mut commits = Vec::new();
        if let Some(origin) = git::locate(root) {
            // A commit may be gone from the repository; its name is still told.
            let named = ranges.iter().map(|(base, tip)| commits_between(&origin, base, tip, MOST_COMMITS));
            commits.extend(named.filter_map(Result::ok).flatten().take(MOST_COMMITS));
        }
        if commits.is_empty() {
            commits = Git::new(root).commits_about(merged, issue.as_str(), MOST_COMMITS).unwrap_or_default();
        }
        Ok(commits)
    }

    fn handed(&self, item: &Item) -> Option<Handed> {
        let pull = item.pull.as_ref()?;
        Some(Handed {
            pull: item.id,
            about: pull.issue,
            branch: pull.branch.clone(),
            target: pull.target.clone(),
            review: pull.review,
            is_open: item.is_open(),
            conflicts: if item.is_open() { self.conflicts_of(pull) } else { Vec::new() },
            is_update_wanted: is_update_wanted(item),
            merged: pull.merged.clone(),
            is_refused: item.comments.iter().any(|comment| {
                comment.marker.as_deref().is_some_and(|marker| marker.starts_with(REFUSED_PUSH))
            }),
        })
    }

    /// Names the files that a pull request and its target have changed in the same lines. What cannot be looked at is said
    /// by whoever merges it.
    fn conflicts_of(&self, pull: &Pull) -> Vec<String> {
        let Some(origin) = git::locate(self.place.origin().unwrap_or(&self.place.root)) else {
            return Vec::new();
        };
        let tip = |name: &str| refs::one(&origin, &format!("refs/heads/{name}")).ok().flatten();
        let Some((target, branch)) = tip(&pull.target).zip(tip(&pull.branch)) else { return Vec::new() };
        conflicts(&origin, &target, &branch).unwrap_or_default()
    }
}

/// Reads which run was merged as which commit off the comment that says so.
fn merge(comment: &Comment) -> Option<(String, String)> {
    let (run, commit) = comment.marker.as_deref()?.strip_prefix("merged:")?.split_once(':')?;
    Some((run.to_owned(), commit.to_owned()))
}

/// Says how far an open run is, and who carries it on.
fn in_run(current: &Current) -> Is {
    let (workflow, run) = (&current.workflow, &current.run);
    let by = Worked {
        run: run.id.to_string(),
        phase: run.phase.clone(),
        chunk: run.chunk.index,
        chunks: run.chunk.acs.len(),
        pid: run.owner.pid,
        is_live: machine::is_live(&run.owner),
        root: run.root.clone(),
        is_driven: run.owns_workspace,
        cleans_up: workflow.phase(&run.phase).is_some_and(|phase| phase.job == Some(Job::CleanUp)),
    };
    match (view::asked(workflow, run), &run.standing) {
        (Some(decision), _) => match view::exceeded(workflow, run) {
            budgets if budgets.is_empty() => Is::Parked { by, decision },
            budgets => Is::OverBudget { by, budgets, decision },
        },
        (None, Standing::Stopped) => Is::Halted(by),
        (None, Standing::Suspended { wait }) => Is::Waiting { by, wait: wait.clone() },
        (None, _) if !run.owns_workspace => Is::InCheckout(by),
        (None, _) if by.is_live => Is::Working(by),
        (None, _) => Is::Interrupted(by),
    }
}

fn claimed(owner: &Owner) -> Is {
    Is::Claimed { pid: owner.pid, directory: machine::directory(owner.pid) }
}
