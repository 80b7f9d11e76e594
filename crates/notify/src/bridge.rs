//! A thread that speaks to a channel for as long as a run is carried on, so that the run never waits for it.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use adapters::{clock::Bell, machine};
use project::{Dirs, Place, spelled};

use crate::{
    AwayMode, RunRef, Wake,
    courier::{DeliveryResult, RunSender},
    hear::{PollResult, hear},
    memory::{AwayError, ChannelLease, LISTEN, Memory},
    port::{Channel, Trouble},
    telegram::{self, Bot, Telegram},
};

/// How long one wait for messages lasts.
const LISTENING: Duration = Duration::from_secs(25);
/// How often the run is looked at while nobody says that it has changed.
const LOOKING: Duration = Duration::from_secs(1);
/// The shortest and the longest pause after something went wrong.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The longest pause that the other side may ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(60 * 60);

/// How long it is tried to send what is left after the end: nobody waits longer, and there may be many runs in one process.
const LEAVING: Duration = Duration::from_secs(5);

/// How long a process that has something else to do waits until its notices are sent.
const IN_PASSING: Duration = Duration::from_secs(3);

/// What is said when the time is up before the last notices are out.
const UNSENT: &str = "the last notices are not sent yet; they are with the next run";

/// Background thread that posts and listens for one run until finished or dropped.
#[derive(Debug)]
pub struct Notifier {
    wake: Wake,
    end: Arc<End>,
    notes: Arc<Notes>,
    ended: Receiver<()>,
}

/// What the thread has to say to the person at the terminal.
#[derive(Debug, Default)]
struct Notes {
    lines: Mutex<Vec<String>>,
    /// Rung when there is something to be shown.
    bell: Mutex<Option<Bell>>,
}

/// What was said to a thread that sends.
#[derive(Debug, Default)]
struct End {
    /// It sends what is left, and goes.
    is_over: AtomicBool,
    /// Nobody waits for it, or wants to be told: it goes at once.
    is_dropped: AtomicBool,
}

impl Notifier {
    /// Starts the thread; it listens while a question is open.
    pub fn start(dirs: &Dirs, reach: &AwayMode, of: RunRef) -> Option<Self> {
        Self::started(dirs, reach, of, Lifetime::Long)
    }

    fn started(dirs: &Dirs, reach: &AwayMode, of: RunRef, stay: Lifetime) -> Option<Self> {
        let AwayMode::Telegram(bot) = reach else { return None };
        // What this thread records itself it tells by itself.
        let dirs = &Dirs { recorded: None, ..dirs.clone() };
        let wake = Wake::default();
        let (end, notes) = (Arc::<End>::default(), Arc::<Notes>::default());
        let (ends, ended) = channel();
        // Written down before the run goes on: whatever it records from here on is told, however late the thread comes to it.
        match followed(dirs, bot, of.clone()) {
            Ok((memory, courier)) => {
                let worker = Worker {
                    dirs: dirs.clone(),
                    of,
                    stay,
                    wake: wake.clone(),
                    end: Arc::clone(&end),
                    notes: Arc::clone(&notes),
                    _ends: ends,
                };
                let bot = bot.clone();
                thread::spawn(move || worker.run(bot, memory, courier));
            }
            Err(error) => notes.add(&spelled(&error)),
        }
        Some(Self { wake, end, notes, ended })
    }

    /// Wakes the thread after an append.
    pub fn nudge(&self) {
        self.wake.signal();
    }

    /// Returns what wakes the thread.
    pub fn wake(&self) -> Wake {
        self.wake.clone()
    }

    /// Returns notes for the person at the terminal, each once.
    pub fn notes(&self) -> Vec<String> {
        std::mem::take(&mut self.notes.lines.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Rings a bell whenever there is a note to be shown.
    pub fn ring(&self, bell: Bell) {
        *self.notes.bell.lock().unwrap_or_else(PoisonError::into_inner) = Some(bell);
    }

    /// Stops the thread after the rest is sent or `patience` is over; the next process sends what is left.
    pub fn finish(self, patience: Duration) -> Vec<String> {
        self.end.is_over.store(true, Ordering::SeqCst);
        self.wake.signal();
        if self.ended.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
            self.notes.add(UNSENT);
        }
        self.notes()
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        self.end.is_dropped.store(true, Ordering::SeqCst);
        self.wake.signal();
    }
}

/// Notes from where on a run is told about, and returns what it takes to do so.
fn followed(dirs: &Dirs, bot: &Bot, of: RunRef) -> Result<(Memory, RunSender), AwayError> {
    let mut memory = Memory::open(dirs, bot.key())?;
    let mut courier = RunSender::new(dirs, of)?;
    courier.follow(&mut memory)?;
    Ok((memory, courier))
}

/// Lifetime of the sending process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lifetime {
    /// It listens while a question is open, and sends what others have left behind.
    Long,
    /// It sends what it has to say, and goes on.
    Passing,
}

struct Worker {
    dirs: Dirs,
    of: RunRef,
    stay: Lifetime,
    wake: Wake,
    end: Arc<End>,
    notes: Arc<Notes>,
    /// Its end is the thread's.
    _ends: Sender<()>,
}

/// Backoff after failures of a channel.
#[derive(Debug, Default)]
struct Backoff {
    /// Nothing is tried before.
    until: Option<Instant>,
    failures: u32,
}

impl Backoff {
    fn is_over(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() >= until)
    }

    fn is_failing(&self) -> bool {
        self.until.is_some()
    }

    fn left(&self) -> Duration {
        self.until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()))
    }

    fn succeeded(&mut self) {
        *self = Self::default();
    }

    fn failed(&mut self, asked: Option<Duration>) {
        self.failures = self.failures.saturating_add(1);
        self.until = Some(Instant::now() + pause(self.failures, asked));
    }
}

/// Says how long to wait after so many failures in a row: as long as the other side asks for, else twice as long each
/// time, and a part more or less, so that many do not come back at once.
fn pause(failures: u32, asked: Option<Duration>) -> Duration {
    if let Some(asked) = asked {
        return asked.min(LONGEST_ASKED);
    }
    let doubled = SHORTEST_PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(10)).min(LONGEST_PAUSE);
    let part = u32::try_from(machine::now().millis().unsigned_abs() % 100).unwrap_or(0);
    doubled.mul_f64(0.75 + f64::from(part) / 200.0)
}

impl Notes {
    /// Leaves a note for the terminal, unless it is there already.
    fn add(&self, text: &str) {
        let text = format!("away: {text}");
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.contains(&text) {
            return;
        }
        lines.push(text);
        drop(lines);
        if let Some(bell) = &*self.bell.lock().unwrap_or_else(PoisonError::into_inner) {
            bell.ring();
        }
    }
}

impl Worker {
    fn note(&self, text: &str) {
        self.notes.add(text);
    }

    fn is_over(&self) -> bool {
        self.end.is_over.load(Ordering::SeqCst)
    }

    fn is_dropped(&self) -> bool {
        self.end.is_dropped.load(Ordering::SeqCst)
    }

    fn run(&self, bot: Bot, memory: Memory, courier: RunSender) {
        let mut telegram = match Telegram::new(bot, self.wake.clone()) {
            Ok(telegram) => telegram,
            Err(error) => return self.note(&spelled(&error)),
        };
        if let Err(error) = self.work(&mut telegram, memory, courier) {
            self.note(&spelled(&error));
        }
    }

    fn work(
        &self,
        channel: &mut dyn Channel,
        mut memory: Memory,
        mut courier: RunSender,
    ) -> Result<(), AwayError> {
        let (mut sending, mut hearing) = (Backoff::default(), Backoff::default());
        let mut ear = ListenLease::default();
        let mut told = (ReportedTrouble::default(), ReportedTrouble::default());
        let worked = self.turns(
            channel,
            &mut memory,
            &mut courier,
            (&mut sending, &mut told.0),
            (&mut hearing, &mut told.1),
            &mut ear,
        );
        courier.end(&mut memory)?;
        ear.close(&mut memory)?;
        worked
    }

    fn turns(
        &self,
        channel: &mut dyn Channel,
        memory: &mut Memory,
        courier: &mut RunSender,
        (sending, unsent): (&mut Backoff, &mut ReportedTrouble),
        (hearing, unheard): (&mut Backoff, &mut ReportedTrouble),
        ear: &mut ListenLease,
    ) -> Result<(), AwayError> {
        if self.stay == Lifetime::Long {
            left_behind(&self.dirs, memory, channel, &self.of.run)?;
        }
        let mut leaves_at = None;
        while !self.is_dropped() {
            let is_over = self.is_over();
            if sending.is_over() {
                let mut notes = Vec::new();
                match courier.deliver(memory, channel, &mut notes)? {
                    DeliveryResult::All => {
                        sending.succeeded();
                        unsent.clear();
                    }
                    DeliveryResult::Elsewhere => sending.succeeded(),
                    DeliveryResult::Later { wait, why } => {
                        sending.failed(wait);
                        unsent.once(self, memory, &why)?;
                    }
                    DeliveryResult::Never(why) => {
                        unsent.once(self, memory, &why)?;
                        return Ok(());
                    }
                }
                notes.iter().for_each(|note| self.note(note));
            }
            if is_over {
                let leaves_at = *leaves_at.get_or_insert_with(|| Instant::now() + LEAVING);
                let left = leaves_at.saturating_duration_since(Instant::now());
                // What cannot be sent now is left to whoever comes next.
                if !sending.is_failing() {
                    return Ok(());
                }
                if left.is_zero() {
                    self.note(UNSENT);
                    return Ok(());
                }
                self.wake.wait(sending.left().min(left));
                continue;
            }
            let is_open = courier.has_open_question(memory)?;
            if is_open && self.stay == Lifetime::Long && hearing.is_over() && ear.open(memory)? {
                match hear(&self.dirs, memory, channel, LISTENING)? {
                    PollResult::Messages(_) => {
                        hearing.succeeded();
                        unheard.clear();
                    }
                    PollResult::Trouble(Trouble::Woken) => {}
                    PollResult::Trouble(Trouble::NoEntry(why)) => {
                        unheard.once(self, memory, &why)?;
                        return Ok(());
                    }
                    PollResult::Trouble(Trouble::Later { wait, why }) => {
                        hearing.failed(wait);
                        unheard.once(self, memory, &why)?;
                    }
                    PollResult::Trouble(Trouble::Rival(why) | Trouble::Never(why)) => {
                        hearing.failed(None);
                        unheard.once(self, memory, &why)?;
                    }
                }
                continue;
            }
            if !is_open {
                ear.close(memory)?;
            }
            self.wake.wait(LOOKING);
        }
        Ok(())
    }
}

/// The lease for listening, if held.
#[derive(Debug, Default)]
struct ListenLease(Option<ChannelLease>);

impl ListenLease {
    fn open(&mut self, memory: &mut Memory) -> Result<bool, AwayError> {
        if let Some(hold) = &self.0
            && memory.renew(hold)?
        {
            return Ok(true);
        }
        self.0 = memory.hold(LISTEN)?;
        Ok(self.0.is_some())
    }

    fn close(&mut self, memory: &mut Memory) -> Result<(), AwayError> {
        match self.0.take() {
            Some(hold) => memory.release(&hold),
            None => Ok(()),
        }
    }
}

/// The last reported trouble of a channel, to report it once.
#[derive(Debug, Default)]
struct ReportedTrouble(Option<String>);

impl ReportedTrouble {
    fn once(&mut self, worker: &Worker, memory: &mut Memory, why: &str) -> Result<(), AwayError> {
        memory.failed(why)?;
        if self.0.as_deref() != Some(why) {
            self.0 = Some(why.to_owned());
            worker.note(why);
        }
        Ok(())
    }

    fn clear(&mut self) {
        self.0 = None;
    }
}

/// Sends what other processes have left unsent, as far as they are gone and its person still wants to be told. What cannot
/// be sent is left for later.
fn left_behind(
    dirs: &Dirs,
    memory: &mut Memory,
    channel: &mut dyn Channel,
    but: &str,
) -> Result<(), AwayError> {
    for followed in memory.runs()?.into_iter().filter(|followed| !followed.is_over && followed.run != but) {
        // A project that is gone has nothing more to tell.
        let Ok(place) = Place::at(&followed.project) else { continue };
        let of = RunRef { project: followed.project.clone(), run: followed.run.clone() };
        let Ok(mut courier) = RunSender::new(dirs, of) else { continue };
        let delivered = match AwayMode::of(&place, dirs, &[]) {
            AwayMode::Telegram(_) => courier.deliver(memory, channel, &mut Vec::new()),
            AwayMode::Off(_) => courier.pass_over(memory).map(|()| DeliveryResult::All),
            AwayMode::Unreachable(_) => Ok(DeliveryResult::Elsewhere),
        };
        courier.end(memory)?;
        match delivered? {
            DeliveryResult::All | DeliveryResult::Elsewhere => {}
            DeliveryResult::Later { .. } | DeliveryResult::Never(_) => break,
        }
    }
    Ok(())
}

/// Sends for a run from a process that ends soon: what is not sent in a moment is left to whoever comes next.
///
/// Where the channel could not be reached just now, it is not tried: an agent's every step would wait for it.
pub fn tell(place: &Place, dirs: &Dirs, run: &str) -> Vec<String> {
    if !telegram::is_set_up(dirs) {
        return Vec::new();
    }
    let (reach, of) = (AwayMode::of(place, dirs, &[]), RunRef::run(place, run));
    let bot = match &reach {
        AwayMode::Telegram(bot) => bot,
        AwayMode::Off(_) => {
            let passed = pass_over(dirs, &reach, of);
            return passed.err().map(|error| format!("away: {}", spelled(&error))).into_iter().collect();
        }
        AwayMode::Unreachable(_) => return Vec::new(),
    };
    let failed = Memory::open(dirs, bot.key()).and_then(|mut memory| memory.has_just_failed());
    if failed.unwrap_or(true) {
        return Vec::new();
    }
    match Notifier::started(dirs, &reach, of, Lifetime::Passing) {
        Some(bridge) => bridge.finish(IN_PASSING),
        None => Vec::new(),
    }
}

/// Lets what a run has recorded while away mode is off go untold.
pub fn pass_over(dirs: &Dirs, reach: &AwayMode, of: RunRef) -> Result<(), AwayError> {
    let AwayMode::Off(Some(bot)) = reach else { return Ok(()) };
    let mut memory = Memory::open(dirs, bot.key())?;
    if memory.followed(&of.run)?.is_none_or(|followed| followed.is_over) {
        return Ok(());
    }
    let mut courier = RunSender::new(dirs, of)?;
    courier.pass_over(&mut memory)?;
    courier.end(&mut memory)
}

/// Lets what the runs of a project have recorded while away mode was off go untold. To be called before it is switched on:
/// a process that was killed meanwhile, or that had no bot, has not done so.
pub fn pass_over_all(place: &Place, dirs: &Dirs) -> Result<(), AwayError> {
    let AwayMode::Off(Some(bot)) = AwayMode::of(place, dirs, &[]) else { return Ok(()) };
    let mut memory = Memory::open(dirs, bot.key())?;
    let project = place.origin().unwrap_or(&place.root).to_owned();
    for followed in memory.runs()?.into_iter().filter(|followed| followed.project == project) {
        if !followed.is_over {
            let mut courier = RunSender::new(dirs, RunRef { project: project.clone(), run: followed.run })?;
            courier.pass_over(&mut memory)?;
            courier.end(&mut memory)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_bound_and_the_other_side_is_heeded() {
        for failures in 1..40 {
            let pause = pause(failures, None);
            assert!(pause >= SHORTEST_PAUSE.mul_f64(0.7) && pause <= LONGEST_PAUSE.mul_f64(1.3), "{pause:?}");
        }
        assert!(pause(20, None) > pause(1, None));
        assert_eq!(pause(1, Some(Duration::from_secs(7))), Duration::from_secs(7));
        assert_eq!(pause(1, Some(Duration::from_secs(1 << 30))), LONGEST_ASKED);
    }
}
