//! The scripted agent as a process, held by the gate through the socket.

use std::fs;

use adapters::agent::{AgentUpdate, Notice, script::ScriptProcess};

use super::hermetic::{Driver, again, drive, project};

const SCRIPT: &str = r#"
[[turn]]
phase = "coding"
steps = [
    { write = "parser.rs", text = "fn parse() {}\n" },
    { run = "git commit -am 'feat: too early'" },
    { write = ".git/config", text = "[core]\n\tfsmonitor = /tmp/evil\n" },
    { run = "ls $HOME/state/warp/projects" },
    { edit = "parser.rs", from = "parse", to = "read" },
    { write = "parser.rs", text = "1" },
    { write = "parser.rs", text = "2" },
    { write = "parser.rs", text = "3" },
    { write = "parser.rs", text = "4" },
    { run = "true && git status --short > status.txt" },
]
answer = { summary = "done" }
usage = { input = 3, output = 4 }
"#;

fn denials(said: &[AgentUpdate]) -> Vec<&str> {
    let mut denied = Vec::new();
    for said in said {
        if let AgentUpdate::Notice(Notice::Refused { why, .. }) = said {
            denied.push(why.as_str());
        }
    }
    denied
}

#[test]
fn a_script_is_played_behind_walls_and_the_gate_holds_it() {
    let outside = || {
        let sandbox = project();
        fs::write(sandbox.home().join("script.toml"), SCRIPT).unwrap();
        let command = again(&sandbox);
        Some((sandbox, command))
    };
    drive("script::a_script_is_played_behind_walls_and_the_gate_holds_it", outside, |driver| {
        let file = driver.root.parent().unwrap().join("script.toml");
        let agent = ScriptProcess { file, warp: Driver::warp().to_owned() };
        let (ended, said) = driver.ask(&agent, "Write a parser.", None);
        assert_eq!(ended.answer.unwrap()["summary"], "done", "{said:?}");
        assert_eq!((ended.session.as_deref(), ended.usage.output), (Some("script-coding-1-0"), 4));
        let denied = denials(&said);
        assert_eq!(denied.len(), 2, "{said:?}");
        assert!(denied[0].contains("git_commit is only allowed during committing phase"), "{denied:?}");
        assert!(denied[1].contains("not for an agent to write"), "{denied:?}");
        let texts = format!("{said:?}");
        assert!(texts.contains("parser.rs` was edited 6 times"), "{texts}");
        assert_eq!(fs::read_to_string(driver.root.join("parser.rs")).unwrap(), "4");
        assert!(fs::read_to_string(driver.root.join("status.txt")).unwrap().contains("?? parser.rs"));
    });
}

#[test]
fn a_turn_that_the_script_does_not_have_is_named() {
    let outside = || {
        let sandbox = project();
        fs::write(sandbox.home().join("script.toml"), "[[turn]]\nphase = \"planning\"\n").unwrap();
        let command = again(&sandbox);
        Some((sandbox, command))
    };
    drive("script::a_turn_that_the_script_does_not_have_is_named", outside, |driver| {
        let file = driver.root.parent().unwrap().join("script.toml");
        let agent = ScriptProcess { file, warp: Driver::warp().to_owned() };
        let why = driver.ask(&agent, "", None).0.answer.unwrap_err().to_string();
        assert!(why.contains("no turn for phase `coding`, issue `42`, chunk 1, cycle 0"), "{why}");
    });
}
