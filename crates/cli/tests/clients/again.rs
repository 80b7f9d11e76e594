//! A conversation that has its brief is sent only what is new: what failed, what was wrong, what is asked now.

use std::time::{Duration, SystemTime};

use testkit::{
    driven::Driving,
    model::{Model, Part, Request, Role, Script, Turn},
};

use super::{
    client::Client,
    coder::{Asked, PROMPT},
    project::{Project, finish, has_walls},
};
use crate::support::InProject as _;

/// What the issue says, and no other part of the brief does.
const ISSUE: &str = "Only the issue says this.";

/// Returns the prompts in a conversation, oldest first.
pub(super) fn prompts(request: &Request) -> Vec<&str> {
    let of_user = request.entries.iter().filter(|entry| entry.role == Role::User);
    of_user
        .filter_map(|entry| match &entry.part {
            Part::Text(text) if text.contains(PROMPT) => Some(text.as_str()),
            Part::Text(_) | Part::Call { .. } | Part::Result { .. } | Part::Other(_) => None,
        })
        .collect()
}

/// Makes a model that first shows a line which is not there, then writes what fails the tests, and then does it right.
fn slow_learner() -> Script {
    Script::function(|request| {
        let asked = Asked::of(request);
        match (prompts(request).len(), asked.moves) {
            (1 | 2, 0) => asked.shell("echo nothing > file1.txt"),
            (1, 1) => asked.answer_at(99),
            (_, moves) => asked.step(moves),
        }
    })
}

fn is_told_what_is_new(client: Option<Client>) {
    let Some(client) = client.filter(|_| has_walls()) else { return };
    let project = Project::new(1);
    let body =
        format!("# Words\n\n- [ ] the word word1 is in file1.txt\n\n{}\n", format!("{ISSUE} ").repeat(50));
    project.sandbox.issue(42, &body);
    let model = Model::start(slow_learner());
    project.client(&client, &model);
    finish(project.run_client(&client, &model));
    project.is_done(1);
    let requests = model.requests();
    let last = requests.last().unwrap();
    let told = prompts(last);
    let [first, refused, failed] = told[..] else { panic!("three turns in one conversation: {told:#?}") };
    assert!(first.contains(ISSUE) && first.contains("## Rules"), "{first}");
    assert!(!first.contains("## Where the work stands"), "nobody has worked on it before: {first}");
    assert!(refused.contains("could not be used: ") && refused.contains("file1.txt:99"), "{refused}");
    assert!(failed.contains("## What failed") && failed.contains("make test"), "{failed}");
    for (why, again) in [("an answer that could not be used", refused), ("failed tests", failed)] {
        assert!(again.len() * 4 < first.len(), "{} of {} bytes after {why}", again.len(), first.len());
        assert!(!again.contains(ISSUE) && !again.contains("## Rules"), "{again}");
        assert!(!again.contains("before you had answered"), "{again}");
    }
}

with_each_client! {
    claude_code_is_told_what_is_new: is_told_what_is_new(claude);
    codex_is_told_what_is_new: is_told_what_is_new(codex);
    opencode_is_told_what_is_new: is_told_what_is_new(opencode);
    acp_agent_is_told_what_is_new: is_told_what_is_new(acp);
}

/// Makes a model whose provider refuses the first request for an hour.
fn limited() -> Script {
    let mut is_limited = false;
    Script::function(move |request| {
        if !is_limited {
            is_limited = true;
            let until = SystemTime::now() + Duration::from_secs(3600);
            let resets_at = until.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
            return Turn::Limit { resets_at, retry_after: 3600 };
        }
        let asked = Asked::of(request);
        asked.step(asked.moves)
    })
}

#[test]
fn claude_code_is_told_to_go_on_after_a_wait() {
    let Some(client) = Client::claude().filter(|_| has_walls()) else { return };
    let project = Project::new(1);
    let body = format!("# Words\n\n- [ ] the word word1 is in file1.txt\n\n{ISSUE}\n");
    project.sandbox.issue(42, &body);
    let model = Model::start(limited());
    project.client(&client, &model);
    let mut running = Driving::start(project.run_client(&client, &model));
    running.line("waits:");
    let status = project.sandbox.json(&["status", "42", "--json"]);
    let home = project.sandbox.home().to_str().unwrap();
    let root = status["root"].as_str().unwrap().replace("[HOME]", home);
    project.sandbox.warp_ok(&["state", "resume", &root]);
    assert_eq!(running.end(), Some(0));
    project.is_done(1);
    let requests = model.requests();
    let told = prompts(requests.last().unwrap());
    let [first, again] = told[..] else { panic!("two turns in one conversation: {told:#?}") };
    assert!(again.len() * 4 < first.len(), "{} of {} bytes after a wait", again.len(), first.len());
    assert!(first.contains(ISSUE), "{first}");
    assert!(again.contains("Your last turn ended before you had answered: it was stopped"), "{again}");
    assert!(again.contains("Nothing that you were told has changed.") && !again.contains(ISSUE), "{again}");
}
