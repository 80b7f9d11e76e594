//! The journal's file, damaged: it is opened, checked and repaired without a panic, and never lies.
//!
//! The first byte of an input says what else is done; each four bytes after it replace one byte of database or log.
#![no_main]

use std::{fs, path::Path, sync::LazyLock};

use journal::{
    NewEvent, Query, Scope, SqliteStore, Store, StoredEvent, StreamId, Version, View,
    sqlite::{self, Outcome},
};
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

const CUT: u8 = 1;
const WITHOUT_LOG: u8 = 2;
const WITHOUT_GUARD: u8 = 4;
const REPAIR: u8 = 8;
const APPEND: u8 = 16;

/// A sound store: part of it is in the database, part of it still in the log.
struct Sound {
    database: Vec<u8>,
    log: Vec<u8>,
    guard: Vec<u8>,
    events: Vec<StoredEvent>,
}

static SOUND: LazyLock<Sound> = LazyLock::new(|| {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("journal.db");
    let mut events = Vec::new();
    // Closing folds a long log into the database; the last events stay in a short one.
    for (from, to) in [(0, 24), (24, 27)] {
        let store = SqliteStore::open(&path).expect("a store can be made");
        for number in from..to {
            append(&store, ["run:a", "run:b"][number % 2], number);
        }
        events = store.read(Scope::Store, 0, 1000).expect("a sound store can be read");
    }
    let read = |suffix: &str| {
        fs::read(directory.path().join(format!("journal.db{suffix}"))).expect("the store's files are there")
    };
    let sound = Sound { database: read(""), log: read("-wal"), guard: read("-guard"), events };
    assert!(sound.database.len() > 20_000 && !sound.log.is_empty(), "both files have a part");
    sound
});

static PLACE: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a temporary directory"));

fn append(store: &SqliteStore, name: &str, number: usize) {
    let stream = StreamId::parse(name).expect("a name");
    let version = store.load(&stream).map(|view| view.map_or(Version::NONE, |view| view.version));
    let event = |part: usize| NewEvent {
        at: 1_778_255_819_401 + part as i64,
        kind: "coded".to_owned(),
        body: format!("{{\"number\":{number},\"part\":{part}}}").into_bytes(),
    };
    let view = View { snapshot: b"{\"phase\":\"coding\"}", mark: Some(name), topic: Some("issue:42") };
    if let Ok(version) = version {
        // A damaged store may refuse.
        let _ = store.append(&stream, &version, &[event(0), event(1)], view);
    }
}

/// Checks that every stream begins as it did, and returns how many events there are.
fn check_history(events: &[StoredEvent]) -> usize {
    for name in ["run:a", "run:b"] {
        let of = |events: &'_ [StoredEvent]| -> Vec<(u64, u64, i64, String, Vec<u8>)> {
            let of_stream = events.iter().filter(|event| event.stream.as_str() == name);
            let tell = |one: &StoredEvent| (one.seq, one.record, one.at, one.kind.clone(), one.body.clone());
            of_stream.map(tell).collect()
        };
        assert!(of(&SOUND.events).starts_with(&of(events)), "a sound store has another history");
    }
    events.len()
}

fn look(path: &Path, options: u8) {
    let Ok(Some(store)) = SqliteStore::open_existing(path) else { return };
    let _ = (
        store.views(Query::Names("")),
        store.views(Query::Mark("run:a")),
        store.views(Query::Topic("issue:42")),
        store.last_position(),
    );
    let events = store.read(Scope::Store, 0, 1000);
    if store.verify().is_ok_and(|verification| verification.is_sound()) {
        let found = check_history(&events.expect("a sound store can be read"));
        assert!(options & WITHOUT_GUARD != 0 || found == SOUND.events.len(), "events are missing unseen");
    }
    if options & APPEND != 0 {
        append(&store, "run:a", 99);
        let _ = store.verify();
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((options, patches)) = input.split_first() else { return };
    let (mut database, mut log) = (SOUND.database.clone(), SOUND.log.clone());
    for patch in patches.chunks_exact(4).take(64) {
        let offset = usize::from(patch[0]) << 16 | usize::from(patch[1]) << 8 | usize::from(patch[2]);
        let offset = offset % (database.len() + log.len());
        match offset.checked_sub(database.len()) {
            Some(offset) => log[offset] = patch[3],
            None => database[offset] = patch[3],
        }
    }
    if options & CUT != 0
        && let [.., high, low] = patches
    {
        let left = usize::from(*high) << 8 | usize::from(*low);
        if left % 2 == 0 { database.truncate(left) } else { log.truncate(left) }
    }
    let place = PLACE.path();
    fs::remove_dir_all(place).and_then(|()| fs::create_dir(place)).expect("an empty directory");
    let path = place.join("journal.db");
    fs::write(&path, &database).expect("a file can be written");
    if options & WITHOUT_LOG == 0 {
        fs::write(place.join("journal.db-wal"), &log).expect("a file can be written");
    }
    if options & WITHOUT_GUARD == 0 {
        fs::write(place.join("journal.db-guard"), &SOUND.guard).expect("a file can be written");
    }
    look(&path, *options);
    if options & REPAIR == 0 || options & APPEND != 0 {
        return;
    }
    let Ok(report) = sqlite::repair(&path, place.join("aside"), 1) else { return };
    if report.outcome != Outcome::Sound {
        let aside = report.set_aside.expect("damaged files are set aside");
        assert_eq!(fs::read(aside.join("journal.db")).expect("the damaged file"), database);
    }
    assert!(sqlite::verify(&path).expect("a repaired store").is_sound());
    let store = SqliteStore::open(&path).expect("a repaired store");
    check_history(&store.read(Scope::Store, 0, 1000).expect("a repaired store can be read"));
});
