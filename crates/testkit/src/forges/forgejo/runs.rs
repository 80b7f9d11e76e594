//! Actions: a run has a status and no conclusion; the log of a job is plain text.

use serde_json::{Value, json};

use super::{Call, shapes};
use crate::forges::{
    http::{Answer, Reply},
    traps::Trap,
    world::{
        Kind, Role, World,
        checks::{Job, Outcome, Run, State},
    },
};

/// The first Forgejo that can repeat a run.
const RERUN: u8 = 17;

impl Call<'_> {
    pub(super) fn actions(&mut self, method: &str, repo: usize, rest: &[&str]) -> Reply {
        match (method, rest) {
            ("GET", ["runs"]) => {
                let query = |name| self.request.query(name);
                let is_wanted = |run: &&Run| {
                    query("head_sha").is_none_or(|sha| run.sha == sha)
                        && query("event").is_none_or(|event| run.event == event)
                        && query("run_number").is_none_or(|number| number.parse() == Ok(run.number))
                        && query("status").is_none_or(|status| word(run.state()) == status)
                };
                let all: Vec<u64> =
                    self.repository(repo).runs.iter().rev().filter(is_wanted).map(|run| run.id).collect();
                self.counted("workflow_runs", all, |id| run(self.world, repo, id))
            }
            ("GET", ["tasks"]) => {
                let runs = self.repository(repo).runs.iter().rev();
                let all: Vec<(&Run, &Job)> =
                    runs.flat_map(|run| run.jobs.iter().map(move |job| (run, job))).collect();
                self.counted("workflow_runs", all, |(run, job)| task(self.world, repo, run, job))
            }
            (method, ["runs", id, rest @ ..]) => {
                let id: u64 = id.parse().map_err(|_| self.not_found())?;
                self.repository(repo).run_of(id).ok_or_else(|| self.not_found())?;
                self.one_run(method, repo, id, rest)
            }
            (method, ["jobs", id, rest @ ..]) => {
                let id: u64 = id.parse().map_err(|_| self.not_found())?;
                self.one_job(method, repo, id, rest)
            }
            _ => Err(self.not_found()),
        }
    }

    fn can_rerun(&self) -> bool {
        match self.world.kind {
            Kind::Forgejo(major) => major >= RERUN || !self.world.has(Trap::NoRerun),
            Kind::Gitea | Kind::GitHub => true,
        }
    }

    fn one_run(&mut self, method: &str, repo: usize, id: u64, rest: &[&str]) -> Reply {
        match (method, rest) {
            ("GET", []) => Ok(Answer::json(200, &run(self.world, repo, id))),
            ("GET", ["jobs"]) => {
                let found = self.repository(repo).run_of(id).ok_or_else(|| self.not_found())?;
                let shown: Vec<Value> =
                    found.jobs.iter().map(|one| job(self.world, repo, found, one)).collect();
                if self.world.kind == Kind::Gitea {
                    return Ok(Answer::json(200, &json!({ "total_count": shown.len(), "jobs": shown })));
                }
                Ok(Answer::json(200, &Value::Array(shown)))
            }
            ("POST", ["rerun"]) if self.can_rerun() => {
                self.need(repo, Role::Write)?;
                let found = self.repository(repo).run_of(id).ok_or_else(|| self.not_found())?;
                if !found.state().is_over() {
                    return Err(self.refuse(400, "the run has not ended"));
                }
                self.world.rerun(repo, id, false).ok_or_else(|| self.not_found())?;
                Ok(if self.world.kind == Kind::Gitea {
                    Answer::json(201, &run(self.world, repo, id))
                } else {
                    Answer::empty(204)
                })
            }
            ("POST", ["cancel"]) => {
                self.need(repo, Role::Write)?;
                let found = self.repository(repo).run_of(id).ok_or_else(|| self.not_found())?;
                let left = found.jobs.iter().filter(|job| !job.state.is_over());
                let left: Vec<String> = left.map(|job| job.name.clone()).collect();
                for name in left {
                    self.world.set_job(repo, id, &name, State::Ended(Outcome::Cancelled), None);
                }
                Ok(Answer::empty(204))
            }
            _ => Err(self.not_found()),
        }
    }

    fn one_job(&mut self, method: &str, repo: usize, id: u64, rest: &[&str]) -> Reply {
        let runs = self.repository(repo).runs.iter();
        let mut jobs = runs.flat_map(|run| run.jobs.iter().map(move |job| (run, job)));
        let (found, one) = jobs.find(|(_, job)| job.id == id).ok_or_else(|| self.not_found())?;
        let run_id = found.id;
        match (method, rest) {
            ("GET", []) => Ok(Answer::json(200, &job(self.world, repo, found, one))),
            ("GET", ["logs"]) if one.state == State::Queued => Err(self.not_found()),
            ("GET", ["logs"]) => Ok(Answer::text(200, &one.log)),
            ("POST", ["rerun"]) if self.can_rerun() => {
                self.need(repo, Role::Write)?;
                self.world.rerun(repo, run_id, true).ok_or_else(|| self.not_found())?;
                Ok(Answer::empty(204))
            }
            _ => Err(self.not_found()),
        }
    }
}

/// Returns Forgejo's one word for how far something has come.
fn word(state: State) -> &'static str {
    match state {
        State::Queued => "waiting",
        State::Running => "running",
        State::Ended(Outcome::Success | Outcome::Neutral) => "success",
        State::Ended(Outcome::Cancelled) => "cancelled",
        State::Ended(Outcome::Skipped) => "skipped",
        State::Ended(Outcome::ActionRequired) => "blocked",
        State::Ended(Outcome::Failure | Outcome::TimedOut) => "failure",
    }
}

pub(crate) fn run(world: &World, repo: usize, id: u64) -> Value {
    let repository = &world.repos[repo];
    let Some(run) = repository.run_of(id) else { return Value::Null };
    let web = shapes::web(world, repository);
    let (began, ended) = (shapes::time(run.created), shapes::time(run.updated));
    let never = "1970-01-01T00:00:00Z".to_owned();
    let state = run.state();
    if world.kind == Kind::Gitea {
        return gitea_run(world, repo, run);
    }
    let title = repository.bare.history(&run.sha, 1).pop();
    let title = title.map(|commit| commit.message.lines().next().unwrap_or_default().to_owned());
    json!({
        "id": id, "title": title.unwrap_or_default(), "repository": shapes::repo(world, repo, None),
        "workflow_id": run.workflow.file, "index_in_repo": run.number,
        "trigger_user": shapes::user(world, &run.actor), "ScheduleID": 0, "prettyref": run.branch,
        "is_ref_deleted": false, "commit_sha": run.sha, "is_fork_pull_request": false, "need_approval": false,
        "approved_by": 0, "event": run.event, "event_payload": "", "trigger_event": run.event, "status": word(state),
        "started": if state == State::Queued { &never } else { &began },
        "stopped": if state.is_over() { &ended } else { &never }, "created": began, "updated": ended, "duration": 0,
        "html_url": format!("{web}/actions/runs/{}", run.number),
    })
}

/// Shows a run as Gitea does, which follows GitHub here.
fn gitea_run(world: &World, repo: usize, run: &Run) -> Value {
    let repository = &world.repos[repo];
    let (status, conclusion) = run.state().words();
    let at = shapes::time(run.created);
    json!({
        "id": run.id, "url": format!("{}/actions/runs/{}", shapes::api(world, repository), run.id),
        "html_url": format!("{}/actions/runs/{}", shapes::web(world, repository), run.number),
        "display_title": run.workflow.name, "path": format!("{}@refs/heads/{}", run.workflow.file, run.branch),
        "event": run.event, "run_attempt": run.attempt, "run_number": run.number, "head_sha": run.sha,
        "head_branch": run.branch, "status": status, "conclusion": conclusion.unwrap_or_default(),
        "started_at": at, "completed_at": shapes::time(run.updated), "repository_id": repository.id,
        "actor": shapes::user(world, &run.actor), "trigger_actor": shapes::user(world, &run.actor),
    })
}

fn task(world: &World, repo: usize, run: &Run, job: &Job) -> Value {
    let web = shapes::web(world, &world.repos[repo]);
    json!({
        "id": job.id, "name": job.name, "head_branch": run.branch, "head_sha": run.sha, "run_number": run.number,
        "event": run.event, "display_title": run.workflow.name, "status": word(job.state),
        "workflow_id": run.workflow.file, "url": format!("{web}/actions/runs/{}", run.number),
        "created_at": shapes::time(run.created), "updated_at": shapes::time(run.updated),
        "run_started_at": shapes::time(run.created),
    })
}

fn job(world: &World, repo: usize, run: &Run, job: &Job) -> Value {
    let repository = &world.repos[repo];
    let index = run.jobs.iter().position(|other| other.id == job.id).unwrap_or_default();
    let html = format!("{}/actions/runs/{}/jobs/{index}", shapes::web(world, repository), run.number);
    if world.kind == Kind::Gitea {
        let (status, conclusion) = job.state.words();
        return json!({
            "id": job.id, "run_id": run.id, "name": job.name, "head_sha": run.sha, "head_branch": run.branch,
            "status": status, "conclusion": conclusion.unwrap_or_default(), "html_url": html, "labels": ["docker"],
            "run_attempt": run.attempt, "created_at": shapes::time(run.created),
        });
    }
    json!({
        "id": job.id, "repo_id": repository.id, "owner_id": 0, "name": job.name, "needs": null, "runs_on": ["docker"],
        "task_id": if job.state == State::Queued { 0 } else { job.id }, "status": word(job.state),
        "attempt": run.attempt, "run_id": run.id, "html_url": html, "handle": "",
        "steps": job.steps.iter().enumerate().map(|(index, (name, state))| {
            json!({ "id": index + 1, "index": index, "name": name, "status": word(*state) })
        }).collect::<Vec<_>>(),
    })
}
