//! Before the work begins: whether everything is there that it needs.

use adapters::git::ListingCache;
use engine::{Seen, keys, workflow::JobOutcome};
use journal::Durable;
use project::counted;

pub(crate) use crate::job::leaves_no_trace as settle;
use crate::{
    Context, JobError,
    job::{Report, Task},
};

/// Everything is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub level: u64,
    pub place: Ground,
    /// The command that runs the project's tests.
    pub tests: String,
    /// How many files of a person's checkout are not committed.
    pub uncommitted: usize,
    /// What was done for the dev environment, a line each.
    pub dev: Vec<String>,
}

/// Where the work is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ground {
    Clone,
    Worktree,
    /// A branch of a person's checkout that is begun for the issue.
    NewBranch,
    /// The branch on which a person's checkout stands.
    Branch(String),
}

impl Outcome {
    pub(crate) fn report(self) -> Report {
        let place = match self.place {
            Ground::Clone => "a clone of its own".to_owned(),
            Ground::Worktree => "a worktree of its own".to_owned(),
            Ground::NewBranch => "a branch for the issue".to_owned(),
            Ground::Branch(branch) => format!("branch {branch}"),
        };
        let uncommitted = (self.uncommitted > 0).then(|| {
            format!(
                "{} not committed; what stays as it was when the run began is left out of its commits",
                counted(self.uncommitted as u64, "file is", "files are")
            )
        });
        Report::new(JobOutcome::PrerequisitesOk)
            .say(format!("level {}, {place}, tests by `{}`", self.level, self.tests))
            .say_all(uncommitted)
            .say_all(self.dev)
    }
}

pub(crate) fn carry_out(cx: &mut Context<'_>, task: Task<'_>, _: &Durable) -> Result<Outcome, JobError> {
    let run = task.run();
    match cx.git().head() {
        Seen::Value(_) => {}
        Seen::Absent(why) | Seen::Failed(why) => {
            return Err(JobError::World(format!("{why}: make a first commit")));
        }
    }
    let tests = suite::command(&cx.place.root, run)?;
    if let Some(why) = suite::cannot_begin(&tests, run).filter(|_| run.settings.get(keys::TEST_BEFORE_COMMIT))
    {
        return Err(JobError::World(why));
    }
    // With an environment of the slot's own that is looked at once it is there.
    if run.settings.get(keys::TEST_BEFORE_COMMIT) && (cx.slot.is_none() || !suite::prepares(run)) {
        suite::refuse_what_leads_back(&cx.shell, &cx.place, &tests)?;
    }
    let mut outcome =
        Outcome { level: run.level, place: Ground::Clone, tests, uncommitted: 0, dev: Vec::new() };
    if cx.slot.is_none() {
        let branch = cx.git().branch();
        if branch.is_empty() {
            return Err(JobError::World(
                "HEAD is on no branch: `git switch -c feature/NAME` makes one".to_owned(),
            ));
        }
        let is_shared = branch == run.branches.main_branch;
        if is_shared && run.level < 3 {
            return Err(JobError::World(format!(
                "Must not be on main/master: `/start-work` or `git switch -c feature/NAME` leaves `{branch}`"
            )));
        }
        outcome.place = if is_shared { Ground::NewBranch } else { Ground::Branch(branch) };
        if let Seen::Value(diff) = cx.git().diff(None, &[], &mut ListingCache::default()) {
            outcome.uncommitted = diff.count;
        }
    } else if run.settings.get(keys::WORKSPACE) == "worktree" {
        outcome.place = Ground::Worktree;
    }
    outcome.dev = cx.prepare_dev(run)?;
    Ok(outcome)
}
