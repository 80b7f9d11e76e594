//! Commit statuses: `status` in each, `state` on top of all.

use serde_json::{Value, json};

use super::{Call, shapes};
use crate::forges::{
    http::{Answer, Reply},
    world::{Role, checks::Status},
};

impl Call<'_> {
    /// Returns the commit that a path names by digest or by branch.
    pub(super) fn commit_named(&self, repo: usize, name: &str) -> Result<String, Answer> {
        let repository = self.repository(repo);
        let known = repository.branch(name).map(str::to_owned);
        known.or_else(|| repository.bare.resolve(name)).ok_or_else(|| self.not_found())
    }

    pub(super) fn statuses(&mut self, method: &str, repo: usize, sha: &str) -> Reply {
        if method == "GET" {
            return self.checks(repo, sha, "statuses");
        }
        let creator = self.need(repo, Role::Write)?;
        let sha = self.commit_named(repo, sha)?;
        let state = self.text("state").unwrap_or_default();
        let known = ["pending", "success", "error", "failure", "warning", "skipped"];
        if !known.contains(&state.as_str()) {
            return Err(self.refuse(400, "unknown CommitStatusState"));
        }
        let status = Status {
            id: 0,
            sha,
            context: self
                .text("context")
                .filter(|text| !text.is_empty())
                .unwrap_or_else(|| "default".to_owned()),
            state,
            description: self.text("description").unwrap_or_default(),
            target: self.text("target_url").unwrap_or_default(),
            creator,
            at: self.world.now,
        };
        let status = self.world.add_status(repo, &status);
        Ok(Answer::json(201, &shapes::status(self.world, repo, &status)))
    }

    pub(super) fn checks(&self, repo: usize, sha: &str, kind: &str) -> Reply {
        let sha = self.commit_named(repo, sha)?;
        let repository = self.repository(repo);
        if kind == "statuses" {
            let all: Vec<&Status> =
                repository.statuses.iter().rev().filter(|status| status.sha == sha).collect();
            return self.list(all, |status| shapes::status(self.world, repo, status));
        }
        let all = repository.newest_statuses(&sha);
        // Without any, nothing is filled in: not even the commit.
        if all.is_empty() {
            let empty = json!({ "state": "", "sha": "", "total_count": 0, "statuses": null, "repository": null,
                "commit_url": "", "url": "" });
            return Ok(Answer::json(200, &empty));
        }
        // The worst one counts.
        let order = ["error", "failure", "pending", "warning", "success", "skipped"];
        let state = order.into_iter().find(|state| all.iter().any(|status| status.state == *state));
        let api = shapes::api(self.world, repository);
        let shown: Vec<Value> = all.iter().map(|status| shapes::status(self.world, repo, status)).collect();
        let account = self.account.login();
        let body = json!({
            "state": state.unwrap_or(""), "sha": sha, "total_count": shown.len(), "statuses": shown,
            "repository": shapes::repo(self.world, repo, account.as_deref()),
            "commit_url": format!("{api}/commits/{sha}"), "url": format!("{api}/commits/{sha}/status"),
        });
        Ok(Answer::json(200, &body))
    }
}
