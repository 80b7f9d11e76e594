//! What a person is told about an agent's work besides its own words: one type and one text for every client.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use super::brief;

/// The longest silence before the first notice about it. Models often think for less.
const FIRST_SILENCE: Duration = Duration::from_secs(60);

/// Something that a person should see, whichever client it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Notice {
    /// A tool was not allowed to run.
    Refused { tool: String, why: String },
    /// The client repeats a request that its provider did not answer.
    Retry { why: String, attempt: u64, of: Option<u64> },
    /// The run waits for something that ends by itself.
    Wait { why: String },
    /// The client has printed nothing for a while, and is stopped at the limit.
    Silent { seconds: u64, limit: u64 },
}

impl Notice {
    pub fn refused(tool: impl Into<String>, why: &str) -> Self {
        Self::Refused { tool: tool.into(), why: brief(why) }
    }

    pub fn retry(why: &str, attempt: u64, of: Option<u64>) -> Self {
        Self::Retry { why: brief(why), attempt, of }
    }

    /// Returns the same notice with every text passed through `clean`.
    #[must_use]
    pub fn cleaned(self, clean: impl Fn(String) -> String) -> Self {
        match self {
            Self::Refused { tool, why } => Self::Refused { tool, why: clean(why) },
            Self::Retry { why, attempt, of } => Self::Retry { why: clean(why), attempt, of },
            Self::Wait { why } => Self::Wait { why: clean(why) },
            silent @ Self::Silent { .. } => silent,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { tool, why } => write!(formatter, "refused: {tool}: {why}"),
            Self::Retry { why, attempt, of: Some(of) } => {
                write!(formatter, "retries: {why} (retry {attempt} of {of})")
            }
            Self::Retry { why, attempt, of: None } => write!(formatter, "retries: {why} (retry {attempt})"),
            Self::Wait { why } => write!(formatter, "waits: {why}"),
            Self::Silent { seconds, limit } => {
                write!(formatter, "silent: no output for {seconds} s, stopped at {limit} s")
            }
        }
    }
}

/// Decides when a client's silence is worth a notice: at the first mark, then each time it has doubled.
#[derive(Debug)]
pub struct Silence {
    limit: Duration,
    next: Duration,
}

impl Silence {
    /// `limit` is how long a client may print nothing before it is stopped.
    pub fn new(limit: Duration) -> Self {
        Self { limit, next: Self::first(limit) }
    }

    fn first(limit: Duration) -> Duration {
        FIRST_SILENCE.min(limit / 4)
    }

    /// Takes for how long nothing was printed; returns the notice that is due.
    pub fn look(&mut self, quiet: Duration) -> Option<Notice> {
        let first = Self::first(self.limit);
        if quiet < first {
            self.next = first;
        }
        if quiet < self.next || quiet >= self.limit {
            return None;
        }
        while self.next <= quiet {
            self.next = (self.next * 2).max(Duration::from_millis(1));
        }
        Some(Notice::Silent { seconds: quiet.as_secs(), limit: self.limit.as_secs() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_notice_is_one_line_of_the_same_kind() {
        let notices = [
            Notice::refused("Bash", "git_commit is only allowed during committing phase\nmore"),
            Notice::retry("Overloaded", 1, Some(4)),
            Notice::retry("Overloaded", 2, None),
            Notice::Wait { why: "the provider fails (Overloaded)".to_owned() },
            Notice::Silent { seconds: 60, limit: 600 },
        ];
        assert_eq!(
            notices.map(|notice| notice.to_string()),
            [
                "refused: Bash: git_commit is only allowed during committing phase",
                "retries: Overloaded (retry 1 of 4)",
                "retries: Overloaded (retry 2)",
                "waits: the provider fails (Overloaded)",
                "silent: no output for 60 s, stopped at 600 s",
            ]
        );
    }

    #[test]
    fn silence_is_told_at_a_mark_that_doubles_and_starts_again_after_output() {
        let told = |limit: u64, quiet: &[u64]| {
            let mut silence = Silence::new(Duration::from_secs(limit));
            let told = quiet.iter().filter(|seconds| silence.look(Duration::from_secs(**seconds)).is_some());
            told.copied().collect::<Vec<_>>()
        };
        assert_eq!(told(600, &[0, 59, 60, 61, 119, 121, 130, 240, 599]), [60, 121, 240, 599]);
        assert_eq!(told(600, &[60, 0, 59, 60]), [60, 60]);
        // A short limit is told of before it is reached, and not after.
        assert_eq!(told(8, &[1, 2, 3, 4, 8]), [2, 4]);
    }
}
