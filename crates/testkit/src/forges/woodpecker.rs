//! A double of Woodpecker 3.17: pipelines that a test moves, read and started again through its API.
//!
//! It builds nothing. A test says what was pushed and how steps end ([`WoodpeckerDouble::push`],
//! [`WoodpeckerDouble::end_step`]); where a forge is named, the commit there shows it.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    double::{Double, Forge},
    faults::Fault,
    http::{Answer, Credential, Page, Reply, Request},
    server::{Exchange, Handled, Handler, Server},
    traps::Trap,
    world::checks::Status,
};

/// When every double's time begins, in seconds.
const BEGIN: u64 = 1_800_000_000;
/// How many entries a page has, unless the query says otherwise, and at most.
const PAGE: (usize, usize) = (50, 50);

/// Woodpecker's words for how far a pipeline or a step has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildState {
    Pending,
    Running,
    Success,
    Failure,
    /// Ended from outside, by the server or a person.
    Killed,
    Skipped,
    /// The configuration cannot be read.
    Error,
}

/// A CI server on loopback; it ends when this is dropped.
pub struct WoodpeckerDouble {
    // Dropped first: its requests use the rest.
    server: Server,
    state: Arc<Builds>,
    origin: String,
    _directory: TempDir,
}

#[derive(Default)]
struct Builds {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    repos: Vec<Repo>,
    traps: BTreeSet<Trap>,
    last_id: u64,
    now: u64,
    forge: Option<Weak<Forge>>,
}

struct Repo {
    id: u64,
    full_name: String,
    pipelines: Vec<Pipeline>,
}

#[derive(Clone)]
struct Pipeline {
    id: u64,
    number: u64,
    parent: u64,
    event: &'static str,
    commit: String,
    branch: String,
    /// The pull request that it is for; 0 for a push.
    pull: u64,
    errors: Vec<String>,
    workflow: String,
    steps: Vec<Step>,
    created: u64,
}

#[derive(Clone)]
struct Step {
    id: u64,
    name: String,
    state: BuildState,
    exit_code: i64,
    log: Vec<String>,
    /// Whether somebody has asked for the log since the step has ended.
    is_asked: bool,
}

impl BuildState {
    fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Killed => "killed",
            Self::Skipped => "skipped",
            Self::Error => "error",
        }
    }

    fn is_over(self) -> bool {
        !matches!(self, Self::Pending | Self::Running)
    }

    /// Returns the word of a commit status.
    fn status(self) -> &'static str {
        match self {
            Self::Pending | Self::Running => "pending",
            Self::Success | Self::Skipped => "success",
            Self::Failure => "failure",
            Self::Killed | Self::Error => "error",
        }
    }
}

impl Pipeline {
    fn state(&self) -> BuildState {
        let has = |state| self.steps.iter().any(|step| step.state == state);
        if !self.errors.is_empty() {
            return BuildState::Error;
        }
        if self.steps.iter().all(|step| step.state == BuildState::Pending) {
            return BuildState::Pending;
        }
        if has(BuildState::Failure) {
            return BuildState::Failure;
        }
        if has(BuildState::Killed) {
            return BuildState::Killed;
        }
        if has(BuildState::Pending) || has(BuildState::Running) {
            return BuildState::Running;
        }
        BuildState::Success
    }

    /// Returns the name of its status on the commit: a push and a pull request have one each.
    fn context(&self) -> String {
        let kind = if self.pull == 0 { "push" } else { "pr" };
        format!("ci/woodpecker/{kind}/{}", self.workflow)
    }
}

impl WoodpeckerDouble {
    /// The token that the API takes.
    pub const TOKEN: &str = "woodpecker-token-of-the-double";

    pub fn start() -> Self {
        let directory = TempDir::with_prefix("warp-ci-").expect("a temporary directory can be made");
        let (listener, origin) = Server::bind();
        let state = Arc::new(Builds::default());
        state.lock().traps = Trap::usual();
        state.lock().now = BEGIN;
        let socket = directory.path().join("http.sock");
        let server = Server::start(listener, &socket, &origin, Box::new(Arc::clone(&state)));
        Self { server, state, origin, _directory: directory }
    }

    pub fn url(&self) -> &str {
        &self.origin
    }

    /// Shows every pipeline on the commit at a forge from now on.
    pub fn report_to(&self, forge: &Double) {
        self.state.lock().forge = Some(Arc::downgrade(forge.forge()));
    }

    /// Adds a repository by its full name; returns its id.
    pub fn add_repo(&self, full_name: &str) -> u64 {
        let mut inner = self.state.lock();
        let id = inner.id();
        inner.repos.push(Repo { id, full_name: full_name.to_owned(), pipelines: Vec::new() });
        id
    }

    /// Begins a pipeline for a push; returns its number.
    pub fn push(&self, repo: u64, commit: &str, branch: &str, steps: &[&str]) -> u64 {
        self.begin(repo, commit, branch, 0, steps, &[])
    }

    /// Begins a pipeline for a pull request; one commit has both.
    pub fn pull_request(&self, repo: u64, commit: &str, branch: &str, pull: u64, steps: &[&str]) -> u64 {
        self.begin(repo, commit, branch, pull, steps, &[])
    }

    /// Begins a pipeline whose configuration cannot be read.
    pub fn broken(&self, repo: u64, commit: &str, branch: &str, error: &str) -> u64 {
        self.begin(repo, commit, branch, 0, &[], &[error])
    }

    fn begin(
        &self,
        repo: u64,
        commit: &str,
        branch: &str,
        pull: u64,
        steps: &[&str],
        errors: &[&str],
    ) -> u64 {
        let mut inner = self.state.lock();
        let names: Vec<String> = steps.iter().map(|name| (*name).to_owned()).collect();
        let pipeline = Pipeline {
            id: 0,
            number: 0,
            parent: 0,
            event: if pull == 0 { "push" } else { "pull_request" },
            commit: commit.to_owned(),
            branch: branch.to_owned(),
            pull,
            errors: errors.iter().map(|error| (*error).to_owned()).collect(),
            workflow: "woodpecker".to_owned(),
            steps: Vec::new(),
            created: 0,
        };
        inner.start(repo, pipeline, &names).unwrap_or_else(|| panic!("there is no repository {repo}"))
    }

    /// Lets a step run.
    pub fn run_step(&self, repo: u64, number: u64, step: &str) {
        self.set_step(repo, number, step, BuildState::Running, 0, "");
    }

    /// Ends a step with an exit code and what it has printed.
    pub fn end_step(&self, repo: u64, number: u64, step: &str, exit_code: i64, log: &str) {
        let state = if exit_code == 0 { BuildState::Success } else { BuildState::Failure };
        self.set_step(repo, number, step, state, exit_code, log);
    }

    /// Moves a step to any state.
    pub fn set_step(&self, repo: u64, number: u64, step: &str, state: BuildState, exit_code: i64, log: &str) {
        let mut inner = self.state.lock();
        let pipeline =
            inner.pipeline(repo, number).unwrap_or_else(|| panic!("there is no pipeline {number}"));
        let found = pipeline.steps.iter_mut().find(|other| other.name == step);
        let found = found.unwrap_or_else(|| panic!("pipeline {number} has no step `{step}`"));
        (found.state, found.exit_code, found.is_asked) = (state, exit_code, false);
        found.log = log.lines().map(str::to_owned).collect();
        inner.report(repo, number);
    }

    pub fn set_trap(&self, trap: Trap, is_set: bool) {
        let traps = &mut self.state.lock().traps;
        if is_set {
            traps.insert(trap);
        } else {
            traps.remove(&trap);
        }
    }

    pub fn set_fault(&self, fault: Fault) {
        self.server.shared.set_fault(fault);
    }

    pub fn clear_faults(&self) {
        self.server.shared.clear_faults();
    }

    pub fn requests(&self) -> Vec<Exchange> {
        self.server.shared.exchanges()
    }
}

impl Inner {
    fn id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn repo(&mut self, id: u64) -> Option<&mut Repo> {
        self.repos.iter_mut().find(|repo| repo.id == id)
    }

    fn pipeline(&mut self, repo: u64, number: u64) -> Option<&mut Pipeline> {
        self.repo(repo)?.pipelines.iter_mut().find(|pipeline| pipeline.number == number)
    }

    /// Begins a pipeline like another one, with steps of these names; returns its number.
    fn start(&mut self, repo: u64, like: Pipeline, steps: &[String]) -> Option<u64> {
        let id = self.id();
        self.now += 1;
        let created = self.now;
        let steps: Vec<Step> = steps
            .iter()
            .map(|name| Step {
                id: self.id(),
                name: name.clone(),
                state: BuildState::Pending,
                exit_code: 0,
                log: Vec::new(),
                is_asked: false,
            })
            .collect();
        let repository = self.repo(repo)?;
        let number = repository.pipelines.len() as u64 + 1;
        repository.pipelines.push(Pipeline { id, number, steps, created, ..like });
        self.report(repo, number);
        Some(number)
    }

    /// Shows a pipeline on its commit, if a forge is named that still lives.
    fn report(&mut self, repo: u64, number: u64) {
        let Some(forge) = self.forge.as_ref().and_then(Weak::upgrade) else { return };
        let Some(full_name) = self.repo(repo).map(|repo| repo.full_name.clone()) else { return };
        let Some(pipeline) = self.pipeline(repo, number) else { return };
        let (context, state) = (pipeline.context(), pipeline.state());
        let status = |world: &super::world::World| Status {
            id: 0,
            sha: pipeline.commit.clone(),
            context,
            state: state.status().to_owned(),
            description: format!("Pipeline is {}", state.word()),
            target: format!("http://localhost/repos/{repo}/pipeline/{number}"),
            creator: "woodpecker".to_owned(),
            at: world.now,
        };
        let mut world = forge.lock();
        let Some((owner, name)) = full_name.split_once('/') else { return };
        if let Some(index) = world.find(owner, name) {
            let status = status(&world);
            world.add_status(index, &status);
        }
    }
}

impl Builds {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Each change is whole, so a panic elsewhere does not spoil the state.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Handler for Builds {
    fn route(&self, path: &str) -> String {
        path.strip_prefix("/api").unwrap_or(path).to_owned()
    }

    fn answer(&self, request: &Request) -> Handled {
        let is_known = request.credential() == Credential::Token(WoodpeckerDouble::TOKEN.to_owned());
        let account = is_known.then(|| "ci".to_owned());
        let answer = if is_known {
            self.lock().answer(request).unwrap_or_else(|refused| refused)
        } else {
            Answer::text(401, "User not authorized")
        };
        Handled { answer, account, deliveries: Vec::new() }
    }
}

fn not_found() -> Answer {
    Answer::text(404, "Not Found")
}

fn number(text: &str) -> Result<u64, Answer> {
    text.parse().map_err(|_| Answer::text(400, "invalid number"))
}

impl Inner {
    fn answer(&mut self, request: &Request) -> Reply {
        let segments = request.segments();
        let all: Vec<&str> = segments.iter().map(String::as_str).collect();
        match (request.method.as_str(), all.as_slice()) {
            ("GET", ["version"]) => Ok(Answer::json(200, &json!({ "version": "3.17.0", "source": "" }))),
            ("GET", ["api", "user"]) => {
                let user = json!({ "id": 1, "login": "ci", "email": "ci@localhost", "avatar_url": "", "admin": false,
                    "forge_id": 1, "forge_remote_id": "1", "org_id": 1 });
                Ok(Answer::json(200, &user))
            }
            ("GET", ["api", "repos", "lookup", owner, name]) => {
                let wanted = format!("{owner}/{name}");
                let found = self.repos.iter().find(|repo| repo.full_name.eq_ignore_ascii_case(&wanted));
                Ok(Answer::json(200, &shown_repo(found.ok_or_else(not_found)?)))
            }
            (method, ["api", "repos", repo, rest @ ..]) => {
                let repo = number(repo)?;
                self.repo(repo).ok_or_else(not_found)?;
                self.in_repo(method, repo, rest, request)
            }
            _ => Err(not_found()),
        }
    }

    fn in_repo(&mut self, method: &str, repo: u64, rest: &[&str], request: &Request) -> Reply {
        match (method, rest) {
            ("GET", []) => Ok(Answer::json(200, &shown_repo(self.repo(repo).ok_or_else(not_found)?))),
            ("GET", ["pipelines"]) => {
                let query = |name| request.query(name);
                let all = self.repo(repo).ok_or_else(not_found)?.pipelines.iter().rev();
                let wanted = all.filter(|pipeline| {
                    query("branch").is_none_or(|branch| pipeline.branch == branch)
                        && query("event")
                            .is_none_or(|event| event.split(',').any(|one| one == pipeline.event))
                        && query("status").is_none_or(|status| pipeline.state().word() == status)
                });
                // A list shows no workflows.
                let shown = wanted.map(|pipeline| shown_pipeline(pipeline, false)).collect();
                let page = Page::of(request, "perPage", PAGE.0, PAGE.1);
                Ok(Answer::json(200, &Value::Array(page.cut(shown))))
            }
            ("GET", ["pipelines", wanted]) => {
                let last = self.repo(repo).ok_or_else(not_found)?.pipelines.len() as u64;
                let wanted = if *wanted == "latest" { last } else { number(wanted)? };
                let pipeline = self.pipeline(repo, wanted).ok_or_else(not_found)?;
                Ok(Answer::json(200, &shown_pipeline(pipeline, true)))
            }
            ("POST", ["pipelines", wanted]) => {
                let wanted = number(wanted)?;
                let pipeline = self.pipeline(repo, wanted).ok_or_else(not_found)?.clone();
                let steps: Vec<String> = pipeline.steps.iter().map(|step| step.name.clone()).collect();
                let again = self.start(repo, Pipeline { parent: wanted, ..pipeline }, &steps);
                let pipeline = self.pipeline(repo, again.ok_or_else(not_found)?).ok_or_else(not_found)?;
                Ok(Answer::json(200, &shown_pipeline(pipeline, true)))
            }
            ("POST", ["pipelines", wanted, "cancel"]) => {
                let wanted = number(wanted)?;
                let pipeline = self.pipeline(repo, wanted).ok_or_else(not_found)?;
                if pipeline.state().is_over() {
                    let words = "Cannot cancel a non-running or non-pending or non-blocked pipeline";
                    return Err(Answer::text(400, words));
                }
                for step in pipeline.steps.iter_mut().filter(|step| !step.state.is_over()) {
                    step.state = BuildState::Killed;
                }
                self.report(repo, wanted);
                Ok(Answer::empty(200))
            }
            ("GET", ["logs", wanted, step]) => {
                let (wanted, step) = (number(wanted)?, number(step)?);
                let is_late = self.traps.contains(&Trap::LateLog);
                let now = self.now;
                let pipeline = self.pipeline(repo, wanted).ok_or_else(not_found)?;
                let found = pipeline.steps.iter_mut().find(|other| other.id == step).ok_or_else(not_found)?;
                let is_first = !std::mem::replace(&mut found.is_asked, true);
                // The lines of a step that has failed arrive a moment after the news of it.
                if is_late && is_first && found.state == BuildState::Failure {
                    return Ok(Answer::json(200, &Value::Null));
                }
                let line = |(index, text): (usize, &String)| {
                    json!({ "id": index + 1, "step_id": step, "time": now, "line": index,
                        "data": BASE64_STANDARD.encode(text), "type": 0 })
                };
                let lines: Vec<Value> = found.log.iter().enumerate().map(line).collect();
                Ok(Answer::json(200, &Value::Array(lines)))
            }
            _ => Err(not_found()),
        }
    }
}

fn shown_repo(repo: &Repo) -> Value {
    let (owner, name) = repo.full_name.split_once('/').unwrap_or(("", &repo.full_name));
    json!({
        "id": repo.id, "owner": owner, "name": name, "full_name": repo.full_name, "active": true, "private": false,
        "default_branch": "main", "forge_id": 1, "forge_remote_id": repo.id.to_string(), "org_id": 1,
        "forge_url": "", "clone_url": "", "avatar_url": "", "pr_enabled": true, "timeout": 60, "visibility": "public",
        "config_file": "", "allow_pr": true, "allow_deploy": false, "require_approval": "forks",
        "trusted": { "network": false, "volumes": false, "security": false },
    })
}

fn shown_pipeline(pipeline: &Pipeline, with_workflows: bool) -> Value {
    let state = pipeline.state();
    let at = pipeline.created;
    let finished = if state.is_over() { at + 1 } else { 0 };
    let reference = match pipeline.pull {
        0 => format!("refs/heads/{}", pipeline.branch),
        pull => format!("refs/pull/{pull}/head"),
    };
    let mut shown = json!({
        "id": pipeline.id, "number": pipeline.number, "parent": pipeline.parent, "event": pipeline.event,
        "status": state.word(), "created": at, "updated": at, "timestamp": at,
        "started": if state == BuildState::Pending { 0 } else { at }, "finished": finished,
        "commit": pipeline.commit, "branch": pipeline.branch, "ref": reference, "refspec": "", "title": "",
        "message": "", "sender": "ada", "author": "ada", "author_email": "", "author_avatar": "", "forge_url": "",
        "reviewed": 0, "reviewed_by": "", "deploy_to": "", "changed_files": [], "variables": {},
    });
    if !pipeline.errors.is_empty() {
        let error = |message: &String| json!({ "type": "compiler", "message": message, "is_warning": false });
        shown["errors"] = Value::Array(pipeline.errors.iter().map(error).collect());
    }
    if !with_workflows || !pipeline.errors.is_empty() {
        return shown;
    }
    let step = |(index, step): (usize, &Step)| {
        json!({
            "id": step.id, "uuid": format!("00000000-0000-4000-8000-{:012x}", step.id), "pipeline_id": pipeline.id,
            "pid": index + 2, "ppid": 1, "name": step.name, "state": step.state.word(), "exit_code": step.exit_code,
            "started": if step.state == BuildState::Pending { 0 } else { at },
            "finished": if step.state.is_over() { at + 1 } else { 0 }, "type": "commands", "error": "",
        })
    };
    shown["workflows"] = json!([{
        "id": pipeline.id, "pipeline_id": pipeline.id, "pid": 1, "name": pipeline.workflow, "state": state.word(),
        "started": at, "finished": finished, "error": "",
        "children": pipeline.steps.iter().enumerate().map(step).collect::<Vec<_>>(),
    }]);
    shown
}
