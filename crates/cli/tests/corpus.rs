//! Small projects of every kind that people have. In each of them right work is merged, and work that breaks a source
//! file is not, at level 3 and with nobody there to answer.
//!
//! The projects are made here, and so is all that they depend on: nothing is downloaded. What a machine lacks is said
//! and counted as skipped. The table of outcomes is printed.

mod ground;
mod index;
mod other;
mod python;
mod shape;
mod web;

use std::{
    io::Write as _,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use ground::{Outcome, try_out};
use shape::Shape;

/// How many projects are tried at once: most of the time one waits for a process.
const AT_ONCE: usize = 3;

#[test]
fn right_work_is_merged_and_broken_work_never_is() {
    if !testkit::machine::has_walls_or_skip() {
        return;
    }
    let shapes: Vec<Shape> = [python::shapes(), web::shapes(), other::shapes()].concat();
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(shape) = shapes.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = try_out(shape);
                    outcomes.lock().unwrap().push(outcome);
                }
            });
        }
    });
    let mut outcomes = outcomes.into_inner().unwrap();
    outcomes.sort_by_key(|outcome| shapes.iter().position(|shape| shape.name == outcome.name));
    print(&outcomes);
    let wrong: Vec<&str> = outcomes.iter().filter_map(|outcome| outcome.wrong.as_deref()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let tried = outcomes.iter().filter(|outcome| outcome.skipped.is_none()).count();
    assert!(tried >= 8, "only {tried} of {} projects could be tried", outcomes.len());
}

/// Prints the table past the test runner, which swallows what passing tests print.
fn print(outcomes: &[Outcome]) {
    let mut text = format!("\n{:<38} {:<28} broken work\n", "project", "right work");
    for outcome in outcomes {
        text.push_str(&match &outcome.skipped {
            Some(why) => format!("skipped: {}: {why}\n", outcome.name),
            None => format!("{:<38} {:<28} {}\n", outcome.name, outcome.right, outcome.broken),
        });
    }
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).unwrap();
}
