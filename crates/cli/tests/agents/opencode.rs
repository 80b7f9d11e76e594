//! The real OpenCode against a scripted model, behind walls.

use std::{env, fs, path::PathBuf};

use adapters::agent::{AgentUpdate, NoAnswer, Notice, opencode};
use serde_json::{Value, json};
use testkit::{
    agents::skip,
    model::{Model, Script, Turn},
};

use super::hermetic::{again_with, drive, project};

const PROGRAM: &str = "WARP_TEST_OPENCODE";

fn shell(command: &str) -> Turn {
    Turn::call("bash", json!({ "command": command, "description": "a step" }))
}

fn answer(summary: &str) -> Turn {
    let answer: Value = json!({ "summary": summary });
    Turn::say(format!("That is all.\n\n```json\n{answer}\n```"))
}

#[test]
fn a_turn_is_held_by_the_gate_answered_in_words_and_resumed() {
    let outside = || {
        let Some(program) = env::var_os(PROGRAM) else {
            skip(&format!("{PROGRAM} is not set"));
            return None;
        };
        let sandbox = project();
        let file = sandbox.root().canonicalize().unwrap().join("parser.rs");
        let model = Model::start(Script::list([
            shell("git commit --allow-empty -m 'feat: too early'"),
            Turn::call("write", json!({ "filePath": file, "content": "fn parse() {}\n" })),
            shell(
                "cat $HOME/state/warp/projects/*/journal.db; touch $HOME/outside; echo \"phase $WARP_PHASE\" >> parser.rs",
            ),
            answer("first"),
            answer("second"),
        ]));
        let mut command = again_with(&sandbox, &model);
        command.env(PROGRAM, program).env("ANTHROPIC_API_KEY", "dummy");
        Some(((sandbox, model), command))
    };
    drive("opencode::a_turn_is_held_by_the_gate_answered_in_words_and_resumed", outside, |driver| {
        let agent = opencode::OpenCode { program: PathBuf::from(env::var_os(PROGRAM).unwrap()) };
        let (ended, said) = driver.ask(&agent, "Write a parser.", None);
        let found = ended.answer.unwrap_or_else(|why| panic!("{why}: {said:#?} {}", ended.last_words));
        assert_eq!(found, json!({ "summary": "first" }));
        let session = ended.session.unwrap();
        assert!(said.contains(&AgentUpdate::Session(session.clone())));
        let denied = |said: &AgentUpdate| matches!(said, AgentUpdate::Notice(Notice::Refused { tool, why }) if tool == "bash" && why.contains("git_commit is only allowed"));
        assert!(said.iter().any(denied), "{said:#?}");
        let refused = driver.refusals();
        assert!(refused[0].starts_with("refused: Bash: git_commit is only allowed"), "{refused:?}");
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
        assert_eq!(ended.session, Some(session));
        let (ended, _) = driver.ask(&agent, "Continue.", Some("ses_00000000000000000000000000"));
        assert!(matches!(ended.answer, Err(NoAnswer::NoConversation)), "{ended:?}");
    });
}
