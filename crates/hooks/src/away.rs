//! The person who is not at the terminal, as hooks need them. What is behind it is for whoever wires the program.

use std::{fmt, time::Duration};

use project::{Dirs, Place};

/// State of away mode, as hooks see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reachability {
    /// Away mode is off.
    Off,
    /// It is on, but something is missing.
    Unreachable(String),
    Reachable,
}

/// Access to a person who is away.
pub trait AwayChannel: fmt::Debug + Sync {
    /// Returns the current state of away mode.
    fn reach(&self, place: &Place, dirs: &Dirs) -> Reachability;

    /// Tells them what became of a run. What goes wrong is for the channel to report, not for the agent.
    fn tell(&self, place: &Place, dirs: &Dirs, run: &str);

    /// Asks them what a run asks, and takes their answers into the journal; none if they cannot be reached.
    fn begin(&self, place: &Place, dirs: &Dirs, run: &str) -> Option<Box<dyn Exchange>>;
}

/// Background exchange of questions and answers.
pub trait Exchange {
    /// Signals that the run has changed.
    fn nudge(&self);

    /// Sends what is left, for so long.
    fn finish(self: Box<Self>, patience: Duration);
}

/// An implementation without channels, for hooks of a run whose driver notifies the person itself.
#[derive(Clone, Copy, Debug)]
pub struct NoAwayChannel;

impl AwayChannel for NoAwayChannel {
    fn reach(&self, _: &Place, _: &Dirs) -> Reachability {
        Reachability::Off
    }

    fn tell(&self, _: &Place, _: &Dirs, _: &str) {}

    fn begin(&self, _: &Place, _: &Dirs, _: &str) -> Option<Box<dyn Exchange>> {
        None
    }
}
