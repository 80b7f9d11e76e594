//! `warp run` with the real client, behind walls: from an issue to a pull request and to a merged branch.

use std::{env, fs, os::unix::fs::symlink, process::Command, time::Duration};

use serde_json::Value;
use testkit::{
    Sandbox,
    agents::{Claude, Ended, Running},
    model::{Model, Request, Script, Turn},
};

use super::coder::{Asked, PROMPT, good};
use crate::support::{Ends as _, InProject as _};

/// How long a whole run may take. Some fifteen seconds are usual; machines are shared.
const PATIENCE: Duration = Duration::from_secs(240);

/// A project with an issue of four criteria, so that the agent plans first.
pub(crate) fn project() -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    sandbox.git(&["switch", "--quiet", "main"]);
    sandbox.write("Makefile", "test:\n\t@for test in tests/*.sh; do sh $$test || exit 1; done\n");
    sandbox.write("tests/begin.sh", "echo 'ok 0 - begins'\n");
    sandbox.commit("chore: tests");
    sandbox.issue(
        42,
        "# Greet people\n\n- [ ] greet says hello\n- [ ] greet says the name that it is given\n- [ ] an unknown option is an error\n- [ ] version is printed\n",
    );
    sandbox
}

/// Makes a `warp run` that finds the client by its name, and the client the model.
pub(crate) fn run(sandbox: &Sandbox, model: &Model, arguments: &[&str]) -> Command {
    let bin = sandbox.home().join("bin");
    let client = bin.join("claude");
    if !client.exists() {
        fs::create_dir_all(&bin).unwrap();
        symlink(env::var_os("WARP_TEST_CLAUDE").unwrap(), &client).unwrap();
    }
    let mut path = bin.into_os_string();
    path.push(":");
    path.push(env::var_os("PATH").unwrap_or_default());
    let mut command = sandbox.warp_command(&["run"]);
    command.args(arguments).env("PATH", path);
    command.env("ANTHROPIC_BASE_URL", model.url()).env("ANTHROPIC_API_KEY", "dummy");
    command
}

pub(crate) fn finish(command: Command) -> Ended {
    Running::start(command, PATIENCE).unwrap().wait().ends(0)
}

fn records(sandbox: &Sandbox, event: &str) -> Vec<Value> {
    let log = sandbox.rows(&["log", "42", "--json"]);
    log.into_iter().filter(|record| record["event"] == event).collect()
}

/// Counts the processes that name the sandbox's home: each that walls were built for does.
fn processes(sandbox: &Sandbox) -> usize {
    let home = sandbox.home().to_str().unwrap();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(home)).count()
}

/// Tells how hard the model was to think when it was asked in a phase.
fn efforts(model: &Model, phase: &str) -> Vec<String> {
    let of_phase = |request: &&Request| Asked::of(request).phase == phase;
    let requests = model.requests();
    let mut efforts: Vec<String> = requests
        .iter()
        .filter(of_phase)
        .map(|request| request.body["output_config"]["effort"].as_str().unwrap_or("none").to_owned())
        .collect();
    efforts.dedup();
    efforts
}

#[test]
fn an_issue_becomes_a_merged_branch() {
    if Claude::or_skip().is_none() {
        return;
    }
    let sandbox = project();
    let model = Model::start(good());
    let ended = finish(run(&sandbox, &model, &["42", "--level", "3"]));
    assert!(ended.out.contains("refused: Bash: git_commit is only allowed"), "{}", ended.out);
    let subjects = sandbox.git(&["log", "--format=%s", "main"]);
    assert_eq!(subjects, "feat(greet): know options\nfeat(greet): greet by name\nchore: tests\nchore: begin");
    sandbox.git(&["diff", "--exit-code", "main"]);
    assert!(sandbox.read("greet.sh").unwrap().contains("greet 1"));
    let issue = sandbox.warp_ok(&["issue", "show", "42"]);
    assert!(issue.contains("closed") && !issue.contains("[ ]"), "{issue}");

    assert_eq!(records(&sandbox, "tests_failed").len(), 1);
    assert_eq!(records(&sandbox, "committed").len(), 2);
    assert_eq!(efforts(&model, "planning"), ["high"]);
    assert_eq!(efforts(&model, "coding"), ["medium"]);
    check_usage(&sandbox);
}

#[test]
fn an_issue_becomes_a_pull_request() {
    if Claude::or_skip().is_none() {
        return;
    }
    let sandbox = project();
    let before = sandbox.git(&["rev-parse", "main"]);
    let model = Model::start(good());
    finish(run(&sandbox, &model, &["42"]));
    assert_eq!(sandbox.git(&["rev-parse", "main"]), before, "nothing is merged without a person");
    let branch = "feature/issue-42-greet-people";
    assert_eq!(sandbox.git(&["rev-list", "--count", &format!("main..{branch}")]), "2");
    let handed_over = sandbox.warp_ok(&["pr", "list"]);
    assert!(handed_over.contains(&format!("{branch} -> main  Greet people  for #42")), "{handed_over}");
    let issue = sandbox.warp_ok(&["issue", "show", "42"]);
    assert!(issue.contains("Ready for review as pull request") && !issue.contains("[ ]"), "{issue}");
}

#[test]
fn a_killed_run_goes_on_with_the_agents_conversation() {
    let Some((model, asked)) = kill_and_go_on(|_| {}) else { return };
    let told = model.requests()[asked].text();
    let prompts: Vec<&str> = told.lines().filter(|line| line.starts_with(PROMPT)).collect();
    let [first, second, third] = prompts[..] else { panic!("{prompts:?}") };
    assert!(first.contains("`planning`") && second.contains("chunk 1 of 2"), "{prompts:?}");
    assert_eq!(second, third, "it is told all of it again");
}

#[test]
fn a_killed_run_goes_on_although_the_agents_conversation_is_gone() {
    let lose = |sandbox: &Sandbox| {
        let kept = sandbox.journal().with_file_name("kept");
        fs::remove_dir_all(kept.join("claude/projects")).unwrap();
    };
    let Some((model, asked)) = kill_and_go_on(lose) else { return };
    let told = model.requests()[asked].text();
    assert_eq!(told.matches(PROMPT).count(), 1, "another conversation is begun");
    assert!(told.contains("A shell script, and a test for each criterion."), "it is told the approach");
}

/// Kills a run while the model writes the first chunk, and starts it again; returns the model, and which of its
/// requests was the first after that.
fn kill_and_go_on(meanwhile: impl FnOnce(&Sandbox)) -> Option<(Model, usize)> {
    Claude::or_skip()?;
    let sandbox = project();
    let mut is_silent = false;
    let model = Model::start(Script::function(move |request| {
        let asked = Asked::of(request);
        if asked.phase == "coding" && asked.moves == 2 && !is_silent {
            is_silent = true;
            return Turn::Silence;
        }
        asked.next(request)
    }));
    let mut killed = Running::start(run(&sandbox, &model, &["42", "--level", "3"]), PATIENCE).unwrap();
    // Two for the plan, and the third for the chunk stays without an answer.
    assert!(model.wait_for_requests(5, PATIENCE), "{}", killed.out());
    killed.kill();
    assert_eq!(killed.wait().signal, Some(9));
    let status = sandbox.warp_ok(&["status", "42"]);
    assert!(status.contains("Phase: coding") && status.contains("(not running)"), "{status}");
    meanwhile(&sandbox);
    finish(run(&sandbox, &model, &[]));
    assert_eq!(processes(&sandbox), 0, "what the killed one had started is gone");
    assert_eq!(sandbox.git(&["rev-list", "--count", "main"]), "4");
    check_usage(&sandbox);
    Some((model, 5))
}

/// Sees to it that what the turns have used is summed up, and money is not counted again with every turn.
fn check_usage(sandbox: &Sandbox) {
    let status = sandbox.json(&["status", "42", "--json"]);
    let used = |field: &str| status["usage"][field].as_f64().unwrap();
    let turns = records(sandbox, "turn_ended");
    let sum: f64 = turns.iter().map(|turn| turn["data"]["usage"]["input_tokens"].as_f64().unwrap()).sum();
    assert_eq!(used("input_tokens"), sum, "{status}");
    // The price of the model that the client thinks it has, whichever that is, is the same for every turn.
    let price =
        |usage: &Value| usage["micro_usd"].as_f64().unwrap() / usage["input_tokens"].as_f64().unwrap();
    let first = price(&turns[0]["data"]["usage"]);
    assert!((price(&status["usage"]) / first - 1.0).abs() < 0.1, "{status} {turns:?}");
    let shown = sandbox.warp_ok(&["status", "42"]);
    assert!(shown.contains("Used: ") && shown.contains(" tokens, $"), "{shown}");
}
