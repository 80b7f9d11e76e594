//! Exit codes: one table for all commands. A code is never given another meaning.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done = 0,
    /// Something failed: tests, a push, the network, a disk.
    Failed = 1,
    /// There is no session, or a gate denies.
    NoSessionOrDenied = 2,
    /// The transition was refused; nothing changed.
    Refused = 3,
    /// A budget sent the run to `budget_exceeded`.
    Redirected = 4,
    /// The run waits for a decision.
    Parked = 5,
    /// Another process works on it.
    Claimed = 6,
    Usage = 64,
    BadData = 65,
    Internal = 70,
    Configuration = 78,
    /// A signal ended it; it can go on.
    Interrupted = 130,
}

impl Exit {
    /// Every code with its meaning, as the help shows it.
    pub(crate) const TABLE: &'static [(Exit, &'static str)] = &[
        (Exit::Done, "done"),
        (Exit::Failed, "failed (tests, push, network, disk)"),
        (Exit::NoSessionOrDenied, "no session, or denied by a gate"),
        (Exit::Refused, "the transition was refused; nothing changed"),
        (Exit::Redirected, "redirected to budget_exceeded"),
        (Exit::Parked, "the run waits for a decision"),
        (Exit::Claimed, "claimed by another"),
        (Exit::Usage, "wrong usage"),
        (Exit::BadData, "bad data"),
        (Exit::Internal, "internal error"),
        (Exit::Configuration, "wrong configuration"),
        (Exit::Interrupted, "ended by a signal; it can be resumed"),
    ];
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}
