//! What a run waits for without anybody being asked, and the caps at which somebody is.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Time, TimeFormat, ledger::CapReached};

/// A wait that ends by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    pub kind: WaitKind,
    /// What is waited for, in words for a person.
    pub why: String,
    pub since: Time,
    /// When it is over, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
}

/// Why a run waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// The provider takes no more until a time.
    Limit,
    /// The provider does not answer.
    Outage,
    /// The day's money is spent.
    Spend,
    /// There is no place for another agent.
    Admission,
    /// Issues that the run's own depends on are open.
    Dependencies,
    /// The checks of what was handed in have not ended.
    Checks,
    /// Nobody has decided about the pull request.
    Review,
}

/// A cap that a run has come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capped {
    #[serde(flatten)]
    pub cap: CapReached,
    /// The run, project or pool that it holds for; a day has no name.
    pub name: String,
}

impl Wait {
    /// Says what is waited for, with the time written that way.
    pub fn text(&self, write: TimeFormat) -> String {
        match self.until {
            Some(until) => format!("{}, until {}", self.why, write(until)),
            None => self.why.clone(),
        }
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(Time::to_seconds))
    }
}
