//! What stopped a command, and how often.

use std::{collections::BTreeMap, io::Write as _};

/// What kept a command from doing harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stop {
    /// It was refused before it was run.
    Gate,
    /// It was run, and git moved nothing and took no work away.
    Git,
    /// It moved something, which was put back.
    Detector,
    /// It took work away, which had been kept before.
    Snapshot,
    /// It could not be run: a program is not installed here.
    Absent,
}

/// What became of many commands.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    stopped: BTreeMap<Stop, usize>,
    /// What was stopped by nothing, with what it did.
    pub(crate) through: Vec<String>,
}

impl Tally {
    pub(crate) fn count(&mut self, stop: Stop) {
        *self.stopped.entry(stop).or_default() += 1;
    }

    pub(crate) fn add(&mut self, other: Self) {
        for (stop, count) in other.stopped {
            *self.stopped.entry(stop).or_default() += count;
        }
        self.through.extend(other.through);
    }

    pub(crate) fn of(&self, stop: Stop) -> usize {
        self.stopped.get(&stop).copied().unwrap_or_default()
    }

    pub(crate) fn total(&self) -> usize {
        self.stopped.values().sum::<usize>() + self.through.len()
    }

    /// Prints the counts, and expects that nothing got through.
    #[track_caller]
    pub(crate) fn report(&self, title: &str) {
        let count = |stop| thousands(self.of(stop));
        let absent = match self.of(Stop::Absent) {
            0 => String::new(),
            absent => format!(" ({} more need a program that is not here)", thousands(absent)),
        };
        say(&format!(
            "{title}: {} commands: {} stopped by the gate, {} by git, {} put back by the detector, {} kept by the snapshot, \
             {} got through{absent}",
            thousands(self.total() - self.of(Stop::Absent)),
            count(Stop::Gate),
            count(Stop::Git),
            count(Stop::Detector),
            count(Stop::Snapshot),
            thousands(self.through.len()),
        ));
        let first: Vec<&String> = self.through.iter().take(200).collect();
        assert!(first.is_empty(), "{} got through, first:\n{first:#?}", self.through.len());
    }
}

/// Prints a line that is seen even if the test passes.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Not a print macro, whose output is swallowed when the test passes. There is nowhere to complain if it fails.
    let _ = out.write_all(format!("\n{line}\n").as_bytes()).and_then(|()| out.flush());
}

fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap()).collect();
    groups.join(",")
}
