//! Moves of a scripted agent, and what it must have been told after each.

use std::sync::{Arc, Mutex};

use serde_json::json;
use testkit::model::{Script, Turn};

/// One turn of the agent, and what it must have been told by the time of the next.
pub(crate) struct Move {
    pub(crate) turn: Turn,
    pub(crate) told: &'static [&'static str],
}

pub(crate) fn bash(command: &str, told: &'static [&'static str]) -> Move {
    Move { turn: Turn::bash(command), told }
}

pub(crate) fn write(file: &str, content: &str, told: &'static [&'static str]) -> Move {
    Move { turn: Turn::call("Write", json!({ "file_path": file, "content": content })), told }
}

/// Plays moves one after the other; each must have been answered as expected before the next is made.
pub(crate) fn play(moves: Vec<Move>) -> (Script, Arc<Mutex<usize>>) {
    let done = Arc::new(Mutex::new(0));
    let count = Arc::clone(&done);
    let mut expected: &'static [&'static str] = &[];
    let mut moves = moves.into_iter();
    let script = Script::function(move |request| {
        let news = request.news();
        for words in expected {
            assert!(
                news.contains(words),
                "after move {}: `{words}` is not in: {news}",
                count.lock().unwrap()
            );
        }
        match moves.next() {
            Some(next) => {
                *count.lock().unwrap() += 1;
                expected = next.told;
                next.turn
            }
            None => {
                expected = &[];
                Turn::say("Everything is done.")
            }
        }
    });
    (script, done)
}
