//! A command that an agent leaves running does not hold its answer up, and does not replace it when it ends.

use testkit::{agents::Running, model::Model};

use super::{
    client::Client,
    coder::{Coder, Stop},
    processes::are_gone,
    project::{PATIENCE, Project, has_walls},
};
use crate::support::Ends as _;

/// How long the client may be silent, in seconds: less than a test waits, so that one which is waited for is seen.
const SILENCE: &str = "agent_silence_seconds=60";
/// A command without an end.
const ENDLESS: &str = "exec tail -f /dev/null";
/// A command that ends when the test says so.
const UNTIL_TOLD: &str = "read word < \"$HOME/running\"";

fn answers(client: Option<Client>) {
    let Some(client) = client.filter(|_| has_walls()) else { return };
    let project = Project::new(1);
    let coder = Coder::new();
    coder.stop(Stop::Background(ENDLESS));
    let model = Model::start(coder.script());
    project.client(&client, &model);
    let mut command = project.run_client(&client, &model);
    command.args(["--set", SILENCE]);
    Running::start(command, PATIENCE).unwrap().wait().ends(0);
    project.is_done(1);
    let turns = project.records("turn_ended");
    assert_eq!(turns.len(), 1, "the answer counts: {turns:#?}");
    assert_eq!(turns[0]["data"]["how"], "answered");
    assert!(are_gone(&project.sandbox), "something still runs");
}

with_each_client! {
    claude_code_answers_although_a_command_still_runs: answers(claude);
    codex_answers_although_a_command_still_runs: answers(codex);
    opencode_answers_although_a_command_still_runs: answers(opencode);
    acp_agent_answers_although_a_command_still_runs: answers(acp);
}

/// Claude Code asks its model again when a command in the background ends, and tells that turn's result too.
#[test]
fn an_answer_counts_although_a_command_ends_after_it() {
    let Some(client) = Client::claude().filter(|_| has_walls()) else { return };
    let project = Project::new(1);
    let coder = Coder::new();
    coder.stop(Stop::Background(UNTIL_TOLD));
    let model = Model::start(coder.script());
    project.client(&client, &model);
    let pipe = project.pipe_to("running");
    let mut command = project.run_client(&client, &model);
    command.args(["--set", SILENCE]);
    let mut running = Running::start(command, PATIENCE).unwrap();
    // The third request is answered with the answer; nothing is asked after it unless the command ends.
    assert!(model.wait_for_requests(3, PATIENCE), "{}", running.out());
    pipe.tell();
    running.wait().ends(0);
    project.is_done(1);
    assert_eq!(project.records("turn_ended").len(), 1, "the answer counts");
}
