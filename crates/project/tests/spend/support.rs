//! A user's directories, and a ledger in them.

use engine::{
    Time, Usage,
    ledger::{Cap, Caps, Scope, Tags},
};
use project::{Dirs, spend::Ledger};

/// A home of its own, which goes with it.
pub(crate) struct Home {
    _directory: tempfile::TempDir,
    pub(crate) dirs: Dirs,
}

impl Home {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let dirs = Dirs::new(directory.path().join("state"), directory.path().join("config"));
        Self { _directory: directory, dirs }
    }

    pub(crate) fn ledger(&self) -> Ledger {
        Ledger::open(&self.dirs).unwrap()
    }

    /// The ledger as one who comes later reads it, from the beginning.
    pub(crate) fn read(&self) -> Ledger {
        let mut ledger = self.ledger();
        ledger.follow(Time::from_millis(0)).unwrap();
        ledger
    }
}

/// A model that the list knows: a dollar for a million tokens of input, five for output.
pub(crate) const MODEL: &str = "claude-haiku-4-5-20251001";

/// A time on a day in November 2026.
pub(crate) fn at(day: u32, hour: u32) -> Time {
    Time::parse(&format!("2026-11-{day:02}T{hour:02}:00:00Z")).unwrap()
}

pub(crate) fn tags(run: &str) -> Tags {
    let text = str::to_owned;
    Tags {
        project: text("shop"),
        run: text(run),
        pool: text("anthropic"),
        agent: text("claude"),
        ..Tags::default()
    }
}

pub(crate) fn tokens(input: u64, output: u64) -> Usage {
    Usage { input_tokens: input, output_tokens: output, ..Usage::default() }
}

/// A cap of the run, in tokens.
pub(crate) fn run_cap(tokens: u64) -> Caps {
    Caps { run: Cap { tokens: Some(tokens), micro_usd: None }, ..Caps::default() }
}

/// A cap of the day, in tokens.
pub(crate) fn day_cap(tokens: u64) -> Caps {
    Caps { day: Cap { tokens: Some(tokens), micro_usd: None }, ..Caps::default() }
}

/// What all runs have used on a day.
pub(crate) fn spent(ledger: &Ledger, now: Time) -> Usage {
    ledger.books().spent(Scope::Day, &now.day(), &Tags::default())
}
