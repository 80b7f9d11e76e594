//! A provider's usage limit: every run of the pool waits for the reset, by a clock that goes ahead where it would wait.
//!
//! The runs read the home and git's settings from their environment, so the test starts itself again in its sandbox.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::{
    env,
    path::PathBuf,
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
    clock::Clock,
    process::Go,
};
use driver::{After, Driver, Finish, Interrupts, Options, Show, Shown};
use engine::{Record, Standing, Time, view::Asked};
use forge::{By, NewItem};
use project::{Dirs, Place, Workspace};
use testkit::Sandbox;

const TEST: &str = "every_run_of_a_pool_waits_for_the_reset_and_no_retry_is_charged";
/// Set where the runs are.
const INSIDE: &str = "WARP_TEST_INSIDE";
const ISSUES: [u64; 3] = [1, 2, 3];
/// Longer than anything here takes: reaching it is a failure.
const LONG: Duration = Duration::from_secs(120);

/// Answers with a limit until its reset.
struct Limited {
    clock: Clock,
    resets_at: Time,
    refused: Arc<AtomicUsize>,
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
        self.refused.fetch_add(1, Ordering::Relaxed);
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

fn place() -> Place {
    Place::at(&PathBuf::from(env::var_os("HOME").unwrap()).join("demo")).unwrap()
}

/// Takes an issue to its end; waits pass at once.
fn drive(dirs: Dirs, issue: u64, agent: Limited) -> Vec<Record> {
    let options =
        Options { issue: Some(issue.to_string()), level: Some(2), after: After::Once, ..Options::default() };
    let mut nobody = Nobody;
    let mut driver =
        Driver::start_with(Arc::new(agent), &place(), &dirs, options, Interrupts::default(), &mut nobody)
            .unwrap();
    assert_eq!(driver.drive().unwrap(), Finish::Done);
    driver.finish().unwrap();
    let mut workspace = Workspace::open(place(), dirs).unwrap();
    let current = workspace.select(Some(&issue.to_string())).unwrap().unwrap();
    assert!(matches!(current.run.standing, Standing::Ended { .. }), "{:?}", current.run.standing);
    workspace.records(&current).unwrap()
}

fn inside() {
    let clock = Clock::simulated();
    let dirs = Dirs::from_environment().unwrap().with_clock(clock.clone());
    let resets_at = clock.now().plus_minutes(90);
    let refused = Arc::new(AtomicUsize::new(0));
    let begin = |issue: u64| {
        let script = format!(
            "[[turn]]\nphase = \"coding\"\nsteps = [{{ write = \"file{issue}.txt\", text = \"word{issue}\\n\" }}]\n\
             answer = {{ summary = \"done\", evidence = [{{ ac = \"AC-01\", file = \"file{issue}.txt\", line = 1 }}] }}\n"
        );
        let player = Player::new(Script::parse(&script).unwrap(), Box::new(|_, _| Reply::default()));
        let agent = Limited { clock: clock.clone(), resets_at, refused: Arc::clone(&refused), player };
        let dirs = dirs.clone();
        thread::spawn(move || drive(dirs, issue, agent))
    };
    // The first of them meets the limit; the others begin when the pool waits already. Until then time stands still.
    let busy = clock.enter();
    let mut here = Workspace::open(place(), dirs.clone()).unwrap();
    let mut follower = here.follower().unwrap().unwrap();
    let mut runs = Vec::new();
    let mut suspended = 0;
    for issue in ISSUES {
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
    if env::var_os(INSIDE).is_some() {
        return inside();
    }
    let sandbox = Sandbox::new("warp");
    sandbox.git(&["switch", "--quiet", "main"]);
    sandbox.write("test.sh", "true\n");
    sandbox.write("warp.toml", "[workflow]\ntest_command = \"sh test.sh\"\n");
    sandbox.git(&["add", "--all"]);
    sandbox.git(&["commit", "--quiet", "-m", "chore: tests"]);
    let mut command = sandbox.command(env::current_exe().unwrap());
    command.env(INSIDE, "yes").args(["--exact", TEST, "--nocapture"]).stdin(Stdio::null());
    file_issues(&sandbox);
    let output = command.output().unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

fn file_issues(sandbox: &Sandbox) {
    let place = Place::at(&sandbox.root()).unwrap();
    let home = sandbox.home().canonicalize().unwrap();
    let dirs = Dirs::new(home.join("state/warp"), home.join("config/warp"));
    let workspace = Workspace::open(place, dirs).unwrap();
    let tracker = workspace.tracker_as(By::person("Ann"));
    for issue in ISSUES {
        let body = format!("- [ ] the word word{issue} is in file{issue}.txt\n");
        let item = NewItem::of(format!("Word {issue}"), body, Default::default());
        let filed = tracker.file(&item, None).unwrap();
        tracker.approve(filed.id).unwrap();
    }
}
