//! Signals by which a person ends the loop: once gently, twice at once.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use adapters::process::{self, Go, Signal};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};

/// How often this process was asked to end.
#[derive(Clone, Debug, Default)]
pub struct Interrupts {
    count: Arc<AtomicUsize>,
}

impl Interrupts {
    /// Listens to Ctrl-C, a terminal that is closed, and a request to end, for the rest of the process's life. What waits
    /// for others, as for a remote, is interrupted too.
    pub fn listen() -> io::Result<Self> {
        let interrupts = Self::default();
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        // Whoever started it with `nohup` does not want it to end with the terminal.
        if !process::is_ignored(Signal::HUP) {
            signals.add_signal(SIGHUP)?;
        }
        let count = Arc::clone(&interrupts.count);
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for _ in signals.forever() {
                count.fetch_add(1, Ordering::Relaxed);
            }
        })?;
        let go = interrupts.clone();
        process::interrupt_by(move || go.go());
        Ok(interrupts)
    }

    /// Tells whether somebody wants the loop to end.
    pub fn is_asked(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Tells whether a program may go on: asked once it is to end, asked twice it is killed.
    pub fn go(&self) -> Go {
        match self.count.load(Ordering::Relaxed) {
            0 => Go::On,
            1 => Go::Stop,
            _ => Go::Kill,
        }
    }
}
