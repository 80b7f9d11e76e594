//! A script, played in this process.

use std::{fs, sync::Mutex, time::Duration};

use serde_json::json;

use super::*;
use crate::agent::{Extras, Notice};
use crate::process::Limits;

const LIMITS: Limits = Limits { whole: Duration::from_secs(60), silence: Duration::from_secs(30) };

fn facts(phase: &str, chunk: &str, cycle: &str) -> Vec<(String, String)> {
    let facts = [("WARP_PHASE", phase), ("WARP_ISSUE", "42"), ("WARP_CHUNK", chunk), ("WARP_CYCLE", cycle)];
    facts.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// Plays a turn of a script; nothing whose input contains `no` passes the gate.
fn play(
    text: &str,
    facts: &[(String, String)],
    resume: Option<&str>,
) -> (TurnResult, Vec<AgentUpdate>, tempfile::TempDir) {
    let tree = tempfile::tempdir().unwrap();
    let asked = Mutex::new(0);
    let hook = move |event: &str, input: &Value| {
        *asked.lock().unwrap() += 1;
        let denied = event == "pre-tool-use" && input["tool_input"].to_string().contains("no");
        Reply { denied: denied.then(|| "not now".to_owned()), told: None }
    };
    let player = Player::new(Script::parse(text).unwrap(), Box::new(hook));
    let schema = json!({ "type": "object", "required": ["summary"] });
    let turn = Turn {
        tree: tree.path(),
        prompt: "Do it.",
        schema: &schema,
        resume,
        session: None,
        effort: None,
        model: None,
        route: None,
        mcp: None,
        extras: Extras::default(),
        facts,
        walls: None,
        limits: LIMITS,
        hooks: None,
        allowed: &[],
        mark: "test",
    };
    let mut said = Vec::new();
    let ended = player.run(&turn, &mut |heard| {
        said.push(heard);
        Control::On
    });
    (ended, said, tree)
}

#[test]
fn steps_are_done_in_order_and_what_is_denied_is_left_out() {
    let script = r#"
        [[turn]]
        phase = "coding"
        steps = [
            { write = "src/a.txt", text = "one\n" },
            { append = "src/a.txt", text = "two\n" },
            { edit = "src/a.txt", from = "one", to = "1" },
            { run = "cp src/a.txt b.txt; echo $WARP_CHUNK >> b.txt" },
            { run = "echo no > c.txt" },
            { run = "false" },
            { write = "d.txt", text = "" },
            { remove = "d.txt" },
            { say = "done" },
        ]
        answer = { summary = "all", evidence = [{ ac = "AC-01", file = "src/a.txt", line = 1 }] }
        usage = { input = 7 }
    "#;
    let (ended, said, tree) = play(script, &facts("coding", "2", "0"), None);
    let answer = ended.answer.unwrap();
    assert_eq!(answer["evidence"][0]["line"], 1);
    assert_eq!((ended.session.as_deref(), ended.usage.input), (Some("script-coding-2-0"), 7));
    assert_eq!(fs::read_to_string(tree.path().join("b.txt")).unwrap(), "1\ntwo\n2\n");
    assert!(!tree.path().join("c.txt").exists() && !tree.path().join("d.txt").exists());
    assert!(said.contains(&AgentUpdate::Notice(Notice::refused("Bash", "not now"))), "{said:?}");
    assert!(said.contains(&AgentUpdate::Text("Bash failed: exit 1: ".to_owned())), "{said:?}");
}

#[test]
fn the_first_turn_that_fits_is_played_and_none_is_an_error_that_says_what_was_looked_for() {
    let script = r#"
        [[turn]]
        phase = "coding"
        chunk = 1
        cycle = 1
        answer = { summary = "second try" }
        [[turn]]
        phase = "coding"
        issue = 42
        resumed = true
        answer = { summary = "asked again" }
        [[turn]]
        phase = "coding"
        issue = "43"
        answer = { summary = "of another" }
        [[turn]]
        phase = "coding"
        chunk = 1
        answer = { words = "no summary" }
    "#;
    let summary = |facts: &[(String, String)], resume| {
        let (ended, ..) = play(script, facts, resume);
        ended.answer.map_or_else(|why| why.to_string(), |answer| answer["summary"].to_string())
    };
    assert_eq!(summary(&facts("coding", "1", "1"), None), "\"second try\"");
    assert_eq!(summary(&facts("coding", "2", "0"), Some("s")), "\"asked again\"");
    assert_eq!(summary(&facts("coding", "1", "0"), None), "null", "whether it fits is for the caller to see");
    assert_eq!(
        summary(&facts("planning", "0", "0"), None),
        "it failed (exit 1): the script has no turn for phase `planning`, issue `42`, chunk 0, cycle 0"
    );
}

#[test]
fn a_script_that_was_good_is_looked_at_again_once_it_has_changed() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("script.toml");
    for text in ["[[turn]]\nphase = \"coding\"\n", ""] {
        fs::write(&file, text).unwrap();
        Script::check(&file).unwrap();
        Script::check(&file).unwrap();
    }
    fs::write(&file, "[[turn]]\nphrase = \"coding\"\n").unwrap();
    for _ in 0..2 {
        assert!(matches!(Script::check(&file), Err(ScriptError::Parse { .. })));
    }
    fs::remove_file(&file).unwrap();
    assert!(matches!(Script::check(&file), Err(ScriptError::Read { .. })));
}

#[test]
fn faults_are_what_they_are_called() {
    let fault = |steps: &str| {
        let script = format!("[[turn]]\nphase = \"x\"\nsteps = [{steps}]\n");
        play(&script, &facts("x", "0", "0"), None).0.answer.unwrap_err().to_string()
    };
    assert_eq!(fault("{ exit = 3 }"), "it failed (exit 3)");
    assert_eq!(fault("{ hang = true }"), "it was stopped because it had said nothing for 30 s");
    assert_eq!(fault("{ kill = \"self\" }"), "it failed (signal 9)");
    assert_eq!(fault("{ print = \"}{ garbage\" }"), "it answered with no JSON object");
    assert_eq!(fault("{ flood_mb = 1000 }, { wait_ms = 3600000 }"), "it answered with no JSON object");
}

#[test]
fn a_step_that_makes_no_sense_is_refused_where_it_stands() {
    let refused = |step: &str| {
        let text = format!("[[turn]]\nphase = \"x\"\nsteps = [{step}]\n");
        Script::parse(&text).unwrap_err().to_string()
    };
    assert!(refused("{ write = \"a\" }").contains("`text` is missing"));
    assert!(refused("{ run = \"ls\", say = \"x\" }").contains("this one does 2"));
    assert!(refused("{ rum = \"ls\" }").contains("unknown field `rum`"));
    assert!(refused("{ kill = \"init\" }").contains("can only be \"self\""));
}
