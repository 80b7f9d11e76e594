//! Beginning, adopting and resetting runs.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use adapters::{git::Git, machine, secrets::redacted};
use engine::{Advice, Beginning, Event, Owner, Step, Workflow, begin, keys, view, workflow::Subject};
use forge::Forge as _;
use runs::{Answer, Current, Shown};
use serde_json::Map;

use super::{
    AskError, BeginError, DEFAULT_WORKFLOW, Error, Workspace, find_workflow,
    lock::Lock,
    show::{digest_of, view_digest},
};
use crate::{
    config::{self, Config, ConfigError},
    ports,
    pushing::Goal,
    rails, text,
};

/// The largest file that a run is begun from, in bytes.
const LARGEST: u64 = 8 * 1024 * 1024;
/// How many files that are not committed are remembered.
const MOST_DIRTY: usize = 300;
/// How long GitHub's command line may take to say who the user is.
const WHO_LIMIT: std::time::Duration = std::time::Duration::from_secs(5);

/// What a person asks for when a run begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub workflow: Option<String>,
    pub level: Option<u64>,
    pub issue: Option<String>,
    pub feature: Option<String>,
    pub pid: Option<u32>,
    /// The agent's session, if an agent carries the run on.
    pub session: Option<String>,
    /// Whether the workspace was made for the run.
    pub owns_workspace: bool,
    /// The branch that the work goes to, if it is not the one that is found.
    pub target: Option<String>,
    /// Settings given as flags.
    pub set: Vec<(String, String)>,
}

/// What a reset did.
#[derive(Debug, Default)]
pub struct Reset {
    /// The run that was taken off the workspace.
    pub run: Option<String>,
    /// Files that were archived.
    pub archived: Vec<PathBuf>,
}

impl Workspace {
    /// Begins a run in this workspace.
    pub fn begin(&mut self, request: Request) -> Result<Answer, BeginError> {
        let name = request.workflow.as_deref().unwrap_or(DEFAULT_WORKFLOW);
        let workflow = find_workflow(&self.place, name)?;
        let (beginning, mut advice) = self.prepare(&request)?;
        let configured = request.level.is_none();
        if !workflow.levels.is_empty() && !workflow.levels.contains(&beginning.level) {
            return Err(BeginError::Level { level: beginning.level, allowed: workflow.levels, configured });
        }
        if workflow.subject == Subject::Feature && beginning.feature.is_none() {
            return Err(BeginError::NoFeature { workflow: workflow.name });
        }
        let needs_branch = workflow.levels.contains(&2) && beginning.level < 3;
        if needs_branch && ["main", "master"].contains(&beginning.branches.branch.as_str()) {
            advice.push(Advice(
                "Must not be on main/master: make a feature branch before anything is committed".to_owned(),
            ));
        }
        let step = begin(&workflow, beginning);
        let answer = self.start(workflow, step, advice)?;
        self.announce(&answer);
        Ok(answer)
    }

    /// Begins a run where a state file of the original tools says it stands; the file itself is set aside.
    pub fn adopt(&mut self, file: &Path, request: Request) -> Result<Answer, BeginError> {
        let failed = |source| BeginError::ReadState { file: file.to_owned(), source };
        let path = file.canonicalize().map_err(failed)?;
        let text = redacted(text::read(&path, LARGEST).map_err(failed)?);
        let (beginning, mut advice) = self.prepare(&request)?;
        let (workflow, adopted) = view::adopt(&text, beginning)
            .map_err(|source| BeginError::Adopt { file: file.to_owned(), source })?;
        advice.extend(adopted.notes.into_iter().map(Advice));
        self.refuse_second_run()?;
        if self.stray_state_files().contains(&path) {
            let kept = self.set_aside(&path, &self.dirs.clock.now().millis().to_string())?;
            advice.push(Advice(format!("the original file is kept as {}", kept.display())));
        }
        self.start(workflow, adopted.step, advice)
    }

    /// Takes the run off the workspace and archives its state file. The journal keeps everything.
    pub fn reset(&mut self) -> Result<Reset, Error> {
        let mut reset = Reset::default();
        {
            let _lock = Lock::take(&self.place.own)?;
            for file in self.stray_state_files() {
                reset.archived.push(self.set_aside(&file, &self.dirs.clock.now().millis().to_string())?);
            }
        }
        match self.ask(Event::ResetRequested, Map::new()) {
            Ok(answer) => reset.run = Some(answer.current.run.id.to_string()),
            Err(AskError::NoRun) => {}
            Err(AskError::Refused(refused)) => unreachable!("an open run can always be reset: {refused}"),
            Err(AskError::Failed(error)) => return Err(error),
        }
        Ok(reset)
    }

    /// Returns the settings that a run which begins now would have, and where each came from.
    pub fn configuration(&mut self, set: &[(String, String)]) -> Result<Config, ConfigError> {
        Ok(self.configuration_and_target(set)?.0)
    }

    /// Returns the same, and the branch that the work of such a run goes to.
    pub fn configuration_and_target(
        &mut self,
        set: &[(String, String)],
    ) -> Result<(Config, String), ConfigError> {
        config::for_runs(&self.place, &self.dirs, set)
    }

    fn refuse_second_run(&mut self) -> Result<(), BeginError> {
        match self.current()? {
            Some(current) => Err(BeginError::Active {
                run: current.run.id.to_string(),
                phase: current.run.phase.to_string(),
            }),
            None => Ok(()),
        }
    }

    fn start(
        &mut self,
        workflow: Workflow,
        step: Step,
        mut advice: Vec<Advice>,
    ) -> Result<Answer, BeginError> {
        let _lock = Lock::take(&self.place.own)?;
        self.refuse_second_run()?;
        self.clear_leftovers(&workflow)?;
        self.exclude(&workflow)?;
        self.hide_head()?;
        let known = rails::begin(&self.place);
        self.store()?;
        let shown = |current: &Current| Shown { current: view_digest(current), before: None };
        let Some(mut answer) = self.runs.begin(workflow, step, shown).map_err(Error::from)? else {
            self.refuse_second_run()?;
            return Err(Error::from(runs::Error::Contended).into());
        };
        let current = &answer.current;
        if let Err(error) = config::remember_seen(&self.place, &self.dirs, &current.run.branches.merge_target)
        {
            advice.push(Advice(format!(
                "a later change of warp.toml cannot be told: {}",
                crate::spelled(&error)
            )));
        }
        advice.append(&mut answer.advice);
        if let Err(error) = known.and_then(|()| rails::ensure_begun(&self.place)) {
            advice.push(Advice(format!("moves of branches cannot be told in this run: {error}")));
        }
        if let Some(kind) = current.workflow.state_file.filter(|kind| self.state_file_place(*kind).is_none())
        {
            let words = "is not written: its directory is a link";
            advice.push(Advice(format!("the state file {} {words}", kind.path())));
        }
        let view = view::state_file(&current.workflow, &current.run);
        advice.extend(self.show_if_possible(current, view.as_ref()));
        answer.advice = advice;
        Ok(answer)
    }

    /// Removes a state file that a crash left behind when a run ended. Any other file is left, and refuses.
    fn clear_leftovers(&mut self, workflow: &Workflow) -> Result<(), BeginError> {
        let place = workflow.state_file.and_then(|kind| self.state_file_place(kind));
        let Some(file) = place else { return Ok(()) };
        if let Some(kind) = workflow.state_file {
            self.remove_copy(kind)?;
        }
        let digest = match digest_of(&file) {
            Ok(None) => return Ok(()),
            Ok(Some(digest)) => digest,
            Err(_) => return Err(BeginError::ForeignStateFile { file }),
        };
        let last = self.last_here()?;
        if last.is_some_and(|last| last.shown.before == Some(digest)) {
            crate::atomic::remove(&file).map_err(|source| Error::Write { path: file, source })?;
            return Ok(());
        }
        Err(BeginError::ForeignStateFile { file })
    }

    /// Gathers what a new run is pinned to.
    fn prepare(&mut self, request: &Request) -> Result<(Beginning, Vec<Advice>), BeginError> {
        let git = self.place.git();
        let mut branches = git.branches();
        if let Some(target) = &request.target {
            (branches.merge_target, branches.main_branch) = (target.clone(), target.clone());
            branches.session_branch.take_if(|branch| branch == target);
        }
        let mut advice = Vec::new();
        let pinned = config::pinned(&self.place, &branches.merge_target)?;
        advice.extend(config::changed_since_last_run(&self.place, &self.dirs, &pinned)?.map(Advice));
        advice.extend(pinned.differs.map(Advice));
        let config = config::load(&self.place, &self.dirs, pinned.file, &request.set)?;
        advice.extend(config.warnings.iter().cloned().map(Advice));
        let level = request.level.unwrap_or_else(|| config.settings.get(keys::AUTOMATION_ACTIVE_LEVEL));
        let made = machine::new_run_id();
        let id = made.map_err(|source| Error::Write { path: PathBuf::from("/dev/random"), source })?;
        let Config { settings, .. } = config;
        branches.merge_strategy = Goal::of(level, settings.get(keys::AUTO_MERGE)).strategy().to_owned();
        let set = Some(settings.get(keys::TEST_COMMAND)).filter(|set| *set != "auto");
        let found = match (set, settings.get(keys::SETUP_COMMAND)) {
            // A person has said both.
            (Some(_), setup) if setup != "auto" => suite::SuggestedCommands::default(),
            _ => suite::found(&self.place.root, &branches.merge_target, set)
                .map_err(|problem| ConfigError::Pinned { problem })?,
        };
        let beginning = Beginning {
            id,
            parent: None,
            settings,
            root: self.place.mark().to_owned(),
            owns_workspace: request.owns_workspace,
            level,
            owner: Owner {
                session: request.session.clone(),
                ..machine::owner(request.pid.unwrap_or_else(machine::parent))
            },
            github_user: self.github_user(),
            issue: request.issue.clone(),
            feature: request.feature.clone().map(redacted),
            branches,
            found_test_command: found.test,
            found_setup_command: found.setup,
            dirty: match self.slot.as_ref().and_then(|slot| slot.base()) {
                // It was made ready just now: there is nothing but its commit.
                Some(_) => BTreeMap::new(),
                None => not_committed(&git, &mut advice),
            },
            at: self.dirs.clock.now(),
        };
        Ok((beginning, advice))
    }

    /// Asks GitHub's command line who the user is; nobody if it is not there or not logged in.
    fn github_user(&self) -> String {
        let login = ports::gh(&self.place.root, WHO_LIMIT).and_then(|gh| gh.whoami().ok());
        login.map(|by| by.name).unwrap_or_default()
    }
}

/// Looks at what is not committed: it is the person's, and stays out of the run's commits as long as it stays as it is.
fn not_committed(git: &Git<'_>, advice: &mut Vec<Advice>) -> BTreeMap<String, String> {
    let mut dirty = match git.not_committed() {
        Ok(dirty) => dirty,
        Err(problem) => {
            advice.push(Advice(format!("what is not committed could not be looked at: {problem}")));
            return BTreeMap::new();
        }
    };
    if dirty.len() > MOST_DIRTY {
        advice.push(Advice(format!(
            "{} files are not committed; only {MOST_DIRTY} of them are kept out of the run's commits",
            dirty.len()
        )));
        let beyond = dirty.keys().nth(MOST_DIRTY).cloned().unwrap_or_default();
        dirty.split_off(&beyond);
    }
    dirty
}
