//! `warp run` is asleep for longer than its lease holds, another machine takes the run over, and the first one wakes.

use std::{fs, process::Command};

use adapters::machine;
use journal::Stores;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use testkit::{Sandbox, agents::skip};

use super::running::{arguments, project, started};

const ISSUE: &str = "# Write a\n\n- [ ] there is an a\n";

const SCRIPT: &str = r#"
[[turn]]
phase = "coding"
steps = [GATE { write = "a.txt", text = "an a\n" }]
answer = { summary = "a", evidence = [{ ac = "AC-01", file = "a.txt", line = 1 }] }
"#;
const GATE: &str =
    r#"{ run = "test -e .gate || mkfifo .gate" }, { say = "at the gate" }, { run = "cat .gate" }, "#;
/// Runs a command as a machine of another name.
const ELSEWHERE: [&str; 5] = ["--uts", "sh", "-c", "hostname elsewhere && exec \"$@\"", "sh"];

/// Returns what a driver can change that is not in its own workspace.
fn outside(sandbox: &Sandbox) -> (u64, [String; 3]) {
    let store = Stores::default().open(sandbox.journal()).unwrap();
    let refs = |git_dir: &str| sandbox.git(&["--git-dir", git_dir, "for-each-ref"]);
    let texts = [refs(".git"), refs("../remote.git"), sandbox.warp_ok(&["issue", "show", "1"])];
    (store.last_position().unwrap(), texts)
}

#[test]
fn a_run_that_another_machine_has_taken_over_changes_nothing_when_it_wakes() {
    let trial = Command::new("unshare").args(ELSEWHERE).arg("true").output();
    if !trial.is_ok_and(|output| output.status.success()) {
        return skip("no machine of another name can be had here");
    }
    let sandbox = project(&[(1, ISSUE)], &SCRIPT.replace("GATE", GATE));
    sandbox.git(&["clone", "--quiet", "--bare", "--template=", ".", "../remote.git"]);
    sandbox.git(&["remote", "add", "origin", "../remote.git"]);
    sandbox.warp_ok(&["config", "push=target"]);
    let mut asleep = started(&sandbox, &["1"]);
    assert!(asleep.says("at the gate"));
    let pid = Pid::from_raw(asleep.pid().cast_signed());
    kill_process(pid.unwrap(), Signal::STOP).unwrap();
    waitpid(pid, WaitOptions::UNTRACED).unwrap();
    // The time for which it has its lease passes.
    let store = Stores::default().open(sandbox.journal()).unwrap();
    let lease = store.lease("issue:1").unwrap().unwrap();
    store.renew("issue:1", lease.generation, machine::now().millis()).unwrap();
    drop(store);

    fs::write(sandbox.home().join("script.toml"), SCRIPT.replace("GATE", "")).unwrap();
    let mut other = sandbox.command("unshare");
    other.args(ELSEWHERE).arg(env!("CARGO_BIN_EXE_warp")).args(arguments(&sandbox, &["1"]));
    let output = other.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let left = outside(&sandbox);
    assert!(left.1[2].contains("closed"), "{}", left.1[2]);

    kill_process(pid.unwrap(), Signal::CONT).unwrap();
    let ended = asleep.end();
    let (code, said) = (ended.code, ended.said);
    assert_eq!(code, Some(6), "{said}");
    assert!(said.contains("another process has taken issue 1 over; nothing more was done here"), "{said}");
    assert_eq!(outside(&sandbox), left, "{said}");
}
