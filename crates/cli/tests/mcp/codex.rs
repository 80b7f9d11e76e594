//! The real Codex, with the server that `warp init` has registered, and a scripted model.

use testkit::{
    agents::Codex,
    model::{Model, Turn},
};

use super::client::standing;

#[test]
fn the_real_codex_offers_the_tools_that_init_has_registered() {
    let Some(codex) = Codex::or_skip() else { return };
    let sandbox = standing("coder", &["receive_task", "workspace_ready"]);
    sandbox.warp_ok(&["init", "--agent", "codex"]);
    let model = Model::start([Turn::say("I look.")]);
    let launch = codex.launch(&sandbox, &model, "Plan the story.");
    let ended = launch
        .env("XDG_STATE_HOME", sandbox.home().join("state"))
        .env("XDG_CONFIG_HOME", sandbox.home().join("config"))
        .run();
    assert_eq!(ended.code, Some(0), "{} {}", ended.out, ended.err);
    let tools = model.requests()[0].body["tools"].to_string();
    // It shows a server by its instructions, and finds the tools when it looks for them.
    assert!(tools.contains("- warp: Warp holds the run") && tools.contains("submit_plan"), "{tools}");
}
