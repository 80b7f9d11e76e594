//! Answers in a wrong form: read as what they mean, or asked for again with all that is wrong, and merged without a person.

use super::support::{Ended, Project};

const GOOD: &str = r#"{"summary":"It greets.","evidence":[{"ac":"AC-01","file":"greeting.txt","line":1},{"ac":"AC-02","file":"greeting.txt","line":2}]}"#;

/// Answers that a model gives at first, by what is wrong with them.
const BAD: [(&str, &str); 10] = [
    ("no JSON", "It is done: greeting.txt says hello."),
    (
        "prose around JSON",
        r#"Here you are: {"summary":"It greets.","evidence":[{"ac":"AC-01","file":"greeting.txt","line":1},{"ac":"AC-02","file":"greeting.txt","line":2}]} I hope that it fits."#,
    ),
    (
        "an object after the answer",
        r#"{"summary":"It greets.","evidence":[{"ac":"AC-01","file":"greeting.txt","line":1},{"ac":"AC-02","file":"greeting.txt","line":2}]} The settings are {"tabs":true}."#,
    ),
    (
        "evidence off by a line",
        r#"{"summary":"It greets.","evidence":[{"ac":"AC-01","file":"greeting.txt","line":2},{"ac":"AC-02","file":"greeting.txt","line":3}]}"#,
    ),
    (
        "two faults at once",
        r#"{"summary":"It greets.","evidence":[{"ac":"AC-01","file":"test.sh","line":1}]}"#,
    ),
    (
        "another word for the type and an overlong subject",
        r#"{"summary":"It greets.","evidence":[{"ac":"AC-01","file":"greeting.txt","line":1},{"ac":"AC-02","file":"greeting.txt","line":2}],"commit":{"type":"feature","subject":"greet everybody in the world by a file with two lines, of which the first one says hello"}}"#,
    ),
    (
        "notes that are texts, and null",
        r#"{"summary":"It greets.","evidence":[{"ac":"AC-01","file":"greeting.txt","line":1,"test":null},{"ac":"AC-02","file":"greeting.txt","line":2}],"lessons":["two lines are enough"],"risks":null,"decisions":"none"}"#,
    ),
    (
        "lines as texts",
        r#"{"summary":"It greets.","evidence":[{"ac":"AC-01","file":"greeting.txt","line":"1"},{"ac":"AC-02","file":"./greeting.txt:2"}]}"#,
    ),
    ("evidence without proof", r#"{"summary":"It greets.","evidence":[{"ac":"AC-01"},{"ac":"AC-02"}]}"#),
    ("fields of another phase", r#"{"event":"code_complete","data":{"summary":"It greets."}}"#),
];

/// Makes an agent that does the work and answers like this, and well when it is told what was wrong; it keeps what it was told.
fn agent(bad: &str) -> String {
    format!(
        "command:cat > told.txt; printf 'hello\\nworld\\n' > greeting.txt\n\
         if test -e tried; then rm tried; cat <<'END'\n{GOOD}\nEND\n\
         else touch tried; cat <<'END'\n{bad}\nEND\nfi"
    )
}

fn run(bad: &str) -> (Project, Ended) {
    let project = Project::new("");
    let ended = project.run(&["--agent", &agent(bad)]);
    (project, ended)
}

#[test]
fn answers_in_ten_wrong_forms_are_merged_without_a_person() {
    let mut failed = Vec::new();
    for (kind, bad) in BAD {
        let (project, ended) = run(bad);
        let is_merged = ended.code == Some(0)
            && project.sandbox.git(&["show", "main:greeting.txt"]) == "hello\nworld"
            && project.count("question_asked") == 0;
        if !is_merged {
            failed.push(format!("{kind}: {}", ended.said));
        }
    }
    assert!(failed.len() <= 1, "{}", failed.join("\n\n"));
}

#[test]
fn a_refused_answer_comes_back_with_every_fault_the_changed_lines_and_itself() {
    let (project, ended) = run(BAD[4].1);
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    let told = project.sandbox.git(&["show", "main:told.txt"]);
    let refused = told.split("## Your last answer was refused").nth(1).unwrap_or_else(|| panic!("{told}"));
    for words in [
        "AC-01: `test.sh:1` is no line that was changed",
        "evidence is wanted for AC-02",
        "- greeting.txt: 1-2",
        BAD[4].1,
        "Send the answer again, whole",
        "This is try 2 of 3.",
    ] {
        assert!(refused.contains(words), "{words}: {refused}");
    }
    assert_eq!(project.count("tests_failed"), 0, "it is not charged as an attempt");
}

#[test]
fn slips_in_optional_fields_cost_no_turn_and_are_said() {
    let (project, ended) = run(BAD[5].1);
    assert_eq!((ended.code, project.count("turn_started")), (Some(0), 1), "{}", ended.said);
    assert!(
        ended.said.contains("the answer: `commit.type` \"feature\" was read as `feat`"),
        "{}",
        ended.said
    );
    assert!(ended.said.contains("`commit.subject` was cut to 80 characters"), "{}", ended.said);
}
