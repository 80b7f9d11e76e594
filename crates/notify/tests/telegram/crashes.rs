//! A process that dies at any point loses nothing: the next one goes on.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
};

use adapters::boundary;

use crate::support::{ANN, Scene};

/// More points than any of these has.
const MOST: usize = 200;

/// What a process does from its start: it sends what is due, hears what there is, and sends what follows from that.
fn live(scene: &Scene) {
    let mut process = scene.process();
    process.deliver_all();
    process.hear();
    process.deliver_all();
}

/// Lets a process die at its point of that number; tells whether it has so many, and which it was.
fn die(scene: &Scene, at: usize) -> Option<String> {
    let (passed, died) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(None)));
    let (count, last) = (Rc::clone(&passed), Rc::clone(&died));
    boundary::watch(move |point| {
        count.set(count.get() + 1);
        if count.get() > at {
            last.set(Some(point.to_owned()));
            std::panic::resume_unwind(Box::new("died"));
        }
    });
    let lived = catch_unwind(AssertUnwindSafe(|| live(scene)));
    boundary::unwatch();
    assert_eq!(lived.is_ok(), {
        let point = died.take();
        died.set(point.clone());
        point.is_none()
    });
    died.take()
}

#[test]
fn nothing_is_lost_wherever_a_process_dies() {
    let mut points = Vec::new();
    for at in 0..MOST {
        let scene = Scene::new("501");
        scene.coding();
        let id = scene.question("Which greeting?");
        // The answer is there before the process that dies, and is not asked for again by anybody.
        scene.process().deliver_all();
        let question = scene.telegram.until_sent("Which greeting?");
        scene.telegram.press(ANN, question.id, "yes");
        let Some(point) = die(&scene, at) else { break };
        live(&scene);
        points.push(point.clone());
        let (decided, count) = scene.decided(&id);
        assert_eq!((decided.unwrap().option.as_str(), count), ("yes", 1), "{point}");
        let toasts = scene.telegram.look(|state| state.toasts.clone());
        assert!(
            !toasts.is_empty() && toasts.iter().all(|(_, text)| text == "Taken: yes"),
            "{point}: {toasts:?}"
        );
        let closed = scene.telegram.until_sent("Which greeting?");
        assert!(closed.text.contains("=> yes -- Ann"), "{point}: {}", closed.text);
        let texts = scene.telegram.texts(501);
        assert_eq!(texts.iter().filter(|text| text.contains("Which greeting?")).count(), 1, "{point}");
    }
    for point in
        ["before decision_answered", "after decision_answered", "before away_heard", "after away-post"]
    {
        assert!(points.iter().any(|passed| passed == point), "{point} is not among {points:?}");
    }
}

#[test]
fn notices_stay_in_order_wherever_a_process_dies_and_come_twice_only_if_it_died_while_sending() {
    let mut points = Vec::new();
    for at in 0..MOST {
        let scene = Scene::new("501");
        scene.process().deliver_all();
        scene.coding();
        scene.events(&["abort"]);
        let Some(point) = die(&scene, at) else { break };
        live(&scene);
        let mut texts = scene.telegram.texts(501);
        let sent = texts.len();
        texts.dedup();
        assert_eq!(
            texts,
            [
                "[warp-drive] prerequisites -- for #42 in demo",
                "[warp-drive] discovering -- for #42 in demo",
                "[warp-drive] planning -- for #42 in demo",
                "[warp-drive] chunking -- for #42 in demo",
                "[warp-drive] coding -- chunk 1/2 for #42 in demo",
                "[warp-drive] aborted -- chunk 1/2 for #42 in demo",
            ],
            "{point}"
        );
        let twice = usize::from(point == "after away-post" || point == "before away_posted");
        assert_eq!(sent, texts.len() + twice, "{point}");
        points.push(point);
    }
    assert!(points.len() > 20, "{points:?}");
}
