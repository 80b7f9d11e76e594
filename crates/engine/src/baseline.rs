//! The baseline: how the project's tests ended on the commit that a run builds on, before an agent changed anything.
//!
//! It is a fact of the run. Names are bounded; the whole report lies in the project's cache, outside of the journal.

use serde::{Deserialize, Serialize};

use crate::Time;

/// The most names of tests that a run carries.
const MOST_NAMES: usize = 200;
/// The longest name of a test, in characters.
const LONGEST_NAME: usize = 300;
/// How many names are shown in one line.
const SHOWN: usize = 5;

/// How the project's tests ended on the commit that a run builds on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// The commit that was tested.
    pub commit: String,
    /// The command that tested it.
    pub command: String,
    pub state: BaselineState,
    /// How many tests passed, failed and were skipped, where the report tells.
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
    /// The tests that failed both times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<String>,
    /// The tests that failed once and passed once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaky: Vec<String>,
    /// A test that passed, by the name that the runner gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<String>,
    /// Whether only new failures count: every failure has a name, and the work goes on all the same.
    #[serde(default)]
    pub tolerated: bool,
    /// How long the tests took.
    pub seconds: u64,
    /// Whether it was known from before.
    #[serde(default)]
    pub cached: bool,
    pub proof: Proof,
    /// Which key the whole report has in the project's cache.
    #[serde(default)]
    pub key: String,
    pub at: Time,
}

/// How tests ended that were run, and once more if they failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BaselineState {
    Green,
    /// They failed at first and passed the second time.
    Flaky,
    Red,
}

/// What is known of whether the tests can fail at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// With the source broken, they failed.
    Proved,
    /// A person said that they are good enough.
    Accepted,
    /// Nobody looked: it is switched off, or the tests fail as it is.
    #[default]
    Unknown,
}

impl Baseline {
    /// Returns it with as much as a run may carry. With names left out, failures cannot be told apart any more.
    #[must_use]
    pub(crate) fn bounded(mut self) -> Self {
        let long = |name: &String| name.chars().count() > LONGEST_NAME;
        if self.failing.len() > MOST_NAMES || self.failing.iter().any(long) {
            self.tolerated = false;
        }
        for names in [&mut self.failing, &mut self.flaky] {
            names.truncate(MOST_NAMES);
            for name in names.iter_mut().filter(|name| long(name)) {
                *name = name.chars().take(LONGEST_NAME).collect();
            }
        }
        self
    }

    /// Says what was counted: `297 passed, 2 failed (a, b)`.
    pub fn counts(&self) -> String {
        let mut parts = Vec::new();
        if self.passed + self.failed + self.skipped == 0 {
            parts.push(match self.state {
                BaselineState::Green => "the tests pass".to_owned(),
                BaselineState::Flaky => "the tests pass the second time".to_owned(),
                BaselineState::Red => "the tests fail".to_owned(),
            });
        } else {
            parts.push(format!("{} passed", self.passed));
        }
        if self.failed > 0 {
            let names = listed(&self.failing);
            let names = if names.is_empty() { names } else { format!(" ({names})") };
            parts.push(format!("{} failed{names}", self.failed));
        }
        if self.skipped > 0 {
            parts.push(format!("{} skipped", self.skipped));
        }
        if !self.flaky.is_empty() {
            parts.push(format!("flaky: {}", listed(&self.flaky)));
        }
        parts.join(", ")
    }
}

impl std::fmt::Display for Baseline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let commit = self.commit.get(..10).unwrap_or(&self.commit);
        write!(f, "{} at {commit}", self.counts())?;
        if self.cached { write!(f, " (tested before)") } else { write!(f, " in {} s", self.seconds) }
    }
}

fn listed(names: &[String]) -> String {
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baseline(passed: u64, failing: &[&str]) -> Baseline {
        Baseline {
            commit: "0123456789abcdef".to_owned(),
            command: "make test".to_owned(),
            state: if failing.is_empty() { BaselineState::Green } else { BaselineState::Red },
            passed,
            failed: failing.len() as u64,
            skipped: 0,
            example: None,
            failing: failing.iter().map(|name| (*name).to_owned()).collect(),
            flaky: Vec::new(),
            tolerated: true,
            seconds: 12,
            cached: false,
            proof: Proof::Unknown,
            key: String::new(),
            at: Time::from_millis(0),
        }
    }

    #[test]
    fn it_is_told_in_one_line() {
        assert_eq!(
            baseline(297, &["a", "b"]).to_string(),
            "297 passed, 2 failed (a, b) at 0123456789 in 12 s"
        );
        let green = Baseline { cached: true, ..baseline(0, &[]) };
        assert_eq!(green.to_string(), "the tests pass at 0123456789 (tested before)");
    }

    #[test]
    fn with_names_left_out_failures_are_not_tolerated() {
        let many: Vec<String> = (0..=MOST_NAMES).map(|number| format!("t{number}")).collect();
        let names: Vec<&str> = many.iter().map(String::as_str).collect();
        let bounded = baseline(1, &names).bounded();
        assert_eq!((bounded.failing.len(), bounded.tolerated), (MOST_NAMES, false));
        assert!(baseline(1, &["a"]).bounded().tolerated);
        assert!(!baseline(1, &[&"x".repeat(LONGEST_NAME + 1)]).bounded().tolerated);
    }
}
