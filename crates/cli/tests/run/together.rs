//! Two `warp run` at once: on one issue, on two, and on two that are at odds.

use std::{fs, path::Path, process::Command};

use testkit::Sandbox;

use super::running::{json, open_gate, project, run, started, tree};
use crate::support::{Ends as _, Running};

const FIRST: &str = "# Write a\n\n- [ ] there is an a\n";
const SECOND: &str = "# Write b\n\n- [ ] there is a b\n";

/// Each agent waits at a gate, which the test opens.
const APART: &str = r#"
[[turn]]
phase = "coding"
issue = 1
steps = [
    { run = "test -e .gate || mkfifo .gate" }, { say = "at the gate" }, { run = "cat .gate; rm .gate" },
    { write = "a.txt", text = "an a\n" },
]
answer = { summary = "a", evidence = [{ ac = "AC-01", file = "a.txt", line = 1 }] }

[[turn]]
phase = "coding"
issue = 2
steps = [
    { run = "test -e .gate || mkfifo .gate" }, { say = "at the gate" }, { run = "cat .gate; rm .gate" },
    { write = "b.txt", text = "a b\n" },
]
answer = { summary = "b", evidence = [{ ac = "AC-01", file = "b.txt", line = 1 }] }
"#;

fn at_odds() -> String {
    APART
        .replace("write = \"a.txt\", text = \"an a", "write = \"shared.txt\", text = \"an a")
        .replace("write = \"b.txt\", text = \"a b", "write = \"shared.txt\", text = \"a b")
        .replace("a.txt", "shared.txt")
        .replace("b.txt", "shared.txt")
}

fn log(sandbox: &Sandbox, branch: &str) -> String {
    sandbox.git(&["log", "--format=%s", branch])
}

#[test]
fn of_two_runs_on_one_issue_one_wins_and_the_other_says_which() {
    let sandbox = project(&[(1, FIRST)], APART);
    let mut both = [started(&sandbox, &["1"]), started(&sandbox, &["1"])];
    let waits = both.each_mut().map(|running| running.says("at the gate"));
    assert!(waits[0] != waits[1], "{waits:?}");
    let [first, second] = both;
    let (winner, loser) = if waits[0] { (first, second) } else { (second, first) };
    let pid = winner.pid();
    let said = loser.end().ends(6).said;
    assert!(said.contains(&format!("worked on by process {pid}")) && !said.contains("``"), "{said}");

    // Whoever comes later is told the same, also without a number: there is nothing else to do.
    let (code, said) = run(&sandbox, &["1"], &[]);
    assert_eq!(code, Some(6), "{said}");
    assert!(said.contains(&format!("process {pid}")), "{said}");

    open_gate(&sandbox, "1");
    winner.end().ends(0);
    assert_eq!(log(&sandbox, "main"), "feat: Write a (AC-01)\nchore: tests\nchore: begin");
    let items = json(&sandbox.warp_ok(&["issue", "list", "--state", "all", "--json"]));
    let titles: Vec<&str> =
        items.as_array().unwrap().iter().map(|item| item["title"].as_str().unwrap()).collect();
    assert_eq!(titles.len(), 3, "{titles:?}");
}

#[test]
fn of_two_issues_the_second_is_rebased_and_tested_again_before_it_merges() {
    let sandbox = project(&[(1, FIRST), (2, SECOND)], APART);
    let mut first = started(&sandbox, &["1"]);
    let mut second = started(&sandbox, &["2"]);
    assert!(first.says("at the gate") && second.says("at the gate"));
    let tree = tree(&sandbox, "2");
    open_gate(&sandbox, "1");
    first.end().ends(0);
    open_gate(&sandbox, "2");
    second.end().ends(0);

    let commits = "feat: Write b (AC-01)\nfeat: Write a (AC-01)\nchore: tests\nchore: begin";
    assert_eq!(log(&sandbox, "main"), commits);
    assert_eq!(sandbox.git(&["log", "--merges", "--format=%s", "main"]), "");
    assert_eq!(sandbox.read("a.txt").as_deref(), Some("an a\n"));
    assert_eq!(sandbox.read("b.txt").as_deref(), Some("a b\n"));
    // The tests saw the base, the chunk, the branch, and then the branch on top of what the first one had merged.
    let seen = fs::read_to_string(tree.join(".seen")).unwrap();
    assert_eq!(seen.lines().collect::<Vec<_>>(), ["one ", "a b one ", "a b one ", "an a a b one "]);
}

#[test]
fn of_many_runs_that_merge_at_once_all_do_and_the_checkout_is_as_the_target() {
    const RUNS: u64 = 6;
    let texts: Vec<(u64, String)> =
        (1..=RUNS).map(|k| (k, format!("# Write {k}\n\n- [ ] there is a word{k}\n"))).collect();
    let issues: Vec<(u64, &str)> = texts.iter().map(|(k, text)| (*k, text.as_str())).collect();
    let turn = |k: u64| {
        format!(
            "[[turn]]\nphase = \"coding\"\nissue = {k}\nsteps = [\n\
             {{ run = \"test -e .gate || mkfifo .gate\" }}, {{ say = \"at the gate\" }}, {{ run = \"cat .gate; rm .gate\" }},\n\
             {{ write = \"w{k}.txt\", text = \"word{k}\\n\" }},\n]\n\
             answer = {{ summary = \"a word\", evidence = [{{ ac = \"AC-01\", file = \"w{k}.txt\", line = 1 }}] }}\n"
        )
    };
    let sandbox = project(&issues, &(1..=RUNS).map(turn).collect::<String>());
    let places =
        ["max_agents", "max_agents_per_project", "max_agents_per_pool"].map(|name| format!("{name}={RUNS}"));
    let start = |k: u64| {
        let set = places.iter().flat_map(|place| ["--set", place]);
        started(&sandbox, &[&[k.to_string().as_str()], set.collect::<Vec<_>>().as_slice()].concat())
    };
    let mut all: Vec<Running> = (1..=RUNS).map(start).collect();
    for running in &mut all {
        assert!(running.says("at the gate"));
    }
    for k in 1..=RUNS {
        open_gate(&sandbox, &k.to_string());
    }
    for running in all {
        running.end().ends(0);
    }
    assert_eq!(log(&sandbox, "main").lines().count(), 2 + 6);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    for k in 1..=RUNS {
        assert_eq!(sandbox.read(&format!("w{k}.txt")), Some(format!("word{k}\n")));
    }
}

/// Lets two runs change the same line; the second one then waits for a person. Returns the question's id.
fn collide(sandbox: &Sandbox) -> String {
    let mut first = started(sandbox, &["1"]);
    let mut second = started(sandbox, &["2"]);
    assert!(first.says("at the gate") && second.says("at the gate"));
    open_gate(sandbox, "1");
    first.end().ends(0);
    open_gate(sandbox, "2");
    let said = second.end().ends(5).said;
    assert!(said.contains("`main` have changed the same lines of shared.txt"), "{said}");
    assert_eq!(log(sandbox, "main"), "feat: Write a (AC-01)\nchore: tests\nchore: begin");
    let status = json(&sandbox.warp_ok(&["status", "2", "--json"]));
    let run = status["run"].as_str().unwrap();
    // The work is in the person's repository, whatever becomes of the slot.
    assert_eq!(
        log(sandbox, &format!("refs/warp/runs/{run}")),
        "feat: Write b (AC-01)\nchore: tests\nchore: begin"
    );
    let asked = said.lines().find_map(|line| line.split("warp answer ").nth(1)).unwrap();
    asked.split_whitespace().next().unwrap().to_owned()
}

fn git_in(tree: &Path, sandbox: &Sandbox, arguments: &[&str]) -> bool {
    let mut command: Command = sandbox.command("git");
    command.current_dir(tree).env("GIT_EDITOR", "true").args(arguments);
    command.output().unwrap().status.success()
}

/// Does what the question says, up to the last step.
fn bring_together(sandbox: &Sandbox, tree: &Path) {
    let told = sandbox.warp_ok(&["explain", "2"]);
    assert!(told.contains("/tree`, `git rebase ") && told.contains("; then answer `continue`"), "{told}");
    let onto = told.split("`git rebase ").nth(1).and_then(|rest| rest.split('`').next()).unwrap();
    assert!(!git_in(tree, sandbox, &["rebase", onto]));
    fs::write(tree.join("shared.txt"), "an a and a b\n").unwrap();
    assert!(git_in(tree, sandbox, &["add", "--all"]));
}

#[test]
fn what_a_person_has_brought_together_by_half_is_kept() {
    let sandbox = project(&[(1, FIRST), (2, SECOND)], &at_odds());
    let question = collide(&sandbox);
    bring_together(&sandbox, &tree(&sandbox, "2"));
    sandbox.warp_ok(&["answer", &question, "continue"]);
    let (code, said) = run(&sandbox, &[], &[]);
    assert!(code == Some(5) && said.contains("have changed the same lines of shared.txt"), "{said}");
    let kept = sandbox.warp_ok(&["salvage", "show", "1"]);
    assert!(kept.contains("+an a and a b"), "{kept}");
}

#[test]
fn of_two_issues_at_odds_the_second_waits_and_goes_on_when_a_person_has_brought_them_together() {
    let sandbox = project(&[(1, FIRST), (2, SECOND)], &at_odds());
    let question = collide(&sandbox);
    let tree = tree(&sandbox, "2");
    bring_together(&sandbox, &tree);
    assert!(git_in(&tree, &sandbox, &["rebase", "--continue"]));
    sandbox.warp_ok(&["answer", &question, "continue"]);
    let (code, said) = run(&sandbox, &[], &[]);
    assert_eq!(code, Some(0), "{said}");
    let commits = "feat: Write b (AC-01)\nfeat: Write a (AC-01)\nchore: tests\nchore: begin";
    assert_eq!(log(&sandbox, "main"), commits);
    assert_eq!(sandbox.read("shared.txt").as_deref(), Some("an a and a b\n"));
    let seen = fs::read_to_string(tree.join(".seen")).unwrap();
    assert_eq!(seen.lines().last(), Some("an a and a b "));
}

#[test]
fn of_two_issues_at_odds_the_second_can_be_given_up_and_its_branch_stays() {
    let sandbox = project(&[(1, FIRST), (2, SECOND)], &at_odds());
    let question = collide(&sandbox);
    sandbox.warp_ok(&["answer", &question, "abort"]);
    let (code, said) = run(&sandbox, &[], &[]);
    assert_eq!(code, Some(1), "{said}");
    assert_eq!(log(&sandbox, "main"), "feat: Write a (AC-01)\nchore: tests\nchore: begin");
    assert_eq!(log(&sandbox, "feature/issue-2-write-b"), "feat: Write b (AC-01)\nchore: tests\nchore: begin");
    let issue = json(&sandbox.warp_ok(&["issue", "show", "2", "--json"]));
    assert_eq!(issue["state"], "open", "{issue}");
}

#[test]
fn the_state_file_of_the_only_open_run_is_in_the_project_as_well() {
    let sandbox = project(&[(1, FIRST), (2, SECOND)], APART);
    let shown = || sandbox.read(".claude/.warp-drive-state.json").map(|text| json(&text));
    let mut first = started(&sandbox, &["1"]);
    assert!(first.says("at the gate"));
    let state = shown().expect("a state file");
    assert_eq!((&state["phase"], &state["requirement"]), (&"coding".into(), &"1".into()));
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "it is kept out of commits");

    // Two runs cannot share it, and the one that is left has it again.
    let mut second = started(&sandbox, &["2"]);
    assert!(second.says("at the gate"));
    assert_eq!(shown(), None);
    open_gate(&sandbox, "1");
    first.end().ends(0);
    drop(second);
    let mut again = started(&sandbox, &["2"]);
    assert!(again.says("at the gate"));
    assert_eq!(shown().expect("a state file")["requirement"], "2");
    sandbox.warp_ok(&["stop", "2"]);
    again.end();
    assert_eq!(shown(), None);
}

#[test]
fn a_state_file_that_somebody_else_put_there_is_left_alone() {
    let sandbox = project(&[(1, FIRST)], APART);
    sandbox.write(".claude/.warp-drive-state.json", "mine");
    let mut running = started(&sandbox, &["1"]);
    assert!(running.says("at the gate"));
    assert_eq!(sandbox.read(".claude/.warp-drive-state.json").as_deref(), Some("mine"));
    open_gate(&sandbox, "1");
    running.end().ends(0);
    assert_eq!(sandbox.read(".claude/.warp-drive-state.json").as_deref(), Some("mine"));
}

#[test]
fn a_killed_run_leaves_its_state_file_until_the_next_command_finds_it_over() {
    let sandbox = project(&[(1, FIRST)], APART);
    let mut running = started(&sandbox, &["1"]);
    assert!(running.says("at the gate"));
    drop(running);
    let path = ".claude/.warp-drive-state.json";
    assert!(sandbox.warp_ok(&["status"]).contains("(not running)"));
    assert!(sandbox.read(path).is_some(), "the run is still open");
    // A run of the checkout's own takes its place.
    sandbox.git(&["switch", "--quiet", "-c", "feature/mine"]);
    sandbox.warp_ok(&["state", "init", ".", "--level", "2", "--issue", "7"]);
    assert_eq!(json(&sandbox.read(path).unwrap())["requirement"], "7");
    sandbox.warp_ok(&["state", "reset", "."]);
    sandbox.warp_ok(&["stop", "1", "--hard"]);
    assert_eq!(sandbox.read(path), None);
}
