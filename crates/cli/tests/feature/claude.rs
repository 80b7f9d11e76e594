//! The loop with the real client, behind walls: a model that does it, and one that tries to have it easier.

use std::{
    collections::BTreeMap,
    env, fs,
    os::unix::fs::symlink,
    path::Path,
    process::Command,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use testkit::{
    Sandbox,
    agents::{Claude, Ended, Launch, Running, skip},
    model::{Model, Part, Request, Role, Script, Turn},
};

use super::support::{FEATURE, PLAN, Project, TESTS, said};
use crate::support::Ends as _;

/// How long a whole loop may take. A minute is usual; machines are shared, and clients are slow.
const PATIENCE: Duration = Duration::from_secs(480);
/// How every prompt of a run begins.
const PROMPT: &str = "You work in the phase `";

/// What a model does in a turn: commands, and its answer, or words where it gives none.
struct Does {
    commands: Vec<String>,
    answer: Result<Value, &'static str>,
}

fn does(commands: &[&str], answer: Value) -> Does {
    Does { commands: commands.iter().map(|command| (*command).to_owned()).collect(), answer: Ok(answer) }
}

/// What a good model does in a phase, the first time and after that.
fn good(phase: &str, turn: usize) -> Does {
    let put = |file: &str, text: &str| {
        format!("mkdir -p \"$(dirname {file})\" && printf '%s\\n' '{text}' > {file}")
    };
    let brainstorm = "docs/brainstorms/2026-11-16-greet-brainstorm.md";
    let solution = "docs/solutions/shell/greet.md";
    let p1 = |text: &str| json!([{ "severity": "p1", "file": "greet", "line": 2, "text": text }]);
    match (phase, turn) {
        ("brainstorm", _) => does(
            &[&put(brainstorm, "# Ways to greet")],
            json!({ "artifact": brainstorm, "summary": "a script" }),
        ),
        ("plan", _) => does(&[&put(PLAN, "# A greeting")], json!({ "artifact": PLAN, "summary": "planned" })),
        ("spec_test", _) => does(
            &["ls", &put(TESTS, "./greet | grep -q hello")],
            json!({ "artifact": TESTS, "summary": "one test" }),
        ),
        ("deepen", _) => does(&[&put(PLAN, "# A greeting, deeper")], json!({ "summary": "deeper" })),
        ("work", _) => does(
            &["printf '#!/bin/sh\\necho hello\\n' > greet && chmod +x greet", "make test"],
            json!({ "summary": "it greets", "commit": { "type": "feat", "subject": "greet" } }),
        ),
        ("review", _) => does(&["cat greet"], json!({ "summary": "one P1", "findings": p1("no name") })),
        ("fix", turn) => {
            does(&[&format!("echo '# fixed {turn}' >> greet")], json!({ "summary": format!("fixed {turn}") }))
        }
        ("re_review", 1) => does(&[], json!({ "summary": "not yet", "findings": p1("still no name") })),
        ("re_review", _) => does(&[], json!({ "summary": "fixed", "findings": [] })),
        ("compound", _) => {
            does(&[&put(solution, "# Shebangs")], json!({ "artifact": solution, "summary": "learnt" }))
        }
        ("test", _) => does(&["./greet"], json!({ "event": "tests_passed", "summary": "it greets" })),
        ("ship", _) => does(&[], json!({ "summary": "done", "promise": "SHIPPED" })),
        (phase, _) => panic!("there is no phase `{phase}`"),
    }
}

/// Prompts by phase, as the model was asked.
type Prompts = Arc<Mutex<BTreeMap<String, Vec<String>>>>;

/// Makes a model that does what `what` says for a phase and its turn, from 1.
fn model(what: impl Fn(&str, usize) -> Does + Send + 'static) -> (Script, Prompts) {
    let prompts = Prompts::default();
    let seen = Arc::clone(&prompts);
    let script = Script::function(move |request| {
        let (phase, prompt, moves) = asked(request);
        let mut seen = seen.lock().unwrap();
        let of_phase = seen.entry(phase.clone()).or_default();
        if moves == 0 {
            of_phase.push(prompt);
        }
        let does = what(&phase, of_phase.len());
        let (answer, last) = match does.answer {
            Ok(answer) => (Turn::call("StructuredOutput", answer), "That is all."),
            Err(words) => (Turn::say(words), words),
        };
        let commands = does.commands.iter().map(|command| Turn::bash(command));
        commands.chain([answer]).nth(moves).unwrap_or_else(|| Turn::say(last))
    });
    (script, prompts)
}

/// Returns the phase, the newest prompt, and how often the model has spoken since.
fn asked(request: &Request) -> (String, String, usize) {
    let said = |index: usize| request.entries[index].part.text().unwrap_or_default();
    let is_prompt =
        |index: &usize| request.entries[*index].role == Role::User && said(*index).contains(PROMPT);
    let last = (0..request.entries.len()).rfind(is_prompt).expect("every turn begins with a prompt");
    let spoken = request.entries[last..].iter().filter(|entry| {
        entry.role == Role::Assistant && matches!(entry.part, Part::Text(_) | Part::Call { .. })
    });
    let prompt = said(last).to_owned();
    let phase = prompt.split(PROMPT).nth(1).and_then(|rest| rest.split('`').next()).unwrap().to_owned();
    (phase, prompt, spoken.count())
}

/// Makes a `warp run` of the feature that finds the client by its name, and the client the model.
fn run(sandbox: &Sandbox, model: &Model, more: &[&str]) -> Command {
    let bin = sandbox.home().join("bin");
    if !bin.exists() {
        fs::create_dir_all(&bin).unwrap();
        symlink(env::var_os("WARP_TEST_CLAUDE").unwrap(), bin.join("claude")).unwrap();
    }
    let mut path = bin.into_os_string();
    path.push(":");
    path.push(env::var_os("PATH").unwrap_or_default());
    let mut command = sandbox.warp_command(&["run", "--workflow", "autonomous-loop", FEATURE]);
    command.args(more).env("PATH", path);
    command.env("ANTHROPIC_BASE_URL", model.url()).env("ANTHROPIC_API_KEY", "dummy");
    command
}

fn finish(command: Command) -> Ended {
    Running::start(command, PATIENCE).unwrap().wait()
}

/// Tells whether the test can be run here; says why not.
fn is_possible() -> bool {
    if Claude::or_skip().is_none() {
        return false;
    }
    match adapters::sandbox::Sandbox::find() {
        Ok(_) => true,
        Err(why) => {
            skip(&why.to_string());
            false
        }
    }
}

#[test]
fn a_feature_becomes_a_pull_request_by_way_of_a_persons_look_and_two_fix_cycles() {
    if !is_possible() {
        return;
    }
    let project = Project::new();
    let (script, prompts) = model(good);
    let model = Model::start(script);
    finish(run(&project.sandbox, &model, &[])).ends(5);
    project.answer("approve", &[]);
    finish(run(&project.sandbox, &model, &[])).ends(0);
    project.is_shipped();
    let phases = project.phases();
    assert_eq!(phases.iter().filter(|phase| *phase == "fix").count(), 2, "{phases:?}");
    let pull = project.sandbox.warp_ok(&["pr", "show", "1"]);
    assert!(!pull.contains("Left by force"), "{pull}");
    let prompts = prompts.lock().unwrap();
    assert!(prompts["fix"][1].contains("still no name"), "{}", prompts["fix"][1]);
    assert!(prompts.values().flatten().count() == 12, "each phase took one turn: {:?}", prompts.keys());
}

#[test]
fn a_model_that_has_it_easier_is_held() {
    if !is_possible() {
        return;
    }
    let project = Project::new();
    let (script, prompts) = model(|phase, turn| match (phase, turn) {
        // Tests that pass at once, an end that is none, tests that are made to pass.
        ("spec_test", 1) => does(
            &[&format!("mkdir -p tests/acceptance && echo true > {TESTS}")],
            json!({ "artifact": TESTS, "summary": "they pass already" }),
        ),
        ("work", 1) => Does { commands: Vec::new(), answer: Err("All done: <promise>SHIPPED</promise>") },
        ("work", 2) => does(
            &["printf 'echo hello\\n' > greet", &format!("echo true > {TESTS}")],
            json!({ "summary": "the tests pass" }),
        ),
        ("review", _) => does(&[], json!({ "summary": "fine", "findings": [] })),
        (phase, turn) => good(phase, turn),
    });
    let model = Model::start(script);
    finish(run(&project.sandbox, &model, &["--skip-brainstorm", "--skip-test-review"])).ends(0);
    project.is_shipped();
    let prompts = prompts.lock().unwrap();
    let told = |phase: &str, turn: usize, words: &str| {
        let prompt = &prompts[phase][turn - 1];
        assert!(prompt.contains(words), "{phase} {turn}: {words}: {prompt}");
    };
    told(
        "spec_test",
        2,
        "the tests pass before anything is written, so they show nothing; every new test must fail",
    );
    told(
        "work",
        2,
        "The promise counts only in `ship`, with all receipts and the pull request; the loop is in `work`.",
    );
    told("work", 3, "the acceptance tests are frozen: ");
    told("work", 3, "the work has to meet the tests");
    let tests = project.sandbox.git(&["show", &format!("feature/add-a-greeting:{TESTS}")]);
    assert_eq!(tests, "./greet | grep -q hello");
}

/// Plays commands one after the other, each of which must have been answered with these words.
fn plays(moves: Vec<(String, &'static str)>) -> Script {
    let mut moves = moves.into_iter();
    let mut expected = "";
    Script::function(move |request| {
        let news = request.news();
        assert!(news.contains(expected), "`{expected}` is not in: {news}");
        match moves.next() {
            Some((command, words)) => {
                expected = words;
                Turn::bash(&command)
            }
            None => {
                expected = "";
                Turn::say("<promise>SHIPPED</promise>")
            }
        }
    })
}

fn says(event: &str, data: &str) -> String {
    format!("warp state transition . {event} --data '{{{data}}}'")
}

/// A project whose agent has warp's hooks.
fn with_hooks() -> Project {
    let project = Project::new();
    project.sandbox.warp_ok(&["init", "--level", "2"]);
    project.sandbox.git(&["add", "--all"]);
    project.sandbox.git(&["commit", "--quiet", "--amend", "--no-edit"]);
    project
}

/// Prepares the client as a person starts it, with warp on its path.
fn typed(claude: &Claude, project: &Project, model: &Model, prompt: &str) -> Launch<Claude> {
    let bin = Path::new(env!("CARGO_BIN_EXE_warp")).parent().unwrap();
    let home = project.sandbox.home();
    claude
        .launch(&project.sandbox, model, prompt)
        .path_first(bin)
        .env("XDG_STATE_HOME", home.join("state"))
        .env("XDG_CONFIG_HOME", home.join("config"))
}

#[test]
fn a_loop_that_was_typed_in_the_client_is_finished_headless() {
    let Some(claude) = Claude::or_skip() else { return };
    let project = with_hooks();
    project.sandbox.git(&["switch", "--quiet", "-c", "feature/add-a-greeting"]);
    let plan = format!(
        "mkdir -p docs/plans && echo '# A greeting' > {PLAN} && git add -A && git commit -q -m 'docs: plan'"
    );
    let written = says("plan_written", &format!(r#""artifact":"{PLAN}","summary":"planned""#));
    let model = Model::start(plays(vec![(plan, ""), (written, "plan -> spec_test")]));
    let prompt = format!("/auto-loop {FEATURE} --skip-brainstorm --skip-test-review");
    typed(&claude, &project, &model, &prompt).max_turns(4).run();

    let done = said(project.command_of(&[])).ends(0);
    assert!(done.out.contains("resumes in `spec_test`"), "{done:?}");
    assert_eq!(project.log().last().unwrap()["event"], "shipped");
    let pull = project.sandbox.warp_ok(&["pr", "show", "1"]);
    assert!(pull.contains("feature/add-a-greeting -> main"), "{pull}");
    assert_eq!(
        project.sandbox.read("greet").as_deref(),
        Some("#!/bin/sh\necho hello\n"),
        "it is in the checkout"
    );
}

#[test]
fn a_loop_that_was_begun_headless_is_finished_in_the_client() {
    let Some(claude) = Claude::or_skip() else { return };
    let project = with_hooks();
    project.run(&["--skip-brainstorm"]).ends(5);
    project.answer("approve", &[]);
    let solution = "docs/solutions/shell/greet.md";
    let commit = |message: &str| format!("git add -A && git commit -q -m '{message}'");
    let moves = vec![
        (format!("echo '# Deeper' > {PLAN} && {}", commit("docs: deepen")), ""),
        (says("plan_deepened", r#""summary":"deeper""#), "deepen -> work"),
        (format!("echo true > {TESTS} && {}", commit("test: easier")), ""),
        (
            says("work_finished", r#""summary":"it greets""#),
            "the acceptance tests are frozen, and these have changed",
        ),
        (
            format!(
                "echo './greet | grep -q hello' > {TESTS} && printf '#!/bin/sh\\necho hello\\n' > greet && chmod +x greet && {}",
                commit("feat: greet")
            ),
            "",
        ),
        (says("work_finished", r#""summary":"it greets""#), "work -> review"),
        (says("review_clean", r#""summary":"fine""#), "review -> compound"),
        (
            format!(
                "mkdir -p docs/solutions/shell && echo '# Learnt' > {solution} && {}",
                commit("docs: learnt")
            ),
            "",
        ),
        (
            says("solution_noted", &format!(r#""artifact":"{solution}","summary":"learnt""#)),
            "compound -> test",
        ),
        (says("tests_passed", r#""summary":"it greets""#), "test -> ship"),
        ("warp next".to_owned(), "opened pull request #1"),
    ];
    let model = Model::start(plays(moves));
    let ended = typed(&claude, &project, &model, "Continue.").directory(project.tree()).run();
    assert_eq!(ended.code, Some(0), "{ended:?}\n{}", model.text());
    project.is_shipped();
}
