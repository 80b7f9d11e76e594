//! A person's word while a run is driven: told, stopped, interrupted; and a driver that is killed.

use std::{fs, path::PathBuf};

use rustix::process::Signal;

use super::support::{GOOD, Project, Running, has_cgroups, has_walls, is_gone, is_running, mark};
use crate::support::{Ends as _, InProject as _};

/// An agent that has written something and then works on for longer than anybody waits. What it leaves has left its
/// process group when the command ends: it says so.
const WORKS: &str = r#"
[[turn]]
phase = "coding"
steps = [
    { write = "half.txt", text = "half\n" },
    { run = "mkfifo up; setsid -f sh -c 'echo > up; exec sleep MARK'; read line < up; rm up; echo" },
    { say = "I am at it." },
    { wait_ms = 600000 },
]
"#;

fn at_work(mark: &str, more: &[&str]) -> (Project, Running) {
    at_work_by(WORKS, mark, more)
}

fn at_work_by(script: &str, mark: &str, more: &[&str]) -> (Project, Running) {
    let project = Project::new(&script.replace("MARK", mark));
    let mut running = project.start(more);
    running.until("I am at it.");
    (project, running)
}

#[test]
fn what_a_person_says_is_in_the_next_prompt() {
    let project = Project::new("");
    let answer = r#"{"summary":"x","evidence":[{"ac":"AC-01","file":"prompt-1","line":1},{"ac":"AC-02","file":"prompt-1","line":1}]}"#;
    // The first turn waits until something was said, and answers nothing.
    let line = format!(
        "command:cat > prompt; if test -e prompt-0; then mv prompt prompt-1; echo '{answer}'; else mv prompt prompt-0
        echo begun; for i in $(seq 600); do test -e go && break; sleep 0.1; done; rm go; fi"
    );
    let mut running = project.start(&["--agent", &line]);
    running.until("begun");
    insta::assert_snapshot!(project.sandbox.seen(&["tell", "1", "use tabs, please"]), @"run [RUN] gets it with its next turn, in `coding`");
    fs::write(project.tree().join("go"), "").unwrap();
    running.end().ends(0);
    let prompt = |turn: &str| project.sandbox.git(&["show", &format!("main:prompt-{turn}")]);
    assert!(!prompt("0").contains("use tabs") && prompt("1").contains("use tabs, please"));
}

#[test]
fn a_plan_waits_for_a_yes_and_a_rejected_one_is_drafted_again() {
    let project = Project::new("");
    let line = r#"command:cat > .prompt; case $WARP_PHASE in planning)
        if grep -q 'shorter, please' .prompt; then echo '{"approach":"The short way."}'; else echo '{"approach":"The long way."}'; fi; rm .prompt;;
        *) mv .prompt greeting.txt; echo '{"summary":"x","evidence":[{"ac":"AC-01","file":"greeting.txt","line":1},{"ac":"AC-02","file":"greeting.txt","line":1}]}';; esac"#;
    let run = |more: &[&str]| project.run(&[&["--agent", line], more].concat());
    let ended = run(&["--approve-plan"]).ends(5);
    let (id, question) = project.question();
    assert!(question.contains("The long way."), "{question}");
    assert!(ended.said.contains(&format!("\n  warp answer {id} reject\n")), "{}", ended.said);
    project.sandbox.warp_ok(&["answer", &id, "reject", "--note", "shorter, please"]);

    run(&["--approve-plan"]).ends(5);
    let (id, question) = project.question();
    assert!(question.contains("The short way."), "{question}");
    project.sandbox.warp_ok(&["answer", &id, "approve"]);

    run(&[]).ends(0);
    assert!(project.sandbox.git(&["show", "main:greeting.txt"]).contains("The short way."));
}

#[test]
fn a_run_that_is_stopped_ends_its_agent_and_keeps_its_work() {
    let mark = mark();
    let (project, running) = at_work(&mark, &[]);
    project.sandbox.warp_ok(&["stop", "1"]);
    let ended = running.end().ends(1);
    assert!(
        ended.said.trim_end().ends_with("stopped for good; what was done is kept, as said above"),
        "{}",
        ended.said
    );
    assert!(!is_running(&mark));
    assert_eq!(project.sandbox.git(&["show", "feature/issue-1-a-greeting:half.txt"]), "half");
    let issues = project.sandbox.warp_ok(&["issue", "list", "--state", "all"]);
    assert_eq!(issues.matches("was stopped").count(), 1, "{issues}");
    project.goes_on();
}

#[test]
fn a_run_that_is_stopped_hard_ends_its_agent_at_once() {
    let mark = mark();
    let (project, running) = at_work(&mark, &[]);
    project.sandbox.warp_ok(&["stop", "1", "--hard"]);
    let ended = running.end().ends(1);
    assert!(ended.said.contains("the run is over (reset)"), "{}", ended.said);
    assert!(!is_running(&mark));
    let kept = project.sandbox.warp_ok(&["salvage", "show", "1"]);
    assert!(kept.contains("half.txt"), "{kept}");
    project.goes_on();
    assert_eq!(project.sandbox.warp_ok(&["salvage", "list"]).lines().count(), 1, "it is kept once");
}

/// Lets tests behind walls see what is put into a directory of the home while they run.
const SIGNS: [&str; 2] = ["--set", "sandbox_show=signs"];

fn signs(project: &Project) -> PathBuf {
    let directory = project.sandbox.home().join("signs");
    fs::create_dir(&directory).unwrap();
    directory
}

#[test]
fn a_run_that_is_stopped_during_a_test_ends_after_it() {
    let project = Project::new(GOOD);
    let fast = signs(&project).join("fast");
    let slow = format!(
        "grep -q world greeting.txt || exit 0\nfor i in $(seq 600); do test -e {} && exit 0; sleep 0.1; done; exit 1\n",
        fast.display()
    );
    project.sandbox.write("test.sh", slow);
    project.sandbox.git(&["commit", "--quiet", "-am", "test: a slow one"]);
    let mut running = project.start(&SIGNS);
    running.until("docs_updated");
    project.sandbox.warp_ok(&["stop", "1"]);
    fs::write(fast, "").unwrap();
    let ended = running.end();
    assert_eq!((ended.code, project.count("question_asked")), (Some(1), 0), "{}", ended.said);
    assert!(ended.said.contains("unfinished work is committed on branch"), "{}", ended.said);
}

#[test]
fn a_signal_ends_the_agent_and_the_run_goes_on_later() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        // Where the tests run under `nohup`, a run does not end with its terminal.
        if signal == Signal::HUP && adapters::process::is_ignored(signal) {
            continue;
        }
        let mark = mark();
        let (project, running) = at_work(&mark, &[]);
        running.signal(signal);
        let ended = running.end().ends(130);
        assert!(ended.said.contains("interrupted; `warp run` resumes"), "{}", ended.said);
        assert!(!is_running(&mark));
        goes_on_with(&project);
    }
}

#[test]
fn a_signal_ends_a_test_too_and_that_is_no_failure_of_it() {
    for (trap, signals) in [
        ("", &[Signal::INT][..]),
        // Different ones, because two of a kind may arrive as one.
        ("trap '' INT TERM; ", &[Signal::INT, Signal::TERM]),
    ] {
        let mark = mark();
        let project = Project::new(GOOD);
        let fast = signs(&project).join("fast");
        let slow = format!(
            "grep -q world greeting.txt || exit 0\ntest -e {} || {{ {trap}sleep {mark}; }}\n",
            fast.display()
        );
        project.sandbox.write("test.sh", slow);
        project.sandbox.git(&["commit", "--quiet", "-am", "test: a slow one"]);
        let mut running = project.start(&SIGNS);
        running.until("docs_updated");
        signals.iter().for_each(|signal| running.signal(*signal));
        running.end().ends(130);
        assert!(!is_running(&mark));
        assert_eq!((project.count("tests_failed"), project.count("question_asked")), (0, 0));
        fs::write(fast, "").unwrap();
        project.goes_on();
    }
}

#[test]
fn a_second_signal_kills_an_agent_that_does_not_want_to_end() {
    let project = Project::new("");
    let mark = mark();
    // Asked politely, it would hear a second signal after the first.
    let agent = format!(
        "command:trap '' INT; trap 'echo again' TERM; echo deaf; for i in $(seq 9); do sleep {mark}; done"
    );
    let mut running = project.start(&["--agent", &agent]);
    running.until("> deaf");
    running.signal(Signal::INT);
    running.signal(Signal::TERM);
    let ended = running.end();
    assert_eq!((ended.code, ended.said.contains("> again")), (Some(130), false), "{}", ended.said);
    assert_eq!(project.turns(), ["it was stopped"]);
    assert!(!is_running(&mark));
    project.goes_on();
}

#[test]
fn a_question_can_be_left_open_or_ended_while_it_is_waited_for() {
    let script = r#"
[[turn]]
phase = "coding"
answer = { summary = "", question = { kind = "scope", text = "How far?", options = ["far"] } }
"#;
    let project = Project::new(script);
    let mut running = project.start(&[]);
    running.until("? How far?");
    running.signal(Signal::INT);
    running.end().ends(130);
    // Without an issue, the run that was left is taken up, and still has its question.
    let mut again = project.sandbox.warp_command(&["run", "--once"]);
    let mut running = Running::start({
        again.args(["--agent", "command:true"]);
        again
    });
    running.until("? How far?");
    project.sandbox.warp_ok(&["stop", "1"]);
    let ended = running.end();
    assert_eq!((ended.code, ended.said.contains("stopped for good")), (Some(1), true), "{}", ended.said);
    project.goes_on();
}

#[test]
fn a_driver_that_is_killed_takes_its_agent_along_and_the_run_goes_on() {
    if !has_walls() {
        return;
    }
    let mark = mark();
    let (project, running) = at_work(&mark, &[]);
    running.signal(Signal::KILL);
    assert_eq!(running.end().code, None);
    assert!(is_gone(&mark));
    goes_on_with(&project);
}

#[test]
fn the_socket_of_a_killed_driver_is_removed_by_the_next() {
    let (project, running) = at_work(&mark(), &[]);
    let home = project.sandbox.home();
    let entries = |directory: &str| fs::read_dir(home.join(directory)).unwrap().count();
    running.signal(Signal::KILL);
    assert_eq!(running.end().code, None);
    assert_eq!(entries("state/warp/run"), 1);
    goes_on_with(&project);
    assert_eq!((entries("state/warp/run"), entries("tmp")), (0, 0));
}

#[test]
fn what_a_killed_driver_left_without_walls_is_ended_by_the_next() {
    let mark = mark();
    let (project, running) = at_work(&mark, &["--no-sandbox"]);
    running.signal(Signal::KILL);
    assert_eq!(running.end().code, None);
    assert!(is_running(&mark));
    goes_on_with(&project);
    assert!(!is_running(&mark));
}

#[test]
fn what_a_killed_driver_left_without_its_environment_is_ended_by_the_next() {
    if !has_cgroups() {
        return;
    }
    let mark = mark();
    let (project, running) =
        at_work_by(&WORKS.replace("setsid -f", "setsid -f env -i"), &mark, &["--no-sandbox"]);
    running.signal(Signal::KILL);
    assert_eq!(running.end().code, None);
    assert!(is_running(&mark));
    goes_on_with(&project);
    assert!(!is_running(&mark));
}

/// Goes on with the same run, whose first turn was cut short.
fn goes_on_with(project: &Project) {
    let before = project.sandbox.warp_ok(&["log", "1", "--json"]);
    project.goes_on();
    let after = project.sandbox.warp_ok(&["log", "1", "--json"]);
    let begun = before.lines().nth(5).unwrap();
    assert!(after.contains(begun), "another run was begun");
    assert_eq!(project.sandbox.git(&["show", "main:half.txt"]), "half");
}
