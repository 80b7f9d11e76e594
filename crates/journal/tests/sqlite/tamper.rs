//! Whoever changes a store behind its back is told on, and precisely.

use journal::{Corruption, Fault, Mismatch, Scope, Store, StoreError, StreamFault, sqlite};

use crate::support::{Place, append, furnished, id};

/// Changes the furnished store by SQL and returns the faults that are found.
fn faults_after(sql: &str) -> Vec<Fault> {
    let place = furnished();
    place.raw().execute_batch(sql).unwrap();
    sqlite::verify(place.path()).unwrap().faults
}

fn fault(stream: &str, seq: u64, mismatch: Mismatch) -> Fault {
    StreamFault { stream: id(stream), seq, mismatch }.into()
}

#[test]
fn an_untouched_store_is_sound() {
    let verification = sqlite::verify(furnished().path()).unwrap();
    assert_eq!(verification.faults, []);
    assert_eq!((verification.streams, verification.events), (6, 3 * 24 + 1 + 40 + 1));
}

#[test]
fn a_changed_body_is_named() {
    let faults = faults_after("UPDATE event SET body = x'7b7d' WHERE stream = 'run:a' AND seq = 5");
    assert_eq!(faults, [fault("run:a", 5, Mismatch::HashDiffers)]);
}

#[test]
fn a_changed_time_is_named() {
    let faults = faults_after("UPDATE event SET at = at + 1 WHERE stream = 'run:a' AND seq = 0");
    assert_eq!(faults, [fault("run:a", 0, Mismatch::HashDiffers)]);
}

#[test]
fn a_missing_event_is_named() {
    let faults = faults_after("DELETE FROM event WHERE stream = 'run:b' AND seq IN (3, 4)");
    assert_eq!(faults, [fault("run:b", 3, Mismatch::Missing)]);
}

#[test]
fn a_cut_tail_is_named() {
    let faults = faults_after("DELETE FROM event WHERE stream = 'run:b' AND seq >= 22");
    assert_eq!(faults, [fault("run:b", 22, Mismatch::TailCut { expected: 24 })]);
}

#[test]
fn a_tail_cut_inside_an_append_is_named_as_torn_too() {
    let faults = faults_after("DELETE FROM event WHERE stream = 'run:b' AND seq >= 23");
    let torn = fault("run:b", 22, Mismatch::RecordTorn);
    assert_eq!(faults, [torn, fault("run:b", 23, Mismatch::TailCut { expected: 24 })]);
}

#[test]
fn a_tail_cut_together_with_its_row_still_fails_the_seal() {
    let faults = faults_after(
        "DELETE FROM event WHERE stream = 'run:b' AND seq >= 22;
         UPDATE stream SET events = 22, head = (SELECT hash FROM event WHERE stream = 'run:b' AND seq = 21),
             position = (SELECT position FROM event WHERE stream = 'run:b' AND seq = 21) WHERE name = 'run:b'",
    );
    assert_eq!(faults, [fault("run:b", 21, Mismatch::ViewDiffers)]);
}

#[test]
fn an_event_beyond_the_tail_is_named() {
    let faults = faults_after(
        "INSERT INTO event (stream, seq, record, at, kind, hash, body)
         VALUES ('run:b', 24, 24, 0, 'forged', zeroblob(32), x'7b7d')",
    );
    let beyond = fault("run:b", 24, Mismatch::BeyondTail { expected: 24 });
    assert_eq!(faults, [fault("run:b", 24, Mismatch::HashDiffers), beyond]);
}

#[test]
fn swapped_events_are_named() {
    let faults = faults_after(
        "UPDATE event SET seq = 1000 WHERE stream = 'run:a' AND seq = 2;
         UPDATE event SET seq = 2 WHERE stream = 'run:a' AND seq = 7;
         UPDATE event SET seq = 7 WHERE stream = 'run:a' AND seq = 1000;",
    );
    assert!(faults.contains(&fault("run:a", 2, Mismatch::HashDiffers)), "{faults:?}");
    assert!(faults.contains(&fault("run:a", 7, Mismatch::HashDiffers)), "{faults:?}");
}

#[test]
fn swapped_positions_are_named() {
    let faults = faults_after(
        "UPDATE event SET position = 1000 WHERE stream = 'run:a' AND seq = 2;
         UPDATE event SET position = 1001 WHERE stream = 'run:a' AND seq = 3;
         UPDATE event SET position = 7 WHERE position = 1001;
         UPDATE event SET position = 8 WHERE position = 1000;",
    );
    assert_eq!(faults, [fault("run:a", 3, Mismatch::OutOfOrder)]);
}

#[test]
fn a_missing_row_is_named() {
    let faults = faults_after("DELETE FROM stream WHERE name = 'run:a'");
    assert_eq!(faults, [fault("run:a", 0, Mismatch::ViewMissing)]);
}

#[test]
fn a_stream_that_lost_its_row_is_not_taken_for_one_that_never_was() {
    let place = furnished();
    place.raw().execute_batch("DELETE FROM stream WHERE name = 'run:a'").unwrap();
    let store = place.open();
    let expected = StreamFault { stream: id("run:a"), seq: 0, mismatch: Mismatch::ViewMissing };
    for outcome in [store.load(&id("run:a")).err(), store.read(Scope::Stream(&id("run:a")), 0, 10).err()] {
        let Some(StoreError::Corrupt { corruption, .. }) = outcome else { panic!("{outcome:?}") };
        assert_eq!(corruption, expected.clone().into());
    }
}

#[test]
fn another_head_is_named() {
    let faults = faults_after(
        "UPDATE stream SET head = (SELECT hash FROM event WHERE stream = 'run:a' AND seq = 0)
         WHERE name = 'run:a'",
    );
    assert_eq!(
        faults,
        [fault("run:a", 23, Mismatch::HeadDiffers), fault("run:a", 23, Mismatch::ViewDiffers)]
    );
}

#[test]
fn a_changed_snapshot_mark_or_topic_is_named_and_not_returned() {
    for change in ["snapshot = x'00'", "mark = 'forged'", "topic = NULL", "updated_at = 0"] {
        let place = furnished();
        place.raw().execute_batch(&format!("UPDATE stream SET {change} WHERE name = 'run:a'")).unwrap();
        let store = place.open();
        let expected = StreamFault { stream: id("run:a"), seq: 23, mismatch: Mismatch::ViewDiffers };
        assert_eq!(store.verify().unwrap().faults, [expected.clone().into()]);
        match store.load(&id("run:a")) {
            Err(StoreError::Corrupt { corruption, .. }) => assert_eq!(corruption, expected.into()),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn reading_over_a_missing_event_is_an_error_and_not_a_gap() {
    let place = furnished();
    place.raw().execute_batch("DELETE FROM event WHERE stream = 'run:a' AND seq IN (5, 23)").unwrap();
    let store = place.open();
    let mismatch = |from, limit| match store.read(Scope::Stream(&id("run:a")), from, limit) {
        Err(StoreError::Corrupt { corruption: Corruption::Stream(fault), .. }) => (fault.seq, fault.mismatch),
        other => panic!("{other:?}"),
    };
    assert_eq!(mismatch(0, 100), (5, Mismatch::Missing));
    assert_eq!(mismatch(5, 1), (5, Mismatch::Missing));
    assert_eq!(mismatch(6, 100), (23, Mismatch::TailCut { expected: 24 }));
    assert_eq!(store.read(Scope::Stream(&id("run:a")), 0, 5).unwrap().len(), 5);
}

#[test]
fn appending_onto_a_forged_tail_is_an_error() {
    let place = furnished();
    let forged = "INSERT INTO event (stream, seq, record, at, kind, hash, body)
         VALUES ('run:b', 24, 24, 0, 'forged', zeroblob(32), x'7b7d')";
    place.raw().execute_batch(forged).unwrap();
    let store = place.open();
    let view = store.load(&id("run:b")).unwrap().unwrap();
    let event = crate::support::event("next");
    let outcome = store.append(&id("run:b"), &view.version, &[event], journal::View::default());
    match outcome {
        Err(journal::AppendError::Store(StoreError::Corrupt {
            corruption: Corruption::Stream(fault),
            ..
        })) => {
            assert_eq!((fault.seq, fault.mismatch), (24, Mismatch::BeyondTail { expected: 24 }));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_store_can_be_verified_while_it_is_in_use() {
    let place = Place::new();
    let (one, two) = (place.open(), place.open());
    append(&one, "run:a", &["a"]);
    assert!(two.verify().unwrap().is_sound());
    append(&one, "run:a", &["b"]);
    assert_eq!(two.verify().unwrap().events, 2);
}
