//! Why something could not be done.

use std::error::Error as StdError;

use engine::Time;

use crate::ItemId;

/// Why an operation on an issue, a pull request or a check failed.
///
/// "Could not tell" is one of these, never an empty answer. Only [`ForgeError::Unreachable`] leaves open whether a write
/// has happened: look for its marker, or repeat it with the same marker.
#[derive(Debug, thiserror::Error)]
pub enum ForgeError {
    #[error("there is no issue or pull request #{id}")]
    NotThere { id: ItemId },
    /// It will not be done, however often it is tried.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Somebody has changed it meanwhile. Nothing was written; read it again and decide again.
    #[error("#{id} has changed meanwhile: {problem}")]
    Conflict { id: ItemId, problem: String },
    /// It may be done later, from this time on if the forge has named one. Nothing was written.
    #[error("{why}")]
    Later { until: Option<Time>, why: String },
    /// No answer, or none in time.
    #[error(transparent)]
    Unreachable(Box<dyn StdError + Send + Sync>),
    /// The answer is not what was asked for, or cannot be read.
    #[error("{problem}")]
    BadAnswer { problem: String },
}

/// Why an operation was refused. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("#{id} is no pull request")]
    NotAPull { id: ItemId },
    #[error("#{id} is a pull request")]
    NotAnIssue { id: ItemId },
    #[error("#{id} is there already")]
    Taken { id: ItemId },
    #[error("{id} is no number for an issue: 1 to {most} are")]
    Number { id: ItemId, most: u64 },
    #[error("the {what} {problem}")]
    Text { what: &'static str, problem: String },
    #[error("#{id} is full: {problem}")]
    Full { id: ItemId, problem: String },
    #[error("only a person can approve; {name} is not one")]
    NotAPerson { name: String },
    #[error("{name} has opened #{id}; somebody else reviews it")]
    OwnPull { id: ItemId, name: String },
    #[error("#{id} is merged, and stays closed")]
    Merged { id: ItemId },
    #[error("`{file}` was imported as #{id}")]
    ImportedAs { file: String, id: ItemId },
    /// The forge has no such thing, see [`crate::Capabilities`].
    #[error("{forge} cannot do that: {what}")]
    Unsupported { forge: &'static str, what: &'static str },
    /// The forge does not know who asks: the token is missing, wrong or has run out.
    #[error("the forge does not accept the token: {why}")]
    Credentials { why: String },
    /// The account may not do that.
    #[error("the account may not do that: {why}")]
    Forbidden { why: String },
    /// The forge said no, in its own words.
    #[error("{why}")]
    Said { why: String },
}

impl ForgeError {
    /// The service could not be reached.
    pub fn unreachable(why: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Unreachable(why.into())
    }
}
