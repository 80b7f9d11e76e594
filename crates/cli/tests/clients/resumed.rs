//! A client that is asked again goes on with its conversation, whichever it is.

use testkit::model::{Model, Part, Role, Script, Turn};

use super::{
    client::Client,
    coder::Asked,
    project::{Project, finish, has_walls},
};

/// What the model says before it is told that this is no answer.
const FIRST: &str = "I have thought about it.";

fn goes_on(client: Option<Client>) {
    let Some(client) = client.filter(|_| has_walls()) else { return };
    let project = Project::new(1);
    let script = Script::function(|request| {
        let has_answered = request.entries.iter().any(|entry| {
            entry.role == Role::Assistant && matches!(&entry.part, Part::Text(text) if text == FIRST)
        });
        let asked = Asked::of(request);
        // A fresh conversation knows nothing of it, and would be told the same for ever.
        if has_answered { asked.step(asked.moves) } else { Turn::say(FIRST) }
    });
    let model = Model::start(script);
    project.client(&client, &model);
    let ended = finish(project.run_client(&client, &model));
    project.is_done(1);
    assert!(!ended.out.contains("conversation is gone"), "{}", ended.out);
    assert_eq!(project.records("turn_started").len(), 2, "{}", ended.out);
}

with_each_client! {
    claude_code_goes_on_with_its_conversation: goes_on(claude);
    codex_goes_on_with_its_conversation: goes_on(codex);
    opencode_goes_on_with_its_conversation: goes_on(opencode);
    acp_agent_goes_on_with_its_conversation: goes_on(acp);
    opencode_as_an_acp_agent_goes_on_with_its_conversation: goes_on(opencode_acp);
}
