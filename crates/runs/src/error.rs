//! Why something about a run could not be done.

use engine::{FoldError, Refused, WorkflowError};
use journal::StoreError;

/// Why something about a run could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("nothing was ever recorded in this project")]
    NoStore,
    #[error("event {seq} of run `{run}` cannot be read: {problem}")]
    Event { run: String, seq: u64, problem: String },
    #[error("run `{run}` cannot be put together")]
    Fold {
        run: String,
        #[source]
        source: FoldError,
    },
    #[error("the workflow that run `{run}` is pinned to is not usable any more")]
    Pinned {
        run: String,
        #[source]
        source: WorkflowError,
    },
    #[error("this machine gives no random numbers")]
    Random(#[source] std::io::Error),
    #[error("events were recorded by others all the time; nothing was done")]
    Contended,
}

/// Why an event was not taken.
#[derive(Debug, thiserror::Error)]
pub enum AskError<E> {
    #[error("no open run")]
    NoRun,
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    Failed(E),
}
