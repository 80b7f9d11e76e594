//! Checks on Forgejo and Gitea: statuses of commits, and the logs of their own actions where they can be had.

use std::{collections::BTreeSet, sync::Arc};

use serde::Deserialize;
use serde_json::Value;

use super::Forgejo;
use crate::{
    Cause, Checks, ChecksState, Contexts, ForgeError, Refusal, StepId, VERDICT,
    checks::{Check, CheckState, Configured, classify, end_of, exit_code, judge, log_later, no_log},
    client::{Failure, escaped},
    http::Method,
    remote::server::{Server as _, Status, StatusState},
};

/// Where workflows are.
const WORKFLOWS: [&str; 3] = [".forgejo/workflows", ".gitea/workflows", ".github/workflows"];

/// The checks of a repository on Forgejo or Gitea.
#[derive(Debug)]
pub(super) struct Actions {
    pub(super) forgejo: Arc<Forgejo>,
    pub(super) contexts: Contexts,
}

#[derive(Debug, Deserialize)]
struct Runs {
    workflow_runs: Option<Vec<Option<Run>>>,
}

#[derive(Debug, Deserialize)]
struct Run {
    id: u64,
    status: String,
    conclusion: Option<String>,
    event: Option<String>,
    trigger_event: Option<String>,
}

/// Forgejo lists jobs, Gitea an object with them.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Jobs {
    List(Vec<Option<Job>>),
    Object { jobs: Option<Vec<Option<Job>>> },
}

#[derive(Debug, Deserialize)]
struct Job {
    id: u64,
    name: String,
}

impl Jobs {
    fn list(self) -> Vec<Option<Job>> {
        match self {
            Self::List(jobs) => jobs,
            Self::Object { jobs } => jobs.unwrap_or_default(),
        }
    }
}

impl Checks for Actions {
    fn state(&self, commit: &str) -> Result<ChecksState, ForgeError> {
        let mut checks = Vec::new();
        for status in self.latest(commit)? {
            let state = self.state_of(commit, &status)?;
            checks.push(Check { name: status.context, state });
        }
        let required = match &self.contexts.target {
            Some(target) if self.contexts.named.is_empty() => self.forgejo.requirements(target)?.contexts,
            Some(_) | None => self.contexts.named.clone(),
        };
        let configured =
            if checks.is_empty() && required.is_empty() { self.configured(commit)? } else { Configured::Yes };
        Ok(judge(commit, &checks, &required, configured))
    }

    fn log(&self, step: &StepId) -> Result<String, ForgeError> {
        let log = self.job_log(&step.commit, &step.name)?.ok_or_else(|| no_log(&step.name))?;
        Ok(end_of(&log))
    }

    fn restart(&self, commit: &str) -> Result<(), ForgeError> {
        if !self.forgejo.version()?.reruns() {
            let what = "this version cannot run actions again";
            return Err(Refusal::Unsupported { forge: self.forgejo.traits().name, what }.into());
        }
        let has_failed = |run: &&Run| {
            let ended = run.conclusion.as_deref().unwrap_or(&run.status);
            matches!(ended, "failure" | "cancelled" | "error")
        };
        let runs = self.runs(commit)?;
        let failed: Vec<&Run> = runs.iter().filter(has_failed).collect();
        if failed.is_empty() && runs.iter().all(|run| run.status == "success" || run.status == "completed") {
            let why = "no run of actions has failed for this commit".to_owned();
            return Err(Refusal::Said { why }.into());
        }
        for run in failed {
            let path = self.forgejo.at(format!("/actions/runs/{}/rerun", run.id));
            self.forgejo.client.write_only(Method::Post, &path, &())?;
        }
        Ok(())
    }
}

impl Actions {
    /// Returns the last word of each context.
    fn latest(&self, commit: &str) -> Result<Vec<Status>, Failure> {
        let mut seen = BTreeSet::from([VERDICT.to_owned()]);
        let mut statuses = self.forgejo.statuses(commit)?;
        statuses.retain(|status| seen.insert(status.context.clone()));
        Ok(statuses)
    }

    fn state_of(&self, commit: &str, status: &Status) -> Result<CheckState, ForgeError> {
        Ok(match status.state {
            StatusState::Pending => CheckState::Running,
            StatusState::Success => CheckState::Passed,
            StatusState::Skipped => CheckState::Skipped,
            StatusState::Error => CheckState::Failed(vec![(status.context.clone(), Cause::Infra)]),
            StatusState::Failure => {
                let is_own = status.url.as_deref().is_some_and(|url| url.contains("/actions/runs/"));
                let log = if is_own { self.job_log(commit, &status.context)? } else { None };
                let log = log.unwrap_or_default();
                let cause = classify(job_of(&status.context), exit_code(&log), &log);
                CheckState::Failed(vec![(status.context.clone(), cause)])
            }
        })
    }

    fn configured(&self, commit: &str) -> Result<Configured, Failure> {
        for directory in WORKFLOWS {
            let path = self.forgejo.at(format!("/contents/{directory}?ref={}", escaped(commit)));
            let found: Option<Value> = self.forgejo.client.find(&path)?;
            if found.as_ref().and_then(Value::as_array).is_some_and(|files| !files.is_empty()) {
                return Ok(Configured::Yes);
            }
        }
        Ok(Configured::No)
    }

    fn runs(&self, commit: &str) -> Result<Vec<Run>, Failure> {
        let path = self.forgejo.at(format!("/actions/runs?head_sha={}&limit=50", escaped(commit)));
        self.forgejo.client.list_in(&path, |page: Runs| page.workflow_runs.unwrap_or_default())
    }

    /// Returns the log of the job behind a context; none if this server does not give it.
    fn job_log(&self, commit: &str, context: &str) -> Result<Option<String>, ForgeError> {
        let runs = match self.runs(commit) {
            Ok(runs) => runs,
            Err(failure) if failure.is_absent() => return Ok(None),
            Err(failure) => return Err(failure.into()),
        };
        for run in runs.iter().filter(|run| is_of(run, context)) {
            let path = self.forgejo.at(format!("/actions/runs/{}/jobs?limit=50", run.id));
            let jobs = match self.forgejo.client.list_in(&path, Jobs::list) {
                Ok(jobs) => jobs,
                Err(failure) if failure.is_absent() => return Ok(None),
                Err(failure) => return Err(failure.into()),
            };
            if let Some(job) = jobs.iter().find(|job| job.name == job_of(context)) {
                let path = self.forgejo.at(format!("/actions/jobs/{}/logs", job.id));
                let Some(log) = self.forgejo.client.text(&path)? else { return Ok(None) };
                let log = Some(log).filter(|log| !matches!(log.trim(), "" | "null"));
                return log.ok_or_else(|| log_later(context)).map(Some);
            }
        }
        Ok(None)
    }
}

/// Returns the job's name in a context such as `ci / unit (push)`; a workflow without a name has none there.
fn job_of(context: &str) -> &str {
    let (_, job) = context.split_once("/ ").unwrap_or(("", context));
    job.rsplit_once(" (").map_or(job, |(job, _)| job)
}

/// Returns whether a run is of the event that a context names.
fn is_of(run: &Run, context: &str) -> bool {
    let event = context.rsplit_once(" (").and_then(|(_, event)| event.strip_suffix(')'));
    let ours = run.trigger_event.as_deref().or(run.event.as_deref());
    event.is_none() || ours.is_none() || event == ours
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::scripted::Scripted;

    fn actions() -> (Arc<Scripted>, Actions) {
        let net = Arc::new(Scripted::default());
        let forgejo = Arc::new(Forgejo::new(Arc::clone(&net) as _, "o", "r"));
        (net, Actions { forgejo, contexts: Contexts::default() })
    }

    const FAILED: &str = r#"[
        {"id": 2, "context": "/ unit (push)", "status": "failure", "target_url": "/o/r/actions/runs/12/jobs/0"},
        {"id": 1, "context": "/ unit (push)", "status": "pending", "target_url": "/o/r/actions/runs/12/jobs/0"}
    ]"#;

    #[test]
    fn contexts_name_jobs_and_events() {
        assert_eq!(
            ["ci / unit (push)", "/ unit (push)", "a / b (c) (push)", "lint"].map(job_of),
            ["unit", "unit", "b (c)", "lint"]
        );
    }

    #[test]
    fn the_last_status_counts_and_an_empty_log_is_asked_for_again() {
        let (net, actions) = actions();
        let ask = |log: &str| {
            net.answer("GET /repos/o/r/commits/c/statuses", 200, FAILED);
            let runs = r#"{"workflow_runs": [{"id": 12, "status": "failure", "trigger_event": "push"}]}"#;
            net.answer("GET /repos/o/r/actions/runs?head_sha=c", 200, runs);
            net.answer("GET /repos/o/r/actions/runs/12/jobs", 200, r#"[{"id": 5, "name": "unit"}]"#);
            net.answer("GET /repos/o/r/actions/jobs/5/logs", 200, log);
        };
        ask("");
        assert!(matches!(actions.state("c"), Err(ForgeError::Later { .. })));
        let steps = || vec![StepId { commit: "c".to_owned(), name: "/ unit (push)".to_owned() }];
        ask("1 failed");
        assert_eq!(actions.state("c").unwrap(), ChecksState::Failed(steps()));
        ask("curl: Could not resolve host: pypi.example");
        assert_eq!(actions.state("c").unwrap(), ChecksState::Infra(steps()));
        net.finish();
    }

    #[test]
    fn a_server_without_logs_still_says_that_it_failed() {
        let (net, actions) = actions();
        net.answer("GET /repos/o/r/commits/c/statuses", 200, FAILED);
        net.answer("GET /repos/o/r/actions/runs", 404, "");
        assert!(matches!(actions.state("c").unwrap(), ChecksState::Failed(_)));
        net.finish();
    }

    #[test]
    fn runs_are_repeated_only_where_the_server_can() {
        let (net, actions) = actions();
        net.answer("GET /version", 200, r#"{"version": "16.0.0+gitea-1.22.0"}"#);
        let refused = actions.restart("c").unwrap_err();
        assert!(matches!(refused, ForgeError::Refused(Refusal::Unsupported { .. })), "{refused}");
        net.finish();
        let (net, actions) = self::actions();
        net.answer("GET /version", 200, r#"{"version": "17.0.0+gitea-1.22.0"}"#);
        net.answer(
            "GET /repos/o/r/actions/runs",
            200,
            r#"{"workflow_runs": [{"id": 12, "status": "failure"}]}"#,
        );
        net.answer("POST /repos/o/r/actions/runs/12/rerun", 201, "");
        actions.restart("c").unwrap();
        net.finish();
    }

    #[test]
    fn no_checks_are_none_only_where_there_are_no_workflows() {
        let (net, actions) = actions();
        net.answer("GET /repos/o/r/commits/c/statuses", 200, "[]");
        net.answer("GET /repos/o/r/contents/.forgejo/workflows?ref=c", 404, "{}");
        net.answer("GET /repos/o/r/contents/.gitea/workflows", 404, "{}");
        net.answer("GET /repos/o/r/contents/.github/workflows", 200, "[{\"name\": \"ci.yml\"}]");
        assert_eq!(actions.state("c").unwrap(), ChecksState::NotStarted);
        net.finish();
    }
}
