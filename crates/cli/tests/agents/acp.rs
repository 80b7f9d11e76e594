//! A real agent of the Agent Client Protocol against a scripted model, behind walls.

use std::{env, fs};

use adapters::agent::{AgentUpdate, NoAnswer, Notice, acp};
use serde_json::{Value, json};
use testkit::{
    agents::skip,
    model::{Model, Script, Turn},
};

use super::hermetic::{again_with, drive, project};

/// The variables that name the agent, and the client that it works with.
pub(crate) const PROGRAM: &str = "WARP_TEST_ACP";
const CLIENT: &str = "WARP_TEST_CLAUDE";

fn answer(summary: &str) -> Turn {
    let answer: Value = json!({ "summary": summary });
    Turn::say(format!("That is all.\n\n```json\n{answer}\n```"))
}

#[test]
fn a_turn_is_held_by_the_gate_answered_in_words_and_resumed() {
    let outside = || {
        let (Some(program), Some(client)) = (env::var_os(PROGRAM), env::var_os(CLIENT)) else {
            skip(&format!("{PROGRAM} or {CLIENT} is not set"));
            return None;
        };
        let sandbox = project();
        let file = sandbox.root().canonicalize().unwrap().join("parser.rs");
        let model = Model::start(Script::list([
            Turn::bash("git commit --allow-empty -m 'feat: too early'"),
            Turn::call("Write", json!({ "file_path": file, "content": "fn parse() {}\n" })),
            Turn::bash("touch $HOME/outside; echo \"phase $WARP_PHASE\" >> parser.rs"),
            answer("first"),
            answer("second"),
        ]));
        let mut command = again_with(&sandbox, &model);
        command.env(PROGRAM, program).env("CLAUDE_CODE_EXECUTABLE", client);
        command.env("ANTHROPIC_API_KEY", "dummy");
        Some(((sandbox, model), command))
    };
    drive("acp::a_turn_is_held_by_the_gate_answered_in_words_and_resumed", outside, |driver| {
        let agent = acp::Acp { line: format!("node '{}'", env::var(PROGRAM).unwrap()) };
        let (ended, said) = driver.ask(&agent, "Write a parser.", None);
        let found = ended.answer.unwrap_or_else(|why| panic!("{why}: {said:#?} {}", ended.last_words));
        assert_eq!(found, json!({ "summary": "first" }), "{said:#?}");
        let session = ended.session.unwrap();
        assert!(said.contains(&AgentUpdate::Session(session.clone())));
        let denied = |said: &AgentUpdate| matches!(said, AgentUpdate::Notice(Notice::Refused { tool, why }) if tool == "Bash" && why.contains("git_commit is only allowed"));
        assert!(said.iter().any(denied), "{said:#?}");
        assert!(ended.usage.input > 0, "{:?}", ended.usage);
        if driver.walls.is_some() {
            let written = fs::read_to_string(driver.root.join("parser.rs")).unwrap();
            assert_eq!(written, "fn parse() {}\nphase coding\n");
            assert!(
                !driver.root.with_file_name("outside").exists(),
                "what lies outside of the tree stays as it is"
            );
        }
        let (ended, said) = driver.ask(&agent, "Say it again.", Some(&session));
        assert_eq!(ended.answer.unwrap(), json!({ "summary": "second" }), "{said:#?}");
        let (ended, _) = driver.ask(&agent, "Continue.", Some("00000000-0000-4000-8000-000000000000"));
        assert!(matches!(ended.answer, Err(NoAnswer::NoConversation)), "{ended:?}");
    });
}
