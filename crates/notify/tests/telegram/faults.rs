//! What goes wrong on the way, and that it is made good in order.

use std::time::{Duration, Instant};

use notify::{DeliveryResult, Notifier, PollResult, Trouble};
use serde_json::json;
use testkit::telegram::Fault;

use crate::support::{ANN, Scene};

#[test]
fn what_is_refused_for_now_is_sent_later_and_in_order() {
    let scene = Scene::new("501");
    let mut process = scene.process();
    process.deliver_all();
    scene.coding();
    for fault in [Fault::TooMany(3), Fault::Lost, Fault::BadGateway] {
        scene.telegram.fail("sendMessage", fault);
        let wait = (fault == Fault::TooMany(3)).then_some(Duration::from_secs(3));
        match process.deliver() {
            DeliveryResult::Later { wait: found, why } => assert_eq!(found, wait, "{why}"),
            other @ (DeliveryResult::All | DeliveryResult::Elsewhere | DeliveryResult::Never(_)) => {
                panic!("{other:?}")
            }
        }
    }
    process.deliver_all();
    assert_eq!(
        scene.telegram.texts(501),
        [
            "[warp-drive] prerequisites -- for #42 in demo",
            "[warp-drive] discovering -- for #42 in demo",
            "[warp-drive] planning -- for #42 in demo",
            "[warp-drive] chunking -- for #42 in demo",
            "[warp-drive] coding -- chunk 1/2 for #42 in demo",
        ]
    );
}

#[test]
fn what_cannot_be_sent_at_the_end_is_left_to_whoever_comes_next() {
    let scene = Scene::new("501");
    scene.coding();
    scene.telegram.fail("sendMessage", Fault::TooMany(3600));
    let bridge = Notifier::start(&scene.dirs, &scene.reach(), scene.of()).unwrap();
    let is_sending = |(method, _): &(String, _)| method == "sendMessage";
    scene.telegram.until("a call", |state| state.calls.iter().any(is_sending).then_some(()));
    bridge.finish(Duration::ZERO);
    // It does not go on for the hour that it would have to wait.
    let (mut process, until) = (scene.process(), Instant::now() + Duration::from_secs(60));
    while process.deliver() == DeliveryResult::Elsewhere {
        assert!(Instant::now() < until, "it is still there");
        std::thread::yield_now();
    }
    assert_eq!(scene.telegram.texts(501), ["[warp-drive] coding -- chunk 1/2 for #42 in demo"]);
}

#[test]
fn what_happens_before_anything_can_be_sent_is_told_from_the_start_on() {
    let scene = Scene::new("501");
    let bridge = Notifier::start(&scene.dirs, &scene.reach(), scene.of()).unwrap();
    scene.coding();
    bridge.nudge();
    scene.telegram.until_sent("coding");
    bridge.finish(Duration::from_secs(60));
    assert_eq!(
        scene.telegram.texts(501),
        [
            "[warp-drive] prerequisites -- for #42 in demo",
            "[warp-drive] discovering -- for #42 in demo",
            "[warp-drive] planning -- for #42 in demo",
            "[warp-drive] chunking -- for #42 in demo",
            "[warp-drive] coding -- chunk 1/2 for #42 in demo",
        ]
    );
}

#[test]
fn a_message_whose_answer_is_lost_comes_again_rather_than_never() {
    let scene = Scene::new("501");
    scene.coding();
    scene.telegram.fail("sendMessage", Fault::Unanswered);
    let mut process = scene.process();
    assert!(matches!(process.deliver(), DeliveryResult::Later { .. }));
    process.deliver_all();
    assert_eq!(scene.telegram.texts(501), ["[warp-drive] coding -- chunk 1/2 for #42 in demo"; 2]);
}

#[test]
fn a_chat_that_has_blocked_the_bot_does_not_keep_the_others_from_being_told() {
    let scene = Scene::new("501,502");
    scene.telegram.block(501);
    scene.coding();
    let mut process = scene.process();
    process.deliver_all();
    assert_eq!(scene.telegram.texts(502), ["[warp-drive] coding -- chunk 1/2 for #42 in demo"]);
    assert_eq!(process.notes.len(), 1);
    assert!(
        process.notes[0].contains("501 was not told") && process.notes[0].contains("blocked"),
        "{:?}",
        process.notes
    );
}

#[test]
fn of_two_who_poll_one_is_told_that_the_other_does() {
    let scene = Scene::new("501");
    scene.telegram.fail("getUpdates", Fault::Conflict);
    let heard = scene.process().hear();
    assert!(
        matches!(&heard, PollResult::Trouble(Trouble::Rival(why)) if why.contains("another program polls")),
        "{heard:?}"
    );
    scene.telegram.fail("getUpdates", Fault::TooMany(5));
    let wait = Some(Duration::from_secs(5));
    assert!(
        matches!(scene.process().hear(), PollResult::Trouble(Trouble::Later { wait: found, .. }) if found == wait)
    );
    scene.telegram.fail("getUpdates", Fault::Lost);
    assert!(matches!(scene.process().hear(), PollResult::Trouble(Trouble::Later { wait: None, .. })));
}

#[test]
fn that_another_program_polls_is_said_once_and_the_answer_is_heard_all_the_same() {
    let scene = Scene::new("501");
    scene.coding();
    let id = scene.question("Which greeting?");
    scene.telegram.fail("getUpdates", Fault::Conflict);
    scene.telegram.fail("getUpdates", Fault::Conflict);
    let bridge = Notifier::start(&scene.dirs, &scene.reach(), scene.of()).unwrap();
    let question = scene.telegram.until_sent("Which greeting?");
    scene.telegram.until("both conflicts", |state| (state.conflicts == 2 && state.polls > 0).then_some(()));
    let trouble = scene.process().memory.listening().unwrap().trouble.unwrap().0;
    assert!(trouble.contains("another program polls"), "{trouble}");
    scene.telegram.press(ANN, question.id, "no");
    scene.telegram.until("the edit", |state| state.messages.iter().any(|sent| sent.edits == 1).then_some(()));
    let notes = bridge.finish(Duration::from_secs(60));
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("another program polls"), "{notes:?}");
    assert_eq!(scene.decided(&id).1, 1);
    assert_eq!(scene.process().memory.listening().unwrap().trouble, None);
}

#[test]
fn updates_that_come_twice_or_out_of_order_do_no_harm() {
    let scene = Scene::new("501");
    scene.coding();
    let id = scene.question("Which greeting?");
    let mut process = scene.process();
    process.deliver_all();
    let question = scene.telegram.until_sent("Which greeting?");
    scene.telegram.reverse();
    let odd = scene.telegram.update("something_new", json!({ "a": [1] }));
    let first = scene.telegram.press(ANN, question.id, "yes");
    let second = scene.telegram.press(ANN, question.id, "no");
    assert_eq!(process.hear(), PollResult::Messages(3));
    for number in [odd, first, second, first] {
        scene.telegram.repeat(number);
    }
    assert_eq!(process.hear(), PollResult::Messages(0));
    scene.telegram.repeat(first);
    assert_eq!(scene.process().hear(), PollResult::Messages(0));
    let (decided, count) = scene.decided(&id);
    assert_eq!((decided.unwrap().option.as_str(), count), ("yes", 1));
    let toasts = scene.telegram.look(|state| state.toasts.clone());
    assert_eq!(
        toasts,
        [(first, "Taken: yes".to_owned()), (second, "Already answered: yes, by Ann".to_owned())]
    );
    assert_eq!(scene.telegram.look(|state| state.offset), second + 1);
}

#[test]
fn an_update_that_was_overtaken_is_still_heard() {
    let scene = Scene::new("501");
    scene.coding();
    let id = scene.question("Which greeting?");
    let mut process = scene.process();
    process.deliver_all();
    let question = scene.telegram.until_sent("Which greeting?");
    let early = scene.telegram.press(ANN, question.id, "yes");
    scene.telegram.hold(early);
    let late = scene.telegram.write(ANN, None, "hello");
    assert_eq!(process.hear(), PollResult::Messages(1));
    assert_eq!(process.memory.listening().unwrap().next, late + 1);
    scene.telegram.repeat(early);
    assert_eq!(process.hear(), PollResult::Messages(1));
    assert_eq!(scene.decided(&id).1, 1);
    assert_eq!(process.memory.listening().unwrap().next, late + 1);
}

#[test]
fn a_token_that_is_not_accepted_ends_it() {
    let scene = Scene::new("501");
    scene.coding();
    std::fs::write(scene.dirs.config.join("telegram-token"), "7001:another-token-of-the-bot").unwrap();
    match scene.process().deliver() {
        DeliveryResult::Never(why) => {
            assert!(why.contains("token") && !why.contains("another-token"), "{why}")
        }
        other @ (DeliveryResult::All | DeliveryResult::Elsewhere | DeliveryResult::Later { .. }) => {
            panic!("{other:?}")
        }
    }
}
