//! What the client prints, from samples of it, and what it is told.

use super::*;
use crate::agent::{Extras, Notice};
use crate::{
    agent::{Hooks, Usage},
    process::Limits,
};

const STREAM: &str = include_str!("samples/run-events.jsonl");
const ERROR: &str = include_str!("samples/error.jsonl");

fn followed(end: End) -> ProgramResult {
    ProgramResult { end, stdout: Vec::new(), stderr: Vec::new(), cut: false, left_behind: 0 }
}

#[test]
fn a_whole_turn_is_heard_as_the_client_tells_it() {
    let mut heard = Transcript::default();
    let said: Vec<AgentUpdate> = STREAM.lines().flat_map(|line| heard.line(line)).collect();
    let usage = |input, output| AgentUpdate::Usage(Usage { input, output, ..Usage::default() });
    let tool = |name: &str, about: &str| AgentUpdate::Tool { name: name.to_owned(), about: about.to_owned() };
    let expected = [
        AgentUpdate::Session("ses_e1e49f58dffeBWb4AVp8CBAAoA".to_owned()),
        AgentUpdate::Text("writing".to_owned()),
        tool("write", "/home/ann/demo/hello.txt"),
        usage(7685, 20),
        tool("bash", "git add hello.txt && git commit -q -m work && git log --oneline"),
        usage(15450, 40),
        AgentUpdate::Text("all done".to_owned()),
        usage(23302, 60),
    ];
    assert_eq!(said, expected);
    let ended = ended(heard, &followed(End::Exit(0)), &json!({}));
    assert!(matches!(ended.answer, Err(NoAnswer::NotJson)), "{ended:?}");
    assert_eq!((ended.usage.input, ended.last_words.as_str()), (23302, "all done"));
}

#[test]
fn errors_limits_and_refused_tools_are_told_apart() {
    let why = |line: &str| {
        let mut heard = Transcript::default();
        heard.line(line);
        ended(heard, &followed(End::Exit(0)), &json!({})).answer.unwrap_err().to_string()
    };
    assert_eq!(why(ERROR), "its provider denies access: bad key");
    assert_eq!(why(&ERROR.replace("401", "429")), "its provider refuses more for now: bad key");
    let retry = r#"{"type":"warp_retry","attempt":2,"message":"Provider is overloaded"}"#;
    let notice = Notice::retry("Provider is overloaded", 2, None);
    assert_eq!(Transcript::default().line(retry), [AgentUpdate::Notice(notice.clone())]);
    assert_eq!((retry_line(retry), retry_line("{}")), (Some(notice), None));
    let denied = json!({ "type": "tool_use", "part": { "tool": "bash", "state": {
        "status": "error", "error": "PreToolUse: not in this phase", "input": { "command": "git commit" },
    } } });
    let said = Transcript::default().line(&denied.to_string());
    assert_eq!(said, [AgentUpdate::Notice(Notice::refused("bash", "not in this phase"))]);
}

#[test]
fn everything_that_a_turn_needs_is_said_by_its_configuration() {
    let hooks = Hooks { program: "/bin/warp".into(), socket: "/s".into(), token: "t".to_owned() };
    let route = Route { anthropic: "http://a".to_owned(), openai: "http://o/v1".to_owned() };
    let mcp = Mcp { program: "/bin/warp".into(), arguments: vec!["mcp".to_owned()], environment: Vec::new() };
    let allowed = ["make test".to_owned()];
    let turn = Turn {
        tree: "/nowhere".as_ref(),
        prompt: "",
        schema: &json!({}),
        resume: Some("ses_1"),
        session: None,
        effort: Some("high"),
        model: Some("openai/local"),
        route: Some(&route),
        mcp: Some(&mcp),
        extras: Extras::default(),
        facts: &[],
        walls: None,
        limits: Limits { whole: Duration::from_secs(1), silence: Duration::from_secs(1) },
        hooks: Some(&hooks),
        allowed: &allowed,
        mark: "",
    };
    let said = |own| {
        let words = arguments(&turn, own).into_iter().map(|word| word.into_string().unwrap());
        words.skip(3).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(said(None), "--model openai/local --variant high --session ses_1");
    assert_eq!(said(Some("local")), "--model warp/local --variant high --session ses_1");

    let told = configuration(&turn, Some(&route), Some("local"), "file:///p.js");
    assert_eq!(told["plugin"], json!(["file:///p.js"]));
    assert_eq!(told["enabled_providers"], json!(["anthropic", "openai", "warp"]));
    assert_eq!(told["provider"]["anthropic"]["options"]["baseURL"], "http://a/v1");
    assert_eq!(told["provider"]["openai"]["options"]["baseURL"], "http://o/v1");
    assert_eq!(told["provider"]["warp"]["models"], json!({ "local": {} }));
    assert_eq!(told["mcp"]["warp"]["command"], json!(["/bin/warp", "mcp"]));
    let commands = json!({ "*": "deny", "make test": "allow", "make test *": "allow" });
    assert_eq!(told["permission"]["bash"], commands);
    assert_eq!(
        (&told["permission"]["task"], &told["permission"]["webfetch"]),
        (&json!("deny"), &json!("deny"))
    );
    let tools = ["webfetch".to_owned()];
    let wider = Turn { extras: Extras { tools: &tools, servers: false }, ..turn };
    let told = configuration(&wider, None, None, "file:///p.js");
    assert_eq!(
        (&told["permission"]["task"], &told["permission"]["webfetch"]),
        (&json!("deny"), &Value::Null)
    );
    let told = configuration(&turn, None, None, "file:///p.js");
    assert!(told.get("provider").is_none() && told.get("enabled_providers").is_none(), "{told}");
}

#[test]
fn a_role_whose_model_is_of_another_provider_takes_no_route() {
    for (model, other) in [("groq/llama", true), ("openrouter/anthropic/claude", true), ("openai/o", false)] {
        assert_eq!(is_other(model), other, "{model}");
    }
    let agent = OpenCode { program: "opencode".into() };
    assert!(!agent.takes_route(Some("groq/llama")));
}
