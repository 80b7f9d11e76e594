//! A driver that has slept past its lease while another took its run over records nothing more and moves nothing outside.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

use adapters::{
    agent::{Agent, AgentUpdate, Capabilities, Turn, TurnResult, script::Player},
    boundary,
    clock::Clock,
    process::Control,
};
use driver::{DriveError, Finish};
use forge::Query;
use project::{Dirs, Place, Workspace, config};
use testkit::Sandbox;

use crate::world::{Nobody, World, drive, git, later, once, player, project, turn, with_each};

/// An agent that does something before its first turn.
struct Sleeper<F> {
    player: Player,
    sleeps: Mutex<Option<F>>,
}

impl<F: FnOnce() + Send> Agent for Sleeper<F> {
    fn name(&self) -> &'static str {
        self.player.name()
    }

    fn provider(&self) -> &'static str {
        self.player.provider()
    }

    fn capabilities(&self) -> Capabilities {
        self.player.capabilities()
    }

    fn run(&self, turn: &Turn<'_>, watch: &mut dyn FnMut(AgentUpdate) -> Control) -> TurnResult {
        if let Some(sleep) = self.sleeps.lock().unwrap().take() {
            sleep();
        }
        self.player.run(turn, watch)
    }
}

/// A project with a remote to which warp pushes.
fn with_remote() -> Sandbox {
    let sandbox = project("");
    let remote = sandbox.home().join("remote.git");
    sandbox.git(&["clone", "--quiet", "--bare", "--template=", ".", remote.to_str().unwrap()]);
    sandbox.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    sandbox
}

fn remote(world: &World) -> PathBuf {
    world.home.join("remote.git")
}

/// Files the issue; returns the directories of the driver that falls asleep, and of whoever comes later.
fn prepare(world: &World) -> (Dirs, Dirs) {
    let place = Place::at(&world.root()).unwrap();
    world.file_issues(&world.root(), 1);
    config::remember(&place, &world.dirs, "push", Some("target")).unwrap();
    (world.dirs.clone().with_clock(Clock::simulated()), world.dirs.clone().with_clock(later()))
}

/// Drives the issue at a level until it was taken over.
fn sleep(world: &World, asleep: &Dirs, level: u64, agent: impl Agent + 'static) {
    // Time stands still for this driver: nothing renews its lease.
    let _busy = asleep.clock.enter();
    let place = Place::at(&world.root()).unwrap();
    let end = drive(&place, asleep, once(1, level), Arc::new(agent), &mut Nobody);
    assert!(matches!(&end, Err(DriveError::TakenOver { about }) if about == "issue 1"), "{end:?}");
}

/// Returns all that a driver can change which is not in its own workspace.
fn outside(world: &World) -> String {
    let workspace = world.workspace(&world.root());
    let store = world.dirs.stores.open(workspace.store_path().unwrap().unwrap()).unwrap();
    // What is known of the remote is not outside.
    let refs = |of: PathBuf| git(&of, &["for-each-ref", "--exclude=refs/remotes"]);
    let items =
        (workspace.tracker().items(Query::All).unwrap(), workspace.forge().pulls(Query::All).unwrap());
    format!("{}\n{}\n{}\n{items:#?}", store.last_position().unwrap(), refs(world.root()), refs(remote(world)))
}

#[test]
fn a_driver_that_wakes_after_another_has_finished_its_run_changes_nothing() {
    let test = "zombie::a_driver_that_wakes_after_another_has_finished_its_run_changes_nothing";
    with_each(test, with_remote, |world| {
        let (asleep, later) = prepare(&world);
        let seen = Arc::new(Mutex::new(String::new()));
        let (noted, there) = (Arc::clone(&seen), world.clone());
        let sleeps = move || {
            let place = Place::at(&there.root()).unwrap();
            let finish = drive(&place, &later, once(1, 3), Arc::new(player(&turn(1))), &mut Nobody);
            assert_eq!(finish.unwrap(), Finish::Done);
            *noted.lock().unwrap() = outside(&there);
        };
        sleep(&world, &asleep, 3, Sleeper { player: player(&turn(1)), sleeps: Mutex::new(Some(sleeps)) });
        assert_eq!(outside(&world), *seen.lock().unwrap());
        assert_eq!(git(&remote(&world), &["show", "main:file1.txt"]), "word1");
    });
}

#[test]
fn a_push_that_began_before_the_driver_fell_asleep_is_refused() {
    let test = "zombie::a_push_that_began_before_the_driver_fell_asleep_is_refused";
    with_each(test, with_remote, |world| {
        let (asleep, later) = prepare(&world);
        let seen = Arc::new(Mutex::new(String::new()));
        let (noted, there) = (Arc::clone(&seen), world.clone());
        // Whoever has taken the run over has put the remote back to an earlier commit. Git alone would take this push, which
        // goes straight on from there.
        boundary::watch(move |point| {
            if point == "before push" && noted.lock().unwrap().is_empty() {
                let place = Place::at(&there.root()).unwrap();
                let mut taker = Workspace::open(place, later.clone()).unwrap();
                taker.claim("1").unwrap();
                let remote = remote(&there);
                git(&remote, &["update-ref", "refs/heads/main", "main~1"]);
                *noted.lock().unwrap() = outside(&there);
            }
        });
        sleep(&world, &asleep, 3, player(&turn(1)));
        boundary::unwatch();
        assert_eq!(outside(&world), *seen.lock().unwrap());
    });
}

#[test]
fn a_push_of_a_run_branch_that_began_before_the_driver_fell_asleep_is_refused() {
    let test = "zombie::a_push_of_a_run_branch_that_began_before_the_driver_fell_asleep_is_refused";
    with_each(test, with_remote, |world| {
        let (asleep, later) = prepare(&world);
        let seen = Arc::new(Mutex::new(String::new()));
        let (noted, there) = (Arc::clone(&seen), world.clone());
        // The remote has no such branch when the claim is last looked at. Whoever has taken the run over has pushed an
        // earlier commit of it. Git alone would take this push, which goes straight on from there.
        boundary::watch(move |point| {
            if point == "before push" && noted.lock().unwrap().is_empty() {
                let place = Place::at(&there.root()).unwrap();
                let mut taker = Workspace::open(place, later.clone()).unwrap();
                taker.claim("1").unwrap();
                let branches = git(&there.root(), &["branch", "--format=%(refname)"]);
                let branch = branches.lines().find(|branch| *branch != "refs/heads/main").unwrap();
                git(&remote(&there), &["update-ref", branch, "main"]);
                *noted.lock().unwrap() = outside(&there);
            }
        });
        sleep(&world, &asleep, 2, player(&turn(1)));
        boundary::unwatch();
        assert_ne!(*seen.lock().unwrap(), "", "nothing was pushed");
        assert_eq!(outside(&world), *seen.lock().unwrap());
    });
}
