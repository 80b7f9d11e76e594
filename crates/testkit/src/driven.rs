//! A project whose issues `warp run` works on, with a scripted agent.
//!
//! Issue N has criteria "the word wordK is in fileK.txt"; the scripts made here meet them.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    ops::RangeInclusive,
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Instant,
};

use crate::{
    Said, Sandbox,
    agents::{PATIENCE, ends_before, output},
    machine,
};

/// A project on its main branch, with tests that pass unless there is a file `broken`.
#[derive(Debug)]
pub struct Driven {
    pub sandbox: Sandbox,
}

impl Driven {
    /// Makes the project. `warp` is the program to test.
    pub fn new(warp: impl AsRef<Path>) -> Self {
        let sandbox = Sandbox::new(warp);
        sandbox.git(&["switch", "--quiet", "main"]);
        sandbox.git(&["branch", "--quiet", "-D", "feature/issue-42-parser"]);
        sandbox.write("Makefile", "test:\n\t@test ! -e broken\n");
        sandbox.git(&["add", "--all"]);
        sandbox.git(&["commit", "--quiet", "-m", "chore: tests"]);
        Self { sandbox }
    }

    /// Makes the project with one approved issue, 42, and an agent that does all of it, so many criteria in a chunk.
    pub fn with_issue(warp: impl AsRef<Path>, criteria: u64, in_chunk: u64) -> Self {
        let driven = Self::new(warp);
        driven.issue(42, criteria, "");
        driven.script(&Self::plain_script(criteria, in_chunk));
        driven
    }

    /// Files an approved issue.
    pub fn issue(&self, number: u64, criteria: u64, more: &str) {
        let boxes: String =
            (1..=criteria).map(|k| format!("- [ ] the word word{k} is in file{k}.txt\n")).collect();
        self.sandbox.issue(number, &format!("# Words for {number}\n\n{boxes}{more}"));
    }

    /// Writes what the agent does.
    pub fn script(&self, text: &str) {
        fs::write(self.sandbox.home().join("script.toml"), text).expect("the script can be written");
    }

    /// Returns a script that meets all criteria, so many in a chunk.
    pub fn plain_script(criteria: u64, in_chunk: u64) -> String {
        let mut text =
            "[[turn]]\nphase = \"planning\"\nanswer = { approach = \"word by word\" }\n".to_owned();
        for (index, first) in (1..=criteria).step_by(usize::try_from(in_chunk).unwrap_or(1)).enumerate() {
            let last = criteria.min(first + in_chunk - 1);
            text.push_str(&Self::coding_turn(index as u64 + 1, first..=last, ""));
        }
        text
    }

    /// Returns the turn for a chunk: it does `steps` and meets these criteria.
    pub fn coding_turn(chunk: u64, criteria: RangeInclusive<u64>, steps: &str) -> String {
        let writes: String = criteria
            .clone()
            .map(|k| format!("  {{ write = \"file{k}.txt\", text = \"word{k}\\n\" }},\n"))
            .collect();
        let evidence: String = criteria
            .map(|k| format!("{{ ac = \"AC-{k:02}\", file = \"file{k}.txt\", line = 1 }}, "))
            .collect();
        format!(
            "[[turn]]\nphase = \"coding\"\nchunk = {chunk}\nsteps = [\n{steps}{writes}]\n\
             answer = {{ summary = \"words are there\", evidence = [{evidence}] }}\n"
        )
    }

    /// Makes a `warp run` with the scripted agent, behind walls where there can be any.
    pub fn run_command(&self, arguments: &[&str]) -> Command {
        let agent = format!("script:{}", self.sandbox.home().join("script.toml").display());
        self.run_command_with(&agent, arguments)
    }

    /// Makes a `warp run` with an agent, behind walls where there can be any.
    pub fn run_command_with(&self, agent: &str, arguments: &[&str]) -> Command {
        let mut command = self.sandbox.warp_command(&["run", "--agent", agent]);
        if !machine::has_walls() {
            command.arg("--no-sandbox");
        }
        command.args(arguments);
        command
    }

    /// Runs `warp run` with a shell command as the agent to its end.
    pub fn run_shell(&self, line: &str, arguments: &[&str]) -> Said {
        let command = self.run_command_with(&format!("command:{line}"), arguments);
        self.sandbox.said(&output(command, PATIENCE))
    }

    /// Runs `warp run` with the scripted agent to its end.
    pub fn run(&self, arguments: &[&str]) -> Said {
        self.sandbox.said(&output(self.run_command(arguments), PATIENCE))
    }

    /// Starts `warp run --json` with the scripted agent, and looks on.
    pub fn start(&self, arguments: &[&str]) -> Driving {
        Driving::start(self.run_command(&[&["--json"], arguments].concat()))
    }
}

/// A command under way whose output is read line by line. It is killed when this is dropped.
#[derive(Debug)]
pub struct Driving {
    child: Child,
    lines: Receiver<String>,
}

impl Driving {
    /// Starts a command.
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the command can be started");
        let printed = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        let (say, lines) = channel();
        // Read to the end, also when nobody listens any more: who writes must not wait.
        thread::spawn(move || printed.lines().map_while(Result::ok).for_each(|line| drop(say.send(line))));
        Self { child, lines }
    }

    /// Waits until a line with this text is printed, and returns it.
    pub fn line(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut seen = Vec::new();
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) if line.contains(text) => return line,
                Ok(line) => seen.push(line),
                Err(error) => panic!("`{text}` is not printed ({error}): {}", seen.join("\n")),
            }
        }
    }

    /// Waits until it ends; returns the lines that were not read before.
    pub fn rest(&mut self) -> Vec<String> {
        assert_eq!(self.end(), Some(0));
        self.lines.iter().collect()
    }

    /// Tells whether it has not ended yet.
    pub fn is_under_way(&mut self) -> bool {
        self.child.try_wait().expect("its end can be read").is_none()
    }

    /// Kills it, as a crash would.
    pub fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.end();
    }

    /// Waits until it ends; returns its exit code, none if a signal ended it.
    pub fn end(&mut self) -> Option<i32> {
        let deadline = Instant::now() + PATIENCE;
        assert!(!self.is_under_way() || ends_before(&self.child, deadline), "it does not end");
        self.child.wait().expect("its end can be read").code()
    }
}

impl Drop for Driving {
    fn drop(&mut self) {
        // One that has ended needs no signal; a destructor has nobody to tell of a failure.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
