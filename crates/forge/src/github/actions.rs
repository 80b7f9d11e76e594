//! Checks on GitHub: check runs, statuses of commits, and the logs of Actions.

use std::{collections::BTreeSet, sync::Arc};

use serde::Deserialize;

use super::Github;
use crate::{
    Cause, Checks, ChecksState, Contexts, ForgeError, Refusal, StepId, VERDICT,
    checks::{Check, CheckState, Configured, classify, end_of, exit_code, judge, log_later, no_log},
    client::{Failure, escaped},
    http::Method,
    remote::server::{Server as _, StatusState},
};

/// What stands between a job's name and its step's.
const BETWEEN: &str = " / ";
/// The app whose check runs are jobs.
const ACTIONS: &str = "github-actions";

/// The checks of a repository on GitHub.
#[derive(Debug)]
pub(super) struct Actions {
    pub(super) github: Arc<Github>,
    pub(super) contexts: Contexts,
}

#[derive(Debug, Deserialize)]
struct CheckRuns {
    check_runs: Vec<Option<CheckRun>>,
}

#[derive(Debug, Deserialize)]
struct CheckRun {
    id: u64,
    name: String,
    status: String,
    conclusion: Option<String>,
    app: Option<App>,
}

#[derive(Debug, Deserialize)]
struct App {
    slug: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Job {
    steps: Option<Vec<Step>>,
}

#[derive(Debug, Deserialize)]
struct Step {
    name: String,
    conclusion: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Workflows {
    total_count: u64,
}

#[derive(Debug, Deserialize)]
struct Runs {
    workflow_runs: Vec<Option<Run>>,
}

#[derive(Debug, Deserialize)]
struct Run {
    id: u64,
    status: Option<String>,
    conclusion: Option<String>,
}

impl CheckRun {
    fn is_job(&self) -> bool {
        self.app.as_ref().and_then(|app| app.slug.as_deref()) == Some(ACTIONS)
    }
}

impl Checks for Actions {
    fn state(&self, commit: &str) -> Result<ChecksState, ForgeError> {
        let mut checks = Vec::new();
        for run in self.runs(commit)? {
            let state = self.state_of(&run)?;
            checks.push(Check { name: run.name, state });
        }
        checks.extend(self.statuses(commit)?);
        let required = self.required()?;
        let configured =
            if checks.is_empty() && required.is_empty() { self.configured()? } else { Configured::Yes };
        Ok(judge(commit, &checks, &required, configured))
    }

    fn log(&self, step: &StepId) -> Result<String, ForgeError> {
        let runs = self.runs(&step.commit)?;
        let is_it = |run: &&CheckRun| {
            run.is_job()
                && step
                    .name
                    .strip_prefix(&run.name)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(BETWEEN))
        };
        let run = runs.iter().find(is_it).ok_or_else(|| no_log(&step.name))?;
        Ok(end_of(&self.job_log(run)?))
    }

    /// Runs again what failed in the jobs of Actions.
    fn restart(&self, commit: &str) -> Result<(), ForgeError> {
        let path = self.github.at(format!("/actions/runs?head_sha={}&per_page=100", escaped(commit)));
        let runs = self.github.client.list_in(&path, |page: Runs| page.workflow_runs)?;
        let has_failed = |run: &&Run| {
            run.status.as_deref() == Some("completed")
                && !matches!(run.conclusion.as_deref(), Some("success" | "skipped" | "neutral"))
        };
        let failed: Vec<&Run> = runs.iter().filter(has_failed).collect();
        if failed.is_empty() && !runs.iter().any(|run| run.status.as_deref() != Some("completed")) {
            let why = "no run of GitHub Actions has failed for this commit".to_owned();
            return Err(Refusal::Said { why }.into());
        }
        for run in failed {
            let path = self.github.at(format!("/actions/runs/{}/rerun-failed-jobs", run.id));
            self.github.client.write_only(Method::Post, &path, &())?;
        }
        Ok(())
    }
}

impl Actions {
    fn runs(&self, commit: &str) -> Result<Vec<CheckRun>, Failure> {
        let path = self.github.at(format!("/commits/{}/check-runs?per_page=100", escaped(commit)));
        self.github.client.list_in(&path, |page: CheckRuns| page.check_runs)
    }

    fn required(&self) -> Result<BTreeSet<String>, Failure> {
        match &self.contexts.target {
            Some(target) if self.contexts.named.is_empty() => Ok(self.github.requirements(target)?.contexts),
            Some(_) | None => Ok(self.contexts.named.clone()),
        }
    }

    fn configured(&self) -> Result<Configured, Failure> {
        let found = self.github.client.find::<Workflows>(&self.github.at("/actions/workflows?per_page=1"))?;
        let is_configured = found.is_some_and(|workflows| workflows.total_count > 0);
        Ok(if is_configured { Configured::Yes } else { Configured::No })
    }

    /// Returns what others than Actions report, the last word of each.
    fn statuses(&self, commit: &str) -> Result<Vec<Check>, Failure> {
        let mut seen = BTreeSet::from([VERDICT.to_owned()]);
        let mut statuses = self.github.statuses(commit)?;
        statuses.retain(|status| seen.insert(status.context.clone()));
        let check = |status: crate::remote::server::Status| {
            let failed = |cause| CheckState::Failed(vec![(status.context.clone(), cause)]);
            let state = match status.state {
                StatusState::Pending => CheckState::Running,
                StatusState::Success => CheckState::Passed,
                StatusState::Skipped => CheckState::Skipped,
                StatusState::Failure => failed(Cause::Code),
                StatusState::Error => failed(Cause::Infra),
            };
            Check { name: status.context, state }
        };
        Ok(statuses.into_iter().map(check).collect())
    }

    fn state_of(&self, run: &CheckRun) -> Result<CheckState, ForgeError> {
        let conclusion = match run.status.as_str() {
            "completed" => run.conclusion.as_deref(),
            "in_progress" => return Ok(CheckState::Running),
            _ => return Ok(CheckState::Waiting),
        };
        let failed = |cause| CheckState::Failed(vec![(run.name.clone(), cause)]);
        Ok(match conclusion {
            Some("success" | "neutral") => CheckState::Passed,
            Some("skipped") => CheckState::Skipped,
            // A person has to say that it may run.
            Some("action_required") => CheckState::Waiting,
            Some("cancelled" | "stale") => failed(Cause::Infra),
            // The workflow itself is wrong.
            Some("startup_failure") => failed(Cause::Code),
            _ if run.is_job() => CheckState::Failed(self.failed_steps(run)?),
            _ => failed(Cause::Code),
        })
    }

    fn failed_steps(&self, run: &CheckRun) -> Result<Vec<(String, Cause)>, ForgeError> {
        let job: Option<Job> =
            self.github.client.find(&self.github.at(format!("/actions/jobs/{}", run.id)))?;
        let log = self.job_log(run)?;
        let exit = exit_code(&log);
        let steps = job.and_then(|job| job.steps).unwrap_or_default();
        let failed = steps.iter().filter(|step| {
            matches!(step.conclusion.as_deref(), Some("failure" | "timed_out" | "startup_failure"))
        });
        let named: Vec<_> = failed
            .map(|step| (format!("{}{BETWEEN}{}", run.name, step.name), classify(&step.name, exit, &log)))
            .collect();
        Ok(if named.is_empty() { vec![(run.name.clone(), classify(&run.name, exit, &log))] } else { named })
    }

    fn job_log(&self, run: &CheckRun) -> Result<String, ForgeError> {
        let log = self.github.client.text(&self.github.at(format!("/actions/jobs/{}/logs", run.id)))?;
        // A log comes a moment after its job has ended.
        let log = log.filter(|log| !log.trim().is_empty()).ok_or_else(|| log_later(&run.name))?;
        Ok(without_times(&log))
    }
}

/// Takes the time off each line.
fn without_times(log: &str) -> String {
    let plain = |line: &str| {
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        let is_time = first.len() > 19 && first.ends_with('Z') && first.as_bytes().get(10) == Some(&b'T');
        if is_time { rest.to_owned() } else { line.to_owned() }
    };
    let mut text = log.trim_start_matches('\u{feff}').lines().map(plain).collect::<Vec<_>>().join("\n");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::http::scripted::Scripted;

    fn actions() -> (Arc<Scripted>, Actions) {
        let net = Arc::new(Scripted::default());
        let github = Arc::new(Github::new(Arc::clone(&net) as _, "o", "r"));
        (net, Actions { github, contexts: Contexts::default() })
    }

    fn runs(status: &str, conclusion: &str, slug: &str) -> String {
        let conclusion = if conclusion.is_empty() { Value::Null } else { conclusion.into() };
        serde_json::json!({"total_count": 1, "check_runs": [
            {"id": 7, "name": "unit", "status": status, "conclusion": conclusion, "app": {"slug": slug}}
        ]})
        .to_string()
    }

    fn state(status: &str, conclusion: &str) -> ChecksState {
        let (net, actions) = actions();
        net.answer("GET /repos/o/r/commits/c/check-runs", 200, &runs(status, conclusion, "other"));
        net.answer("GET /repos/o/r/commits/c/statuses", 200, "[]");
        let state = actions.state("c").unwrap();
        net.finish();
        state
    }

    #[test]
    fn conclusions_are_read_for_what_they_are() {
        assert_eq!(state("completed", "success"), ChecksState::Passed);
        assert_eq!(state("completed", "neutral"), ChecksState::Passed);
        assert_eq!(state("completed", "skipped"), ChecksState::Skipped);
        assert_eq!(state("in_progress", ""), ChecksState::Running);
        assert_eq!(state("queued", ""), ChecksState::NotStarted);
        assert_eq!(state("completed", "action_required"), ChecksState::NotStarted);
        for (conclusion, is_infra) in
            [("failure", false), ("timed_out", false), ("cancelled", true), ("new", false)]
        {
            let state = state("completed", conclusion);
            assert_eq!(matches!(state, ChecksState::Infra(_)), is_infra, "{conclusion} {state:?}");
            assert_eq!(matches!(state, ChecksState::Failed(_)), !is_infra, "{conclusion} {state:?}");
        }
    }

    #[test]
    fn no_checks_are_none_only_where_there_are_no_workflows() {
        for (count, wanted) in [(0, ChecksState::None), (2, ChecksState::NotStarted)] {
            let (net, actions) = actions();
            net.answer("GET /repos/o/r/commits/c/check-runs", 200, "{\"check_runs\": []}");
            net.answer("GET /repos/o/r/commits/c/statuses", 200, "[]");
            net.answer("GET /repos/o/r/actions/workflows", 200, &format!("{{\"total_count\": {count}}}"));
            assert_eq!(actions.state("c").unwrap(), wanted);
            net.finish();
        }
    }

    #[test]
    fn a_failed_job_is_judged_by_its_log_once_that_is_there() {
        let (net, actions) = actions();
        let ask = |log: &str| {
            net.answer("GET /repos/o/r/commits/c/check-runs", 200, &runs("completed", "failure", ACTIONS));
            let steps = r#"{"steps": [{"name": "Set up", "conclusion": "success"},
                {"name": "Run tests", "conclusion": "failure"}]}"#;
            net.answer("GET /repos/o/r/actions/jobs/7", 200, steps);
            net.answer_with(
                "GET /repos/o/r/actions/jobs/7/logs",
                302,
                &[("location", "https://blobs/7")],
                "",
            );
            net.answer("GET https://blobs/7", 200, log);
        };
        ask("");
        assert!(matches!(actions.state("c"), Err(ForgeError::Later { .. })));
        for (code, is_infra) in [(1, false), (137, true)] {
            ask(&format!("2026-11-19T10:00:00.1234567Z ##[error]Process completed with exit code {code}.\n"));
            net.answer("GET /repos/o/r/commits/c/statuses", 200, "[]");
            let step = StepId { commit: "c".to_owned(), name: "unit / Run tests".to_owned() };
            let wanted =
                if is_infra { ChecksState::Infra(vec![step]) } else { ChecksState::Failed(vec![step]) };
            assert_eq!(actions.state("c").unwrap(), wanted);
        }
        net.finish();
    }

    #[test]
    fn times_are_taken_off_logs() {
        let log = "\u{feff}2026-11-19T10:00:00.1234567Z 1 failed\nplain line\n";
        assert_eq!(without_times(log), "1 failed\nplain line\n");
    }
}
