//! Real processes, killed without warning.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use journal::{SqliteStore, Store, Version};

use crate::support::{Place, append, events, id};

const PATH: &str = "JOURNAL_TEST_PATH";
const NAME: &str = "JOURNAL_TEST_NAME";

/// Not a test: what the killed process does. Appends without end and says what was acknowledged.
#[test]
fn appends_until_killed() {
    let Some(path) = std::env::var_os(PATH).map(PathBuf::from) else { return };
    let name = std::env::var(NAME).unwrap();
    let mut stdout = std::io::stdout();
    loop {
        // Half of the appends end with an orderly close, as a hook's do.
        let store = SqliteStore::open(&path).unwrap();
        for _ in 0..2 {
            let version = append(&store, &name, &["one", "two"]);
            writeln!(stdout, "acknowledged {}", version.events()).unwrap();
            stdout.flush().unwrap();
        }
    }
}

fn writer(place: &Place, name: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::appends_until_killed", "--nocapture"])
        .env(PATH, place.path())
        .env(NAME, name)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for some acknowledgements, kills the writer, and returns the last one it gave.
fn kill_after(child: &mut Child, acknowledgements: usize) -> u64 {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let number = |line: String| line.strip_prefix("acknowledged ").and_then(|number| number.parse().ok());
    let mut last = lines.by_ref().filter_map(number).nth(acknowledgements - 1).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    // What it said between the last line read and its end.
    if let Some(later) = lines.filter_map(number).last() {
        last = later;
    }
    last
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    let place = Place::new();
    let mut sofar = 0;
    for round in 1..=6 {
        let acknowledged = kill_after(&mut writer(&place, "run:a"), round * 2);
        assert!(acknowledged > sofar);
        let store = place.open();
        let version = store.load(&id("run:a")).unwrap().map_or(Version::NONE, |view| view.version);
        assert!(version.events() >= acknowledged, "{} of {acknowledged}", version.events());
        assert_eq!(version.events() % 2, 0, "an append is all or nothing");
        assert!(store.verify().unwrap().is_sound());
        sofar = version.events();
    }
}

#[test]
fn a_killed_writer_does_not_stop_the_others() {
    let place = Place::new();
    let mut children: Vec<(Child, &str)> =
        ["run:a", "run:b", "run:c"].map(|name| (writer(&place, name), name)).into();
    let mut acknowledged = Vec::new();
    for (child, name) in &mut children {
        acknowledged.push((*name, kill_after(child, 10)));
    }
    let store = place.open();
    for (name, acknowledged) in acknowledged {
        assert!(store.load(&id(name)).unwrap().unwrap().version.events() >= acknowledged);
    }
    assert!(store.verify().unwrap().is_sound());
    let before = events(&store).len();
    append(&store, "run:a", &["after"]);
    assert_eq!(events(&store).len(), before + 1);
}

#[test]
fn what_is_flushed_is_acknowledged() {
    let place = Place::new();
    let store = place.open();
    let acknowledged =
        || std::fs::read_to_string(place.side("-guard")).unwrap().trim().parse::<u64>().unwrap();
    append(&store, "run:a", &["begun"]);
    store.flush().unwrap();
    assert_eq!(acknowledged(), 1);
    append(&store, "run:a", &["worked", "ended"]);
    // Others see it at once, and flush it too.
    let other = place.open();
    assert_eq!(other.last_position().unwrap(), 3);
    other.flush().unwrap();
    assert_eq!(acknowledged(), 3);
    store.flush().unwrap();
    append(&store, "run:a", &["reset"]);
    drop(store);
    assert_eq!(acknowledged(), 4);
}

#[test]
fn what_nobody_flushes_is_acknowledged_soon() {
    let place = Place::new();
    let store = place.open();
    append(&store, "run:a", &["begun", "worked"]);
    let started = Instant::now();
    while std::fs::read_to_string(place.side("-guard")).unwrap().trim().parse() != Ok(2) {
        assert!(started.elapsed() < Duration::from_secs(60), "nobody has synced it");
        std::thread::yield_now();
    }
}
