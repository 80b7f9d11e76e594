//! What every store promises, shown on each of them.

#![expect(clippy::unwrap_used, reason = "a test has no better way to fail")]

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use journal::{
    AppendError, FencedStore, Lease, LeaseError, MemoryStore, NewEvent, Query, Scope, SqliteStore, Store,
    StoreError, StoredEvent, StreamId, StreamView, Version, View,
};

/// Longer than any test should take: reaching it is a failure.
const LONG: Duration = Duration::from_secs(30);

/// Runs one test on both stores.
macro_rules! on_both_stores {
    ($($name:ident),+ $(,)?) => {
        mod memory {
            $(#[test] fn $name() { super::$name(&super::MemoryStore::new()); })+
        }
        mod sqlite {
            $(#[test] fn $name() {
                let directory = tempfile::tempdir().unwrap();
                super::$name(&super::SqliteStore::open(directory.path().join("journal.db")).unwrap());
            })+
        }
    };
}

on_both_stores!(
    an_empty_store_has_nothing,
    events_come_back_as_they_were_given,
    an_append_without_events_is_refused,
    a_second_writer_of_the_same_version_is_told_where_the_stream_is,
    a_version_of_another_stream_does_not_fit,
    a_version_of_a_missing_stream_conflicts_with_nothing_there,
    a_refused_append_changes_nothing,
    a_mark_finds_its_stream_until_it_is_given_up,
    a_mark_belongs_to_one_stream_at_a_time,
    a_conflict_is_told_before_a_taken_mark,
    views_come_most_recent_first,
    views_can_be_asked_for_by_topic,
    streams_can_be_asked_for_by_the_beginning_of_their_names,
    streams_can_be_asked_for_by_the_beginning_of_their_marks,
    reading_goes_on_where_it_stopped,
    the_store_is_read_in_the_order_of_appending,
    a_record_ends_with_its_append,
    odd_texts_and_bytes_survive,
    a_lease_is_held_by_one_owner,
    an_owner_who_comes_again_keeps_the_generation,
    a_lease_that_ran_out_gets_another_generation,
    a_generation_never_comes_back,
    a_stale_generation_neither_renews_nor_releases,
    a_lease_that_nobody_took_can_be_renewed_late,
    an_append_under_a_lost_lease_is_refused,
    a_listener_is_called_after_appends_until_it_is_dropped,
    a_stream_is_found_with_its_version_and_mark,
    what_was_appended_can_be_flushed,
    one_store_serves_many_threads,
    a_watch_wakes_for_an_append,
    a_watch_returns_at_once_what_is_there,
    a_watch_that_sees_nothing_returns_nothing,
    a_watch_of_one_stream_is_not_told_of_others,
    a_long_stream_is_returned_in_batches_without_a_gap,
);

fn stream(name: &str) -> StreamId {
    StreamId::parse(name).unwrap()
}

fn event(at: i64, kind: &str) -> NewEvent {
    NewEvent { at, kind: kind.into(), body: format!(r#"{{"kind":"{kind}"}}"#).into_bytes() }
}

fn append(store: &dyn Store, name: &str, kinds: &[&str], view: View<'_>) -> Version {
    let stream = stream(name);
    let version = store.load(&stream).unwrap().map_or(Version::NONE, |view| view.version);
    let events: Vec<NewEvent> =
        (1..).zip(kinds).map(|(number, kind)| event(version.events() as i64 + number, kind)).collect();
    store.append(&stream, &version, &events, view).unwrap()
}

fn marked(mark: &str) -> View<'_> {
    View { mark: Some(mark), ..View::default() }
}

fn about(topic: &str) -> View<'_> {
    View { topic: Some(topic), ..View::default() }
}

fn holder(store: &dyn Store, mark: &str) -> Option<StreamView> {
    store.views(Query::Mark(mark)).unwrap().pop()
}

fn kinds(store: &dyn Store, name: &str) -> Vec<String> {
    store.read(Scope::Stream(&stream(name)), 0, 100).unwrap().into_iter().map(|event| event.kind).collect()
}

fn an_empty_store_has_nothing(store: &dyn Store) {
    assert_eq!(store.load(&stream("run:a")).unwrap(), None);
    assert_eq!(holder(store, "a mark"), None);
    assert_eq!(store.views(Query::Names("")).unwrap(), []);
    assert_eq!(store.views(Query::Topic("a topic")).unwrap(), []);
    assert_eq!(store.read(Scope::Stream(&stream("run:a")), 0, 10).unwrap(), []);
    assert_eq!(store.read(Scope::Store, 0, 10).unwrap(), []);
    assert_eq!(store.last_position().unwrap(), 0);
    assert_eq!(store.lease("a lease").unwrap(), None);
}

fn events_come_back_as_they_were_given(store: &dyn Store) {
    let id = stream("run:a");
    let given = [event(10, "run_started"), event(20, "phase_entered")];
    let view = View { snapshot: b"{}", mark: Some("here"), topic: Some("issue:42") };
    let version = store.append(&id, &Version::NONE, &given, view).unwrap();
    assert_eq!(version.events(), 2);

    let stored = store.read(Scope::Stream(&id), 0, 10).unwrap();
    let back: Vec<NewEvent> = stored
        .iter()
        .map(|event| NewEvent { at: event.at, kind: event.kind.clone(), body: event.body.clone() })
        .collect();
    assert_eq!(back, given);
    assert_eq!(stored.iter().map(|event| event.seq).collect::<Vec<_>>(), [0, 1]);
    assert!(stored.iter().all(|event| event.stream == id));

    let view = store.load(&id).unwrap().unwrap();
    assert_eq!(view.stream, id);
    assert_eq!(view.version, version);
    assert_eq!(view.snapshot, b"{}");
    assert_eq!(view.mark.as_deref(), Some("here"));
    assert_eq!(view.topic.as_deref(), Some("issue:42"));
    assert_eq!(view.updated_at, 20);
    assert_eq!(view.position, stored[1].position);
}

fn an_append_without_events_is_refused(store: &dyn Store) {
    let outcome = store.append(&stream("run:a"), &Version::NONE, &[], View::default());
    assert!(matches!(outcome, Err(AppendError::NoEvents)));
    assert_eq!(store.views(Query::Names("")).unwrap(), []);
}

fn a_second_writer_of_the_same_version_is_told_where_the_stream_is(store: &dyn Store) {
    let id = stream("run:a");
    let seen = append(store, "run:a", &["started"], View::default());
    let won = store.append(&id, &seen, &[event(2, "mine")], View::default()).unwrap();
    match store.append(&id, &seen, &[event(2, "yours")], View::default()) {
        Err(AppendError::Conflict { actual }) => assert_eq!(actual, won),
        other => panic!("{other:?}"),
    }
    assert_eq!(kinds(store, "run:a"), ["started", "mine"]);
}

fn a_version_of_another_stream_does_not_fit(store: &dyn Store) {
    let actual = append(store, "run:a", &["started"], View::default());
    let other = append(store, "run:b", &["started"], View::default());
    assert_eq!(actual.events(), other.events());
    let outcome = store.append(&stream("run:a"), &other, &[event(2, "wrong")], View::default());
    assert!(matches!(outcome, Err(AppendError::Conflict { actual: told }) if told == actual));
    assert_eq!(kinds(store, "run:a"), ["started"]);
}

fn a_version_of_a_missing_stream_conflicts_with_nothing_there(store: &dyn Store) {
    let version = append(store, "run:a", &["started"], View::default());
    let outcome = store.append(&stream("run:b"), &version, &[event(2, "wrong")], View::default());
    assert!(matches!(outcome, Err(AppendError::Conflict { actual: Version::NONE })));
    let outcome = store.append(&stream("run:a"), &Version::NONE, &[event(2, "wrong")], View::default());
    assert!(matches!(outcome, Err(AppendError::Conflict { actual }) if actual == version));
}

fn a_refused_append_changes_nothing(store: &dyn Store) {
    append(store, "run:a", &["started"], marked("taken"));
    append(store, "run:b", &["started"], View { snapshot: b"old", ..marked("mine") });
    let before = (
        store.views(Query::Names("")).unwrap(),
        store.read(Scope::Store, 0, 100).unwrap(),
        store.last_position().unwrap(),
    );
    let version = before.0[0].version.clone();
    let view = View { snapshot: b"new", ..marked("taken") };
    store.append(&stream("run:b"), &version, &[event(5, "x"), event(6, "y")], view).unwrap_err();
    store.append(&stream("run:c"), &Version::NONE, &[event(5, "x")], view).unwrap_err();
    store.append(&stream("run:b"), &Version::NONE, &[event(5, "x")], marked("free")).unwrap_err();
    let after = (
        store.views(Query::Names("")).unwrap(),
        store.read(Scope::Store, 0, 100).unwrap(),
        store.last_position().unwrap(),
    );
    assert_eq!(before, after);
}

fn a_mark_finds_its_stream_until_it_is_given_up(store: &dyn Store) {
    append(store, "run:a", &["started"], marked("workspace"));
    assert_eq!(holder(store, "workspace").unwrap().stream, stream("run:a"));
    append(store, "run:a", &["moved"], marked("elsewhere"));
    assert_eq!(holder(store, "workspace"), None);
    assert_eq!(holder(store, "elsewhere").unwrap().stream, stream("run:a"));
    append(store, "run:a", &["finished"], View::default());
    assert_eq!(holder(store, "elsewhere"), None);
}

fn a_mark_belongs_to_one_stream_at_a_time(store: &dyn Store) {
    append(store, "run:a", &["started"], marked("workspace"));
    match store.append(&stream("run:b"), &Version::NONE, &[event(1, "started")], marked("workspace")) {
        Err(AppendError::MarkTaken { mark, holder }) => {
            assert_eq!((mark.as_str(), holder), ("workspace", stream("run:a")));
        }
        other => panic!("{other:?}"),
    }
    append(store, "run:a", &["finished"], View::default());
    append(store, "run:b", &["started"], marked("workspace"));
    assert_eq!(holder(store, "workspace").unwrap().stream, stream("run:b"));
}

fn a_conflict_is_told_before_a_taken_mark(store: &dyn Store) {
    append(store, "run:a", &["started"], marked("workspace"));
    append(store, "run:b", &["started"], View::default());
    let outcome =
        store.append(&stream("run:b"), &Version::NONE, &[event(1, "x")], marked("workspace")).unwrap_err();
    assert!(matches!(outcome, AppendError::Conflict { .. }));
}

fn views_come_most_recent_first(store: &dyn Store) {
    for name in ["run:a", "run:b", "run:c", "run:a"] {
        append(store, name, &["something"], View::default());
    }
    let order: Vec<StreamId> =
        store.views(Query::Names("")).unwrap().into_iter().map(|view| view.stream).collect();
    assert_eq!(order, [stream("run:a"), stream("run:c"), stream("run:b")]);
}

fn views_can_be_asked_for_by_topic(store: &dyn Store) {
    append(store, "run:a", &["started"], about("issue:1"));
    append(store, "run:b", &["started"], about("issue:2"));
    append(store, "run:c", &["started"], about("issue:1"));
    append(store, "project", &["opened"], View::default());
    let named = |store: &dyn Store, topic| -> Vec<String> {
        store.views(Query::Topic(topic)).unwrap().into_iter().map(|view| view.stream.to_string()).collect()
    };
    assert_eq!(named(store, "issue:1"), ["run:c", "run:a"]);
    append(store, "run:c", &["moved"], about("issue:2"));
    assert_eq!(named(store, "issue:1"), ["run:a"]);
    assert_eq!(named(store, "issue:2"), ["run:c", "run:b"]);
}

fn streams_can_be_asked_for_by_the_beginning_of_their_names(store: &dyn Store) {
    for name in ["item:09", "run:z", "item:10", "items", "item", "item:02", "Item:99"] {
        append(store, name, &["opened"], about("open"));
    }
    let named: Vec<String> =
        store.views(Query::Names("item:")).unwrap().into_iter().map(|view| view.stream.to_string()).collect();
    assert_eq!(named, ["item:02", "item:10", "item:09"]);
    let found = |query| -> Vec<String> {
        store.find(query).unwrap().into_iter().map(|head| head.stream.to_string()).collect()
    };
    assert_eq!(found(Query::Names("item:")), named);
    assert_eq!(found(Query::LastName("item:")), ["item:10"]);
    assert_eq!(found(Query::LastName("pull:")), [""; 0]);
    assert_eq!((found(Query::Topic("open")).len(), found(Query::Topic("closed")).len()), (7, 0));
}

fn streams_can_be_asked_for_by_the_beginning_of_their_marks(store: &dyn Store) {
    let marks = ["file:todo:4:a", "file:todo:42:a", "file:todo:4:\u{fc}", "file:todo:4", "/home/a"];
    for (number, mark) in marks.into_iter().enumerate() {
        append(store, &format!("item:{number}"), &["opened"], marked(mark));
    }
    append(store, "item:9", &["opened"], View::default());
    let begun_with = |prefix| -> Vec<String> {
        store.views(Query::Marks(prefix)).unwrap().into_iter().map(|view| view.stream.to_string()).collect()
    };
    assert_eq!(begun_with("file:todo:4:"), ["item:2", "item:0"]);
    assert_eq!(begun_with("file:todo:5:"), [""; 0]);
}

fn reading_goes_on_where_it_stopped(store: &dyn Store) {
    append(store, "run:a", &["a", "b", "c"], View::default());
    append(store, "run:a", &["d"], View::default());
    let id = stream("run:a");
    let read = |from, limit| -> Vec<String> {
        store.read(Scope::Stream(&id), from, limit).unwrap().into_iter().map(|event| event.kind).collect()
    };
    assert_eq!(read(0, 2), ["a", "b"]);
    assert_eq!(read(2, 2), ["c", "d"]);
    assert_eq!(read(3, 10), ["d"]);
    assert!(read(4, 10).is_empty());
    assert!(read(u64::MAX, 10).is_empty());
    assert!(read(0, 0).is_empty());
    assert_eq!(read(0, usize::MAX).len(), 4);
}

fn the_store_is_read_in_the_order_of_appending(store: &dyn Store) {
    append(store, "run:b", &["a"], View::default());
    append(store, "run:a", &["b", "c"], View::default());
    append(store, "run:b", &["d"], View::default());
    let all = store.read(Scope::Store, 0, 10).unwrap();
    assert_eq!(all.iter().map(|event| event.kind.as_str()).collect::<Vec<_>>(), ["a", "b", "c", "d"]);
    assert!(all.is_sorted_by(|a, b| a.position < b.position));
    assert!(all[0].position > 0);
    assert_eq!(store.read(Scope::Store, 0, 2).unwrap(), all[..2]);
    assert_eq!(store.read(Scope::Store, all[1].position, 10).unwrap(), all[2..]);
    assert_eq!(store.last_position().unwrap(), all[3].position);
    assert_eq!(store.read(Scope::Store, all[3].position, 10).unwrap(), []);
}

fn a_record_ends_with_its_append(store: &dyn Store) {
    append(store, "run:a", &["a", "b", "c"], View::default());
    append(store, "run:a", &["d"], View::default());
    let records: Vec<(u64, u64)> = store
        .read(Scope::Stream(&stream("run:a")), 0, 10)
        .unwrap()
        .iter()
        .map(|event| (event.seq, event.record))
        .collect();
    assert_eq!(records, [(0, 2), (1, 2), (2, 2), (3, 3)]);
}

fn odd_texts_and_bytes_survive(store: &dyn Store) {
    let id = stream(&"x".repeat(200));
    let odd = "\u{0}quote ' \" \u{1F680} line\nend";
    let events = [NewEvent { at: i64::MIN, kind: odd.into(), body: (0..=255).collect() }];
    let view = View { snapshot: &[0, 255, 0], mark: Some(odd), topic: Some("") };
    store.append(&id, &Version::NONE, &events, view).unwrap();
    let found = holder(store, odd).unwrap();
    assert_eq!((found.mark.as_deref(), found.topic.as_deref()), (Some(odd), Some("")));
    assert_eq!(found.snapshot, [0, 255, 0]);
    let stored = store.read(Scope::Stream(&id), 0, 1).unwrap().remove(0);
    assert_eq!((stored.at, stored.kind.as_str(), stored.body.len()), (i64::MIN, odd, 256));
}

fn a_lease_is_held_by_one_owner(store: &dyn Store) {
    let lease = store.acquire("factory", "one", 100, 200).unwrap();
    assert_eq!((lease.owner.as_str(), lease.expires_at), ("one", 200));
    match store.acquire("factory", "two", 199, 300) {
        Err(LeaseError::Held { name, owner, until }) => {
            assert_eq!((name.as_str(), owner.as_str(), until), ("factory", "one", 200));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(store.lease("factory").unwrap(), Some(lease));
    store.acquire("another", "two", 199, 300).unwrap();
}

fn an_owner_who_comes_again_keeps_the_generation(store: &dyn Store) {
    let first = store.acquire("factory", "one", 100, 200).unwrap();
    let again = store.acquire("factory", "one", 150, 400).unwrap();
    assert_eq!(again.generation, first.generation);
    assert_eq!(again.expires_at, 400);
    let renewed = store.renew("factory", first.generation, 500).unwrap();
    assert_eq!((renewed.generation, renewed.expires_at), (first.generation, 500));
    assert_eq!(store.lease("factory").unwrap(), Some(renewed));
}

fn a_lease_that_ran_out_gets_another_generation(store: &dyn Store) {
    let first = store.acquire("factory", "one", 100, 200).unwrap();
    let second = store.acquire("factory", "two", 200, 300).unwrap();
    assert!(second.generation > first.generation);
    let third = store.acquire("factory", "two", 300, 400).unwrap();
    assert!(third.generation > second.generation);
}

fn a_generation_never_comes_back(store: &dyn Store) {
    let mut last = 0;
    for round in 0..3 {
        let lease = store.acquire("factory", "one", round, 1000).unwrap();
        assert!(lease.generation > last);
        last = lease.generation;
        store.release("factory", last).unwrap();
        assert_eq!(store.lease("factory").unwrap(), None);
    }
}

fn a_stale_generation_neither_renews_nor_releases(store: &dyn Store) {
    let first = store.acquire("factory", "one", 100, 200).unwrap();
    let second = store.acquire("factory", "two", 200, 300).unwrap();
    for generation in [first.generation, second.generation + 1] {
        assert!(matches!(store.renew("factory", generation, 900), Err(LeaseError::Stale { .. })));
        assert!(matches!(store.release("factory", generation), Err(LeaseError::Stale { .. })));
    }
    assert!(matches!(store.renew("nothing", 1, 900), Err(LeaseError::Stale { .. })));
    assert_eq!(store.lease("factory").unwrap(), Some(second.clone()));
    store.release("factory", second.generation).unwrap();
    assert!(matches!(store.release("factory", second.generation), Err(LeaseError::Stale { .. })));
}

fn a_lease_that_nobody_took_can_be_renewed_late(store: &dyn Store) {
    let lease = store.acquire("factory", "one", 100, 200).unwrap();
    assert_eq!(store.renew("factory", lease.generation, 900).unwrap().generation, lease.generation);
    assert!(matches!(store.acquire("factory", "two", 500, 999), Err(LeaseError::Held { until: 900, .. })));
}

fn an_append_under_a_lost_lease_is_refused(store: &dyn Store) {
    let (id, event) = (stream("run:a"), [event(1, "started")]);
    let under = |lease: &Lease, version: &Version| {
        store.append_under(Some(&lease.fence()), &id, version, &event, View::default())
    };
    let first = store.acquire("issue:1", "one", 100, 200).unwrap();
    // One that has run out is its holder's until somebody else takes it.
    let version = under(&first, &Version::NONE).unwrap();
    let second = store.acquire("issue:1", "two", 200, 300).unwrap();
    let is_stale = |outcome| matches!(outcome, Err(AppendError::Store(StoreError::Stale { .. })));
    assert!(is_stale(under(&first, &version)));
    let version = under(&second, &version).unwrap();
    store.release("issue:1", second.generation).unwrap();
    assert!(is_stale(under(&second, &version)));
    assert_eq!(store.load(&id).unwrap().unwrap().version, version);
}

#[test]
fn whoever_has_lost_the_lease_appends_nothing_and_gets_no_leave_to_act() {
    let shared: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let fenced = FencedStore::of(Arc::clone(&shared));
    append(&fenced, "run:a", &["started"], View::default());
    fenced.set(Some(shared.acquire("issue:1", "one", 100, 200).unwrap().fence()));
    let version = append(&fenced, "run:a", &["moved"], View::default());
    fenced.flush().unwrap();
    shared.acquire("issue:1", "two", 200, 300).unwrap();
    assert!(matches!(fenced.flush(), Err(StoreError::Stale { .. })));
    let late = fenced.append(&stream("run:a"), &version, &[event(1, "merged")], View::default());
    assert!(matches!(late, Err(AppendError::Store(StoreError::Stale { .. }))));
    // It may still look.
    assert_eq!(fenced.load(&stream("run:a")).unwrap().unwrap().version, version);
}

fn a_listener_is_called_after_appends_until_it_is_dropped(store: &dyn Store) {
    let (called, calls) = mpsc::channel();
    let called = Mutex::new(called);
    let listener = move || called.lock().unwrap().send(()).unwrap_or_default();
    let subscription = store.subscribe(Arc::new(listener)).unwrap();
    append(store, "run:a", &["started"], View::default());
    calls.recv_timeout(LONG).unwrap();
    append(store, "run:b", &["started"], View::default());
    calls.recv_timeout(LONG).unwrap();
    drop(subscription);
    // Its end of the channel goes with it, once a call that was under way has returned.
    while calls.recv_timeout(LONG).is_ok() {}
    assert_eq!(calls.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
}

#[test]
fn names_of_streams_are_checked() {
    for good in ["a", "run:k3f9", "project", "A.b_c-d:9"] {
        assert_eq!(StreamId::parse(good).unwrap().to_string(), good);
    }
    for bad in ["", "a b", "a/b", "é", "a\u{0}", &"x".repeat(201)] {
        StreamId::parse(bad).unwrap_err();
    }
}

fn a_stream_is_found_with_its_version_and_mark(store: &dyn Store) {
    let version = append(store, "run:a", &["started"], View { topic: Some("issue:1"), ..marked("here") });
    let id = stream("run:a");
    for query in [Query::Stream(&id), Query::Mark("here"), Query::Topic("issue:1"), Query::Names("run:")] {
        let [head] = &store.find(query).unwrap()[..] else { panic!("{query:?}") };
        assert_eq!((&head.stream, &head.version, head.mark.as_deref()), (&id, &version, Some("here")));
    }
    assert_eq!(store.find(Query::Stream(&stream("run:b"))).unwrap(), []);
}

fn what_was_appended_can_be_flushed(store: &dyn Store) {
    store.flush().unwrap();
    append(store, "run:a", &["started"], View::default());
    store.flush().unwrap();
    store.flush().unwrap();
}

fn one_store_serves_many_threads(store: &dyn Store) {
    thread::scope(|scope| {
        for writer in 0..4 {
            scope.spawn(move || {
                for round in 0..10 {
                    let event = [event(1, &format!("{writer} {round}"))];
                    let mut version = Version::NONE;
                    while let Err(error) = store.append(&stream("run:a"), &version, &event, View::default()) {
                        let AppendError::Conflict { actual } = error else { panic!("{error}") };
                        version = actual;
                    }
                    store.flush().unwrap();
                }
            });
        }
    });
    let mut kinds = kinds(store, "run:a");
    kinds.sort();
    kinds.dedup();
    assert_eq!(kinds.len(), 40);
}

fn a_watch_wakes_for_an_append(store: &dyn Store) {
    let mut watch = store.watch(Scope::Store, 0).unwrap();
    thread::scope(|scope| {
        // The writer appends only when told to, and is told each time the watch has seen the last one.
        let (tell, told) = mpsc::channel();
        scope.spawn(move || {
            for () in told {
                append(store, "run:a", &["something"], View::default());
            }
        });
        for round in 0..20 {
            tell.send(()).unwrap();
            let events = watch.wait(LONG).unwrap();
            assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), [round]);
        }
        drop(tell);
    });
}

fn a_watch_returns_at_once_what_is_there(store: &dyn Store) {
    append(store, "run:a", &["a", "b", "c"], View::default());
    let mut watch = store.watch(Scope::Store, 0).unwrap();
    let events = watch.wait(LONG).unwrap();
    assert_eq!(events.len(), 3);
    assert_eq!(watch.wait(Duration::ZERO).unwrap(), []);
    let mut later = store.watch(Scope::Store, events[1].position).unwrap();
    assert_eq!(later.wait(LONG).unwrap(), events[2..]);
}

fn a_watch_that_sees_nothing_returns_nothing(store: &dyn Store) {
    let mut watch = store.watch(Scope::Stream(&stream("run:a")), 0).unwrap();
    assert_eq!(watch.wait(Duration::ZERO).unwrap(), []);
    assert_eq!(watch.wait(Duration::from_millis(1)).unwrap(), []);
}

fn a_watch_of_one_stream_is_not_told_of_others(store: &dyn Store) {
    let id = stream("run:b");
    let mut watch = store.watch(Scope::Stream(&id), 0).unwrap();
    append(store, "run:a", &["a"], View::default());
    assert_eq!(watch.wait(Duration::ZERO).unwrap(), []);
    append(store, "run:b", &["b"], View::default());
    append(store, "run:a", &["c"], View::default());
    append(store, "run:b", &["d", "e"], View::default());
    let kinds =
        |events: Vec<StoredEvent>| -> Vec<String> { events.into_iter().map(|event| event.kind).collect() };
    assert_eq!(kinds(watch.wait(LONG).unwrap()), ["b", "d", "e"]);
    let later = |after| kinds(store.watch(Scope::Stream(&id), after).unwrap().wait(Duration::ZERO).unwrap());
    assert_eq!(later(1), ["d", "e"]);
    assert_eq!(later(2), ["e"]);
    assert_eq!(later(3), [""; 0]);
}

fn a_long_stream_is_returned_in_batches_without_a_gap(store: &dyn Store) {
    let kinds: Vec<String> = (0..2500).map(|number| number.to_string()).collect();
    append(store, "run:a", &kinds.iter().map(String::as_str).collect::<Vec<_>>(), View::default());
    for scope in [Scope::Store, Scope::Stream(&stream("run:a"))] {
        let mut watch = store.watch(scope, 0).unwrap();
        let mut seen = Vec::new();
        while seen.len() < kinds.len() {
            seen.extend(watch.wait(LONG).unwrap().into_iter().map(|event| event.kind));
        }
        assert_eq!(seen, kinds);
    }
}
