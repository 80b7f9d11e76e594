//! The real Claude Code, with a scripted model that calls tools of other servers.

use serde_json::json;
use testkit::{
    Sandbox,
    agents::Claude,
    model::{Model, Script, Turn},
};

use super::support::stand_in;

#[test]
fn the_real_client_is_refused_a_tool_that_is_not_listed() {
    let Some(claude) = Claude::or_skip() else { return };
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    sandbox.warp_ok(&["init", "--no-skills"]);
    stand_in(&sandbox, "coding");
    // Before each turn but the first: what the tool before it has said.
    let turns = [
        (Turn::call("mcp__acme__status", json!({})), ""),
        (Turn::call("mcp__acme__report_finding", json!({ "severity": "p3", "text": "x" })), "`mcp_tools`"),
        (Turn::call("mcp__warp__status", json!({})), "`mcp_tools`"),
        (Turn::say("Everything is said."), "coding"),
    ];
    let mut turns = turns.into_iter();
    let model = Model::start(Script::function(move |request| {
        let news = request.news();
        let (turn, told) = turns.next().unwrap_or((Turn::say("Everything is said."), ""));
        assert!(news.contains(told), "`{told}` is not in: {news}");
        turn
    }));
    // The same server under two names: only one of them is known.
    let server = json!({ "command": env!("CARGO_BIN_EXE_warp"), "args": ["mcp"] });
    let servers = json!({ "mcpServers": { "warp": server, "acme": server } }).to_string();
    let ended = claude
        .launch(&sandbox, &model, "Look round.")
        .argument("--strict-mcp-config")
        .argument("--mcp-config")
        .argument(&servers)
        .env("XDG_STATE_HOME", sandbox.home().join("state"))
        .env("XDG_CONFIG_HOME", sandbox.home().join("config"))
        .run();
    assert_eq!(ended.code, Some(0), "{} {}", ended.out, ended.err);
    assert!(ended.out.contains("Everything is said."), "{} {}", ended.out, ended.err);
}
