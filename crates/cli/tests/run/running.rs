//! A project, its issues, and `warp run` in a process of its own.

use std::{fs, path::PathBuf};

use serde_json::Value;
use testkit::Sandbox;

use crate::support::{InProject as _, Running};

/// Makes a project on `main` whose tests fail on the word `broken`, and leave a line with the files that they saw.
pub(crate) fn project(issues: &[(u64, &str)], script: &str) -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    sandbox.git(&["switch", "--quiet", "main"]);
    sandbox.git(&["config", "user.name", "Ann"]);
    sandbox.git(&["config", "user.email", "ann@localhost"]);
    sandbox.write("test.sh", "cat *.txt | tr '\\n' ' ' >> .seen; echo >> .seen; ! grep -qs broken *.txt\n");
    sandbox.write("shared.txt", "one\n");
    sandbox.write(".gitignore", ".seen\n.gate\n");
    sandbox.write("warp.toml", "[workflow]\ntest_command = \"sh test.sh\"\nmax_acs_per_commit = 2\n");
    sandbox.commit("chore: tests");
    fs::write(sandbox.home().join("script.toml"), script).unwrap();
    for (number, text) in issues {
        sandbox.issue(*number, text);
    }
    sandbox
}

/// Returns the arguments of `warp run` with the project's script, behind walls where there can be any.
pub(crate) fn arguments(sandbox: &Sandbox, more: &[&str]) -> Vec<String> {
    let agent = format!("script:{}", sandbox.home().join("script.toml").display());
    let mut all = vec!["run".to_owned()];
    all.extend(more.iter().map(|argument| (*argument).to_owned()));
    all.extend(["--once", "--level", "3", "--agent", &agent].map(str::to_owned));
    if adapters::sandbox::Sandbox::find().is_err() {
        all.push("--no-sandbox".to_owned());
    }
    all
}

/// Lets a run go to its end; returns how it ended and all that was said.
pub(crate) fn run(sandbox: &Sandbox, more: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let arguments = arguments(sandbox, more);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = sandbox.warp_command(&arguments).envs(variables.iter().copied()).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// Starts a run, and looks on.
pub(crate) fn started(sandbox: &Sandbox, more: &[&str]) -> Running {
    let arguments = arguments(sandbox, more);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    Running::start(sandbox.warp_command(&arguments))
}

/// Returns the working tree of an issue's run.
pub(crate) fn tree(sandbox: &Sandbox, issue: &str) -> PathBuf {
    let status = json(&sandbox.warp_ok(&["status", issue, "--json"]));
    let slots = sandbox.journal().with_file_name("slots");
    let run = status["run"].as_str().unwrap();
    let is_its = |slot: &PathBuf| fs::read_to_string(slot.join("run")).is_ok_and(|text| text.trim() == run);
    let mut slots = fs::read_dir(slots).unwrap().map(|entry| entry.unwrap().path());
    slots.find(is_its).unwrap().join("tree")
}

/// Lets an agent go on that waits at its gate.
pub(crate) fn open_gate(sandbox: &Sandbox, issue: &str) {
    fs::write(tree(sandbox, issue).join(".gate"), "go\n").unwrap();
}

/// Returns the processes that still work for a project, by what they were started with.
pub(crate) fn processes_of(sandbox: &Sandbox) -> Vec<String> {
    let home = sandbox.home().to_str().unwrap();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(environment) = fs::read(entry.path().join("environ")) else { continue };
        if String::from_utf8_lossy(&environment).contains(home) {
            let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found.push(String::from_utf8_lossy(&command).replace('\0', " "));
        }
    }
    found
}

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
