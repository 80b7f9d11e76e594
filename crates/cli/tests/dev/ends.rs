//! However a run ends, its server ends with it, or by what comes next.

use rustix::process::Signal;

use super::support::{Demo, Running, wait_for};
use crate::support::{Ends as _, InProject as _};

/// A step after which the agent works for ever.
const HANG: &str = "{ say = \"about to hang\" }, { hang = true },";

/// Starts a run whose agent hangs, with its server up.
fn hanging(demo: &Demo, more: &[&str]) -> Running {
    demo.issue(1, [HANG, ""]);
    let mut running = demo.start(&[&["1"], more].concat());
    running.until("about to hang");
    assert!(!demo.servers().is_empty());
    running
}

/// Lets the run go on with an agent that does its work.
fn goes_on(demo: &Demo, more: &[&str]) {
    demo.script(["", ""]);
    demo.run(&[&["1"], more].concat()).ends(0);
    assert_eq!(demo.sandbox.git(&["show", "main:file2.txt"]), "word");
    demo.is_quiet();
}

#[test]
fn a_run_that_is_stopped_takes_its_server_along() {
    let demo = Demo::new();
    let running = hanging(&demo, &[]);
    demo.sandbox.warp_ok(&["stop", "1"]);
    running.end().ends(1);
    demo.is_quiet();
}

#[test]
fn a_run_that_is_interrupted_takes_its_server_along_and_brings_it_up_when_it_goes_on() {
    for signal in [Signal::INT, Signal::TERM] {
        let demo = Demo::new();
        let running = hanging(&demo, &[]);
        running.signal(signal);
        running.end().ends(130);
        demo.is_quiet();
        goes_on(&demo, &[]);
        let expected = ["dev_came_up", "dev_came_up", "dev_checked", "dev_checked"];
        assert_eq!(demo.seen_names("1"), expected);
    }
}

#[test]
fn a_run_that_was_killed_leaves_nothing_behind_once_it_goes_on() {
    let demo = Demo::new();
    let running = hanging(&demo, &[]);
    running.signal(Signal::KILL);
    running.end();
    goes_on(&demo, &[]);
}

#[test]
fn without_walls_the_next_run_ends_what_a_killed_one_has_left() {
    let demo = Demo::new();
    let running = hanging(&demo, &["--no-sandbox"]);
    let servers = demo.servers();
    running.signal(Signal::KILL);
    running.end();
    assert_eq!(demo.servers(), servers);
    goes_on(&demo, &["--no-sandbox"]);
}

/// Killed at points all along its way, a run leaves nothing behind either, and its tests find the server when it goes on.
#[cfg(debug_assertions)]
#[test]
fn a_run_that_is_killed_anywhere_goes_on_with_its_server() {
    /// How far two points are apart at which it is killed, and how often that is at least.
    const STEP: usize = 53;
    const FEWEST: usize = 4;
    let more = ["1", "--no-sandbox", "--set", "test_command=test -n \"$WARP_DEV_URL\""];
    let mut kills = 0;
    for at in (30..).step_by(STEP) {
        let demo = Demo::new();
        demo.issue(1, ["", ""]);
        let killed = demo.run_with(&more, &[("WARP_CRASH_AT", &at.to_string())]);
        if killed.code.is_some() {
            assert_eq!(killed.code, Some(0), "{}", killed.said);
            break;
        }
        kills += 1;
        let ended = demo.run(&more);
        assert_eq!(ended.code, Some(0), "killed at {at}: {}", ended.said);
        demo.is_quiet();
    }
    assert!(kills >= FEWEST, "{kills} kills");
}

#[test]
fn a_run_that_waits_for_its_server_can_be_interrupted() {
    let demo = Demo::with(|dev| dev["server"]["command"] = serde_json::json!("sleep 600"));
    demo.issue(1, ["", ""]);
    let running = demo.start(&["1"]);
    demo.waits_for_file("server.json");
    running.signal(Signal::INT);
    running.end().ends(130);
    demo.is_quiet();
}

#[test]
fn without_walls_a_person_ends_what_a_killed_run_has_left() {
    let demo = Demo::new();
    let running = hanging(&demo, &["--no-sandbox"]);
    let said = demo.warp(&["dev", "down"]);
    insta::assert_snapshot!(demo.sandbox.stable(&said.err), @"note: the server on port [PORT] is a run's, and ends with it (`warp status`)");
    let servers = demo.servers();
    assert!(!servers.is_empty());
    running.signal(Signal::KILL);
    running.end();
    insta::assert_snapshot!(demo.sandbox.seen(&["dev", "down"]), @"
    no dev server was running here
    what a run has left of a server on port [PORT] is ended
    ");
    for server in servers {
        wait_for(server, std::time::Duration::from_secs(60));
    }
    assert_eq!(demo.servers(), []);
}
