//! Setting a project up for a coding agent: hooks, permission rules, skills, `warp.toml`; and taking it all back.
//!
//! A [`Plan`] is made first and shows every change as a diff; [`carry_out`] then does what was shown, or nothing: a
//! file that changed in between is an error. Files that belong to others are edited where they must be and nowhere
//! else (`json`); what was done is remembered before it is done (`memory`), so that it can be taken back byte for
//! byte, or entry by entry where somebody has edited the file since.
//!
//! Invariants:
//! - A settings file that cannot be read as JSON is left alone, and then nothing else is changed either.
//! - Setting up twice changes nothing the second time.
//! - A link to a settings file stays a link: what it points to is changed.

mod claude;
mod codex;
mod defaults;
mod diff;
mod edits;
mod json;
mod memory;
mod skills;

use std::{
    env, fs, io,
    path::{Component, Path, PathBuf},
};

use engine::{Run, digest, keys};

pub use self::json::JsonError;
use self::{
    edits::{Want, apply, is_empty, is_outdated, strip},
    memory::{LARGEST, Lock, Memory, Remembered, Since},
};
use crate::{
    Dirs, Place,
    config::{self, ConfigError},
    rails::backstop::{self, BackstopError, Removal},
    text,
};

/// How many links are followed to find a file.
const MOST_LINKS: usize = 20;
/// The project's configuration.
const WARP_TOML: &str = "warp.toml";

/// The client that a project is set up for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    Claude,
    Codex,
}

/// Where the skills come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skills {
    /// Files of the project, so that they have plain names.
    Project,
    /// The plugin, or nowhere.
    Elsewhere,
}

/// What is to be set up.
#[derive(Clone, Debug)]
pub struct Options {
    pub agent: Agent,
    /// The automation level to write down; without it, the one in force decides.
    pub level: Option<u64>,
    /// Whether Claude Code's skills are set up as the project's own.
    pub skills: Skills,
    /// The program that hooks run.
    pub program: PathBuf,
}

/// Something that a person chooses for this checkout, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The automation level.
    Level(u64),
    /// Whether decisions go to the remote channel.
    RemoteDecisions(bool),
}

/// What would be changed, and what has to be said about it.
#[derive(Clone, Debug)]
pub struct Plan {
    pub files: Vec<FilePlan>,
    /// What is done about git's hooks, a line each.
    pub git: Vec<String>,
    /// What a person has to know or do.
    pub notes: Vec<String>,
    intent: Intent,
    /// The program that git's hooks run, if they are to be installed.
    backstop: Option<PathBuf>,
    memory: Memory,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Intent {
    SetUp,
    Undo,
}

/// What would become of one file.
#[derive(Clone, Debug)]
pub struct FilePlan {
    /// Its name, relative to the project's root.
    pub name: String,
    pub action: Action,
    /// What it is for, in a few words.
    pub purpose: String,
    target: PathBuf,
    before: Option<String>,
    after: Option<String>,
    /// What it held before it was ever set up, if that has to be remembered.
    original: Option<String>,
}

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Create,
    Change,
    /// It is as it should be.
    Keep,
    Remove,
}

/// Why a project cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("`{file}` cannot be edited: {source}")]
    Json { file: String, source: JsonError },
    #[error("failed to read `{}`", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("failed to write `{}`", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}` is no memory of a set-up: {problem}", path.display())]
    Memory { path: PathBuf, problem: String },
    #[error("`{file}` was changed meanwhile")]
    Moved { file: String },
    #[error("another `warp init` is at work in this project")]
    Busy,
    #[error("`{}` cannot be named in a settings file", path.display())]
    Program { path: PathBuf },
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Backstop(#[from] BackstopError),
}

impl Plan {
    /// Tells whether nothing would be written.
    pub fn is_empty(&self) -> bool {
        self.git.is_empty() && self.files.iter().all(|file| file.action == Action::Keep)
    }
}

impl FilePlan {
    /// Returns the change as a unified diff; empty if there is none.
    pub fn diff(&self) -> String {
        diff::unified(&self.name, self.before.as_deref(), self.after.as_deref())
    }

    fn new(
        name: &str,
        purpose: &str,
        target: PathBuf,
        before: Option<String>,
        after: Option<String>,
    ) -> Self {
        let action = match (&before, &after) {
            (before, after) if before == after => Action::Keep,
            (None, _) => Action::Create,
            (Some(_), Some(_)) => Action::Change,
            (Some(_), None) => Action::Remove,
        };
        let (name, purpose) = (name.to_owned(), purpose.to_owned());
        Self { name, action, purpose, target, before, after, original: None }
    }
}

/// Returns the path of the running program, as hooks should name it: the one on the search path if that is the same
/// program, because it outlives an upgrade.
pub fn this_program() -> Result<PathBuf, SetupError> {
    let failed = |source| SetupError::Read { path: PathBuf::from("/proc/self/exe"), source };
    let running = env::current_exe().and_then(|path| path.canonicalize()).map_err(failed)?;
    let path = env::var_os("PATH").unwrap_or_default();
    let named =
        env::split_paths(&path).filter(|directory| directory.is_absolute()).map(|path| path.join("warp"));
    let same = |path: &PathBuf| path.canonicalize().is_ok_and(|real| real == running);
    Ok(named.into_iter().find(same).unwrap_or(running))
}

/// Returns a program's path as settings files can hold it.
fn program_text(program: &Path) -> Result<&str, SetupError> {
    let text = program.to_str().filter(|text| program.is_absolute() && !text.contains('\n'));
    text.ok_or_else(|| SetupError::Program { path: program.to_owned() })
}

/// Returns the settings file in which an agent's client is told to ask warp, if there is one.
pub fn registered(place: &Place) -> Option<&'static str> {
    let names_warp = |file: &&&str| {
        let text = text::read(&place.root.join(file), LARGEST).unwrap_or_default();
        serde_json::from_str::<serde_json::Value>(&text)
            .is_ok_and(|settings| settings["hooks"].to_string().contains("warp"))
    };
    [claude::SETTINGS, claude::LOCAL, codex::HOOKS_FILE].iter().find(names_warp).copied()
}

/// Says what would be changed to set a project up.
pub fn plan(place: &Place, dirs: &Dirs, options: &Options) -> Result<Plan, SetupError> {
    let program = program_text(&options.program)?;
    let configured = config::load(place, dirs, None, &[])?.settings.get(keys::AUTOMATION_ACTIVE_LEVEL);
    let level = options.level.unwrap_or(configured);
    let memory = Memory::load(place)?;
    let mut plan = Plan::new(Intent::SetUp, memory);
    match options.agent {
        Agent::Claude => {
            plan.merge_claude(place, program, level)?;
            plan.merge(place, claude::SERVERS, "the tools of `warp mcp`", &claude::server(program))?;
            plan.notes.push(claude::consent());
        }
        Agent::Codex => {
            let purpose = format!("hooks of {} events", codex::events());
            plan.merge(place, codex::HOOKS_FILE, &purpose, &codex::wants(program))?;
            plan.provide_codex(place, &codex::server(program))?;
            plan.notes.extend([codex::trust(), codex::walls(place, dirs)]);
        }
    }
    if let Some(level) = options.level {
        plan.merge(place, claude::LOCAL, &format!("automation level {level}"), &claude::level(level))?;
        if plan.files.last().is_some_and(|file| file.action == Action::Create) {
            plan.notes.push(format!("`{}` is this checkout's own: keep it out of commits", claude::LOCAL));
        }
    }
    plan.provide(place, WARP_TOML, "every setting with its default", &defaults::warp_toml())?;
    if (options.agent, options.skills) == (Agent::Claude, Skills::Project) {
        for (file, name, text) in skills::SKILLS {
            plan.provide(place, file, &format!("/{name}"), text)?;
        }
    }
    plan.guard_git(place, &options.program)?;
    Ok(plan)
}

/// Says what would be changed to write a choice down. A level brings its permission rules along, and where a project was
/// never set up also git's hooks: the client's own hooks, by which a person chooses, come from elsewhere then.
///
/// A choice is the person's own, and is not taken back with the set-up.
pub fn plan_choice(place: &Place, program: &Path, choice: Choice) -> Result<Plan, SetupError> {
    let memory = Memory::load(place)?;
    if let Choice::Level(level) = choice
        && memory.file(claude::SETTINGS).is_none()
    {
        return plan_level(place, program, level, memory);
    }
    let wants = match choice {
        Choice::Level(level) => claude::level(level),
        Choice::RemoteDecisions(on) => claude::remote_decisions(on),
    };
    let target = follow(&place.root.join(claude::LOCAL))?;
    let current = read(&target)?;
    let json = |source| SetupError::Json { file: claude::LOCAL.to_owned(), source };
    let (after, _) = apply(current.as_deref().unwrap_or_default(), &wants).map_err(json)?;
    let file = FilePlan::new(claude::LOCAL, "a person's choice", target, current, Some(after));
    let mut plan = Plan { files: vec![file], ..Plan::new(Intent::SetUp, memory) };
    match choice {
        Choice::Level(level) => plan.merge_claude(place, program_text(program)?, level)?,
        Choice::RemoteDecisions(_) => {}
    }
    Ok(plan)
}

/// Says what a level needs in a project that was never set up: its rules in the checkout's own file, and git's hooks.
fn plan_level(place: &Place, program: &Path, level: u64, memory: Memory) -> Result<Plan, SetupError> {
    let mut plan = Plan::new(Intent::SetUp, memory);
    let wants: Vec<Want> = claude::level(level).into_iter().chain(claude::rules(level)).collect();
    let purpose = format!("automation level {level} and its permission rules");
    plan.merge(place, claude::LOCAL, &purpose, &wants)?;
    plan.guard_git(place, program)?;
    Ok(plan)
}

/// Says what would be changed to take a set-up back. `open` is the run that is open in the project.
pub fn plan_undo(place: &Place, open: Option<&Run>) -> Result<Plan, SetupError> {
    let memory = Memory::load(place)?;
    let mut plan = Plan::new(Intent::Undo, memory.clone());
    if let Some(run) = open.filter(|_| !memory.is_empty()) {
        plan.notes.push(format!(
            "run {} is open here, in `{}`: without the hooks nothing keeps its agent to its phase. `warp stop` stops it, `warp \
             init` puts the hooks back",
            run.id, run.phase
        ));
    }
    match backstop::removal(place)? {
        Removal::Nothing => {}
        Removal::Whole => plan.git.push("take warp's hooks out of git".to_owned()),
        Removal::Stays { others, is_listed } => {
            let others: Vec<String> = others.iter().map(|root| root.display().to_string()).collect();
            let line = format!("leave warp's hooks in git, because {} relies on them too", others.join(", "));
            if is_listed { plan.git.push(line) } else { plan.notes.push(line) }
        }
    }
    for remembered in &memory.files {
        plan.take_back(place, remembered)?;
    }
    Ok(plan)
}

/// Does what a plan says. What is needed to take it back is on disk before the first file is changed.
///
/// Returns what somebody has changed since, and what was left for that reason.
pub fn carry_out(place: &Place, plan: &Plan) -> Result<Vec<String>, SetupError> {
    if plan.is_empty() && (plan.intent == Intent::SetUp || plan.memory.is_empty()) {
        return Ok(Vec::new());
    }
    let _lock = Lock::take(place)?;
    for file in &plan.files {
        if read(&file.target)? != file.before {
            return Err(SetupError::Moved { file: file.name.clone() });
        }
    }
    match plan.intent {
        Intent::SetUp => {
            let originals: Vec<&str> =
                plan.files.iter().filter_map(|file| file.original.as_deref()).collect();
            if plan.memory.is_empty() {
                // A choice in a project that was not set up leaves nothing to take back.
                Memory::remove(place)?;
            } else {
                plan.memory.store(place, &originals)?;
            }
            plan.files.iter().try_for_each(write)?;
            if let Some(program) = &plan.backstop {
                backstop::install(place, program)?;
            }
            Ok(Vec::new())
        }
        Intent::Undo => {
            let left = if plan.git.is_empty() { Vec::new() } else { backstop::remove(place)? };
            plan.files.iter().try_for_each(write)?;
            for file in &plan.files {
                // What a crash may have left.
                let path = memory::draft(&file.target);
                crate::atomic::remove(&path).map_err(|source| SetupError::Write { path, source })?;
            }
            for directory in plan.memory.directories.iter().rev() {
                let path = place.root.join(directory);
                memory::remove_if_empty(&path).map_err(|source| SetupError::Write { path, source })?;
            }
            Memory::remove(place)?;
            Ok(left)
        }
    }
}

impl Plan {
    fn new(intent: Intent, memory: Memory) -> Self {
        Self { files: Vec::new(), git: Vec::new(), notes: Vec::new(), intent, backstop: None, memory }
    }

    /// Plans git's own hooks.
    fn guard_git(&mut self, place: &Place, program: &Path) -> Result<(), SetupError> {
        match backstop::plan(place, program) {
            Ok(hooks) => {
                self.git = hooks.steps().iter().map(ToString::to_string).collect();
                self.backstop = Some(program.to_owned());
            }
            Err(BackstopError::NoRepository { .. }) => {
                self.notes.push("there is no git repository, so git itself stops nothing".to_owned());
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn merge_claude(&mut self, place: &Place, program: &str, level: u64) -> Result<(), SetupError> {
        let purpose = format!("hooks of {} events, permission rules of level {level}", claude::events());
        self.merge(place, claude::SETTINGS, &purpose, &claude::wants(program, level))
    }

    fn provide_codex(&mut self, place: &Place, server: &str) -> Result<(), SetupError> {
        self.provide(place, codex::CONFIG_FILE, "the tools of `warp mcp`", server)?;
        let theirs = self.files.last().and_then(|file| file.after.as_deref()).filter(|text| *text != server);
        if theirs.is_some_and(|text| !text.contains("[mcp_servers.warp]")) {
            self.notes.push(codex::add(server));
        }
        Ok(())
    }

    /// Plans a file that belongs to others: what is wanted is added to what is there.
    fn merge(&mut self, place: &Place, name: &str, purpose: &str, wants: &[Want]) -> Result<(), SetupError> {
        let json = |source| SetupError::Json { file: name.to_owned(), source };
        let target = follow(&place.root.join(name))?;
        let current = read(&target)?;
        let known = self.memory.file(name).cloned();
        let base = match &known {
            None => current.clone(),
            Some(known) => match known.since(current.as_deref()) {
                Since::AsBefore => current.clone(),
                Since::AsWritten => known.original(place)?,
                Since::Changed => match &current {
                    None => None,
                    Some(text) => {
                        let (_, missing) = apply(text, wants).map_err(json)?;
                        if missing.is_empty() && !is_outdated(&known.done, wants) {
                            self.files.push(FilePlan::new(name, purpose, target, current.clone(), current));
                            return Ok(());
                        }
                        let stripped = strip(text, &known.done).map_err(json)?;
                        (known.original.is_some() || !is_empty(&stripped)).then_some(stripped)
                    }
                },
            },
        };
        let (after, done) = apply(base.as_deref().unwrap_or_default(), wants).map_err(json)?;
        let mut file = FilePlan::new(name, purpose, target, current, Some(after));
        if !done.is_empty() {
            self.remember(place, &mut file, known.as_ref(), base, done);
        }
        self.files.push(file);
        Ok(())
    }

    /// Plans a file of our own: it is written where there is none, and renewed where nobody has changed it.
    fn provide(&mut self, place: &Place, name: &str, purpose: &str, text: &str) -> Result<(), SetupError> {
        let target = follow(&place.root.join(name))?;
        let current = read(&target)?;
        let known = self.memory.file(name).cloned();
        let is_ours =
            |text: &str| known.as_ref().is_some_and(|known| known.since(Some(text)) == Since::AsWritten);
        let (after, purpose) = match &current {
            Some(theirs) if !is_ours(theirs) && theirs != text => {
                (theirs.clone(), "somebody's own; left as it is")
            }
            Some(_) | None => (text.to_owned(), purpose),
        };
        let mut file = FilePlan::new(name, purpose, target, current, Some(after));
        if file.action != Action::Keep {
            self.remember(place, &mut file, known.as_ref(), None, Vec::new());
        }
        self.files.push(file);
        Ok(())
    }

    fn remember(
        &mut self,
        place: &Place,
        file: &mut FilePlan,
        known: Option<&Remembered>,
        original: Option<String>,
        done: Vec<edits::Done>,
    ) {
        let before = file.before.as_deref().map(digest);
        let remembered = Remembered {
            name: file.name.clone(),
            original: original.as_deref().map(digest),
            written: file.after.as_deref().map(digest).unwrap_or_default(),
            earlier: before.filter(|_| known.is_some() && file.action != Action::Keep),
            done,
        };
        if known.is_some_and(|known| file.action == Action::Keep && known.written == remembered.written) {
            return;
        }
        file.original = original;
        self.memory.put(remembered);
        // A link may lead anywhere: only directories of the project are made, and remembered.
        let above = Path::new(&file.name).ancestors().skip(1).filter(|path| !path.as_os_str().is_empty());
        let missing: Vec<String> = above
            .filter(|path| !place.root.join(path).exists())
            .map(|path| path.to_string_lossy().into_owned())
            .collect();
        for directory in missing.into_iter().rev() {
            if !self.memory.directories.contains(&directory) {
                self.memory.directories.push(directory);
            }
        }
    }

    fn take_back(&mut self, place: &Place, remembered: &Remembered) -> Result<(), SetupError> {
        let name = &remembered.name;
        let target = follow(&place.root.join(name))?;
        let current = read(&target)?;
        let (after, purpose) = match (remembered.since(current.as_deref()), &current) {
            (Since::AsWritten, _) => (remembered.original(place)?, "as it was before"),
            (Since::AsBefore, _) => (current.clone(), "as it was before"),
            (Since::Changed, None) => (None, "removed since; left so"),
            (Since::Changed, Some(text)) if remembered.done.is_empty() => {
                (Some(text.clone()), "changed since; kept as it is")
            }
            (Since::Changed, Some(text)) => {
                let json = |source| SetupError::Json { file: name.clone(), source };
                let stripped = strip(text, &remembered.done).map_err(json)?;
                let after = (remembered.original.is_some() || !is_empty(&stripped)).then_some(stripped);
                (after, "changed since; only warp's entries are taken out")
            }
        };
        self.files.push(FilePlan::new(name, purpose, target, current, after));
        Ok(())
    }
}

fn write(file: &FilePlan) -> Result<(), SetupError> {
    let written = match (file.action, &file.after) {
        (Action::Keep, _) => Ok(()),
        (Action::Create | Action::Change | Action::Remove, Some(text)) => memory::replace(&file.target, text),
        (Action::Create | Action::Change | Action::Remove, None) => fs::remove_file(&file.target),
    };
    written.map_err(|source| SetupError::Write { path: file.target.clone(), source })
}

/// Reads a text; none if there is no file.
fn read(path: &Path) -> Result<Option<String>, SetupError> {
    match text::read(path, LARGEST) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(SetupError::Read { path: path.to_owned(), source }),
    }
}

/// Returns the file that a path leads to, through every link, even if it is not there yet.
fn follow(path: &Path) -> Result<PathBuf, SetupError> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(link) = fs::read_link(&path) else { return Ok(path) };
        let directory = path.parent().unwrap_or(Path::new("/"));
        let is_plain = |part: Component<'_>| part != Component::ParentDir;
        let joined = directory.join(&link);
        path = if link.components().all(is_plain) {
            joined
        } else {
            // A step up is taken from where the directory really is.
            let (above, name) =
                (joined.parent().map(Path::to_owned), joined.file_name().map(ToOwned::to_owned));
            match (above.and_then(|above| above.canonicalize().ok()), name) {
                (Some(above), Some(name)) => above.join(name),
                _ => joined,
            }
        };
    }
    Err(SetupError::Read { path, source: io::Error::other("it is a link that leads to no end") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(place: &Place, choice: Choice) -> Plan {
        let plan = plan_choice(place, Path::new("/opt/warp"), choice).unwrap();
        carry_out(place, &plan).unwrap();
        plan
    }

    #[test]
    fn a_level_in_a_project_that_was_never_set_up_is_kept_with_its_rules_in_the_own_file() {
        let root = tempfile::tempdir().unwrap();
        let place = Place::at(root.path()).unwrap();
        choose(&place, Choice::RemoteDecisions(true));
        choose(&place, Choice::Level(2));
        let text = fs::read_to_string(root.path().join(claude::LOCAL)).unwrap();
        let local: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(local["_rdb"]["enabled"], true);
        assert_eq!(local["_automation"]["active_level"], 2);
        assert!(local["permissions"]["deny"].as_array().is_some_and(|rules| !rules.is_empty()));
        assert!(choose(&place, Choice::Level(2)).is_empty());
        assert!(!root.path().join(claude::SETTINGS).exists(), "what is shared with others is left alone");
    }

    #[test]
    fn in_a_project_that_was_set_up_a_level_brings_its_rules() {
        let root = tempfile::tempdir().unwrap();
        let place = Place::at(root.path()).unwrap();
        let dirs = Dirs::new(root.path().join("state"), root.path().join("config"));
        let program = PathBuf::from("/opt/warp");
        let options = Options { agent: Agent::Claude, level: None, skills: Skills::Elsewhere, program };
        carry_out(&place, &plan(&place, &dirs, &options).unwrap()).unwrap();
        let rules = || fs::read_to_string(root.path().join(claude::SETTINGS)).unwrap();
        assert!(!rules().contains("\"Edit\""));
        choose(&place, Choice::Level(3));
        assert!(rules().contains("\"Edit\""));
        carry_out(&place, &plan_undo(&place, None).unwrap()).unwrap();
        assert!(!root.path().join(claude::SETTINGS).exists());
        assert!(root.path().join(claude::LOCAL).exists());
    }
}
