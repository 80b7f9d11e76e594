//! Who is asked for leave, and told what was used.

use engine::ledger::CapReached;

/// Permits requests and records their usage: the ledger, or a test double.
///
/// Both calls may block for as long as a disk takes. They come from one thread, one after the other.
pub trait Book: Send + Sync {
    /// Gives leave for a request, and records it with what it is expected to use at least; refuses at a cap.
    /// None: there is room for it only once other requests under way have ended, so it has to ask again.
    fn open(&self, opening: &Opening) -> Result<Option<Ticket>, Refusal>;

    /// Records what the request has used so far: the whole of it, not what came since.
    ///
    /// A booking that fails is offered again before the next leave is asked for, and may come twice.
    fn book(&self, ticket: &Ticket, tokens: Tokens, stage: Stage) -> Result<(), BookError>;
}

/// Stage of a request at the time of booking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    UnderWay,
    /// Nothing more will come.
    Over,
    /// Nothing more will come, and its usage was never told: what is booked is the most that it can be.
    OverAtMost,
}

/// The API of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// Anthropic's Messages.
    Messages,
    /// OpenAI's Responses.
    Responses,
    /// OpenAI's Chat Completions, which many others speak as well.
    Chat,
}

/// A request that needs permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    pub api: Api,
    /// The requested model; empty if unreadable.
    pub model: String,
    /// Lower bound of the input, at four bytes per token.
    pub estimate: Tokens,
    /// Upper bound, used if the provider never reports usage.
    pub bound: Tokens,
}

/// Tokens by what they cost. None is counted twice: `input` is what was neither read from a cache nor written to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

/// Id of a permitted request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket(pub String);

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("{0}")]
    Cap(CapReached),
    /// What cannot be recorded is not spent.
    #[error("the ledger cannot be written, so nothing is spent: {0}")]
    Failed(String),
}

/// Why a booking was not recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BookError(pub String);

impl Stage {
    /// Returns whether this is the final booking.
    pub fn is_over(self) -> bool {
        match self {
            Self::UnderWay => false,
            Self::Over | Self::OverAtMost => true,
        }
    }
}

impl Tokens {
    /// Returns the sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
        }
    }

    /// Returns the total number of tokens.
    pub fn total(self) -> u64 {
        [self.output, self.cache_read, self.cache_write].into_iter().fold(self.input, u64::saturating_add)
    }
}
