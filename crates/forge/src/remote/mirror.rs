//! What was read of a server's issues, kept up to date by what has changed since.
//!
//! A server lists what has changed since a time; the times of its own answers are used for that, never the clock here.
//! Now and then everything is read anew: what was deleted does not change, and some servers do not count a label as a
//! change.

use std::collections::BTreeMap;

use engine::Time;

use super::server::{Issue, Server, Which};
use crate::client::Failure;

/// How long changes are trusted, in milliseconds.
const FRESH: i64 = 10 * 60_000;
/// How far back changes are asked for: times are in whole seconds, and "since" may mean "after".
const OVERLAP: i64 = 2_000;

#[derive(Debug, Default)]
pub(super) struct Mirror {
    known: BTreeMap<u64, Issue>,
    covers: Covers,
    read_at: Option<Time>,
    newest: Option<Time>,
}

/// What is in a mirror.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Covers {
    #[default]
    Nothing,
    Open,
    All,
}

impl Mirror {
    /// Brings the mirror up to date, so that it holds at least this.
    pub(super) fn refresh(&mut self, server: &dyn Server, wanted: Covers) -> Result<(), Failure> {
        let now = server.now();
        let is_fresh = self.read_at.is_some_and(|at| now.millis_since(at) < FRESH && now >= at);
        match self.newest.filter(|_| is_fresh && self.covers >= wanted) {
            Some(newest) => {
                let since = Time::from_millis(newest.millis().saturating_sub(OVERLAP));
                let changed = server.issues(Which::Since(since))?;
                changed.into_iter().for_each(|issue| self.put(issue));
            }
            None => {
                let covers = self.covers.max(wanted);
                let which = if covers == Covers::All { Which::All } else { Which::Open };
                let all = server.issues(which)?;
                *self = Self { covers, read_at: Some(now), ..Self::default() };
                all.into_iter().for_each(|issue| self.put(issue));
            }
        }
        Ok(())
    }

    /// Takes in an issue as the server has just shown it.
    pub(super) fn put(&mut self, issue: Issue) {
        self.newest = self.newest.max(Some(issue.updated_at));
        if self.covers == Covers::Open && !issue.is_open {
            self.known.remove(&issue.number);
        } else if self.covers > Covers::Nothing {
            self.known.insert(issue.number, issue);
        }
    }

    /// Forgets an issue that is not there any more.
    pub(super) fn remove(&mut self, number: u64) {
        self.known.remove(&number);
    }

    /// Returns what is known, in the order of numbers.
    pub(super) fn issues(&self) -> impl Iterator<Item = &Issue> {
        self.known.values()
    }
}
