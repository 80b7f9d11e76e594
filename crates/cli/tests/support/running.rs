//! A program that is under way, read line by line.

use std::{
    ffi::OsStr,
    fs,
    io::{BufRead as _, BufReader, Read, Write as _},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use testkit::{Sandbox, agents::skip};

/// How long anything may take that a test waits for.
const PATIENCE: Duration = Duration::from_secs(120);

/// How a program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    /// All that it said, on both outputs.
    pub(crate) said: String,
}

/// A program that is under way.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
    said: String,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (send, lines) = channel();
        listen(child.stdout.take().unwrap(), send.clone());
        listen(child.stderr.take().unwrap(), send);
        Self { child, lines, said: String::new() }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the most memory that it has used, in kB.
    pub(crate) fn peak(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Waits until it has said this.
    pub(crate) fn until(&mut self, text: &str) {
        assert!(self.says(text), "`{text}` was never said:\n{}", self.said);
    }

    /// Waits until it says this; tells whether it does before its end.
    pub(crate) fn says(&mut self, text: &str) -> bool {
        let begun = Instant::now();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE.saturating_sub(begun.elapsed())) {
            self.said.push_str(&line);
            self.said.push('\n');
            if line.contains(text) {
                return true;
            }
        }
        false
    }

    /// Starts a command with a person at its terminal; nothing where there is no program that makes one.
    pub(crate) fn at_terminal(sandbox: &Sandbox, command: &Command) -> Option<Self> {
        let quoted = |word: &OsStr| format!("'{}'", word.to_str().unwrap().replace('\'', "'\\''"));
        let words: Vec<String> =
            [command.get_program()].into_iter().chain(command.get_args()).map(quoted).collect();
        let mut script = sandbox.command("script");
        script.args(["--quiet", "--return", "--command", &words.join(" "), "/dev/null"]);
        script.env("TERM", "xterm").stdin(Stdio::piped());
        if Command::new("script").arg("--version").output().is_err() {
            skip("`script` is not installed, so there is no terminal");
            return None;
        }
        Some(Self::start(script))
    }

    /// Types a line.
    pub(crate) fn type_line(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.pid()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ended {
        let begun = Instant::now();
        loop {
            match self.lines.recv_timeout(PATIENCE.saturating_sub(begun.elapsed())) {
                Ok(line) => {
                    self.said.push_str(&line);
                    self.said.push('\n');
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not end:\n{}", self.said),
            }
        }
        let code = self.child.wait().unwrap().code();
        Ended { code, said: std::mem::take(&mut self.said) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already, unless the test has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn listen(output: impl Read + Send + 'static, send: Sender<String>) {
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
}
