//! `warp run` is killed at points all along its way, and `warp run` goes on.
#![cfg(debug_assertions)]

use testkit::Sandbox;

use super::running::{json, processes_of, project, run};

const ISSUE: &str = "\
# Read five things

- [ ] numbers are read from number.txt
- [ ] names are read from name.txt
- [ ] lists are read from list.txt
- [ ] tables are read from table.txt
- [ ] comments are read from comment.txt
";

const SCRIPT: &str = r#"
[[turn]]
phase = "planning"
answer = { approach = "One file for each thing." }

[[turn]]
phase = "coding"
chunk = 1
cycle = 0
steps = [{ write = "number.txt", text = "broken number\n" }, { write = "name.txt", text = "name\n" }]
answer = { summary = "numbers and names", evidence = [
    { ac = "AC-01", file = "number.txt", line = 1 }, { ac = "AC-02", file = "name.txt", line = 1 },
] }

[[turn]]
phase = "coding"
chunk = 1
steps = [{ write = "number.txt", text = "number\n" }]
answer = { summary = "numbers and names", evidence = [
    { ac = "AC-01", file = "number.txt", line = 1 }, { ac = "AC-02", file = "name.txt", line = 1 },
], lessons = [{ title = "Broken numbers fail", text = "The tests look for them." }] }

[[turn]]
phase = "coding"
chunk = 2
steps = [{ write = "list.txt", text = "list\n" }, { write = "table.txt", text = "table\n" }]
answer = { summary = "lists and tables", evidence = [
    { ac = "AC-03", file = "list.txt", line = 1 }, { ac = "AC-04", file = "table.txt", line = 1 },
] }

[[turn]]
phase = "coding"
chunk = 3
steps = [{ write = "comment.txt", text = "comment\n" }]
answer = { summary = "comments", evidence = [{ ac = "AC-05", file = "comment.txt", line = 1 }] }
"#;

/// How far two points are apart at which a run is killed.
const STEP: usize = 23;
/// A run is killed at least so often; less means that it has fewer points than it should.
const FEWEST: usize = 10;

#[test]
fn a_run_that_is_killed_goes_on_to_the_same_end() {
    let undisturbed = {
        let sandbox = project(&[(1, ISSUE)], SCRIPT);
        let (code, said) = run(&sandbox, &["1"], &[]);
        assert_eq!(code, Some(0), "{said}");
        end_of(&sandbox)
    };
    let mut kills = 0;
    for at in (1..).step_by(STEP) {
        let sandbox = project(&[(1, ISSUE)], SCRIPT);
        let (code, said) = run(&sandbox, &["1"], &[("WARP_CRASH_AT", &at.to_string())]);
        if code.is_some() {
            assert_eq!(code, Some(0), "{said}");
            break;
        }
        kills += 1;
        let has_run = sandbox.warp(&["status", "1"]).code == Some(0);
        let (code, said) = run(&sandbox, if has_run { &[] } else { &["1"] }, &[]);
        assert_eq!(code, Some(0), "killed at {at}: {said}");
        assert_eq!(end_of(&sandbox), undisturbed, "killed at {at}: {said}");
        assert_eq!(processes_of(&sandbox), [""; 0], "killed at {at}");
    }
    assert!(kills >= FEWEST, "{kills} kills");
}

/// Returns what a person sees from outside, without hashes, times and names of runs.
fn end_of(sandbox: &Sandbox) -> String {
    let mut end = sandbox.git(&["log", "--reverse", "--format=%T %B", "main"]);
    end.push_str(&sandbox.git(&["status", "--porcelain"]));
    let issue = json(&sandbox.warp_ok(&["issue", "show", "1", "--json"]));
    end.push_str(&format!("\n{}\n{}\n", issue["state"], issue["body"].as_str().unwrap()));
    let items = json(&sandbox.warp_ok(&["issue", "list", "--state", "all", "--json"]));
    for item in items.as_array().unwrap() {
        let title = item["title"].as_str().unwrap();
        // The summary's title names the run.
        let title =
            title.split_once(": ").filter(|_| title.starts_with("Session ")).map_or(title, |two| two.1);
        end.push_str(&format!("{title} {}\n", item["labels"]));
    }
    let said = sandbox.warp(&["doctor"]);
    assert!(said.out.contains("journal"), "{said:?}");
    end
}
