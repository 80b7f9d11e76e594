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
    /// The time of the server up to which every change is known. What was read singly says nothing about the others.
    synced: Option<Time>,
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
        let began = server.now();
        let is_fresh = self.read_at.is_some_and(|at| began.millis_since(at) < FRESH && began >= at);
        let known = self.synced.filter(|_| is_fresh && self.covers >= wanted);
        let listed = match known {
            Some(synced) => {
                server.issues(Which::Since(Time::from_millis(synced.millis().saturating_sub(OVERLAP))))?
            }
            None => {
                let covers = self.covers.max(wanted);
                let which = if covers == Covers::All { Which::All } else { Which::Open };
                let all = server.issues(which)?;
                *self = Self { covers, read_at: Some(began), ..Self::default() };
                all
            }
        };
        // What changed while pages were read may be missing from a page before, and be older than what a later one shows.
        let took = Some(server.now().millis_since(began)).filter(|took| *took > OVERLAP).unwrap_or_default();
        let newest = listed.iter().map(|issue| issue.updated_at.millis().saturating_sub(took)).max();
        self.synced = known.max(newest.map(Time::from_millis));
        listed.into_iter().for_each(|issue| self.put(issue));
        Ok(())
    }

    /// Takes in an issue as the server has just shown it.
    pub(super) fn put(&mut self, issue: Issue) {
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{github::Github, http::scripted::Scripted};

    fn issue(number: u64, minute: u64, state: &str) -> String {
        let at = format!("2026-11-19T10:{minute:02}:00Z");
        format!(
            r#"{{"number": {number}, "title": "T", "state": "{state}", "created_at": "{at}", "updated_at": "{at}"}}"#
        )
    }

    #[test]
    fn what_was_read_singly_hides_no_change_of_others() {
        let net = Arc::new(Scripted::default());
        let server = Github::new(Arc::clone(&net) as _, "o", "r");
        let mut mirror = Mirror::default();
        let numbers = |mirror: &Mirror| mirror.issues().map(|issue| issue.number).collect::<Vec<_>>();
        let list = format!("[{}, {}]", issue(1, 0, "open"), issue(2, 1, "open"));
        net.answer("GET /repos/o/r/issues?state=open", 200, &list);
        mirror.refresh(&server, Covers::Open).unwrap();
        assert_eq!(numbers(&mirror), [1, 2]);
        net.answer("GET /repos/o/r/issues/1", 200, &issue(1, 30, "open"));
        mirror.put(server.issue(1).unwrap().unwrap());
        let since = "GET /repos/o/r/issues?state=all&sort=updated&direction=desc&since=2026-11-19T10:00:58Z";
        net.answer(since, 200, &format!("[{}, {}]", issue(1, 30, "open"), issue(2, 20, "closed")));
        mirror.refresh(&server, Covers::Open).unwrap();
        assert_eq!(numbers(&mirror), [1], "the other was closed meanwhile");
        net.answer(
            "GET /repos/o/r/issues?state=all&sort=created",
            200,
            &format!("[{}]", issue(1, 30, "open")),
        );
        mirror.refresh(&server, Covers::All).unwrap();
        net.set_now(FRESH + 1);
        net.answer("GET /repos/o/r/issues?state=all&sort=created", 200, "[]");
        mirror.refresh(&server, Covers::Open).unwrap();
        assert_eq!(numbers(&mirror), [0; 0], "what was deleted goes when everything is read anew");
        net.finish();
    }

    #[test]
    fn changes_are_asked_from_before_a_list_that_took_long() {
        #[derive(Debug)]
        struct Slow(Scripted);
        impl crate::http::Net for Slow {
            fn send(
                &self,
                request: &crate::http::Request,
            ) -> Result<crate::http::Response, crate::http::SendError> {
                self.0.set_now(self.0.now().millis() + 30_000);
                self.0.send(request)
            }

            fn now(&self) -> Time {
                self.0.now()
            }
        }
        let net = Arc::new(Slow(Scripted::default()));
        let server = Github::new(Arc::clone(&net) as _, "o", "r");
        let mut mirror = Mirror::default();
        net.0.answer("GET /repos/o/r/issues?state=open", 200, &format!("[{}]", issue(1, 5, "open")));
        mirror.refresh(&server, Covers::Open).unwrap();
        let since = "GET /repos/o/r/issues?state=all&sort=updated&direction=desc&since=2026-11-19T10:04:28Z";
        net.0.answer(since, 200, "[]");
        mirror.refresh(&server, Covers::Open).unwrap();
        net.0.finish();
    }
}
