//! What all suites share: how a command ended, what it printed as a text that is the same each time, and a project's data.
//!
//! What a person reads is compared with inline snapshots: `insta::assert_snapshot!(sandbox.seen(&["status"]), @"…")`. When words
//! change, run the tests with `INSTA_UPDATE=always INSTA_FORCE_PASS=1`, look at what is proposed with `cargo insta review`, or write
//! all of it into the sources with `cargo insta accept`. In `cargo xtask test` a text that differs fails (`INSTA_UPDATE=no`). What
//! is another each time is taken out by [`InProject::stable`] and nowhere else, so that a snapshot needs no filter of its own.

mod running;

use std::process::{Command, Output};

use project::{Dirs, Place, Workspace};
use serde_json::Value;
use testkit::{Said, Sandbox};

pub(crate) use running::{Ended, Running};

/// How a command ended.
pub(crate) trait Ends: Sized {
    fn code(&self) -> Option<i32>;
    /// Returns all that it printed.
    fn all(&self) -> String;

    /// Expects an exit code.
    #[track_caller]
    fn ends(self, code: i32) -> Self {
        assert_eq!(self.code(), Some(code), "{}", self.all());
        self
    }
}

impl Ends for Said {
    fn code(&self) -> Option<i32> {
        self.code
    }

    fn all(&self) -> String {
        format!("{}{}", self.out, self.err)
    }
}

impl Ends for testkit::agents::Ended {
    fn code(&self) -> Option<i32> {
        self.code
    }

    fn all(&self) -> String {
        format!("{}{}", self.out, self.err)
    }
}

impl Ends for Ended {
    fn code(&self) -> Option<i32> {
        self.code
    }

    fn all(&self) -> String {
        self.said.clone()
    }
}

/// Runs a command to its end.
pub(crate) fn said(mut command: Command) -> Said {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Said { code: status.code(), out: text(stdout), err: text(stderr) }
}

/// What is done in a project again and again.
pub(crate) trait InProject {
    /// Commits everything that is there.
    fn commit(&self, subject: &str);

    /// Runs `warp`, expects success and reads what it prints.
    fn json(&self, arguments: &[&str]) -> Value;

    /// Does the same with a list.
    fn rows(&self, arguments: &[&str]) -> Vec<Value> {
        serde_json::from_value(self.json(arguments)).unwrap()
    }

    /// Takes a run that has just begun to `coding`, with these criteria in its chunks.
    fn to_coding(&self, chunks: &str);

    /// Runs `warp` as the command of an agent.
    fn as_agent(&self, arguments: &[&str]) -> Said;

    /// Runs `warp`, expects success and returns what it prints as a text for a snapshot.
    fn seen(&self, arguments: &[&str]) -> String;

    /// Runs `warp`, expects an exit code and returns what it says on standard error as a text for a snapshot.
    fn refused(&self, code: i32, arguments: &[&str]) -> String;

    /// Takes out of a text what is another each time: the home, the program of the tests, times, ports, commits, and the ids of
    /// runs, processes and the project.
    fn stable(&self, text: &str) -> String;
}

impl InProject for Sandbox {
    #[track_caller]
    fn commit(&self, subject: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", subject]);
    }

    #[track_caller]
    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.warp_ok(arguments)).unwrap()
    }

    fn to_coding(&self, chunks: &str) {
        self.transitions(&["prerequisites_ok", "work_selected", "plan_ready"]);
        let data = format!(r#"{{"acs":{chunks}}}"#);
        self.warp_ok(&["state", "transition", ".", "chunks_defined", "--data", &data]);
    }

    fn as_agent(&self, arguments: &[&str]) -> Said {
        let mut command = self.warp_command(arguments);
        command.env("AI_AGENT", "claude-code_1_agent");
        said(command)
    }

    #[track_caller]
    fn seen(&self, arguments: &[&str]) -> String {
        self.stable(&self.warp_ok(arguments))
    }

    #[track_caller]
    fn refused(&self, code: i32, arguments: &[&str]) -> String {
        self.stable(&self.warp(arguments).ends(code).err)
    }

    fn stable(&self, text: &str) -> String {
        let program = std::env::current_exe().unwrap();
        let mut text = self.plain(text).replace(program.to_str().unwrap(), "[TEST]");
        let hashes = self.git(&["log", "--all", "--reflog", "--format=%H %h"]);
        for hash in hashes.split_whitespace() {
            text = text.replace(hash, "[COMMIT]").replace(&hash[..7], "[COMMIT]");
        }
        let mut processes = vec![std::process::id()];
        if let Some(id) = self.read(".git/warp/project-id") {
            text = text.replace(id.trim(), "[ID]");
            let opened = Workspace::open(Place::at(&self.root()).unwrap(), dirs(self));
            // A journal that a test has damaged names no runs.
            let runs = opened.and_then(|mut workspace| workspace.runs()).unwrap_or_default();
            for (index, current) in runs.into_iter().rev().enumerate() {
                let number = if index == 0 { String::new() } else { format!("-{}", index + 1) };
                text = text.replace(current.run.id.as_str(), &format!("[RUN{number}]"));
                processes.push(current.run.owner.pid);
            }
        }
        without_numbers(&text, &processes)
    }
}

/// Returns where the project's commands keep their files.
pub(crate) fn dirs(sandbox: &Sandbox) -> Dirs {
    Dirs::new(sandbox.home().join("state/warp"), sandbox.home().join("config/warp"))
}

/// Opens the project as its commands do.
pub(crate) fn workspace(sandbox: &Sandbox) -> Workspace {
    Workspace::open(Place::at(&sandbox.root()).unwrap(), dirs(sandbox)).unwrap()
}

/// Takes ports, process ids and the times in names out of a text, where they are words of their own.
fn without_numbers(text: &str, processes: &[u32]) -> String {
    let mut plain = String::new();
    for part in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let word = part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        let is_port =
            is_number && ["127.0.0.1:", "localhost:", " port "].iter().any(|before| plain.ends_with(before));
        // What follows a point is the end of another number.
        let is_process = !plain.ends_with('.') && word.parse().is_ok_and(|id| processes.contains(&id));
        let is_time = is_number && word.len() == 13;
        let name = match (is_port, is_process, is_time) {
            (true, ..) => "[PORT]",
            (_, true, _) => "[PID]",
            (.., true) => "[TIME]",
            _ => word,
        };
        plain.push_str(name);
        plain.push_str(&part[word.len()..]);
    }
    plain
}
