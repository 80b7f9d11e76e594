//! An issue without acceptance criteria: an agent proposes them, and a person confirms them.

use super::support::{Ended, Project, Running};
use crate::support::{Ends as _, InProject as _};

/// An agent that proposes two criteria, other ones when it is asked again, and meets them.
const PROPOSES: &str = r#"
[[turn]]
phase = "planning"
answer = { approach = "Write the file.", criteria = ["it says hello", "- [ ] it names the world"] }
[[turn]]
phase = "coding"
steps = [{ write = "greeting.txt", text = "hello\nworld\n" }]
answer = { summary = "It greets.", evidence = [
    { ac = "AC-01", file = "greeting.txt", line = 1 },
    { ac = "AC-02", file = "greeting.txt", line = 2 },
] }
"#;

const NOBODY: [&str; 2] = ["--set", "decision_timeout_minutes=0"];

/// A project with issue 7, which only says what is missing.
fn project(script: &str) -> Project {
    let project = Project::new(script);
    project.sandbox.warp_ok(&["issue", "close", "1"]);
    project.sandbox.write("issue.md", "# A greeting\n\nNobody is greeted.\n");
    project.sandbox.warp_ok(&["issue", "import", "issue.md", "--number", "7", "--approve"]);
    std::fs::remove_file(project.sandbox.root().join("issue.md")).unwrap();
    project
}

fn start(project: &Project, level: &str, more: &[&str]) -> Running {
    let script = format!("script:{}", project.sandbox.home().join("script.toml").display());
    let mut arguments = vec!["run", "7", "--level", level, "--once"];
    if !more.contains(&"--agent") {
        arguments.extend(["--agent", &script]);
    }
    if !testkit::machine::has_walls() {
        arguments.push("--no-sandbox");
    }
    arguments.extend(more);
    Running::start(project.sandbox.warp_command(&arguments))
}

fn run(project: &Project, level: &str, more: &[&str]) -> Ended {
    start(project, level, more).end()
}

fn issue(project: &Project) -> String {
    project.sandbox.warp_ok(&["issue", "show", "7"])
}

fn question(project: &Project) -> (String, String) {
    let status = project.sandbox.json(&["status", "7", "--json"]);
    let text =
        |field: &str| status["asked"][field].as_str().unwrap_or_else(|| panic!("{status:#}")).to_owned();
    (text("id"), text("question"))
}

#[test]
fn criteria_that_a_person_confirms_are_written_into_the_issue_and_met() {
    let project = project(PROPOSES);
    let mut running = start(&project, "3", &[]);
    running
        .until("? Are these acceptance criteria right (the issue has none, and the agent proposes these)?");
    running.until(" stop");
    let (id, question) = question(&project);
    assert!(question.ends_with("\n- it says hello\n- it names the world"), "{question}");
    assert!(!issue(&project).contains("\n- [ ]"), "nothing is written before");
    project.sandbox.warp_ok(&["answer", &id, "accept"]);
    let ended = running.end().ends(0);
    assert!(ended.said.contains("2 criteria written into issue 7: confirmed by Test"), "{}", ended.said);
    let issue = issue(&project);
    assert!(
        issue.contains(
            "Nobody is greeted.\n\n## Acceptance criteria\n\nProposed by the agent, confirmed by Test.\n\n- [x] it says hello\n- [x] it names the world\n"
        ),
        "{issue}"
    );
    assert!(issue.contains("labels: approved, req"), "{issue}");
    assert_eq!(project.sandbox.git(&["show", "main:greeting.txt"]), "hello\nworld");
    let log = project.sandbox.warp_ok(&["log", "7"]);
    assert!(log.contains("accepted by Test: criteria: proposed by the agent"), "{log}");
}

#[test]
fn criteria_that_a_person_rejects_are_proposed_again_with_what_they_said() {
    let project = project("");
    let line = r#"command:cat > prompt; if grep -q 'in phase .planning\|the phase .planning' prompt; then
        if grep -q 'not right: in lower case' prompt; then echo '{"approach":"x","criteria":["it says hello"]}';
        else echo '{"approach":"x","criteria":["it says HELLO"]}'; fi;
        else printf 'hello\n' > greeting.txt; echo '{"summary":"x","evidence":[{"ac":"AC-01","file":"greeting.txt","line":1}]}'; fi; rm prompt"#;
    let mut running = start(&project, "3", &["--agent", line]);
    running.until("- it says HELLO");
    running.until(" stop");
    project.sandbox.warp_ok(&["answer", &question(&project).0, "reject", "--note", "in lower case"]);
    running.until("- it says hello");
    running.until(" stop");
    project.sandbox.warp_ok(&["answer", &question(&project).0, "accept"]);
    running.end().ends(0);
    assert!(issue(&project).contains("- [x] it says hello\n") && !issue(&project).contains("HELLO"));
}

#[test]
fn at_level_3_an_issue_whose_criteria_nobody_confirms_is_skipped_and_the_next_one_is_taken() {
    let project = project(PROPOSES);
    project.sandbox.warp_ok(&["issue", "label", "7", "--add", "req", "--add", "p1-critical"]);
    project.sandbox.warp_ok(&["issue", "reopen", "1"]);
    project.sandbox.warp_ok(&["issue", "approve", "1"]);
    let script = format!("script:{}", project.sandbox.home().join("script.toml").display());
    let mut arguments = vec!["run", "--until-empty", "--level", "3", "--agent", &script];
    arguments.extend(NOBODY);
    if !testkit::machine::has_walls() {
        arguments.push("--no-sandbox");
    }
    let ended = Running::start(project.sandbox.warp_command(&arguments)).end();
    assert_eq!(project.sandbox.git(&["show", "main:greeting.txt"]), "hello\nworld", "{}", ended.said);
    assert!(ended.said.contains("nobody decided in time"), "{}", ended.said);
    let shown = issue(&project);
    assert!(!shown.contains("\n- [ ]") && shown.contains("#7 has no `- [ ]` criteria"), "{shown}");
    let list = project.sandbox.warp_ok(&["issue", "list"]);
    insta::assert_snapshot!(project.sandbox.stable(&list), @"
    #7  ready  no criteria  A greeting                                                    approved, p1-critical, req
    #8  open   -            Decide for #7: Are these acceptance criteria right (the iss…  todo, warp-drive

    2 open, 4 closed (`warp issue list --state closed`)
    ");
}

#[test]
fn at_level_2_criteria_that_nobody_confirms_are_marked_everywhere_and_asked_about_at_level_3() {
    let project = project(PROPOSES);
    let ended = run(&project, "2", &[]).ends(0);
    let marked = "criteria: proposed by the agent, nobody has confirmed them";
    assert!(ended.said.contains(marked), "{}", ended.said);
    let shown = issue(&project);
    assert!(
        shown.contains("Proposed by the agent; nobody has confirmed them.\n\n- [x] it says hello"),
        "{shown}"
    );
    let pulls = project.sandbox.warp_ok(&["pr", "list"]);
    let number = pulls.split_whitespace().next().unwrap().trim_start_matches('#').to_owned();
    let pull = project.sandbox.warp_ok(&["pr", "show", &number]);
    assert!(pull.contains(marked), "{pull}");
    let report = project.sandbox.warp_ok(&["issue", "list", "--state", "all", "--json"]);
    assert!(report.matches(marked).count() >= 2, "the report and the pull request: {report}");
    project.sandbox.warp_ok(&["pr", "close", &number]);
    let mut running = start(&project, "3", &[]);
    running.until("? Are these acceptance criteria right (nobody has confirmed them yet)?");
    running.until(" stop");
    project.sandbox.warp_ok(&["answer", &question(&project).0, "accept"]);
    running.end().ends(0);
    assert!(issue(&project).contains("Proposed by the agent, confirmed by Test."), "{}", issue(&project));
}

#[test]
fn a_plan_without_criteria_is_asked_for_again_and_then_a_person_is_asked() {
    let script = PROPOSES.replace(", criteria = [\"it says hello\", \"- [ ] it names the world\"]", "");
    let project = project(&script);
    let ended = run(&project, "3", &NOBODY);
    assert!(ended.said.contains("answer.criteria: is missing"), "{}", ended.said);
    assert_eq!(project.sandbox.git(&["log", "-1", "--format=%s", "main"]), "chore: tests", "{}", ended.said);
}

#[test]
fn an_issue_without_criteria_is_told_when_it_is_filed_listed_and_shown() {
    let project = Project::new("");
    let filed = project.sandbox.warp(&["issue", "new", "--title", "Greet", "--body", "Please."]).ends(0);
    insta::assert_snapshot!(project.sandbox.stable(&filed.err), @"note: #2 has no `- [ ]` criteria: `warp run 2` has the agent propose some and asks you about them; `warp issue edit 2 --body-file FILE` adds your own");
    assert!(project.sandbox.warp_ok(&["issue", "list"]).contains("no criteria"));
    assert!(project.sandbox.warp_ok(&["issue", "show", "2"]).contains("#2 has no `- [ ]` criteria"));
    let filed = project.sandbox.warp(&["issue", "new", "--title", "Greet", "--body", "* [ ] politely"]);
    insta::assert_snapshot!(project.sandbox.stable(&filed.err), @"note: `warp issue approve 3` lets it be worked on");
}
