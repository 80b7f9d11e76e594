//! A directory of its own for everything that is measured, and an environment in which nothing else counts.

use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;

use crate::{
    build::target,
    run::{Result, capture},
    system::found,
};

/// A directory that is removed at the end. Projects, homes and outputs are in it.
///
/// It is made in the build directory rather than where temporary files usually are: that is often memory, where
/// syncing costs nothing.
pub(super) struct Sandbox {
    directory: TempDir,
}

/// A program with its arguments, to be started as often as wanted.
#[derive(Clone)]
pub(super) struct Call {
    program: PathBuf,
    arguments: Vec<OsString>,
    stdin: Option<PathBuf>,
    environment: Vec<(&'static str, OsString)>,
}

impl Sandbox {
    pub(super) fn new() -> Result<Self> {
        let target = target();
        let failed = |error| format!("no directory for the benchmark: {error}");
        fs::create_dir_all(&target).map_err(failed)?;
        let directory = tempfile::Builder::new().prefix("bench-").tempdir_in(target).map_err(failed)?;
        for name in ["home", "state", "config"] {
            fs::create_dir(directory.path().join(name)).map_err(failed)?;
        }
        Ok(Self { directory })
    }

    pub(super) fn remove(self) -> Result {
        self.directory.close().map_err(|error| format!("the benchmark's directory stays behind: {error}"))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Makes a repository without commits, for a project.
    pub(super) fn repository(&self, name: &str) -> Result<PathBuf> {
        let root = self.path(name);
        let git = found("git").ok_or("git is not installed")?;
        self.call(&git).words(&["init", "--quiet"]).word(&root).check(0)?;
        Ok(root)
    }

    /// Makes a call in an environment that holds nothing but the sandbox.
    pub(super) fn call(&self, program: &Path) -> Call {
        let environment = vec![
            ("HOME", self.path("home").into()),
            ("XDG_STATE_HOME", self.path("state").into()),
            ("XDG_CONFIG_HOME", self.path("config").into()),
            ("GIT_CONFIG_GLOBAL", "/dev/null".into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("PATH", env::var_os("PATH").unwrap_or_default()),
        ];
        Call { program: program.to_owned(), arguments: Vec::new(), stdin: None, environment }
    }
}

impl Call {
    /// Adds an argument.
    pub(super) fn word(mut self, word: impl Into<OsString>) -> Self {
        self.arguments.push(word.into());
        self
    }

    /// Adds arguments.
    pub(super) fn words(mut self, words: &[&str]) -> Self {
        self.arguments.extend(words.iter().map(OsString::from));
        self
    }

    /// Gives the program a file to read.
    pub(super) fn reads(mut self, file: PathBuf) -> Self {
        self.stdin = Some(file);
        self
    }

    /// Adds to the program's environment.
    pub(super) fn with(mut self, variables: &[(&'static str, &str)]) -> Self {
        self.environment.extend(variables.iter().map(|(name, value)| (*name, OsString::from(value))));
        self
    }

    /// Makes the command, ready to be started; what it prints is thrown away.
    pub(super) fn command(&self) -> Result<Command> {
        self.under(&self.program, &[])
    }

    /// Makes a command in which another program starts this one.
    pub(super) fn under(&self, program: &Path, arguments: &[OsString]) -> Result<Command> {
        let mut command = Command::new(program);
        command.args(arguments);
        if program != self.program {
            command.arg(&self.program);
        }
        command.args(&self.arguments).env_clear().stdout(Stdio::null()).stderr(Stdio::null());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        match &self.stdin {
            Some(file) => {
                command.stdin(File::open(file).map_err(|error| format!("{}: {error}", file.display()))?)
            }
            None => command.stdin(Stdio::null()),
        };
        Ok(command)
    }

    /// Runs the program once and returns what it prints; a failure is an error.
    pub(super) fn output(&self) -> Result<String> {
        capture(self.command()?.stdout(Stdio::piped()).stderr(Stdio::piped()))
    }

    /// Runs the program once; another end than `exit` is an error.
    pub(super) fn check(&self, exit: i32) -> Result {
        let status = self.command()?.status();
        let shown = crate::run::shown(&self.command()?);
        match status {
            Ok(status) if status.code() == Some(exit) => Ok(()),
            Ok(status) => Err(format!("`{shown}` ended with {status}, not with {exit}")),
            Err(error) => Err(format!("`{shown}` could not be started: {error}")),
        }
    }
}
