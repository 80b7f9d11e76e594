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
        running.until("answer with");
        let (id, question) = project.question();
        assert_eq!(question, "Which greeting?");
        project.sandbox.warp(&["answer", &id, "hi"]).ends(65);
        // What cannot be pasted has a number, which is taken here too.
        let shown = project.sandbox.warp_ok(&["answer", &id]);
        assert!(
            shown.contains(&format!("warp answer {id} hello\nwarp answer {id} 2      good day\n")),
            "{shown}"
        );
        project.sandbox.warp_ok(&["answer", &id, "1", "--note", "in lower case"]);
        running.end().ends(0);
        let answered = project.log().into_iter().find(|(event, _)| event == "decision_answered").unwrap().1;
        assert_eq!(answered["option"], "hello");
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
    assert!(told.contains("warp answer 2 "), "{told}");
    // The issue stays open for what was put off, and can be run again.
    project.script(&ASKS.replace("resumed = false", "issue = 99"));
    project.run(&[]).ends(0);
    assert!(files(&project).contains("greeting.txt"));
    // Nothing is left to be decided.
    let todo = project.sandbox.warp_ok(&["issue", "show", "2"]);
    assert!(todo.contains("\nclosed (#1 is merged)"), "{todo}");
    assert!(todo.contains("#1 is done without an answer. Merged as "), "{todo}");
}

#[test]
fn a_question_that_has_become_an_issue_is_answered_later_and_the_next_run_is_told() {
    let project = asks("dependency");
    project.run(&[CHUNKS, NOBODY].concat()).ends(5);
    let sandbox = &project.sandbox;
    let todo = sandbox.warp_ok(&["issue", "show", "2"]);
    assert!(todo.contains("\nwarp answer 2 hello\nwarp answer 2 2      good day\n"), "{todo}");
    assert!(!todo.contains("warp answer 2 skip"), "what is past is not offered: {todo}");
    sandbox.warp(&["answer", "1", "hello"]).ends(3);
    let none = sandbox.warp(&["answer", "2", "goodbye"]).ends(65);
    assert!(none.err.contains("`warp answer 2 hello` or `warp answer 2 2` (good day)"), "{none:?}");
    let answered = sandbox.warp_ok(&["answer", "2", "2", "--note", "before noon"]);
    assert!(
        answered.contains("#2 is answered for issue 1: good day\n`warp run 1` takes it up"),
        "{answered}"
    );
    let closed = sandbox.warp(&["answer", "2", "hello"]).ends(3);
    assert!(closed.err.contains("#2 is closed (answered: good day)"), "{closed:?}");
    let issue = sandbox.warp_ok(&["issue", "show", "1"]);
    assert!(
        issue.contains("-- Test at ") && issue.contains("\nWhich greeting?: good day (before noon)\n"),
        "{issue}"
    );
    assert!(sandbox.warp_ok(&["explain", "1"]).contains("is approved and ready"));
    let line = r#"command:cat > prompt-$WARP_CYCLE; if grep -q 'decided: Which greeting?: good day (before noon)' prompt-0; then
        mv prompt-0 greeting.txt; echo '{"summary":"x","evidence":[{"ac":"AC-01","file":"greeting.txt","line":1}]}'; else
        echo '{"summary":"","question":{"kind":"ambiguity","text":"Which greeting?","options":["hello"]}}'; fi"#;
    project.run(&["--agent", line]).ends(0);
}

fn is_half_done(project: &Project) {
    assert_eq!(files(project), "Makefile\ntest.sh\nworld.txt");
    let kept = project.sandbox.warp_ok(&["salvage", "show", "1"]);
    assert!(kept.contains("draft.txt"), "{kept}");
    let issue = project.sandbox.warp_ok(&["issue", "show", "1"]);
    assert!(issue.contains("[ ] AC-01") && issue.contains("[x] AC-02"), "{issue}");
}
