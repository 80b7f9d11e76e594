//! Agents that go wrong: each fault has a name that a person reads, no process is left, nothing is lost, and
//! `warp run` can go on afterwards.

use std::{
    env, fs,
    os::unix::fs::{PermissionsExt as _, symlink},
};

use super::support::{Ended, GOOD, Project, Running, has_cgroups, is_running, mark};
use crate::support::Ends as _;

/// Where nobody decides, the chunk is put off at once, and its question becomes an issue.
const NOBODY: [&str; 2] = ["--set", "decision_timeout_minutes=0"];

/// Runs an agent with these steps, who gives no answer that could be used.
fn fails(steps: &str, answer: &str, more: &[&str]) -> (Project, Ended) {
    let project = Project::new(&format!("[[turn]]\nphase = \"coding\"\nsteps = [{steps}]\n{answer}\n"));
    let ended = project.run(&[&NOBODY, more].concat()).ends(5);
    assert!(ended.said.contains("over, but 1 of its chunks was skipped"), "{}", ended.said);
    (project, ended)
}

/// Sees that a fault is told by this name, to the person and in the log, and that the work can go on.
fn is_told(project: &Project, ended: &Ended, name: &str) {
    is_told_after(2, project, ended, name);
}

/// The same of an answer that cannot be used, for which there is another try.
fn is_refused(project: &Project, ended: &Ended, name: &str) {
    is_told_after(3, project, ended, name);
}

fn is_told_after(turns: usize, project: &Project, ended: &Ended, name: &str) {
    assert!(ended.said.contains(name) && ended.said.contains("; asking again"), "{}", ended.said);
    assert!(project.sandbox.warp_ok(&["issue", "show", "2"]).contains(name), "{name}");
    assert_eq!(project.count("turn_started"), turns);
    assert_eq!(project.count("turn_ended"), turns);
    project.goes_on();
}

#[test]
fn an_agent_that_exits_is_told_by_its_code_and_its_last_words() {
    let steps = r#"{ write = "half.txt", text = "half\n" }, { print = "no such model" }, { exit = 1 }"#;
    let (project, ended) = fails(steps, "", &[]);
    is_told(&project, &ended, "the agent gave no answer: it failed (exit 1): no such model");
    // What it had written is not in what was merged, and not lost.
    let kept = project.sandbox.warp_ok(&["salvage", "show", "1"]);
    assert!(kept.contains("half.txt"), "{kept}");
    assert!(!project.sandbox.git(&["ls-tree", "-r", "--name-only", "main"]).contains("half.txt"));
}

#[test]
fn an_agent_that_dies_is_told_by_its_signal() {
    let (project, ended) = fails(r#"{ kill = "self" }"#, "", &[]);
    let turns = project.turns();
    let is_named =
        |how: &String| ["it failed (signal 9)", "as by signal 9)"].iter().any(|end| how.ends_with(end));
    assert!(turns.iter().all(is_named), "{turns:?}");
    assert!(ended.said.contains("signal 9"), "{}", ended.said);
    project.goes_on();
}

/// A step that leaves processes behind: in another session, in one begun by a shell that is gone, and in its own group.
fn leaves(mark: &str) -> String {
    format!(r#"{{ run = "setsid -f sleep {mark}; (setsid sleep {mark} &); sleep {mark} & true" }}"#)
}

#[test]
fn an_agent_that_hangs_is_ended_with_what_it_started() {
    let mark = mark();
    let steps = format!("{}, {{ hang = true }}", leaves(&mark));
    let (project, ended) = fails(&steps, "", &["--set", "agent_silence_seconds=1"]);
    is_told(&project, &ended, "it was stopped because it had said nothing for 1 s");
    assert!(!is_running(&mark));
}

#[test]
fn what_an_agent_leaves_running_ends_with_its_turn() {
    let mark = mark();
    let (project, ended) = fails(&leaves(&mark), "", &[]);
    is_refused(&project, &ended, "it answered with no JSON object");
    assert!(!is_running(&mark));
}

#[test]
fn what_an_agent_without_walls_leaves_without_its_environment_ends_with_its_turn() {
    if !has_cgroups() {
        return;
    }
    let mark = mark();
    let steps = leaves(&mark).replace("setsid -f", "setsid -f env -i");
    let (project, ended) = fails(&steps, "", &["--no-sandbox"]);
    is_refused(&project, &ended, "it answered with no JSON object");
    assert!(!is_running(&mark));
}

#[test]
fn garbage_is_no_answer() {
    let (project, ended) =
        fails(r#"{ print = "%%% {\"summary\": " }, { print = "]]\u0000\u001b[2J" }"#, "", &[]);
    assert!(!ended.said.contains('\u{1b}'), "{:?}", ended.said);
    is_refused(&project, &ended, "it answered with no JSON object");
}

#[test]
fn a_flood_costs_neither_memory_nor_the_log() {
    let project = Project::new("");
    let agent = "command:test -e flooded || { touch flooded; head -c 300000000 /dev/zero | tr '\\0' x; }";
    let mut running = project.start(&[&NOBODY[..], &["--agent", agent]].concat());
    running.until("the agent gave no answer: it answered with no JSON object; asking again");
    let peak = running.peak();
    assert!(peak < 100 * 1024, "{peak} kB");
    let ended = running.end();
    is_refused(&project, &ended, "it answered with no JSON object");
    let journal = project.sandbox.journal().metadata().unwrap().len();
    assert!(journal < 10_000_000, "{journal}");
}

#[test]
fn an_answer_that_does_not_fit_is_told_by_the_place() {
    let (project, ended) = fails("", r#"answer = { summary = "done", evidence = [{ file = "a" }] }"#, &[]);
    is_refused(&project, &ended, "answer.evidence[0].ac: is missing");
}

#[test]
fn success_without_a_change_is_refused() {
    let answer =
        r#"answer = { summary = "done", evidence = [{ ac = "AC-01", file = "test.sh", line = 1 }] }"#;
    let (project, ended) = fails("", answer, &[]);
    is_refused(&project, &ended, "is refused in `coding` by diff_relevance_check: nothing has changed since");
}

#[test]
fn evidence_for_a_line_that_was_not_changed_is_refused() {
    let steps = r#"{ write = "greeting.txt", text = "hello\nworld\n" }"#;
    let answer = r#"answer = { summary = "done", evidence = [
        { ac = "AC-01", file = "test.sh", line = 1 }, { ac = "AC-02", file = "greeting.txt", line = 2 }] }"#;
    let (project, ended) = fails(steps, answer, &[]);
    is_refused(&project, &ended, "AC-01: `test.sh:1` is no line that was changed");
}

#[test]
fn a_turn_that_fails_once_costs_only_that_turn() {
    let project = Project::new(&format!(
        "[[turn]]\nphase = \"coding\"\nresumed = false\nsteps = [{{ exit = 7 }}]\n{}",
        GOOD
    ));
    let ended = project.run(&[]);
    assert_eq!((ended.code, project.turns().len()), (Some(0), 2), "{}", ended.said);
    assert!(ended.said.contains("it failed (exit 7); asking again"), "{}", ended.said);
}

#[test]
fn a_program_that_is_not_there_is_named_with_what_to_do() {
    let project = Project::new("");
    // A search path of what is needed and nothing else.
    let tools = project.sandbox.home().join("tools");
    fs::create_dir(&tools).unwrap();
    let path = env::var_os("PATH").unwrap();
    for tool in ["git", "sh"] {
        if let Some(found) = env::split_paths(&path).map(|place| place.join(tool)).find(|path| path.is_file())
        {
            symlink(found, tools.join(tool)).unwrap();
        }
    }
    let mut command = project.command(&["--agent", "claude", "--no-sandbox"]);
    command.env("PATH", &tools);
    let ended = Running::start(command).end().ends(78);
    let wanted = "`claude` is not installed: `npm install --global @anthropic-ai/claude-code` installs it";
    assert!(ended.said.contains(wanted), "{}", ended.said);
    assert_eq!(project.sandbox.warp(&["status"]).code, Some(2), "nothing was begun");

    let ended = project.run(&[&NOBODY[..], &["--agent", "command:no-such-thing --fast"]].concat()).ends(5);
    let wanted = "`no-such-thing --fast` is not installed: install it, or name it by its whole path";
    assert!(ended.said.contains(wanted), "{}", ended.said);
    assert_eq!(project.turns().len(), 1, "asking again would not help");
    project.goes_on();
}

#[test]
fn tests_that_nothing_here_can_run_are_told_before_an_agent_works() {
    let project = Project::new(GOOD);
    let ended = project.run(&["--set", "test_command=CI=1 no-such-tester --all"]).ends(1);
    let told = "`no-such-tester` is not installed, and `CI=1 no-such-tester --all` is how this project is tested: install it";
    assert!(ended.said.contains(told), "{}", ended.said);
    assert_eq!(project.count("turn_started"), 0);
    project.goes_on();
}

#[test]
fn a_runner_of_tests_that_is_missing_is_not_the_agents_fault() {
    let project = Project::new(GOOD);
    let tester = project.sandbox.home().join("bin/tester");
    fs::create_dir_all(tester.parent().unwrap()).unwrap();
    fs::write(&tester, "#!/bin/sh\necho \"tester: No module named pytest\" >&2\nexit 1\n").unwrap();
    fs::set_permissions(&tester, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", tester.parent().unwrap().display(), env::var("PATH").unwrap());
    let with_tester = |more: &[&str]| {
        let mut command = project.command(more);
        command.env("PATH", &path);
        Running::start(command).end()
    };
    with_tester(&["--set", "test_command=tester -m pytest"]).ends(5);
    let (id, question) = project.question();
    assert!(question.contains("`tester -m pytest` cannot run here: No module named pytest"), "{question}");
    assert_eq!((project.count("tests_failed"), project.count("turn_started")), (0, 0));
    // A person installs it, and the work begins.
    fs::write(&tester, "#!/bin/sh\nexit 0\n").unwrap();
    project.sandbox.warp_ok(&["answer", &id, "continue"]);
    with_tester(&[]).ends(0);
    assert_eq!(project.count("turn_started"), 1);
    assert_eq!(project.sandbox.git(&["show", "main:greeting.txt"]), "hello\nworld");
}
