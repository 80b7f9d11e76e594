//! Walls around an agent, and around whatever runs what an agent has written.
//!
//! Bubblewrap builds them: the world is read-only, one tree is writable, its git directory is not, what warp keeps is
//! not there at all, and of the person's home only what is named. Processes within are counted anew and end together.
//! What is shown, hidden and kept is in one table, `table.rs`; the network stays as it is.
//!
//! A run's tree can be mounted over the project's own path ([`Walls::project`]): then absolute paths, editable installs and
//! links that lead to the project mean the run's tree, and the person's checkout cannot be seen. [`View`] translates paths.

mod home;
mod limits;
mod logins;
mod mounts;
mod root;
mod table;
mod tidy;
mod tools;
mod user;
mod view;

pub(crate) use home::elsewhere;
pub(crate) use logins::{clients, is_for_another};
pub use tidy::{tidy, unblock_git};
pub use user::is_ours;
pub use view::View;

use std::{
    env,
    ffi::{OsStr, OsString},
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use crate::process::{self, Bounds, End};
use root::Privilege;

/// How long the trial may take.
const LIMIT: Duration = Duration::from_secs(10);
/// The program that builds the walls.
const PROGRAM: &str = "bwrap";

/// A sandbox that was tried and works.
#[derive(Clone, Debug)]
pub struct Sandbox {
    program: PathBuf,
    rank: Privilege,
}

/// Why there is no sandbox.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSandbox {
    #[error("bubblewrap is not installed")]
    Missing,
    #[error("bubblewrap is there but fails: {words}")]
    Fails { words: String },
    #[error("`/proc/sys` of this machine can be written from inside, because warp runs as root")]
    Open,
}

/// Who runs in the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxUser {
    /// A coding agent: its login and its configuration are there, not those of others.
    Agent,
    /// What a repository holds: tests, gates, hooks. No login at all.
    Content,
}

/// How a command line came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// Somebody has typed it.
    Typed,
    /// A file says so, perhaps a project's: what is no program may be anything.
    Configured,
}

/// What is within the walls.
#[derive(Clone, Debug)]
pub struct Walls {
    program: PathBuf,
    rank: Privilege,
    /// The directory that is worked in.
    pub tree: PathBuf,
    /// The project's own path, over which the tree is mounted; without one the tree is seen where it is. Canonical.
    pub project: Option<PathBuf>,
    /// Other spellings of the project's path, which lead to it through links.
    pub also_known_as: Vec<PathBuf>,
    /// The tree's git directory, if it is not in the tree: it can be read, not written.
    pub git_dir: Option<PathBuf>,
    /// Directories that are not there: warp's own state.
    pub hidden: Vec<PathBuf>,
    /// The person's home.
    pub home: PathBuf,
    /// What of the home is shown besides what the table names, relative to it.
    pub shown: Vec<PathBuf>,
    /// Programs that are needed, by their path: they are shown with what belongs to them.
    pub tools: Vec<PathBuf>,
    /// Where caches and conversations are kept that last from one agent to the next.
    pub kept: PathBuf,
    /// Files and directories that have to be seen although they are in a place that is hidden.
    pub visible: Vec<PathBuf>,
    /// How much of the machine what runs inside may use.
    pub bounds: Bounds,
    /// Clients whose login and configuration an agent sees: `claude`, `codex`, `gemini`, `opencode`.
    pub logins: Vec<String>,
    /// Files and directories that may be written besides the tree.
    pub writable: Vec<PathBuf>,
    /// Files that stand in the place of others, and may be written: each with that place.
    pub instead: Vec<(PathBuf, PathBuf)>,
    /// Whether the tree can be read only, and no tool of an agent is offered that writes.
    pub reads_only: bool,
}

/// Why walls cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum WallError {
    #[error("`{}` cannot be put in the sandbox", path.display())]
    Path {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}` contains all of what is to be hidden or protected", path.display())]
    TooWide { path: PathBuf },
    #[error(
        "the project `{}` contains `{}`, so a run's tree cannot take its place in the sandbox: move the project into a \
         directory of its own",
        project.display(), path.display()
    )]
    ProjectTooWide { project: PathBuf, path: PathBuf },
}

impl Sandbox {
    /// Finds out by a trial whether there is a sandbox. One that has worked in this process is not tried again.
    pub fn find() -> Result<Self, NoSandbox> {
        static TRIED: Mutex<Option<Sandbox>> = Mutex::new(None);
        let program = process::installed(PROGRAM).ok_or(NoSandbox::Missing)?;
        let mut tried = TRIED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = tried.as_ref().filter(|found| found.program == program) {
            return Ok(found.clone());
        }
        let found = Self::best(&program, root::ranks())?;
        *tried = Some(found.clone());
        Ok(found)
    }

    /// Returns the first kind of sandbox that works.
    fn best(program: &Path, ranks: &[Privilege]) -> Result<Self, NoSandbox> {
        let mut outcome = Err(NoSandbox::Missing);
        for rank in ranks {
            outcome = Self { program: program.to_owned(), rank: *rank }.tried();
            if outcome.is_ok() {
                break;
            }
        }
        outcome
    }

    /// Starts a program in a sandbox of this kind, which looks whether the machine's settings can be written.
    fn tried(self) -> Result<Self, NoSandbox> {
        let mut arguments: Vec<OsString> =
            ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
                .map(OsString::from)
                .into();
        arguments.extend(root::mounts(self.rank));
        arguments.extend(mounts::NAMESPACES.map(OsString::from));
        arguments.extend(root::namespaces(self.rank).iter().map(OsString::from));
        arguments.push("--".into());
        arguments.extend(root::switch(self.rank));
        arguments.extend(["sh", "-c", root::TRIAL].map(OsString::from));
        match process::run(&self.program.to_string_lossy(), arguments, Path::new("/"), &[], LIMIT) {
            Ok(finished) if finished.is_success() => Ok(self),
            Ok(finished) if finished.end == End::Exit(root::OPEN) => Err(NoSandbox::Open),
            Ok(finished) => Err(NoSandbox::Fails { words: finished.last_words(200) }),
            Err(error) => Err(NoSandbox::Fails { words: error.to_string() }),
        }
    }

    /// Tells whether what runs inside has root's user id.
    pub fn is_root_inside(&self) -> bool {
        matches!(self.rank, Privilege::RootAlone | Privilege::Root)
    }

    /// Returns the sandbox for a tree that is a person's own. Another user would have to be given its files, so programs
    /// keep root's user id where warp has it.
    pub fn for_person(&self) -> Result<Self, NoSandbox> {
        match self.rank {
            Privilege::RootAsUser => Self::best(&self.program, &[Privilege::RootAlone, Privilege::Root]),
            Privilege::User | Privilege::RootAlone | Privilege::Root => Ok(self.clone()),
        }
    }

    /// Returns walls around a tree of warp's own, with nothing hidden but what the table names.
    pub fn walls(&self, tree: &Path, home: &Path, kept: &Path) -> Walls {
        Walls {
            program: self.program.clone(),
            rank: self.rank,
            tree: tree.to_owned(),
            project: None,
            also_known_as: Vec::new(),
            git_dir: None,
            hidden: Vec::new(),
            home: home.to_owned(),
            shown: Vec::new(),
            tools: Vec::new(),
            kept: kept.to_owned(),
            visible: Vec::new(),
            bounds: Bounds::default(),
            logins: Vec::new(),
            writable: Vec::new(),
            instead: Vec::new(),
            reads_only: false,
        }
    }
}

impl NoSandbox {
    /// Says what fixes it.
    pub fn fix(&self) -> &'static str {
        match self {
            Self::Missing => "install bubblewrap, e.g. `apt-get install bubblewrap`",
            Self::Fails { .. } => "allow user namespaces: `sysctl kernel.unprivileged_userns_clone=1`",
            Self::Open => "run warp as an ordinary user, or accept the risk with `--no-sandbox`",
        }
    }
}

impl Walls {
    /// Makes the tree its person's again, once nothing works in it any more.
    pub fn give_back(&self) -> Result<(), WallError> {
        if self.rank == Privilege::RootAsUser { user::take_back(&self.tree) } else { Ok(()) }
    }

    /// Returns the same sandbox around another tree, which is mounted where this one's is.
    pub fn over(&self, tree: &Path) -> Self {
        Self { tree: tree.to_owned(), ..self.clone() }
    }

    /// Returns where the tree is seen inside.
    pub fn inside(&self) -> &Path {
        self.project.as_deref().unwrap_or(&self.tree)
    }

    /// Returns what is called differently inside: the tree and its git directory.
    pub fn view(&self) -> View {
        let Some(project) = &self.project else { return View::default() };
        let git = self.git_dir.iter().map(|git_dir| (git_dir.clone(), mounts::git_inside()));
        View::new(std::iter::once((self.tree.clone(), project.clone())).chain(git))
    }

    /// Returns where a file of [`Self::visible`] is seen. One of the person's checkout, which is not there, has another
    /// place.
    pub fn seen_at(&self, path: &Path) -> PathBuf {
        match &self.project {
            Some(project) if path.starts_with(project) => mounts::seen_inside(path),
            Some(_) | None => path.to_owned(),
        }
    }

    /// Returns where a part of a client's directory lies that is kept from one agent to the next.
    pub(crate) fn kept_of(&self, directory: &str, part: &str) -> PathBuf {
        self.kept.join(mounts::flat(directory)).join(part)
    }

    /// Shows the program and the files that a command line names, with what they need.
    pub fn show_files_of(&mut self, line: &str, how: Line) {
        self.tools.extend(line.split_whitespace().next().and_then(process::installed));
        let files = self.files_of(line, how);
        self.tools.extend(files.iter().cloned());
        self.shown.extend(files);
    }

    /// Returns a file that a command line names and that is in the person's checkout, but not in the tree: it cannot be
    /// shown.
    pub fn lost_file_of(&self, line: &str, how: Line) -> Option<PathBuf> {
        let project = self.project.as_ref()?;
        let is_lost = |file: &PathBuf| {
            let real = file.canonicalize().ok();
            let below = real.as_ref().and_then(|real| real.strip_prefix(project).ok());
            below.is_some_and(|below| !self.tree.join(below).exists())
        };
        self.files_of(line, how).into_iter().find(is_lost)
    }

    /// Returns the files that a command line names by an absolute path.
    fn files_of(&self, line: &str, how: Line) -> Vec<PathBuf> {
        let named = |word: &str| {
            let word = word.trim_matches(['"', '\'']);
            let below = ["~/", "$HOME/"].into_iter().find_map(|start| word.strip_prefix(start));
            let path = below.map_or_else(|| PathBuf::from(word), |rest| self.home.join(rest));
            let data = path.metadata().ok().filter(|data| path.is_absolute() && data.is_file())?;
            // These are the sandbox's own.
            if mounts::KERNEL.iter().any(|own| path.starts_with(own)) {
                return None;
            }
            (how == Line::Typed || data.permissions().mode() & 0o111 != 0).then_some(path)
        };
        line.split_whitespace().filter_map(named).collect()
    }

    /// Puts a program behind these walls: returns what is to be run in its place.
    pub fn wrap(
        &self,
        who: SandboxUser,
        program: &OsStr,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<(OsString, Vec<OsString>), WallError> {
        let mut all = mounts::arguments(self, who)?;
        all.push("--".into());
        all.extend(root::switch(self.rank));
        all.extend(limits::stage(self.bounds));
        all.push(program.to_owned());
        all.extend(arguments);
        Ok((self.program.clone().into(), all))
    }
}

/// Checks that a run's tree can be mounted over a project's path: what is needed besides must not be lost with the
/// checkout.
pub fn check_project(project: &Path, needed: &[&Path]) -> Result<(), WallError> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match needed.iter().map(|path| real(path)).find(|path| path.starts_with(project)) {
        Some(path) => Err(WallError::ProjectTooWide { project: project.to_owned(), path }),
        None => Ok(()),
    }
}

/// Returns what of this process's environment is passed on, `more` names included.
pub fn environment(who: SandboxUser, more: &[String]) -> Vec<(OsString, OsString)> {
    let passes = |name: &str| table::passes(who, name) || more.iter().any(|more| more == name);
    env::vars_os().filter(|(name, _)| name.to_str().is_some_and(passes)).collect()
}
