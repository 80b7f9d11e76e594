//! Tools of MCP servers that the person's own client brings: one that nobody has listed is refused.

use std::fs;

use serde_json::{Value, json};
use testkit::model::{Model, Script, Turn};

use super::{
    client::Client,
    coder::Asked,
    project::{Project, finish, has_walls},
};

#[test]
fn opencode_is_refused_a_tool_that_is_not_listed() {
    let Some(client) = Client::opencode().filter(|_| has_walls()) else { return };
    let project = Project::new(1);
    let script = Script::function(|request| {
        let asked = Asked::of(request);
        match asked.moves {
            0 => Turn::call("acme_status", json!({})),
            1 => {
                let told = request.last_tool_result().unwrap_or_default();
                assert!(told.contains("`mcp_tools`"), "{told}");
                asked.do_chunk()
            }
            2 => asked.answer(),
            _ => Turn::say("That is all."),
        }
    });
    let model = Model::start(script);
    project.client(&client, &model);
    let file = project.sandbox.home().join("config/opencode/opencode.json");
    let mut settings: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    settings["mcp"]["acme"] =
        json!({ "type": "local", "command": [env!("CARGO_BIN_EXE_warp"), "mcp"], "enabled": true });
    fs::write(file, settings.to_string()).unwrap();
    finish(project.run_client(&client, &model));
    project.is_done(1);
}
