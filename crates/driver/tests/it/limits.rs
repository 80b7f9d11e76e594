//! A provider's usage limit: every run of the pool waits for the reset, by a clock that goes ahead where it would wait.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use adapters::clock::Clock;
use driver::Finish;
use engine::{Record, Standing};
use project::{Dirs, Place, Workspace};

use crate::world::{LONG, Limited, Nobody, World, drive, once, player, project, turn, with_each};

const ISSUES: u64 = 3;

/// Takes an issue to its end; waits pass at once.
fn records(place: &Place, dirs: &Dirs, issue: u64, agent: Limited) -> Vec<Record> {
    assert_eq!(drive(place, dirs, once(issue, 2), Arc::new(agent), &mut Nobody).unwrap(), Finish::Done);
    let mut workspace = Workspace::open(place.clone(), dirs.clone()).unwrap();
    let current = workspace.select(Some(&issue.to_string())).unwrap().unwrap();
    assert!(matches!(current.run.standing, Standing::Ended { .. }), "{:?}", current.run.standing);
    workspace.records(&current).unwrap()
}

fn inside(world: World) {
    let clock = Clock::simulated();
    let dirs = world.dirs.clone().with_clock(clock.clone());
    world.file_issues(&world.root(), ISSUES);
    let place = Place::at(&world.root()).unwrap();
    let resets_at = clock.now().plus_minutes(90);
    let refused = Arc::new(AtomicUsize::new(0));
    let begin = |issue: u64| {
        let player = player(&turn(issue));
        let (clock, refused) = (clock.clone(), Arc::clone(&refused));
        let agent = Limited { clock, resets_at, refused, timers: Arc::default(), player };
        let (place, dirs) = (place.clone(), dirs.clone());
        thread::spawn(move || records(&place, &dirs, issue, agent))
    };
    // The first of them meets the limit; the others begin when the pool waits already. Until then time stands still.
    let busy = clock.enter();
    let mut here = Workspace::open(place.clone(), dirs.clone()).unwrap();
    let mut follower = here.follower().unwrap().unwrap();
    let mut runs = Vec::new();
    let mut suspended = 0;
    for issue in 1..=ISSUES {
        runs.push(begin(issue));
        while suspended < runs.len() {
            let followed = here.follow(&mut follower, LONG).unwrap();
            assert!(!followed.is_empty(), "nothing has happened for {LONG:?}");
            suspended += followed.iter().filter(|followed| followed.record.event == *"suspended").count();
        }
    }
    drop(busy);
    let runs = runs.into_iter().map(|run| run.join().unwrap());
    for records in runs {
        let of = |event: &str| records.iter().filter(|record| record.event == *event).count();
        assert_eq!((of("suspended"), of("wait_over")), (1, 1), "it waits once");
        let over = records.iter().find(|record| record.event == *"wait_over").unwrap();
        assert!(over.at >= resets_at, "{} is before {resets_at}", over.at);
        for charged in ["tests_failed", "question_asked", "phase_timeout", "budget_continue"] {
            assert_eq!(of(charged), 0, "{charged}");
        }
    }
    assert_eq!(refused.load(Ordering::Relaxed), 1, "whoever comes later does not even ask");
}

#[test]
fn every_run_of_a_pool_waits_for_the_reset_and_no_retry_is_charged() {
    let test = "limits::every_run_of_a_pool_waits_for_the_reset_and_no_retry_is_charged";
    with_each(test, || project(""), inside);
}
