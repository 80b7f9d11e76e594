//! What a person sees of each client: refusals, retries, waits and hangs are lines of one kind, whoever works.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use testkit::{
    driven::Driving,
    model::{Model, Script, Turn},
};

use super::{
    client::Client,
    coder::Asked,
    project::{Project, finish, has_walls},
};

/// What a provider says that has too much to do.
const OVERLOADED: u16 = 529;
/// After how many seconds of silence a client is stopped in these tests.
const SILENCE: &str = "agent_silence_seconds=16";

/// How often the model fails from now on.
#[derive(Clone, Default)]
struct Failures(Arc<AtomicUsize>);

impl Failures {
    fn next(&self) -> Option<Turn> {
        let left = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        left.is_ok().then(|| Turn::Fail { status: OVERLOADED, message: "Overloaded".to_owned() })
    }
}

/// Returns the notices among what `warp run` printed, without what differs from one machine to the next.
fn notices(out: &str) -> String {
    let marked = out.lines().filter_map(|line| line.trim_start().strip_prefix("! "));
    let kinds = ["refused: ", "retries: ", "waits: ", "silent: ", "the agent gave no answer: "];
    let told = marked.filter(|line| kinds.iter().any(|kind| line.starts_with(kind)));
    let lines = told.map(|line| {
        let line = line.split(", until ").next().unwrap_or(line);
        // The port is another each time.
        match line.split_once("127.0.0.1:") {
            Some((before, after)) => {
                format!("{before}127.0.0.1:PORT{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
            }
            None => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Runs the issue with a model that fails twice and then tries to commit too early.
fn seen(client: &Client) -> String {
    let project = Project::new(1);
    let failures = Failures(Arc::new(AtomicUsize::new(2)));
    let script = Script::function(move |request| {
        let asked = Asked::of(request);
        failures.next().unwrap_or_else(|| match asked.moves {
            0 => asked.shell("git commit --allow-empty -m early"),
            1 => asked.do_chunk(),
            2 => asked.answer(),
            _ => Turn::say("That is all."),
        })
    });
    let model = Model::start(script);
    project.client(client, &model);
    let ended = finish(project.run_client(client, &model));
    project.is_done(1);
    notices(&ended.out)
}

/// Runs the issue with a model that says nothing the first time.
fn hangs(client: &Client) -> String {
    let project = Project::new(1);
    let asked_before = AtomicUsize::new(0);
    let script = Script::function(move |request| {
        let asked = Asked::of(request);
        if asked_before.fetch_add(1, Ordering::SeqCst) == 0 { Turn::Silence } else { asked.step(asked.moves) }
    });
    let model = Model::start(script);
    project.client(client, &model);
    let mut command = project.run_client(client, &model);
    command.args(["--set", SILENCE]);
    let ended = finish(command);
    project.is_done(1);
    let told = notices(&ended.out);
    // A machine that is slow makes a client silent before the model is.
    let silent = told.lines().filter(|line| line.starts_with("silent: no output for "));
    assert!(silent.clone().all(|line| line.ends_with(" s, stopped at 16 s")), "{told}");
    assert!(silent.count() >= 2, "{told}");
    told.lines().filter(|line| !line.starts_with("silent: ")).collect::<Vec<_>>().join("\n")
}

/// Runs the issue with a model that fails until the run waits for it.
fn waits(client: &Client) -> String {
    let project = Project::new(1);
    let failures = Failures(Arc::new(AtomicUsize::new(usize::MAX)));
    let left = failures.clone();
    let script = Script::function(move |request| {
        let asked = Asked::of(request);
        left.next().unwrap_or_else(|| asked.step(asked.moves))
    });
    let model = Model::start(script);
    project.client(client, &model);
    let mut driving = Driving::start(project.run_client(client, &model));
    let line = driving.line("waits: ");
    failures.0.store(0, Ordering::SeqCst);
    driving.rest();
    project.is_done(1);
    assert_eq!(project.records("turn_started").len(), 2, "it is asked once more, after the wait");
    notices(&line)
}

#[test]
fn claude_code_is_seen() {
    let Some(client) = Client::claude().filter(|_| has_walls()) else { return };
    insta::assert_snapshot!(seen(&client), @r"
    retries: 127.0.0.1 answers 529: Overloaded (retry 1)
    retries: 127.0.0.1 answers 529: Overloaded (retry 2)
    refused: Bash: git_commit is only allowed during committing phase; the run is in coding. Warp itself does that after your answer
    ");
    insta::assert_snapshot!(hangs(&client), @"the agent gave no answer: it was stopped because it had said nothing for 16 s; asking again");
    insta::assert_snapshot!(waits(&client), @"waits: the provider fails (127.0.0.1 answers 529: Overloaded)");
}

#[test]
fn codex_is_seen() {
    let Some(client) = Client::codex().filter(|_| has_walls()) else { return };
    insta::assert_snapshot!(seen(&client), @r"
    retries: unexpected status 529 <unknown status code>: Overloaded, url: http://127.0.0.1:PORT/v1/responses (retry 1 of 1)
    refused: Bash: git_commit is only allowed during committing phase; the run is in coding. Warp itself does that after your answer
    ");
    insta::assert_snapshot!(hangs(&client), @"the agent gave no answer: it was stopped because it had said nothing for 16 s; asking again");
    insta::assert_snapshot!(waits(&client), @"waits: the provider fails (unexpected status 529 <unknown status code>: Overloaded, url: http://127.0.0.1:PORT/v1/responses)");
}

#[test]
fn opencode_is_seen() {
    let Some(client) = Client::opencode().filter(|_| has_walls()) else { return };
    insta::assert_snapshot!(seen(&client), @r"
    retries: Provider is overloaded (retry 1)
    retries: Provider is overloaded (retry 2)
    refused: Bash: git_commit is only allowed during committing phase; the run is in coding. Warp itself does that after your answer
    ");
    insta::assert_snapshot!(hangs(&client), @"the agent gave no answer: it was stopped because it had said nothing for 16 s; asking again");
    insta::assert_snapshot!(waits(&client), @"waits: the provider fails (Overloaded)");
}

#[test]
fn acp_agent_is_seen() {
    let Some(client) = Client::acp().filter(|_| has_walls()) else { return };
    insta::assert_snapshot!(seen(&client), @r"
    retries: 127.0.0.1 answers 529: Overloaded (retry 1)
    retries: 127.0.0.1 answers 529: Overloaded (retry 2)
    refused: Bash: git_commit is only allowed during committing phase; the run is in coding. Warp itself does that after your answer
    ");
    insta::assert_snapshot!(hangs(&client), @"the agent gave no answer: it was stopped because it had said nothing for 16 s; asking again");
    insta::assert_snapshot!(waits(&client), @"waits: the provider fails (127.0.0.1 answers 529: Overloaded)");
}

#[test]
fn opencode_as_an_acp_agent_is_seen() {
    let Some(client) = Client::opencode_acp().filter(|_| has_walls()) else { return };
    insta::assert_snapshot!(seen(&client), @r"
    retries: Provider is overloaded (retry 1)
    retries: Provider is overloaded (retry 2)
    refused: Bash: git_commit is only allowed during committing phase; the run is in coding. Warp itself does that after your answer
    ");
    insta::assert_snapshot!(hangs(&client), @"the agent gave no answer: it was stopped because it had said nothing for 16 s; asking again");
    insta::assert_snapshot!(waits(&client), @"waits: the provider fails (Internal error: Overloaded)");
}
