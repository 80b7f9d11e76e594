//! A project, an agent that is a shell script, and a `warp run --attach` whose events are read as they come.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use engine::workflow::{ATTACHED, BUILT_IN};
use serde_json::Value;
use testkit::{
    agents::skip,
    driven::Driven,
    processes::{find, wait_until_none},
};

use crate::renamed::{MARK, renamed};

/// How long an event may take. A second or two are usual; machines are shared.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the agent scripts have in common: how to write a phase, and how to wait for what is typed.
const COMMON: &str = r#"
phase() { printf 'PHASE:%s\n' "$1" > "$PHASE_FILE"; }
# Waits until a line is typed that contains this.
heard() { while IFS= read -r line; do case $line in *"$1"*) return 0 ;; esac; done; exit 9; }
"#;

pub(crate) struct Attached {
    pub(crate) driven: Driven,
    pub(crate) agent: String,
    /// What stands before the names of its workflow, phases and events.
    mark: &'static str,
    /// Variables of its own.
    pub(crate) environment: Vec<(String, String)>,
    /// Where tmux keeps its sockets.
    sockets: PathBuf,
    child: Option<Child>,
    lines: Option<Receiver<Value>>,
    seen: Vec<Value>,
}

/// Tells whether tmux is there; where it is not, says so.
pub(crate) fn is_skipped() -> bool {
    let is_missing = Command::new("tmux").arg("-V").stdout(Stdio::null()).status().is_err();
    if is_missing {
        skip("tmux is not installed");
    }
    is_missing
}

impl Attached {
    /// Makes a project with issue 42 and an agent that is this script.
    pub(crate) fn new(script: &str) -> Self {
        let driven = Driven::new(env!("CARGO_BIN_EXE_warp"));
        driven.issue(42, 1, "");
        let sandbox = &driven.sandbox;
        let sockets = sandbox.home().join("t");
        fs::create_dir(&sockets).unwrap();
        let script = script.replace("@TEMPORARY@", sockets.to_str().unwrap());
        sandbox.write("agent.sh", format!("{COMMON}\n{script}"));
        sandbox.git(&["add", "--all"]);
        sandbox.git(&["commit", "--quiet", "-m", "chore: agent"]);
        Self {
            driven,
            agent: "command:sh ./agent.sh".to_owned(),
            mark: "",
            environment: Vec::new(),
            sockets,
            child: None,
            lines: None,
            seen: Vec::new(),
        }
    }

    /// Makes the same with a copy of the workflow in which all names are other ones.
    pub(crate) fn renamed(script: &str) -> Self {
        let mut attached = Self::new(script);
        attached.mark = MARK;
        let built_in = BUILT_IN.iter().find(|built_in| built_in.name == ATTACHED).unwrap();
        let sandbox = &attached.driven.sandbox;
        sandbox.write(&format!(".warp/workflows/{MARK}{ATTACHED}.toml"), renamed(built_in.text));
        sandbox.git(&["add", "--all"]);
        sandbox.git(&["commit", "--quiet", "-m", "chore: a workflow"]);
        attached
    }

    /// Begins, or goes on.
    pub(crate) fn start(&mut self, arguments: &[&str]) {
        self.seen.clear();
        let workflow = format!("{}{ATTACHED}", self.mark);
        let mut command = self.driven.sandbox.warp_command(&["run", "42", "--attach", "--json", "--once"]);
        command.args(["--agent", &self.agent]).args(arguments);
        if !self.mark.is_empty() {
            command.args(["--workflow", &workflow]);
        }
        command.env("TMUX_TMPDIR", &self.sockets).env("TMPDIR", &self.sockets);
        command.envs(self.environment.iter().map(|(name, value)| (name, value))).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = child.stdout.take().unwrap();
        let (tell, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let _ = tell.send(serde_json::from_str(&line).unwrap_or(Value::String(line)));
            }
        });
        (self.child, self.lines) = (Some(child), Some(lines));
    }

    /// Waits for something that is shown and is like this.
    pub(crate) fn until(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let lines = self.lines.as_ref().unwrap();
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            match lines.recv_timeout(PATIENCE.saturating_sub(begun.elapsed())) {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if is_it(&line) {
                        return line;
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        panic!("{what} did not come: {:#?}\n{}", self.seen, self.terminal());
    }

    /// Waits for an event.
    pub(crate) fn event(&mut self, name: &str) -> Value {
        let name = format!("{}{name}", self.mark);
        self.until(&name, |line| line["event"] == name)
    }

    /// Waits for a question; returns its id.
    pub(crate) fn asked(&mut self) -> Value {
        self.until("a question", |line| line["type"] == "asked")["asked"].clone()
    }

    /// Waits for its end, and returns the code.
    pub(crate) fn end(&mut self) -> Option<i32> {
        let lines = self.lines.take().unwrap();
        loop {
            match lines.recv_timeout(PATIENCE) {
                Ok(line) => self.seen.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("it does not end: {:#?}\n{}", self.seen, self.terminal())
                }
            }
        }
        self.child.take().unwrap().wait().unwrap().code()
    }

    /// Returns all that it has shown.
    pub(crate) fn said(&self) -> String {
        self.seen.iter().map(|line| format!("{line}\n")).collect()
    }

    pub(crate) fn child(&mut self) -> &mut Child {
        self.child.as_mut().unwrap()
    }

    /// Returns what the terminal shows.
    pub(crate) fn terminal(&self) -> String {
        let output = self.tmux(&["capture-pane", "-p", "-S", "-"]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn tmux(&self, arguments: &[&str]) -> std::process::Output {
        let mut command = self.driven.sandbox.command("tmux");
        command.env("TMUX_TMPDIR", &self.sockets).args(["-L", "dev-demo-42"]).args(arguments);
        command.output().unwrap()
    }

    pub(crate) fn phase(&self) -> String {
        let status = self.driven.sandbox.warp_ok(&["status", "42", "--json"]);
        serde_json::from_str::<Value>(&status).unwrap()["phase"].as_str().unwrap().to_owned()
    }

    pub(crate) fn log(&self, event: &str) -> Vec<Value> {
        let log = self.driven.sandbox.warp_ok(&["log", "42", "--json"]);
        let log: Vec<Value> = serde_json::from_str(&log).unwrap();
        let event = &format!("{}{event}", self.mark);
        log.into_iter().filter(|record| record["event"] == *event).collect()
    }

    /// Returns the phase file of the protocol's own name.
    pub(crate) fn elsewhere(&self) -> PathBuf {
        self.sockets.join("dev-session-demo-42.phase")
    }

    /// Expects that nothing of the run is left: no session, no process, no file.
    pub(crate) fn is_clean(&self) {
        assert!(!self.tmux(&["has-session"]).status.success());
        assert!(!self.elsewhere().exists());
        let server = format!("tmux-{}", adapters::machine::user());
        let socket = self.sockets.join(server).join("dev-demo-42");
        assert!(!socket.exists(), "{}", socket.display());
        let home = self.driven.sandbox.home().to_str().unwrap().to_owned();
        let is_of_home = |word: &&[u8]| String::from_utf8_lossy(word).contains(&home);
        let left = wait_until_none(|| find(|words| words.iter().any(is_of_home)));
        assert_eq!(left, None);
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
        self.tmux(&["kill-server"]);
    }
}
