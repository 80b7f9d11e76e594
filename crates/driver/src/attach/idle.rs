//! Whether an agent stands at its prompt: the terminal shows it, and shows the same at three looks in a row.

use std::time::{Duration, Instant};

use engine::{Run, keys};

/// How many looks in a row have to show the same.
const LOOKS: u32 = 3;
/// The longest time between two looks.
const LONGEST: Duration = Duration::from_secs(30);
/// How many of the last lines may hold the prompt: a client has a frame and hints around it.
const LAST_LINES: usize = 6;

#[derive(Debug)]
pub(super) struct Idle {
    every: Duration,
    looked: Instant,
    seen: String,
    times: u32,
    pub(super) nudges: u32,
}

impl Idle {
    pub(super) fn new(run: &Run) -> Self {
        let silence = Duration::from_secs(run.settings.get(keys::AGENT_SILENCE_SECONDS).max(1));
        let every = (silence / LOOKS).min(LONGEST);
        Self { every, looked: Instant::now(), seen: String::new(), times: 0, nudges: 0 }
    }

    /// Begins anew: the agent was told something, or has said something.
    pub(super) fn begin(&mut self) {
        (self.looked, self.times, self.nudges) = (Instant::now(), 0, 0);
        self.seen.clear();
    }

    pub(super) fn nudged(&mut self) {
        (self.looked, self.times) = (Instant::now(), 0);
        self.nudges += 1;
    }

    pub(super) fn is_due(&self) -> bool {
        self.looked.elapsed() >= self.every
    }

    /// Looks at the terminal; tells whether the agent has stood at its prompt for long enough.
    pub(super) fn look(&mut self, seen: &str, prompt: &str) -> bool {
        self.looked = Instant::now();
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

    fn idle() -> Idle {
        Idle { every: Duration::ZERO, looked: Instant::now(), seen: String::new(), times: 0, nudges: 0 }
    }

    #[test]
    fn an_agent_is_idle_when_its_prompt_stands_still_for_three_looks() {
        let mut idle = idle();
        let looks = ["working", "done\n❯", "done\n❯", "done\n❯"];
        assert_eq!(looks.map(|seen| idle.look(seen, "❯")), [false, false, false, true]);
        idle.begin();
        let looks = ["❯ 1", "❯ 2", "❯ 2", "text ❯", "❯ 2"];
        assert!(looks.iter().all(|seen| !idle.look(seen, "❯")));
    }
}
