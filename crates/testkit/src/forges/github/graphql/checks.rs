//! The fields of a commit's checks.

use serde_json::{Map, json};

use super::{
    Fault, Looked, Node, Query,
    fields::{leaf, list, one, unknown},
};
use crate::forges::{
    github::{checks::newest_checks, shapes},
    world::checks::{Standing, Status},
};

impl Query<'_, '_, '_> {
    /// Returns what sums up a commit's checks; none if it has none.
    pub(super) fn rollup_of(&self, repo: usize, sha: &str) -> Option<Node> {
        let has = !self.contexts(repo, sha).is_empty();
        has.then(|| Node::Rollup(repo, sha.to_owned()))
    }

    fn contexts(&self, repo: usize, sha: &str) -> Vec<Node> {
        let checks =
            newest_checks(self.call.world, repo, sha).into_iter().map(|check| Node::Check(repo, check.id));
        let statuses = self.call.repository(repo).newest_statuses(sha).into_iter();
        checks.chain(statuses.map(|status| Node::Status(repo, status.id))).collect()
    }

    pub(super) fn rollup(&self, repo: usize, sha: &str, name: &str) -> Looked {
        let repository = self.call.repository(repo);
        match name {
            "contexts" => list(self.contexts(repo, sha)),
            "state" => {
                let checks =
                    newest_checks(self.call.world, repo, sha).into_iter().map(|check| check.name.as_str());
                let statuses =
                    repository.newest_statuses(sha).into_iter().map(|status| status.context.as_str());
                let all: Vec<Standing> =
                    checks.chain(statuses).map(|name| repository.standing(sha, name)).collect();
                leaf(match () {
                    () if all.contains(&Standing::Failed) => "FAILURE",
                    () if all.contains(&Standing::Waiting) => "PENDING",
                    () => "SUCCESS",
                })
            }
            _ => unknown("StatusCheckRollup", name),
        }
    }

    /// Counts contexts by their state.
    pub(super) fn counts(&self, all: &[Node], of_checks: bool) -> Vec<Node> {
        let mut counts: Vec<(String, u64)> = Vec::new();
        for node in all {
            let mut state = None;
            if let (true, Node::Check(repo, id)) = (of_checks, node) {
                let check = self.call.repository(*repo).check_runs.iter().find(|check| check.id == *id);
                let words = check.map(|check| check.state.words());
                state = words.map(|(status, conclusion)| conclusion.unwrap_or(status));
            }
            if let (false, Node::Status(repo, id)) = (of_checks, node) {
                let status = self.call.repository(*repo).statuses.iter().find(|status| status.id == *id);
                state = status.map(|status| status.state.as_str());
            }
            let Some(state) = state.map(str::to_uppercase) else { continue };
            match counts.iter_mut().find(|(known, _)| *known == state) {
                Some((_, count)) => *count += 1,
                None => counts.push((state, 1)),
            }
        }
        let node = |(state, count): (String, u64)| {
            let fields = [("state".to_owned(), json!(state)), ("count".to_owned(), json!(count))];
            Node::Plain(Map::from_iter(fields), "CountByState")
        };
        counts.into_iter().map(node).collect()
    }

    pub(super) fn status(&self, repo: usize, id: u64, name: &str) -> Looked {
        let missing = || Fault::new("NOT_FOUND", "the status is gone");
        let all = self.call.repository(repo).statuses.iter();
        let status: &Status = all.into_iter().find(|status| status.id == id).ok_or_else(missing)?;
        match name {
            "context" => leaf(status.context.as_str()),
            "state" => leaf(status.state.to_uppercase()),
            "targetUrl" => leaf(status.target.as_str()),
            "description" => leaf(status.description.as_str()),
            "createdAt" => leaf(shapes::time(status.at)),
            "isRequired" => leaf(self.is_required(repo, &status.context)),
            _ => unknown("StatusContext", name),
        }
    }

    fn is_required(&self, repo: usize, context: &str) -> bool {
        let mut all = self.call.repository(repo).protections.iter();
        all.any(|protection| protection.contexts.iter().any(|other| other == context))
    }

    pub(super) fn check(&self, repo: usize, id: u64, name: &str) -> Looked {
        let missing = || Fault::new("NOT_FOUND", "the check is gone");
        let mut all = self.call.repository(repo).check_runs.iter();
        let check = all.find(|check| check.id == id).ok_or_else(missing)?;
        let (status, conclusion) = check.state.words();
        let at = shapes::time(check.at);
        match name {
            "name" => leaf(check.name.as_str()),
            "status" => leaf(status.to_uppercase()),
            "conclusion" => leaf(conclusion.map(str::to_uppercase)),
            "startedAt" => leaf(at),
            "completedAt" => leaf(check.state.is_over().then_some(at)),
            "detailsUrl" => {
                let shown = super::super::checks::check_run(self.call.world, repo, check);
                leaf(shown["details_url"].clone())
            }
            "title" => leaf(""),
            "checkSuite" => one(Some(Node::Suite(repo, check.suite))),
            "isRequired" => leaf(self.is_required(repo, &check.name)),
            _ => unknown("CheckRun", name),
        }
    }

    pub(super) fn suite(&self, repo: usize, suite: u64, name: &str) -> Looked {
        let run = self.call.repository(repo).runs.iter().find(|run| run.suite == suite);
        match name {
            "workflowRun" => match run {
                Some(run) => leaf(
                    json!({ "event": run.event, "databaseId": run.id, "workflow": { "name": run.workflow.name } }),
                ),
                None => leaf(serde_json::Value::Null),
            },
            _ => unknown("CheckSuite", name),
        }
    }
}
