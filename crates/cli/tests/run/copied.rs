//! A built-in workflow that a project has copied under another name, with all its phases and events renamed, is driven the
//! same way to the same end.

use engine::workflow::BUILT_IN;
use serde_json::Value;

use super::support::{Ended, Project};
use crate::renamed;

/// Commits a renamed copy of a built-in workflow, where one is wanted; returns the workflow's name and its mark.
fn copied(project: &Project, workflow: &str, is_renamed: bool) -> (String, &'static str) {
    let mark = if is_renamed { renamed::MARK } else { "" };
    let (sandbox, name) = (&project.sandbox, format!("{mark}{workflow}"));
    if is_renamed {
        let built_in = BUILT_IN.iter().find(|built_in| built_in.name == workflow).unwrap();
        sandbox.write(&format!(".warp/workflows/{name}.toml"), renamed::renamed(built_in.text));
        sandbox.git(&["add", "--all"]);
        sandbox.git(&["commit", "--quiet", "-m", "chore: a workflow"]);
    }
    (name, mark)
}

/// Runs issue 1 through a built-in workflow, or through its renamed copy, to the merge; returns what came of it.
fn driven(workflow: &str, script: &str, is_renamed: bool) -> (Option<i32>, Vec<String>, Vec<String>) {
    let project = Project::new("");
    let (name, mark) = copied(&project, workflow, is_renamed);
    project.script(&script.replace("MARK_", mark));
    let before = project.sandbox.git(&["rev-parse", "main"]);
    let ended = project.run(&["--workflow", &name, "--set", "max_acs_per_commit=1"]);
    came_of((&project, &name, mark), &before, ended)
}

/// Returns what came of a run that has ended with a merge: its code, its events, and what is merged.
fn came_of(
    (project, name, mark): (&Project, &str, &str),
    before: &str,
    ended: Ended,
) -> (Option<i32>, Vec<String>, Vec<String>) {
    let sandbox = &project.sandbox;
    let log: Value = serde_json::from_str(&sandbox.warp_ok(&["log", "1", "--json"])).unwrap();
    let event = |row: &Value| {
        let text = |field: &str| row[field].as_str().unwrap_or_default().replace(mark, "");
        let failure = row["data"]["failure"].as_str().unwrap_or_default();
        format!("{} {} {failure}", text("event"), text("phase"))
    };
    let subjects = sandbox.git(&["log", "--format=%s", &format!("{before}..main")]);
    let events: Vec<String> = log.as_array().unwrap().iter().map(event).collect();
    let ends = ended.code == Some(0) && !subjects.is_empty();
    assert!(ends, "{name}: {}\n{events:#?}", ended.said);
    (ended.code, events, subjects.lines().map(str::to_owned).collect())
}

#[test]
fn warp_drive_by_other_names_is_driven_the_same() {
    // The first chunk's tests fail once.
    let script = r#"
[[turn]]
phase = "MARK_coding"
chunk = 1
cycle = 0
steps = [{ write = "greeting.txt", text = "hello\n" }, { write = "broken", text = "x\n" }]
answer = { summary = "It says hello.", evidence = [{ ac = "AC-01", file = "greeting.txt", line = 1 }] }
[[turn]]
phase = "MARK_coding"
chunk = 1
cycle = 1
steps = [{ run = "rm broken" }]
answer = { summary = "It passes.", evidence = [{ ac = "AC-01", file = "greeting.txt", line = 1 }] }
[[turn]]
phase = "MARK_coding"
chunk = 2
steps = [{ append = "greeting.txt", text = "world\n" }]
answer = { summary = "It names it.", evidence = [{ ac = "AC-02", file = "greeting.txt", line = 2 }] }
"#;
    let original = driven("warp-drive", script, false);
    assert!(original.1.iter().any(|event| event.starts_with("tests_failed")), "{original:#?}");
    assert_eq!(driven("warp-drive", script, true), original);
}

#[test]
fn the_coder_by_other_names_is_driven_the_same() {
    let script = r#"
[[turn]]
phase = "MARK_PLANNING"
answer = { event = "MARK_submit_plan", data = { approach = "a file" } }
[[turn]]
phase = "MARK_PLAN_REVIEW"
answer = { event = "MARK_approve" }
[[turn]]
phase = "MARK_CODING"
steps = [{ write = "greeting.txt", text = "hello\n" }, { write = "broken", text = "x\n" }]
answer = { event = "MARK_code_complete", data = { summary = "It says hello." } }
[[turn]]
phase = "MARK_FIXING"
steps = [{ run = "rm broken" }]
answer = { event = "MARK_fix_done", data = { summary = "It passes." } }
[[turn]]
phase = "MARK_CODE_REVIEW"
answer = { event = "MARK_approve" }
"#;
    let original = driven("coder", script, false);
    assert!(original.1.iter().any(|event| event.starts_with("tests_fail")), "{original:#?}");
    assert_eq!(driven("coder", script, true), original);
}

/// An agent that finds that its issue depends on another one, breaks the tests, fixes them, and takes a review in.
const CODER: &str = r#"
prompt=$(cat)
say() { printf '{"event":"MARK_%s","data":{"summary":"words","reason":"%s"}}' "$1" "$2"; exit 0; }
case $(cat greeting.txt 2> /dev/null | wc -l)$(ls broken 2> /dev/null) in
0) echo hello > greeting.txt; say dependency_unmet "needs #7" ;;
1) echo world >> greeting.txt; touch broken ;;
2broken) rm broken ;;
2) case $prompt in *"more words, please"*) echo again >> greeting.txt ;; esac ;;
esac
say pushed ""
"#;

/// Runs issue 1 through the factory, or its renamed copy, where a person reviews and merges.
fn reviewed(is_renamed: bool) -> (Option<i32>, Vec<String>, Vec<String>) {
    let project = Project::new("");
    let (name, mark) = copied(&project, "factory", is_renamed);
    let sandbox = &project.sandbox;
    sandbox.write("agent.sh", CODER.replace("MARK_", mark));
    sandbox.git(&["add", "--all"]);
    sandbox.git(&["commit", "--quiet", "-m", "chore: an agent"]);
    sandbox.issue(7, "# Before that\n\n- [ ] AC-01: there are words\n");
    let before = sandbox.git(&["rev-parse", "main"]);
    let agent = "command:sh ./agent.sh";
    let mut running = project.start(&["--workflow", &name, "--level", "2", "--agent", agent]);
    running.until("waits until #7 is closed");
    sandbox.warp_ok(&["issue", "close", "7"]);
    running.until("#8 waits for a review");
    sandbox.warp_ok(&["pr", "request-changes", "8", "more words, please"]);
    running.until("#8 waits for a review");
    sandbox.warp_ok(&["pr", "merge", "8"]);
    let came = came_of((&project, &name, mark), &before, running.end());
    assert_eq!(sandbox.git(&["show", "main:greeting.txt"]), "hello\nworld\nagain");
    assert!(sandbox.warp_ok(&["issue", "show", "1"]).contains("closed (merged)"));
    came
}

#[test]
fn the_factory_by_other_names_is_driven_the_same() {
    let original = reviewed(false);
    let events: Vec<&str> = original.1.iter().filter_map(|event| event.split(' ').next()).collect();
    let moves: Vec<&str> = events.into_iter().filter(|event| !event.starts_with("turn_")).collect();
    insta::assert_snapshot!(moves.join(" "), @"init claimed baseline_taken dependency_unmet dependencies_closed claimed pushed ci_failed pushed ci_passed changes_requested pushed ci_passed merged");
    assert_eq!(reviewed(true), original);
}
