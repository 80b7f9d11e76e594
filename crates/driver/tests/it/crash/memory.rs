//! The same run with stores in memory: a crash leaves the files and a snapshot of the rest.
//!
//! One process does all of it. The one that crashed seems to live, so that its leases have to run out.

use std::{cell::RefCell, rc::Rc};

use adapters::boundary;

use super::{
    difference,
    end::End,
    run,
    world::{self, World},
};
use crate::world::{self as ports, Behind, start_ok};

/// Every so many points the run is stopped. All of them are looked at where the stores are files.
const EVERY: usize = 31;
/// It is stopped at least so often.
const FEWEST: usize = 10;

#[test]
fn a_run_that_stops_in_memory_comes_to_the_same_end() {
    let test = "crash::memory::a_run_that_stops_in_memory_comes_to_the_same_end";
    if let Some(ports) = ports::World::inside() {
        return inside(&ports);
    }
    for behind in [Behind::Memory, Behind::Fake] {
        let sandbox = testkit::Sandbox::new("warp");
        world::prepare_files(&sandbox);
        start_ok(&sandbox, test, behind, "");
    }
}

fn inside(ports: &ports::World) {
    let mut world = World::new(&ports.home, 3);
    world.dirs = ports.dirs.clone();
    world.file_issue();
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
    run::to_the_end(&world);
    boundary::unwatch();
    let undisturbed = End::of(&world).to_string();
    let crashes = crashes.take();
    assert!(crashes.len() >= FEWEST, "{} crashes", crashes.len());
    for (copy, dirs) in crashes {
        world.put_back(&copy);
        world.dirs = dirs;
        run::to_the_end(&world);
        let end = End::of(&world).to_string();
        assert!(end == undisturbed, "{}:\n{}", copy.display(), difference(&undisturbed, &end));
    }
}
