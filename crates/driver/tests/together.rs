//! Fifty runs in one process, on one project and on ten: killed in the middle and begun again, they come to the same end as one
//! by one; while all of them wait, nothing wakes but what is due.
//!
//! The runs read the home and git's settings from their environment, so the test starts itself again in its sandbox.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]
#![expect(clippy::print_stdout, reason = "threads and memory of a run are printed")]

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use adapters::{
    agent::{
        Agent, Capabilities, Ended, ProviderFailure, Said, Turn, Usage,
        script::{Player, Reply, Script},
    },
    clock::{Clock, after},
    machine,
    process::Go,
};
use driver::{After, Driver, Finish, Interrupts, Options, Show, Shown};
use engine::{Standing, Time, view::Asked};
use forge::{By, ItemId, NewItem};
use project::{Dirs, Place, Workspace};
use testkit::Sandbox;

const RUNS: u64 = 50;
/// Set where the runs are: what is done there.
const INSIDE: &str = "WARP_TEST_INSIDE";
/// Longer than anything here takes: reaching it is a failure.
const LONG: Duration = Duration::from_secs(300);
/// How many issues are done when the process kills itself.
const KILLED_AFTER: usize = 12;

/// Nobody looks on.
struct Nobody;

impl Show for Nobody {
    fn show(&mut self, _shown: Shown<'_>) {}

    fn reply(&mut self, _asked: &Asked) -> Option<driver::Reply> {
        None
    }

    fn is_attended(&self) -> bool {
        false
    }
}

/// The projects of a home, and the issues of each.
#[derive(Clone, Copy)]
struct Shape {
    projects: u64,
}

impl Shape {
    fn issues(self) -> u64 {
        RUNS / self.projects
    }

    fn places(self, home: &Path) -> Vec<PathBuf> {
        (0..self.projects).map(|number| home.join(format!("project{number}"))).collect()
    }
}

fn dirs(home: &Path) -> Dirs {
    Dirs::new(home.join("state/warp"), home.join("config/warp"))
}

/// Makes the projects with their issues.
fn prepare(sandbox: &Sandbox, shape: Shape) {
    let home = sandbox.home().canonicalize().unwrap();
    sandbox.git(&["switch", "--quiet", "main"]);
    sandbox.write("test.sh", "true\n");
    let settings = "test_command = \"sh test.sh\"\nmax_agents = 0\nmax_agents_per_project = 0\nmax_agents_per_pool = 0\n";
    sandbox.write("warp.toml", format!("[workflow]\n{settings}"));
    sandbox.git(&["add", "--all"]);
    sandbox.git(&["commit", "--quiet", "-m", "chore: tests"]);
    for root in shape.places(&home) {
        sandbox.git(&["clone", "--quiet", "--template=", ".", root.to_str().unwrap()]);
        sandbox.git(&["-C", root.to_str().unwrap(), "remote", "remove", "origin"]);
        let workspace = Workspace::open(Place::at(&root).unwrap(), dirs(&home)).unwrap();
        let tracker = workspace.tracker_as(By::person("Ann"));
        for issue in 1..=shape.issues() {
            let body = format!("- [ ] the word word{issue} is in file{issue}.txt\n");
            let item = NewItem::of(format!("Word {issue}"), body, Default::default());
            let filed = tracker.file(&item, None).unwrap();
            tracker.approve(filed.id).unwrap();
        }
    }
}

fn player(issue: u64) -> Player {
    let script = format!(
        "[[turn]]\nphase = \"coding\"\nsteps = [{{ write = \"file{issue}.txt\", text = \"word{issue}\\n\" }}]\n\
         answer = {{ summary = \"done\", evidence = [{{ ac = \"AC-01\", file = \"file{issue}.txt\", line = 1 }}] }}\n"
    );
    Player::new(Script::parse(&script).unwrap(), Box::new(|_, _| Reply::default()))
}

/// Drives an issue to its end, unless it is there already.
fn drive(dirs: &Dirs, root: &Path, issue: u64, agent: Arc<dyn Agent>) -> Option<Finish> {
    let place = Place::at(root).unwrap();
    let mut here = Workspace::open(place.clone(), dirs.clone()).unwrap();
    // Killed between the merge and its record, an issue is closed and its run is not over.
    if here.select(Some(&issue.to_string())).unwrap().is_some_and(|current| !current.run.is_open()) {
        return None;
    }
    let options =
        Options { issue: Some(issue.to_string()), level: Some(3), after: After::Once, ..Options::default() };
    let mut nobody = Nobody;
    let mut driver =
        Driver::start_with(agent, &place, dirs, options, Interrupts::default(), &mut nobody).unwrap();
    let finish = driver.drive().unwrap();
    driver.finish().unwrap();
    Some(finish)
}

/// Runs something for each issue of each project, all at once.
fn all_at_once(shape: Shape, home: &Path, act: impl Fn(&Path, u64) + Sync) {
    thread::scope(|scope| {
        for root in shape.places(home) {
            for issue in 1..=shape.issues() {
                let (root, act) = (root.clone(), &act);
                scope.spawn(move || act(&root, issue));
            }
        }
    });
}

/// Drives all issues at once. `kills_itself` when some of them are done.
fn drive_all(shape: Shape, kills_itself: bool) {
    let home = PathBuf::from(env::var_os("HOME").unwrap()).canonicalize().unwrap();
    let dirs = dirs(&home);
    let done = AtomicUsize::new(0);
    all_at_once(shape, &home, |root, issue| {
        if let Some(finish) = drive(&dirs, root, issue, Arc::new(player(issue))) {
            assert_eq!(finish, Finish::Done, "issue {issue}");
        }
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if kills_itself && done == KILLED_AFTER {
            machine::kill_self();
        }
    });
}

/// Looks whether every issue is closed, and merged once, with nothing else.
fn check(sandbox: &Sandbox, shape: Shape) {
    let home = sandbox.home().canonicalize().unwrap();
    for root in shape.places(&home) {
        let git = |arguments: &[&str]| {
            let all: Vec<&str> = ["-C", root.to_str().unwrap()].iter().chain(arguments).copied().collect();
            sandbox.git(&all)
        };
        let log = git(&["log", "--format=%s", "main"]);
        let merged: Vec<&str> = log.lines().filter(|line| line.starts_with("feat: ")).collect();
        let once: BTreeSet<&str> = merged.iter().copied().collect();
        assert_eq!((merged.len() as u64, once.len() as u64), (shape.issues(), shape.issues()), "{log}");
        let mut workspace = Workspace::open(Place::at(&root).unwrap(), dirs(&home)).unwrap();
        for issue in 1..=shape.issues() {
            assert_eq!(git(&["show", &format!("main:file{issue}.txt")]), format!("word{issue}"));
            let number = ItemId::typed(&issue.to_string()).unwrap();
            assert!(!workspace.tracker().item(number).unwrap().unwrap().is_open(), "issue {issue}");
            let run = workspace.select(Some(&issue.to_string())).unwrap().unwrap().run;
            assert!(matches!(run.standing, Standing::Ended { .. }), "{:?}", run.standing);
        }
        assert_eq!(workspace.driven().unwrap().len(), 0, "no run is left open");
    }
}

/// Starts the test again in a sandbox; tells whether it succeeded, and what it printed.
fn inside(sandbox: &Sandbox, test: &str, what: &str) -> (bool, String) {
    let mut command = sandbox.command(env::current_exe().unwrap());
    command.env(INSIDE, what).args(["--exact", test, "--nocapture"]).stdin(Stdio::null());
    let output = command.output().unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success() && text.contains("1 passed"), text)
}

fn killed_and_begun_again(test: &str, shape: Shape) {
    match env::var(INSIDE).as_deref() {
        Ok("killed") => return drive_all(shape, true),
        Ok(_) => return drive_all(shape, false),
        Err(_) => {}
    }
    let sandbox = Sandbox::new("warp");
    prepare(&sandbox, shape);
    let (is_whole, text) = inside(&sandbox, test, "killed");
    assert!(!is_whole && !text.contains("panicked"), "it was to be killed: {text}");
    let (is_whole, text) = inside(&sandbox, test, "again");
    assert!(is_whole, "{text}");
    check(&sandbox, shape);
}

#[test]
fn fifty_runs_of_one_project_that_are_killed_come_to_the_same_end() {
    let test = "fifty_runs_of_one_project_that_are_killed_come_to_the_same_end";
    killed_and_begun_again(test, Shape { projects: 1 });
}

#[test]
fn fifty_runs_of_ten_projects_that_are_killed_come_to_the_same_end() {
    let test = "fifty_runs_of_ten_projects_that_are_killed_come_to_the_same_end";
    killed_and_begun_again(test, Shape { projects: 10 });
}

/// An agent whose provider lets nobody in before a time.
struct Limited {
    clock: Clock,
    resets_at: Time,
    player: Player,
}

impl Agent for Limited {
    fn name(&self) -> &'static str {
        "limited"
    }

    fn provider(&self) -> &'static str {
        "anthropic"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn run(&self, turn: &Turn<'_>, watch: &mut dyn FnMut(Said) -> Go) -> Ended {
        if self.clock.now() >= self.resets_at {
            return self.player.run(turn, watch);
        }
        let limit =
            ProviderFailure::Limit { resets_at: Some(self.resets_at), words: "come back later".to_owned() };
        Ended {
            answer: Err(limit.into()),
            session: None,
            usage: Usage::default(),
            cost_usd: None,
            last_words: String::new(),
        }
    }
}

/// Lets all runs wait for an hour, by a simulated clock.
fn wait_together(shape: Shape) {
    let home = PathBuf::from(env::var_os("HOME").unwrap()).canonicalize().unwrap();
    let clock = Clock::simulated();
    let dirs = dirs(&home).with_clock(clock.clone());
    let resets_at = after(clock.now(), Duration::from_secs(3600));
    // Time stands still until all of them wait.
    let busy = clock.enter();
    let root = shape.places(&home).remove(0);
    let mut here = Workspace::open(Place::at(&root).unwrap(), dirs.clone()).unwrap();
    let mut follower = here.follower().unwrap().unwrap();
    thread::scope(|scope| {
        for issue in 1..=RUNS {
            let (dirs, root, clock) = (&dirs, &root, clock.clone());
            let agent = Limited { clock, resets_at, player: player(issue) };
            scope.spawn(move || assert_eq!(drive(dirs, root, issue, Arc::new(agent)), Some(Finish::Done)));
        }
        let mut waiting = 0;
        while waiting < RUNS {
            let followed = here.follow(&mut follower, LONG).unwrap();
            assert!(!followed.is_empty(), "nothing has happened for {LONG:?}");
            let of = |event: &str| {
                followed.iter().filter(|followed| followed.record.event == *event).count() as u64
            };
            waiting += of("suspended");
            assert_eq!(of("wait_over"), 0);
        }
        println!("{}", footprint());
        drop(busy);
    });
    // Each run wakes when its wait is due, once; beside that, claims are renewed twice a minute, all at once.
    let wakeups = clock.wakeups();
    println!("{wakeups} timers were due in the hour");
    assert!((RUNS..=RUNS + 120).contains(&wakeups), "{wakeups} wake-ups");
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

#[test]
fn fifty_runs_that_wait_for_an_hour_wake_only_when_something_is_due() {
    let shape = Shape { projects: 1 };
    if env::var_os(INSIDE).is_some() {
        return wait_together(shape);
    }
    let sandbox = Sandbox::new("warp");
    prepare(&sandbox, shape);
    let test = "fifty_runs_that_wait_for_an_hour_wake_only_when_something_is_due";
    let (is_whole, text) = inside(&sandbox, test, "waiting");
    assert!(is_whole, "{text}");
    text.lines()
        .filter(|line| line.contains("waiting runs") || line.contains("timers"))
        .for_each(|line| println!("{line}"));
    check(&sandbox, shape);
}
