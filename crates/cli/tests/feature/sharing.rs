//! One loop, whoever carries it on: an agent in a person's terminal, or `warp run`.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::{Value, json};
use testkit::{Said, Sandbox};

use super::support::{FEATURE, PLAN, Project, TESTS, prepare, said};
use crate::support::{Ends as _, InProject as _};

/// Runs `warp` as the command of an agent in `tree`.
fn as_agent(sandbox: &Sandbox, tree: &Path, arguments: &[&str]) -> Said {
    let mut command = sandbox.warp_command(arguments);
    command.current_dir(tree).env("AI_AGENT", "claude-code_1_agent");
    said(command)
}

fn offer(sandbox: &Sandbox, tree: &Path, event: &str, data: &Value) {
    let answer = as_agent(sandbox, tree, &["state", "transition", ".", event, "--data", &data.to_string()]);
    assert_eq!(answer.code, Some(0), "{event}: {answer:?}");
}

/// Calls a hook as an agent's client does, from a process that has ended when this returns.
fn hook(sandbox: &Sandbox, tree: &Path, event: &str, input: &Value) -> Value {
    let line = format!("'{}' hook {event}; exit $?", env!("CARGO_BIN_EXE_warp"));
    let mut command = sandbox.command("sh");
    command.args(["-c", &line]).current_dir(tree).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{event}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
}

fn input(tree: &Path, event: &str, more: &Value) -> Value {
    let mut input = json!({ "session_id": "s1", "cwd": tree, "hook_event_name": event });
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    input
}

fn commit(sandbox: &Sandbox, tree: &Path, file: &str, text: &str, message: &str) {
    let path = tree.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    let line = format!("git add -A && git commit -q -m '{message}'");
    let mut command = sandbox.command("sh");
    command.args(["-c", &line]).current_dir(tree);
    said(command).ends(0);
}

#[test]
fn a_loop_that_an_agent_began_is_finished_headless_where_it_is() {
    let project = Project::new();
    let sandbox = &project.sandbox;
    let root = sandbox.root();
    let typed = json!({ "prompt": format!("/auto-loop {FEATURE} --skip-brainstorm --skip-test-review") });
    let told = hook(sandbox, &root, "user-prompt-submit", &input(&root, "UserPromptSubmit", &typed));
    let told = told["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    let stands = format!(
        "An autonomous-loop run is under way in this project, for the feature: {FEATURE}.\nIt stands in phase `plan`: Writes the plan.\n"
    );
    assert!(told.starts_with(&stands), "{told}");
    assert!(told.contains("- plan_written (needs from an agent a file in the repository"), "{told}");

    assert_eq!(sandbox.git(&["branch", "--show-current"]), "feature/add-a-greeting", "it has its own branch");

    // On the branch where the work goes in the end nothing is committed.
    sandbox.git(&["switch", "--quiet", "main"]);
    let refused = said(project.command_of(&[])).ends(3);
    insta::assert_snapshot!(project.sandbox.stable(&refused.err), @"
    error: `[HOME]/demo` is on `main`, where the work goes in the end
    hint: `git switch -c feature/NAME` makes a branch for the work, then `warp run` resumes
    ");

    sandbox.git(&["switch", "--quiet", "feature/add-a-greeting"]);
    commit(sandbox, &root, PLAN, "# A greeting\n", "docs: plan it");
    offer(sandbox, &root, "plan_written", &json!({ "artifact": PLAN, "summary": "planned" }));
    let done = said(project.command_of(&[])).ends(0);
    assert!(done.out.contains("resumes in `spec_test`"), "{done:?}");
    let log = project.log();
    assert_eq!(log.last().unwrap()["event"], "shipped");
    assert_eq!(log[0]["event"], "init", "it is one run from its beginning to its end");
    let pull = sandbox.warp_ok(&["pr", "show", "1"]);
    assert!(pull.contains("feature/add-a-greeting -> main"), "{pull}");
    let subjects = sandbox.git(&["log", "--reverse", "--format=%s", "main..HEAD"]);
    assert!(subjects.starts_with("docs: plan it\ntest: acceptance tests of Add a greeting\n"), "{subjects}");
    assert_eq!(
        sandbox.read("greet").as_deref(),
        Some("#!/bin/sh\necho hello\n"),
        "the work is in the checkout"
    );
    assert_eq!(sandbox.read(".claude/autonomous-loop.json"), None);
}

#[test]
fn a_loop_in_which_something_was_written_before_the_tests_asks() {
    let project = Project::new();
    let (sandbox, root) = (&project.sandbox, project.sandbox.root());
    sandbox.git(&["switch", "--quiet", "-c", "feature/add-a-greeting"]);
    let typed = json!({ "prompt": format!("/auto-loop {FEATURE} --skip-brainstorm --skip-test-review") });
    hook(sandbox, &root, "user-prompt-submit", &input(&root, "UserPromptSubmit", &typed));
    commit(sandbox, &root, PLAN, "# A greeting\n", "docs: plan it");
    commit(sandbox, &root, "greet", "echo hello\n", "feat: greet");
    offer(sandbox, &root, "plan_written", &json!({ "artifact": PLAN, "summary": "planned" }));
    said(project.command_of(&[])).ends(5);
    let words =
        "The acceptance tests are written before anything else, and greet was changed on this branch already";
    assert!(project.question().1.contains(words), "{}", project.question().1);
    project.answer("continue", &[]);
    assert_eq!(said(project.command_of(&[])).code, Some(5), "it is still there");
    project.answer("accept", &[]);
    said(project.command_of(&[])).ends(0);
    assert_eq!(project.log().last().unwrap()["event"], "shipped");
}

#[test]
fn frozen_tests_that_an_agent_has_committed_otherwise_are_put_back_for_good() {
    let project = Project::new();
    let sandbox = &project.sandbox;
    project.run(&["--skip-brainstorm"]).ends(5);
    project.answer("approve", &[]);
    let tree = project.tree();
    hook(sandbox, &tree, "session-start", &input(&tree, "SessionStart", &json!({ "source": "startup" })));
    commit(sandbox, &tree, PLAN, "# A greeting, deeper\n", "docs: deepen the plan");
    offer(sandbox, &tree, "plan_deepened", &json!({ "summary": "deeper" }));
    commit(sandbox, &tree, TESTS, "true\n", "test: pass at once");

    project.run(&["--skip-brainstorm"]).ends(0);
    project.is_shipped();
    let test = sandbox.git(&["show", &format!("feature/add-a-greeting:{TESTS}")]);
    assert_eq!(test, "./greet | grep -q hello");
    // One answer was not taken for it, and no more.
    let turns = project.log().into_iter().filter(|row| row["event"] == "turn_finished");
    assert_eq!(turns.count(), 1);
}

/// Begins a loop headless and brings it to `ship` as an agent in its workspace, which is returned.
fn to_ship(project: &Project) -> PathBuf {
    let sandbox = &project.sandbox;
    // The person's answer is what warp stopped for; the rest is done in the agent.
    project.run(&["--skip-brainstorm"]).ends(5);
    project.answer("approve", &[]);
    let tree = project.tree();
    let told =
        hook(sandbox, &tree, "session-start", &input(&tree, "SessionStart", &json!({ "source": "startup" })));
    assert!(told.to_string().contains("It stands in phase `deepen`: Deepens the plan, once."), "{told}");

    commit(sandbox, &tree, PLAN, "# A greeting, deeper\n", "docs: deepen the plan");
    offer(sandbox, &tree, "plan_deepened", &json!({ "summary": "deeper" }));
    std::fs::write(tree.join("greet"), "#!/bin/sh\necho hello\n").unwrap();
    let mut make_executable = sandbox.command("chmod");
    assert_eq!(
        said({
            make_executable.args(["+x", "greet"]).current_dir(&tree);
            make_executable
        })
        .code,
        Some(0)
    );
    commit(sandbox, &tree, "docs/notes.md", "notes\n", "feat: greet");
    offer(sandbox, &tree, "work_finished", &json!({ "summary": "it greets" }));
    offer(sandbox, &tree, "review_clean", &json!({ "summary": "fine" }));
    commit(sandbox, &tree, "docs/solutions/shell/greet.md", "# Learnt\n", "docs: what was learnt");
    offer(
        sandbox,
        &tree,
        "solution_noted",
        &json!({ "artifact": "docs/solutions/shell/greet.md", "summary": "learnt" }),
    );
    offer(sandbox, &tree, "tests_passed", &json!({ "summary": "it greets" }));
    tree
}

#[test]
fn a_loop_that_warp_began_is_finished_by_an_agent_in_its_workspace() {
    let project = Project::new();
    let sandbox = &project.sandbox;
    let tree = to_ship(&project);
    let next = as_agent(sandbox, &tree, &["next"]);
    assert!(next.out.contains("opened pull request #1"), "{next:?}");
    let promise =
        json!({ "last_assistant_message": "<promise>SHIPPED</promise>", "stop_hook_active": false });
    hook(sandbox, &tree, "stop", &input(&tree, "Stop", &promise));
    project.is_shipped();
}

#[test]
fn what_was_committed_after_the_tests_is_tested_before_it_is_merged() {
    let project = Project::new();
    let sandbox = &project.sandbox;
    let tree = to_ship(&project);
    commit(sandbox, &tree, "tests/late.sh", "exit 1\n", "test: one more");
    let next = as_agent(sandbox, &tree, &["next"]);
    assert!(next.out.contains("opened pull request #1"), "{next:?}");
    let merged = said(sandbox.warp_command(&["pr", "merge", "1"])).ends(1);
    insta::assert_snapshot!(sandbox.stable(&merged.err), @"
    error: #1 is not merged: on top of the newest `main` the tests fail: `make test` ended with exit 2
      make: *** [Makefile:2: test] Error 1
    hint: no branch was moved; `git switch feature/add-a-greeting` lets you fix it, then `warp pr merge 1` again, or `warp pr close 1`
    ");
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s", "main"]), "chore: tests");
}

#[test]
fn a_pull_request_is_merged_by_the_settings_of_its_own_run() {
    let project = Project::new();
    let (sandbox, root) = (&project.sandbox, project.sandbox.root());
    project.run_alone(&[]).ends(0);
    // Another loop, whose agent takes the pull request for its own.
    let set = "test_command=false";
    sandbox.warp_ok(&[
        "state",
        "init",
        ".",
        "--workflow",
        "autonomous-loop",
        "--feature",
        "More",
        "--set",
        set,
    ]);
    offer(sandbox, &root, "noted", &json!({ "pr_url": "#1" }));
    sandbox.warp_ok(&["pr", "merge", "1"]);
}

#[test]
fn somebody_who_is_at_it_is_not_disturbed() {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    prepare(&sandbox);
    // This very process carries it on.
    sandbox.warp_ok(&["state", "init", ".", "--workflow", "autonomous-loop", "--feature", FEATURE]);
    let project = Project { sandbox };
    project.otherwise("");
    let refused = project.run(&[]).ends(6);
    assert!(
        refused.err.contains(&format!("`{FEATURE}` is worked on by process {}", std::process::id())),
        "{refused:?}"
    );
}
