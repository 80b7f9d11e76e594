//! Checks that run at a forge's server are waited for by the run's clock: they are looked at after longer and longer times,
//! started again where they break, and what a failed step printed comes back to the agent.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use adapters::clock::Clock;
use driver::{After, Driver, Finish, Interrupts, Options};
use engine::Time;
use forge::{Author, Checks, ChecksState, Forge, ForgeError, Hosting, StepId, Tracker, fake::Fake};
use project::{Hosts, Place};

use crate::world::{Behind, Nobody, World, player, project, start_ok};

/// The agent writes one more word whenever it is asked to work.
const CODER: &str = "[[turn]]\nphase = \"in_progress\"\nsteps = [{ run = \"echo word1 >> file1.txt\" }]\n\
    answer = { event = \"pushed\", summary = \"a word\" }\n";
/// How many lines the failed step prints.
const PRINTED: usize = 200;

/// A server that says in turn what it is told to. After the last answer the run is interrupted.
#[derive(Debug)]
struct Server {
    clock: Clock,
    answers: Mutex<VecDeque<ChecksState>>,
    looks: Mutex<Vec<(Time, String)>>,
    restarts: Mutex<u32>,
    interrupts: Interrupts,
}

impl Checks for Server {
    fn state(&self, commit: &str) -> Result<ChecksState, ForgeError> {
        self.looks.lock().unwrap().push((self.clock.now(), commit.to_owned()));
        let mut answers = self.answers.lock().unwrap();
        let answer = answers.pop_front().expect("it is not asked again");
        if answers.is_empty() {
            self.interrupts.ask();
        }
        Ok(answer)
    }

    fn log(&self, step: &StepId) -> Result<String, ForgeError> {
        Ok((0..PRINTED).map(|line| format!("{} line {line}\n", step.name)).collect())
    }

    fn restart(&self, _: &str) -> Result<(), ForgeError> {
        *self.restarts.lock().unwrap() += 1;
        Ok(())
    }
}

/// A fake forge with that server.
#[derive(Clone, Debug)]
struct Hosted {
    fake: Fake,
    server: Arc<Server>,
}

impl Hosting for Hosted {
    fn tracker(&self, by: Author) -> Arc<dyn Tracker> {
        self.fake.tracker(by)
    }

    fn forge(&self, by: Author) -> Arc<dyn Forge> {
        self.fake.forge(by)
    }

    fn checks(&self) -> Option<Arc<dyn Checks + Send + Sync>> {
        Some(Arc::clone(&self.server) as _)
    }
}

impl Hosts for Hosted {
    fn of(&self, _: &Place) -> Option<Arc<dyn Hosting>> {
        Some(Arc::new(self.clone()))
    }

    fn about(&self, _: &Place) -> Option<String> {
        None
    }
}

fn step(name: &str) -> Vec<StepId> {
    vec![StepId { commit: String::new(), name: name.to_owned() }]
}

/// Drives an issue of the factory until the server has said all; returns its events, what its first failure was, and the
/// server.
fn drive(mut world: World, answers: Vec<ChecksState>) -> (Vec<String>, Option<String>, Arc<Server>) {
    let clock = Clock::simulated();
    let interrupts = Interrupts::default();
    let server = Arc::new(Server {
        clock: clock.clone(),
        answers: Mutex::new(answers.into()),
        looks: Mutex::default(),
        restarts: Mutex::default(),
        interrupts: interrupts.clone(),
    });
    let hosted = Hosted { fake: Fake::new(Author::warp()), server: Arc::clone(&server) };
    world.dirs = world.dirs.with_clock(clock);
    world.dirs.hosts = Some(Arc::new(hosted));
    let root = world.root();
    world.file_issues(&root, 1);
    let options = Options {
        issue: Some("1".to_owned()),
        level: Some(2),
        workflow: Some("factory".to_owned()),
        after: After::Once,
        set: vec![("checks".to_owned(), "server".to_owned())],
        ..Options::default()
    };
    let (place, agent) = (Place::at(&root).unwrap(), Arc::new(player(CODER)));
    let mut nobody = Nobody;
    let mut driver =
        Driver::start_with(agent, &place, &world.dirs, options, interrupts, &mut nobody).unwrap();
    assert_eq!(driver.drive().unwrap(), Finish::Interrupted);
    driver.finish().unwrap();
    let mut workspace = world.workspace(&root);
    let current = workspace.runs().unwrap().remove(0);
    let records = workspace.records(&current).unwrap();
    let failure = records.iter().find_map(|record| record.data.get("failure"));
    let failure = failure.map(|failure| failure.as_str().unwrap().to_owned());
    let events = records.iter().map(|record| record.event.to_string());
    let of_checks =
        |event: &String| event.starts_with("ci_") || event.starts_with("checks_") || event == "pushed";
    (events.filter(of_checks).collect(), failure, server)
}

#[test]
fn checks_at_a_server_are_waited_for_and_their_failure_comes_back() {
    let test = "checks::checks_at_a_server_are_waited_for_and_their_failure_comes_back";
    let Some(world) = World::inside() else {
        start_ok(&project(""), test, Behind::Memory, "");
        return;
    };
    let mut answers = vec![ChecksState::NotStarted];
    answers.extend(vec![ChecksState::Running; 5]);
    answers.extend([
        ChecksState::Infra(step("cache")),
        ChecksState::Running,
        ChecksState::Failed(step("build")),
    ]);
    answers.extend([ChecksState::None, ChecksState::Passed]);
    let (events, failure, server) = drive(world, answers);
    assert_eq!(
        events.join(" "),
        "pushed checks_awaited checks_awaited ci_failed pushed checks_awaited ci_passed"
    );
    assert_eq!(*server.restarts.lock().unwrap(), 1);

    let looks = server.looks.lock().unwrap();
    let gaps: Vec<i64> = looks.windows(2).map(|two| two[1].0.millis_since(two[0].0)).collect();
    assert_eq!(gaps[..6], [10_000, 10_000, 10_000, 15_000, 22_500, 33_750]);
    let commits: Vec<&str> = looks.iter().map(|(_, commit)| commit.as_str()).collect();
    assert!(commits[..9].iter().all(|commit| *commit == commits[0]), "{commits:?}");
    assert!(commits[9] != commits[0] && commits[9] == commits[10], "{commits:?}");

    let failure = failure.unwrap();
    assert!(failure.contains("failed: `build`") && failure.ends_with("build line 199"), "{failure}");
    assert_eq!(failure.lines().filter(|line| line.starts_with("build line ")).count(), 80);
}

#[test]
fn checks_that_break_again_or_are_not_there_are_no_success() {
    let test = "checks::checks_that_break_again_or_are_not_there_are_no_success";
    let cases = [
        ("infra", vec![ChecksState::Infra(step("runner")); 4], "in 3 tries: `runner`"),
        ("none", vec![ChecksState::None; 9], "the forge has no checks for "),
    ];
    let Some(world) = World::inside() else {
        for (task, ..) in cases {
            start_ok(&project(""), test, Behind::Memory, task);
        }
        return;
    };
    let case = cases.into_iter().find(|(task, ..)| *task == world.task).unwrap();
    let (events, failure, server) = drive(world, case.1);
    assert!(failure.as_ref().is_some_and(|failure| failure.contains(case.2)), "{failure:?}");
    assert!(events.contains(&"ci_infra_failed".to_owned()), "{events:?}");
    assert!(!events.contains(&"ci_passed".to_owned()), "{events:?}");
    assert!(*server.restarts.lock().unwrap() <= 3);
}
