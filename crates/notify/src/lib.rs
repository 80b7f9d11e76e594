//! Away mode: what a run does, and what it has to ask, reaches a person who is not at the terminal.
//!
//! A [`Channel`] is a way to people; Telegram is one ([`telegram`]). All that goes out is derived from the run's journal
//! (`post`): notices, questions, and what became of them. How far it was sent is kept in the user's store (`memory`), so
//! a process that dies loses nothing, and whoever comes next goes on where it was (`courier`). An answer that comes in is
//! offered to the run that asks, as `warp answer` does (`hear`): the engine takes the first and refuses the rest.
//!
//! Invariants:
//! - What a run records while away mode is off in its project is never told, by whatever process.
//! - Only places that the person has named are told anything or heard; strangers get no word.
//! - Nothing is sent to one place twice, unless the process died between sending and writing that down.
//! - An update counts as heard only after it was acted on, and acting twice on one changes nothing.
//! - One process of the user listens at a time, and one sends for a run.
//! - A channel that cannot be reached never holds up a run: it is spoken to in a thread of its own ([`Notifier`]).
//!
//! The terminal needs no channel: `warp run` asks there itself, and its answer goes the same way into the journal. What
//! waits for a decision looks at the run, and so never knows by which way an answer came.

mod bridge;
mod courier;
mod hear;
mod memory;
mod port;
mod post;
pub mod telegram;
mod wake;

use std::path::PathBuf;

use engine::keys;
use project::{Dirs, Place, config, spelled};

pub use bridge::{Notifier, pass_over, pass_over_all, tell};
pub use courier::{DeliveryResult, RunSender};
pub use hear::{PollResult, hear};
pub use memory::{AwayError, Listening, Memory, TrackedRun, UnknownSender};
pub use port::{Channel, Closing, Message, Post, PostContent, Question, Trouble};
pub use telegram::is_set_up;
pub use wake::Wake;

/// State of away mode.
#[derive(Clone, Debug)]
pub enum AwayMode {
    /// Away mode is off; who would speak if it were on.
    Off(Option<telegram::Bot>),
    /// It is on, but something is missing.
    Unreachable(String),
    Telegram(telegram::Bot),
}

impl AwayMode {
    /// Reads what the person wants at this moment: a run's own settings stay as they were when it began.
    pub fn of(place: &Place, dirs: &Dirs, set: &[(String, String)]) -> Self {
        let config = match config::load(place, dirs, None, set) {
            Ok(config) => config,
            Err(error) => return Self::Unreachable(spelled(&error)),
        };
        let bot = telegram::Bot::find(dirs, &config.settings);
        if !config.settings.get(keys::RDB_ENABLED) {
            return Self::Off(bot.ok());
        }
        match bot {
            Ok(bot) => Self::Telegram(bot),
            Err(error) => Self::Unreachable(spelled(&error)),
        }
    }
}

/// Reference to a run and its project.
#[derive(Clone, Debug)]
pub struct RunRef {
    /// The project's checkout: a run's own workspace may be gone by then.
    pub project: PathBuf,
    pub run: String,
}

impl RunRef {
    /// Creates the reference of a run of this workspace's project.
    pub fn run(place: &Place, run: &str) -> Self {
        Self { project: place.origin().unwrap_or(&place.root).to_owned(), run: run.to_owned() }
    }
}
