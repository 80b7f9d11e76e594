//! The real Claude Code, with a scripted model that calls warp's tools.

use serde_json::json;
use testkit::{
    agents::Claude,
    model::{Model, Script, Turn},
};

use super::client::{newest, phase, standing, status};

/// Plays turns, and expects before each but the first that the tool before it has said so.
fn script(turns: Vec<(Turn, &'static str)>) -> Script {
    let mut expected = "";
    let mut turns = turns.into_iter();
    Script::function(move |request| {
        let news = request.news();
        assert!(news.contains(expected), "`{expected}` is not in: {news}");
        let (turn, told) = turns.next().unwrap_or((Turn::say("Everything is said."), ""));
        expected = told;
        turn
    })
}

#[test]
fn the_real_client_is_refused_out_of_phase_then_plans_and_asks() {
    let Some(claude) = Claude::or_skip() else { return };
    let sandbox = standing("coder", &["receive_task", "workspace_ready"]);
    let question = json!({ "question": "Which store?", "options": ["sqlite", "files"] });
    let model = Model::start(script(vec![
        (Turn::call("mcp__warp__done", json!({ "summary": "x" })), "not possible in `PLANNING`"),
        (Turn::call("mcp__warp__ask_question", question), "PLANNING -> QUESTION (clarification)"),
    ]));
    let server = json!({ "command": env!("CARGO_BIN_EXE_warp"), "args": ["mcp"] });
    let servers = json!({ "mcpServers": { "warp": server } }).to_string();
    let launch = || {
        claude
            .launch(&sandbox, &model, "Plan the story.")
            .argument("--strict-mcp-config")
            .argument("--mcp-config")
            .argument(&servers)
            .env("XDG_STATE_HOME", sandbox.home().join("state"))
            .env("XDG_CONFIG_HOME", sandbox.home().join("config"))
    };
    let ended = launch().run();
    assert_eq!(ended.code, Some(0), "{} {}", ended.out, ended.err);
    assert_eq!(phase(&sandbox), "QUESTION", "{}", ended.out);
    let record = newest(&sandbox);
    assert_eq!((&record["event"], &record["actor"]), (&json!("clarification"), &json!("agent")));
    let id = status(&sandbox)["asked"]["id"].as_str().unwrap().to_owned();
    sandbox.warp_ok(&["answer", &id, "answer", "--note", "sqlite"]);

    let plan = json!({ "plan": "word by word", "confidence": "HIGH" });
    let model = Model::start(script(vec![(
        Turn::call("mcp__warp__submit_plan", plan),
        "PLANNING -> PLAN_REVIEW (submit_plan)",
    )]));
    let ended = launch().env("ANTHROPIC_BASE_URL", model.url()).run();
    assert_eq!(ended.code, Some(0), "{} {}", ended.out, ended.err);
    assert_eq!(newest(&sandbox)["data"]["approach"], "word by word");
}
