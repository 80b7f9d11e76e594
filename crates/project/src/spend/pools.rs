//! Pools that wait for their provider.
//!
//! A provider's limit may last for days, so the pauses have a stream of their own, whose snapshot is all there is to read.

use std::{collections::BTreeMap, sync::Arc};

use adapters::boundary;
use engine::{Time, ledger::Entry};
use journal::{
    Appended, State, StoredEvent, StreamId, StreamView, Streams, Version, View,
    streams::{append, retry},
};
use serde::{Deserialize, Serialize};

use super::{FORMAT, Ledger, LedgerError, Pause, event, parse};

/// The stream of all pools.
const POOLS: &str = "pools";
/// How long a closed pool is not tried, in minutes.
const CLOSED_MINUTES: u64 = 24 * 60;
/// How many pools are kept; the one that waited longest ago is forgotten first.
const POOLS_KEPT: usize = 200;

#[derive(Default, Serialize, Deserialize)]
struct Pools {
    format: u32,
    pools: BTreeMap<String, Pause>,
}

impl State for Pools {
    type Fold = BTreeMap<String, Pause>;
    type Error = LedgerError;

    fn from_snapshot(view: &StreamView) -> Result<Option<Self>, LedgerError> {
        let snapshot: Option<Self> = serde_json::from_slice(&view.snapshot).ok();
        Ok(snapshot.filter(|snapshot| snapshot.format == FORMAT))
    }

    fn add(pools: &mut Self::Fold, event: &StoredEvent) -> Result<(), LedgerError> {
        apply(pools, parse(POOLS, event.seq, &event.body)?);
        Ok(())
    }

    fn finish(_: &StreamId, pools: Self::Fold) -> Result<Self, LedgerError> {
        Ok(Self { format: FORMAT, pools })
    }
}

impl Ledger {
    /// Pauses a pool for all runs. One that waits longer already goes on waiting.
    pub fn pause(&mut self, now: Time, pool: &str, until: Time, why: &str) -> Result<(), LedgerError> {
        self.hold(now, pool, Pause { at: now, until, why: why.to_owned(), is_closed: false })
    }

    /// Closes a pool for all runs until somebody lifts that, at most for a day: then it is tried again.
    pub fn close(&mut self, now: Time, pool: &str, why: &str) -> Result<(), LedgerError> {
        let until = now.plus_minutes(CLOSED_MINUTES);
        self.hold(now, pool, Pause { at: now, until, why: why.to_owned(), is_closed: true })
    }

    fn hold(&mut self, now: Time, pool: &str, pause: Pause) -> Result<(), LedgerError> {
        self.change_pools(now, |pools| {
            let is_longer = pools.get(pool).is_none_or(|known| known.until < pause.until);
            is_longer.then(|| Entry::Paused { pool: pool.to_owned(), pause: pause.clone() })
        })
    }

    /// Lets a pool be used again before its time.
    pub fn lift(&mut self, now: Time, pool: &str) -> Result<(), LedgerError> {
        self.change_pools(now, |pools| {
            pools.contains_key(pool).then(|| Entry::Lifted { pool: pool.to_owned(), at: now })
        })
    }

    /// Returns the pause of a pool, if it waits.
    pub fn paused(&mut self, now: Time, pool: &str) -> Result<Option<Pause>, LedgerError> {
        Ok(self.pauses(now)?.remove(pool))
    }

    /// Returns all pools that wait.
    pub fn pauses(&mut self, now: Time) -> Result<BTreeMap<String, Pause>, LedgerError> {
        let (mut pools, _) = self.pools()?;
        pools.retain(|_, pause| now < pause.until);
        Ok(pools)
    }

    fn pools(&self) -> Result<(BTreeMap<String, Pause>, Version), LedgerError> {
        let loaded = Streams::<Pools>::of(Arc::clone(&self.store)).load(&stream())?;
        Ok(loaded.map_or((BTreeMap::new(), Version::NONE), |loaded| (loaded.state.pools, loaded.version)))
    }

    fn change_pools(
        &mut self,
        now: Time,
        decide: impl Fn(&BTreeMap<String, Pause>) -> Option<Entry>,
    ) -> Result<(), LedgerError> {
        retry(LedgerError::Contended, || {
            let (mut pools, version) = self.pools()?;
            pools.retain(|_, pause| now < pause.until);
            let Some(entry) = decide(&pools) else { return Ok(Some(())) };
            let event = event(now, &entry);
            let kind = entry.kind();
            apply(&mut pools, entry);
            let snapshot =
                serde_json::to_vec(&Pools { format: FORMAT, pools }).expect("pauses can be written as JSON");
            let view = View { snapshot: &snapshot, ..View::default() };
            match boundary::around(kind, || append(&*self.store, &stream(), &version, &[event], view))? {
                Appended::Done(_) => {
                    self.store.flush()?;
                    Ok(Some(()))
                }
                Appended::Moved => Ok(None),
                Appended::MarkTaken(_) => unreachable!("the pools have no mark"),
            }
        })
    }
}

fn apply(pools: &mut BTreeMap<String, Pause>, entry: Entry) {
    match entry {
        Entry::Paused { pool, pause } => {
            pools.insert(pool, pause);
            while pools.len() > POOLS_KEPT
                && let Some(oldest) =
                    pools.iter().min_by_key(|(_, pause)| pause.at).map(|(pool, _)| pool.clone())
            {
                pools.remove(&oldest);
            }
        }
        Entry::Lifted { pool, .. } => {
            pools.remove(&pool);
        }
        Entry::Opened { .. }
        | Entry::Booked { .. }
        | Entry::Released { .. }
        | Entry::Reported { .. }
        | Entry::Raised { .. }
        | Entry::Unknown => {}
    }
}

fn stream() -> StreamId {
    StreamId::parse(POOLS).expect("it is made of plain letters")
}
