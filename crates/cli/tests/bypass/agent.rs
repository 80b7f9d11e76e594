//! A shell that stands for an agent's client: it owns the run, and every command is its child.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use testkit::Sandbox;

/// The session of the agent.
pub(crate) const SESSION: &str = "session-1";

/// What runs one command: a process group of its own with a deadline, no input, and limits on the size of a file, on
/// time and (for whoever is not root) on processes. The command is read from a file, so that no quoting is in its way.
const LAUNCH: &str = "while read -r go; do \
    ( ulimit -f 20000 -t 20 -u 4000 2>/dev/null; exec timeout --kill-after=1 10 bash -c \"$(cat \"$TEXT\")\" ) \
    </dev/null >\"$SAID\" 2>&1; echo \"@ended $?\"; done";

/// The most of a command's output that is read, in bytes.
const MOST_SAID: usize = 4000;

#[derive(Debug)]
pub(crate) struct Agent {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    command: PathBuf,
    said: PathBuf,
}

/// How an agent's command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) said: String,
}

impl Agent {
    /// Starts the shell; `notes` is a directory outside of everything that is looked at.
    pub(crate) fn start(sandbox: &Sandbox, notes: &Path) -> Self {
        Self::launch(sandbox.command("bash"), notes)
    }

    /// Starts the shell where it can write nothing but the home of the test, whatever it is told.
    pub(crate) fn contained(sandbox: &Sandbox, notes: &Path) -> Self {
        let mut command = sandbox.command("bwrap");
        command.args(["--ro-bind", "/", "/", "--dev", "/dev", "--cap-drop", "ALL", "--unshare-net"]);
        command.arg("--die-with-parent");
        for writable in [sandbox.home(), notes] {
            command.arg("--bind").args([writable, writable]);
        }
        command.arg("--").arg("bash");
        Self::launch(command, notes)
    }

    fn launch(mut command: Command, notes: &Path) -> Self {
        command.args(["-c", LAUNCH]);
        let (text, said) = (notes.join("command"), notes.join("said"));
        command.env("TEXT", &text).env("SAID", &said);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output, command: text, said }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Runs a command as the agent's child, for ten seconds at most.
    pub(crate) fn run(&mut self, command: &str) -> Ended {
        fs::write(&self.command, command).unwrap();
        writeln!(self.input, "go").unwrap();
        let mut line = String::new();
        assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the agent ended: {command}");
        let code = line.trim().strip_prefix("@ended ").unwrap().parse().unwrap();
        let said = fs::read(&self.said).unwrap_or_default();
        let said = String::from_utf8_lossy(&said[..said.len().min(MOST_SAID)]).into_owned();
        Ended { code, said }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
