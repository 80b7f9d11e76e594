//! An issue of three chunks becomes a merged branch, whoever does it.

use std::fs;

use testkit::model::{Api, Model};

use super::{
    again::prompts,
    client::Client,
    coder::{Coder, answer, write},
    processes::are_gone,
    project::{Project, finish, has_walls},
};

const CHUNKS: usize = 3;
/// How a shell script answers a second look at the issue.
const SECOND_LOOK: &str = r#"test "$WARP_PHASE" != chunk_complete || exec echo '{"unmet":[]}'"#;

fn is_done_by(client: Option<Client>, api: Api) {
    let Some(client) = client.filter(|_| has_walls()) else { return };
    let project = Project::new(CHUNKS);
    let model = Model::start(Coder::new().script());
    project.client(&client, &model);
    finish(project.run_client(&client, &model));
    project.is_done(CHUNKS);
    assert!(model.requests().iter().all(|request| request.api == api), "another API is spoken");
    let turns = project.records("turn_started").len();
    assert_eq!(turns, CHUNKS + 1, "each chunk is done in one turn, and all of them are looked at in another");
    // Only warp's own commits lie between the chunks, so all of them are done in one conversation, which is told what is new.
    let requests = model.requests();
    let told = prompts(requests.last().unwrap());
    let [first, second, third] = told[..] else { panic!("three turns in one conversation: {told:#?}") };
    assert!(first.contains("## Rules") && third.contains("chunk 3 of 3"), "{third}");
    for again in [second, third] {
        let is_told_anew = ["## Rules", "## The issue", "## The project", "## Where the work stands"];
        assert!(!is_told_anew.iter().any(|title| again.contains(title)), "{again}");
    }
    // The client works where the project is, and nothing tells it where its tree is outside of the sandbox.
    let requests = format!("{:?}", model.requests());
    let root = project.sandbox.root().canonicalize().unwrap();
    assert!(requests.contains(root.to_str().unwrap()), "the project's path is not told");
    assert!(!requests.contains("/slots/"), "the slot's path is told");
    assert!(are_gone(&project.sandbox), "something still runs");
}

/// Does the issue with settings by which no conversation goes on to the next chunk, with a model that says it was told so many
/// tokens.
fn is_begun_anew(settings: &[&str], tokens: u64) {
    let Some(client) = Client::claude().filter(|_| has_walls()) else { return };
    let project = Project::new(CHUNKS);
    let model = Model::start(Coder::new().script().usage(tokens, 10, 0, 0));
    project.client(&client, &model);
    let mut command = project.run_client(&client, &model);
    for setting in settings {
        command.args(["--set", setting]);
    }
    finish(command);
    project.is_done(CHUNKS);
    let last = model.requests().last().unwrap().text();
    assert!(last.contains("## Where the work stands") && last.contains("- chunk 2 (AC-02)"), "{last}");
}

#[test]
fn conversation_tokens_says_when_the_next_chunk_begins_a_new_one() {
    is_begun_anew(&["conversation_tokens=5000"], 5001);
}

#[test]
fn conversation_minutes_says_how_long_a_full_one_is_resumed() {
    is_begun_anew(&["conversation_tokens=20000", "conversation_minutes=0"], 5001);
}

fn is_done_by_program(project: &Project, agent: &str) {
    if !has_walls() {
        return;
    }
    finish(project.run(agent));
    project.is_done(CHUNKS);
    assert!(are_gone(&project.sandbox), "something still runs");
}

with_each_client! {
    claude_code_does_the_issue: is_done_by(claude, Api::Anthropic);
    codex_does_the_issue: is_done_by(codex, Api::OpenAi);
    opencode_does_the_issue: is_done_by(opencode, Api::Chat);
    acp_agent_does_the_issue: is_done_by(acp, Api::Anthropic);
}

#[test]
fn a_command_does_the_issue() {
    let project = Project::new(CHUNKS);
    let cases: String = (1..=CHUNKS)
        .map(|chunk| format!("{chunk}) {}; echo '{}' ;;\n", write(chunk), answer(chunk)))
        .collect();
    project.program("coder", &format!("{SECOND_LOOK}\ncase $WARP_CHUNK in\n{cases}esac"));
    is_done_by_program(&project, "command:coder");
}

#[test]
fn a_script_does_the_issue() {
    let project = Project::new(CHUNKS);
    let turn = |chunk: usize| {
        format!(
            "[[turn]]\nphase = \"coding\"\nchunk = {chunk}\nsteps = [{{ run = \"{}\" }}]\nanswer = {}\n",
            write(chunk),
            toml::Value::try_from(answer(chunk)).unwrap()
        )
    };
    let script: String = (1..=CHUNKS).map(turn).collect();
    let file = project.sandbox.home().join("script.toml");
    fs::write(&file, script).unwrap();
    is_done_by_program(&project, &format!("script:{}", file.display()));
}
