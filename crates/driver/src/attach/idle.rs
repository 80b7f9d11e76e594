//! Whether an agent stands at its prompt: the terminal shows it, and shows the same at three looks in a row.

use std::time::Duration;

use adapters::clock::after;
use engine::{Run, Time, keys};

/// How many looks in a row have to show the same.
const LOOKS: u32 = 3;
/// The longest time between two looks.
const LONGEST: Duration = Duration::from_secs(30);
/// How many of the last lines may hold the prompt: a client has a frame and hints around it.
const LAST_LINES: usize = 6;

#[derive(Debug)]
pub(super) struct Idle {
    every: Duration,
    looked: Time,
    seen: String,
    times: u32,
    pub(super) nudges: u32,
}

impl Idle {
    pub(super) fn new(run: &Run, now: Time) -> Self {
        let silence = Duration::from_secs(run.settings.get(keys::AGENT_SILENCE_SECONDS).max(1));
        let every = (silence / LOOKS).min(LONGEST);
        Self { every, looked: now, seen: String::new(), times: 0, nudges: 0 }
    }

    /// Begins anew: the agent was told something, or has said something.
    pub(super) fn begin(&mut self, now: Time) {
        (self.looked, self.times, self.nudges) = (now, 0, 0);
        self.seen.clear();
    }

    pub(super) fn nudged(&mut self, now: Time) {
        (self.looked, self.times) = (now, 0);
        self.nudges += 1;
    }

    /// Returns when the terminal is looked at next.
    pub(super) fn due(&self) -> Time {
        after(self.looked, self.every)
    }

    /// Looks at the terminal; tells whether the agent has stood at its prompt for long enough.
    pub(super) fn look(&mut self, now: Time, seen: &str, prompt: &str) -> bool {
        self.looked = now;
        let is_at_prompt = seen
            .lines()
            .rev()
            .take(LAST_LINES)
            .any(|line| line.trim_start_matches(['│', ' ']).starts_with(prompt));
        self.times = if is_at_prompt && (self.times == 0 || seen == self.seen) { self.times + 1 } else { 0 };
        seen.clone_into(&mut self.seen);
        self.times >= LOOKS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_idle_when_its_prompt_stands_still_for_three_looks() {
        let (every, now) = (Duration::from_secs(30), Time::from_millis(1_000));
        let mut idle = Idle { every, looked: now, seen: String::new(), times: 0, nudges: 0 };
        let later = idle.due();
        assert_eq!(later, Time::from_millis(31_000));
        let looks = ["working", "done\n❯", "done\n❯", "done\n❯"];
        assert_eq!(looks.map(|seen| idle.look(later, seen, "❯")), [false, false, false, true]);
        assert_eq!(idle.due(), Time::from_millis(61_000));
        idle.begin(later);
        let looks = ["❯ 1", "❯ 2", "❯ 2", "text ❯", "❯ 2"];
        assert!(looks.iter().all(|seen| !idle.look(later, seen, "❯")));
    }
}
