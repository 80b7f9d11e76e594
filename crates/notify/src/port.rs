//! The port: what a way to people can do, and the words it is spoken to in.
//!
//! A channel knows nothing of runs and decides nothing: it posts what it is given, and hands over what it hears. Places
//! and messages are named by texts of its own making.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A messaging service.
pub trait Channel {
    /// Returns the name under which all is kept that is known of it: what it is, and which one.
    fn key(&self) -> String;

    /// Returns the places that are told, and whose people may decide.
    fn places(&self) -> Vec<String>;

    /// Posts to a place; returns the message's name, if it can be changed later.
    fn post(&mut self, place: &str, post: &PostContent<'_>) -> Result<Option<String>, Trouble>;

    /// Waits for messages, from number `from` on if there is one; an earlier one may come again, and none need come in order.
    fn listen(&mut self, from: Option<i64>, patience: Duration) -> Result<Vec<Message>, Trouble>;

    /// Says something to whoever sent a message.
    fn respond(&mut self, message: &Message, words: &str) -> Result<(), Trouble>;
}

/// A post about a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Post {
    Notice {
        text: String,
        /// Whether it may wait until the person looks.
        is_quiet: bool,
    },
    Question(Question),
    Closing(Closing),
}

/// A decision that a person is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The decision's id.
    pub id: String,
    /// What it is about, in a line: workflow, issue, project.
    pub about: String,
    pub question: String,
    pub options: Vec<String>,
    /// What happens when nobody answers.
    pub otherwise: String,
}

/// A closed decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closing {
    /// The decision's id.
    pub id: String,
    /// Its outcome.
    pub words: String,
}

/// Content of a post, as handed to a channel.
#[derive(Clone, Copy, Debug)]
pub enum PostContent<'a> {
    Notice {
        text: &'a str,
        is_quiet: bool,
    },
    Question(&'a Question),
    /// What was posted as `message` is over.
    Closing {
        message: &'a str,
        question: &'a Question,
        words: &'a str,
    },
}

/// A person's message or button press.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its number: higher ones are newer, and the same is the same.
    pub number: i64,
    pub place: String,
    /// Whoever it was, as people know them.
    pub from: String,
    /// What an answer to it has to name.
    pub ticket: String,
    pub what: PersonAction,
}

/// An action of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PersonAction {
    /// An option was chosen, by its number from 0.
    Chose { decision: String, option: usize },
    /// Something was written, in reply to a message perhaps.
    Wrote { to: Option<String>, text: String },
    /// Something that means nothing here.
    Other,
}

/// Why a channel call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// It may be tried again, after the time that the other side has named.
    #[error("{why}")]
    Later { wait: Option<Duration>, why: String },
    /// This will never be taken by this place.
    #[error("{0}")]
    Never(String),
    /// Nothing will be taken: the credentials are not accepted.
    #[error("{0}")]
    NoEntry(String),
    /// Somebody else listens.
    #[error("{0}")]
    Rival(String),
    /// The wait was ended from within.
    #[error("the wait was ended")]
    Woken,
}
