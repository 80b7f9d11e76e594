//! Waiting for what others append.

use std::os::fd::AsFd as _;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use journal::Store;
use journal::sqlite::{Scope, Watch};

use crate::support::{Place, append, id};

/// Longer than any test should take: reaching it is a failure.
const LONG: Duration = Duration::from_secs(30);

#[test]
fn a_watch_wakes_for_another_connections_append() {
    let place = Place::new();
    let mut watch = Watch::open(place.path(), Scope::Store).unwrap();
    thread::scope(|scope| {
        // The writer appends only when told to, and is told each time the watch has seen the last one.
        let (tell, told) = mpsc::channel();
        let place = &place;
        scope.spawn(move || {
            let mut store = place.open();
            for () in told {
                append(&mut store, "run:a", &["something"]);
            }
        });
        let mut after = 0;
        for round in 0..20 {
            tell.send(()).unwrap();
            let events = watch.wait(after, LONG).unwrap();
            assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), [round]);
            after = events[0].position;
        }
        drop(tell);
    });
}

#[test]
fn a_watch_returns_at_once_what_is_there() {
    let place = Place::new();
    append(&mut place.open(), "run:a", &["a", "b", "c"]);
    let mut watch = Watch::open(place.path(), Scope::Store).unwrap();
    let events = watch.wait(0, LONG).unwrap();
    assert_eq!(events.len(), 3);
    assert_eq!(watch.wait(events[1].position, LONG).unwrap(), events[2..]);
}

#[test]
fn a_watch_that_sees_nothing_returns_nothing() {
    let place = Place::new();
    let mut watch = Watch::open(place.path(), Scope::Stream(id("run:a"))).unwrap();
    assert_eq!(watch.wait(0, Duration::ZERO).unwrap(), []);
    assert_eq!(watch.wait(0, Duration::from_millis(1)).unwrap(), []);
}

#[test]
fn a_watch_of_one_stream_is_not_told_of_others() {
    let place = Place::new();
    let mut store = place.open();
    let mut watch = Watch::open(place.path(), Scope::Stream(id("run:b"))).unwrap();
    append(&mut store, "run:a", &["a"]);
    assert_eq!(watch.wait(0, Duration::ZERO).unwrap(), []);
    append(&mut store, "run:b", &["b"]);
    append(&mut store, "run:a", &["c"]);
    append(&mut store, "run:b", &["d", "e"]);
    let kinds = |events: Vec<journal::StoredEvent>| -> Vec<String> {
        events.into_iter().map(|event| event.kind).collect()
    };
    let all = watch.wait(0, LONG).unwrap();
    assert_eq!(kinds(all.clone()), ["b", "d", "e"]);
    assert_eq!(kinds(watch.wait(all[0].position, LONG).unwrap()), ["d", "e"]);
    assert_eq!(kinds(watch.wait(all[0].position + 1, LONG).unwrap()), ["d", "e"]);
    assert_eq!(kinds(watch.wait(all[1].position, LONG).unwrap()), ["e"]);
    assert_eq!(watch.wait(all[2].position, Duration::ZERO).unwrap(), []);
}

#[test]
fn a_long_stream_is_returned_in_batches_without_a_gap() {
    let place = Place::new();
    let mut store = place.open();
    let kinds: Vec<String> = (0..2500).map(|number| number.to_string()).collect();
    append(&mut store, "run:a", &kinds.iter().map(String::as_str).collect::<Vec<_>>());
    for scope in [Scope::Store, Scope::Stream(id("run:a"))] {
        let mut watch = Watch::open(place.path(), scope).unwrap();
        let (mut seen, mut after) = (Vec::new(), 0);
        while seen.len() < kinds.len() {
            let events = watch.wait(after, LONG).unwrap();
            after = events.last().unwrap().position;
            seen.extend(events.into_iter().map(|event| event.kind));
        }
        assert_eq!(seen, kinds);
    }
}

#[test]
fn the_descriptor_becomes_readable_with_an_append_and_not_before() {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let place = Place::new();
    let mut store = place.open();
    let mut watch = Watch::open(place.path(), Scope::Store).unwrap();
    let is_ready = |watch: &Watch| {
        let mut fds = [PollFd::from_borrowed_fd(watch.as_fd(), PollFlags::IN)];
        poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap() > 0
    };
    assert!(!is_ready(&watch));
    // Other files of the directory do not wake it.
    std::fs::write(place.directory().join("head.json"), "{}").unwrap();
    store.views().unwrap();
    assert!(!is_ready(&watch));
    append(&mut store, "run:a", &["a"]);
    assert!(is_ready(&watch));
    assert_eq!(watch.wait(0, Duration::ZERO).unwrap().len(), 1);
    assert!(!is_ready(&watch));
}
