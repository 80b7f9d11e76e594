//! Actions: runs, jobs and logs.

use serde_json::{Value, json};

use super::{Call, checks::simple_commit, error, not_found, shapes};
use crate::forges::{
    http::{Answer, Reply},
    world::{
        Role, World,
        checks::{Job, Outcome, Run, State},
    },
};

impl Call<'_> {
    pub(super) fn actions(&mut self, method: &str, repo: usize, rest: &[&str]) -> Reply {
        match (method, rest) {
            ("GET", ["workflows"]) => {
                let all = self.repository(repo).workflows.clone();
                self.counted("workflows", all, |workflow| {
                    workflow_of(self.world, repo, &workflow.file, &workflow.name)
                })
            }
            ("GET", ["runs"]) => {
                let query = |name| self.request.query(name);
                let is_wanted = |run: &&Run| {
                    let (status, conclusion) = run.state().words();
                    query("head_sha").is_none_or(|sha| run.sha == sha)
                        && query("branch").is_none_or(|branch| run.branch == branch)
                        && query("event").is_none_or(|event| run.event == event)
                        && query("actor").is_none_or(|actor| run.actor == actor)
                        && query("status").is_none_or(|word| word == status || Some(word) == conclusion)
                };
                let all: Vec<u64> =
                    self.repository(repo).runs.iter().rev().filter(is_wanted).map(|run| run.id).collect();
                self.counted("workflow_runs", all, |id| run(self.world, repo, id))
            }
            (method, ["runs", id, rest @ ..]) => {
                let id: u64 = id.parse().map_err(|_| not_found())?;
                self.repository(repo).run_of(id).ok_or_else(not_found)?;
                self.one_run(method, repo, id, rest)
            }
            (method, ["jobs", id, rest @ ..]) => {
                let id: u64 = id.parse().map_err(|_| not_found())?;
                self.one_job(method, repo, id, rest)
            }
            _ => Err(not_found()),
        }
    }

    fn one_run(&mut self, method: &str, repo: usize, id: u64, rest: &[&str]) -> Reply {
        match (method, rest) {
            ("GET", []) => Ok(Answer::json(200, &run(self.world, repo, id))),
            ("GET", ["jobs"]) => {
                let found = self.repository(repo).run_of(id).ok_or_else(not_found)?;
                let all: Vec<&Job> = found.jobs.iter().collect();
                self.counted("jobs", all, |one| job(self.world, repo, found, one))
            }
            ("POST", [kind @ ("rerun" | "rerun-failed-jobs")]) => {
                self.need(repo, Role::Write)?;
                let found = self.repository(repo).run_of(id).ok_or_else(not_found)?;
                if !found.state().is_over() {
                    return Err(error(403, "This workflow is already running"));
                }
                self.world.rerun(repo, id, *kind == "rerun-failed-jobs").ok_or_else(not_found)?;
                Ok(Answer::json(201, &json!({})))
            }
            ("POST", ["cancel"]) => {
                self.need(repo, Role::Write)?;
                let found = self.repository(repo).run_of(id).ok_or_else(not_found)?;
                if found.state().is_over() {
                    return Err(error(409, "Cannot cancel a workflow run that is completed."));
                }
                let left = found.jobs.iter().filter(|job| !job.state.is_over());
                let left: Vec<String> = left.map(|job| job.name.clone()).collect();
                for name in left {
                    self.world.set_job(repo, id, &name, State::Ended(Outcome::Cancelled), None);
                }
                Ok(Answer::json(202, &json!({})))
            }
            _ => Err(not_found()),
        }
    }

    fn one_job(&mut self, method: &str, repo: usize, id: u64, rest: &[&str]) -> Reply {
        let repository = self.repository(repo);
        // A log is reached by way of a second address, as a browser would be.
        let runs = repository.runs.iter();
        let mut jobs = runs.flat_map(|run| run.jobs.iter().map(move |job| (run, job)));
        let (found, one) = jobs.find(|(_, job)| job.id == id).ok_or_else(not_found)?;
        let run_id = found.id;
        match (method, rest) {
            ("GET", []) => Ok(Answer::json(200, &job(self.world, repo, found, one))),
            ("GET", ["logs"]) => {
                self.login()?;
                if !one.state.is_over() {
                    return Err(not_found());
                }
                let api = shapes::repo_url(self.world, repository);
                Ok(Answer::empty(302).with("location", format!("{api}/actions/jobs/{id}/logs/text")))
            }
            ("GET", ["logs", "text"]) => Ok(Answer::text(200, &one.log)),
            ("POST", ["rerun"]) => {
                self.need(repo, Role::Write)?;
                self.world.rerun(repo, run_id, true).ok_or_else(not_found)?;
                Ok(Answer::json(201, &json!({})))
            }
            _ => Err(not_found()),
        }
    }
}

fn workflow_id(world: &World, repo: usize, file: &str) -> usize {
    world.repos[repo].workflows.iter().position(|workflow| workflow.file == file).unwrap_or_default() + 1
}

fn workflow_of(world: &World, repo: usize, file: &str, name: &str) -> Value {
    let repository = &world.repos[repo];
    let (api, web) = (shapes::repo_url(world, repository), shapes::html_url(world, repository));
    let (id, path) = (workflow_id(world, repo, file), format!(".github/workflows/{file}"));
    let at = shapes::time(repository.created);
    json!({
        "id": id, "node_id": format!("W_{id}"), "name": if name.is_empty() { &path } else { name }, "path": path,
        "state": "active", "created_at": at, "updated_at": at, "url": format!("{api}/actions/workflows/{id}"),
        "html_url": format!("{web}/blob/main/{path}"), "badge_url": format!("{web}/workflows/{id}/badge.svg"),
    })
}

pub(crate) fn run(world: &World, repo: usize, id: u64) -> Value {
    let repository = &world.repos[repo];
    let Some(run) = repository.run_of(id) else { return Value::Null };
    let (api, web) = (shapes::repo_url(world, repository), shapes::html_url(world, repository));
    let (status, conclusion) = run.state().words();
    let url = format!("{api}/actions/runs/{id}");
    let workflow = workflow_id(world, repo, &run.workflow.file);
    let commit = repository.bare.history(&run.sha, 1).pop();
    let title = commit.as_ref().map(|commit| commit.message.lines().next().unwrap_or_default().to_owned());
    let head = commit.map_or(Value::Null, |commit| simple_commit(&commit));
    let pulls = repository.issues.iter().filter(|issue| issue.is_open);
    let pulls = pulls.filter_map(|issue| Some((issue, issue.pull.as_ref()?)));
    let pulls: Vec<Value> = pulls
        .filter(|(_, pull)| pull.head_sha == run.sha)
        .map(|(issue, pull)| shapes::minimal_pull(world, repo, issue, pull))
        .collect();
    json!({
        "id": id, "node_id": format!("WFR_{id}"), "name": run.workflow.name, "head_branch": run.branch,
        "head_sha": run.sha, "path": format!(".github/workflows/{}", run.workflow.file), "run_number": run.number,
        "run_attempt": run.attempt, "event": run.event, "display_title": title.unwrap_or_default(),
        "status": status, "conclusion": conclusion, "workflow_id": workflow, "check_suite_id": run.suite,
        "check_suite_node_id": format!("CS_{}", run.suite), "url": url,
        "html_url": format!("{web}/actions/runs/{id}"), "pull_requests": pulls,
        "created_at": shapes::time(run.created), "updated_at": shapes::time(run.updated),
        "run_started_at": shapes::time(run.created), "actor": shapes::user(world, &run.actor),
        "triggering_actor": shapes::user(world, &run.actor), "jobs_url": format!("{url}/jobs"),
        "logs_url": format!("{url}/logs"), "check_suite_url": format!("{api}/check-suites/{}", run.suite),
        "artifacts_url": format!("{url}/artifacts"), "cancel_url": format!("{url}/cancel"),
        "rerun_url": format!("{url}/rerun"), "workflow_url": format!("{api}/actions/workflows/{workflow}"),
        "head_commit": head, "repository": shapes::repo(world, repo), "head_repository": shapes::repo(world, repo),
    })
}

fn job(world: &World, repo: usize, run: &Run, job: &Job) -> Value {
    let repository = &world.repos[repo];
    let (api, web) = (shapes::repo_url(world, repository), shapes::html_url(world, repository));
    let (status, conclusion) = job.state.words();
    let (began, ended) = (shapes::time(run.created), shapes::time(run.updated));
    let step = |(index, (name, state)): (usize, &(String, State))| {
        let (status, conclusion) = state.words();
        json!({ "name": name, "status": status, "conclusion": conclusion, "number": index + 1, "started_at": began,
            "completed_at": state.is_over().then_some(&ended) })
    };
    json!({
        "id": job.id, "node_id": format!("CR_{}", job.id), "run_id": run.id, "run_attempt": run.attempt,
        "run_url": format!("{api}/actions/runs/{}", run.id), "head_sha": run.sha, "head_branch": run.branch,
        "workflow_name": run.workflow.name, "name": job.name, "url": format!("{api}/actions/jobs/{}", job.id),
        "html_url": format!("{web}/actions/runs/{}/job/{}", run.id, job.id), "status": status,
        "conclusion": conclusion, "created_at": began, "started_at": began,
        "completed_at": job.state.is_over().then_some(&ended),
        "steps": job.steps.iter().enumerate().map(step).collect::<Vec<_>>(),
        "check_run_url": format!("{api}/check-runs/{}", job.id), "labels": ["ubuntu-latest"], "runner_id": null,
        "runner_name": null, "runner_group_id": null, "runner_group_name": null,
    })
}
