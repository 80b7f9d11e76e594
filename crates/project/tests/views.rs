//! What whoever drives a run shows of it, and when.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{fs, path::PathBuf};

use engine::{Event, EventName};
use project::{Dirs, Place, Request, Workspace};
use serde_json::{Map, Value};
use testkit::Sandbox;

/// A workspace with a run in `prerequisites`, and somebody who drives it.
struct Driven {
    sandbox: Sandbox,
    driver: Workspace,
}

fn open(sandbox: &Sandbox) -> Workspace {
    let dirs = Dirs::new(sandbox.home().join("state"), sandbox.home().join("config"));
    Workspace::open(Place::at(&sandbox.root()).unwrap(), dirs).unwrap()
}

fn ask(workspace: &mut Workspace, event: &str) {
    workspace.ask(Event::Named(EventName::new(event)), Map::new()).unwrap();
}

impl Driven {
    fn new() -> Self {
        let sandbox = Sandbox::new("warp");
        let mut driver = open(&sandbox);
        let request = Request { issue: Some("42".to_owned()), level: Some(2), ..Request::default() };
        driver.begin(request).unwrap();
        driver.sync_later().unwrap();
        Self { sandbox, driver }
    }

    /// Returns the phase that the state file shows.
    fn shown(&self) -> String {
        let text = fs::read_to_string(self.sandbox.root().join(".claude/.warp-drive-state.json")).unwrap();
        let state: Value = serde_json::from_str(&text).unwrap();
        state["phase"].as_str().unwrap().to_owned()
    }

    /// Returns the phase that the head names, if there is a head.
    fn head(&self) -> Option<String> {
        let text = fs::read_to_string(self.own().join("head")).ok()?;
        text.lines().find_map(|line| line.strip_prefix("phase ")).map(str::to_owned)
    }

    fn own(&self) -> PathBuf {
        self.sandbox.root().join(".git/warp")
    }

    fn set_aside(&self) -> usize {
        fs::read_dir(self.own().join("set-aside")).map_or(0, Iterator::count)
    }
}

#[test]
fn a_driver_shows_its_events_when_somebody_may_look() {
    let mut driven = Driven::new();
    ask(&mut driven.driver, "prerequisites_ok");
    ask(&mut driven.driver, "work_selected");
    assert_eq!((driven.shown().as_str(), driven.head()), ("prerequisites", None));
    driven.driver.sync().unwrap();
    assert_eq!((driven.shown().as_str(), driven.head().as_deref()), ("planning", Some("planning")));
    driven.driver.sync().unwrap();
    assert_eq!(driven.set_aside(), 0);
}

#[test]
fn what_a_killed_driver_has_not_shown_is_shown_by_the_next_command() {
    let mut driven = Driven::new();
    ask(&mut driven.driver, "prerequisites_ok");
    driven.driver.sync().unwrap();
    ask(&mut driven.driver, "work_selected");
    ask(&mut driven.driver, "plan_ready");
    let mut next = open(&driven.sandbox);
    assert_eq!(next.refresh().unwrap(), []);
    assert_eq!((driven.shown().as_str(), driven.head().as_deref()), ("chunking", Some("chunking")));
    assert_eq!(driven.set_aside(), 0);
}

#[test]
fn no_head_is_older_than_the_journal_whoever_wrote_it() {
    let mut driven = Driven::new();
    let mut other = open(&driven.sandbox);
    ask(&mut driven.driver, "prerequisites_ok");
    // Another command shows what the driver has not.
    other.refresh().unwrap();
    assert_eq!(driven.head().as_deref(), Some("discovering"));
    ask(&mut driven.driver, "work_selected");
    assert_eq!(driven.head(), None);
    // Another process records something, and shows all of it.
    ask(&mut other, "plan_ready");
    assert_eq!((driven.shown().as_str(), driven.head().as_deref()), ("chunking", Some("chunking")));
    driven.driver.sync().unwrap();
    assert_eq!((driven.shown().as_str(), driven.head().as_deref()), ("chunking", Some("chunking")));
    ask(&mut driven.driver, "abort");
    assert_eq!(driven.head(), None);
    driven.driver.sync().unwrap();
    assert_eq!(driven.head().as_deref(), Some("aborted"));
}

#[test]
fn a_state_file_that_somebody_changed_is_set_aside_before_it_is_shown_again() {
    let mut driven = Driven::new();
    ask(&mut driven.driver, "prerequisites_ok");
    let file = driven.sandbox.root().join(".claude/.warp-drive-state.json");
    fs::write(&file, "mine").unwrap();
    driven.driver.sync().unwrap();
    assert_eq!((driven.shown().as_str(), driven.head().as_deref()), ("discovering", Some("discovering")));
    let kept = fs::read_dir(driven.own().join("set-aside")).unwrap().next().unwrap().unwrap().path();
    assert_eq!(fs::read_to_string(kept).unwrap(), "mine");
    ask(&mut driven.driver, "work_selected");
    drop(driven.driver);
    let mut next = open(&driven.sandbox);
    assert_eq!(next.refresh().unwrap(), []);
}
