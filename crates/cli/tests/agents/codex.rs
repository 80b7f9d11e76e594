//! The real Codex against a scripted model, behind walls.

use std::{env, fs, path::PathBuf};

use adapters::agent::{AgentUpdate, NoAnswer, codex};
use serde_json::json;
use testkit::{
    agents::Codex,
    model::{Model, Script, Turn},
};

use super::hermetic::{again_with, drive, project};

const PROGRAM: &str = "WARP_TEST_CODEX";

fn answer(summary: &str) -> Turn {
    Turn::say(json!({ "summary": summary }).to_string())
}

#[test]
fn a_turn_is_held_by_the_gate_answered_by_schema_and_resumed() {
    let outside = || {
        Codex::or_skip()?;
        let sandbox = project();
        // To a model of its catalogue the client offers the tools that the script uses.
        fs::create_dir(sandbox.home().join(".codex")).unwrap();
        fs::write(sandbox.home().join(".codex/config.toml"), "model = 'gpt-5.5'\n").unwrap();
        fs::create_dir(sandbox.root().join(".codex")).unwrap();
        let trap = json!({ "hooks": { "PreToolUse": [{ "hooks": [{ "type": "command", "command": "touch trapped" }] }] } });
        fs::write(sandbox.root().join(".codex/hooks.json"), trap.to_string()).unwrap();
        let patch = "*** Begin Patch\n*** Add File: parser.rs\n+fn parse() {}\n*** End Patch\n";
        let model = Model::start(Script::list([
            Turn::exec_command("git commit --allow-empty -m 'feat: too early'"),
            Turn::call("apply_patch", json!(patch)),
            Turn::exec_command(
                "cat $HOME/state/warp/projects/*/journal.db; touch $HOME/outside; echo \"phase $WARP_PHASE\" >> parser.rs",
            ),
            answer("first"),
            answer("second"),
        ]));
        let mut command = again_with(&sandbox, &model);
        command.env(PROGRAM, env::var_os(PROGRAM).unwrap()).env("OPENAI_API_KEY", "dummy");
        Some(((sandbox, model), command))
    };
    drive("codex::a_turn_is_held_by_the_gate_answered_by_schema_and_resumed", outside, |driver| {
        let agent = codex::Codex { program: PathBuf::from(env::var_os(PROGRAM).unwrap()) };
        let (ended, said) = driver.ask(&agent, "Write a parser.", None);
        let found = ended.answer.unwrap_or_else(|why| panic!("{why}: {said:#?}"));
        assert_eq!(found, json!({ "summary": "first" }));
        let session = ended.session.unwrap();
        assert!(said.contains(&AgentUpdate::Session(session.clone())));
        let patched =
            |said: &AgentUpdate| matches!(said, AgentUpdate::Tool { name, .. } if name == "apply_patch");
        assert!(said.iter().any(patched), "{said:#?}");
        let refused = |said: &AgentUpdate| matches!(said, AgentUpdate::Tool { about, .. } if about.contains("too early"));
        assert!(!said.iter().any(refused), "{said:#?}");
        // The client does not tell that it was refused.
        let refused = driver.refusals();
        assert!(refused[0].starts_with("refused: Bash: git_commit is only allowed"), "{refused:?}");
        let first = ended.usage;
        assert!(first.input > 0, "{first:?}");
        if driver.walls.is_some() {
            let written = fs::read_to_string(driver.root.join("parser.rs")).unwrap();
            assert_eq!(written, "fn parse() {}\nphase coding\n");
            assert!(
                !driver.root.with_file_name("outside").exists(),
                "what lies outside of the tree stays as it is"
            );
        }
        assert!(!driver.root.join("trapped").exists(), "hooks of the tree are not run");
        let (ended, said) = driver.ask(&agent, "Say it again.", Some(&session));
        assert_eq!(ended.answer.unwrap(), json!({ "summary": "second" }), "{said:#?}");
        assert!(ended.usage.input < first.input, "only its own: {:?} after {first:?}", ended.usage);
        let (ended, _) = driver.ask(&agent, "Continue.", Some("00000000-0000-7000-8000-000000000000"));
        assert!(matches!(ended.answer, Err(NoAnswer::NoConversation)), "{ended:?}");
    });
}
