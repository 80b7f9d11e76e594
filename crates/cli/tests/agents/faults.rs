//! Agents that go wrong: each fault ends in its own way, nothing escapes, no process is left.

use std::{env, fs, path::Path, process::Command, time::Duration};

use adapters::{
    agent::{NoAnswer, script::ScriptProcess},
    process::{End, Limits},
    sandbox::Sandbox,
};
use testkit::{
    agents::skip,
    processes::{is_running, mark},
};

use super::hermetic::{Driver, LIMITS, again, drive, project};

const SCRIPT: &str = r#"
[[turn]]
phase = "coding"
issue = 42
resumed = false
steps = [
    { run = "setsid -f sleep MARK; setsid -f env -i sleep MARK" },
    { run = "rm -rf .git" },
    { run = "cp /bin/true .git/hooks/pre-commit" },
    { write = "/etc/warp-agent-test", text = "x" },
    { exit = 1 },
]
[[turn]]
phase = "coding"
steps = [{ run = "sleep MARK & echo" }, { FAULT }]
"#;

/// The variable that holds what the agent's processes are known by.
const MARK: &str = "WARP_TEST_MARK";

fn outside(fault: &str) -> Option<(testkit::Sandbox, Command)> {
    let sandbox = project();
    let (mark, mut command) = (mark(), again(&sandbox));
    let script = SCRIPT.replace("FAULT", fault).replace("MARK", &mark);
    fs::write(sandbox.home().join("script.toml"), script).unwrap();
    command.env(MARK, mark);
    Some((sandbox, command))
}

fn agent(driver: &Driver) -> ScriptProcess {
    ScriptProcess { file: driver.root.parent().unwrap().join("script.toml"), warp: Driver::warp().to_owned() }
}

/// Tells whether a process of the agent is left.
fn is_left() -> bool {
    is_running(&env::var(MARK).unwrap())
}

#[test]
fn an_agent_that_reaches_out_and_fails_has_changed_nothing_outside() {
    let test = "faults::an_agent_that_reaches_out_and_fails_has_changed_nothing_outside";
    drive(
        test,
        || match Sandbox::find() {
            Ok(_) => outside("exit = 1"),
            Err(why) => {
                skip(&why.to_string());
                None
            }
        },
        |driver| {
            let (ended, said) = driver.ask(&agent(driver), "", None);
            let why = ended.answer.unwrap_err();
            assert!(matches!(why, NoAnswer::Failed { end: End::Exit(1), .. }), "{why:?}");
            assert!(driver.root.join(".git/HEAD").is_file(), "{said:?}");
            assert!(!driver.root.join(".git/hooks/pre-commit").exists());
            assert!(!Path::new("/etc/warp-agent-test").exists());
            assert!(!is_left());
        },
    );
}

#[test]
fn an_agent_that_hangs_is_ended() {
    drive(
        "faults::an_agent_that_hangs_is_ended",
        || outside("hang = true"),
        |driver| {
            let limits = Limits { silence: Duration::from_secs(2), ..LIMITS };
            let (ended, _) = driver.ask_within(&agent(driver), "", Some("s"), limits);
            assert!(matches!(ended.answer, Err(NoAnswer::Silent(_))), "{ended:?}");
            assert!(!is_left());
        },
    );
}

#[test]
fn an_agent_that_dies_is_told_by_its_signal() {
    drive(
        "faults::an_agent_that_dies_is_told_by_its_signal",
        || outside("kill = \"self\""),
        |driver| {
            let (ended, _) = driver.ask(&agent(driver), "", Some("s"));
            // The walls end with the code that a shell would give.
            let is_told =
                matches!(ended.answer, Err(NoAnswer::Failed { end: End::Signal(9) | End::Exit(137), .. }));
            assert!(is_told, "{ended:?}");
        },
    );
}

#[test]
fn a_flood_and_garbage_are_no_answer() {
    drive(
        "faults::a_flood_and_garbage_are_no_answer",
        || outside("flood_mb = 1000"),
        |driver| {
            let (ended, _) = driver.ask(&agent(driver), "", Some("s"));
            assert!(matches!(ended.answer, Err(NoAnswer::NotJson)), "{:?}", ended.answer);
            assert!(ended.last_words.len() < 100_000);
        },
    );
}
