//! Finding or beginning a run, and making ready what it needs.

use dev::DevError;
use std::{
    env,
    path::{Path, PathBuf},
    sync::{Arc, Once},
};

use adapters::{
    agent::{Agent, NamedError},
    machine,
    process::{self, Bounds, Control},
    sandbox::{self, Line, NoSandbox, Sandbox, WallError, Walls},
    scratch,
    secrets::redacted,
};
use engine::{Event, Owner, Run, Settings, Standing, keys, workflow::Subject};
use forge::{ForgeError, ItemId};
use hooks::{Server, ServerError};
use jobs::JobError;
use project::{
    AskError, BeginError, ClaimError, Current, DEFAULT_WORKFLOW, Dirs, Error, Place, Request, Shell,
    Workspace,
    config::{Config, Origin},
    find_workflow,
    slots::{Kind, Pool, SlotError},
};
use serde_json::Map;

use crate::{
    away::Away,
    crew::Crew,
    driver::Driver,
    header::{Header, SessionCap},
    interrupts::Interrupts,
    show::{Show, Shown},
    wake::Wake,
    work::{self, Confined, Lent},
};

/// The automation levels that there are.
const LEVELS: [u64; 3] = [1, 2, 3];

/// What is said where a loop has nothing but its own tests.
const NO_TESTS: &str = "the project has no test command that warp knows (`test_command` names one): the acceptance tests alone \
                        say whether the feature is there";

/// What a person wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The issue, or the feature where the workflow is about one; without either, an unfinished run or the next issue that
    /// is ready.
    pub issue: Option<String>,
    pub workflow: Option<String>,
    pub level: Option<u64>,
    /// Who works; without one, as it is set.
    pub agent: Option<String>,
    pub set: Vec<(String, String)>,
    pub after: After,
    pub walled: Walled,
    /// Whether the agent lives in a terminal that a person can look at.
    pub attach: bool,
    /// The cap that the runs of a session share.
    pub session_cap: Option<SessionCap>,
}

/// What happens after an issue is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum After {
    /// The person at the terminal is asked; without one, that is all.
    #[default]
    Ask,
    Once,
    /// The next one, as long as there is one.
    UntilEmpty,
}

/// Whether an agent has to be behind walls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Walled {
    #[default]
    Always,
    /// A person has said that it may go without.
    Never,
}

impl Walled {
    /// Takes a person's word that it may go without.
    pub fn unless(goes_without: bool) -> Self {
        if goes_without { Self::Never } else { Self::Always }
    }
}

/// Why a run could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("`{0}` is neither the number of an issue nor an open run")]
    NotANumber(String),
    #[error("`{workflow}` needs a feature, described in words")]
    NoFeature { workflow: String },
    #[error("issue {number} cannot be worked on: {why}")]
    NotReady { number: ItemId, why: String },
    #[error("{about} is worked on in `{}`, which is a checkout of yours", root.display())]
    InCheckout { about: String, root: PathBuf },
    #[error("{about} is worked on by process {pid} in `{}`", root.display())]
    Claimed { about: String, pid: u32, root: PathBuf },
    #[error("`{}` is on `{branch}`, where the work goes in the end", root.display())]
    OnTarget { branch: String, root: PathBuf },
    #[error("`--until-empty` continues with issues, and `{workflow}` is about a feature")]
    NotAboutIssues { workflow: String },
    #[error("there is no sandbox for what agents write: {0}")]
    NoSandbox(NoSandbox),
    #[error(transparent)]
    Walls(#[from] WallError),
    #[error(
        "the agent needs `{}`, which is in your checkout and not committed: agents see the run's own files there",
        file.display()
    )]
    AgentInCheckout { file: PathBuf },
    #[error("`{0}` cannot be talked to in a terminal: claude, codex or command:LINE can")]
    NoTerminal(String),
    #[error("{about} is not for a terminal: `warp run` resumes it")]
    NotForTerminal { about: String },
    #[error("tmux is not installed")]
    NoTmux,
    #[error("there is no place for the phase file in `{}`", path.display())]
    PhaseFile {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error(transparent)]
    Agent(#[from] NamedError),
    #[error(transparent)]
    Dev(#[from] DevError),
    #[error(transparent)]
    Hooks(#[from] ServerError),
    #[error("warp's own program cannot be found")]
    Program(#[source] std::io::Error),
    #[error(transparent)]
    Claim(ClaimError),
    #[error(transparent)]
    Begin(#[from] BeginError),
    #[error(transparent)]
    Slot(#[from] SlotError),
    #[error(transparent)]
    Forge(#[from] ForgeError),
    #[error(transparent)]
    Next(#[from] JobError),
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error(transparent)]
    Failed(#[from] Error),
}

impl From<ClaimError> for StartError {
    fn from(error: ClaimError) -> Self {
        match error {
            ClaimError::Held { .. } => Self::Claim(error),
            ClaimError::Failed(error) => Self::Failed(error),
        }
    }
}

/// Every process of the machine is looked at for orphans: once is enough for a session of many runs.
static ORPHANS: Once = Once::new();

impl<'a> Driver<'a> {
    /// Takes up the run that is meant, or begins one.
    pub fn start(
        place: &Place,
        dirs: &Dirs,
        options: Options,
        interrupts: Interrupts,
        show: &'a mut dyn Show,
    ) -> Result<Self, StartError> {
        let sandbox = sandbox(options.walled)?;
        let dirs = &dirs.clone().stopped_by(interrupts.stop_check());
        let mut here = Workspace::open(place.clone(), dirs.clone())?;
        ORPHANS.call_once(|| {
            process::end_orphans();
            scratch::remove_leftovers();
        });
        crate::dev::end_left_behind(place, dirs)?;
        crate::attach::remove_left(
            &dirs.project(&place.ensure_project_id().map_err(Error::from)?).join("attach"),
        );
        let found = find(&mut here, &options)?;
        if let Some(Current { run, workflow, .. }) = &found.run
            && options.attach
            && !workflow.is_for_terminal()
        {
            let about = format!("run {} of `{}`", run.id, workflow.name);
            return Err(StartError::NotForTerminal { about });
        }
        // Before anything is begun: without an agent there is nothing to begin.
        let crew = crew(&mut here, found.run.as_ref(), &options)?;
        let taken = take_up(&mut here, found, &options)?;
        let run = &taken.current.run;
        let in_checkout = taken.workspace.place.kind().is_none();
        let sandbox = match sandbox.as_ref().filter(|_| in_checkout) {
            Some(sandbox) => Some(sandbox.for_person().map_err(StartError::NoSandbox)?),
            None => sandbox,
        };
        let mut walls =
            sandbox.map(|sandbox| walls_of(&sandbox, &taken.workspace.place, dirs, run)).transpose()?;
        if let Some(walls) = &mut walls {
            show_agent(walls, &options, &run.settings)?;
        }
        let confined = confine(&taken, walls, &interrupts)?;
        Self::of(taken, crew, confined, options, interrupts, show)
    }

    /// Does the same with an agent in this process, which needs neither walls nor a socket for its hooks.
    pub fn start_with(
        agent: Arc<dyn Agent>,
        place: &Place,
        dirs: &Dirs,
        options: Options,
        interrupts: Interrupts,
        show: &'a mut dyn Show,
    ) -> Result<Self, StartError> {
        let dirs = &dirs.clone().stopped_by(interrupts.stop_check());
        let mut here = Workspace::open(place.clone(), dirs.clone())?;
        let found = find(&mut here, &options)?;
        let taken = take_up(&mut here, found, &options)?;
        let tree = taken.workspace.place.root.clone();
        let shell = content(None, taken.current.run.id.as_str(), &interrupts);
        let confined =
            Confined { tree, walls: None, shell, hooks: None, mcp: None, allowed: Vec::new(), server: None };
        Self::of(taken, Crew::of_one(agent), confined, options, interrupts, show)
    }

    fn of(
        taken: Taken,
        crew: Crew,
        confined: Confined,
        options: Options,
        interrupts: Interrupts,
        show: &'a mut dyn Show,
    ) -> Result<Self, StartError> {
        let Taken { mut workspace, current, verb } = taken;
        let mut crew = crew;
        let run = current.run.id.as_str();
        show.show(Shown::Did(&format!("run {run} {verb} in `{}`", current.run.phase)));
        let (header, unreached) =
            Header::of(&mut workspace, &current, &mut crew, options.session_cap, confined.walls.is_some())?;
        show.show(Shown::Header(&header));
        if let Some(why) = unreached {
            show.show(Shown::Warned(&format!("the remote was not reached: {why}")));
        }
        let is_tested = current.run.settings.get(keys::TEST_BEFORE_COMMIT);
        let mut rows = current.workflow.phases.iter().flat_map(|phase| &phase.rows);
        if rows.any(|row| row.tests_pass)
            && is_tested
            && suite::test_command(&workspace.place.root, &current.run).is_none()
        {
            show.show(Shown::Warned(NO_TESTS));
        }
        workspace.shell = confined.shell.clone();
        let wake = Wake::of(&workspace, &interrupts)?;
        let away = Away::follow(&mut workspace.dirs);
        show.ring(wake.bell.clone());
        Ok(Self {
            run: run.to_owned(),
            workspace,
            crew,
            spend: None,
            told_unmetered: false,
            probed: None,
            away,
            asked_seat: None,
            _lent: Lent(confined.walls.clone()),
            confined,
            options,
            wake,
            terminal: None,
            told_wait: None,
            next_look: None,
            interrupts,
            show,
        })
    }
}

/// A run that is this process's to carry on.
struct Taken {
    workspace: Workspace,
    current: Current,
    /// Whether it begins or goes on.
    verb: &'static str,
}

/// Claims the issue, and opens the workspace of its run or begins one; what an earlier process left running is ended.
fn take_up(here: &mut Workspace, found: Found, options: &Options) -> Result<Taken, StartError> {
    if found.run.is_some() && !options.set.is_empty() {
        // They count for nothing any more; a mistake in them is one all the same.
        here.configuration(&options.set).map_err(BeginError::Config)?;
    }
    // A claim waits for no disk, and the log that it goes to is this process's to keep short.
    here.sync_later()?;
    let known = found.run.as_ref().and_then(|current| current.run.feature.as_deref());
    match (found.issue.as_deref(), found.feature.as_deref().or(known)) {
        (Some(issue), _) => here.claim(issue)?,
        (None, Some(feature)) => here.claim_feature(feature)?,
        (None, None) => {}
    }
    let dirs = here.dirs.clone();
    let pool = Pool::of(&here.place, &dirs)?;
    let mut workspace = match &found.run {
        Some(current) => resume(&pool, here, &dirs, current, options.walled)?,
        None => begin(&pool, here, &dirs, options, &found)?,
    };
    workspace.take_claim_of(here)?;
    let current = workspace.current()?.ok_or(AskError::NoRun)?;
    jobs::on(&mut workspace).begin_feature(&current)?;
    let current = workspace.current()?.ok_or(AskError::NoRun)?;
    if found.run.is_some() {
        process::end_leftovers(current.run.id.as_str());
    }
    let verb = match &found.run {
        Some(before)
            if options.level.is_some_and(|level| level != before.run.level) || !options.set.is_empty() =>
        {
            "resumes as it began, whatever `--level` and `--set` say,"
        }
        Some(_) => "resumes",
        None => "begins",
    };
    Ok(Taken { workspace, current, verb })
}

/// What was found: a run to go on with, or an issue or a feature to begin with.
struct Found {
    issue: Option<String>,
    feature: Option<String>,
    run: Option<Current>,
}

fn find(here: &mut Workspace, options: &Options) -> Result<Found, StartError> {
    let about_feature = about_feature(here, options)?;
    if let Some(workflow) = &about_feature {
        if options.after == After::UntilEmpty {
            return Err(StartError::NotAboutIssues { workflow: workflow.clone() });
        }
        if let Some(feature) = &options.issue {
            if feature.trim().is_empty() || ItemId::typed(feature).is_some() {
                return Err(StartError::NoFeature { workflow: workflow.clone() });
            }
            let run = loop_about(here, workflow, feature)?;
            return Ok(Found { issue: None, feature: Some(feature.clone()), run });
        }
    }
    let Some(issue) = &options.issue else {
        let run = match loop_here(here, options)? {
            Some(current) => Some(current),
            None => here.unfinished()?.filter(|current| is_wanted(options, &current.run)),
        };
        if let (Some(workflow), None) = (about_feature, &run) {
            return Err(StartError::NoFeature { workflow });
        }
        let issue = run.as_ref().and_then(|current| current.run.issue.clone());
        return Ok(Found { issue, feature: None, run });
    };
    let Some(number) = ItemId::typed(issue) else {
        let open = open(here, issue, &format!("run {issue}"))?;
        let run = open.ok_or_else(|| StartError::NotANumber(issue.clone()))?;
        return Ok(Found { issue: run.run.issue.clone(), feature: None, run: Some(run) });
    };
    let issue = number.to_string();
    let run = open(here, &issue, &format!("issue {issue}"))?;
    if run.is_none() {
        ready(here, number, options)?;
    }
    Ok(Found { issue: Some(issue), feature: None, run })
}

/// Returns the open run that a person has named by its id or its issue, if this process may carry it on.
fn open(here: &mut Workspace, name: &str, about: &str) -> Result<Option<Current>, StartError> {
    let Some(current) = here.select(Some(name))?.filter(|current| current.run.is_open()) else {
        return Ok(None);
    };
    let (owner, about, root) = (&current.run.owner, about.to_owned(), PathBuf::from(&current.run.root));
    if !current.run.owns_workspace {
        return Err(StartError::InCheckout { about, root });
    }
    if !here.is_left(&current.run)? {
        return Err(StartError::Claimed { about, pid: owner.pid, root });
    }
    Ok(Some(current))
}

/// Returns the workflow that is wanted, if it is about a feature.
fn about_feature(here: &Workspace, options: &Options) -> Result<Option<String>, StartError> {
    let Some(name) = &options.workflow else { return Ok(None) };
    let workflow = find_workflow(&here.place, name)?;
    Ok((workflow.subject == Subject::Feature).then_some(workflow.name))
}

/// Finds the open run that builds a feature, whether it was begun here by warp or in an agent.
fn loop_about(here: &mut Workspace, workflow: &str, feature: &str) -> Result<Option<Current>, StartError> {
    // A run knows its feature without secrets.
    let feature = redacted(feature.trim().to_owned());
    let mut open = here.driven()?;
    open.extend(here.current()?.filter(|current| !current.run.owns_workspace));
    let is_meant = |current: &Current| {
        let run = &current.run;
        run.workflow == workflow && run.feature.as_deref().is_some_and(|known| known.trim() == feature)
    };
    let Some(current) = open.into_iter().find(is_meant) else { return Ok(None) };
    if !here.is_left(&current.run)? {
        let (pid, root) = (current.run.owner.pid, PathBuf::from(&current.run.root));
        return Err(StartError::Claimed { about: format!("`{feature}`"), pid, root });
    }
    Ok(Some(current))
}

/// Tells whether a run is of the workflow that a person has named, if they have.
fn is_wanted(options: &Options, run: &Run) -> bool {
    options.workflow.as_ref().is_none_or(|workflow| *workflow == run.workflow)
}

/// Returns the loop that an agent has begun in this checkout, and that nobody carries on.
fn loop_here(here: &mut Workspace, options: &Options) -> Result<Option<Current>, StartError> {
    let is_meant = |current: &Current| {
        current.workflow.subject == Subject::Feature
            && current.run.standing != Standing::Stopped
            && is_wanted(options, &current.run)
    };
    match here.current()?.filter(is_meant) {
        Some(current) if here.is_left(&current.run)? => Ok(Some(current)),
        Some(_) | None => Ok(None),
    }
}

/// Looks whether a named issue can be worked on. To name it is to approve it, once its run has begun.
fn ready(here: &mut Workspace, number: ItemId, options: &Options) -> Result<(), StartError> {
    match here.why_not_ready(number, options.workflow.as_deref())? {
        Some(why) => Err(StartError::NotReady { number, why }),
        None => Ok(()),
    }
}

fn begin(
    pool: &Pool,
    here: &mut Workspace,
    dirs: &Dirs,
    options: &Options,
    found: &Found,
) -> Result<Workspace, StartError> {
    if let Some(level) = options.level.filter(|level| found.feature.is_some() && !LEVELS.contains(level)) {
        return Err(BeginError::Level { level, allowed: LEVELS.to_vec(), configured: false }.into());
    }
    let mut set = options.set.clone();
    set.extend(options.agent.clone().map(|agent| ("agent".to_owned(), agent)));
    let (config, target) = here.configuration_and_target(&set).map_err(BeginError::Config)?;
    if config.settings.get(keys::DEV_HEALTH_CHECK) {
        here.check_dev()?;
    }
    let kind = match config.settings.get(keys::WORKSPACE) {
        "worktree" => Kind::Worktree,
        _ => Kind::Clone,
    };
    if options.walled == Walled::Always && kind == Kind::Clone {
        sandbox::check_project(&here.place.root, &[&home(), &dirs.state])?;
    }
    let level = chosen_level(options, &config);
    let slot = pool.take(kind, &target)?;
    let mut workspace = Workspace::open_slot(slot, dirs.clone())?;
    workspace.sync_later()?;
    let answer = workspace.begin(Request {
        workflow: options.workflow.clone(),
        level,
        issue: found.issue.clone(),
        feature: found.feature.clone(),
        pid: Some(std::process::id()),
        session: Some(driver(options.walled).to_owned()),
        owns_workspace: true,
        target: Some(target),
        set,
    })?;
    if let Some(slot) = &workspace.slot {
        slot.note_run(answer.current.run.id.as_str())?;
    }
    if let Some(number) = found.issue.as_deref().and_then(ItemId::typed) {
        here.approve_named(number)?;
    }
    workspace.say_next(answer.advice);
    Ok(workspace)
}

/// Returns the level that a person has chosen. Whoever has never chosen one gets one at which nothing is merged without them;
/// nothing if the settings say.
pub(crate) fn chosen_level(options: &Options, config: &Config) -> Option<u64> {
    let unset = config.origins.get(keys::AUTOMATION_ACTIVE_LEVEL.name()) == Some(&Origin::Default);
    options.level.or_else(|| unset.then_some(2))
}

/// Opens the workspace of a run and takes the run over, under the claim that `here` holds.
fn resume(
    pool: &Pool,
    here: &mut Workspace,
    dirs: &Dirs,
    current: &Current,
    walled: Walled,
) -> Result<Workspace, StartError> {
    let mut workspace = if current.run.owns_workspace {
        let (owner, root) = (&current.run.owner, current.run.root.as_ref());
        let may_live = machine::is_live(owner) || !machine::is_here(owner);
        let slot = if may_live { pool.take_over(root)? } else { pool.reopen(root)? };
        slot.note_run(current.run.id.as_str())?;
        Workspace::open_slot(slot, dirs.clone())?
    } else {
        Workspace::open(checkout(current)?, dirs.clone())?
    };
    // Before anything is recorded: whoever has lost the claim takes nothing over.
    workspace.take_claim_of(here)?;
    // A workspace that was lost and made again does not know yet what is kept out of commits.
    workspace.exclude(&current.workflow)?;
    let session = Some(driver(walled).to_owned());
    let owner = Owner { session, ..machine::owner(std::process::id()) };
    workspace.ask_as(engine::Actor::Engine, Event::OwnerChanged { owner }, Map::new())?;
    if current.run.standing == Standing::Stopped {
        workspace.ask(Event::Resumed, Map::new())?;
    }
    jobs::on(&mut workspace).start_attempt()?;
    workspace.sync_later()?;
    Ok(workspace)
}

/// Returns the checkout in which a loop was begun, if work may be committed there.
fn checkout(current: &Current) -> Result<Place, StartError> {
    let place = Place::at(current.run.root.as_ref()).map_err(Error::from)?;
    let (branch, branches) = (place.git().branch(), &current.run.branches);
    let is_target = [&branches.merge_target, &branches.main_branch].contains(&&branch);
    if branch.is_empty() || is_target {
        let branch = if branch.is_empty() { "no branch".to_owned() } else { branch };
        return Err(StartError::OnTarget { branch, root: place.root });
    }
    Ok(place)
}

/// Returns the name under which warp carries a run on, which tells whether there are walls.
fn driver(walled: Walled) -> &'static str {
    match walled {
        Walled::Always => Owner::DRIVER,
        Walled::Never => Owner::DRIVER_WITHOUT_WALLS,
    }
}

/// Builds a sandbox around a run's workspace.
pub(crate) fn walls(
    sandbox: &Sandbox,
    place: &Place,
    dirs: &Dirs,
    settings: &Settings,
    test_command: Option<&str>,
) -> Result<Walls, Error> {
    let kept = dirs.project(&place.ensure_project_id()?).join("kept");
    let mut walls = sandbox.walls(&place.root, &home(), &kept);
    walls.git_dir = place.git_dir().map(PathBuf::from);
    walls.hidden.push(dirs.state.clone());
    if let Some((Kind::Clone, origin)) = place.kind().zip(place.origin()) {
        walls.also_known_as.extend(spelled_root(origin));
        // A checkout that is a further working tree has its repository elsewhere.
        let repository = Place::at(origin).ok().and_then(|place| place.location()).map(|at| at.common_dir);
        walls.hidden.extend(repository.filter(|path| !path.starts_with(origin)));
        walls.project = Some(origin.to_owned());
    }
    let shown = Some(settings.get(keys::SANDBOX_SHOW)).filter(|shown| *shown != "none");
    walls.shown = shown.into_iter().flat_map(env::split_paths).collect();
    walls.bounds = bounds(settings);
    let logins = settings.get(keys::SANDBOX_LOGINS).split(':').filter(|name| *name != "none");
    walls.logins = logins.map(str::to_owned).collect();
    if let Some(command) = test_command {
        walls.show_files_of(command, Line::Configured);
    }
    Ok(walls)
}

/// Returns how much of the machine a command in the sandbox may use.
fn bounds(settings: &Settings) -> Bounds {
    const MEGABYTE: u64 = 1 << 20;
    Bounds {
        processes: settings.get(keys::SANDBOX_PROCESSES),
        memory: process::share_of_memory(settings.get(keys::SANDBOX_MEMORY_PERCENT)),
        temporary: settings.get(keys::SANDBOX_TEMPORARY_MB).saturating_mul(MEGABYTE),
        file: settings.get(keys::SANDBOX_FILE_MB).saturating_mul(MEGABYTE),
    }
}

/// Builds the sandbox of a run.
fn walls_of(sandbox: &Sandbox, place: &Place, dirs: &Dirs, run: &Run) -> Result<Walls, Error> {
    walls(sandbox, place, dirs, &run.settings, suite::test_command(&place.root, run).as_deref())
}

fn home() -> PathBuf {
    env::var_os("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from)
}

/// Returns the project's path as the person has come to it, if that leads through links.
fn spelled_root(root: &Path) -> Option<PathBuf> {
    let directory = PathBuf::from(env::var_os("PWD")?);
    let real = directory.canonicalize().ok()?;
    let below = real.strip_prefix(root).ok()?.components().count();
    let spelled = directory.ancestors().nth(below)?;
    (spelled != root && spelled.canonicalize().ok()? == root).then(|| spelled.to_owned())
}

/// Shows an agent that is a command line the files of its own.
pub(crate) fn show_agent(
    walls: &mut Walls,
    options: &Options,
    settings: &Settings,
) -> Result<(), StartError> {
    let typed = options.agent.iter().map(|agent| (agent.clone(), Line::Typed));
    let configured = settings.agents().into_iter().map(|agent| (agent, Line::Configured));
    for (agent, how) in typed.chain(configured) {
        // A script is shown by who plays it.
        if let Some((_, line)) = agent.split_once(':').filter(|(kind, _)| *kind != "script") {
            if let Some(file) = walls.lost_file_of(line, how) {
                return Err(StartError::AgentInCheckout { file });
            }
            walls.show_files_of(line, how);
        }
    }
    Ok(())
}

/// Finds what walls are built with; none only where a person has said that it may go without.
pub fn sandbox(walled: Walled) -> Result<Option<Sandbox>, StartError> {
    match walled {
        Walled::Never => Ok(None),
        Walled::Always => Sandbox::find().map(Some).map_err(StartError::NoSandbox),
    }
}

/// Returns how what an agent has written is run in a workspace of a run's own, outside of the loop.
pub fn content_shell(
    sandbox: Option<&Sandbox>,
    place: &Place,
    dirs: &Dirs,
    run: &Run,
) -> Result<Shell, Error> {
    let walls = sandbox.map(|sandbox| walls_of(sandbox, place, dirs, run)).transpose()?;
    Ok(Shell::within(walls, run.id.as_str(), || Control::On))
}

fn confine(taken: &Taken, walls: Option<Walls>, interrupts: &Interrupts) -> Result<Confined, StartError> {
    let workspace = &taken.workspace;
    let program = env::current_exe().map_err(StartError::Program)?;
    let shell = content(walls.clone(), taken.current.run.id.as_str(), interrupts);
    let view = walls.as_ref().map(Walls::view).unwrap_or_default();
    let server = Server::start(&workspace.place, &workspace.dirs, view, shell.clone())?;
    let hooks = server.hooks(&program);
    let tree = workspace.place.root.clone();
    let mcp = Some(work::tools(&hooks));
    let (hooks, server) = (Some(hooks), Some(Arc::new(server)));
    // What holds it without walls is a list of what it may do: edit, and run the project's tests.
    let allowed = if walls.is_some() { None } else { suite::test_command(&tree, &taken.current.run) };
    let allowed = allowed.into_iter().collect();
    Ok(Confined { tree, walls, shell, hooks, mcp, allowed, server })
}

/// Returns how what an agent has written is run for a run.
fn content(walls: Option<Walls>, run: &str, interrupts: &Interrupts) -> Shell {
    let watch = interrupts.clone();
    Shell::within(walls, run, move || watch.go())
}

/// Sees that there is an agent for everything: without one there is nothing to begin.
fn crew(here: &mut Workspace, found: Option<&Current>, options: &Options) -> Result<Crew, StartError> {
    let warp = env::current_exe().map_err(StartError::Program)?;
    let mut crew = Crew::new(&here.place.root, warp, options.agent.clone());
    match found {
        Some(current) => crew.check(&current.run.settings, &current.workflow)?,
        None => {
            let config = here.configuration(&options.set).map_err(BeginError::Config)?;
            let name = options.workflow.as_deref().unwrap_or(DEFAULT_WORKFLOW);
            crew.check(&config.settings, &find_workflow(&here.place, name)?)?;
        }
    }
    Ok(crew)
}
