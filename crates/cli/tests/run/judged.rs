//! Judgement that can be overruled: doubts are advice, a person may accept what a check refuses, and a failed verification
//! command goes back to the agent.

use super::support::{GOOD, Project};
use crate::support::{Ends as _, InProject as _};

/// An agent whose change shares no word with the criteria.
const ODD: &str = r#"
[[turn]]
phase = "coding"
steps = [{ write = "a.txt", text = "x\ny\n" }]
answer = { summary = "Done.", evidence = [
    { ac = "AC-01", file = "a.txt", line = 1 },
    { ac = "AC-02", file = "a.txt", line = 2 },
] }
"#;

/// An agent that does the work and points at a line that it has not changed.
const UNMATCHED: &str = r#"
[[turn]]
phase = "coding"
steps = [{ write = "greeting.txt", text = "hello\nworld\n" }]
answer = { summary = "It greets.", evidence = [
    { ac = "AC-01", file = "test.sh", line = 1 },
    { ac = "AC-02", file = "greeting.txt", line = 2 },
] }
"#;

const ENFORCE: [&str; 2] = ["--set", "diff_relevance=enforce"];

fn file(project: &Project, title: &str, body: &str) {
    project.sandbox.write("issue.md", format!("# {title}\n\n{body}"));
    project.sandbox.warp_ok(&["issue", "import", "issue.md", "--number", "7"]);
    std::fs::remove_file(project.sandbox.root().join("issue.md")).unwrap();
}

/// Runs issue 7 with the project's own script.
fn run_seven(project: &Project) -> super::support::Ended {
    let script = format!("script:{}", project.sandbox.home().join("script.toml").display());
    let mut arguments = vec!["run", "7", "--level", "3", "--once", "--agent", &script];
    if !testkit::machine::has_walls() {
        arguments.push("--no-sandbox");
    }
    super::support::Running::start(project.sandbox.warp_command(&arguments)).end()
}

#[test]
fn german_criteria_for_english_code_and_a_lock_file_alone_are_right_work() {
    for (title, criterion, path, text) in [
        ("Größe hinzufügen", "Die Größe wird überprüft", "size.txt", "check"),
        ("Bump the dependency", "left-pad is at version 2", "package-lock.json", "{}"),
        ("Robust", "no crash for an empty input", "parse.py", "try: pass"),
    ] {
        let script = format!(
            "[[turn]]\nphase = \"coding\"\nsteps = [{{ write = \"{path}\", text = \"{text}\\n\" }}]\n\
             answer = {{ summary = \"Done.\", evidence = [{{ ac = \"AC-01\", file = \"{path}\", line = 1 }}] }}\n"
        );
        let project = Project::new(&script);
        file(&project, title, &format!("- [ ] {criterion}\n"));
        let ended = run_seven(&project);
        assert_eq!(ended.code, Some(0), "{title}: {}", ended.said);
        assert_eq!(project.sandbox.git(&["show", &format!("main:{path}")]), text);
        let told = ["diff_relevance_check: no changed path", "diff_relevance_check: only documentation"];
        assert!(told.iter().any(|told| ended.said.contains(told)), "{}", ended.said);
        let log = project.sandbox.warp_ok(&["log", "7"]);
        assert!(log.contains("diff_relevance_check: "), "{log}");
        let report = project.sandbox.warp_ok(&["issue", "show", "8"]);
        assert!(report.contains("## What checks said\n\n- diff_relevance_check: "), "{report}");
        if title.starts_with("Gr") {
            assert!(ended.said.contains("branch feature/issue-7-groesse-hinzufuegen"), "{}", ended.said);
        }
    }
}

#[test]
fn a_branch_keeps_the_letters_of_other_scripts() {
    let project = Project::new(&ODD.replace("    { ac = \"AC-02\", file = \"a.txt\", line = 2 },\n", ""));
    file(&project, "日本語を追加", "- [ ] 追加\n");
    let ended = run_seven(&project).ends(0);
    assert!(ended.said.contains("branch feature/issue-7-日本語を追加"), "{}", ended.said);
}

#[test]
fn a_change_that_is_refused_is_accepted_by_a_person_and_that_is_told_everywhere() {
    let project = Project::new(ODD);
    let mut running = project.start(&ENFORCE);
    running.until("asking again");
    running.until("? `coding` cannot continue: `code_complete` is refused by diff_relevance_check");
    running.until(" abort");
    let (id, question) = project.question();
    assert!(question.ends_with("Accept it all the same?"), "{question}");
    let told = project.sandbox.warp_ok(&["explain", "1"]);
    assert!(told.contains(&format!("warp answer {id} accept")), "{told}");
    project.sandbox.warp_ok(&["answer", &id, "accept", "--note", "it is fine"]);
    running.end().ends(0);
    assert_eq!(project.count("turn_started"), 3, "its answer is taken as it was");
    assert_eq!(project.sandbox.git(&["show", "main:a.txt"]), "x\ny");
    let log = project.sandbox.warp_ok(&["log", "1"]);
    assert!(log.contains("accepted by Test: diff_relevance_check: no changed path"), "{log}");
    let report = project.sandbox.warp_ok(&["issue", "show", "2"]);
    assert!(
        report.contains("- accepted by Test: diff_relevance_check: ") && report.contains("(it is fine)"),
        "{report}"
    );
}

#[test]
fn what_a_person_accepted_is_in_the_pull_request() {
    let project = Project::new(ODD);
    let mut running = project.start(&[&ENFORCE[..], &["--set", "auto_merge=false"]].concat());
    running.until(" abort");
    project.sandbox.warp_ok(&["answer", &project.question().0, "accept"]);
    running.end().ends(0);
    let pulls = project.sandbox.warp_ok(&["pr", "list"]);
    let number = pulls.split_whitespace().next().unwrap().trim_start_matches('#').to_owned();
    let pull = project.sandbox.warp_ok(&["pr", "show", &number]);
    assert!(pull.contains("- accepted by Test: diff_relevance_check: "), "{pull}");
}

#[test]
fn evidence_that_cannot_be_matched_may_be_accepted_and_an_empty_change_may_not() {
    let project = Project::new(UNMATCHED);
    let mut running = project.start(&[]);
    running.until("? `coding` cannot continue: `code_complete` is refused by self_verification");
    running.until(" abort");
    project.sandbox.warp_ok(&["answer", &project.question().0, "accept"]);
    running.end().ends(0);
    assert_eq!(project.sandbox.git(&["show", "main:greeting.txt"]), "hello\nworld");
    let project = Project::new("[[turn]]\nphase = \"coding\"\nanswer = { summary = \"nothing\" }\n");
    let mut running = project.start(&[]);
    running.until("nothing has changed since");
    running.until("warp answer");
    let (id, _) = project.question();
    insta::assert_snapshot!(project.sandbox.refused(65, &["answer", &id, "accept"]), @"error: `option` must be one of continue, skip, abort");
    project.sandbox.warp_ok(&["answer", &id, "abort"]);
    assert_ne!(running.end().code, Some(0));
}

#[test]
fn a_verification_command_that_fails_goes_back_to_the_agent_with_its_output() {
    let project = Project::new("");
    // The agent mends what the command says, and only if it is told.
    let line = r#"command:cat > ../prompt 2>/dev/null || cat > /dev/null; printf 'hello\nworld\n' > greeting.txt;
        if test "$WARP_CYCLE" = 1; then echo clean > linted; fi;
        echo '{"summary":"x","evidence":[{"ac":"AC-01","file":"greeting.txt","line":1},{"ac":"AC-02","file":"greeting.txt","line":2}]}'"#;
    let gate =
        r#"verification_gates={"tests_passed":["test -e linted || { echo run the linter first; exit 3; }"]}"#;
    let ended = project.run(&["--agent", line, "--set", gate]).ends(0);
    assert!(
        ended.said.contains("failed (exit 3)") && ended.said.contains("run the linter first"),
        "{}",
        ended.said
    );
    let log = project.log();
    let failed = log.iter().find(|(event, _)| event == "tests_failed").map(|(_, data)| data.clone()).unwrap();
    assert!(failed["failure"].as_str().unwrap().contains("run the linter first"), "{failed:#}");
    assert_eq!(failed["check"], "verification_gates");
    assert_eq!(project.count("question_asked"), 0);
    assert_eq!(project.sandbox.git(&["show", "main:linted"]), "clean");
}

#[test]
fn the_agent_reads_what_a_verification_command_printed() {
    let project = Project::new("");
    let line = r#"command:cat > prompt-$WARP_CYCLE; if grep -q 'A check failed after your last answer' prompt-*; then
        grep -q 'run the linter first' prompt-1 && touch linted; fi; rm prompt-*; printf 'hello\nworld\n' > greeting.txt;
        echo '{"summary":"x","evidence":[{"ac":"AC-01","file":"greeting.txt","line":1},{"ac":"AC-02","file":"greeting.txt","line":2}]}'"#;
    let gate =
        r#"verification_gates={"tests_passed":["test -e linted || { echo run the linter first; exit 3; }"]}"#;
    project.run(&["--agent", line, "--set", gate]).ends(0);
}

#[test]
fn where_a_phase_cannot_go_back_a_person_is_asked_with_the_output() {
    for event in ["docs_updated", "merge_ready"] {
        let project = Project::new(GOOD);
        let gate = format!(r#"verification_gates={{"{event}":["echo look at this; test -e fixed"]}}"#);
        project.run(&["--set", &gate]).ends(5);
        let (id, question) = project.question();
        assert!(question.contains("look at this") && question.contains("slots/1/tree"), "{question}");
        let refused = project.sandbox.warp(&["answer", &id, "accept"]);
        assert_eq!(refused.code, Some(65), "a command that fails is not accepted: {refused:?}");
        project.sandbox.warp_ok(&["answer", &id, "abort"]);
        project.run(&[]);
        let issue = project.sandbox.warp_ok(&["issue", "show", "1"]);
        assert!(issue.contains("- [ ] AC-01") && issue.contains("- [ ] AC-02"), "{issue}");
        project.goes_on();
    }
}

#[test]
fn a_verification_command_that_is_not_there_is_a_persons() {
    let project = Project::new(GOOD);
    let gate = r#"verification_gates={"tests_passed":["no-such-linter --all"]}"#;
    project.run(&["--set", gate]).ends(5);
    assert_eq!(project.count("tests_failed"), 0, "no attempt is used up");
    assert!(project.question().1.contains("no-such-linter"), "{}", project.question().1);
}
