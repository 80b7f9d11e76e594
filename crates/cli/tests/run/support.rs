//! A project with an issue, and `warp run` in it: to its end, or watched line by line.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use testkit::{Sandbox, agents::skip};

pub(crate) use testkit::processes::{is_gone, is_running, mark};

use crate::support::InProject as _;
pub(crate) use crate::support::{Ended, Ends, Running};

/// An agent that does all that is wanted of the issue, at once.
pub(crate) const GOOD: &str = r#"
[[turn]]
phase = "coding"
steps = [{ write = "greeting.txt", text = "hello\nworld\n" }]
answer = { summary = "It greets.", evidence = [
    { ac = "AC-01", file = "greeting.txt", line = 1 },
    { ac = "AC-02", file = "greeting.txt", line = 2 },
] }
"#;

/// A project whose issue 1 has two criteria, and an agent that does what the script says.
pub(crate) struct Project {
    pub(crate) sandbox: Sandbox,
}

impl Project {
    pub(crate) fn new(script: &str) -> Self {
        let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
        sandbox.git(&["switch", "--quiet", "main"]);
        sandbox.write("Makefile", "test:\n\t@sh ./test.sh\n");
        sandbox.write("test.sh", "test ! -e broken\n");
        sandbox.commit("chore: tests");
        sandbox.issue(1, "# A greeting\n\n- [ ] AC-01: it says hello\n- [ ] AC-02: it names the world\n");
        let project = Self { sandbox };
        project.script(script);
        project
    }

    /// Makes the same with a file that the agent changes and a remote that has `main`; returns the remote too. `push` is what
    /// the person has allowed, if they were asked.
    pub(crate) fn with_remote(push: Option<&str>) -> (Self, PathBuf) {
        let project = Self::new(GOOD);
        let sandbox = &project.sandbox;
        sandbox.write("greeting.txt", "base\n");
        sandbox.commit("chore: base");
        let remote = sandbox.home().join("remote.git");
        sandbox.git(&["init", "--quiet", "--bare", remote.to_str().unwrap()]);
        sandbox.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
        sandbox.git(&["push", "--quiet", "origin", "main"]);
        if let Some(push) = push {
            sandbox.warp_ok(&["config", &format!("push={push}")]);
        }
        (project, remote)
    }

    /// Commits a file of the person's own to `main`.
    pub(crate) fn own_commit(&self, file: &str) {
        self.sandbox.write(file, "mine\n");
        self.sandbox.commit(&format!("chore: my {file}"));
    }

    /// Returns the subjects of a branch at a repository, newest first; nothing if it has none of that name.
    pub(crate) fn subjects(&self, git_dir: &Path, branch: &str) -> Vec<String> {
        let git_dir = git_dir.to_str().unwrap();
        let listed = ["--git-dir", git_dir, "for-each-ref", "--format=x", &format!("refs/heads/{branch}")];
        if self.sandbox.git(&listed).is_empty() {
            return Vec::new();
        }
        let log = self.sandbox.git(&["--git-dir", git_dir, "log", "--format=%s", branch]);
        log.lines().map(str::to_owned).collect()
    }

    /// Gives the agent another script.
    pub(crate) fn script(&self, script: &str) {
        fs::write(self.file(), script).unwrap();
    }

    fn file(&self) -> PathBuf {
        self.sandbox.home().join("script.toml")
    }

    /// Returns where the run works.
    pub(crate) fn tree(&self) -> PathBuf {
        self.sandbox.journal().with_file_name("slots/1/tree")
    }

    /// Makes the command that runs issue 1 to its merge.
    pub(crate) fn command(&self, more: &[&str]) -> Command {
        let agent = format!("script:{}", self.file().display());
        let mut arguments = vec!["run", "1", "--once"];
        if !more.contains(&"--level") {
            arguments.extend(["--level", "3"]);
        }
        if !more.contains(&"--agent") {
            arguments.extend(["--agent", &agent]);
        }
        if !testkit::machine::has_walls() && !more.contains(&"--no-sandbox") {
            arguments.push("--no-sandbox");
        }
        arguments.extend(more);
        self.sandbox.warp_command(&arguments)
    }

    /// Runs the issue until `warp run` ends.
    pub(crate) fn run(&self, more: &[&str]) -> Ended {
        self.start(more).end()
    }

    /// Runs the issue, and looks on.
    pub(crate) fn start(&self, more: &[&str]) -> Running {
        Running::start(self.command(more))
    }

    /// Returns the events of the run, oldest first, each with what came along.
    pub(crate) fn log(&self) -> Vec<(String, Value)> {
        let log = self.sandbox.json(&["log", "1", "--json"]);
        let rows = log.as_array().unwrap();
        rows.iter().map(|row| (row["event"].as_str().unwrap().to_owned(), row["data"].clone())).collect()
    }

    /// Returns the phases that the run of an issue came to, in order, as people are told of them.
    pub(crate) fn phases(&self, issue: &str) -> Vec<String> {
        let log = self.sandbox.json(&["log", issue, "--json"]);
        let rows = log.as_array().unwrap().iter().filter(|row| row["moved"] == true);
        rows.map(|row| row["phase"].as_str().unwrap().replace('_', " ")).collect()
    }

    /// Tells how often an event was recorded.
    pub(crate) fn count(&self, event: &str) -> usize {
        self.log().iter().filter(|(name, _)| name == event).count()
    }

    /// Returns how each turn of the agent ended.
    pub(crate) fn turns(&self) -> Vec<String> {
        let log = self.log();
        let ended = log.iter().filter(|(name, _)| name == "turn_ended");
        ended.map(|(_, data)| data["how"].as_str().unwrap().to_owned()).collect()
    }

    /// Returns the id of the question that is open, and the question.
    pub(crate) fn question(&self) -> (String, String) {
        let status = self.sandbox.json(&["status", "1", "--json"]);
        let asked = [&status["asked"], &status["decision"]].into_iter().find(|asked| asked.is_object());
        let asked = asked.unwrap_or_else(|| panic!("no question is open: {status:#}"));
        (asked["id"].as_str().unwrap().to_owned(), asked["question"].as_str().unwrap().to_owned())
    }

    /// Files another issue and runs it, with an agent that does it; returns what was said.
    pub(crate) fn run_another(&self) -> String {
        self.sandbox.issue(9, "# Another\n\n- [ ] AC-01: there is a second word\n");
        self.script(
            "[[turn]]\nphase = \"coding\"\nsteps = [{ write = \"second.txt\", text = \"second word\\n\" }]\n\
             answer = { summary = \"It is there.\", evidence = [{ ac = \"AC-01\", file = \"second.txt\", line = 1 }] }\n",
        );
        let agent = format!("script:{}", self.file().display());
        let mut line = vec!["run", "9", "--level", "3", "--once", "--agent", &agent];
        if !testkit::machine::has_walls() {
            line.push("--no-sandbox");
        }
        let ended = Running::start(self.sandbox.warp_command(&line)).end().ends(0);
        ended.said
    }

    /// Runs the issue with an agent that does it, and sees that it is merged.
    pub(crate) fn goes_on(&self) {
        self.script(GOOD);
        self.run(&[]).ends(0);
        assert_eq!(self.sandbox.git(&["show", "main:greeting.txt"]), "hello\nworld");
        let issue = self.sandbox.warp_ok(&["issue", "show", "1"]);
        assert!(issue.contains("[x] AC-01") && issue.contains("[x] AC-02"), "{issue}");
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

/// Tells whether jobs have control groups here; says that the test is skipped if not.
pub(crate) fn has_cgroups() -> bool {
    let has = adapters::process::has_cgroups();
    if !has {
        skip("no control group can be made here");
    }
    has
}
