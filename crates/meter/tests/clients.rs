//! Real clients through the proxy: their work is booked, and at a cap they say so and end.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::sync::Arc;

use support::{Notes, proxy};
use testkit::{
    Sandbox,
    agents::{Claude, Codex, Ended},
    model::{Model, Turn},
};

/// The first request passes it.
const CAP: u64 = 1;
const WORDS: &str = "warp: the cap of this run is reached";

fn claude(client: &Claude, notes: &Arc<Notes>) -> Ended {
    let model = Model::start([Turn::bash("echo hello"), Turn::say("greeted")]);
    let sandbox = Sandbox::new("warp");
    let proxy = proxy(Arc::<Notes>::clone(notes), &model.url());
    let launch = client.launch(&sandbox, &model, "Greet.").env("ANTHROPIC_BASE_URL", proxy.anthropic_url());
    // As many tries as the client makes by itself: what it is not to try again, it does not.
    let ended = launch.env("CLAUDE_CODE_MAX_RETRIES", "10").run();
    assert_eq!(model.strays(), [""; 0]);
    ended
}

fn codex(client: &Codex, notes: &Arc<Notes>) -> Ended {
    let model = Model::start([Turn::exec_command("echo hello"), Turn::say("greeted")]);
    let sandbox = Sandbox::new("warp");
    let proxy = proxy(Arc::<Notes>::clone(notes), &model.url());
    let address = format!("{:?}", proxy.openai_url());
    let settings =
        [("base_url", address.as_str()), ("request_max_retries", "4"), ("stream_max_retries", "5")];
    let launch = settings.iter().fold(client.launch(&sandbox, &model, "Greet."), |launch, (name, value)| {
        launch.argument("--config").argument(format!("model_providers.scripted.{name}={value}"))
    });
    launch.run()
}

/// Makes sure that what is booked is what the client was told.
fn assert_booked(notes: &Notes, input: &serde_json::Value, output: &serde_json::Value) {
    let kept = notes.wait("everything is over", |kept| kept.open() == 0);
    let last = kept.bookings.iter().map(|bookings| bookings.last().unwrap().0);
    let booked = last.fold(meter::Tokens::default(), meter::Tokens::plus);
    assert_eq!((Some(booked.input), Some(booked.output)), (input.as_u64(), output.as_u64()));
}

#[test]
fn claude_code_is_booked_as_it_counts_itself() {
    let Some(client) = Claude::or_skip() else { return };
    let notes = Notes::new();
    let ended = claude(&client, &notes);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let usage = &ended.lines.last().unwrap()["usage"];
    assert_booked(&notes, &usage["input_tokens"], &usage["output_tokens"]);
}

#[test]
fn claude_code_says_that_a_cap_is_reached_and_ends() {
    let Some(client) = Claude::or_skip() else { return };
    let notes = Notes::with_cap(CAP);
    let ended = claude(&client, &notes);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let result = ended.lines.last().unwrap()["result"].as_str().unwrap();
    assert!(result.contains(WORDS), "{result}");
    assert_eq!((notes.kept().openings.len(), notes.kept().refusals), (1, 1));
}

#[test]
fn codex_is_booked_as_it_counts_itself() {
    let Some(client) = Codex::or_skip() else { return };
    let notes = Notes::new();
    let ended = codex(&client, &notes);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let usage = &ended.lines.last().unwrap()["usage"];
    assert_booked(&notes, &usage["input_tokens"], &usage["output_tokens"]);
}

#[test]
fn codex_says_that_a_cap_is_reached_and_ends() {
    let Some(client) = Codex::or_skip() else { return };
    let notes = Notes::with_cap(CAP);
    let ended = codex(&client, &notes);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.out.contains(WORDS), "{ended:?}");
    assert_eq!((notes.kept().openings.len(), notes.kept().refusals), (1, 1));
}
