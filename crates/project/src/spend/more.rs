//! A person's answer at a cap: how much more may be spent.

use adapters::machine;
use engine::{
    Decision,
    ledger::{CapReached, Scope, Unit, dollars},
};

use super::{Ledger, LedgerError};
use crate::Dirs;

/// How much more a person allows; without an amount, as much again as the cap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct More {
    pub micro_usd: Option<u64>,
    pub tokens: Option<u64>,
}

/// Why an answer at a cap is not taken.
#[derive(Debug, thiserror::Error)]
pub enum MoreError {
    #[error("an amount goes with `more` at a cap, and with nothing else")]
    NoCap,
    #[error("the cap is one of {unit}, so more of it is wanted: `{flag} N`")]
    Unit { unit: &'static str, flag: &'static str },
    #[error("{spent} of {limit} are spent, so {wanted} is not more: the next request would be refused again")]
    TooLittle { spent: String, limit: String, wanted: String },
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl More {
    /// Tells whether an amount was named.
    pub fn is_some(self) -> bool {
        self.micro_usd.is_some() || self.tokens.is_some()
    }

    /// Raises the cap that a decision is about, if the answer does. The same decision raises once, however often it is
    /// answered.
    pub fn raise(self, dirs: &Dirs, decision: Option<&Decision>, option: &str) -> Result<(), MoreError> {
        let asked = decision.and_then(|decision| Some((decision, decision.capped.as_ref()?)));
        let Some((decision, capped)) = asked.filter(|_| option != "stop") else {
            return if self.is_some() { Err(MoreError::NoCap) } else { Ok(()) };
        };
        let (micro_usd, tokens) = match option {
            Decision::MORE => self.amount(&capped.cap)?,
            // A cap of the day is another one tomorrow. A run's is not, so it gets as much again.
            Decision::TOMORROW if self.is_some() => return Err(MoreError::NoCap),
            Decision::TOMORROW if capped.cap.cap == Scope::Run => self.amount(&capped.cap)?,
            _ => return Ok(()),
        };
        let mut ledger = Ledger::open(dirs)?;
        let asked = (decision.id.as_str(), decision.asked_at);
        ledger.raise(machine::now(), asked, capped.cap.cap, &capped.name, micro_usd, tokens)?;
        Ok(())
    }

    /// Returns millionths of a dollar and tokens.
    fn amount(self, cap: &CapReached) -> Result<(u64, u64), MoreError> {
        let (own, other) = match cap.unit {
            Unit::Usd => (self.micro_usd, self.tokens),
            Unit::Tokens => (self.tokens, self.micro_usd),
        };
        let more = match (own, other) {
            (Some(more), _) => more,
            (None, None) => cap.limit.max(cap.spent.saturating_sub(cap.limit).saturating_add(1)),
            (None, Some(_)) => {
                let (unit, flag) = match cap.unit {
                    Unit::Usd => ("dollars", "--usd"),
                    Unit::Tokens => ("tokens", "--tokens"),
                };
                return Err(MoreError::Unit { unit, flag });
            }
        };
        if cap.limit.saturating_add(more) <= cap.spent {
            let words = |amount: u64| match cap.unit {
                Unit::Usd => dollars(amount),
                Unit::Tokens => format!("{amount} tokens"),
            };
            let (spent, limit, wanted) = (words(cap.spent), words(cap.limit), words(more));
            return Err(MoreError::TooLittle { spent, limit, wanted });
        }
        Ok(match cap.unit {
            Unit::Usd => (more, other.unwrap_or(0)),
            Unit::Tokens => (other.unwrap_or(0), more),
        })
    }
}
