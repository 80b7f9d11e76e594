//! Checks: commit statuses, check runs, and the runs of Actions with their jobs and logs.

use jiff::Timestamp;

use super::{Kind, Repo, World};
use crate::forges::hooks::Topic;

/// A commit status.
#[derive(Clone, Debug)]
pub(crate) struct Status {
    pub(crate) id: u64,
    pub(crate) sha: String,
    pub(crate) context: String,
    pub(crate) state: String,
    pub(crate) description: String,
    pub(crate) target: String,
    pub(crate) creator: String,
    pub(crate) at: Timestamp,
}

/// Something that an app has checked.
#[derive(Clone, Debug)]
pub(crate) struct CheckRun {
    pub(crate) id: u64,
    pub(crate) suite: u64,
    pub(crate) sha: String,
    pub(crate) branch: String,
    pub(crate) name: String,
    pub(crate) state: State,
    /// The job that it shows; none if another app made it.
    pub(crate) job: Option<(u64, u64)>,
    pub(crate) at: Timestamp,
}

/// How far a check has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Queued,
    Running,
    Ended(Outcome),
}

/// How a check or a job has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Success,
    Failure,
    Cancelled,
    Skipped,
    Neutral,
    TimedOut,
    ActionRequired,
}

/// What a required check says about a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Absent,
    Waiting,
    Failed,
    Passed,
}

/// What runs at a push or for a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Workflow {
    /// Empty for one without a name.
    pub(crate) name: String,
    /// The file's name below the forge's directory for workflows.
    pub(crate) file: String,
    /// `push` or `pull_request`.
    pub(crate) events: Vec<String>,
    pub(crate) jobs: Vec<String>,
}

/// A workflow that runs or has run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) id: u64,
    pub(crate) number: u64,
    pub(crate) suite: u64,
    pub(crate) workflow: Workflow,
    pub(crate) event: String,
    pub(crate) branch: String,
    pub(crate) sha: String,
    pub(crate) actor: String,
    pub(crate) attempt: u64,
    pub(crate) jobs: Vec<Job>,
    pub(crate) created: Timestamp,
    pub(crate) updated: Timestamp,
}

#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) state: State,
    pub(crate) log: String,
    pub(crate) steps: Vec<(String, State)>,
}

impl State {
    /// Returns the words of GitHub: status and conclusion.
    pub(crate) fn words(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Queued => ("queued", None),
            Self::Running => ("in_progress", None),
            Self::Ended(outcome) => ("completed", Some(outcome.word())),
        }
    }

    pub(crate) fn is_over(self) -> bool {
        matches!(self, Self::Ended(_))
    }

    fn standing(self) -> Standing {
        match self {
            Self::Queued | Self::Running => Standing::Waiting,
            // A skipped check forbids nothing.
            Self::Ended(Outcome::Success | Outcome::Skipped | Outcome::Neutral) => Standing::Passed,
            Self::Ended(
                Outcome::Failure | Outcome::Cancelled | Outcome::TimedOut | Outcome::ActionRequired,
            ) => Standing::Failed,
        }
    }
}

impl Outcome {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
            Self::Neutral => "neutral",
            Self::TimedOut => "timed_out",
            Self::ActionRequired => "action_required",
        }
    }
}

impl Run {
    /// Returns how far it has come, as its jobs say.
    pub(crate) fn state(&self) -> State {
        if self.jobs.iter().all(|job| job.state == State::Queued) {
            return State::Queued;
        }
        if self.jobs.iter().any(|job| !job.state.is_over()) {
            return State::Running;
        }
        let has = |outcome| self.jobs.iter().any(|job| job.state == State::Ended(outcome));
        let worst = [Outcome::Failure, Outcome::TimedOut, Outcome::Cancelled, Outcome::Success];
        State::Ended(worst.into_iter().find(|outcome| has(*outcome)).unwrap_or(Outcome::Skipped))
    }
}

impl Repo {
    /// Returns each context's newest status of a commit, the newest first.
    pub(crate) fn newest_statuses(&self, sha: &str) -> Vec<&Status> {
        let mut found: Vec<&Status> = Vec::new();
        for status in self.statuses.iter().rev().filter(|status| status.sha == sha) {
            if !found.iter().any(|other| other.context == status.context) {
                found.push(status);
            }
        }
        found
    }

    /// Says what a required check says about a commit.
    pub(crate) fn standing(&self, sha: &str, context: &str) -> Standing {
        let check = self.check_runs.iter().rev().find(|check| check.sha == sha && check.name == context);
        let status = self.newest_statuses(sha).into_iter().find(|status| status.context == context);
        let status = status.map(|status| match status.state.as_str() {
            "success" | "warning" | "skipped" => Standing::Passed,
            "pending" => Standing::Waiting,
            _ => Standing::Failed,
        });
        let check = check.map(|check| check.state.standing());
        match (status, check) {
            (Some(Standing::Failed), _) | (_, Some(Standing::Failed)) => Standing::Failed,
            (Some(Standing::Waiting), _) | (_, Some(Standing::Waiting)) => Standing::Waiting,
            (None, None) => Standing::Absent,
            _ => Standing::Passed,
        }
    }

    pub(crate) fn run_of(&self, id: u64) -> Option<&Run> {
        self.runs.iter().find(|run| run.id == id)
    }
}

impl World {
    pub(crate) fn add_status(&mut self, repo: usize, status: &Status) -> Status {
        let status = Status { id: self.id(), at: self.stamp(), ..status.clone() };
        self.repos[repo].statuses.push(status.clone());
        // Forgejo tells nobody of a commit status.
        if self.kind == Kind::GitHub {
            self.announce_status(repo, &status);
        }
        status
    }

    /// Begins the workflows that an event starts.
    pub(crate) fn start_workflows(&mut self, repo: usize, event: &str, branch: &str, sha: &str, actor: &str) {
        let all = self.repos[repo].workflows.clone();
        for workflow in all.into_iter().filter(|workflow| workflow.events.iter().any(|other| other == event))
        {
            self.start_run(repo, &workflow, event, branch, sha, actor);
        }
    }

    pub(crate) fn start_run(
        &mut self,
        repo: usize,
        workflow: &Workflow,
        event: &str,
        branch: &str,
        sha: &str,
        actor: &str,
    ) -> u64 {
        let (id, suite) = (self.id(), self.id());
        let now = self.stamp();
        let jobs: Vec<Job> = workflow
            .jobs
            .iter()
            .map(|name| Job {
                id: self.id(),
                name: name.clone(),
                state: State::Queued,
                log: String::new(),
                steps: Vec::new(),
            })
            .collect();
        let number = self.repos[repo].runs.len() as u64 + 1;
        self.repos[repo].runs.push(Run {
            id,
            number,
            suite,
            workflow: workflow.clone(),
            event: event.to_owned(),
            branch: branch.to_owned(),
            sha: sha.to_owned(),
            actor: actor.to_owned(),
            attempt: 1,
            jobs,
            created: now,
            updated: now,
        });
        self.show_run(repo, id);
        self.announce_run(repo, id, "requested");
        id
    }

    /// Moves a job, and with it what shows it on the commit.
    pub(crate) fn set_job(
        &mut self,
        repo: usize,
        run: u64,
        name: &str,
        state: State,
        log: Option<&str>,
    ) -> Option<()> {
        let now = self.stamp();
        let found = self.repos[repo].runs.iter_mut().find(|other| other.id == run)?;
        found.updated = now;
        let job = found.jobs.iter_mut().find(|job| job.name == name)?;
        job.state = state;
        if let Some(log) = log {
            log.clone_into(&mut job.log);
        }
        job.steps = match state {
            State::Queued => Vec::new(),
            State::Running => vec![("Set up job".to_owned(), State::Running)],
            State::Ended(_) => {
                vec![
                    ("Set up job".to_owned(), State::Ended(Outcome::Success)),
                    (format!("Run {name}"), state),
                ]
            }
        };
        let is_over = found.state().is_over();
        self.show_run(repo, run);
        self.announce_run(repo, run, if is_over { "completed" } else { "in_progress" });
        Some(())
    }

    /// Begins the jobs of a run again: all, or those that did not succeed.
    pub(crate) fn rerun(&mut self, repo: usize, run: u64, failed_only: bool) -> Option<()> {
        let now = self.stamp();
        let mut next_ids = Vec::new();
        let count = self.repos[repo].run_of(run)?.jobs.len();
        next_ids.resize_with(count, || self.id());
        let found = self.repos[repo].runs.iter_mut().find(|other| other.id == run)?;
        (found.attempt, found.updated) = (found.attempt + 1, now);
        for (job, id) in found.jobs.iter_mut().zip(next_ids) {
            job.id = id;
            if !failed_only || job.state != State::Ended(Outcome::Success) {
                (job.state, job.log, job.steps) = (State::Queued, String::new(), Vec::new());
            }
        }
        self.show_run(repo, run);
        self.announce_run(repo, run, "requested");
        Some(())
    }

    /// Shows a run's jobs on its commit: as check runs on GitHub, as statuses elsewhere.
    fn show_run(&mut self, repo: usize, run: u64) {
        let Some(run) = self.repos[repo].run_of(run).cloned() else { return };
        for (index, job) in run.jobs.iter().enumerate() {
            if self.kind == Kind::GitHub {
                self.show_check(repo, &run, job);
            } else {
                self.show_status(repo, &run, index, job);
            }
        }
    }

    fn show_check(&mut self, repo: usize, run: &Run, job: &Job) {
        let now = self.now;
        let checks = &mut self.repos[repo].check_runs;
        let known = checks.iter_mut().find(|check| check.job == Some((run.id, job.id)));
        if let Some(check) = known {
            check.state = job.state;
            return;
        }
        checks.push(CheckRun {
            id: job.id,
            suite: run.suite,
            sha: run.sha.clone(),
            branch: run.branch.clone(),
            name: job.name.clone(),
            state: job.state,
            job: Some((run.id, job.id)),
            at: now,
        });
    }

    fn show_status(&mut self, repo: usize, run: &Run, index: usize, job: &Job) {
        let context = format!("{} / {} ({})", run.workflow.name, job.name, run.event);
        let (state, description) = match job.state {
            State::Queued => ("pending", "Blocked by required conditions"),
            State::Running => ("pending", "Has started running"),
            State::Ended(Outcome::Success | Outcome::Neutral) => ("success", "Successful in 1s"),
            State::Ended(Outcome::Skipped) => ("success", "Has been skipped"),
            State::Ended(Outcome::Cancelled) => ("failure", "Has been cancelled"),
            State::Ended(Outcome::Failure | Outcome::TimedOut | Outcome::ActionRequired) => {
                ("failure", "Failing after 1s")
            }
        };
        let full = self.repos[repo].full_name();
        let status = Status {
            id: 0,
            sha: run.sha.clone(),
            // An unnamed workflow leaves its place empty.
            context: context.trim_start_matches(' ').to_owned(),
            state: state.to_owned(),
            description: description.to_owned(),
            target: format!("/{full}/actions/runs/{}/jobs/{index}", run.number),
            creator: run.actor.clone(),
            at: self.now,
        };
        let shown = self.repos[repo].newest_statuses(&run.sha);
        let is_same = shown.iter().any(|other| {
            other.context == status.context
                && other.state == status.state
                && other.description == status.description
        });
        if !is_same {
            self.add_status(repo, &status);
        }
    }

    fn announce_run(&mut self, repo: usize, run: u64, action: &str) {
        if let Some(actor) = self.repos[repo].run_of(run).map(|run| run.actor.clone()) {
            self.announce(Topic::Run(run), action, repo, None, &actor);
        }
    }
}
