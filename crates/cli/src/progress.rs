//! A line at the terminal that says what is being done and for how long, for whatever takes more than two seconds.

use std::{
    env,
    io::{self, IsTerminal as _, Write as _},
    sync::{
        Mutex, PoisonError,
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::termios::tcgetwinsize;

use crate::live::span;

/// How long something may take before anything is shown.
const QUIET: Duration = Duration::from_secs(2);
/// How often the line is drawn anew.
const EVERY: Duration = Duration::from_secs(1);
/// How wide a terminal is that does not say.
const WIDTH: usize = 80;

/// What is on the screen. A question may be asked, and anything be said, while something is being done.
static SCREEN: Mutex<Screen> = Mutex::new(Screen { is_drawn: false, is_hushed: false });

struct Screen {
    is_drawn: bool,
    /// Set once something else was said: from then on the line would be drawn over it.
    is_hushed: bool,
}

impl Screen {
    fn erase(&mut self) {
        if std::mem::take(&mut self.is_drawn) {
            put("\r\x1b[K");
        }
    }
}

/// Takes the line away, before anything else is said on the terminal. It does not come back until something else begins.
pub(crate) fn hush() {
    let mut screen = SCREEN.lock().unwrap_or_else(PoisonError::into_inner);
    screen.erase();
    screen.is_hushed = true;
}

/// The line; it goes away when this is dropped.
pub(crate) struct Progress {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Begins to say what is being done. Where the standard error is no terminal, nothing is ever shown.
pub(crate) fn start(doing: &str) -> Progress {
    if !io::stderr().is_terminal() || env::var("TERM").is_ok_and(|term| term == "dumb") {
        return Progress { stop: None, thread: None };
    }
    let doing = doing.to_owned();
    SCREEN.lock().unwrap_or_else(PoisonError::into_inner).is_hushed = false;
    let (stop, stopped) = channel();
    let thread = thread::spawn(move || {
        let began = Instant::now();
        let mut wait = QUIET;
        while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
            wait = EVERY;
            let mut screen = SCREEN.lock().unwrap_or_else(PoisonError::into_inner);
            if !screen.is_hushed {
                put(&format!("\r\x1b[K{}", line(&doing, began.elapsed(), width())));
                screen.is_drawn = true;
            }
        }
        SCREEN.lock().unwrap_or_else(PoisonError::into_inner).erase();
    });
    Progress { stop: Some(stop), thread: Some(thread) }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It only draws: if it has panicked, what was being done is done all the same.
            let _ = thread.join();
        }
    }
}

fn line(doing: &str, elapsed: Duration, width: usize) -> String {
    let elapsed = span(i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX));
    // A line as wide as the terminal would not be on one line any more.
    let room = width.saturating_sub(elapsed.len() + 5);
    let doing: String = engine::shown(doing).chars().take(room).collect();
    format!("{doing}… ({elapsed})")
}

fn width() -> usize {
    let size = tcgetwinsize(io::stderr()).map(|size| usize::from(size.ws_col));
    size.ok().filter(|width| *width > 0).unwrap_or(WIDTH)
}

fn put(text: &str) {
    let mut out = io::stderr().lock();
    // There is nowhere to complain if this fails.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_for_how_long_and_fits_the_terminal() {
        let line = |doing: &str, width: usize| line(doing, Duration::from_secs(64), width);
        assert_eq!(line("testing #3", 80), "testing #3… (1m04s)");
        assert_eq!(line("testing \x1b[2J#3", 80), "testing \\u001b[2J#3… (1m04s)");
        assert_eq!(line("a long text", 14).chars().count(), 13);
    }
}
