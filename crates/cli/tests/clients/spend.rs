//! Spend of a real client: it is stopped at a cap in the middle of its work, and goes on with more in the same
//! conversation.

use testkit::{agents::Running, model::Model};

use super::{
    client::Client,
    coder::Coder,
    processes::are_gone,
    project::{PATIENCE, Project, finish, has_walls},
};
use crate::support::{Ends as _, InProject as _};

#[test]
fn claude_code_is_stopped_at_a_cap_and_goes_on_with_more_in_the_same_conversation() {
    let Some(client) = Client::claude().filter(|_| has_walls()) else { return };
    let project = Project::new(1);
    // Whatever it is priced at, so much output costs more than a dollar.
    let model = Model::start(Coder::new().script().usage(0, 200_000, 0, 0));
    project.client(&client, &model);
    let mut command = project.run_client(&client, &model);
    command.args(["--set", "budget_limit_usd=1"]);
    Running::start(command, PATIENCE).unwrap().wait().ends(5);
    assert!(are_gone(&project.sandbox), "something still runs");
    let asked = model.requests().len();
    assert_eq!(asked, 1, "after the first answer nothing is let out");

    let status = project.sandbox.json(&["status", "42", "--json"]);
    let decision = &status["standing"]["decision"];
    assert_eq!(decision["options"], serde_json::json!(["more", "stop", "tomorrow"]));
    let id = decision["id"].as_str().unwrap();
    project.sandbox.warp_ok(&["answer", id, "more", "--usd", "500"]);
    finish(project.run_client(&client, &model));
    project.is_done(1);
    let resumed = &model.requests()[asked];
    let first = &model.requests()[0];
    assert!(
        resumed.entries.len() > first.entries.len() + 1,
        "the conversation begins anew: {}",
        resumed.text()
    );
    assert_eq!(resumed.entries[0], first.entries[0], "it is another conversation");
    let cost = project.sandbox.json(&["cost", "42", "--json"]);
    let output = cost["total"]["output_tokens"].as_u64().unwrap();
    let answered = (model.requests().len() + model.side_requests()) as u64;
    assert_eq!(output, 200_000 * answered, "{cost:#}");
}
