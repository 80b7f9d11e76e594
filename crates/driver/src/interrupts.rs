//! Signals by which a person ends the loop: once gently, twice at once.

use std::{
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use adapters::{
    clock::Bell,
    process::{self, Control, Signal, StopCheck},
};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};

/// How often a run, or all runs of this process, were asked to end.
#[derive(Clone, Debug, Default)]
pub struct Interrupts {
    count: Arc<AtomicUsize>,
    bells: Arc<Mutex<Vec<Bell>>>,
}

impl Interrupts {
    /// Listens to Ctrl-C, a terminal that is closed, and a request to end, for the rest of the process's life.
    pub fn listen() -> io::Result<Self> {
        let interrupts = Self::default();
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        // Whoever started it with `nohup` does not want it to end with the terminal.
        if !process::is_ignored(Signal::HUP) {
            signals.add_signal(SIGHUP)?;
        }
        let asked = interrupts.clone();
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for _ in signals.forever() {
                asked.ask();
            }
        })?;
        Ok(interrupts)
    }

    /// Asks the runs that listen to this to end; asked again, they end what they have started at once.
    pub fn ask(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.bells().drain(..).for_each(|bell| bell.ring());
    }

    /// Rings a bell when somebody asks.
    pub(crate) fn ring(&self, bell: Bell) {
        let mut bells = self.bells();
        // Whoever asked before it was there is heard too.
        match self.is_asked() {
            true => bell.ring(),
            false => bells.push(bell),
        }
    }

    fn bells(&self) -> MutexGuard<'_, Vec<Bell>> {
        self.bells.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whether somebody wants the loop to end.
    pub fn is_asked(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Returns who interrupts what waits for others, as for a remote.
    pub fn stop_check(&self) -> StopCheck {
        let asked = self.clone();
        StopCheck::new(move || asked.go())
    }

    /// Tells whether a program may go on: asked once it is to end, asked twice it is killed.
    pub fn go(&self) -> Control {
        match self.count.load(Ordering::Relaxed) {
            0 => Control::On,
            1 => Control::Stop,
            _ => Control::Kill,
        }
    }
}
