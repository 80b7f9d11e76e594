//! A client that sums its conversation up drops the brief with the rest: the agent is given it again.

use testkit::model::{Model, Request, Script, Turn};

use super::{
    client::Client,
    coder::{Asked, PROMPT},
    project::{Project, finish, has_walls},
};

/// What the issue says, and no other part of the brief does.
const ISSUE: &str = "Only the issue says this.";
/// How Claude Code asks its model for a summary; the others do so beside the conversation.
const SUMMARY: &str = "create a detailed summary of the conversation";
/// How Codex tells its model of a summary.
const SUMMED_UP: &str = "the summary produced by the other language model";
/// So much input that there is no room left in any model's window.
const FULL: u64 = 990_000;

fn is_summary(request: &Request) -> bool {
    request.news().contains(SUMMARY)
}

/// Makes a model whose conversation is full after its first move. Its first answer cannot be used.
fn forgetful() -> Script {
    let mut done = 0;
    Script::function(move |request| {
        if is_summary(request) {
            return Turn::say("<summary>Something was done.</summary>");
        }
        done += 1;
        let asked = Asked::in_chunk(request, 1);
        match done {
            1 => asked.shell("echo word1 > file1.txt").usage(FULL, 10, 0, 0),
            2 => asked.answer_at(99),
            _ => asked.answer_at(1),
        }
    })
}

/// Has a client do an issue with such a model; returns what that was asked.
fn requests(client: &Client) -> Vec<Request> {
    let project = Project::new(1);
    let body = format!("# Words\n\n- [ ] the word word1 is in file1.txt\n\n{ISSUE}\n");
    project.sandbox.issue(42, &body);
    let model = Model::start(forgetful());
    project.client(client, &model);
    let mut command = project.run_client(client, &model);
    command.args(["--set", "budget_limit_usd=500"]);
    finish(command);
    project.is_done(1);
    model.requests()
}

/// Codex keeps what it was told by its user.
#[test]
fn codex_has_its_brief_after_a_compaction() {
    let Some(client) = Client::codex().filter(|_| has_walls()) else { return };
    let requests = requests(&client);
    let after = requests[1].text();
    assert!(after.contains(SUMMED_UP) && after.contains(ISSUE), "{after}");
}

/// OpenCode sums up by a request of its own, and is told by the brief of the next turn.
#[test]
fn opencode_has_its_brief_in_the_turn_after_a_compaction() {
    let Some(client) = Client::opencode().filter(|_| has_walls()) else { return };
    let requests = requests(&client);
    let last = requests.last().unwrap().text();
    assert!(last.contains("could not be used") && last.contains(ISSUE), "{last}");
}

#[test]
fn claude_code_has_its_brief_after_a_compaction() {
    let Some(client) = Client::claude().filter(|_| has_walls()) else { return };
    let requests = requests(&client);
    let compacted = requests.iter().position(is_summary).expect("the conversation is summed up");
    let after = requests[compacted + 1].text();
    assert!(after.contains("Something was done."), "{after}");
    for words in [PROMPT, ISSUE, "## Rules", "## Your task"] {
        assert_eq!(after.matches(words).count(), 1, "`{words}`, once: {after}");
    }
    // What it was reminded of may be less than the whole brief, so the next turn brings that.
    let last = requests.last().unwrap().text();
    assert!(last.contains("could not be used") && last.matches(ISSUE).count() == 2, "{last}");
}
