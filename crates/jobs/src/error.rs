//! Why a job was not done.

use engine::Held;
use forge::ForgeError;
use project::{AskError, Error, config::ConfigError, rails, slots::SlotError, spelled};
use suite::SuiteError;

use crate::words::list_held;

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error(transparent)]
    Failed(#[from] Error),
    #[error(transparent)]
    Forge(#[from] ForgeError),
    #[error(transparent)]
    Known(#[from] rails::KnownError),
    #[error(transparent)]
    Snapshot(#[from] rails::SnapshotError),
    #[error(transparent)]
    Slot(#[from] SlotError),
    /// The dev environment is not up.
    #[error("{0}")]
    Dev(String),
    /// The commit guard holds what was to be committed, and the agent was told or cannot be.
    #[error("the commit guard holds: {}", list_held(.0))]
    Held(Vec<Held>),
    #[error("{0}")]
    World(String),
    /// The remote is locked: nobody's work can be pushed until a person has looked.
    #[error("{0}")]
    RemoteLocked(String),
    /// A person has to choose before anything leaves the machine.
    #[error("{question} ({})", options.join(", "))]
    Undecided { question: String, options: Vec<String> },
}

impl From<SuiteError> for JobError {
    fn from(error: SuiteError) -> Self {
        Self::World(error.0)
    }
}

impl From<ConfigError> for JobError {
    fn from(error: ConfigError) -> Self {
        Self::World(spelled(&error))
    }
}
