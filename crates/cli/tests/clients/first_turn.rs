//! Warp is killed in the first turn of a conversation: the next run resumes it, and sends the brief again.

use std::fs;

use testkit::{
    agents::Running,
    model::{Model, Request},
};

use super::{
    client::Client,
    coder::{Coder, PROMPT, Stop},
    processes::are_gone,
    project::{PATIENCE, Project, finish, has_walls},
};

/// Kills warp in a client's first turn and starts it again; returns the project, and the first request after that.
fn kill_and_go_on(client: &Client, meanwhile: impl FnOnce(&Project)) -> (Project, Request) {
    let project = Project::new(1);
    let coder = Coder::new();
    coder.stop(Stop::InTool);
    let model = Model::start(coder.script());
    project.client(client, &model);
    let pipe = project.pipe("running");
    let mut killed = Running::start(project.run_client(client, &model), PATIENCE).unwrap();
    assert!(pipe.wait(), "{}", killed.out());
    killed.kill();
    assert_eq!(killed.wait().signal, Some(9));
    assert!(are_gone(&project.sandbox), "something still runs");
    let begun = project.records("conversation_begun");
    assert_eq!(begun.len(), 1, "{begun:#?}");
    meanwhile(&project);

    let asked = model.requests().len();
    coder.stop(Stop::Nowhere);
    finish(project.run_client(client, &model));
    project.is_done(1);
    let first = model.requests().swap_remove(asked);
    (project, first)
}

fn is_resumed(client: Option<Client>) {
    let Some(client) = client.filter(|_| has_walls()) else { return };
    let (project, first) = kill_and_go_on(&client, |_| {});
    let told = first.text();
    assert!(told.contains("Your last turn ended before you had answered: warp was ended"), "{told}");
    // What the model did just before the kill, a client may not have written down yet.
    assert_eq!(
        told.matches(PROMPT).count(),
        2,
        "it is the same conversation, and the brief is sent again: {told}"
    );
    assert_eq!(project.records("conversation_begun").len(), 1, "no other conversation is begun");
}

with_each_client! {
    claude_code_is_resumed_after_a_kill_in_its_first_turn: is_resumed(claude);
    codex_is_resumed_after_a_kill_in_its_first_turn: is_resumed(codex);
    opencode_is_resumed_after_a_kill_in_its_first_turn: is_resumed(opencode);
    acp_agent_is_resumed_after_a_kill_in_its_first_turn: is_resumed(acp);
}

#[test]
fn a_conversation_that_is_lost_with_its_first_turn_is_replaced_by_one_with_a_briefing() {
    let Some(client) = Client::claude().filter(|_| has_walls()) else { return };
    let (project, first) = kill_and_go_on(&client, |project| {
        let kept = project.sandbox.journal().with_file_name("kept");
        fs::remove_dir_all(kept.join("claude/projects")).unwrap();
    });
    let told = first.text();
    assert_eq!(told.matches(PROMPT).count(), 1, "it is another conversation: {told}");
    assert!(told.contains("## Where the work stands"), "{told}");
    assert_eq!(project.records("conversation_begun").len(), 2);
}
