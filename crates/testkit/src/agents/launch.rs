//! What the clients' starts have in common.

use std::{
    ffi::{OsStr, OsString},
    marker::PhantomData,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use super::{
    running::{Ended, PATIENCE, Running},
    search_path,
};
use crate::{Sandbox, terminal::Terminal};

/// A client about to be started; `Client` says which one, and so which options there are.
#[derive(Debug)]
pub struct Launch<Client> {
    pub(super) command: Command,
    pub(super) home: PathBuf,
    /// Arguments after all options: the prompt, where it has to be last.
    pub(super) last: Vec<OsString>,
    path: Vec<PathBuf>,
    patience: Duration,
    client: PhantomData<Client>,
}

impl<Client> Launch<Client> {
    pub(super) fn new(program: &Path, sandbox: &Sandbox) -> Self {
        let home = sandbox.home().canonicalize().expect("the home is there");
        let mut command = sandbox.command(program);
        // Temporary files lie in the home, but neither in the project nor above the clients' own directories.
        command
            .env("TMPDIR", home.join("tmp"))
            .env("HOME", &home)
            .env("TERM", "dumb")
            .env("SHELL", "/bin/sh");
        Self { command, home, last: Vec::new(), path: Vec::new(), patience: PATIENCE, client: PhantomData }
    }

    /// Works in another directory than the sandbox's project.
    #[must_use]
    pub fn directory(mut self, directory: impl AsRef<Path>) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// Sets an environment variable of the client, its hooks and its tools.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Looks for programs in `directory` before anywhere else; the last call wins.
    #[must_use]
    pub fn path_first(mut self, directory: impl Into<PathBuf>) -> Self {
        self.path.insert(0, directory.into());
        self.command.env("PATH", search_path(&self.path));
        self
    }

    /// Adds an option of the client's command line.
    #[must_use]
    pub fn argument(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// Gives the client this long to end; past that, it is killed with all that it started.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Starts the client.
    pub fn start(mut self) -> Running {
        self.command.args(&self.last);
        Running::start(self.command, self.patience).expect("the client can be started")
    }

    /// Runs the client until it ends; what it leaves running, as far as it has its environment, is then killed.
    pub fn run(self) -> Ended {
        self.start().wait()
    }

    /// Starts the client in a terminal of this many columns and rows.
    pub fn in_terminal(mut self, size: (u16, u16)) -> Terminal {
        self.command.args(&self.last);
        Terminal::start(&self.command, size)
    }
}
