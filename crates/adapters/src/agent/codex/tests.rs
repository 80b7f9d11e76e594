//! What the client prints, from samples of it, and what it is told.

use super::*;
use crate::agent::{Extras, Notice};
use crate::{agent::Hooks, process::Limits};

const STREAM: &str = include_str!("samples/exec-events.jsonl");
const ENDS: &str = include_str!("samples/errors.json");

fn followed(end: End) -> ProgramResult {
    ProgramResult { end, stdout: Vec::new(), stderr: Vec::new(), cut: false, left_behind: 0 }
}

#[test]
fn a_whole_turn_is_heard_as_the_client_tells_it() {
    let mut heard = Transcript::default();
    let said: Vec<AgentUpdate> = STREAM.lines().filter_map(|line| heard.line(line)).collect();
    let tool = |name: &str, about: &str| AgentUpdate::Tool { name: name.to_owned(), about: about.to_owned() };
    let expected = [
        AgentUpdate::Session("01a1e1b5-5b11-71b1-9e91-dcb963da8909".to_owned()),
        tool("Bash", "echo one > one.txt; echo hi-from-tool"),
        tool("apply_patch", "/home/ann/demo/two.txt"),
        tool("Bash", "git add -A && git commit -q -m work && git log --oneline"),
        AgentUpdate::Text("all done".to_owned()),
    ];
    assert_eq!(said, expected);
    let whole = heard.usage.unwrap();
    assert_eq!(whole, Usage { input: 38911, output: 80, cache_read: 0, cache_write: 0 });
    let before = Usage { input: 38000, output: 100, ..Usage::default() };
    assert_eq!(share(whole, before), Usage { input: 911, ..Usage::default() });
    let ended = ended(heard, whole, None, &followed(End::Exit(0)), &json!({}));
    assert!(matches!(ended.answer, Err(NoAnswer::NotJson)), "{ended:?}");
    assert_eq!(ended.last_words, "all done");
}

#[test]
fn every_way_of_ending_is_told_apart() {
    let cases: Vec<Value> = serde_json::from_str(ENDS).unwrap();
    let shown: Vec<String> = cases
        .iter()
        .map(|case| {
            let mut heard = Transcript::default();
            for line in case["lines"].as_array().unwrap() {
                heard.line(&line.to_string());
            }
            let why =
                ended(heard, Usage::default(), None, &followed(End::Exit(1)), &json!({})).answer.unwrap_err();
            format!("{}: {why}", case["case"].as_str().unwrap())
        })
        .collect();
    let expected = [
        "401: its provider denies access: unexpected status 401 Unauthorized: bad key, url: http://127.0.0.1:PORT/v1/responses",
        "429: its provider refuses more for now: exceeded retry limit, last status: 429 Too Many Requests",
        "quota: its provider denies access: Quota exceeded. Check your plan and billing details.",
        "500: its provider fails: We’re currently experiencing high demand, which may cause temporary errors.",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn retries_are_shown_and_a_lost_conversation_is_told_from_a_failure() {
    let mut heard = Transcript::default();
    let line = r#"{"type":"error","message":"Reconnecting... 1/4 (stream disconnected)"}"#;
    let shown = AgentUpdate::Notice(Notice::retry("stream disconnected", 1, Some(4)));
    assert_eq!(heard.line(line), Some(shown));
    let bare = r#"{"type":"error","message":"Reconnecting..."}"#;
    assert_eq!(heard.line(bare), Some(AgentUpdate::Notice(Notice::retry("Reconnecting...", 1, None))));
    let mut lost = followed(End::Exit(1));
    lost.stderr =
        b"Error: thread/resume: thread/resume failed: no rollout found for thread id 01a1 (code -32600)\n"
            .to_vec();
    let ended = ended(heard, Usage::default(), None, &lost, &json!({}));
    assert!(matches!(ended.answer, Err(NoAnswer::NoConversation)), "{ended:?}");
}

#[test]
fn an_answer_is_the_last_message_without_what_was_left_out() {
    let mut heard = Transcript::default();
    let text = json!({ "summary": "done", "note": null }).to_string();
    let message = json!({ "type": "item.completed", "item": { "type": "agent_message", "text": text } });
    heard.line(&message.to_string());
    heard.line(r#"{"type":"turn.completed","usage":{}}"#);
    let schema = json!({ "type": "object", "required": ["summary"], "properties": {
        "summary": { "type": "string" }, "note": { "type": "string" },
    } });
    let ended = ended(heard, Usage::default(), None, &followed(End::Exit(0)), &schema);
    assert_eq!(ended.answer.unwrap(), json!({ "summary": "done" }));
}

#[test]
fn everything_that_a_turn_needs_is_said_on_the_command_line() {
    let hooks = Hooks { program: "/opt/it's/warp".into(), socket: "/s".into(), token: "t".to_owned() };
    let route = Route {
        anthropic: "http://127.0.0.1:1/t/anthropic".to_owned(),
        openai: "http://127.0.0.1:1/t/openai/v1".to_owned(),
    };
    let mcp = Mcp {
        program: "/bin/warp".into(),
        arguments: vec!["mcp".to_owned()],
        environment: vec![("A".to_owned(), "b \"c\"".to_owned())],
    };
    let turn = Turn {
        tree: "/a tree".as_ref(),
        prompt: "",
        schema: &json!({}),
        resume: Some("abc"),
        session: None,
        effort: Some("standard"),
        model: Some("gpt-5.5"),
        route: Some(&route),
        mcp: Some(&mcp),
        extras: Extras::default(),
        facts: &[],
        walls: None,
        limits: Limits { whole: Duration::from_secs(1), silence: Duration::from_secs(1) },
        hooks: Some(&hooks),
        allowed: &[],
        mark: "",
    };
    let words: Vec<String> = arguments(&turn, Some(Path::new("/s.json")), Login::Variable("OPENAI_API_KEY"))
        .iter()
        .map(|word| word.to_str().unwrap().to_owned())
        .collect();
    let after = |name: &str| &words[words.iter().position(|word| word == name).unwrap() + 1];
    assert_eq!(
        (after("--sandbox").as_str(), after("--output-schema").as_str()),
        ("workspace-write", "/s.json")
    );
    assert_eq!(words[words.len() - 3..], ["resume", "abc", "-"]);
    // What is set is read as the client does: as TOML.
    let set: toml::Table = words
        .windows(2)
        .filter(|pair| {
            pair[0] == "-c" && !pair[1].starts_with("features") && !pair[1].starts_with("analytics")
        })
        .map(|pair| format!("{}\n", pair[1]))
        .collect::<String>()
        .parse()
        .unwrap();
    assert_eq!(set["projects"]["/a tree"]["trust_level"].as_str(), Some("untrusted"));
    assert_eq!(set["model_reasoning_effort"].as_str(), Some("medium"));
    assert_eq!(set["model_providers"]["warp"]["base_url"].as_str(), Some(route.openai.as_str()));
    assert_eq!(set["model_providers"]["warp"]["env_key"].as_str(), Some("OPENAI_API_KEY"));
    assert_eq!(set["mcp_servers"]["warp"]["env"]["A"].as_str(), Some("b \"c\""));
    let command = set["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str();
    assert_eq!(command, Some(r"'/opt/it'\''s/warp' hook pre-tool-use"));
    let has = |turn: &Turn<'_>, setting: &str| {
        arguments(turn, None, Login::Elsewhere).iter().any(|word| word.to_str() == Some(setting))
    };
    let skills = "skills.include_instructions=false";
    assert!(has(&turn, skills) && has(&turn, "features.multi_agent=false"));
    let tools = ["skills".to_owned()];
    let wider = Turn { extras: Extras { tools: &tools, servers: false }, ..turn };
    assert!(!has(&wider, skills) && has(&wider, "features.multi_agent=false"));
    let tools = [Extras::ALL.to_owned()];
    let whole = Turn { extras: Extras { tools: &tools, servers: false }, ..turn };
    assert!(!has(&whole, skills) && !has(&whole, "features.multi_agent=false"));
    let elsewhere = arguments(&turn, None, Login::Elsewhere);
    assert!(!elsewhere.iter().any(|word| word.to_string_lossy().contains("model_provider")), "{elsewhere:?}");
}
