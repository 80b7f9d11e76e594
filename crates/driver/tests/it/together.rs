//! Fifty runs in one process, on one project and on ten, come to the same end as one by one, also where they are killed in
//! the middle and begun again; while all of them wait, nothing wakes but what is due.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use adapters::{
    agent::Agent,
    clock::{Clock, after},
    machine,
};
use driver::Finish;
use forge::Query;
use project::{Dirs, Place, Workspace};
use testkit::Sandbox;

use crate::world::{Behind, LONG, Limited, Nobody, World, git, once, player, project, start, start_ok, turn};

const RUNS: u64 = 50;
/// How many issues are done when the process kills itself.
const KILLED_AFTER: usize = 12;
/// Any number of agents at once.
const UNLIMITED: &str = "max_agents = 0\nmax_agents_per_project = 0\nmax_agents_per_pool = 0\n";

/// What is done with the runs.
const ONE_BY_ONE: &str = "one by one";
const AT_ONCE: &str = "at once";
const KILLED: &str = "killed";
const AGAIN: &str = "again";

/// The projects of a home, and the issues of each.
#[derive(Clone, Copy)]
struct Shape {
    projects: u64,
}

impl Shape {
    fn issues(self) -> u64 {
        RUNS / self.projects
    }

    fn roots(self, world: &World) -> Vec<PathBuf> {
        (0..self.projects).map(|number| world.home.join(format!("project{number}"))).collect()
    }

    /// Returns each issue with the root of its project.
    fn all(self, world: &World) -> impl Iterator<Item = (PathBuf, u64)> {
        let roots = self.roots(world).into_iter();
        roots.flat_map(move |root| (1..=self.issues()).map(move |issue| (root.clone(), issue)))
    }

    /// Makes the projects with their issues.
    fn prepare(self, world: &World) {
        for root in self.roots(world) {
            git(&world.root(), &["clone", "--quiet", "--template=", ".", root.to_str().unwrap()]);
            git(&root, &["remote", "remove", "origin"]);
            world.file_issues(&root, self.issues());
        }
    }
}

/// Drives an issue to its end, unless it is there already.
fn drive(dirs: &Dirs, root: &Path, issue: u64, agent: Arc<dyn Agent>) {
    let place = Place::at(root).unwrap();
    let mut here = Workspace::open(place.clone(), dirs.clone()).unwrap();
    // Killed between the merge and its record, an issue is closed and its run is not over.
    if here.select(Some(&issue.to_string())).unwrap().is_none_or(|current| current.run.is_open()) {
        let mut options = once(issue, 3);
        // All of them may have an agent: on a slow machine some would else wait for a place.
        let places = ["max_agents", "max_agents_per_project", "max_agents_per_pool"];
        options.set.extend(places.map(|key| (key.to_owned(), "100".to_owned())));
        let finish = crate::world::drive(&place, dirs, options, agent, &mut Nobody);
        assert_eq!(finish.unwrap(), Finish::Done, "issue {issue}");
    }
}

/// Drives all issues, and writes down what a person finds then.
fn drive_all(shape: Shape, world: &World) {
    if world.task != AGAIN {
        shape.prepare(world);
    }
    let drive = |root: PathBuf, issue| drive(&world.dirs, &root, issue, Arc::new(player(&turn(issue))));
    if world.task == ONE_BY_ONE {
        shape.all(world).for_each(|(root, issue)| drive(root, issue));
    } else {
        let done = AtomicUsize::new(0);
        thread::scope(|scope| {
            for (root, issue) in shape.all(world) {
                let (drive, done) = (&drive, &done);
                scope.spawn(move || {
                    drive(root, issue);
                    if done.fetch_add(1, Ordering::Relaxed) + 1 == KILLED_AFTER && world.task == KILLED {
                        machine::kill_self();
                    }
                });
            }
        });
    }
    fs::write(world.home.join("end"), end(shape, world)).unwrap();
}

/// Returns what a person finds in the end, without what differs from run to run: the order, hashes, names of runs.
fn end(shape: Shape, world: &World) -> String {
    let mut end = Vec::new();
    for root in shape.roots(world) {
        let mut workspace = world.workspace(&root);
        let mut lines: Vec<String> =
            git(&root, &["log", "--format=%s", "main"]).lines().map(str::to_owned).collect();
        for item in workspace.tracker().items(Query::All).unwrap() {
            let title = item.title.split_once(": ").map_or(item.title.as_str(), |(_, title)| title);
            lines.push(format!("{title} {:?} {:?} {:?}", item.state, item.labels, item.boxes()));
        }
        lines.extend(workspace.runs().unwrap().iter().map(|current| {
            format!("issue {:?} {:?}", current.run.issue.as_deref().unwrap_or_default(), current.run.standing)
        }));
        lines.sort();
        lines.push(git(&root, &["ls-tree", "-r", "main"]));
        lines.push(git(&root, &["status", "--porcelain"]));
        end.push(lines.join("\n"));
    }
    end.join("\n")
}

fn come_to_the_same_end(test: &str, projects: u64) {
    let shape = Shape { projects };
    if let Some(world) = World::inside() {
        return drive_all(shape, &world);
    }
    let end_in = |sandbox: &Sandbox| fs::read_to_string(sandbox.home().join("end")).unwrap();
    let end_of = |behind, task| {
        let sandbox = project(UNLIMITED);
        start_ok(&sandbox, test, behind, task);
        end_in(&sandbox)
    };
    let one_by_one = end_of(Behind::Memory, ONE_BY_ONE);
    let of = |word: &str| one_by_one.lines().filter(|line| line.starts_with(word)).count() as u64;
    assert_eq!((of("feat: "), of("issue ")), (RUNS, RUNS), "{one_by_one}");
    assert_eq!(end_of(Behind::Fake, AT_ONCE), one_by_one);
    // What is in memory does not outlast the process.
    let sandbox = project(UNLIMITED);
    let (is_whole, text) = start(&sandbox, test, Behind::Files, KILLED);
    assert!(!is_whole && !text.contains("panicked"), "it was to be killed: {text}");
    start_ok(&sandbox, test, Behind::Files, AGAIN);
    assert_eq!(end_in(&sandbox), one_by_one);
}

#[test]
fn fifty_runs_of_one_project_come_to_the_same_end_as_one_by_one() {
    let test = "together::fifty_runs_of_one_project_come_to_the_same_end_as_one_by_one";
    come_to_the_same_end(test, 1);
}

#[test]
fn fifty_runs_of_ten_projects_come_to_the_same_end_as_one_by_one() {
    let test = "together::fifty_runs_of_ten_projects_come_to_the_same_end_as_one_by_one";
    come_to_the_same_end(test, 10);
}

/// Lets all runs wait for an hour, by a simulated clock.
fn wait_together(shape: Shape, world: &World) {
    shape.prepare(world);
    let clock = Clock::simulated();
    let dirs = world.dirs.clone().with_clock(clock.clone());
    let resets_at = after(clock.now(), Duration::from_secs(3600));
    // Time stands still until all of them wait.
    let busy = clock.enter();
    let timers = Arc::default();
    thread::scope(|scope| {
        let mut followed = Vec::new();
        for root in shape.roots(world) {
            let mut here = Workspace::open(Place::at(&root).unwrap(), dirs.clone()).unwrap();
            let follower = here.follower().unwrap().unwrap();
            followed.push((here, follower));
        }
        for (root, issue) in shape.all(world) {
            let (dirs, clock, player) = (&dirs, clock.clone(), player(&turn(issue)));
            let (refused, timers) = (Arc::default(), Arc::clone(&timers));
            let agent = Limited { clock, resets_at, refused, timers, player };
            scope.spawn(move || drive(dirs, &root, issue, Arc::new(agent)));
        }
        for (here, follower) in &mut followed {
            let mut waiting = 0;
            while waiting < shape.issues() {
                let news = here.follow(follower, LONG).unwrap();
                assert!(!news.is_empty(), "nothing has happened for {LONG:?}");
                let of = |event: &str| news.iter().filter(|news| news.record.event == *event).count() as u64;
                waiting += of("suspended");
                assert_eq!(of("wait_over"), 0);
            }
        }
        println!("{}", footprint());
        drop(busy);
    });
    // Each run wakes when its wait is due, once; beside that, claims are renewed twice a minute, all at once.
    let timers = *timers.get().unwrap();
    println!("{timers} timers were due in the hour, and {} afterwards", clock.wakeups() - timers);
    assert!((RUNS..=RUNS + 120).contains(&timers), "{timers} wake-ups");
    assert_eq!(end(shape, world).lines().filter(|line| line.starts_with("feat: ")).count() as u64, RUNS);
}

/// Says how much memory and how many threads this process has.
fn footprint() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let number = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_ascii_whitespace().next().unwrap().parse().unwrap()
    };
    let (threads, kilobytes) = (number("Threads:"), number("VmRSS:"));
    format!(
        "{RUNS} waiting runs: {threads} threads, {kilobytes} KB, so {:.1} threads and {} KB a run",
        threads as f64 / RUNS as f64,
        kilobytes / RUNS
    )
}

fn wait_for_an_hour(test: &str, projects: u64, behind: &[Behind]) {
    let shape = Shape { projects };
    if let Some(world) = World::inside() {
        return wait_together(shape, &world);
    }
    for behind in behind {
        let text = start_ok(&project(UNLIMITED), test, *behind, "");
        let told = text.lines().filter(|line| line.contains("waiting runs") || line.contains("timers"));
        told.for_each(|line| println!("{behind:?}, {projects} projects: {line}"));
    }
}

#[test]
fn fifty_waiting_runs_of_one_project_wake_only_when_something_is_due() {
    let test = "together::fifty_waiting_runs_of_one_project_wake_only_when_something_is_due";
    wait_for_an_hour(test, 1, &[Behind::Memory, Behind::Fake]);
}

#[test]
fn fifty_waiting_runs_of_ten_projects_wake_only_when_something_is_due() {
    let test = "together::fifty_waiting_runs_of_ten_projects_wake_only_when_something_is_due";
    wait_for_an_hour(test, 10, &[Behind::Files]);
}
