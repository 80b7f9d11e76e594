//! Findings, and what becomes of them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How bad a finding is, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Bug,
    Warning,
    Nit,
    Info,
}

impl Severity {
    pub const ALL: [Self; 4] = [Self::Bug, Self::Warning, Self::Nit, Self::Info];

    pub fn word(self) -> &'static str {
        match self {
            Self::Bug => "bug",
            Self::Warning => "warning",
            Self::Nit => "nit",
            Self::Info => "info",
        }
    }
}

/// What a review comes to. A wish to discuss is a request for changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Verdict {
    #[serde(rename = "APPROVE")]
    Approve,
    #[serde(rename = "REQUEST_CHANGES", alias = "DISCUSS")]
    RequestChanges,
}

impl Verdict {
    /// Says it in the words of a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::Approve => "approved",
            Self::RequestChanges => "changes requested",
        }
    }
}

/// What has become of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nobody has looked at it again yet.
    New,
    Fixed,
    NotFixed,
    Partial,
}

impl Status {
    pub fn is_open(self) -> bool {
        match self {
            Self::New | Self::NotFixed | Self::Partial => true,
            Self::Fixed => false,
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Fixed => "fixed",
            Self::NotFixed => "not fixed",
            Self::Partial => "partly fixed",
        }
    }
}

/// A place in a file, as a reviewer writes it: `src/a.rs:12`, `src/a.rs:12-20` or `src/a.rs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub path: String,
    /// The first line and the last.
    pub lines: Option<(u64, u64)>,
}

impl Place {
    /// Reads a location.
    pub fn parse(location: &str) -> Self {
        let location = location.trim().trim_matches('`');
        let location = location.strip_prefix("./").unwrap_or(location);
        let whole = || Self { path: location.to_owned(), lines: None };
        let Some((path, lines)) = location.rsplit_once(':') else { return whole() };
        let number = |text: &str| text.trim().trim_start_matches(['L', 'l']).parse::<u64>().ok();
        let range = match lines.split_once('-') {
            Some((first, last)) => number(first).zip(number(last)),
            None => number(lines).map(|line| (line, line)),
        };
        match range {
            // `src/a.rs:12:5` names a column too.
            Some(_) if path.rsplit_once(':').is_some_and(|(_, line)| number(line).is_some()) => {
                Self::parse(path)
            }
            Some((first, last)) => {
                Self { path: path.trim().to_owned(), lines: Some((first.min(last), first.max(last))) }
            }
            None => whole(),
        }
    }
}

/// A finding as the reviewer has just named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub severity: Severity,
    pub location: String,
    pub description: String,
}

/// A finding in the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// `F1`, `F2`, … in the order in which they were found, over all rounds.
    pub id: String,
    pub severity: Severity,
    pub location: String,
    pub description: String,
    pub status: Status,
    /// Whether the location is a place that exists.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub is_placed: bool,
}

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, severity, location, description, .. } = self;
        write!(f, "{id} ({}) {location}: {description}", severity.word())
    }
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_yes(value: &bool) -> bool {
    *value
}

/// Work that is proposed beside the change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowUp {
    pub title: String,
    pub details: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_reviewers_write_it() {
        let at = |path: &str, lines| Place { path: path.to_owned(), lines };
        for (text, place) in [
            ("src/a.rs:12", at("src/a.rs", Some((12, 12)))),
            ("`./src/a.rs:12-20`", at("src/a.rs", Some((12, 20)))),
            ("src/a.rs:20-12", at("src/a.rs", Some((12, 20)))),
            ("src/a.rs:L7", at("src/a.rs", Some((7, 7)))),
            ("src/a.rs:12:5", at("src/a.rs", Some((12, 12)))),
            ("src/a.rs", at("src/a.rs", None)),
            ("C: the whole of it", at("C: the whole of it", None)),
        ] {
            assert_eq!(Place::parse(text), place, "{text}");
        }
    }
}
