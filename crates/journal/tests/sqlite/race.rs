//! Many connections at once, each as good as a process of its own.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use journal::{AppendError, LeaseError, SqliteStore, Store, Version, View};

use crate::support::{Place, event, events, id};

#[test]
fn of_two_writers_one_wins() {
    let place = Place::new();
    let rounds = 20;
    let barrier = Barrier::new(2);
    let write = |name: &'static str| {
        let (place, barrier) = (&place, &barrier);
        move || {
            let store = place.open();
            let mut won = 0;
            for _ in 0..rounds {
                let seen = store.load(&id("run:a")).unwrap().map_or(Version::NONE, |view| view.version);
                barrier.wait();
                match store.append(&id("run:a"), &seen, &[event(name)], View::default()) {
                    Ok(_) => won += 1,
                    Err(AppendError::Conflict { actual }) => assert_eq!(actual.events(), seen.events() + 1),
                    Err(other) => panic!("{other}"),
                }
                barrier.wait();
            }
            won
        }
    };
    let (one, two) = thread::scope(|scope| {
        let (one, two) = (scope.spawn(write("one")), scope.spawn(write("two")));
        (one.join().unwrap(), two.join().unwrap())
    });
    assert_eq!(one + two, rounds);
    let store = place.open();
    assert_eq!(events(&store).len(), rounds);
    assert!(store.verify().unwrap().is_sound());
}

#[test]
fn every_writer_who_tries_again_gets_through() {
    let place = Place::new();
    thread::scope(|scope| {
        for writer in 0..4 {
            let place = &place;
            scope.spawn(move || {
                // A store for each append, as a hook would.
                for round in 0..8 {
                    let store = place.open();
                    let event = event(&format!("{writer} {round}"));
                    let mut version = Version::NONE;
                    while let Err(error) =
                        store.append(&id("run:a"), &version, std::slice::from_ref(&event), View::default())
                    {
                        let AppendError::Conflict { actual } = error else { panic!("{error}") };
                        version = actual;
                    }
                }
            });
        }
    });
    let store = place.open();
    let mut kinds: Vec<String> = events(&store).into_iter().map(|event| event.kind).collect();
    kinds.sort();
    kinds.dedup();
    assert_eq!(kinds.len(), 32);
    assert!(store.verify().unwrap().is_sound());
}

#[test]
fn a_store_made_by_many_at_once_is_one_store() {
    for _ in 0..5 {
        let place = Place::new();
        let path = place.directory().join("deep/down/journal.db");
        thread::scope(|scope| {
            for writer in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    let store = SqliteStore::open(path).unwrap();
                    let stream = id(&format!("run:{writer}"));
                    store.append(&stream, &Version::NONE, &[event("started")], View::default()).unwrap();
                });
            }
        });
        let store = SqliteStore::open(&path).unwrap();
        assert_eq!(events(&store).len(), 4);
        assert!(store.verify().unwrap().is_sound());
    }
}

#[test]
fn of_two_owners_one_gets_the_lease() {
    let place = Place::new();
    let barrier = Barrier::new(4);
    let holders: Vec<bool> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|owner| {
                let (place, barrier) = (&place, &barrier);
                scope.spawn(move || {
                    let store = place.open();
                    barrier.wait();
                    match store.acquire("factory", &format!("owner {owner}"), 0, 10) {
                        Ok(_) => true,
                        Err(LeaseError::Held { until: 10, .. }) => false,
                        Err(other) => panic!("{other}"),
                    }
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(holders.into_iter().filter(|holds| *holds).count(), 1);
}

#[test]
fn a_stream_that_is_just_being_made_is_not_taken_for_a_damaged_one() {
    let place = Place::new();
    let rounds = 200;
    thread::scope(|scope| {
        scope.spawn(|| {
            let store = place.open();
            for round in 0..rounds {
                let stream = id(&format!("run:{round}"));
                store.append(&stream, &Version::NONE, &[event("started")], View::default()).unwrap();
            }
        });
        let store = place.open();
        for round in 0..rounds {
            let started = Instant::now();
            while store.load(&id(&format!("run:{round}"))).unwrap().is_none() {
                assert!(started.elapsed() < Duration::from_secs(60), "the writer has stopped");
            }
        }
    });
}
