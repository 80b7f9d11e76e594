//! The commit guard in a run: the agent is told first, then a person decides; what is held reaches no branch.

use testkit::driven::Driven;

use crate::support::{Ends as _, InProject as _};

const WARP: &str = env!("CARGO_BIN_EXE_warp");
/// A word that the secret of these tests holds.
const CANARY: &str = "Qz7canaryV9x";

/// A step that writes a secret, which stands nowhere as a whole.
fn leaks() -> String {
    let token = format!("{}_{CANARY}0aB1cD2eF3gH4iJ5kL6m", "ghp");
    format!("  {{ write = \"client.py\", text = \"TOKEN = '{token}'\\n\" }},\n")
}

/// A turn of an agent for a chunk, in the first round or in all others.
fn turn(chunk: u64, cycle: Option<u64>, steps: &str) -> String {
    let text = Driven::coding_turn(chunk, chunk..=chunk, steps);
    match cycle {
        Some(cycle) => {
            text.replacen("phase = \"coding\"\n", &format!("phase = \"coding\"\ncycle = {cycle}\n"), 1)
        }
        None => text,
    }
}

fn driven(criteria: u64, script: &str) -> Driven {
    let driven = Driven::new(WARP);
    driven.issue(42, criteria, "");
    driven.script(script);
    driven
}

const LEVEL_3: [&str; 6] = ["42", "--level", "3", "--set", "max_acs_per_commit=1", "--once"];

fn log(driven: &Driven) -> Vec<serde_json::Value> {
    serde_json::from_str(&driven.sandbox.warp_ok(&["log", "42", "--json"])).unwrap()
}

/// Tells whether any object of the person's repository that a branch leads to holds the canary.
fn is_in_a_branch(driven: &Driven) -> bool {
    let found =
        driven.sandbox.command("git").args(["log", "--branches", "-p", "-S", CANARY]).output().unwrap();
    assert!(found.status.success());
    String::from_utf8_lossy(&found.stdout).contains(CANARY)
}

#[test]
fn an_agent_that_is_told_takes_the_secret_out_and_the_rest_is_merged() {
    let fixes = "  { write = \"client.py\", text = \"TOKEN = os.environ['TOKEN']\\n\" },\n";
    let driven = driven(1, &(turn(1, Some(0), &leaks()) + &turn(1, Some(1), fixes)));
    let said = driven.run(&LEVEL_3).ends(0);
    assert!(said.out.contains("client.py:1: looks like a GitHub token"), "{said:?}");
    assert!(said.out.contains("(2 files, +2 -0)"), "{said:?}");
    assert!(driven.sandbox.git(&["show", "main:client.py"]).contains("os.environ"));
    assert!(!is_in_a_branch(&driven) && !said.out.contains(CANARY));
    let told: Vec<_> = log(&driven).into_iter().filter(|row| row["event"] == "tests_failed").collect();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["data"]["check"], "commit_guard");
    let issue = driven.sandbox.warp_ok(&["issue", "show", "42"]);
    assert!(issue.contains("[x]"), "{issue}");
}

#[test]
fn what_an_agent_does_not_fix_is_asked_and_accepted_for_exactly_that() {
    let driven = driven(1, &turn(1, None, &leaks()));
    let mut run = driven.start(&LEVEL_3);
    let asked: serde_json::Value = serde_json::from_str(&run.line("\"type\":\"asked\"")).unwrap();
    let (id, options) = (asked["asked"]["id"].as_str().unwrap(), &asked["asked"]["options"]);
    assert_eq!(options, &serde_json::json!(["accept", "skip", "abort"]), "{asked}");
    let question = asked["asked"]["question"].as_str().unwrap();
    assert!(question.starts_with("The commit guard holds the work on AC-01: client.py:1:"), "{question}");
    assert!(!question.contains(CANARY), "{question}");
    let issue = driven.sandbox.warp_ok(&["issue", "show", "42"]);
    assert!(!issue.contains("[x]"), "nothing is met while it is held: {issue}");
    let told = driven.sandbox.warp_ok(&["explain", "42"]);
    assert!(told.contains(&format!("warp answer {id} accept")) || told.contains(id), "{told}");
    driven.sandbox.warp_ok(&["answer", id, "accept"]);
    assert_eq!(run.end(), Some(0));
    assert!(driven.sandbox.git(&["show", "main:client.py"]).contains(CANARY) && is_in_a_branch(&driven));
    let issue = driven.sandbox.warp_ok(&["issue", "show", "42"]);
    assert!(issue.contains("[x]"), "{issue}");
    let texts: String =
        (43..50).map(|number| driven.sandbox.warp(&["issue", "show", &number.to_string()]).out).collect();
    assert!(texts.contains("accepted by a person") && texts.contains("client.py:1"), "{texts}");
}

#[test]
fn without_an_answer_the_chunk_is_skipped_with_a_todo_and_the_others_are_merged() {
    let driven = driven(2, &(turn(1, None, &leaks()) + &turn(2, None, "")));
    driven.run(&[&LEVEL_3[..], &["--set", "decision_timeout_minutes=0"]].concat()).ends(5);
    let sandbox = &driven.sandbox;
    let files = sandbox.git(&["ls-tree", "--name-only", "main"]);
    assert!(
        files.contains("file2.txt") && !files.contains("file1.txt") && !files.contains("client.py"),
        "{files}"
    );
    assert!(!is_in_a_branch(&driven));
    let todos = sandbox.warp_ok(&["issue", "list"]);
    assert!(todos.contains("Decide for #42: The commit guard holds"), "{todos}");
    let issue = sandbox.warp_ok(&["issue", "show", "42"]);
    assert!(issue.contains("- [ ] the word word1") && issue.contains("- [x] the word word2"), "{issue}");
    let salvage = sandbox.warp_ok(&["salvage", "list"]);
    assert!(!salvage.trim().is_empty(), "what was held is kept");
}

#[test]
fn a_stopped_run_leaves_no_secret_on_its_branch() {
    let driven = driven(1, &turn(1, None, &leaks()));
    let mut run = driven.start(&LEVEL_3);
    run.line("\"type\":\"asked\"");
    driven.sandbox.warp_ok(&["stop", "42"]);
    run.end();
    assert!(!is_in_a_branch(&driven));
}

#[test]
fn a_removed_test_is_named_in_the_pull_request_once_it_is_accepted() {
    let driven = driven(1, &turn(1, None, "  { run = \"rm tests/test_words.py\" },\n"));
    driven.sandbox.write("tests/test_words.py", "def test_words():\n    assert True\n");
    driven.sandbox.commit("test: words");
    let mut run = driven.start(&["42", "--level", "2", "--once"]);
    let asked: serde_json::Value = serde_json::from_str(&run.line("\"type\":\"asked\"")).unwrap();
    assert!(asked["asked"]["question"].as_str().unwrap().contains("`test_words`"), "{asked}");
    driven.sandbox.warp_ok(&["answer", asked["asked"]["id"].as_str().unwrap(), "accept"]);
    assert_eq!(run.end(), Some(0));
    let texts: String =
        (43..50).map(|number| driven.sandbox.warp(&["pr", "show", &number.to_string()]).out).collect();
    let named = "tests/test_words.py: removes a file with the test `test_words`";
    assert!(
        texts.contains("Removed and skipped tests, accepted by a person") && texts.contains(named),
        "{texts}"
    );
}

#[test]
fn commit_guard_off_looks_at_nothing() {
    let driven = driven(1, &turn(1, None, &leaks()));
    driven.run(&[&LEVEL_3[..], &["--set", "commit_guard=false"]].concat()).ends(0);
    assert!(driven.sandbox.git(&["show", "main:client.py"]).contains(CANARY));
}

#[test]
fn guard_max_new_files_and_guard_max_file_mb_are_the_limits() {
    let many = "  { run = \"mkdir gen; for i in 1 2 3; do echo $i > gen/$i; done\" },\n";
    let limit = ["--set", "guard_max_new_files=3", "--set", "decision_timeout_minutes=0"];
    let held = driven(1, &turn(1, None, many)).run(&[&LEVEL_3[..], &limit].concat());
    assert!(held.out.contains("4 new files in one commit; the most is 3"), "{held:?}");
    let large = "  { run = \"head -c 1100000 /dev/zero > big.bin\" },\n";
    let limit = ["--set", "guard_max_file_mb=1", "--set", "decision_timeout_minutes=0"];
    let held = driven(1, &turn(1, None, large)).run(&[&LEVEL_3[..], &limit].concat());
    assert!(held.out.contains("big.bin: has 1.0 MB; the most is 1 MB"), "{held:?}");
    assert_eq!(driven(1, &turn(1, None, many)).run(&LEVEL_3).code, Some(0));
}
