//! A question that an agent asks by a tool, answered by the person in the chat.

use serde_json::json;
use testkit::Sandbox;

use super::{
    away::{coding, hook},
    client::Client,
};
use crate::support::InProject as _;

fn typed(sandbox: &Sandbox, prompt: &str) -> String {
    let said = hook(sandbox, "user-prompt-submit", json!({ "prompt": prompt }));
    said["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn an_open_decision_is_answered_in_the_chat_and_recorded_as_the_persons() {
    let sandbox = coding("10");
    let mut client = Client::start(&sandbox);
    let question = json!({ "question": "Which store?", "options": ["sqlite", "postgres"] });
    client.call("ask_question", question).is_taken(&["A person is asked: Which store?", "end your turn"]);
    let told = typed(&sandbox, "why would we need one?");
    insta::assert_snapshot!(sandbox.stable(&told), @"
    The run waits for a person's decision [RUN].5: Which store?
    Their words are none of the options, so nothing was recorded. They answer here with one of: sqlite, postgres, skip, abort
    ");
    let told = typed(&sandbox, "let's use sqlite, in memory");
    assert!(told.contains("has decided: sqlite (in memory)") && told.contains("phase `coding`"), "{told}");
    let log = sandbox.json(&["log", "--json"]);
    let answered = log.as_array().unwrap().iter().find(|record| record["event"] == "decision_answered");
    let (record, is) = (answered.unwrap(), |text: &str| json!(text));
    let data = &record["data"];
    assert_eq!((&record["actor"], &data["via"]), (&is("person"), &is("chat")));
    assert_eq!((&data["option"], &data["note"]), (&is("sqlite"), &is("in memory")));
    assert_eq!(typed(&sandbox, "use sqlite"), "", "nothing is open any more");
}
