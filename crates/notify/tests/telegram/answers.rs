//! What people see, and what their answers do.

use std::{fs, os::unix::fs::PermissionsExt as _, time::Duration};

use engine::{Actor, Event, WaitKind};
use notify::{AwayMode, Notifier, PollResult};
use project::{Given, spend::More};
use serde_json::Map;

use crate::support::{ANN, BOB, EVE, Scene};

#[test]
fn notices_come_in_order_in_the_words_of_the_originals() {
    let scene = Scene::new("501");
    let mut process = scene.process();
    scene.coding();
    process.deliver_all();
    scene.events(&["abort"]);
    process.deliver_all();
    assert_eq!(
        scene.telegram.texts(501),
        [
            "[warp-drive] coding -- chunk 1/2 for #42 in demo",
            "[warp-drive] aborted -- chunk 1/2 for #42 in demo"
        ]
    );
    assert!(scene.telegram.sent().iter().all(|sent| sent.is_quiet));
    scene.events(&["abort_resolved"]);
    process.deliver_all();
    let last = scene.telegram.sent().pop().unwrap();
    assert_eq!(
        (last.text.as_str(), last.is_quiet),
        ("[warp-drive] completed -- 0 commits, 0 chunks in demo", false)
    );
    assert!(process.memory.followed(&scene.run).unwrap().unwrap().is_over);
}

#[test]
fn a_button_decides_once_and_every_chat_sees_who_did() {
    let scene = Scene::new("501, 502");
    scene.coding();
    let id = scene.question("May a JSON crate be added?");
    let mut process = scene.process();
    process.deliver_all();
    let asked: Vec<_> = scene.telegram.sent().into_iter().filter(|sent| !sent.buttons.is_empty()).collect();
    assert_eq!(asked.len(), 2);
    let texts: Vec<&str> = asked[0].buttons.iter().map(|(text, _)| text.as_str()).collect();
    assert_eq!(texts, ["yes", "no", "skip", "abort"]);
    assert!(
        asked[0].text.contains("May a JSON crate be added?") && asked[0].text.contains("in demo"),
        "{}",
        asked[0].text
    );
    assert!(!asked[0].is_quiet);

    let first = scene.telegram.press(ANN, asked[0].id, "no");
    let second = scene.telegram.press(BOB, asked[1].id, "yes");
    assert_eq!(process.hear(), PollResult::Messages(2));
    let (decided, count) = scene.decided(&id);
    let decided = decided.unwrap();
    assert_eq!((decided.option.as_str(), decided.by.as_deref(), count), ("no", Some("Ann"), 1));
    let toasts = scene.telegram.look(|state| state.toasts.clone());
    assert_eq!(
        toasts,
        [(first, "Taken: no".to_owned()), (second, "Already answered: no, by Ann".to_owned())]
    );

    process.deliver_all();
    for sent in scene.telegram.sent().iter().filter(|sent| sent.edits > 0) {
        assert!(sent.text.contains("=> no -- Ann, ") && sent.buttons.is_empty(), "{}", sent.text);
    }
    assert_eq!(scene.telegram.sent().iter().filter(|sent| sent.edits == 1).count(), 2);
}

#[test]
fn a_reply_decides_with_its_note_and_other_words_are_told_what_is_possible() {
    let scene = Scene::new("501");
    scene.coding();
    let id = scene.question("Which greeting?");
    let mut process = scene.process();
    process.deliver_all();
    let question = scene.telegram.until_sent("Which greeting?").id;
    let odd = scene.telegram.write(ANN, Some(question), "whatever you like");
    scene.telegram.write(ANN, None, "hello bot");
    scene.telegram.write(ANN, Some(question), "Yes: but in lower case");
    assert_eq!(process.hear(), PollResult::Messages(3));
    let (decided, count) = scene.decided(&id);
    let decided = decided.unwrap();
    assert_eq!(
        (decided.option.as_str(), decided.note.as_deref(), count),
        ("yes", Some("but in lower case"), 1)
    );
    let texts = scene.telegram.texts(501);
    let said: Vec<&str> = texts[2..].iter().map(String::as_str).collect();
    assert_eq!(
        said,
        [
            "That is no option. Possible: yes, no, skip, abort",
            "Reply to a question, or press one of its buttons.",
            "Taken: yes"
        ]
    );
    assert!(odd > 0 && scene.telegram.sent()[2].to.is_some());
}

#[test]
fn a_late_answer_is_told_that_the_terminal_was_faster() {
    let scene = Scene::new("501");
    scene.coding();
    let id = scene.question("Which greeting?");
    let mut process = scene.process();
    process.deliver_all();
    let question = scene.telegram.until_sent("Which greeting?");
    let given = Given {
        decision: id.clone(),
        option: "yes".to_owned(),
        note: None,
        by: "Test".to_owned(),
        via: "terminal".to_owned(),
    };
    scene.workspace().decide(&given, More::default()).unwrap();
    let early = scene.telegram.press(ANN, question.id, "no");
    process.hear();
    process.deliver_all();
    assert!(scene.telegram.until_sent("Which greeting?").text.contains("=> yes -- Test, "));
    let late = scene.telegram.press_data(ANN, question.id, &question.buttons[1].1);
    scene.telegram.write(ANN, Some(question.id), "no");
    process.hear();
    let toasts = scene.telegram.look(|state| state.toasts.clone());
    assert_eq!(toasts, [early, late].map(|number| (number, "Already answered: yes, by Test".to_owned())));
    assert_eq!(scene.telegram.texts(501).pop().unwrap(), "Already answered: yes, by Test");
    assert_eq!(scene.decided(&id).1, 1);
}

#[test]
fn strangers_get_no_word_and_are_remembered() {
    let scene = Scene::new("501");
    scene.coding();
    let id = scene.question("Which greeting?");
    let mut process = scene.process();
    process.deliver_all();
    let question = scene.telegram.until_sent("Which greeting?");
    scene.telegram.press_data(EVE, question.id, &question.buttons[0].1);
    scene.telegram.write(EVE, Some(question.id), "yes");
    scene.telegram.write(EVE, None, "/start");
    let before = scene.telegram.sent();
    assert_eq!(process.hear(), PollResult::Messages(3));
    assert_eq!(scene.decided(&id), (None, 0));
    assert_eq!(scene.telegram.sent(), before);
    assert!(scene.telegram.look(|state| state.toasts.is_empty()));
    let known = process.memory.listening().unwrap();
    assert_eq!((known.strangers, known.stranger.unwrap().name.as_str()), (3, "Eve"));
}

#[test]
fn a_question_that_was_answered_before_it_could_be_asked_is_not_asked() {
    let scene = Scene::new("501");
    scene.coding();
    let mut process = scene.process();
    process.deliver_all();
    let id = scene.question("Which greeting?");
    let given = Given { decision: id, option: "yes".to_owned(), by: "Test".to_owned(), ..Given::default() };
    scene.workspace().decide(&given, More::default()).unwrap();
    process.deliver_all();
    assert_eq!(scene.telegram.texts(501), ["[warp-drive] coding -- chunk 1/2 for #42 in demo"]);
}

#[test]
fn an_answer_that_comes_before_its_question_is_written_down_counts() {
    let scene = Scene::new("501");
    scene.coding();
    scene.process().deliver_all();
    let id = scene.question("Which greeting?");
    // The process that has sent the question is about to write that down.
    scene.telegram.press_data(ANN, 99, &format!("{id}:1"));
    assert_eq!(scene.process().hear(), PollResult::Messages(1));
    assert_eq!(scene.decided(&id).0.unwrap().option, "no");
}

#[test]
fn a_bridge_sends_and_listens_by_itself_and_flushes_at_its_end() {
    let scene = Scene::new("501");
    scene.coding();
    let bridge = Notifier::start(&scene.dirs, &scene.reach(), scene.of()).unwrap();
    let id = scene.question("Which greeting?");
    bridge.nudge();
    let question = scene.telegram.until_sent("Which greeting?");
    scene.telegram.until("a poll", |state| (state.polls > 0).then_some(()));
    scene.telegram.press(ANN, question.id, "no");
    scene.telegram.until("the edit", |state| state.messages.iter().any(|sent| sent.edits == 1).then_some(()));
    assert_eq!(scene.decided(&id).0.unwrap().option, "no");
    scene.events(&["abort", "abort_resolved"]);
    assert_eq!(bridge.finish(Duration::from_secs(60)), Vec::<String>::new());
    assert_eq!(
        scene.telegram.texts(501).pop().unwrap(),
        "[warp-drive] completed -- 0 commits, 0 chunks in demo"
    );
    assert_eq!(scene.process().memory.listener().unwrap(), None);
}

#[test]
fn who_cannot_be_reached_is_told_why() {
    let scene = Scene::new("501");
    let token = scene.dirs.config.join("telegram-token");
    let why = || match scene.reach() {
        AwayMode::Unreachable(why) => why,
        other @ (AwayMode::Off(_) | AwayMode::Telegram(_)) => panic!("{other:?}"),
    };
    fs::set_permissions(&token, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(why().contains("chmod 600"), "{}", why());
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&token, "secret words").unwrap();
    assert!(why().contains("no bot token") && !why().contains("secret words"), "{}", why());
    fs::remove_file(&token).unwrap();
    assert!(why().contains("put it into"), "{}", why());
    fs::write(&token, testkit::telegram::TOKEN).unwrap();
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    let config = |text: &str| fs::write(scene.dirs.config.join("config.toml"), text).unwrap();
    config("[rdb]\nenabled = true\n");
    assert!(why().contains("no chat may decide"), "{}", why());
    config("[rdb]\nenabled = true\nchats = \"@ann\"\n");
    assert!(why().contains("`@ann` is no chat id"), "{}", why());
    config("[rdb]\nenabled = true\nchats = \"1\"\napi = \"http://example.org\"\n");
    assert!(why().contains("is no address"), "{}", why());
    // A project does not say who decides, nor where.
    config("");
    fs::write(scene.root.join("warp.toml"), "[rdb]\nenabled = true\nchats = \"666\"\n").unwrap();
    assert!(why().contains("yours to set"), "{}", why());
    fs::write(scene.root.join("warp.toml"), "").unwrap();
    assert!(matches!(scene.reach(), AwayMode::Off(_)));
}

#[test]
fn what_happens_while_away_mode_is_off_is_told_by_nobody() {
    let scene = Scene::new("501");
    scene.process().deliver_all();
    let reach = scene.reach();
    scene.switch(false);
    scene.events(&["prerequisites_ok", "work_selected", "plan_ready"]);
    // Another project's run tells what others have left behind.
    let bridge = Notifier::start(&scene.dirs, &reach, scene.another()).unwrap();
    scene.telegram.until_sent("#7");
    bridge.finish(Duration::from_secs(60));
    let told =
        ["[warp-drive] prerequisites -- for #42 in demo", "[warp-drive] prerequisites -- for #7 in other"];
    assert_eq!(scene.telegram.texts(501), told);
}

#[test]
fn whoever_leaves_again_is_told_where_the_run_is_and_not_what_was_before() {
    let scene = Scene::new("501");
    scene.process().deliver_all();
    scene.switch(false);
    for event in ["prerequisites_ok", "work_selected", "plan_ready"] {
        scene.events(&[event]);
        notify::tell(&scene.place(), &scene.dirs, &scene.run);
    }
    scene.switch(true);
    notify::tell(&scene.place(), &scene.dirs, &scene.run);
    let told = ["[warp-drive] prerequisites -- for #42 in demo", "[warp-drive] chunking -- for #42 in demo"];
    assert_eq!(scene.telegram.texts(501), told);
}

#[test]
fn a_question_that_is_open_when_a_person_leaves_again_is_asked_once() {
    let scene = Scene::new("501");
    scene.coding();
    scene.process().deliver_all();
    scene.switch(false);
    scene.question("Which greeting?");
    notify::tell(&scene.place(), &scene.dirs, &scene.run);
    for _ in 0..2 {
        scene.switch(true);
        notify::tell(&scene.place(), &scene.dirs, &scene.run);
        scene.switch(false);
        notify::tell(&scene.place(), &scene.dirs, &scene.run);
    }
    let texts = scene.telegram.texts(501);
    assert_eq!(texts.len(), 2, "{texts:#?}");
    assert!(texts[1].contains("Which greeting?"), "{texts:#?}");
}

#[test]
fn what_was_recorded_before_away_mode_is_not_told_whoever_was_there_to_leave_it_out() {
    let scene = Scene::new("501");
    scene.process().deliver_all();
    scene.switch(false);
    // Nobody looks while these are recorded: the process was killed, or knew of no bot.
    scene.events(&["prerequisites_ok", "work_selected", "plan_ready"]);
    notify::pass_over_all(&scene.place(), &scene.dirs).unwrap();
    scene.switch(true);
    notify::tell(&scene.place(), &scene.dirs, &scene.run);
    let told = ["[warp-drive] prerequisites -- for #42 in demo", "[warp-drive] chunking -- for #42 in demo"];
    assert_eq!(scene.telegram.texts(501), told);
}

#[test]
fn a_run_that_is_told_about_from_its_middle_on_says_where_it_stands_and_nothing_that_is_over() {
    let scene = Scene::new("501");
    scene.switch(false);
    scene.coding();
    let id = scene.question("Which greeting?");
    let answer = Event::DecisionAnswered { decision: id, option: "yes".to_owned() };
    scene.workspace().ask(answer, Map::new()).unwrap();
    let wait = Event::Suspended { kind: WaitKind::Outage, why: "busy".to_owned(), until: None };
    scene.workspace().ask_as(Actor::Engine, wait, Map::new()).unwrap();
    scene.workspace().ask_as(Actor::Engine, Event::WaitOver, Map::new()).unwrap();
    scene.switch(true);
    notify::tell(&scene.place(), &scene.dirs, &scene.run);
    assert_eq!(scene.telegram.texts(501), ["[warp-drive] coding -- chunk 1/2 for #42 in demo"]);
}
