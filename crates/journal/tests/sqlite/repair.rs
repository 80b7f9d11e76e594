//! Repairing: what is kept, what is reported, and that a crash anywhere ends well.

use std::fs;

use journal::sqlite::{self, Outcome, RepairError, ViewRepair};
use journal::{OpenError, Query, Scope, SqliteStore, Store, StoredEvent};

use crate::support::{Place, append, events, furnished, id};

const NOW: i64 = 1_700_000_000_000;

fn tampered(sql: &str) -> Place {
    let place = furnished();
    place.raw().execute_batch(sql).unwrap();
    place
}

#[test]
fn a_sound_store_is_left_alone() {
    let place = furnished();
    let before = fs::read(place.path()).unwrap();
    let report = sqlite::repair(place.path(), place.aside(), NOW).unwrap();
    assert_eq!((report.outcome, report.set_aside), (Outcome::Sound, None));
    assert_eq!(fs::read(place.path()).unwrap(), before);
}

#[test]
fn a_damaged_stream_is_kept_up_to_the_last_whole_append() {
    let place = tampered("UPDATE event SET body = x'00' WHERE stream = 'run:a' AND seq = 7");
    let whole = events(&place.open());
    let report = sqlite::repair(place.path(), place.aside(), NOW).unwrap();
    assert_eq!(report.outcome, Outcome::Rebuilt);
    let told: Vec<(&str, u64, Option<u64>, ViewRepair)> =
        report.streams.iter().map(|s| (s.stream.as_str(), s.kept, s.lost, s.view)).collect();
    let kept = ViewRepair::Kept;
    assert_eq!(
        told,
        [
            ("project", 24, Some(0), kept),
            // Event 6 is sound, but was appended together with event 7.
            ("run:a", 6, Some(18), ViewRepair::Emptied),
            ("run:b", 24, Some(0), kept),
            ("run:bulky", 1, Some(0), kept),
            ("run:many", 40, Some(0), kept),
            ("run:single", 1, Some(0), kept),
        ]
    );
    let store = place.open();
    let is_kept = |event: &StoredEvent| event.stream != id("run:a") || event.seq < 6;
    assert_eq!(events(&store), whole.into_iter().filter(is_kept).collect::<Vec<_>>());
    let view = store.load(&id("run:a")).unwrap().unwrap();
    assert_eq!((view.snapshot.as_slice(), view.version.events()), (&[][..], 6));
    assert_eq!((view.mark.as_deref(), view.topic.as_deref()), (Some("run:a"), Some("topic")));
    assert_eq!(store.views(Query::Mark("run:b")).unwrap().remove(0).version.events(), 24);
    append(&store, "run:a", &["on it goes"]);
    assert!(store.verify().unwrap().is_sound());
}

#[test]
fn a_stream_without_its_row_gets_one() {
    let place = tampered("DELETE FROM stream WHERE name = 'run:a'");
    let report = sqlite::repair(place.path(), place.aside(), NOW).unwrap();
    let stream = report.streams.iter().find(|stream| stream.stream == id("run:a")).unwrap();
    assert_eq!((stream.kept, stream.lost, stream.view), (24, None, ViewRepair::Emptied));
    assert_eq!(place.open().load(&id("run:a")).unwrap().unwrap().version.events(), 24);
}

#[test]
fn a_stream_of_which_nothing_is_left_is_dropped() {
    let place = tampered("UPDATE event SET kind = 'forged' WHERE stream = 'run:a' AND seq = 0");
    let report = sqlite::repair(place.path(), place.aside(), NOW).unwrap();
    let stream = report.streams.iter().find(|stream| stream.stream == id("run:a")).unwrap();
    assert_eq!((stream.kept, stream.lost, stream.view), (0, Some(24), ViewRepair::Dropped));
    assert_eq!(place.open().load(&id("run:a")).unwrap(), None);
}

#[test]
fn events_out_of_order_are_put_in_order() {
    let place = tampered(
        "UPDATE event SET position = 1000 WHERE stream = 'run:a' AND seq = 2;
         UPDATE event SET position = 1001 WHERE stream = 'run:a' AND seq = 3;
         UPDATE event SET position = 7 WHERE position = 1001;
         UPDATE event SET position = 8 WHERE position = 1000;",
    );
    let before = place.open().read(Scope::Stream(&id("run:a")), 0, 100).unwrap();
    sqlite::repair(place.path(), place.aside(), NOW).unwrap();
    let store = place.open();
    assert!(store.verify().unwrap().is_sound());
    let bodies = |events: Vec<StoredEvent>| events.into_iter().map(|event| event.body).collect::<Vec<_>>();
    assert_eq!(bodies(store.read(Scope::Stream(&id("run:a")), 0, 100).unwrap()), bodies(before));
}

#[test]
fn what_the_log_lost_is_given_up_and_its_positions_are_not_used_again() {
    let place = furnished();
    append(&place.open(), "run:a", &["lost"]);
    let last = place.open().last_position().unwrap();
    fs::remove_file(place.side("-wal")).unwrap();
    SqliteStore::open(place.path()).unwrap_err();
    let report = sqlite::repair(place.path(), place.aside(), NOW).unwrap();
    assert_eq!(report.outcome, Outcome::Rebuilt);
    let store = place.open();
    assert!(store.last_position().unwrap() > last);
    append(&store, "run:a", &["next"]);
    assert!(events(&store).last().unwrap().position > last);
}

#[test]
fn a_log_without_its_database_is_salvaged() {
    let place = Place::new();
    append(&place.open(), "run:a", &["a", "b"]);
    append(&place.open(), "run:a", &["c"]);
    fs::remove_file(place.path()).unwrap();
    let report = sqlite::repair(place.path(), place.aside(), NOW).unwrap();
    assert!(report.set_aside.unwrap().join("journal.db-wal").exists());
    assert_eq!(place.open().read(Scope::Stream(&id("run:a")), 0, 10).unwrap().len(), 3);
}

#[test]
fn a_file_of_which_nothing_can_be_read_becomes_an_empty_store() {
    let place = Place::new();
    fs::write(place.path(), [b'x'; 50_000]).unwrap();
    let report = sqlite::repair(place.path(), place.aside(), NOW).unwrap();
    assert_eq!((report.outcome, report.streams.len()), (Outcome::Unreadable, 0));
    assert_eq!(fs::read(report.set_aside.unwrap().join("journal.db")).unwrap(), [b'x'; 50_000]);
    assert_eq!(place.open().views(Query::Names("")).unwrap(), []);
}

#[test]
fn leases_are_kept_and_generations_go_on() {
    let place = tampered("UPDATE event SET body = x'00' WHERE stream = 'run:a' AND seq = 7");
    let held = place.open().lease("factory").unwrap().unwrap();
    sqlite::repair(place.path(), place.aside(), NOW).unwrap();
    let store = place.open();
    assert_eq!(store.lease("factory").unwrap(), Some(held.clone()));
    store.renew("factory", held.generation, 2_000_000).unwrap();
    assert!(store.acquire("other", "two", 0, 10).unwrap().generation > held.generation + 1000);
}

#[test]
fn numbers_that_cannot_be_are_not_believed() {
    let place = tampered(
        "UPDATE sqlite_sequence SET seq = 9223372036854775807;
         UPDATE event SET position = 9223372036854775807 WHERE stream = 'run:single';
         UPDATE event SET body = x'00' WHERE stream = 'run:a' AND seq = 7",
    );
    fs::write(place.side("-guard"), "18446744073709551615\n").unwrap();
    sqlite::repair(place.path(), place.aside(), NOW).unwrap();
    let store = place.open();
    assert!(store.last_position().unwrap() < 1_000_000);
    assert_eq!(store.read(Scope::Stream(&id("run:single")), 0, 10).unwrap().len(), 1);
    append(&store, "run:single", &["next"]);
    store.acquire("other", "one", 0, 10).unwrap();
    assert!(store.verify().unwrap().is_sound());
}

#[test]
fn a_damaged_store_can_be_set_aside_on_another_device() {
    use std::os::unix::fs::MetadataExt as _;

    let place = tampered("UPDATE event SET body = x'00' WHERE stream = 'run:a' AND seq = 7");
    let before = fs::read(place.path()).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let device = |path| fs::metadata(path).unwrap().dev();
    if device(elsewhere.path()) == device(place.directory()) {
        return testkit::agents::skip("there is no other device");
    }
    let report = sqlite::repair(place.path(), elsewhere.path(), NOW).unwrap();
    assert_eq!(fs::read(report.set_aside.unwrap().join("journal.db")).unwrap(), before);
    assert!(!place.side(".damaged").exists());
    assert!(place.open().verify().unwrap().is_sound());
}

#[test]
fn a_store_in_use_is_not_repaired() {
    let place = tampered("UPDATE event SET body = x'00' WHERE stream = 'run:a' AND seq = 7");
    let store = place.open();
    let outcome = sqlite::repair(place.path(), place.aside(), NOW);
    assert!(matches!(outcome, Err(RepairError::InUse { .. })));
    drop(store);
    sqlite::repair(place.path(), place.aside(), NOW).unwrap();
}

#[test]
fn what_is_no_damaged_journal_is_not_repaired() {
    let place = Place::new();
    let outcome = sqlite::repair(place.path(), place.aside(), NOW);
    assert!(matches!(outcome, Err(RepairError::Missing { .. })));
    assert_eq!(fs::read_dir(place.directory()).unwrap().count(), 0);

    place.raw().execute_batch("CREATE TABLE theirs (x)").unwrap();
    let outcome = sqlite::repair(place.path(), place.aside(), NOW);
    assert!(matches!(outcome, Err(RepairError::Refused(OpenError::Foreign { .. }))));

    let place =
        tampered("PRAGMA user_version = 99; ALTER TABLE lease ADD COLUMN note TEXT; DELETE FROM event");
    let outcome = sqlite::repair(place.path(), place.aside(), NOW);
    assert!(matches!(outcome, Err(RepairError::Refused(OpenError::Newer { .. }))));
}

#[test]
fn nothing_that_was_set_aside_is_overwritten() {
    let place = furnished();
    let mut directories = Vec::new();
    for seq in [20, 10, 4] {
        let sql = format!("UPDATE event SET body = x'00' WHERE stream = 'run:a' AND seq = {seq}");
        place.raw().execute_batch(&sql).unwrap();
        directories.push(sqlite::repair(place.path(), place.aside(), NOW).unwrap().set_aside.unwrap());
    }
    directories.dedup();
    assert_eq!(directories.len(), 3);
    assert!(directories.iter().all(|directory| directory.join("journal.db").exists()));
    assert_eq!(place.open().load(&id("run:a")).unwrap().unwrap().version.events(), 4);
}

/// The files as a crash after each step of a repair would leave them.
#[test]
fn a_repair_that_was_interrupted_anywhere_is_finished() {
    let place = tampered("UPDATE event SET body = x'00' WHERE stream = 'run:a' AND seq = 7");
    // An append that is in the log only, so that the log matters.
    append(&place.open(), "run:b", &["in the log"]);
    let damaged = ["", "-wal"].map(|side| fs::read(place.side(side)).unwrap());
    let model = place.copy();
    sqlite::repair(model.path(), model.aside(), NOW).unwrap();
    let expected = events(&model.open());
    model.fold();
    let repaired = fs::read(model.path()).unwrap();

    // (what lies there under which name) after: copying, completing, moving the database, moving the log,
    // putting the new one in place.
    let [database, log] = &damaged;
    let garbage = b"half".to_vec();
    let steps: [&[(&str, &Vec<u8>)]; 5] = [
        &[
            ("", database),
            ("-wal", log),
            (".copy", database),
            (".copy-wal", &garbage),
            (".repairing", &garbage),
        ],
        &[("", database), ("-wal", log), (".copy", database), (".repaired", &repaired)],
        &[(".damaged", database), ("-wal", log), (".repaired", &repaired)],
        &[(".damaged", database), (".damaged-wal", log), (".repaired", &repaired)],
        &[(".damaged", database), (".damaged-wal", log), ("", &repaired)],
    ];
    for (number, files) in steps.iter().enumerate() {
        for by_opening_first in [false, true] {
            let what = format!("step {number}, by opening first: {by_opening_first}");
            let crashed = Place::in_memory();
            for (side, bytes) in *files {
                fs::write(crashed.side(side), bytes).unwrap();
            }
            fs::copy(place.side("-guard"), crashed.side("-guard")).unwrap();
            if by_opening_first {
                let store = SqliteStore::open_existing(crashed.path()).unwrap();
                let is_sound = store.unwrap().verify().unwrap().is_sound();
                assert_eq!(is_sound, number >= 2, "{what}");
            }
            sqlite::repair(crashed.path(), crashed.aside(), NOW).unwrap();
            let store = crashed.open();
            assert!(store.verify().unwrap().is_sound(), "{what}");
            assert_eq!(events(&store), expected, "{what}");
            drop(store);
            let aside = crashed.aside().join(format!("journal.db-{NOW}"));
            assert_eq!(&fs::read(aside.join("journal.db")).unwrap(), database, "{what}");
            assert_eq!(&fs::read(aside.join("journal.db-wal")).unwrap(), log, "{what}");
            let leftover = [".copy", ".copy-wal", ".repairing", ".repaired", ".damaged", ".damaged-wal"];
            assert!(leftover.iter().all(|side| !crashed.side(side).exists()), "{what}");
        }
    }
}
