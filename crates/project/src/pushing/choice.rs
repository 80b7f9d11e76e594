//! Who decides when a push needs a person's word: nobody, a question of the run, or whoever gave the command.

use std::fmt;

/// Asks a question with these options.
pub type Ask = dyn FnMut(&str, &[&str]) -> Option<String> + Send;

/// Who decides. Without anybody, nothing leaves the machine.
#[derive(Default)]
pub enum Decides {
    #[default]
    Nobody,
    /// The run asks, and the phase is done again with the answer.
    InRun,
    /// Whoever gave the command is asked at once; nothing if they do not answer.
    Here(Box<Ask>),
}

impl fmt::Debug for Decides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nobody => "Nobody",
            Self::InRun => "InRun",
            Self::Here(_) => "Here",
        })
    }
}
