//! The contract of the ports on everything that meets it here. An adapter adds a world of its own and is held to the same.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cache;
mod doubles;
mod faults;
mod net;
mod pulls;
mod real;
mod servers;
mod suite;
mod woodpecker;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use forge::{
    Author, Forge, LocalForge, Tracker,
    fake::{Fake, Memory},
};
use journal::Stores;
use suite::World;

/// Holds every world to the suite.
macro_rules! on_every_forge {
    ($($suite:ident::$name:ident),+ $(,)?) => {
        mod fake_forge {
            $(#[test] fn $name() { super::$suite::$name(&super::fake()); })+
        }
        mod local_forge {
            $(#[test] fn $name() { super::$suite::$name(&super::local()); })+
        }
        mod github {
            $(#[test] fn $name() { super::$suite::$name(&super::doubles::github()); })+
        }
        mod forgejo {
            $(#[test] fn $name() { super::$suite::$name(&super::doubles::forgejo()); })+
        }
        mod gitea {
            $(#[test] fn $name() { super::$suite::$name(&super::doubles::gitea()); })+
        }
    };
}

on_every_forge!(
    suite::a_marker_files_once,
    suite::what_is_not_there_is_none_and_acting_on_it_an_error,
    suite::ids_are_given_in_order_and_stay,
    suite::lists_hold_what_was_asked_for_and_all_of_it,
    suite::labels_are_ensured,
    suite::only_a_person_approves,
    suite::ticking_changes_nothing_but_its_boxes,
    suite::nobody_writes_over_an_edit,
    suite::comments_are_bounded_and_made_once,
    suite::what_is_closed_stays_so_until_it_is_opened_again,
    suite::texts_are_bounded_and_cleaned,
    suite::what_can_be_taken_depends_on_others,
    suite::a_file_is_one_issue,
    pulls::a_marker_opens_one_pull_request,
    pulls::an_issue_is_no_pull_request,
    pulls::a_review_is_of_the_commit_that_is_offered,
    pulls::another_commit_is_not_reviewed_yet,
    pulls::only_the_reviewed_commit_is_merged,
    pulls::what_is_merged_stays_closed,
    pulls::a_pull_request_is_closed_without_a_merge,
);

/// The embedded forge in a file.
struct Local {
    _directory: tempfile::TempDir,
    local: LocalForge,
    commits: AtomicU64,
}

fn local() -> Local {
    let directory = tempfile::tempdir().unwrap();
    let store = Stores::default().open(directory.path().join("journal.db")).unwrap();
    Local {
        local: LocalForge::new(Arc::new(Memory::new(store)), Author::warp()),
        _directory: directory,
        commits: AtomicU64::new(0),
    }
}

impl World for Local {
    fn tracker(&self, by: Author) -> Arc<dyn Tracker> {
        Arc::new(self.local.by(by))
    }

    fn forge(&self, by: Author) -> Arc<dyn Forge> {
        Arc::new(self.local.by(by))
    }

    fn push(&self, _branch: &str) -> String {
        format!("{:040x}", self.commits.fetch_add(1, Ordering::Relaxed))
    }
}

struct InMemory {
    fake: Fake,
    commits: AtomicU64,
}

fn fake() -> InMemory {
    InMemory { fake: Fake::new(Author::warp()), commits: AtomicU64::new(0) }
}

impl World for InMemory {
    fn tracker(&self, by: Author) -> Arc<dyn Tracker> {
        Arc::new(self.fake.by(by))
    }

    fn forge(&self, by: Author) -> Arc<dyn Forge> {
        Arc::new(self.fake.by(by))
    }

    fn push(&self, _branch: &str) -> String {
        format!("{:040x}", self.commits.fetch_add(1, Ordering::Relaxed))
    }
}
