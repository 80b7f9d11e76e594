//! Questions of an agent's: answered from elsewhere, skipped, or put off when nobody answers.

use super::support::Project;
use crate::support::Ends as _;

/// An agent that asks about the first criterion, and knows what to do about the second.
const ASKS: &str = r#"
[[turn]]
phase = "coding"
chunk = 1
resumed = false
steps = [{ write = "draft.txt", text = "draft\n" }]
answer = { summary = "", question = { kind = "KIND", text = "Which greeting?", options = ["hello", "good day"] } }
[[turn]]
phase = "coding"
chunk = 1
steps = [{ remove = "draft.txt" }, { write = "greeting.txt", text = "hello\n" }]
answer = { summary = "It greets.", evidence = [{ ac = "AC-01", file = "greeting.txt", line = 1 }] }
[[turn]]
phase = "coding"
chunk = 2
steps = [{ write = "world.txt", text = "world\n" }]
answer = { summary = "It names the world.", evidence = [{ ac = "AC-02", file = "world.txt", line = 1 }] }
"#;

const CHUNKS: [&str; 2] = ["--set", "max_acs_per_commit=1"];
const NOBODY: [&str; 2] = ["--set", "decision_timeout_minutes=0"];

fn asks(kind: &str) -> Project {
    Project::new(&ASKS.replace("KIND", kind))
}

fn files(project: &Project) -> String {
    project.sandbox.git(&["ls-tree", "-r", "--name-only", "main"])
}

#[test]
fn each_kind_of_question_is_answered_from_another_process() {
    for kind in ["architecture", "ambiguity", "dependency", "scope"] {
        let project = asks(kind);
        let mut running = project.start(&CHUNKS);
        running.until("? Which greeting?");
        running.until("answer with `warp answer");
        let (id, question) = project.question();
        assert_eq!(question, "Which greeting?");
        project.sandbox.warp(&["answer", &id, "hi"]).ends(65);
        project.sandbox.warp_ok(&["answer", &id, "hello", "--note", "in lower case"]);
        running.end().ends(0);
        assert_eq!(files(&project), "Makefile\ngreeting.txt\ntest.sh\nworld.txt");
        let asked = project.log().into_iter().find(|(event, _)| event == "question_asked").unwrap().1;
        assert_eq!(asked["kind"], kind);
    }
}

#[test]
fn what_was_decided_is_in_the_next_prompt() {
    let project = Project::new("");
    let line = r#"command:cat > prompt-$WARP_CYCLE; if grep -q 'Decided: hello (in lower case)' prompt-0; then
        mv prompt-0 greeting.txt; echo '{"summary":"x","evidence":[{"ac":"AC-01","file":"greeting.txt","line":1},{"ac":"AC-02","file":"greeting.txt","line":1}]}'; else
        echo '{"summary":"","question":{"kind":"ambiguity","text":"Which greeting?","options":["hello"]}}'; fi"#;
    let mut running = project.start(&["--agent", line]);
    running.until("? Which greeting?");
    let (id, _) = project.question();
    project.sandbox.warp_ok(&["answer", &id, "hello", "--note", "in lower case"]);
    running.end().ends(0);
}

#[test]
fn a_skipped_chunk_is_left_out_and_the_next_one_done() {
    let project = asks("scope");
    let mut running = project.start(&CHUNKS);
    running.until("? Which greeting?");
    let (id, _) = project.question();
    project.sandbox.warp_ok(&["answer", &id, "skip"]);
    running.end().ends(5);
    is_half_done(&project);
}

#[test]
fn a_question_that_nobody_answers_becomes_an_issue_and_the_next_chunk_is_done() {
    let project = asks("dependency");
    project.run(&[CHUNKS, NOBODY].concat()).ends(5);
    let todo = project.sandbox.warp_ok(&["issue", "show", "2"]);
    assert!(todo.contains("Which greeting?") && todo.contains("todo, warp-drive"), "{todo}");
    assert!(todo.contains("assigned to Test") && todo.contains("hello, good day"), "{todo}");
    is_half_done(&project);
    let told = project.sandbox.warp_ok(&["explain", "1"]);
    assert!(told.contains("was skipped; TODO #2 asks: Which greeting?\n"), "{told}");
    assert!(told.contains("warp issue show 2 "), "{told}");
    // The issue stays open for what was put off, and can be run again.
    project.script(&ASKS.replace("resumed = false", "issue = 99"));
    project.run(&[]).ends(0);
    assert!(files(&project).contains("greeting.txt"));
    // Nothing is left to be decided.
    let todo = project.sandbox.warp_ok(&["issue", "show", "2"]);
    assert!(todo.contains("\nclosed (#1 is merged)"), "{todo}");
    assert!(todo.contains("#1 is done without an answer. Merged as "), "{todo}");
}

fn is_half_done(project: &Project) {
    assert_eq!(files(project), "Makefile\ntest.sh\nworld.txt");
    let kept = project.sandbox.warp_ok(&["salvage", "show", "1"]);
    assert!(kept.contains("draft.txt"), "{kept}");
    let issue = project.sandbox.warp_ok(&["issue", "show", "1"]);
    assert!(issue.contains("[ ] AC-01") && issue.contains("[x] AC-02"), "{issue}");
}
