//! What whoever looks on is shown while the loop runs.

use std::time::Duration;

use adapters::{
    agent::{AgentUpdate, Notice},
    clock::Bell,
};
use engine::{Record, Run, Workflow, view::Asked};

use crate::header::Header;

/// Something to be shown.
#[derive(Clone, Copy, Debug)]
pub enum Shown<'a> {
    /// An event was recorded; this is the run after it.
    Recorded { record: &'a Record, run: &'a Run, workflow: &'a Workflow },
    /// What the engine did, in a line or more.
    Did(&'a str),
    /// Something that a person should know.
    Warned(&'a str),
    /// What is told of an agent in the same words for every client.
    Notice(&'a Notice),
    /// What an agent says or does.
    Agent(&'a AgentUpdate),
    /// What a person should know about the run before anything happens.
    Header(&'a Header),
    /// A person is asked.
    Asked(&'a Asked),
    /// Whoever is at this terminal is asked what may leave the machine; no run has begun yet.
    Consent(&'a Asked),
    /// Lines for whoever reads along; they tell nothing that was not told before.
    Plain(&'a str),
    /// Time has passed.
    Tick,
}

/// A person's answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub option: String,
    pub note: Option<String>,
}

/// Whoever looks on.
pub trait Show {
    /// Shows something.
    fn show(&mut self, shown: Shown<'_>);

    /// Returns the answer to an open question, if the person at the terminal has given one by now.
    fn reply(&mut self, asked: &Asked) -> Option<Reply>;

    /// Tells whether there is a person at a terminal.
    fn is_attended(&self) -> bool;

    /// Rings a bell when the person at the terminal has typed something.
    fn ring(&mut self, _: Bell) {}

    /// Returns how long what is shown stays as it is while nothing happens: a running clock does not.
    fn redraws(&self) -> Option<Duration> {
        None
    }
}
