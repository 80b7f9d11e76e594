//! Running what a repository holds: its tests, the commands that verify a phase, a person's hooks.
//!
//! In a workspace of the run's own an agent has written what is run here, so it is put behind walls, without logins and
//! without tokens. In a person's own checkout it is run as the person would run it.
//!
//! Callers name paths as they are outside. Arguments and variables that are such a path are translated to what it is inside.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use adapters::{
    process::{self, Control, Environment, Finished, Job, Limits, Signal, SignalTarget},
    sandbox::{self, SandboxUser, View, Walls},
    service::{Plan, Policy},
};

/// How a command is asked to end.
const LADDER: &[(Signal, Duration)] = &[(Signal::TERM, Duration::from_secs(2))];

/// A callback that decides whether a running command continues.
type StopCheck = Arc<dyn Fn() -> Control + Send + Sync>;

/// Runs a repository's own commands. Clones share one environment, later changes included.
#[derive(Clone, Default)]
pub struct Shell {
    within: Option<Confinement>,
    /// Environment variables of the run, for tests, gates, hooks and agents alike.
    variables: Arc<Mutex<BTreeMap<String, String>>>,
}

#[derive(Clone)]
struct Confinement {
    /// None where a person wants none.
    walls: Option<Walls>,
    run: String,
    watch: StopCheck,
}

impl Shell {
    /// Runs commands for `run`, in the sandbox if there is one, while `watch` allows it.
    pub fn within(
        walls: Option<Walls>,
        run: &str,
        watch: impl Fn() -> Control + Send + Sync + 'static,
    ) -> Self {
        let within = Confinement { walls, run: run.to_owned(), watch: Arc::new(watch) };
        Self { within: Some(within), variables: Arc::default() }
    }

    /// Sets or unsets an environment variable for later commands and for the run's agents.
    pub fn set_env(&self, name: &str, value: Option<String>) {
        let mut variables = self.variables();
        match value {
            Some(value) => variables.insert(name.to_owned(), value),
            None => variables.remove(name),
        };
    }

    /// Returns the variables that were set.
    pub fn env(&self) -> Vec<(String, String)> {
        self.variables().iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    fn variables(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.variables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the same shell with another tree, such as a copy, mounted where the run's tree is. Without a sandbox a
    /// command simply runs in the directory that it is given.
    pub fn over(&self, tree: &Path) -> Self {
        self.with_walls(|walls| walls.over(tree))
    }

    /// Returns the same shell with a directory outside of the tree that commands may write. It must exist, and has the
    /// same path inside and outside.
    pub fn writing(&self, directory: &Path) -> Self {
        self.with_walls(|walls| {
            let mut walls = walls.clone();
            walls.writable.push(directory.to_owned());
            walls
        })
    }

    fn with_walls(&self, change: impl FnOnce(&Walls) -> Walls) -> Self {
        let mut shell = self.clone();
        if let Some(within) = &mut shell.within {
            within.walls = within.walls.as_ref().map(change);
        }
        shell
    }

    /// Maps a path outside of the sandbox to the path inside.
    pub fn inside(&self, path: &Path) -> PathBuf {
        self.view().inside(path)
    }

    /// Returns what a command finds an environment variable set to, without those that the run sets.
    pub fn inherited(&self, name: &str) -> Option<String> {
        let passed = sandbox::environment(SandboxUser::Content, &[]);
        match &self.within {
            Some(_) => passed.into_iter().find(|(known, _)| known == name)?.1.into_string().ok(),
            None => std::env::var(name).ok(),
        }
    }

    /// Returns whether the run's tree is mounted at the project's path.
    pub fn is_over_project(&self) -> bool {
        self.walls().is_some_and(|walls| walls.project.is_some())
    }

    fn walls(&self) -> Option<&Walls> {
        self.within.as_ref().and_then(|within| within.walls.as_ref())
    }

    fn view(&self) -> View {
        self.walls().map(Walls::view).unwrap_or_default()
    }

    /// Asks the callback whether to continue.
    pub fn go(&self) -> Control {
        self.within.as_ref().map_or(Control::On, |within| (within.watch)())
    }

    /// Prepares a command line as a long-running service in `root`.
    pub fn plan(
        &self,
        root: &Path,
        line: &str,
        environment: &[(&str, &str)],
        policy: Policy,
        log: &Path,
        mark: &str,
    ) -> Result<Plan, String> {
        let arguments = ["-c", line].map(OsString::from);
        let (program, arguments, reach) = match &self.within {
            Some(within) => within.wrapped(arguments)?,
            None => (OsString::from("sh"), arguments.to_vec(), SignalTarget::Group),
        };
        let environment = self.with_variables(environment);
        let environment = match &self.within {
            Some(_) => Environment::Exactly(exactly(environment)),
            None => Environment::Inherited(own(environment)),
        };
        let (directory, log, mark) = (PathBuf::from(root), PathBuf::from(log), mark.to_owned());
        Ok(Plan { program, arguments, directory, environment, reach, mark, log, policy })
    }

    /// Runs a command line in `root`, for at most `limit`.
    pub fn line(
        &self,
        root: &Path,
        line: &str,
        environment: &[(&str, &str)],
        limit: Duration,
    ) -> Result<Finished, String> {
        self.run(root, &["-c", line], environment, limit)
    }

    /// Runs the shell with these arguments.
    pub fn run(
        &self,
        root: &Path,
        arguments: &[&str],
        environment: &[(&str, &str)],
        limit: Duration,
    ) -> Result<Finished, String> {
        let environment = self.with_variables(environment);
        match &self.within {
            Some(within) => within.run(root, arguments, environment, limit),
            None => {
                let environment: Vec<(&str, &str)> =
                    environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
                process::run("sh", arguments, root, &environment, limit).map_err(|error| error.to_string())
            }
        }
    }

    /// Returns the run's variables and these, with paths as they are inside.
    fn with_variables(&self, environment: &[(&str, &str)]) -> Vec<(String, String)> {
        let view = self.view();
        let own = environment.iter().map(|(name, value)| ((*name).to_owned(), translated(&view, value)));
        self.env().into_iter().chain(own).collect()
    }
}

/// Returns a word as it is inside, if it is a path.
fn translated(view: &View, word: &str) -> String {
    let path = Path::new(word);
    let inside = if path.is_absolute() { view.inside(path) } else { path.to_owned() };
    inside.to_str().map_or_else(|| word.to_owned(), str::to_owned)
}

impl Confinement {
    /// Puts a shell with these arguments behind the walls, if there are any.
    fn wrapped(
        &self,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<(OsString, Vec<OsString>, SignalTarget), String> {
        let Some(walls) = &self.walls else {
            return Ok((OsString::from("sh"), arguments.into_iter().collect(), SignalTarget::Group));
        };
        let view = walls.view();
        let arguments = arguments.into_iter().map(|argument| match argument.to_str() {
            Some(text) => translated(&view, text).into(),
            None => argument,
        });
        let wrapped = walls.wrap(SandboxUser::Content, "sh".as_ref(), arguments);
        let (program, arguments) = wrapped.map_err(|error| crate::spelled(&error))?;
        Ok((program, arguments, SignalTarget::Within(walls.bounds)))
    }

    fn run(
        &self,
        root: &Path,
        arguments: &[&str],
        environment: Vec<(String, String)>,
        limit: Duration,
    ) -> Result<Finished, String> {
        let (program, arguments, reach) = self.wrapped(arguments.iter().map(OsString::from))?;
        let job = Job {
            program,
            arguments,
            directory: root,
            environment: Environment::Exactly(exactly(environment)),
            input: Vec::new(),
            limits: Limits { whole: limit, silence: limit },
            ladder: LADDER,
            reach,
            mark: &self.run,
        };
        let followed = process::follow(job, &mut |_| (self.watch)());
        if let Some(walls) = &self.walls {
            // What cannot be made ordinary is reported by whoever looks at the tree next.
            let _ = sandbox::tidy(&walls.tree);
        }
        let followed = followed.map_err(|error| crate::spelled(&error))?;
        Ok(Finished {
            end: followed.end,
            stdout: followed.stdout,
            stderr: followed.stderr,
            cut: followed.cut,
        })
    }
}

fn own(environment: Vec<(String, String)>) -> Vec<(OsString, OsString)> {
    environment.into_iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
}

/// Returns what is passed on behind walls, and these.
fn exactly(environment: Vec<(String, String)>) -> Vec<(OsString, OsString)> {
    let mut all = sandbox::environment(SandboxUser::Content, &[]);
    all.extend(own(environment));
    all
}

impl std::fmt::Debug for Shell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let is_sandboxed = self.within.as_ref().map(|within| within.walls.is_some());
        f.debug_struct("Shell").field("is_sandboxed", &is_sandboxed).finish()
    }
}
