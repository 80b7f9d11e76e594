//! A project whose issue a client works on, `warp run` in it, and pipes by which a test learns how far that is.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    process::Command,
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use serde_json::Value;
use testkit::{
    Sandbox,
    agents::{Ended, Running, skip},
    model::Model,
};

use super::client::Client;
use crate::support::{Ends as _, InProject as _};

/// How long anything may take that is waited for. Some seconds are usual; machines are shared, and clients are slow.
pub(crate) const PATIENCE: Duration = Duration::from_secs(240);

/// The tests tell that they run, if there is a pipe for it, and then have no end.
const MAKEFILE: &str = "\
test:
\t@if test -p \"$$HOME/testing\"; then echo testing > \"$$HOME/testing\"; exec tail -f /dev/null; fi
\t@for file in file*.txt; do grep -q word $$file || exit 1; done
";

/// One criterion makes one chunk.
const SETTINGS: &str = "\
[workflow]
test_command = \"make test\"
max_acs_per_commit = 1
decision_timeout_minutes = 0
";

/// A project with issue 42.
pub(crate) struct Project {
    pub(crate) sandbox: Sandbox,
}

impl Project {
    /// Makes a project whose issue has so many chunks.
    pub(crate) fn new(chunks: usize) -> Self {
        let project = Self::bare();
        let boxes: String =
            (1..=chunks).map(|chunk| format!("- [ ] the word word{chunk} is in file{chunk}.txt\n")).collect();
        project.sandbox.issue(42, &format!("# Words\n\n{boxes}"));
        project
    }

    /// Makes a project with so many issues from 1 on, each of one criterion.
    pub(crate) fn with_issues(count: u64) -> Self {
        let project = Self::bare();
        for issue in 1..=count {
            let criterion = format!("- [ ] the word word{issue} is in file{issue}.txt\n");
            project.sandbox.issue(issue, &format!("# Word {issue}\n\n{criterion}"));
        }
        project
    }

    fn bare() -> Self {
        let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
        sandbox.git(&["switch", "--quiet", "main"]);
        sandbox.write("Makefile", MAKEFILE);
        sandbox.write("warp.toml", SETTINGS);
        sandbox.write("file0.txt", "word0\n");
        sandbox.commit("chore: tests");
        fs::create_dir(sandbox.home().join("bin")).unwrap();
        Self { sandbox }
    }

    /// Puts a program of these lines of shell into the search path.
    pub(crate) fn program(&self, name: &str, lines: &str) {
        let path = self.sandbox.home().join("bin").join(name);
        // Another process writes it: a descriptor of this one, inherited by a program that another test starts just
        // then, would keep it from being run.
        let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$2\" && chmod 755 \"$2\"";
        let mut command = self.sandbox.command("sh");
        assert!(command.args(["-c", write, "sh", lines]).arg(&path).status().unwrap().success());
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o755);
    }

    /// Puts a client into the search path. It tells that it is started, if there is a pipe for it.
    pub(crate) fn client(&self, client: &Client, model: &Model) {
        (client.configure)(&self.sandbox, model);
        let program = client.program.to_str().unwrap().replace('\'', r"'\''");
        self.program(
            client.name,
            &format!(
                "if test -p \"$HOME/started\"; then echo started > \"$HOME/started\"; fi\nexec '{program}' \"$@\""
            ),
        );
    }

    /// Makes a `warp run` of the issue.
    pub(crate) fn run(&self, agent: &str) -> Command {
        self.run_with(&["42", "--once", "--agent", agent])
    }

    fn run_with(&self, arguments: &[&str]) -> Command {
        self.warp(&[&["run", "--level", "3"], arguments].concat())
    }

    fn warp(&self, arguments: &[&str]) -> Command {
        let mut path = self.sandbox.home().join("bin").into_os_string();
        path.push(":");
        path.push(env::var_os("PATH").unwrap_or_default());
        let mut command = self.sandbox.warp_command(arguments);
        // The pipes lie in the home, of which little is there behind walls.
        command.env("PATH", path).env("WARP_SANDBOX_SHOW", "started:running:testing");
        command
    }

    /// Makes a `warp doctor` that finds a client and its model.
    pub(crate) fn doctor(&self, client: &Client, model: &Model) -> Command {
        self.sandbox.warp_ok(&["config", &format!("agent={}", client.agent)]);
        Self::with_model(self.warp(&["doctor"]), client, model)
    }

    /// Makes a `warp run` of the issue with a client and its model.
    pub(crate) fn run_client(&self, client: &Client, model: &Model) -> Command {
        Self::with_model(self.run(client.agent), client, model)
    }

    /// Makes a `warp run` of all issues with a client and its model.
    pub(crate) fn run_all(&self, client: &Client, model: &Model) -> Command {
        Self::with_model(self.run_with(&["--until-empty", "--agent", client.agent]), client, model)
    }

    fn with_model(mut command: Command, client: &Client, model: &Model) -> Command {
        command.env("ANTHROPIC_BASE_URL", model.url()).env("ANTHROPIC_API_KEY", "dummy");
        command.env("OPENAI_BASE_URL", format!("{}/v1", model.url())).env("OPENAI_API_KEY", "dummy");
        command.envs(client.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Makes a pipe in the home; returns what is heard when something is written to it.
    pub(crate) fn pipe(&self, name: &str) -> Pipe {
        let path = self.sandbox.home().join(name);
        assert!(self.sandbox.command("mkfifo").args(["-m", "666"]).arg(&path).status().unwrap().success());
        let (tell, heard) = channel();
        let read = path.clone();
        // It waits for as long as nobody writes, at most until the test is over.
        thread::spawn(move || tell.send(fs::read(read).is_ok()));
        Pipe { path, heard }
    }

    /// Makes a pipe in the home that a command waits at until the test tells it something.
    pub(crate) fn pipe_to(&self, name: &str) -> PipeTo {
        let path = self.sandbox.home().join(name);
        assert!(self.sandbox.command("mkfifo").args(["-m", "666"]).arg(&path).status().unwrap().success());
        PipeTo { path }
    }

    /// Sees that the issue was done as it should be, whoever did it.
    pub(crate) fn is_done(&self, chunks: usize) {
        let sandbox = &self.sandbox;
        let mut subjects = vec!["chore: begin".to_owned(), "chore: tests".to_owned()];
        subjects.extend((1..=chunks).map(|chunk| format!("feat(words): add word{chunk}")));
        assert_eq!(sandbox.git(&["log", "--reverse", "--format=%s", "main"]), subjects.join("\n"));
        for chunk in 1..=chunks {
            let commit = format!("main~{}", chunks - chunk);
            let files = sandbox.git(&["diff", "--name-only", &format!("{commit}~"), &commit]);
            assert_eq!(files, format!("file{chunk}.txt"));
            assert_eq!(sandbox.git(&["show", &format!("main:{files}")]), format!("word{chunk}"));
        }
        // What is merged is what the person sees.
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
        let issue = sandbox.json(&["issue", "show", "42", "--json"]);
        assert_eq!(issue["state"], "closed", "{issue:#}");
        let body = issue["body"].as_str().unwrap();
        assert_eq!((body.matches("[x]").count(), body.matches("[ ]").count()), (chunks, 0), "{body}");
        assert_eq!(self.records("committed").len(), chunks);
        assert_eq!(self.log().last().unwrap()["phase"], "completed");
    }

    /// Returns the run's records of an event.
    pub(crate) fn records(&self, event: &str) -> Vec<Value> {
        self.log().into_iter().filter(|record| record["event"] == event).collect()
    }

    fn log(&self) -> Vec<Value> {
        serde_json::from_str(&self.sandbox.warp_ok(&["log", "42", "--json"])).unwrap()
    }
}

/// A pipe that something is written to when it has come so far.
pub(crate) struct Pipe {
    path: PathBuf,
    heard: Receiver<bool>,
}

impl Pipe {
    /// Waits until something is written, and takes the pipe away.
    #[must_use = "a test must not go on as if it had come so far"]
    pub(crate) fn wait(self) -> bool {
        let is_heard = self.heard.recv_timeout(PATIENCE).unwrap_or(false);
        fs::remove_file(&self.path).unwrap();
        is_heard
    }
}

/// A pipe that a command reads from.
pub(crate) struct PipeTo {
    path: PathBuf,
}

impl PipeTo {
    /// Tells the command a line. It waits for the command to read, at most until the test is over.
    pub(crate) fn tell(self) {
        thread::spawn(move || fs::write(&self.path, "on\n"));
    }
}

/// Tells whether agents can be put behind walls here; says that the test is skipped if not.
pub(crate) fn has_walls() -> bool {
    match adapters::sandbox::Sandbox::find() {
        Ok(_) => true,
        Err(why) => {
            skip(&why.to_string());
            false
        }
    }
}

/// Lets a run go to its end.
pub(crate) fn finish(command: Command) -> Ended {
    Running::start(command, PATIENCE).unwrap().wait().ends(0)
}
