//! Random use of a store, compared step by step with a model plain enough to be right by reading.

#![expect(clippy::unwrap_used, reason = "a test has no better way to fail")]

use std::collections::BTreeMap;

use journal::{
    AppendError, Lease, LeaseError, MemoryStore, NewEvent, Query, Scope, SqliteStore, Store, StreamId,
    Version, View,
};
use proptest::prelude::*;

const STREAMS: [&str; 3] = ["run:a", "run:b", "project"];
const MARKS: [&str; 2] = ["here", "there"];
const TOPICS: [&str; 2] = ["issue:1", "issue:2"];
const LEASES: [&str; 2] = ["factory", "merge"];
const OWNERS: [&str; 2] = ["one", "two"];

#[derive(Debug, Clone)]
enum Op {
    /// `behind` says how many versions ago the writer read the stream.
    Append {
        stream: usize,
        behind: usize,
        events: usize,
        mark: Option<usize>,
        topic: Option<usize>,
    },
    Acquire {
        lease: usize,
        owner: usize,
        wait: i64,
        keep: i64,
    },
    Renew {
        lease: usize,
        behind: usize,
        keep: i64,
    },
    Release {
        lease: usize,
        behind: usize,
    },
    Reopen,
}

fn op() -> impl Strategy<Value = Op> {
    let behind = || prop_oneof![5 => Just(0_usize), 1 => 1..4_usize];
    let append = (
        0..STREAMS.len(),
        behind(),
        0..4_usize,
        proptest::option::of(0..MARKS.len()),
        proptest::option::of(0..TOPICS.len()),
    );
    prop_oneof![
        8 => append.prop_map(|(stream, behind, events, mark, topic)| {
            Op::Append { stream, behind, events, mark, topic }
        }),
        3 => (0..LEASES.len(), 0..OWNERS.len(), 0..20_i64, 1..30_i64)
            .prop_map(|(lease, owner, wait, keep)| Op::Acquire { lease, owner, wait, keep }),
        1 => (0..LEASES.len(), behind(), 1..30_i64)
            .prop_map(|(lease, behind, keep)| Op::Renew { lease, behind, keep }),
        1 => (0..LEASES.len(), behind()).prop_map(|(lease, behind)| Op::Release { lease, behind }),
        1 => Just(Op::Reopen),
    ]
}

/// What a store should be.
#[derive(Default)]
struct Model {
    /// (stream, kind), in order.
    log: Vec<(usize, String)>,
    streams: BTreeMap<usize, ModelStream>,
    leases: BTreeMap<usize, (usize, u64, i64)>,
    /// Every generation a lease ever had, oldest first.
    generations: BTreeMap<usize, Vec<u64>>,
    highest_generation: u64,
    now: i64,
}

struct ModelStream {
    /// Every version it ever had, oldest first.
    versions: Vec<Version>,
    mark: Option<usize>,
    topic: Option<usize>,
    snapshot: Vec<u8>,
    updated: usize,
}

impl Model {
    fn step(&mut self, store: &dyn Store, op: &Op) {
        match *op {
            Op::Append { stream, behind, events, mark, topic } => {
                self.append(store, stream, behind, events, mark, topic);
            }
            Op::Acquire { lease, owner, wait, keep } => self.acquire(store, lease, owner, wait, keep),
            Op::Renew { lease, behind, keep } => {
                let (generation, expires_at) = (self.generation(lease, behind), self.now + keep);
                let outcome = store.renew(LEASES[lease], generation, expires_at);
                match self.leases.get_mut(&lease).filter(|held| held.1 == generation) {
                    Some(held) => {
                        held.2 = expires_at;
                        assert_eq!(outcome.unwrap().expires_at, expires_at);
                    }
                    None => assert!(matches!(outcome, Err(LeaseError::Stale { .. })), "{outcome:?}"),
                }
            }
            Op::Release { lease, behind } => {
                let generation = self.generation(lease, behind);
                let outcome = store.release(LEASES[lease], generation);
                if self.leases.get(&lease).is_some_and(|held| held.1 == generation) {
                    outcome.unwrap();
                    self.leases.remove(&lease);
                } else {
                    assert!(matches!(outcome, Err(LeaseError::Stale { .. })), "{outcome:?}");
                }
            }
            Op::Reopen => {}
        }
    }

    fn append(
        &mut self,
        store: &dyn Store,
        stream: usize,
        behind: usize,
        events: usize,
        mark: Option<usize>,
        topic: Option<usize>,
    ) {
        let versions = self.streams.get(&stream).map(|stream| stream.versions.as_slice()).unwrap_or_default();
        let current = versions.last().cloned().unwrap_or(Version::NONE);
        let seen = versions.iter().rev().nth(behind).cloned().unwrap_or(Version::NONE);
        let holder = mark.and_then(|mark| {
            self.streams
                .iter()
                .find(|(id, other)| **id != stream && other.mark == Some(mark))
                .map(|(id, _)| *id)
        });
        let kinds: Vec<String> = (0..events).map(|n| format!("event {}", self.log.len() + n)).collect();
        let snapshot = kinds.concat().into_bytes();
        let new: Vec<NewEvent> = kinds
            .iter()
            .map(|kind| NewEvent { at: self.now, kind: kind.clone(), body: kind.clone().into() })
            .collect();
        let view = View {
            snapshot: &snapshot,
            mark: mark.map(|mark| MARKS[mark]),
            topic: topic.map(|topic| TOPICS[topic]),
        };
        let outcome = store.append(&id(stream), &seen, &new, view);
        match outcome {
            Err(AppendError::NoEvents) => assert_eq!(events, 0),
            _ if events == 0 => panic!("{outcome:?}"),
            Err(AppendError::Conflict { actual }) => {
                assert_ne!(seen, current);
                assert_eq!(actual, current);
            }
            _ if seen != current => panic!("{outcome:?}"),
            Err(AppendError::MarkTaken { holder: told, .. }) => assert_eq!(Some(told), holder.map(id)),
            _ if holder.is_some() => panic!("{outcome:?}"),
            Ok(version) => {
                assert_eq!(version.events(), current.events() + events as u64);
                self.log.extend(kinds.into_iter().map(|kind| (stream, kind)));
                let mut versions =
                    self.streams.remove(&stream).map(|stream| stream.versions).unwrap_or_default();
                versions.push(version);
                let updated = self.log.len();
                self.streams.insert(stream, ModelStream { versions, mark, topic, snapshot, updated });
            }
            Err(AppendError::Store(error)) => panic!("{error}"),
        }
    }

    fn acquire(&mut self, store: &dyn Store, lease: usize, owner: usize, wait: i64, keep: i64) {
        self.now += wait;
        let expires_at = self.now + keep;
        let outcome = store.acquire(LEASES[lease], OWNERS[owner], self.now, expires_at);
        match self.leases.get(&lease).filter(|held| self.now < held.2) {
            Some((holder, _, until)) if *holder != owner => match outcome {
                Err(LeaseError::Held { owner, until: told, .. }) => {
                    assert_eq!((owner.as_str(), told), (OWNERS[*holder], *until));
                }
                other => panic!("{other:?}"),
            },
            Some((_, generation, _)) => {
                assert_eq!(outcome.unwrap().generation, *generation);
                self.leases.insert(lease, (owner, *generation, expires_at));
            }
            None => {
                let generation = outcome.unwrap().generation;
                assert!(generation > self.highest_generation);
                self.highest_generation = generation;
                self.generations.entry(lease).or_default().push(generation);
                self.leases.insert(lease, (owner, generation, expires_at));
            }
        }
    }

    fn generation(&self, lease: usize, behind: usize) -> u64 {
        self.generations.get(&lease).and_then(|all| all.iter().rev().nth(behind)).copied().unwrap_or(0)
    }

    /// Compares everything that can be read.
    fn check(&self, store: &dyn Store) {
        let all = store.read(Scope::Store, 0, 10_000).unwrap();
        let log: Vec<(String, String)> =
            all.iter().map(|event| (event.stream.to_string(), event.kind.clone())).collect();
        let expected: Vec<(String, String)> =
            self.log.iter().map(|(stream, kind)| (STREAMS[*stream].into(), kind.clone())).collect();
        assert_eq!(log, expected);
        assert!(all.is_sorted_by(|a, b| a.position < b.position));
        for stream in 0..STREAMS.len() {
            let own: Vec<_> = all.iter().filter(|event| event.stream == id(stream)).cloned().collect();
            assert_eq!(store.read(Scope::Stream(&id(stream)), 0, 10_000).unwrap(), own);
            assert_eq!(store.load(&id(stream)).unwrap().is_some(), self.streams.contains_key(&stream));
        }
        let mut newest: Vec<(&usize, &ModelStream)> = self.streams.iter().collect();
        newest.sort_by_key(|(_, stream)| std::cmp::Reverse(stream.updated));
        let views = store.views(Query::Names("")).unwrap();
        assert_eq!(views.len(), newest.len());
        for (view, (stream, expected)) in views.iter().zip(&newest) {
            assert_eq!(view.stream, id(**stream));
            assert_eq!(Some(&view.version), expected.versions.last());
            assert_eq!(view.snapshot, expected.snapshot);
            assert_eq!(view.mark.as_deref(), expected.mark.map(|mark| MARKS[mark]));
            assert_eq!(view.topic.as_deref(), expected.topic.map(|topic| TOPICS[topic]));
        }
        for (topic, name) in TOPICS.iter().enumerate() {
            let about: Vec<StreamId> =
                store.views(Query::Topic(name)).unwrap().into_iter().map(|view| view.stream).collect();
            let expected: Vec<StreamId> = newest
                .iter()
                .filter(|(_, stream)| stream.topic == Some(topic))
                .map(|(stream, _)| id(**stream))
                .collect();
            assert_eq!(about, expected);
        }
        for (mark, name) in MARKS.iter().enumerate() {
            let holder = store.find(Query::Mark(name)).unwrap().pop().map(|head| head.stream);
            let expected = self.streams.iter().find(|(_, stream)| stream.mark == Some(mark));
            assert_eq!(holder, expected.map(|(stream, _)| id(*stream)));
        }
        for (lease, name) in LEASES.iter().enumerate() {
            let expected = self.leases.get(&lease).map(|(owner, generation, expires_at)| Lease {
                name: (*name).into(),
                owner: OWNERS[*owner].into(),
                generation: *generation,
                expires_at: *expires_at,
            });
            assert_eq!(store.lease(name).unwrap(), expected);
        }
    }
}

fn id(stream: usize) -> StreamId {
    StreamId::parse(STREAMS[stream]).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_memory_store_behaves_as_the_model(ops in proptest::collection::vec(op(), 1..60)) {
        let store = MemoryStore::new();
        let mut model = Model::default();
        for op in &ops {
            model.step(&store, op);
            model.check(&store);
        }
    }

    #[test]
    fn a_sqlite_store_behaves_as_the_model(ops in proptest::collection::vec(op(), 1..40)) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal.db");
        let mut store = SqliteStore::open(&path).unwrap();
        let mut model = Model::default();
        for op in &ops {
            if let Op::Reopen = op {
                drop(store);
                store = SqliteStore::open(&path).unwrap();
            }
            model.step(&store, op);
            model.check(&store);
        }
        prop_assert!(store.verify().unwrap().is_sound());
    }
}
