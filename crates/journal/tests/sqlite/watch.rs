//! Waiting for what other processes append: other connections are as good.

use std::time::Duration;

use journal::{Scope, Store as _};

use crate::support::{Place, append};

/// Longer than any test should take: reaching it is a failure.
const LONG: Duration = Duration::from_secs(30);

#[test]
fn a_watch_wakes_for_another_connections_append() {
    let place = Place::new();
    let mut watch = place.open().watch(Scope::Store, 0).unwrap();
    let other = place.open();
    for round in 0..20 {
        append(&other, "run:a", &["something"]);
        let events = watch.wait(LONG).unwrap();
        assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), [round]);
    }
}

#[test]
fn a_watch_keeps_the_store_open() {
    let place = Place::new();
    let store = place.open();
    let mut watch = store.watch(Scope::Store, 0).unwrap();
    append(&store, "run:a", &["a"]);
    drop(store);
    assert_eq!(watch.wait(LONG).unwrap().len(), 1);
    assert!(journal::sqlite::repair(place.path(), place.aside(), 0).is_err());
    drop(watch);
    journal::sqlite::repair(place.path(), place.aside(), 0).unwrap();
}
