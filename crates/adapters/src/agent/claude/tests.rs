//! What the client prints, from samples of it.

use super::*;
use crate::{
    agent::{Extras, Hooks, Notice, ProviderFailure, Route, Usage},
    process::Limits,
    sandbox::Walls,
};

const STREAM: &str = include_str!("samples/stream-json.jsonl");
const ENDS: &str = include_str!("samples/exit-codes.json");
const RETRY: &str = include_str!("samples/api-retry-line.json");

fn followed(end: End) -> ProgramResult {
    ProgramResult { end, stdout: Vec::new(), stderr: Vec::new(), cut: false, left_behind: 0 }
}

#[test]
fn a_whole_turn_is_heard_as_the_client_tells_it() {
    let mut heard = Transcript::default();
    let said: Vec<AgentUpdate> = STREAM.lines().flat_map(|line| heard.line(line)).collect();
    assert_eq!(said[0], AgentUpdate::Session("a8417f66-0d37-43b8-94be-1261e9491100".to_owned()));
    let tools: Vec<String> = said
        .iter()
        .filter_map(|said| match said {
            AgentUpdate::Tool { name, about } => Some(format!("{name} {about}")),
            AgentUpdate::Session(_)
            | AgentUpdate::Text(_)
            | AgentUpdate::Notice(_)
            | AgentUpdate::Usage(_)
            | AgentUpdate::Model(_)
            | AgentUpdate::Tick(_) => None,
        })
        .collect();
    assert_eq!(tools[0], "Write /home/ann/demo/hello.txt");
    assert!(tools[3].starts_with("Bash git add hello.txt"), "{tools:?}");
    let ended = ended(heard, &followed(End::Exit(0)), &json!({}));
    assert!(matches!(ended.answer, Err(NoAnswer::NotJson)), "{ended:?}");
    assert_eq!(ended.usage, Usage { input: 59529, output: 100, cache_read: 0, cache_write: 0 });
    assert_eq!(
        (ended.cost_usd, ended.last_words.as_str()),
        (Some(0.24011599999999997), "hello.txt is committed.")
    );
}

#[test]
fn every_way_of_ending_is_told_apart() {
    let cases: Vec<Value> = serde_json::from_str(ENDS).unwrap();
    let shown: Vec<String> = cases
        .iter()
        .map(|case| {
            let mut line = case.clone();
            line["type"] = json!("result");
            let mut heard = Transcript::default();
            heard.line(&line.to_string());
            let code = case["exit"].as_i64().unwrap() as i32;
            let why = ended(heard, &followed(End::Exit(code)), &json!({})).answer.unwrap_err();
            format!("{}: {why}", case["case"].as_str().unwrap())
        })
        .collect();
    let expected = [
        "--max-turns 2: it failed (exit 1): Reached maximum number of turns (2)",
        "--max-budget-usd 0.05: it failed (exit 1): Reached maximum budget ($0.05)",
        "API 401: its provider denies access: Invalid API key · Fix external API key",
        "API 429: its provider refuses more for now: API Error: Request rejected (429) · rate limited",
    ];
    assert_eq!(shown[..4], expected);
    assert!(shown[4].starts_with("API 529: its provider fails: API Error: 529 Overloaded"), "{shown:?}");
    assert_eq!(shown[5], "API 400 credit: its provider denies access: Credit balance is too low");
}

#[test]
fn an_answer_by_schema_counts_more_than_the_text() {
    let line = json!({ "type": "result", "is_error": false, "result": "{\"a\":1}", "structured_output": { "a": "x" } });
    let schema = json!({ "properties": { "a": { "type": "string" } } });
    let answer = |line: &Value| {
        let mut heard = Transcript::default();
        heard.line(&line.to_string());
        ended(heard, &followed(End::Exit(0)), &schema).answer
    };
    assert_eq!(answer(&line).unwrap(), json!({ "a": "x" }));
    let text_only = json!({ "type": "result", "is_error": false, "result": "{\"a\":1}" });
    assert_eq!(answer(&text_only).unwrap(), json!({ "a": 1 }));
}

#[test]
fn the_last_answer_by_schema_counts_whatever_comes_after_it() {
    let answered = |a: &str| json!({ "type": "result", "is_error": false, "structured_output": { "a": a }, "usage": { "input_tokens": 10 } });
    let later =
        json!({ "type": "result", "is_error": false, "result": "noted", "usage": { "input_tokens": 5 } });
    let failed = json!({ "type": "result", "is_error": true, "result": "overloaded" });
    let schema = json!({ "required": ["a"] });
    for end in [End::Exit(0), End::Stopped, End::Silent(Duration::from_secs(1)), End::Signal(9)] {
        let mut heard = Transcript::default();
        for line in [&answered("first"), &later, &answered("last"), &later, &failed] {
            heard.line(&line.to_string());
        }
        let ended = ended(heard, &followed(end), &schema);
        assert_eq!(ended.answer.unwrap(), json!({ "a": "last" }));
        assert_eq!(ended.usage.input, 30, "each result tells of its own messages");
    }
}

#[test]
fn waiting_and_limits_are_told() {
    let mut heard = Transcript::default();
    assert_eq!(heard.line(RETRY), [AgentUpdate::Notice(Notice::retry("overloaded", 1, Some(1)))]);
    let limit = json!({ "type": "rate_limit_event", "rate_limit_info": { "status": "rejected", "resetsAt": 1_800_000_000 } });
    heard.line(&limit.to_string());
    heard.line(r#"{"type":"result","is_error":true,"result":"You have hit your limit"}"#);
    match ended(heard, &followed(End::Exit(1)), &json!({})).answer {
        Err(NoAnswer::Provider(ProviderFailure::Limit { resets_at: Some(at), .. })) => {
            assert_eq!(at.millis(), 1_800_000_000_000)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_agent_without_walls_edits_and_runs_what_is_allowed() {
    let allowed = ["make test".to_owned()];
    let hooks = Hooks { program: "/bin/warp".into(), socket: "/s".into(), token: "t".to_owned() };
    let limits = Limits { whole: Duration::from_secs(1), silence: Duration::from_secs(1) };
    let turn = Turn {
        tree: "/".as_ref(),
        prompt: "",
        schema: &json!({}),
        resume: Some("abc"),
        session: None,
        effort: Some("standard"),
        model: None,
        route: None,
        mcp: None,
        extras: Extras::default(),
        facts: &[],
        walls: None,
        limits,
        hooks: Some(&hooks),
        allowed: &allowed,
        mark: "",
    };
    let words: Vec<String> = arguments(&turn).iter().map(|word| word.to_str().unwrap().to_owned()).collect();
    let after = |name: &str| &words[words.iter().position(|word| word == name).unwrap() + 1];
    assert_eq!(after("--permission-mode"), "acceptEdits");
    assert_eq!((after("--resume").as_str(), after("--effort").as_str()), ("abc", "medium"));
    let settings: Value = serde_json::from_str(after("--settings")).unwrap();
    assert_eq!(settings["permissions"]["allow"], json!(["Bash(make test)", "Bash(make test *)"]));
    assert_eq!(settings["hooks"]["PreToolUse"][0]["hooks"][0]["args"], json!(["hook", "pre-tool-use"]));
    let compacted = &settings["hooks"]["SessionStart"][0];
    assert_eq!(
        (&compacted["matcher"], &compacted["hooks"][0]["args"]),
        (&json!("compact"), &json!(["hook", "compacted"]))
    );
}

#[test]
fn a_turn_takes_its_route_its_model_and_its_server() {
    let route = Route { anthropic: "http://127.0.0.1:1/t/anthropic".to_owned(), openai: String::new() };
    let mcp = Mcp {
        program: "/bin/warp".into(),
        arguments: vec!["mcp".to_owned()],
        environment: vec![("A".to_owned(), "b".to_owned())],
    };
    let turn = Turn {
        tree: "/".as_ref(),
        prompt: "",
        schema: &json!({}),
        resume: None,
        session: Some("a-uuid"),
        effort: None,
        model: Some("opus"),
        route: Some(&route),
        mcp: Some(&mcp),
        extras: Extras::default(),
        facts: &[],
        walls: None,
        limits: Limits { whole: Duration::from_secs(1), silence: Duration::from_secs(1) },
        hooks: None,
        allowed: &[],
        mark: "",
    };
    let words: Vec<String> = arguments(&turn).iter().map(|word| word.to_str().unwrap().to_owned()).collect();
    let after = |name: &str| &words[words.iter().position(|word| word == name).unwrap() + 1];
    assert_eq!(after("--model"), "opus");
    assert_eq!(after("--session-id"), "a-uuid");
    let servers: Value = serde_json::from_str(after("--mcp-config")).unwrap();
    let server = json!({ "type": "stdio", "command": "/bin/warp", "args": ["mcp"], "env": { "A": "b" } });
    assert_eq!(servers["mcpServers"]["warp"], server);
    assert!(words.contains(&"--strict-mcp-config".to_owned()), "servers of the tree are not started");
    // A person's own settings have variables too, which count more than those that the client is started with.
    let settings: Value = serde_json::from_str(after("--settings")).unwrap();
    assert_eq!(settings["env"], json!({ "ANTHROPIC_BASE_URL": route.anthropic }));
    assert_eq!(settings["permissions"]["allow"], json!(["mcp__warp"]));
    let variables = variables(&turn);
    assert!(variables.contains(&("ANTHROPIC_BASE_URL".into(), route.anthropic.clone().into())));
    assert!(variables.contains(&("CLAUDE_CODE_MAX_RETRIES".into(), "4".into())));
}

#[test]
fn a_turn_offers_what_coding_needs_and_more_only_where_it_is_asked_for() {
    let limits = Limits { whole: Duration::from_secs(1), silence: Duration::from_secs(1) };
    let words = |tools: &[&str], servers: bool, walls: Option<&Walls>| -> Vec<String> {
        let tools: Vec<String> = tools.iter().map(|tool| (*tool).to_owned()).collect();
        let turn = Turn {
            tree: "/".as_ref(),
            prompt: "",
            schema: &json!({}),
            resume: None,
            session: None,
            effort: None,
            model: None,
            route: None,
            mcp: None,
            extras: Extras { tools: &tools, servers },
            facts: &[],
            walls,
            limits,
            hooks: None,
            allowed: &[],
            mark: "",
        };
        arguments(&turn).iter().map(|word| word.to_str().unwrap().to_owned()).collect()
    };
    let tools = |words: &[String]| {
        let at = words.iter().position(|word| word == "--tools");
        at.map(|at| words[at + 1].clone()).unwrap_or_default()
    };
    let has = |words: &[String], flag: &str| words.iter().any(|word| word == flag);
    let lean = words(&[], false, None);
    assert_eq!(tools(&lean), "Bash,Edit,Read,Write");
    assert!(has(&lean, "--disable-slash-commands") && has(&lean, "--strict-mcp-config"), "{lean:?}");
    let wider = words(&["WebFetch", "Skill"], false, None);
    assert_eq!(tools(&wider), "Bash,Edit,Read,Write,WebFetch,Skill");
    assert!(!has(&wider, "--disable-slash-commands"), "skills need their tool: {wider:?}");
    let all = words(&["all"], true, None);
    assert_eq!(tools(&all), "", "the client chooses");
    assert!(!has(&all, "--disable-slash-commands"), "{all:?}");
    assert!(has(&all, "--strict-mcp-config"), "only the sandbox holds servers of the tree: {all:?}");
}

#[test]
fn the_last_request_tells_how_full_a_conversation_is() {
    let message = |id: &str, read: u64, parent: Value| {
        let usage = json!({ "input_tokens": 3, "cache_read_input_tokens": read, "cache_creation_input_tokens": 40, "output_tokens": 9 });
        json!({ "type": "assistant", "parent_tool_use_id": parent, "message": { "id": id, "content": [], "usage": usage } }).to_string()
    };
    let mut heard = Transcript::default();
    heard.line(&message("one", 100, Value::Null));
    heard.line(&message("two", 500, Value::Null));
    heard.line(&message("of a subagent", 7, json!("toolu_1")));
    let whole = json!({ "type": "result", "is_error": false, "structured_output": {}, "usage": { "input_tokens": 9000 } });
    heard.line(&whole.to_string());
    assert_eq!(heard.context, 543);
}
