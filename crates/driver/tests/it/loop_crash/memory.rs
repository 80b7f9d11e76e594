//! The same loop with stores in memory and with a fake forge: a crash leaves the files and a snapshot of the rest.
//!
//! One process does all of it. The one that crashed seems to live, so that its leases have to run out.

use std::{cell::RefCell, rc::Rc};

use adapters::boundary;

use super::{end, ignore_marks, to_the_end};
use crate::{
    crash::world::{self, World},
    world::{self as ports, Behind, start_ok},
};

/// Every so many points the loop is stopped. Far more are looked at where the stores are files.
const EVERY: usize = 43;
/// It is stopped at least so often.
const FEWEST: usize = 4;

#[test]
fn a_loop_that_stops_in_memory_comes_to_the_same_end() {
    let test = "loop_crash::memory::a_loop_that_stops_in_memory_comes_to_the_same_end";
    if let Some(ports) = ports::World::inside() {
        return inside(&ports);
    }
    for behind in [Behind::Memory, Behind::Fake] {
        let sandbox = testkit::Sandbox::new("warp");
        world::prepare_files(&sandbox);
        ignore_marks(&sandbox);
        start_ok(&sandbox, test, behind, "");
    }
}

fn inside(ports: &ports::World) {
    let mut world = World::new(&ports.home, 2);
    world.dirs = ports.dirs.clone();
    let crashes = Rc::new(RefCell::new(Vec::new()));
    let (watched, there, noted) = (world.clone(), ports.clone(), Rc::clone(&crashes));
    let mut points = 0;
    boundary::watch(move |point| {
        points += 1;
        if points % EVERY == 0 {
            let copy = there.home.join(format!("copies/{points:04} {point}"));
            watched.copy_to(&copy);
            noted.borrow_mut().push((copy, there.crashed()));
        }
    });
    to_the_end(&world);
    boundary::unwatch();
    let undisturbed = end(&world);
    let crashes = crashes.take();
    assert!(crashes.len() >= FEWEST, "{} crashes", crashes.len());
    for (copy, dirs) in crashes {
        world.put_back(&copy);
        world.dirs = dirs;
        to_the_end(&world);
        assert_eq!(end(&world), undisturbed, "{}", copy.display());
    }
}
