//! Running what a repository holds: its tests, the commands that verify a phase, a person's hooks.
//!
//! In a workspace of the run's own an agent has written what is run here, so it is put behind walls, without logins and
//! without tokens. In a person's own checkout it is run as the person would run it.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use adapters::{
    process::{self, Environment, Finished, Go, Job, Limits, Reach, Signal},
    sandbox::{self, Walls, Who},
    service::{Plan, Policy},
};

/// How a command is asked to end.
const LADDER: &[(Signal, Duration)] = &[(Signal::TERM, Duration::from_secs(2))];

/// Tells whether a command that is under way may go on.
type Watch = Arc<dyn Fn() -> Go + Send + Sync>;

/// How what a repository holds is run.
#[derive(Clone, Default)]
pub struct Shell {
    within: Option<Within>,
    /// What commands are told besides.
    facts: BTreeMap<String, String>,
}

#[derive(Clone)]
struct Within {
    /// None where a person wants none.
    walls: Option<Walls>,
    run: String,
    watch: Watch,
}

impl Shell {
    /// Runs for `run`, behind walls if there are any, for as long as `watch` lets it.
    pub fn within(walls: Option<Walls>, run: &str, watch: impl Fn() -> Go + Send + Sync + 'static) -> Self {
        let within = Within { walls, run: run.to_owned(), watch: Arc::new(watch) };
        Self { within: Some(within), facts: BTreeMap::new() }
    }

    /// Tells every command from now on something by a variable, or no longer.
    pub(crate) fn tell(&mut self, name: &str, value: Option<String>) {
        match value {
            Some(value) => self.facts.insert(name.to_owned(), value),
            None => self.facts.remove(name),
        };
    }

    /// Tells whether what is under way may go on.
    pub(crate) fn go(&self) -> Go {
        self.within.as_ref().map_or(Go::On, |within| (within.watch)())
    }

    /// Plans a command line that is kept running in `root`, as it would be run otherwise.
    pub(crate) fn plan(
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
            None => (OsString::from("sh"), arguments.to_vec(), Reach::Group),
        };
        let environment = match &self.within {
            Some(_) => Environment::Exactly(exactly(environment)),
            None => Environment::Inherited(own(environment)),
        };
        let (directory, log, mark) = (PathBuf::from(root), PathBuf::from(log), mark.to_owned());
        Ok(Plan { program, arguments, directory, environment, reach, mark, log, policy })
    }

    /// Runs a command line in `root`, for at most `limit`.
    pub(crate) fn line(
        &self,
        root: &Path,
        line: &str,
        environment: &[(&str, &str)],
        limit: Duration,
    ) -> Result<Finished, String> {
        self.run(root, &["-c", line], environment, limit)
    }

    /// Runs the shell with these arguments.
    pub(crate) fn run(
        &self,
        root: &Path,
        arguments: &[&str],
        environment: &[(&str, &str)],
        limit: Duration,
    ) -> Result<Finished, String> {
        let facts = self.facts.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let environment: Vec<(&str, &str)> = facts.chain(environment.iter().copied()).collect();
        match &self.within {
            Some(within) => within.run(root, arguments, &environment, limit),
            None => {
                process::run("sh", arguments, root, &environment, limit).map_err(|error| error.to_string())
            }
        }
    }
}

impl Within {
    /// Puts a shell with these arguments behind the walls, if there are any.
    fn wrapped(
        &self,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<(OsString, Vec<OsString>, Reach), String> {
        let Some(walls) = &self.walls else {
            return Ok((OsString::from("sh"), arguments.into_iter().collect(), Reach::Group));
        };
        let wrapped = walls.wrap(Who::Content, "sh".as_ref(), arguments);
        let (program, arguments) = wrapped.map_err(|error| crate::spelled(&error))?;
        Ok((program, arguments, Reach::Within))
    }

    fn run(
        &self,
        root: &Path,
        arguments: &[&str],
        environment: &[(&str, &str)],
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
        let followed = followed.map_err(|error| crate::spelled(&error))?;
        Ok(Finished {
            end: followed.end,
            stdout: followed.stdout,
            stderr: followed.stderr,
            cut: followed.cut,
        })
    }
}

fn own(environment: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    environment.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
}

/// Returns what is passed on behind walls, and these.
fn exactly(environment: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    let mut all = sandbox::environment(Who::Content, &[]);
    all.extend(own(environment));
    all
}

impl std::fmt::Debug for Shell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let walls = self.within.as_ref().map(|within| within.walls.is_some());
        f.debug_struct("Shell").field("walls", &walls).finish()
    }
}
