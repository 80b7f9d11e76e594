//! What is taken for a store, and what is refused and left alone.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use journal::{Corruption, OpenError, Query, Scope, SqliteStore, Store, StoreError, View, sqlite};
use rusqlite::Connection;

use crate::support::{Place, append, event, events, furnished};

fn corruption(outcome: Result<SqliteStore, OpenError>) -> Corruption {
    match outcome {
        Err(OpenError::Store(StoreError::Corrupt { corruption, .. })) => corruption,
        other => panic!("{other:?}"),
    }
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn opening_makes_private_directories_and_files() {
    let place = Place::new();
    let path = place.directory().join("a/b/journal.db");
    append(&SqliteStore::open(&path).unwrap(), "run:a", &["a"]);
    for directory in ["a", "a/b"] {
        assert_eq!(mode(&place.directory().join(directory)), 0o700);
    }
    for file in names(path.parent().unwrap()) {
        assert_eq!(mode(&path.with_file_name(&file)), 0o600, "{file}");
    }
}

#[test]
fn looking_for_a_store_makes_nothing() {
    let place = Place::new();
    assert!(SqliteStore::open_existing(place.path()).unwrap().is_none());
    assert!(SqliteStore::open_existing(place.directory().join("a/b/journal.db")).unwrap().is_none());
    assert_eq!(sqlite::verify(place.path()).unwrap(), journal::Verification::default());
    assert!(names(place.directory()).is_empty());
    drop(place.open());
    assert!(SqliteStore::open_existing(place.path()).unwrap().is_some());
}

#[test]
fn a_file_of_no_length_becomes_a_store() {
    let place = Place::new();
    fs::write(place.path(), "").unwrap();
    append(&place.open(), "run:a", &["a"]);
    assert_eq!(events(&place.open()).len(), 1);
}

#[test]
fn a_store_is_whole_in_its_file_as_soon_as_it_is_made() {
    let place = Place::new();
    drop(place.open());
    fs::remove_file(place.side("-wal")).ok();
    fs::remove_file(place.side("-shm")).ok();
    append(&place.open(), "run:a", &["a"]);
}

#[test]
fn what_is_not_a_database_is_refused_and_left_alone() {
    for content in [&b"hello"[..], &[0; 5000], &[b'x'; 100_000]] {
        let place = Place::new();
        fs::write(place.path(), content).unwrap();
        assert_eq!(corruption(SqliteStore::open(place.path())), Corruption::NotADatabase);
        assert_eq!(fs::read(place.path()).unwrap(), content);
    }
}

#[test]
fn a_database_of_another_program_is_refused() {
    for sql in ["CREATE TABLE theirs (x)", "PRAGMA user_version = 1", "PRAGMA application_id = 7"] {
        let place = Place::new();
        Connection::open(place.path()).unwrap().execute_batch(sql).unwrap();
        let before = fs::read(place.path()).unwrap();
        let outcome = SqliteStore::open(place.path());
        assert!(matches!(outcome, Err(OpenError::Foreign { .. })), "{outcome:?}");
        assert_eq!(fs::read(place.path()).unwrap(), before);
    }
}

#[test]
fn a_newer_schema_is_refused_with_both_numbers() {
    let place = furnished();
    place.raw().execute_batch("PRAGMA user_version = 99; ALTER TABLE lease ADD COLUMN note TEXT").unwrap();
    let error = SqliteStore::open(place.path()).unwrap_err();
    assert!(matches!(error, OpenError::Newer { found: 99, known: 1, .. }));
    let message = error.to_string();
    assert!(message.ends_with("has schema 99, this program knows up to 1: upgrade warp"), "{message}");
}

#[test]
fn a_damaged_number_in_the_header_is_damage_and_not_a_newer_version() {
    for sql in [
        "PRAGMA user_version = 65",
        "PRAGMA user_version = 257",
        "PRAGMA user_version = 16777217",
        "PRAGMA user_version = -2147483647",
        "PRAGMA user_version = 0",
        "PRAGMA application_id = 7",
    ] {
        let place = furnished();
        let before = SqliteStore::open(place.path()).unwrap().views(Query::Names("")).unwrap();
        place.raw().execute_batch(sql).unwrap();
        let message = SqliteStore::open(place.path()).unwrap_err().to_string();
        assert!(message.contains("is damaged: its header has schema"), "{sql}: {message}");
        sqlite::repair(place.path(), place.aside(), 0).unwrap();
        assert_eq!(
            SqliteStore::open(place.path()).unwrap().views(Query::Names("")).unwrap(),
            before,
            "{sql}"
        );
    }
}

#[test]
fn a_store_without_its_tables_is_damaged() {
    for sql in ["DROP TABLE stream", "DROP TABLE event", "PRAGMA user_version = 0"] {
        let place = furnished();
        place.raw().execute_batch(sql).unwrap();
        let outcome = SqliteStore::open(place.path()).map_err(|error| error.to_string());
        let outcome =
            outcome.and_then(|store| store.views(Query::Names("")).map_err(|error| error.to_string()));
        assert!(outcome.unwrap_err().contains("is damaged"));
    }
}

#[test]
fn a_store_that_was_cut_is_told_by_its_pages() {
    let place = furnished();
    let whole = fs::metadata(place.path()).unwrap().len();
    for length in [50, 100, 5000, whole / 2, whole - 4096] {
        let copy = place.copy();
        fs::File::options().write(true).open(copy.path()).unwrap().set_len(length).unwrap();
        let Corruption::Truncated { recorded, found } = corruption(SqliteStore::open(copy.path())) else {
            panic!("cut to {length}");
        };
        assert_eq!(found, length / 4096);
        assert!(recorded > found);
        assert_eq!(fs::metadata(copy.path()).unwrap().len(), length);
    }
}

#[test]
fn a_log_without_its_database_is_refused_and_kept() {
    let place = Place::new();
    append(&place.open(), "run:a", &["a"]);
    let log = fs::read(place.side("-wal")).unwrap();
    for remove in [true, false] {
        match remove {
            true => fs::remove_file(place.path()).unwrap(),
            false => fs::write(place.path(), "").unwrap(),
        }
        assert_eq!(corruption(SqliteStore::open(place.path())), Corruption::DatabaseGone);
        assert!(SqliteStore::open_existing(place.path()).is_err());
        assert_eq!(fs::read(place.side("-wal")).unwrap(), log);
    }
}

#[test]
fn a_store_that_lost_its_log_is_not_taken_for_an_older_one() {
    let place = furnished();
    append(&place.open(), "run:a", &["acknowledged"]);
    let last = place.open().last_position().unwrap();
    fs::remove_file(place.side("-wal")).unwrap();
    fs::remove_file(place.side("-shm")).unwrap();
    let behind = Corruption::Behind { acknowledged: last, found: last - 1 };
    assert_eq!(corruption(SqliteStore::open(place.path())), behind);
}

#[test]
fn an_older_copy_put_back_is_noticed() {
    let place = furnished();
    let older = fs::read(place.path()).unwrap();
    append(&place.open(), "run:a", &["acknowledged"]);
    place.fold();
    fs::write(place.path(), older).unwrap();
    assert!(matches!(corruption(SqliteStore::open(place.path())), Corruption::Behind { .. }));
}

#[test]
fn a_store_that_is_gone_is_not_taken_for_one_that_never_was() {
    let place = furnished();
    fs::remove_file(place.path()).unwrap();
    assert!(matches!(corruption(SqliteStore::open(place.path())), Corruption::Behind { found: 0, .. }));
    assert!(SqliteStore::open_existing(place.path()).is_err());
    fs::write(place.path(), "").unwrap();
    assert!(matches!(corruption(SqliteStore::open(place.path())), Corruption::Behind { found: 0, .. }));
    assert_eq!(fs::metadata(place.path()).unwrap().len(), 0);
}

#[test]
fn a_store_without_its_guard_is_as_good() {
    let place = furnished();
    fs::remove_file(place.side("-guard")).unwrap();
    append(&place.open(), "run:a", &["a"]);
    fs::write(place.side("-guard"), "not a number at all").unwrap();
    append(&place.open(), "run:a", &["b"]);
    assert!(place.open().verify().unwrap().is_sound());
}

#[test]
fn looking_at_a_store_does_not_change_it() {
    let place = furnished();
    append(&place.open(), "run:a", &["in the log"]);
    let files = |place: &Place| ["", "-wal", "-guard"].map(|side| fs::read(place.side(side)).unwrap());
    let before = files(&place);
    let store = place.open();
    store.views(Query::Names("")).unwrap();
    store.verify().unwrap();
    events(&store);
    drop(store);
    assert_eq!(files(&place), before);
}

#[test]
fn a_long_log_is_folded_by_the_writer_who_closes_last() {
    let place = Place::new();
    let log = || fs::metadata(place.side("-wal")).map_or(0, |metadata| metadata.len());
    let mut longest = 0;
    for _ in 0..40 {
        append(&place.open(), "run:a", &["a"]);
        longest = longest.max(log());
    }
    assert!((100_000..300_000).contains(&longest), "{longest} bytes");
}

#[test]
fn a_writer_of_leases_keeps_the_log_short_too() {
    let place = Place::new();
    let mut longest = 0;
    for round in 0..80 {
        place.open().acquire("factory", "one", round, round + 10).unwrap();
        longest = longest.max(fs::metadata(place.side("-wal")).map_or(0, |metadata| metadata.len()));
    }
    assert!(longest < 300_000, "{longest} bytes");
}

#[test]
fn the_log_of_a_process_that_stays_has_an_end() {
    let place = Place::new();
    let store = place.open();
    for _ in 0..1500 {
        append(&store, "run:a", &["a"]);
    }
    let log = fs::metadata(place.side("-wal")).unwrap().len();
    assert!(log < 5_000_000, "{log} bytes");
    // Whoever comes after it has been killed finds everything, and folds what is left.
    store.flush().unwrap();
    std::mem::forget(store);
    assert!(place.open().verify().unwrap().is_sound());
}

#[test]
fn the_log_belongs_to_whom_the_database_belongs() {
    const SOMEBODY: u32 = 54321;
    let place = furnished();
    if chown(place.path(), Some(SOMEBODY), Some(SOMEBODY)).is_err() {
        return testkit::agents::skip("only root can give a file to somebody else");
    }
    append(&place.open(), "run:a", &["a"]);
    let owner = || fs::metadata(place.side("-wal")).unwrap().uid();
    assert_eq!(owner(), SOMEBODY);
    append(&place.open(), "run:a", &["b"]);
    assert_eq!(owner(), SOMEBODY);
}

/// A file as the first version of the schema was written, as SQL. It is never regenerated.
#[test]
fn a_store_of_schema_1_can_be_used() {
    let place = Place::new();
    Connection::open(place.path()).unwrap().execute_batch(include_str!("../golden/v1.sql")).unwrap();
    let store = place.open();
    assert_eq!(store.verify().unwrap().faults, []);
    let told: Vec<String> = events(&store)
        .iter()
        .map(|event| {
            let body = String::from_utf8(event.body.clone()).unwrap();
            format!("{} {} {} {} {} {body}", event.stream, event.seq, event.record, event.at, event.kind)
        })
        .collect();
    assert_eq!(
        told,
        [
            r#"run:k3f9 0 1 1700000000000 run_started {"issue":42}"#,
            r#"run:k3f9 1 1 1700000000001 phase_entered {"phase":"coding"}"#,
            r#"project 0 0 1700000000002 issue_approved {"issue":42}"#,
            r#"run:k3f9 2 2 1700000000003 code_finished {}"#,
        ]
    );
    let view = store.views(Query::Mark("workspace")).unwrap().remove(0);
    assert_eq!((view.stream.as_str(), view.version.events()), ("run:k3f9", 3));
    assert_eq!(
        (view.snapshot.as_slice(), view.topic.as_deref()),
        (&b"{\"phase\":\"coding\"}"[..], Some("issue:42"))
    );
    let lease = store.lease("factory").unwrap().unwrap();
    assert_eq!((lease.owner.as_str(), lease.generation, lease.expires_at), ("one", 2, 1_700_000_060_000));

    store.append(&view.stream, &view.version, &[event("next")], View::default()).unwrap();
    assert_eq!(store.read(Scope::Stream(&view.stream), 3, 1).unwrap()[0].position, 5);
    assert!(store.verify().unwrap().is_sound());
}

const READ_ONLY: &str = "JOURNAL_TEST_READ_ONLY";

/// Not a test of its own: permissions do not bind root, so root runs it as somebody else.
#[test]
fn opens_what_may_not_be_written() {
    let Some(directory) = std::env::var_os(READ_ONLY).map(PathBuf::from) else { return };
    for name in ["journal.db", "none.db"] {
        match SqliteStore::open(directory.join(name)) {
            Err(OpenError::Store(StoreError::ReadOnly { path })) => assert_eq!(path, directory.join(name)),
            other => panic!("{other:?}"),
        }
    }
    match SqliteStore::open(directory.join("a/b/journal.db")) {
        Err(OpenError::Directory { path, .. }) => assert_eq!(path, directory.join("a/b")),
        other => panic!("{other:?}"),
    }
    assert!(SqliteStore::open_existing(directory.join("none.db")).unwrap().is_none());
    assert!(SqliteStore::open_existing(directory.join("locked/journal.db")).is_err());
}

#[test]
fn a_read_only_directory_is_told_as_such() {
    let place = furnished();
    fs::create_dir(place.directory().join("locked")).unwrap();
    let allow = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    allow(&place.directory().join("locked"), 0o000);
    for side in ["", "-guard"] {
        allow(&place.side(side), 0o444);
    }
    allow(place.directory(), 0o555);
    // A copy, because the build may lie where nobody else may look. Another process writes it: a descriptor of this one,
    // inherited by a program that another test starts just then, would keep it from being run.
    let stage = tempfile::tempdir().unwrap();
    let program = stage.path().join("test");
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status().unwrap();
    assert!(copied.success());
    allow(stage.path(), 0o755);
    let mut child = Command::new(program);
    child.args(["--exact", "open::opens_what_may_not_be_written"]).env(READ_ONLY, place.directory());
    if rustix::process::geteuid().is_root() {
        child.uid(65534).current_dir("/");
    }
    let output = child.output();
    allow(place.directory(), 0o755);
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
