//! Caps: how much may be spent, and by what.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Usage;

/// What a cap holds for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// One run, from its first day to its last.
    Run,
    /// All of one project in one day.
    Project,
    /// All that is spent from the same credentials in one day.
    Pool,
    /// Everything of one user in one day.
    Day,
}

impl Scope {
    pub const ALL: [Self; 4] = [Self::Run, Self::Project, Self::Pool, Self::Day];

    /// Returns the scope's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Project => "project",
            Self::Pool => "pool",
            Self::Day => "day",
        }
    }

    /// Returns the scope of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Millionths of a dollar.
    Usd,
    Tokens,
}

impl Unit {
    /// Returns the unit's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Usd => "usd",
            Self::Tokens => "tokens",
        }
    }
}

/// How much may be spent; what is not given has no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cap {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

impl Cap {
    /// Adds what a person has allowed beyond it. What has no limit gets none.
    #[must_use]
    pub fn raised(self, micro_usd: u64, tokens: u64) -> Self {
        let add = |limit: Option<u64>, more: u64| limit.map(|limit| limit.saturating_add(more));
        Self { micro_usd: add(self.micro_usd, micro_usd), tokens: add(self.tokens, tokens) }
    }

    /// Returns in what it is reached, if it is: unit, limit, and what is spent.
    pub fn reached(self, spent: &Usage) -> Option<(Unit, u64, u64)> {
        let usd = self.micro_usd.map(|limit| (Unit::Usd, limit, spent.micro_usd));
        let tokens = self.tokens.map(|limit| (Unit::Tokens, limit, spent.tokens()));
        [usd, tokens].into_iter().flatten().find(|(_, limit, spent)| spent >= limit)
    }
}

/// All caps that a request is held against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caps {
    pub run: Cap,
    pub project: Cap,
    pub pool: Cap,
    pub day: Cap,
}

impl Caps {
    /// Returns the cap of a scope.
    pub fn of(&self, scope: Scope) -> Cap {
        match scope {
            Scope::Run => self.run,
            Scope::Project => self.project,
            Scope::Pool => self.pool,
            Scope::Day => self.day,
        }
    }
}

/// That a cap is reached, so that nothing more goes out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapReached {
    pub cap: Scope,
    pub unit: Unit,
    /// Millionths of a dollar, or tokens.
    pub limit: u64,
    /// What is spent, with what is under way.
    pub spent: u64,
}

impl CapReached {
    /// Asks a person whether the cap is raised.
    pub fn question(&self) -> String {
        let of = match self.cap {
            Scope::Run => "",
            Scope::Project | Scope::Pool | Scope::Day => &format!(" of {}", self.of()),
        };
        format!("Spending cap{of} reached ({}). Raise it?", self.amounts())
    }

    fn of(&self) -> &'static str {
        match self.cap {
            Scope::Run => "this run",
            Scope::Project => "this project and day",
            Scope::Pool => "these credentials and this day",
            Scope::Day => "this day",
        }
    }

    fn amounts(&self) -> String {
        let amount = |amount: u64| match self.unit {
            Unit::Usd => super::report::dollars(amount),
            Unit::Tokens => format!("{amount} tokens"),
        };
        format!("{} of {}", amount(self.spent), amount(self.limit))
    }
}

impl fmt::Display for CapReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the cap of {} is reached: {}", self.of(), self.amounts())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_is_reached_when_all_of_it_is_spent_in_either_unit() {
        let cap = Cap { micro_usd: Some(100), tokens: Some(10) };
        let spent = |micro_usd, input_tokens| Usage { micro_usd, input_tokens, ..Usage::default() };
        assert_eq!(cap.reached(&spent(99, 9)), None);
        assert_eq!(cap.reached(&spent(100, 9)), Some((Unit::Usd, 100, 100)));
        assert_eq!(cap.reached(&spent(0, 11)), Some((Unit::Tokens, 10, 11)));
        assert_eq!(Cap::default().reached(&spent(u64::MAX, u64::MAX)), None);
        assert_eq!(cap.raised(1, 0).reached(&spent(100, 9)), None);
        assert_eq!(Cap { micro_usd: Some(0), tokens: None }.reached(&spent(0, 0)), Some((Unit::Usd, 0, 0)));
    }

    #[test]
    fn a_cap_that_is_reached_says_so_in_its_unit() {
        let usd = CapReached { cap: Scope::Run, unit: Unit::Usd, limit: 5_000_000, spent: 5_014_999 };
        assert_eq!(usd.to_string(), "the cap of this run is reached: $5.02 of $5.00");
        assert_eq!(usd.question(), "Spending cap reached ($5.02 of $5.00). Raise it?");
        let tokens = CapReached { cap: Scope::Day, unit: Unit::Tokens, limit: 100, spent: 100 };
        assert_eq!(tokens.to_string(), "the cap of this day is reached: 100 tokens of 100 tokens");
        assert_eq!(
            tokens.question(),
            "Spending cap of this day reached (100 tokens of 100 tokens). Raise it?"
        );
    }

    #[test]
    fn every_scope_is_found_by_its_name() {
        for scope in Scope::ALL {
            assert_eq!(Scope::named(scope.name()), Some(scope));
        }
        assert_eq!(Scope::named("week"), None);
    }
}
