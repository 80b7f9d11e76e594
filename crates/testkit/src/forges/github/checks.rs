//! Commit statuses and check runs.

use serde_json::{Value, json};

use super::{Call, error, invalid, not_found, shapes};
use crate::forges::{
    http::{Answer, Reply},
    world::{
        Role, World,
        checks::{CheckRun, State, Status},
    },
};

/// The most statuses that a commit may have for one context.
const MOST: usize = 1000;

impl Call<'_> {
    /// Returns the commit that a path names by digest or by branch.
    pub(super) fn commit_named(&self, repo: usize, name: &str) -> Result<String, Answer> {
        let repository = self.repository(repo);
        let known = repository.branch(name).map(str::to_owned);
        let found = known.or_else(|| repository.bare.resolve(name));
        found.ok_or_else(|| error(422, &format!("No commit found for SHA: {name}")))
    }

    pub(super) fn set_status(&mut self, repo: usize, sha: &str) -> Reply {
        let creator = self.need(repo, Role::Write)?;
        let sha = self.commit_named(repo, sha)?;
        let state = self.text("state").unwrap_or_default();
        if !["error", "failure", "pending", "success"].contains(&state.as_str()) {
            return Err(invalid("Status", "state", "inclusion", None));
        }
        let description = self.text("description").unwrap_or_default();
        if description.chars().count() > 140 {
            let words = "description is too long (maximum is 140 characters)";
            return Err(invalid("Status", "description", "custom", Some(words)));
        }
        let context = self.text("context").unwrap_or_else(|| "default".to_owned());
        let same = self
            .repository(repo)
            .statuses
            .iter()
            .filter(|status| status.sha == sha && status.context == context);
        if same.count() >= MOST {
            return Err(invalid(
                "Status",
                "context",
                "custom",
                Some("This SHA and context has reached the maximum number of statuses."),
            ));
        }
        let status = Status {
            id: 0,
            sha,
            context,
            state,
            description,
            target: self.text("target_url").unwrap_or_default(),
            creator,
            at: self.world.now,
        };
        let status = self.world.add_status(repo, &status);
        Ok(Answer::json(201, &self.shown_status(repo, &status, true)))
    }

    fn shown_status(&self, repo: usize, status: &Status, with_creator: bool) -> Value {
        let api = shapes::repo_url(self.world, self.repository(repo));
        let at = shapes::time(status.at);
        let or_null = |text: &str| if text.is_empty() { Value::Null } else { json!(text) };
        let mut shown = json!({
            "id": status.id, "node_id": format!("SC_{}", status.id), "state": status.state,
            "url": format!("{api}/statuses/{}", status.sha), "context": status.context,
            "avatar_url": format!("{}/avatars/1", self.world.origin), "target_url": or_null(&status.target),
            "description": or_null(&status.description), "created_at": at, "updated_at": at,
        });
        if with_creator {
            shown["creator"] = shapes::user(self.world, &status.creator);
        }
        shown
    }

    pub(super) fn checks(&self, repo: usize, sha: &str, kind: &str) -> Reply {
        let sha = self.commit_named(repo, sha)?;
        let repository = self.repository(repo);
        match kind {
            "statuses" => {
                let all: Vec<&Status> =
                    repository.statuses.iter().rev().filter(|status| status.sha == sha).collect();
                self.list(all, |status| self.shown_status(repo, status, true))
            }
            "status" => {
                let all = repository.newest_statuses(&sha);
                let has = |state: &str| all.iter().any(|status| status.state == state);
                let state = match () {
                    () if has("failure") || has("error") => "failure",
                    () if all.is_empty() || has("pending") => "pending",
                    () => "success",
                };
                let api = shapes::repo_url(self.world, repository);
                let total = all.len();
                let shown: Vec<Value> = self
                    .page()
                    .cut(all)
                    .into_iter()
                    .map(|status| self.shown_status(repo, status, false))
                    .collect();
                let body = json!({
                    "state": state, "statuses": shown, "sha": sha, "total_count": total,
                    "repository": shapes::repo(self.world, repo), "commit_url": format!("{api}/commits/{sha}"),
                    "url": format!("{api}/commits/{sha}/status"),
                });
                Ok(Answer::json(200, &body))
            }
            "check-runs" => {
                let mut all: Vec<&CheckRun> = newest_checks(self.world, repo, &sha);
                if self.request.query("filter") == Some("all") {
                    all = repository.check_runs.iter().filter(|check| check.sha == sha).collect();
                }
                if let Some(name) = self.request.query("check_name") {
                    all.retain(|check| check.name == name);
                }
                if let Some(status) = self.request.query("status") {
                    all.retain(|check| check.state.words().0 == status);
                }
                self.counted("check_runs", all, |check| check_run(self.world, repo, check))
            }
            _ => {
                let mut suites: Vec<u64> = repository
                    .check_runs
                    .iter()
                    .filter(|check| check.sha == sha)
                    .map(|check| check.suite)
                    .collect();
                suites.sort_unstable();
                suites.dedup();
                self.counted("check_suites", suites, |suite| self.suite(repo, &sha, suite))
            }
        }
    }

    pub(super) fn check_run(&self, repo: usize, id: &str) -> Reply {
        let id: u64 = id.parse().map_err(|_| not_found())?;
        let checks = self.repository(repo).check_runs.iter();
        let check = checks.clone().find(|check| check.id == id).ok_or_else(not_found)?;
        Ok(Answer::json(200, &check_run(self.world, repo, check)))
    }

    fn suite(&self, repo: usize, sha: &str, suite: u64) -> Value {
        let repository = self.repository(repo);
        let api = shapes::repo_url(self.world, repository);
        let checks: Vec<&CheckRun> =
            repository.check_runs.iter().filter(|check| check.suite == suite).collect();
        let branch = checks.first().map(|check| check.branch.clone());
        let at = checks.first().map_or(repository.created, |check| check.at);
        let run = repository.runs.iter().find(|run| run.suite == suite);
        let state = run
            .map(super::super::world::checks::Run::state)
            .or_else(|| checks.last().map(|check| check.state));
        let (status, conclusion) = state.unwrap_or(State::Queued).words();
        let commit = repository.bare.history(sha, 1).pop();
        let head = commit.map_or(Value::Null, |commit| simple_commit(&commit));
        json!({
            "id": suite, "node_id": format!("CS_{suite}"), "head_branch": branch, "head_sha": sha, "status": status,
            "conclusion": conclusion, "url": format!("{api}/check-suites/{suite}"), "before": sha, "after": sha,
            "pull_requests": [], "app": app(self.world, run.is_some()), "created_at": shapes::time(at),
            "updated_at": shapes::time(at), "head_commit": head, "latest_check_runs_count": checks.len(),
            "check_runs_url": format!("{api}/check-suites/{suite}/check-runs"),
            "repository": shapes::repo(self.world, repo), "rerequestable": true, "runs_rerequestable": false,
        })
    }
}

/// Returns each name's newest check run of a commit.
pub(super) fn newest_checks<'a>(world: &'a World, repo: usize, sha: &str) -> Vec<&'a CheckRun> {
    let mut found: Vec<&CheckRun> = Vec::new();
    for check in world.repos[repo].check_runs.iter().rev().filter(|check| check.sha == sha) {
        // Two workflows may have jobs of one name; the newer run of one job hides the older.
        let same_run = |other: &&CheckRun| other.name == check.name && other.suite == check.suite;
        if !found.iter().any(same_run) {
            found.push(check);
        }
    }
    found
}

pub(super) fn simple_commit(commit: &crate::forges::git::Commit) -> Value {
    let person = json!({ "name": commit.name, "email": commit.email });
    json!({ "id": commit.sha, "tree_id": commit.tree, "message": commit.message,
        "timestamp": shapes::utc(&commit.date), "author": person, "committer": person })
}

fn app(world: &World, is_actions: bool) -> Value {
    let (id, slug, name) =
        if is_actions { (15368, "github-actions", "GitHub Actions") } else { (29110, "checker", "Checker") };
    json!({
        "id": id, "slug": slug, "node_id": format!("A_{id}"), "name": name, "description": "",
        "client_id": format!("Iv1.{id}"),
        "owner": shapes::user(world, "github"), "external_url": format!("{}/apps/{slug}", world.origin),
        "html_url": format!("{}/apps/{slug}", world.origin), "created_at": "2020-01-01T00:00:00Z",
        "updated_at": "2020-01-01T00:00:00Z", "permissions": { "checks": "write" }, "events": ["push"],
    })
}

pub(super) fn check_run(world: &World, repo: usize, check: &CheckRun) -> Value {
    let repository = &world.repos[repo];
    let (api, web) = (shapes::repo_url(world, repository), shapes::html_url(world, repository));
    let (status, conclusion) = check.state.words();
    let at = shapes::time(check.at);
    let html = match check.job {
        Some((run, job)) => format!("{web}/actions/runs/{run}/job/{job}"),
        None => format!("{web}/runs/{}", check.id),
    };
    let pulls = repository.issues.iter().filter(|issue| issue.is_open);
    let pulls = pulls.filter_map(|issue| Some((issue, issue.pull.as_ref()?)));
    let pulls: Vec<Value> = pulls
        .filter(|(_, pull)| pull.head_sha == check.sha)
        .map(|(issue, pull)| shapes::minimal_pull(world, repo, issue, pull))
        .collect();
    json!({
        "id": check.id, "node_id": format!("CR_{}", check.id), "name": check.name, "head_sha": check.sha,
        "external_id": "", "url": format!("{api}/check-runs/{}", check.id), "html_url": html,
        "details_url": html, "status": status, "conclusion": conclusion, "started_at": at,
        "completed_at": check.state.is_over().then_some(&at), "check_suite": { "id": check.suite },
        "app": app(world, check.job.is_some()), "pull_requests": pulls,
        "output": { "title": null, "summary": null, "text": null, "annotations_count": 0,
            "annotations_url": format!("{api}/check-runs/{}/annotations", check.id) },
    })
}
