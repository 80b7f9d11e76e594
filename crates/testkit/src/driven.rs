//! A project whose issues `warp run` works on, with a scripted agent.
//!
//! Issue N has criteria "the word wordK is in fileK.txt"; the scripts made here meet them.

use std::{fs, ops::RangeInclusive, path::Path, process::Command};

use crate::{Said, Sandbox};

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

    /// Makes a `warp run` with the scripted agent. It is ended if it takes too long.
    pub fn run_command(&self, arguments: &[&str]) -> Command {
        let agent = format!("script:{}", self.sandbox.home().join("script.toml").display());
        let mut command = self.sandbox.command("timeout");
        command.args(["--foreground", "--kill-after=5", "60"]).arg(&self.sandbox.warp);
        command.args(["run", "--agent", &agent]).args(arguments);
        command
    }

    /// Runs `warp run` with the scripted agent to its end.
    pub fn run(&self, arguments: &[&str]) -> Said {
        let output = self.run_command(arguments).output().expect("warp can be started");
        self.sandbox.said(&output)
    }
}
