//! What real clients have sent is accepted, whatever they add to it.

use std::{fs, path::Path};

use super::support::{call_raw, standing_in};

/// Turns `PreToolUse` into `pre-tool-use`.
fn kebab(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

#[test]
fn every_sample_is_accepted_and_only_the_commit_and_an_unknown_tool_are_denied() {
    let sandbox = standing_in("coding");
    let mut seen = 0;
    for client in ["claude", "codex"] {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hooks/samples").join(client);
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let text = fs::read_to_string(&path).unwrap();
            let text = text.replace("/home/ann/demo", sandbox.root().to_str().unwrap());
            let answered = call_raw(&sandbox, &kebab(name.split('.').next().unwrap()), text.as_bytes());
            let is_refused = text.contains("git commit") || name.contains("mcp__lab__");
            let is_refused = is_refused && name.starts_with("PreToolUse");
            assert_eq!(answered.code, Some(if is_refused { 2 } else { 0 }), "{name}: {answered:?}");
            answered.json();
            seen += 1;
        }
    }
    assert!(seen >= 30, "only {seen} samples");
}

#[test]
fn fields_and_events_that_nobody_knows_pass() {
    let sandbox = standing_in("coding");
    let input = format!(
        r#"{{"cwd":{:?},"tool_name":"Zap","tool_input":{{"deep":[[{{}}]]}},"x":1e9}}"#,
        sandbox.root()
    );
    call_raw(&sandbox, "pre-tool-use", input.as_bytes()).is_silent();
    let answered = call_raw(&sandbox, "model-switched", input.as_bytes());
    assert_eq!((answered.code, answered.out.as_str()), (Some(0), ""));
}
