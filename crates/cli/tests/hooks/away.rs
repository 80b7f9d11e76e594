//! An agent that asks its person, while the person is away.

use std::thread;

use serde_json::{Value, json};
use testkit::{Sandbox, telegram::Telegram};

use super::support::{Answered, call, standing_in};
use crate::support::InProject as _;

const ANN: (i64, &str) = (501, "Ann");

/// A project whose run is in `coding`, and whose person is away.
fn away(minutes: &str) -> (Sandbox, Telegram) {
    let telegram = Telegram::start();
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    let set = format!("decision_timeout_minutes={minutes}");
    sandbox.warp_ok(&["state", "init", ".", "--level", "2", "--issue", "42", "--set", &set]);
    sandbox.to_coding(r#"[["AC-01"],["AC-02"]]"#);
    telegram.set_up(&sandbox, "501");
    let said = sandbox.warp_ok(&["rdb", "on"]);
    assert!(said.contains("you are away") && said.contains("501"), "{said}");
    (sandbox, telegram)
}

fn questions() -> Value {
    json!([
        { "question": "Which parser?", "header": "Parser", "multiSelect": false, "options": [
            { "label": "by hand", "description": "small" }, { "label": "a crate", "description": "large" },
        ] },
        { "question": "Which name?", "header": "Name", "multiSelect": false, "options": [
            { "label": "tea", "description": "short" }, { "label": "coffee", "description": "long" },
        ] },
    ])
}

fn ask(sandbox: &Sandbox) -> Answered {
    let input = json!({
        "tool_name": "AskUserQuestion", "tool_use_id": "toolu_01A09q90qw90lq917835lq9",
        "tool_input": { "questions": questions() },
    });
    call(sandbox, "pre-tool-use", input)
}

/// Counts the questions that were put to the person.
fn asked(telegram: &Telegram) -> usize {
    telegram.texts(501).iter().filter(|text| text.contains("Which ")).count()
}

#[test]
fn a_question_is_answered_from_telegram_and_the_client_takes_it_for_the_persons() {
    let (sandbox, telegram) = away("10");
    let answered = thread::scope(|scope| {
        let asking = scope.spawn(|| ask(&sandbox));
        let first = telegram.until_sent("Which parser?");
        let options: Vec<&str> = first.buttons.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(options, ["by hand", "a crate", "other", "skip", "abort"]);
        telegram.press(ANN, first.id, "a crate");
        let second = telegram.until_sent("Which name?");
        telegram.write(ANN, Some(second.id), "cocoa, of course");
        asking.join().unwrap()
    });
    assert_eq!(answered.code, Some(0), "{answered:?}");
    let output = &answered.json()["hookSpecificOutput"];
    assert_eq!(output["hookEventName"], "PreToolUse");
    assert_eq!(output["permissionDecision"], "allow");
    let answers = json!({ "Which parser?": "a crate", "Which name?": "cocoa, of course" });
    assert_eq!(output["updatedInput"], json!({ "questions": questions(), "answers": answers }));
    let closed = telegram.until("the edits", |state| {
        let closed: Vec<String> =
            state.messages.iter().filter(|sent| sent.edits == 1).map(|sent| sent.text.clone()).collect();
        (closed.len() == 2).then_some(closed)
    });
    assert!(
        closed[0].contains("=> a crate -- Ann") && closed[1].contains("=> other (cocoa, of course) -- Ann"),
        "{closed:?}"
    );
    assert!(sandbox.warp_ok(&["status"]).contains("coding"));
}

#[test]
fn what_options_mean_is_shown_and_several_can_be_chosen() {
    let (sandbox, telegram) = away("10");
    let questions = json!([{ "question": "Which targets?", "header": "Targets", "multiSelect": true, "options": [
        { "label": "linux", "description": "the servers" }, { "label": "macos", "description": "laptops" },
        { "label": "windows", "description": "" },
    ] }]);
    let answered = thread::scope(|scope| {
        let input = json!({ "tool_name": "AskUserQuestion", "tool_input": { "questions": questions } });
        let asking = scope.spawn(|| call(&sandbox, "pre-tool-use", input));
        let asked = telegram.until_sent("Which targets?");
        for words in ["linux: the servers\nmacos: laptops\n", "More than one may be chosen"] {
            assert!(asked.text.contains(words), "{}", asked.text);
        }
        telegram.write(ANN, Some(asked.id), "linux, windows");
        asking.join().unwrap()
    });
    let answers = &answered.json()["hookSpecificOutput"]["updatedInput"]["answers"];
    assert_eq!(*answers, json!({ "Which targets?": "linux, windows" }));
}

#[test]
fn two_hooks_of_one_call_ask_once_and_answer_alike() {
    let (sandbox, telegram) = away("10");
    let (one, two) = thread::scope(|scope| {
        let (one, two) = (scope.spawn(|| ask(&sandbox)), scope.spawn(|| ask(&sandbox)));
        let first = telegram.until_sent("Which parser?");
        telegram.press(ANN, first.id, "a crate");
        let second = telegram.until_sent("Which name?");
        telegram.press(ANN, second.id, "tea");
        (one.join().unwrap(), two.join().unwrap())
    });
    let answers = json!({ "Which parser?": "a crate", "Which name?": "tea" });
    for answered in [one, two] {
        assert_eq!(answered.json()["hookSpecificOutput"]["updatedInput"]["answers"], answers, "{answered:?}");
    }
    assert_eq!(asked(&telegram), 2, "{:#?}", telegram.texts(501));
}

#[test]
fn a_hook_that_comes_late_to_a_call_takes_the_answers_that_are_there() {
    let (sandbox, telegram) = away("10");
    let (one, two) = thread::scope(|scope| {
        let one = scope.spawn(|| ask(&sandbox));
        let first = telegram.until_sent("Which parser?");
        telegram.press(ANN, first.id, "a crate");
        let second = telegram.until_sent("Which name?");
        let two = scope.spawn(|| ask(&sandbox));
        telegram.press(ANN, second.id, "tea");
        (one.join().unwrap(), two.join().unwrap())
    });
    let answers = json!({ "Which parser?": "a crate", "Which name?": "tea" });
    for answered in [one, two, ask(&sandbox)] {
        assert_eq!(answered.json()["hookSpecificOutput"]["updatedInput"]["answers"], answers, "{answered:?}");
    }
    assert_eq!(asked(&telegram), 2, "{:#?}", telegram.texts(501));
}

#[test]
fn the_same_question_of_another_call_is_asked_again() {
    let (sandbox, telegram) = away("10");
    let ask = |id: &str, option: &str| {
        let input = json!({
            "tool_name": "AskUserQuestion", "tool_use_id": id, "tool_input": { "questions": [questions()[0]] },
        });
        let before = asked(&telegram);
        thread::scope(|scope| {
            let asking = scope.spawn(|| call(&sandbox, "pre-tool-use", input));
            telegram.until("the question", |state| {
                let texts = state.messages.iter().filter(|sent| sent.text.contains("Which "));
                (texts.count() > before).then_some(())
            });
            telegram.press(ANN, telegram.until_sent("Which parser?").id, option);
            asking.join().unwrap().json()["hookSpecificOutput"]["updatedInput"]["answers"]["Which parser?"]
                .clone()
        })
    };
    assert_eq!(ask("toolu_01A", "a crate"), "a crate");
    assert_eq!(ask("toolu_01B", "by hand"), "by hand");
}

#[test]
fn a_question_that_nobody_answers_is_put_off_and_the_agent_goes_on() {
    let (sandbox, telegram) = away("0");
    let answered = ask(&sandbox);
    answered.is_denied("The person is away: nobody decided in time; see #1.");
    assert!(answered.err.contains("chunk 2 of 2"), "{answered:?}");
    let todo = sandbox.warp_ok(&["issue", "show", "1"]);
    assert!(
        todo.contains("Which parser?") && todo.contains("todo") && todo.contains("assigned to Test"),
        "{todo}"
    );
    let status = sandbox.warp_ok(&["status"]);
    assert!(status.contains("coding") && status.contains("Chunk: 2 / 2"), "{status}");
    telegram.until_sent("[warp-drive] coding -- chunk 2/2 for #42 in demo");
}

#[test]
fn a_person_who_skips_the_chunk_answers_no_question() {
    let (sandbox, telegram) = away("10");
    let answered = thread::scope(|scope| {
        let asking = scope.spawn(|| ask(&sandbox));
        let question = telegram.until_sent("Which parser?");
        telegram.press(ANN, question.id, "skip");
        asking.join().unwrap()
    });
    answered.is_denied("The person has answered `skip` instead.");
}

#[test]
fn a_hook_that_was_killed_is_gone_on_with_by_the_next() {
    let (sandbox, telegram) = away("10");
    let mut child = super::support::command(&sandbox, "pre-tool-use").spawn().unwrap();
    let input = json!({
        "session_id": super::support::SESSION, "cwd": sandbox.root(),
        "tool_name": "AskUserQuestion", "tool_input": { "questions": [questions()[0]] },
    });
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.to_string().as_bytes()).unwrap();
    let question = telegram.until_sent("Which parser?");
    // It listens once it has written down what it has sent.
    telegram.until("a poll", |state| (state.polls > 0).then_some(()));
    child.kill().unwrap();
    child.wait().unwrap();
    telegram.press(ANN, question.id, "by hand");
    let answered = call(&sandbox, "pre-tool-use", input);
    assert_eq!(answered.json()["hookSpecificOutput"]["updatedInput"]["answers"]["Which parser?"], "by hand");
    let asked = telegram.texts(501).iter().filter(|text| text.contains("Which parser?")).count();
    assert_eq!(asked, 1, "{:#?}", telegram.texts(501));
}

#[test]
fn a_person_who_is_there_is_asked_at_the_terminal() {
    let (sandbox, telegram) = away("0");
    sandbox.warp_ok(&["rdb", "off"]);
    ask(&sandbox).is_silent();
    // Another session's questions are its own person's.
    sandbox.warp_ok(&["rdb", "on"]);
    std::fs::remove_file(sandbox.home().join("config/warp/telegram-token")).unwrap();
    let answered = ask(&sandbox);
    let said = answered.json()["systemMessage"].as_str().unwrap().to_owned();
    assert_eq!(answered.code, Some(0));
    assert!(said.contains("away mode is on, but there is no bot token"), "{said}");
    assert!(!telegram.texts(501).iter().any(|text| text.contains("Which parser?")));
    let none = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    telegram.set_up(&none, "501");
    none.warp_ok(&["rdb", "on"]);
    ask(&none).is_silent();
}

#[test]
fn every_phase_of_a_run_in_the_agent_is_told() {
    let sandbox = standing_in("chunking");
    let telegram = Telegram::start();
    telegram.set_up(&sandbox, "501");
    let told =
        call(&sandbox, "user-prompt-submit", json!({ "prompt": "I'm going AFK, keep going" })).context();
    assert!(told.contains("The person is away"), "{told}");
    sandbox.transitions(&["chunks_defined"]);
    sandbox.write("parser.rs", "fn parse() {}\n");
    sandbox.transitions(&["code_complete", "docs_updated", "tests_passed"]);
    sandbox.commit("feat: parse");
    call(
        &sandbox,
        "post-tool-use",
        json!({ "tool_name": "Bash", "tool_input": { "command": "git commit" } }),
    );
    call(&sandbox, "user-prompt-submit", json!({ "prompt": "/rdb off" }));
    sandbox.transitions(&["report_filed"]);
    let texts = telegram.texts(501);
    let wanted = [
        "[warp-drive] chunking -- for #42 in demo",
        "[warp-drive] coding -- chunk 1/1 for #42 in demo",
        "[warp-drive] updating docs -- chunk 1/1 for #42 in demo",
        "[warp-drive] testing -- chunk 1/1 for #42 in demo",
        "[warp-drive] committing -- chunk 1/1 for #42 in demo",
    ];
    assert_eq!(texts[..5], wanted, "{texts:#?}");
    assert!(
        texts[5].starts_with("[warp-drive] commit -- ") && texts[5].ends_with(", chunk 1/1 for #42 in demo"),
        "{texts:#?}"
    );
    assert_eq!(texts[6..], ["[warp-drive] reporting -- chunk 1/1 for #42 in demo"], "{texts:#?}");
}
