//! A person who is away answers the real client's question from Telegram.

use std::thread;

use serde_json::json;
use testkit::{
    agents::Claude,
    model::{Model, Turn},
    telegram::Telegram,
};

use super::{
    project::{launch, project},
    script::{Move, bash, play},
};

#[test]
fn a_question_to_the_person_is_answered_by_a_button() {
    let Some(claude) = Claude::or_skip() else { return };
    let (sandbox, telegram) = (project(), Telegram::start());
    sandbox.warp_ok(&["init", "--level", "2"]);
    telegram.set_up(&sandbox, "501");
    sandbox.warp_ok(&["rdb", "on"]);
    sandbox.warp_ok(&["state", "init", ".", "--level", "2", "--issue", "42"]);
    let question = json!({ "questions": [{
        "question": "Which parser is wanted?", "header": "Parser", "multiSelect": false, "options": [
            { "label": "by hand", "description": "small" }, { "label": "a crate", "description": "large" },
        ],
    }] });
    let (script, done) = play(vec![
        bash("warp next --step", &["prerequisites -> discovering"]),
        Move { turn: Turn::call("AskUserQuestion", question), told: &["Which parser is wanted?", "a crate"] },
        bash("warp next", &["discovering -> planning"]),
    ]);
    let model = Model::start(script);
    let ended = thread::scope(|scope| {
        let running = scope.spawn(|| {
            launch(&claude, &sandbox, &model, "Carry on the run of this project.")
                // Without a terminal the client offers the tool only if there is somebody to ask for permissions.
                .argument("--permission-prompt-tool")
                .argument("stdio")
                .run()
        });
        let asked = telegram.until_sent("Which parser is wanted?");
        telegram.press((501, "Ann"), asked.id, "a crate");
        running.join().unwrap()
    });
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(*done.lock().unwrap(), 3, "{}", model.text());
    let texts = telegram.texts(501);
    assert!(texts.iter().any(|text| text == "[warp-drive] planning -- for #42 in demo"), "{texts:#?}");
    assert!(texts.iter().any(|text| text.contains("=> a crate -- Ann")), "{texts:#?}");
}
