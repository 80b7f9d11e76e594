//! The rails in git, on real repositories: an agent's git is held to the phase, a person's is never disturbed.

mod agent;
mod backstop;
mod detector;
mod person;
mod posing;
mod salvage;
mod vault;

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, Stdio},
    sync::{
        Mutex,
        mpsc::{Receiver, channel},
    },
    thread,
    time::Duration,
};

use adapters::machine;
use engine::{Event, Owner};
use project::{
    Place, Workspace,
    rails::{self, After, backstop::install},
};
use serde_json::Map;
use testkit::Sandbox;

use crate::support::dirs;

const WARP: &str = env!("CARGO_BIN_EXE_warp");
/// How long a command of the agent may be silent.
const PATIENCE: Duration = Duration::from_secs(240);

/// A project with a run, the backstop, and an agent that carries the run on.
struct Project {
    sandbox: Sandbox,
    agent: Agent,
}

/// A shell that stands for an agent's client: it owns the run, and every command is its child.
struct Agent {
    child: Child,
    input: ChildStdin,
    /// What it prints, line by line; the last one may have no end. A lock, because a project is looked at by threads.
    output: Mutex<Receiver<String>>,
}

/// How an agent's command ended.
#[derive(Debug)]
struct Ended {
    code: i32,
    said: String,
}

impl Agent {
    fn start(sandbox: &Sandbox, directory: &Path) -> Self {
        let mut command = sandbox.command("sh");
        command.current_dir(directory).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let mut printed = BufReader::new(child.stdout.take().unwrap());
        let (say, output) = channel();
        thread::spawn(move || {
            let mut line = String::new();
            while printed.read_line(&mut line).is_ok_and(|length| length > 0) {
                if say.send(std::mem::take(&mut line)).is_err() {
                    break;
                }
            }
        });
        Self { child, input, output: Mutex::new(output) }
    }

    /// Runs a command line as the agent's child.
    fn run(&mut self, line: &str) -> Ended {
        writeln!(self.input, "( {line}\n) </dev/null 2>&1; echo \"@ended $?\"").unwrap();
        let mut said = String::new();
        loop {
            let one = self.output.get_mut().unwrap().recv_timeout(PATIENCE);
            let one = one.unwrap_or_else(|error| panic!("`{line}` has no end ({error}): {said}"));
            // What was printed last may have no line end.
            match one.split_once("@ended ") {
                Some((rest, code)) => {
                    said.push_str(rest);
                    return Ended { code: code.trim().parse().unwrap(), said };
                }
                None => said.push_str(&one),
            }
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Project {
    /// A run in `coding`, in a person's own checkout.
    fn new() -> Self {
        Self::with(&[])
    }

    /// A run in `coding`, in a workspace that was made for it.
    fn owned() -> Self {
        Self::with(&["--own"])
    }

    fn with(flags: &[&str]) -> Self {
        let sandbox = Sandbox::new(WARP);
        sandbox.write("kept.txt", "one\n");
        sandbox.git(&["add", "."]);
        sandbox.git(&["commit", "--quiet", "-m", "feat: one"]);
        install(&Place::at(&sandbox.root()).unwrap(), Path::new(WARP)).unwrap();
        let agent = Agent::start(&sandbox, &sandbox.root());
        begin(&sandbox, &sandbox.root(), &agent, flags);
        Self { sandbox, agent }
    }

    fn place(&self) -> Place {
        Place::at(&self.sandbox.root()).unwrap()
    }

    fn workspace(&self) -> Workspace {
        open(&self.sandbox, &self.sandbox.root())
    }

    fn run_id(&self) -> String {
        self.workspace().current().unwrap().unwrap().run.id.to_string()
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.sandbox.git(arguments)
    }

    /// Takes a snapshot, as before a command whose effect is not known.
    fn snapshot(&self) -> Option<String> {
        rails::snapshot(&self.place(), &dirs(&self.sandbox), &self.run_id()).unwrap()
    }

    /// Runs git in the repository that holds the snapshots.
    fn vault_git(&self, arguments: &[&str]) -> String {
        let id = self.place().project_id().unwrap().unwrap();
        let vault = dirs(&self.sandbox).project(&id).join("snapshots.git");
        self.git(&[&["--git-dir", vault.to_str().unwrap()], arguments].concat())
    }

    /// Goes on to `committing`.
    fn to_committing(&self) {
        self.sandbox.write("src/work.rs", "fn work() {}\n");
        self.sandbox.write("docs/work.md", "Work.\n");
        for event in ["code_complete", "docs_updated", "tests_passed"] {
            self.sandbox.warp_ok(&["state", "transition", ".", event]);
        }
        let state = self.sandbox.warp_ok(&["state", "status", "."]);
        assert!(state.contains("\"committing\""), "{state}");
    }

    fn after_tool(&self) -> After {
        rails::after_tool(&mut self.workspace()).unwrap()
    }

    /// Expects git itself to refuse, and everything to be where it was.
    fn refused(&mut self, line: &str, words: &str) {
        let look = |project: &Self| {
            ["for-each-ref", "symbolic-ref HEAD", "status --short --untracked-files=all"]
                .map(|line| project.git(&line.split(' ').collect::<Vec<_>>()))
        };
        let before = look(self);
        let ended = self.agent.run(line);
        assert_ne!(ended.code, 0, "{line}: {ended:?}");
        assert!(ended.said.contains(words), "{line}: {ended:?}");
        assert_eq!(before, look(self), "{line}");
        let seen = self.after_tool();
        assert!(seen.broken.is_none() && seen.commits.is_empty(), "{line}: {seen:?}");
    }

    /// Expects an agent's command to pass.
    fn passes(&mut self, line: &str) -> Ended {
        let ended = self.agent.run(line);
        assert_eq!(ended.code, 0, "{line}: {ended:?}");
        ended
    }

    fn standing(&self) -> engine::Standing {
        self.workspace().current().unwrap().unwrap().run.standing.clone()
    }
}

fn begin(sandbox: &Sandbox, root: &Path, agent: &Agent, flags: &[&str]) {
    let root_text = root.to_str().unwrap();
    let pid = agent.child.id().to_string();
    let mut arguments = vec!["state", "init", root_text, "--level", "2", "--issue", "42", "--pid", &pid];
    arguments.extend_from_slice(flags);
    sandbox.warp_ok(&arguments);
    let owner = Owner { session: Some("session-1".to_owned()), ..machine::owner(agent.child.id()) };
    open(sandbox, root).ask(Event::OwnerChanged { owner }, Map::new()).unwrap();
    for event in ["prerequisites_ok", "work_selected", "plan_ready"] {
        sandbox.warp_ok(&["state", "transition", root_text, event]);
    }
    let data = r#"{"acs":[["AC-01"],["AC-02"]]}"#;
    sandbox.warp_ok(&["state", "transition", root_text, "chunks_defined", "--data", data]);
}

fn open(sandbox: &Sandbox, root: &Path) -> Workspace {
    Workspace::open(Place::at(root).unwrap(), dirs(sandbox)).unwrap()
}
