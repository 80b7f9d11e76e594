//! A built-in workflow that a project has copied under another name, with all its phases and events renamed, is driven the
//! same way to the same end.

use engine::workflow::BUILT_IN;
use serde_json::Value;

use super::support::Project;
use crate::renamed;

/// Runs issue 1 through a built-in workflow, or through its renamed copy, to the merge; returns what came of it.
fn driven(workflow: &str, script: &str, is_renamed: bool) -> (Option<i32>, Vec<String>, Vec<String>) {
    let mark = if is_renamed { renamed::MARK } else { "" };
    let project = Project::new(&script.replace("MARK_", mark));
    let (sandbox, name) = (&project.sandbox, format!("{mark}{workflow}"));
    if is_renamed {
        let built_in = BUILT_IN.iter().find(|built_in| built_in.name == workflow).unwrap();
        sandbox.write(&format!(".warp/workflows/{name}.toml"), renamed::renamed(built_in.text));
        sandbox.git(&["add", "--all"]);
        sandbox.git(&["commit", "--quiet", "-m", "chore: a workflow"]);
    }
    let before = sandbox.git(&["rev-parse", "main"]);
    let ended = project.run(&["--workflow", &name, "--set", "max_acs_per_commit=1"]);
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
