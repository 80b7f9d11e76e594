//! What is printed where nobody sits at a terminal: plain lines, or one JSON object each.

use serde_json::Value;

use super::support::{GOOD, Project};
use crate::support::Ends as _;

#[test]
fn without_a_terminal_there_are_plain_lines() {
    let project = Project::new(GOOD);
    let ended = project.run(&[]).ends(0);
    assert!(!ended.said.contains(['\u{1b}', '\r', '\u{7}']), "{:?}", ended.said);
    for line in ["coding 1/1               chunks_defined", "> Write: greeting.txt", "done"] {
        assert!(ended.said.contains(line), "{}", ended.said);
    }
}

#[test]
fn as_json_every_line_is_an_object() {
    let project = Project::new(&format!(
        "[[turn]]\nphase = \"coding\"\nresumed = false\nsteps = [{{ print = \"{{{{\" }}, {{ exit = 1 }}]\n{GOOD}"
    ));
    let output = project.command(&["--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds = |kind: &str| lines.iter().filter(|line| line["type"] == kind).count();
    assert!(kinds("event") > 10 && kinds("agent") > 2 && kinds("did") > 5 && kinds("warned") == 1, "{text}");
    assert!(lines.iter().all(|line| line["type"].is_string()), "{text}");
    let merged = lines.iter().find(|line| line["event"] == "merged").unwrap();
    assert_eq!((merged["issue"].as_str(), merged["phase"].as_str()), (Some("1"), Some("awaiting_continue")));
}
