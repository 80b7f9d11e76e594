//! Time as a value: the machine's clock, or a simulated one.
//!
//! What waits, waits for a [`Bell`] or for a time. The simulated clock stands still while somebody is busy; once everybody
//! waits it jumps to the time that is due first, so that a day of waiting passes at once and in order.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use engine::Time;

use crate::machine;

/// A clock. Clones are the same clock.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    simulated: Option<Arc<Simulated>>,
}

/// What wakes whoever waits by a clock before their time. Clones are the same bell; one thread waits for it.
#[derive(Clone, Debug)]
pub struct Bell {
    clock: Clock,
    number: u64,
    real: Arc<(Mutex<bool>, Condvar)>,
}

/// A thread that a simulated clock waits for: time stands still until all of them wait.
#[derive(Debug)]
pub struct Busy(Clock);

#[derive(Debug)]
struct Simulated {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    now: Time,
    /// How many threads may act now.
    busy: usize,
    bells: u64,
    rung: BTreeSet<u64>,
    /// The bells that are waited for, and until when.
    waiting: BTreeMap<u64, Option<Time>>,
    /// How often somebody was woken because a time had come.
    wakeups: u64,
}

impl Clock {
    /// Returns a clock that begins now and goes ahead only while everybody waits.
    pub fn simulated() -> Self {
        let state = State {
            now: machine::now(),
            busy: 0,
            bells: 0,
            rung: BTreeSet::new(),
            waiting: BTreeMap::new(),
            wakeups: 0,
        };
        Self { simulated: Some(Arc::new(Simulated { state: Mutex::new(state), changed: Condvar::new() })) }
    }

    /// Returns the current time.
    pub fn now(&self) -> Time {
        self.simulated.as_ref().map_or_else(machine::now, |simulated| simulated.state().now)
    }

    /// Makes a bell that nobody has rung.
    pub fn bell(&self) -> Bell {
        let number = self.simulated.as_ref().map_or(0, |simulated| {
            let mut state = simulated.state();
            state.bells += 1;
            state.bells
        });
        Bell { clock: self.clone(), number, real: Arc::default() }
    }

    /// Counts a thread among those that a simulated clock waits for, for as long as the value lives.
    pub fn enter(&self) -> Busy {
        if let Some(simulated) = &self.simulated {
            simulated.state().busy += 1;
        }
        Busy(self.clone())
    }

    /// Waits for so long, whatever happens.
    pub fn pause(&self, duration: Duration) {
        if self.simulated.is_none() {
            return thread::sleep(duration);
        }
        let until = after(self.now(), duration);
        let bell = self.bell();
        while !bell.wait(Some(until)).is_due() {}
    }

    /// Returns how often somebody was woken because a time had come: on a simulated clock only.
    pub fn wakeups(&self) -> u64 {
        self.simulated.as_ref().map_or(0, |simulated| simulated.state().wakeups)
    }
}

/// Returns the time that is so much later.
pub fn after(time: Time, duration: Duration) -> Time {
    let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    Time::from_millis(time.millis().saturating_add(millis))
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some(simulated) = &self.0.simulated {
            let mut state = simulated.state();
            state.busy = state.busy.saturating_sub(1);
            state.pass_time();
            simulated.changed.notify_all();
        }
    }
}

/// Why a wait is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// Somebody rang.
    Rung,
    /// The time has come.
    Due,
}

impl Woken {
    fn is_due(self) -> bool {
        self == Woken::Due
    }
}

impl Bell {
    /// Wakes whoever waits for it, or whoever waits next.
    pub fn ring(&self) {
        let Some(simulated) = &self.clock.simulated else {
            *self.real.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
            return self.real.1.notify_all();
        };
        let mut state = simulated.state();
        state.rung.insert(self.number);
        if state.waiting.remove(&self.number).is_some() {
            // Awake from this moment: the clock must not go ahead before its thread runs.
            state.busy += 1;
        }
        simulated.changed.notify_all();
    }

    /// Waits until somebody rings, or until a time.
    pub fn wait(&self, until: Option<Time>) -> Woken {
        match &self.clock.simulated {
            Some(simulated) => simulated.wait(self.number, until),
            None => self.wait_for_real(until),
        }
    }

    fn wait_for_real(&self, until: Option<Time>) -> Woken {
        let mut rung = self.real.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if std::mem::take(&mut *rung) {
                return Woken::Rung;
            }
            let left = until.map(|until| until.millis_since(machine::now()));
            rung = match left.map(u64::try_from) {
                None => self.real.1.wait(rung).unwrap_or_else(PoisonError::into_inner),
                Some(Ok(left)) if left > 0 => {
                    let woken = self.real.1.wait_timeout(rung, Duration::from_millis(left));
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
                Some(_) => return Woken::Due,
            };
        }
    }
}

impl Simulated {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, bell: u64, until: Option<Time>) -> Woken {
        let mut state = self.state();
        if state.rung.remove(&bell) {
            return Woken::Rung;
        }
        state.waiting.insert(bell, until);
        state.busy = state.busy.saturating_sub(1);
        loop {
            state.pass_time();
            self.changed.notify_all();
            if !state.waiting.contains_key(&bell) {
                return if state.rung.remove(&bell) { Woken::Rung } else { Woken::Due };
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl State {
    /// Goes ahead to the first time that is due and wakes whoever waits for it, if nobody is busy.
    fn pass_time(&mut self) {
        if self.busy > 0 {
            return;
        }
        let Some(next) = self.waiting.values().flatten().min().copied() else { return };
        self.now = self.now.max(next);
        let before = self.waiting.len();
        let now = self.now;
        self.waiting.retain(|_, until| until.is_none_or(|until| until > now));
        let woken = before - self.waiting.len();
        self.busy += woken;
        self.wakeups += woken as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_simulated_day_passes_at_once_and_in_order() {
        let clock = Clock::simulated();
        let begun = clock.now();
        let order = Mutex::new(Vec::new());
        thread::scope(|scope| {
            let busy: Vec<Busy> = (0..3).map(|_| clock.enter()).collect();
            for (hours, busy) in [24_u64, 1, 12].into_iter().zip(busy) {
                let (clock, order) = (clock.clone(), &order);
                scope.spawn(move || {
                    let _busy = busy;
                    clock.pause(Duration::from_secs(hours * 3600));
                    order.lock().unwrap().push((hours, clock.now().millis_since(begun) / 3_600_000));
                });
            }
        });
        assert_eq!(*order.lock().unwrap(), [(1, 1), (12, 12), (24, 24)]);
        assert_eq!(clock.wakeups(), 3);
    }

    #[test]
    fn a_bell_wakes_before_the_time_and_the_clock_stands_still() {
        let clock = Clock::simulated();
        let begun = clock.now();
        let (one, other) = (clock.bell(), clock.bell());
        thread::scope(|scope| {
            let (busy, rings) = (clock.enter(), clock.enter());
            let (heard, answer) = (one.clone(), other.clone());
            scope.spawn(move || {
                let _busy = busy;
                assert_eq!(heard.wait(Some(after(begun, Duration::from_secs(60)))), Woken::Rung);
                answer.ring();
            });
            one.ring();
            assert_eq!(other.wait(None), Woken::Rung);
            drop(rings);
        });
        assert_eq!((clock.now(), clock.wakeups()), (begun, 0));
    }

    #[test]
    fn the_machines_clock_wakes_by_bell_and_by_time() {
        let clock = Clock::default();
        let bell = clock.bell();
        bell.ring();
        assert_eq!(bell.wait(None), Woken::Rung);
        assert_eq!(bell.wait(Some(clock.now())), Woken::Due);
        let ringer = bell.clone();
        let thread = thread::spawn(move || ringer.ring());
        assert_eq!(bell.wait(None), Woken::Rung);
        thread.join().unwrap();
    }
}
