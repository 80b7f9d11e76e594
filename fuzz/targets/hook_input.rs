//! What a client writes to a hook. Every hook answers; a gate that cannot read its input refuses.
//!
//! The directory in the input is replaced: the hooks of a made-up input must not find a real project.
#![no_main]

use std::sync::LazyLock;

use fuzz::scene::Scene;
use hooks::{Answer, Input};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

const PROMPT: &str = "user-prompt-submit";
const GATES: [&str; 2] = ["pre-tool-use", "permission-request"];
const OTHERS: [&str; 10] = [
    "session-start",
    PROMPT,
    "post-tool-use",
    "post-tool-use-failure",
    "stop",
    "stop-failure",
    "subagent-stop",
    "pre-compact",
    "session-end",
    "an-event-of-next-year",
];

static EMPTY: LazyLock<Scene> = LazyLock::new(Scene::empty);
static IDLE: LazyLock<Scene> = LazyLock::new(Scene::idle);
static BUSY: LazyLock<Scene> = LazyLock::new(Scene::busy);

/// Asks a hook, and checks what holds for every answer.
fn ask(event: &str, input: &[u8]) -> Answer {
    let answer = hooks::answer(event, input, &hooks::NoAwayChannel);
    assert!(answer.code == 0 || (answer.code == 2 && event == GATES[0]), "{event}: {answer:?}");
    assert!(answer.code == 0 || !answer.err.is_empty(), "{event} refuses without a reason");
    assert!(
        answer.out.is_empty() || serde_json::from_str::<Value>(&answer.out).is_ok_and(|out| out.is_object())
    );
    assert!(answer.err.chars().count() < 10_000);
    answer
}

fn denies(answer: &Answer) -> bool {
    answer.code == 2 || answer.out.contains(r#""behavior":"deny""#)
}

fuzz_target!(|input: &[u8]| {
    if Input::parse(input).is_err() {
        GATES.iter().for_each(|event| assert!(denies(&ask(event, input)), "{event} lets bad input pass"));
        OTHERS.iter().for_each(|event| drop(ask(event, input)));
        return;
    }
    // A number that is too large is passed over by the hook, and not read here.
    let Ok(Value::Object(mut fields)) = serde_json::from_slice(input) else { return };
    let mut ask_in = |scene: &Scene, event: &str| {
        fields.insert("cwd".to_owned(), scene.root().to_string_lossy().into());
        ask(event, &serde_json::to_vec(&fields).expect("a JSON value can be written"))
    };
    for event in GATES {
        assert_eq!(ask_in(&EMPTY, event), Answer::silent());
        assert_eq!(ask_in(&IDLE, event), Answer::silent());
        ask_in(&BUSY, event);
    }
    for event in OTHERS {
        ask_in(&EMPTY, event);
        // What is typed may begin a run.
        if event != PROMPT {
            ask_in(&IDLE, event);
        }
    }
});
