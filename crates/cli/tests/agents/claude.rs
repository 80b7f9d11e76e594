//! The real Claude Code against a scripted model, behind walls.

use std::{env, fs, path::PathBuf};

use adapters::agent::{AgentUpdate, NoAnswer, Notice, claude};
use serde_json::json;
use testkit::{
    agents::Claude,
    model::{Model, Script, Turn},
};

use super::hermetic::{again_with, drive, project};

const PROGRAM: &str = "WARP_TEST_CLAUDE";
/// An address that nobody listens at.
const NOBODY: &str = "http://127.0.0.1:9";
const LOGIN: &str = "{\"numStartups\":3}";

fn structured(summary: &str) -> Turn {
    Turn::call("StructuredOutput", json!({ "summary": summary }))
}

#[test]
fn a_turn_is_held_by_the_gate_answered_by_schema_and_resumed() {
    let outside = || {
        Claude::or_skip()?;
        let sandbox = project();
        fs::create_dir(sandbox.home().join(".claude")).unwrap();
        fs::write(sandbox.home().join(".claude.json"), LOGIN).unwrap();
        let file = sandbox.root().canonicalize().unwrap().join("parser.rs");
        let model = Model::start(Script::list([
            Turn::bash("git commit --allow-empty -m 'feat: too early'"),
            Turn::call("Write", json!({ "file_path": file, "content": "fn parse() {}\n" })),
            Turn::bash(
                "cat $HOME/state/warp/projects/*/journal.db; touch $HOME/outside; echo \"phase $WARP_PHASE\" >> parser.rs",
            ),
            structured("first"),
            Turn::say("That is all."),
            structured("second"),
        ]));
        // Wherever the person's own client would go, the turn goes where it is led.
        let elsewhere = json!({ "env": { "ANTHROPIC_BASE_URL": NOBODY } });
        fs::write(sandbox.home().join(".claude/settings.json"), elsewhere.to_string()).unwrap();
        let mut command = again_with(&sandbox, &model);
        command.env(PROGRAM, env::var_os(PROGRAM).unwrap());
        command.env("ANTHROPIC_BASE_URL", NOBODY).env("ANTHROPIC_API_KEY", "dummy");
        Some(((sandbox, model), command))
    };
    drive("claude::a_turn_is_held_by_the_gate_answered_by_schema_and_resumed", outside, |driver| {
        let agent = claude::Claude { program: PathBuf::from(env::var_os(PROGRAM).unwrap()) };
        let (ended, said) = driver.ask(&agent, "Write a parser.", None);
        assert_eq!(ended.answer.unwrap(), json!({ "summary": "first" }), "{said:#?} {}", ended.last_words);
        let session = ended.session.unwrap();
        assert!(said.contains(&AgentUpdate::Session(session.clone())));
        let denied = |said: &AgentUpdate| matches!(said, AgentUpdate::Notice(Notice::Refused { tool, why }) if tool == "Bash" && why.contains("git_commit is only allowed"));
        assert!(said.iter().any(denied), "{said:#?}");
        assert!(ended.usage.input > 0 && ended.cost_usd.is_some(), "{:?}", ended.usage);
        let written = fs::read_to_string(driver.root.join("parser.rs")).unwrap();
        if driver.walls.is_some() {
            assert_eq!(written, "fn parse() {}\nphase coding\n");
            assert!(
                !driver.root.with_file_name("outside").exists(),
                "what lies outside of the tree stays as it is"
            );
        }
        let own = driver.root.parent().unwrap().join(".claude.json");
        if driver.walls.is_some() {
            assert_eq!(fs::read_to_string(own).unwrap(), LOGIN, "an agent's client rewrites its copy only");
        }
        let (ended, said) = driver.ask(&agent, "Say it again.", Some(&session));
        assert_eq!(ended.answer.unwrap(), json!({ "summary": "second" }), "{said:#?}");
        let (ended, _) = driver.ask(&agent, "Continue.", Some("00000000-0000-4000-8000-000000000000"));
        assert!(matches!(ended.answer, Err(NoAnswer::NoConversation)), "{ended:?}");
    });
}
