//! What the proxy has seen, for whoever drives the run.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use adapters::agent::ProviderFailure;
use engine::Time;

use crate::{Refusal, Tokens};

/// Metered traffic since the last call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of requests let through.
    pub requests: u64,
    /// The last refusal, or else why something that was used is not booked.
    pub refused: Option<Refusal>,
    /// How the provider last denied access, unless a request that began after it has succeeded.
    pub denied: Option<ProviderFailure>,
    /// The provider's last usage limit, unless a request that began after it has succeeded.
    pub limit: Option<Limit>,
    /// The provider's last failure, unless a request that began after it was answered.
    pub outage: Option<Outage>,
    /// The last request that was sent although the one before it had failed.
    pub retry: Option<Retry>,
    /// Usage of completed requests.
    pub tokens: Tokens,
}

/// A retry of a failed request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Number of retries, this one included.
    pub count: u64,
    /// The provider's last error message.
    pub words: String,
}

/// A provider's usage limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    pub status: u16,
    pub resets_at: Option<Time>,
    /// What the provider says.
    pub words: String,
}

/// A provider's outage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    pub words: String,
}

/// Collects traffic until it is taken.
#[derive(Debug, Default)]
pub(crate) struct TrafficLog {
    state: Mutex<TrafficState>,
    listener: Mutex<Listener>,
}

/// Who hears that something keeps the agent from its work.
#[derive(Default)]
struct Listener(Option<Arc<dyn Fn() + Send + Sync>>);

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

#[derive(Debug, Default)]
struct TrafficState {
    seen: Traffic,
    /// Why a booking failed, until it is made.
    unbooked: Option<String>,
    /// How many requests there have ever been; a request's number is the count with it.
    count: u64,
    /// The counts at which the denial, the limit and the outage were seen.
    denied_at: u64,
    limit_at: u64,
    outage_at: u64,
}

impl TrafficLog {
    pub(crate) fn look(&self) -> Traffic {
        let kept = self.lock();
        told(kept.seen.clone(), kept.unbooked.clone())
    }

    pub(crate) fn take(&self) -> Traffic {
        let mut kept = self.lock();
        told(std::mem::take(&mut kept.seen), kept.unbooked.take())
    }

    /// Counts a request that is let through, and returns its number.
    pub(crate) fn let_through(&self) -> u64 {
        let mut kept = self.lock();
        kept.seen.requests += 1;
        kept.count += 1;
        let outage = kept.seen.outage.as_ref().map(|outage| &outage.words);
        if let Some(words) = outage.or(kept.seen.limit.as_ref().map(|limit| &limit.words)).cloned() {
            let count = kept.seen.retry.as_ref().map_or(0, |retry| retry.count) + 1;
            kept.seen.retry = Some(Retry { count, words });
        }
        kept.count
    }

    pub(crate) fn refused(&self, refusal: &Refusal) {
        self.lock().seen.refused = Some(refusal.clone());
        self.tell();
    }

    pub(crate) fn unbooked(&self, words: String) {
        self.lock().unbooked = Some(words);
        self.tell();
    }

    /// Notes that nothing is left to be booked.
    pub(crate) fn booked(&self) {
        self.lock().unbooked = None;
    }

    pub(crate) fn denied(&self, failure: ProviderFailure) {
        let mut kept = self.lock();
        kept.denied_at = kept.count;
        kept.seen.denied = Some(failure);
        drop(kept);
        self.tell();
    }

    pub(crate) fn limited(&self, limit: Limit) {
        let mut kept = self.lock();
        kept.limit_at = kept.count;
        kept.seen.limit = Some(limit);
        drop(kept);
        self.tell();
    }

    pub(crate) fn failed(&self, words: String) {
        let mut kept = self.lock();
        kept.outage_at = kept.count;
        kept.seen.outage = Some(Outage { words });
        drop(kept);
        self.tell();
    }

    /// Notes that the provider answers again: request `number` came through.
    pub(crate) fn answered(&self, number: u64) {
        let mut kept = self.lock();
        if kept.outage_at < number {
            kept.seen.outage = None;
        }
    }

    /// Notes that request `number` was let in.
    pub(crate) fn let_in(&self, number: u64) {
        let mut kept = self.lock();
        if kept.limit_at < number {
            kept.seen.limit = None;
        }
        if kept.denied_at < number {
            kept.seen.denied = None;
        }
    }

    pub(crate) fn used(&self, tokens: Tokens) {
        let mut kept = self.lock();
        kept.seen.tokens = kept.seen.tokens.plus(tokens);
    }

    /// Calls `listener` from now on whenever something keeps the agent from its work.
    pub(crate) fn tell_to(&self, listener: Arc<dyn Fn() + Send + Sync>) {
        *self.listener.lock().unwrap_or_else(PoisonError::into_inner) = Listener(Some(listener));
    }

    fn tell(&self) {
        let listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner).0.clone();
        if let Some(listener) = listener {
            listener();
        }
    }

    fn lock(&self) -> MutexGuard<'_, TrafficState> {
        // Every change is one assignment, so a panic elsewhere does not spoil it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts what is not booked where a refusal is looked for.
fn told(seen: Traffic, unbooked: Option<String>) -> Traffic {
    Traffic { refused: seen.refused.or(unbooked.map(Refusal::Failed)), ..seen }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit() -> Limit {
        Limit { status: 429, resets_at: None, words: "slow down".to_owned() }
    }

    #[test]
    fn asking_empties_it() {
        let watch = TrafficLog::default();
        watch.let_through();
        watch.used(Tokens { input: 5, ..Tokens::default() });
        assert_eq!(watch.take().requests, 1);
        assert_eq!(watch.take(), Traffic::default());
    }

    #[test]
    fn a_request_after_a_failure_is_a_retry_until_one_is_answered() {
        let watch = TrafficLog::default();
        watch.let_through();
        assert_eq!(watch.look().retry, None);
        watch.failed("down".to_owned());
        watch.let_through();
        watch.limited(limit());
        let last = watch.let_through();
        assert_eq!(watch.look().retry, Some(Retry { count: 2, words: "down".to_owned() }));
        watch.answered(last);
        watch.let_in(last);
        watch.let_through();
        assert_eq!(watch.take().retry.map(|retry| retry.count), Some(2));
    }

    #[test]
    fn only_a_request_that_began_later_lifts_a_limit_or_an_outage() {
        let watch = TrafficLog::default();
        let (early, late) = (watch.let_through(), watch.let_through());
        watch.limited(limit());
        watch.failed("down".to_owned());
        let denied = ProviderFailure::from_status(401, "no such key").unwrap();
        watch.denied(denied.clone());
        for number in [early, late] {
            watch.answered(number);
            watch.let_in(number);
        }
        assert!(watch.lock().seen.limit.is_some() && watch.lock().seen.outage.is_some());
        let next = watch.let_through();
        watch.answered(next);
        assert!(watch.lock().seen.limit.is_some() && watch.lock().seen.outage.is_none());
        assert_eq!(watch.look().denied, Some(denied));
        watch.let_in(next);
        let seen = watch.take();
        assert_eq!((seen.limit, seen.denied), (None, None));
    }
}
