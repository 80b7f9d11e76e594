//! The person who is not at the terminal, as hooks need them. What is behind it is for whoever wires the program.

use std::time::Duration;

use project::{Dirs, Place};

/// Whether questions and notices go to the person elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Away mode is off.
    Off,
    /// It is on, but something is missing.
    Unreachable(String),
    Reachable,
}

/// Ways to a person who is not at the terminal.
pub trait Away: Sync {
    /// Tells what the person wants at this moment.
    fn reach(&self, place: &Place, dirs: &Dirs) -> Reach;

    /// Tells them what became of a run. What goes wrong is for the channel to report, not for the agent.
    fn tell(&self, place: &Place, dirs: &Dirs, run: &str);

    /// Asks them what a run asks, and takes their answers into the journal; none if they cannot be reached.
    fn begin(&self, place: &Place, dirs: &Dirs, run: &str) -> Option<Box<dyn Exchange>>;
}

/// Questions that go out and answers that come in, in the background.
pub trait Exchange {
    /// Says that the run has changed.
    fn nudge(&self);

    /// Sends what is left, for so long.
    fn finish(self: Box<Self>, patience: Duration);
}

/// Nobody is ever away: for hooks of a run whose driver tells the person itself.
#[derive(Clone, Copy, Debug)]
pub struct Nobody;

impl Away for Nobody {
    fn reach(&self, _: &Place, _: &Dirs) -> Reach {
        Reach::Off
    }

    fn tell(&self, _: &Place, _: &Dirs, _: &str) {}

    fn begin(&self, _: &Place, _: &Dirs, _: &str) -> Option<Box<dyn Exchange>> {
        None
    }
}
