//! Files cut anywhere and bytes changed anywhere: never a panic, never a wrong answer, never a silent loss.

use std::fs;
use std::path::Path;

use journal::sqlite::{self, Outcome, RepairError};
use journal::{OpenError, SqliteStore, StoredEvent, StreamId};

use crate::support::{Place, append, events, furnished};

/// A small generator: the same places in every run.
struct Places(u64);

impl Places {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Opens, verifies and repairs a damaged store, and checks all that must hold however it is damaged.
fn examine(damaged: &Place, whole: &[StoredEvent], what: &str) {
    if let Ok(store) = SqliteStore::open(damaged.path())
        && let Ok(verification) = store.verify()
        && verification.is_sound()
    {
        assert_eq!(events(&store), whole, "{what}: taken for sound");
    }
    let before = ["", "-wal"].map(|side| fs::read(damaged.side(side)).ok());
    let report = match sqlite::repair(damaged.path(), damaged.aside(), 1_700_000_000_000) {
        Ok(report) => report,
        // The number of the schema is the one thing whose damage looks like health.
        Err(RepairError::Refused(OpenError::Newer { .. })) => return,
        Err(error) => panic!("{what}: {error:?}"),
    };
    let store = SqliteStore::open(damaged.path()).unwrap();
    assert!(store.verify().unwrap().is_sound(), "{what}");
    let kept = events(&store);
    if report.outcome == Outcome::Sound {
        assert_eq!(kept, whole, "{what}: left alone");
        return;
    }
    let aside = report.set_aside.unwrap();
    for (side, before) in ["", "-wal"].iter().zip(before) {
        let after = fs::read(aside.join(format!("journal.db{side}"))).ok();
        assert!(after == before, "{what}: journal.db{side} was changed or lost");
    }
    let mut counted = 0;
    for stream in &report.streams {
        let all = of(whole, &stream.stream);
        let prefix = of(&kept, &stream.stream);
        assert_eq!(stream.kept, prefix.len() as u64, "{what}");
        assert!(prefix.iter().map(content).eq(all[..prefix.len()].iter().map(content)), "{what}: {prefix:?}");
        let is_all = |lost| stream.kept + lost == all.len() as u64;
        assert!(report.vanished > 0 || stream.lost.is_none_or(is_all), "{what}: {stream:?}");
        counted += prefix.len();
    }
    assert_eq!(counted, kept.len(), "{what}: a stream is not reported");
    let is_empty = kept.is_empty();
    assert!(!is_empty || report.outcome == Outcome::Unreadable || counted == 0, "{what}");
    // It goes on, at a position that was never used.
    append(&store, "run:next", &["next"]);
    let last = whole.last().map_or(0, |event| event.position);
    assert!(events(&store).last().unwrap().position > last, "{what}");
}

/// All of an event but its position, which the chain does not prove.
fn content(event: &StoredEvent) -> StoredEvent {
    StoredEvent { position: 0, ..event.clone() }
}

fn of(events: &[StoredEvent], stream: &StreamId) -> Vec<StoredEvent> {
    events.iter().filter(|event| event.stream == *stream).cloned().collect()
}

fn cut(path: &Path, length: u64) {
    fs::File::options().write(true).open(path).unwrap().set_len(length).unwrap();
}

fn flip(path: &Path, offset: u64, bits: u8) {
    let mut bytes = fs::read(path).unwrap();
    bytes[offset as usize] ^= bits;
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_store_cut_anywhere_keeps_what_can_be_proved() {
    let place = furnished();
    let whole = events(&place.open());
    let length = fs::metadata(place.path()).unwrap().len();
    let mut places = Places(1);
    let mut lengths = vec![0, 1, 99, 100, 512, 4095, 4096, 4097, length - 4096, length - 1];
    lengths.extend((0..15).map(|_| places.below(length)));
    for length in lengths {
        let damaged = place.copy();
        cut(&damaged.path(), length);
        examine(&damaged, &whole, &format!("cut to {length}"));
    }
}

#[test]
fn a_store_with_a_changed_byte_keeps_what_can_be_proved() {
    let place = furnished();
    let whole = events(&place.open());
    let length = fs::metadata(place.path()).unwrap().len();
    let mut places = Places(2);
    let header = [16, 18, 20, 24, 28, 31, 40, 44, 56, 60, 63, 68, 92, 100, 103, 105, 4095];
    let mut offsets: Vec<u64> = header.to_vec();
    offsets.extend((0..60).map(|_| places.below(length)));
    for offset in offsets {
        let damaged = place.copy();
        let bits = 1 << places.below(8);
        flip(&damaged.path(), offset, bits);
        examine(&damaged, &whole, &format!("byte {offset} ^ {bits}"));
    }
}

#[test]
fn a_store_with_a_page_of_zeros_keeps_what_can_be_proved() {
    let place = furnished();
    let whole = events(&place.open());
    let bytes = fs::read(place.path()).unwrap();
    for page in 0..bytes.len() / 4096 {
        let damaged = place.copy();
        let mut bytes = bytes.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0);
        fs::write(damaged.path(), bytes).unwrap();
        examine(&damaged, &whole, &format!("page {} zeroed", page + 1));
    }
}

#[test]
fn a_log_cut_or_changed_anywhere_is_noticed() {
    let place = furnished();
    let store = place.open();
    for round in 0..6 {
        append(&store, "run:log", &[&format!("round {round}")]);
        append(&store, "run:a", &["again", "and again"]);
    }
    let whole = events(&store);
    drop(store);
    let length = fs::metadata(place.side("-wal")).unwrap().len();
    let mut places = Places(3);
    for round in 0..24 {
        let damaged = place.copy();
        let offset = places.below(length);
        if round % 2 == 0 {
            cut(&damaged.side("-wal"), offset);
        } else {
            flip(&damaged.side("-wal"), offset, 0x40);
        }
        examine(&damaged, &whole, &format!("log, round {round}, byte {offset}"));
    }
}

#[test]
fn damage_to_the_first_page_loses_nothing() {
    let place = furnished();
    let whole = events(&place.open());
    for (from, to) in [(0, 100), (0, 4096), (100, 110), (2000, 4096)] {
        let damaged = place.copy();
        let mut bytes = fs::read(damaged.path()).unwrap();
        bytes[from..to].fill(0xff);
        fs::write(damaged.path(), bytes).unwrap();
        examine(&damaged, &whole, &format!("bytes {from} to {to} overwritten"));
        let mut kept = events(&SqliteStore::open(damaged.path()).unwrap());
        kept.pop();
        assert_eq!(kept, whole);
    }
}
