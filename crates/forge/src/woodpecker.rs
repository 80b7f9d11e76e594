//! Checks by Woodpecker.
//!
//! A commit can have two pipelines, one of its push and one of its pull request; of each the last one counts, because a
//! restart is a pipeline of its own. A log is `null` for a moment after its step has ended.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::{
    Cause, Checks, ChecksState, ForgeError, StepId,
    checks::{Check, CheckState, Configured, classify, end_of, judge, log_later, no_log},
    client::{Client, Failure},
    http::{Method, SharedNet},
};

/// How many pages of fifty pipelines are looked through for a commit: what is older is no longer waited for.
const PAGES: usize = 10;
const PER_PAGE: usize = 50;
/// What stands between a context and its step.
const BETWEEN: &str = ": ";

/// The pipelines of a repository on Woodpecker.
#[derive(Debug)]
pub struct Woodpecker {
    client: Client,
    repository: u64,
    required: BTreeSet<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct Pipeline {
    number: u64,
    event: String,
    status: String,
    #[serde(default)]
    commit: String,
    errors: Option<Vec<Option<Problem>>>,
    workflows: Option<Vec<Workflow>>,
}

#[derive(Clone, Debug, Deserialize)]
struct Problem {
    #[serde(default)]
    message: String,
    #[serde(default)]
    is_warning: bool,
}

#[derive(Clone, Debug, Deserialize)]
struct Workflow {
    name: String,
    state: String,
    children: Option<Vec<Step>>,
}

#[derive(Clone, Debug, Deserialize)]
struct Step {
    id: u64,
    name: String,
    state: String,
    #[serde(default)]
    exit_code: i64,
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    error: String,
}

#[derive(Debug, Deserialize)]
struct Line {
    line: Option<u64>,
    data: Option<String>,
}

impl Woodpecker {
    /// Creates the checks of a repository by its number on the server; without one, nothing is configured. `net` reaches
    /// the API, whose address ends with `/api`. `required` are the contexts that count, as Woodpecker reports them to the
    /// forge (`ci/woodpecker/push/test`); if there are none, all do.
    pub fn new(net: SharedNet, repository: u64, required: BTreeSet<String>) -> Self {
        Self {
            client: Client::new(net, vec![("accept", "application/json".to_owned())]),
            repository,
            required,
        }
    }

    fn at(&self, rest: &str) -> String {
        format!("/repos/{}{rest}", self.repository)
    }

    /// Returns the last pipeline of each event for a commit, in full.
    fn pipelines(&self, commit: &str) -> Result<Vec<Pipeline>, Failure> {
        let mut last: BTreeMap<String, Pipeline> = BTreeMap::new();
        for page in 1..=PAGES {
            let path = self.at(&format!("/pipelines?page={page}&perPage={PER_PAGE}"));
            let found: Option<Vec<Option<Pipeline>>> = self.client.get(&path)?;
            let found = found.unwrap_or_default();
            let is_last = found.len() < PER_PAGE;
            for pipeline in found.into_iter().flatten().filter(|pipeline| pipeline.commit == commit) {
                let known = last.entry(pipeline.event.clone()).or_insert_with(|| pipeline.clone());
                if pipeline.number > known.number {
                    *known = pipeline;
                }
            }
            // What there is of a commit stands together, but for restarts, which are newer.
            if is_last || !last.is_empty() {
                break;
            }
        }
        last.values()
            .map(|pipeline| self.client.get(&self.at(&format!("/pipelines/{}", pipeline.number))))
            .collect()
    }

    fn checks_of(&self, pipeline: &Pipeline) -> Result<Vec<Check>, ForgeError> {
        let workflows = pipeline.workflows.clone().unwrap_or_default();
        if workflows.is_empty() {
            let name = context(&pipeline.event, None);
            let state = self.state_of(&pipeline.status, || {
                // What is wrong with a workflow file stands there instead of steps.
                Ok(vec![(name.clone(), Cause::Code)])
            })?;
            return Ok(vec![Check { name, state }]);
        }
        let check = |workflow: &Workflow| {
            let name = context(&pipeline.event, Some(&workflow.name));
            let state = self.state_of(&workflow.state, || self.failed_steps(pipeline, workflow, &name))?;
            Ok(Check { name, state })
        };
        workflows.iter().map(check).collect()
    }

    fn state_of(
        &self,
        status: &str,
        failed: impl FnOnce() -> Result<Vec<(String, Cause)>, ForgeError>,
    ) -> Result<CheckState, ForgeError> {
        Ok(match status {
            "success" => CheckState::Passed,
            "skipped" => CheckState::Skipped,
            "running" | "started" => CheckState::Running,
            "pending" | "created" | "blocked" => CheckState::Waiting,
            "failure" | "error" | "killed" | "canceled" | "declined" => CheckState::Failed(failed()?),
            other => {
                return Err(ForgeError::BadAnswer {
                    problem: format!("`{other}` is no status of a pipeline"),
                });
            }
        })
    }

    fn failed_steps(
        &self,
        pipeline: &Pipeline,
        workflow: &Workflow,
        context: &str,
    ) -> Result<Vec<(String, Cause)>, ForgeError> {
        let mut failed = Vec::new();
        for step in workflow.children.iter().flatten() {
            let name = format!("{context}{BETWEEN}{}", step.name);
            match step.state.as_str() {
                "failure" | "error" => {
                    let log = self.log_of(pipeline.number, step)?;
                    let kind = if step.kind == "clone" { "clone" } else { step.name.as_str() };
                    let log = format!("{log}\n{}", step.error);
                    failed.push((name, classify(kind, Some(step.exit_code), &log)));
                }
                // Somebody, or a limit of the server, has ended it.
                "killed" | "canceled" => failed.push((name, Cause::Infra)),
                _ => {}
            }
        }
        if failed.is_empty() {
            let is_stopped = matches!(workflow.state.as_str(), "killed" | "canceled" | "declined");
            failed.push((context.to_owned(), if is_stopped { Cause::Infra } else { Cause::Code }));
        }
        Ok(failed)
    }

    fn log_of(&self, pipeline: u64, step: &Step) -> Result<String, ForgeError> {
        let path = self.at(&format!("/logs/{pipeline}/{}", step.id));
        let lines: Option<Vec<Option<Line>>> = self.client.get(&path)?;
        let lines = lines.ok_or_else(|| log_later(&step.name))?;
        let mut lines: Vec<Line> = lines.into_iter().flatten().collect();
        lines.sort_by_key(|line| line.line);
        let mut log = String::new();
        for line in lines {
            let bytes = decoded(line.data.as_deref().unwrap_or_default());
            let bytes = bytes.ok_or_else(|| ForgeError::BadAnswer {
                problem: format!("the log of `{}` cannot be read", step.name),
            })?;
            log.push_str(String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']));
            log.push('\n');
        }
        Ok(log)
    }
}

impl Checks for Woodpecker {
    fn state(&self, commit: &str) -> Result<ChecksState, ForgeError> {
        if self.repository == 0 {
            return Ok(ChecksState::None);
        }
        let mut checks = Vec::new();
        for pipeline in self.pipelines(commit)? {
            checks.extend(self.checks_of(&pipeline)?);
        }
        Ok(judge(commit, &checks, &self.required, Configured::Yes))
    }

    fn log(&self, step: &StepId) -> Result<String, ForgeError> {
        for pipeline in self.pipelines(&step.commit)? {
            for workflow in pipeline.workflows.iter().flatten() {
                let context = context(&pipeline.event, Some(&workflow.name));
                let is_it = |it: &&Step| step.name == format!("{context}{BETWEEN}{}", it.name);
                if let Some(found) = workflow.children.iter().flatten().find(is_it) {
                    return Ok(end_of(&self.log_of(pipeline.number, found)?));
                }
            }
            if step.name == context(&pipeline.event, None) {
                let problems = pipeline.errors.iter().flatten().flatten();
                let said: Vec<&str> =
                    problems.filter(|it| !it.is_warning).map(|it| it.message.as_str()).collect();
                return Ok(said.join("\n"));
            }
        }
        Err(no_log(&step.name))
    }

    fn restart(&self, commit: &str) -> Result<(), ForgeError> {
        for pipeline in self.pipelines(commit)? {
            if matches!(pipeline.status.as_str(), "failure" | "error" | "killed" | "canceled") {
                let path = self.at(&format!("/pipelines/{}", pipeline.number));
                let started: Pipeline = self.client.write(Method::Post, &path, &())?;
                if started.number == pipeline.number {
                    let problem = format!("pipeline {} was not started again", pipeline.number);
                    return Err(ForgeError::BadAnswer { problem });
                }
            }
        }
        Ok(())
    }
}

/// Returns the name under which a pipeline is reported to the forge.
fn context(event: &str, workflow: Option<&str>) -> String {
    let event = if event.starts_with("pull_request") { "pr" } else { event };
    let end = workflow.map(|workflow| format!("/{workflow}")).unwrap_or_default();
    format!("ci/woodpecker/{event}{end}")
}

/// Decodes base64.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0_u32, 0);
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).unwrap_or_default());
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::http::scripted::Scripted;

    fn woodpecker(required: &[&str]) -> (Arc<Scripted>, Woodpecker) {
        let net = Arc::new(Scripted::default());
        let required = required.iter().map(|name| (*name).to_owned()).collect();
        let woodpecker = Woodpecker::new(Arc::clone(&net) as _, 7, required);
        (net, woodpecker)
    }

    fn pipeline(number: u64, event: &str, status: &str, step: Option<(&str, i64)>) -> serde_json::Value {
        let workflows = step.map(|(state, exit)| {
            json!([{"name": "test", "state": status, "children": [
                {"id": 31, "name": "clone", "state": "success", "type": "clone", "exit_code": 0},
                {"id": 32, "name": "unit", "state": state, "type": "commands", "exit_code": exit},
            ]}])
        });
        json!({"number": number, "event": event, "status": status, "commit": "c", "workflows": workflows,
            "errors": [{"message": "did not find expected key", "is_warning": false}]})
    }

    fn listed(net: &Scripted, pipelines: &[serde_json::Value]) {
        net.answer("GET /repos/7/pipelines?page=1", 200, &json!(pipelines).to_string());
    }

    fn shown(net: &Scripted, pipeline: &serde_json::Value) {
        net.answer(&format!("GET /repos/7/pipelines/{}", pipeline["number"]), 200, &pipeline.to_string());
    }

    fn step(name: &str) -> StepId {
        StepId { commit: "c".to_owned(), name: name.to_owned() }
    }

    #[test]
    fn a_log_that_is_null_is_asked_for_again() {
        let (net, woodpecker) = woodpecker(&[]);
        let failed = pipeline(4, "push", "failure", Some(("failure", 1)));
        let ask = |log: &str| {
            listed(&net, std::slice::from_ref(&failed));
            shown(&net, &failed);
            net.answer("GET /repos/7/logs/4/32", 200, log);
        };
        ask("null");
        assert!(matches!(woodpecker.state("c"), Err(ForgeError::Later { .. })));
        ask(r#"[{"line": 1, "data": "ZmFpbGVkCg=="}, {"line": 0, "data": "MQ=="}]"#);
        let unit = step("ci/woodpecker/push/test: unit");
        assert_eq!(woodpecker.state("c").unwrap(), ChecksState::Failed(vec![unit.clone()]));
        ask(r#"[{"line": 1, "data": "ZmFpbGVkCg=="}, {"line": 0, "data": "MQ=="}]"#);
        assert_eq!(woodpecker.log(&unit).unwrap(), "1\nfailed\n");
        net.finish();
    }

    #[test]
    fn a_restart_takes_the_place_of_what_failed() {
        let (net, woodpecker) = woodpecker(&[]);
        let (failed, again) = (
            pipeline(4, "push", "failure", Some(("failure", 137))),
            pipeline(6, "push", "success", Some(("success", 0))),
        );
        listed(&net, std::slice::from_ref(&failed));
        shown(&net, &failed);
        net.answer("POST /repos/7/pipelines/4", 200, &again.to_string());
        woodpecker.restart("c").unwrap();
        listed(&net, &[again.clone(), failed]);
        shown(&net, &again);
        assert_eq!(woodpecker.state("c").unwrap(), ChecksState::Passed);
        net.finish();
    }

    #[test]
    fn both_pipelines_of_a_commit_count_unless_one_is_required() {
        let push = pipeline(4, "push", "success", Some(("success", 0)));
        let pull = pipeline(5, "pull_request", "running", Some(("running", 0)));
        for (required, wanted) in [
            (&[][..], ChecksState::Running),
            (&["ci/woodpecker/push/*"][..], ChecksState::Passed),
            (&["ci/woodpecker/pr/test"][..], ChecksState::Running),
            (&["ci/woodpecker/push/lint"][..], ChecksState::NotStarted),
        ] {
            let (net, woodpecker) = woodpecker(required);
            listed(&net, &[pull.clone(), push.clone()]);
            shown(&net, &pull);
            shown(&net, &push);
            assert_eq!(woodpecker.state("c").unwrap(), wanted, "{required:?}");
            net.finish();
        }
    }

    #[test]
    fn a_broken_workflow_file_is_the_codes_fault_and_says_why() {
        let (net, woodpecker) = woodpecker(&[]);
        let broken = pipeline(4, "push", "error", None);
        for _ in 0..2 {
            listed(&net, std::slice::from_ref(&broken));
            shown(&net, &broken);
        }
        let whole = step("ci/woodpecker/push");
        assert_eq!(woodpecker.state("c").unwrap(), ChecksState::Failed(vec![whole.clone()]));
        assert_eq!(woodpecker.log(&whole).unwrap(), "did not find expected key");
        net.finish();
    }

    #[test]
    fn without_a_number_nothing_is_configured_and_without_a_pipeline_nothing_has_begun() {
        let net = Arc::new(Scripted::default());
        let none = Woodpecker::new(Arc::clone(&net) as _, 0, BTreeSet::new());
        assert_eq!(none.state("c").unwrap(), ChecksState::None);
        let (net, woodpecker) = woodpecker(&[]);
        net.answer("GET /repos/7/pipelines", 200, "null");
        assert_eq!(woodpecker.state("c").unwrap(), ChecksState::NotStarted);
        net.finish();
    }

    #[test]
    fn base64_is_read() {
        let read = |text| decoded(text).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(read("aGVsbG8gd29ybGQ=").as_deref(), Some("hello world"));
        assert_eq!(["", "YQ==", "!"].map(read), [Some(String::new()), Some("a".to_owned()), None]);
    }
}
