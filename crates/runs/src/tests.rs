//! Runs in memory: no directory, no git.

use std::{sync::Arc, time::Duration};

use adapters::{clock::Clock, machine};
use engine::{
    Actor, Advice, Beginning, Branches, Event, EventName, Observations, Owner, Probe, Record, Run, RunId,
    Settings, Standing, Workflow, begin,
};
use journal::{MemoryStore, Store};
use serde_json::{Map, json};

use crate::{Answer, AskError, ClaimError, Current, Error, Given, HOLDS, Leases, Runs, Shown, Views, unseen};

struct Scene {
    store: Arc<dyn Store>,
    clock: Clock,
    runs: Runs,
}

impl Scene {
    fn new() -> Self {
        let (store, clock) = (Arc::new(MemoryStore::new()) as Arc<dyn Store>, Clock::simulated());
        let runs = handle(&store, &clock);
        Self { store, clock, runs }
    }

    /// Begins a run that `change` tells from one without a workspace.
    fn begin(&self, id: &str, change: impl FnOnce(&mut Beginning)) -> Option<Current> {
        let workflow = Workflow::built_in("warp-drive").unwrap();
        let mut beginning = Beginning {
            id: RunId::new(id),
            parent: None,
            settings: Settings::default(),
            root: String::new(),
            owns_workspace: false,
            level: 2,
            owner: machine::owner(std::process::id()),
            github_user: String::new(),
            issue: Some("42".to_owned()),
            feature: None,
            branches: Branches::default(),
            found_test_command: None,
            found_setup_command: None,
            dirty: Default::default(),
            at: self.clock.now(),
        };
        change(&mut beginning);
        let step = begin(&workflow, beginning);
        Some(self.runs.begin(workflow, step, |_| Shown::default()).unwrap()?.current)
    }

    fn ask(&self, run: &Run, event: &str, data: serde_json::Value) -> Result<Answer, AskError<Error>> {
        let (event, data) = (Event::Named(EventName::new(event)), data.as_object().cloned().unwrap());
        self.runs.ask(&mut Nowhere, &run.id, Actor::Person, event, data)
    }

    /// Takes a run to where its agent has asked, and returns the decision's id.
    fn question(&self, run: &Run) -> String {
        for event in ["prerequisites_ok", "work_selected", "plan_ready"] {
            self.ask(run, event, json!({})).unwrap();
        }
        self.ask(run, "chunks_defined", json!({ "acs": [["AC-01"]] })).unwrap();
        let question = Event::QuestionAsked {
            kind: "ambiguity".to_owned(),
            question: "Which greeting?".to_owned(),
            options: vec!["hello".to_owned(), "good day".to_owned()],
        };
        self.runs.ask_for(&mut Nowhere, &run.id, Some("call 1"), question).unwrap()
    }
}

fn handle(store: &Arc<dyn Store>, clock: &Clock) -> Runs {
    let runs = Runs::new(clock.clone(), Leases::new(clock.clone()));
    runs.use_store(Arc::clone(store));
    runs
}

/// The views of a run that is shown nowhere.
struct Nowhere;

impl Views for Nowhere {
    type Error = Error;
    type Lock = ();

    fn lock(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn look(&mut self, _: &Current, probes: &[Probe]) -> Result<(Observations, Vec<Advice>), Error> {
        Ok((unseen(probes, "the run has no workspace"), Vec::new()))
    }

    fn after_record(&mut self, _: &Current, _: &[Record]) -> Result<Vec<Advice>, Error> {
        Ok(Vec::new())
    }
}

/// A process of another machine.
fn elsewhere() -> Owner {
    Owner { host: Some("elsewhere".to_owned()), ..machine::owner(7) }
}

#[test]
fn a_run_without_a_workspace_is_begun_asked_followed_and_decided_about() {
    let scene = Scene::new();
    let parent = scene.begin("parent", |_| {}).unwrap().run;
    let mut follower = scene.runs.follower().unwrap().unwrap();
    let child = scene.begin("child", |child| child.parent = Some(parent.id.clone())).unwrap().run;
    assert_eq!((child.parent.as_ref(), child.workspace()), (Some(&parent.id), None));
    let decision = scene.question(&child);

    let other = handle(&scene.store, &scene.clock);
    let seen = other.by_id("child").unwrap().unwrap();
    assert_eq!((seen.run.parent.as_ref(), seen.workflow.name.as_str()), (Some(&parent.id), "warp-drive"));
    assert!(matches!(&seen.run.standing, Standing::Parked { decision: open } if open.id == decision));
    assert!(other.in_workspaces().unwrap().is_empty() && other.all().unwrap().len() == 2);
    assert_eq!(other.named("#42").unwrap().unwrap().run.id, child.id, "the newest open one");

    let given = |option: &str| Given {
        decision: decision.clone(),
        option: option.to_owned(),
        by: "Ann".to_owned(),
        via: "test".to_owned(),
        note: None,
    };
    let decide = |option: &str| {
        let (event, data) = given(option).event();
        other.ask(&mut Nowhere, &child.id, Actor::Person, event, data)
    };
    assert!(matches!(decide("hi"), Err(AskError::Refused(_))));
    let answer = decide("hello").unwrap();
    assert_eq!(answer.current.run.standing, Standing::Active);
    assert!(matches!(decide("good day"), Err(AskError::Refused(_))));
    let decided = scene.runs.decided(&answer.current, &decision).unwrap().unwrap();
    assert_eq!((decided.option.as_str(), decided.by.as_deref()), ("hello", Some("Ann")));

    let mut followed = Vec::new();
    loop {
        let batch = scene.runs.follow(&mut follower, Duration::ZERO).unwrap();
        if batch.is_empty() {
            break;
        }
        followed.extend(batch);
    }
    assert!(followed.iter().all(|followed| followed.current.run.id == child.id));
    let now = scene.runs.by_id("child").unwrap().unwrap();
    assert_eq!(followed.len() as u64, now.events());
    let newest = scene.runs.newest_records(&now, 2).unwrap();
    assert_eq!(*newest[1], followed.last().unwrap().record);
    assert_eq!(scene.runs.records(&now).unwrap().len() as u64, now.events());
}

#[test]
fn a_run_that_is_over_takes_no_event() {
    let scene = Scene::new();
    let run = scene.begin("one", |_| {}).unwrap().run;
    scene.runs.ask(&mut Nowhere, &run.id, Actor::Person, Event::ResetRequested, Map::new()).unwrap();
    assert!(matches!(scene.ask(&run, "prerequisites_ok", json!({})), Err(AskError::NoRun)));
}

#[test]
fn one_run_at_a_time_is_open_in_a_workspace() {
    let scene = Scene::new();
    let here = |beginning: &mut Beginning| beginning.root = "/here".to_owned();
    let run = scene.begin("one", here).unwrap().run;
    assert!(scene.begin("two", here).is_none());
    assert_eq!(scene.runs.in_workspace("/here").unwrap().unwrap().run.id, run.id);
    // Nobody shows it: what is there by now is what was shown before.
    let told = Event::Told { text: "hello".to_owned() };
    let answer = scene.runs.ask(&mut Nowhere, &run.id, Actor::Person, told, Map::new()).unwrap();
    assert_eq!(answer.current.shown, Shown::default());
    scene.runs.ask(&mut Nowhere, &run.id, Actor::Person, Event::ResetRequested, Map::new()).unwrap();
    assert!(scene.begin("three", here).is_some());
}

#[test]
fn a_run_without_a_workspace_is_claimed_by_one() {
    let scene = Scene::new();
    let run = scene.begin("one", |_| {}).unwrap().run;
    assert!(scene.runs.is_left(&run).unwrap());
    let claim = scene.runs.claim_run(&run).unwrap();
    scene.runs.act_under(Some(&claim));
    let other = handle(&scene.store, &scene.clock);
    assert!(!other.is_left(&run).unwrap());
    assert!(matches!(other.claim_run(&run), Err(ClaimError::Held { .. })));
    assert_eq!(scene.runs.lost(&claim).unwrap(), None);
    scene.ask(&run, "prerequisites_ok", json!({})).unwrap();

    scene.runs.act_under(None);
    scene.runs.release(claim).unwrap();
    assert!(scene.runs.is_left(&run).unwrap());
    other.claim_run(&run).unwrap();
}

#[test]
fn who_has_lost_a_claim_records_nothing() {
    let scene = Scene::new();
    let run = scene.begin("one", |_| {}).unwrap().run;
    let claim = scene.runs.claim_issue("42").unwrap();
    scene.runs.act_under(Some(&claim));
    let lease = scene.store.lease("issue:42").unwrap().unwrap();
    scene.store.release("issue:42", lease.generation).unwrap();
    let taken = handle(&scene.store, &scene.clock).claim_issue("42").unwrap();
    assert_eq!(scene.runs.lost(&claim).unwrap(), Some("issue 42"));
    assert!(matches!(scene.ask(&run, "prerequisites_ok", json!({})), Err(AskError::Failed(Error::Store(_)))));
    assert!(matches!(scene.runs.flush(), Err(Error::Store(_))));
    drop(taken);
}

#[test]
fn the_claim_of_another_machine_is_not_taken_and_its_run_not_resumed() {
    let scene = Scene::new();
    let run = scene.begin("one", |beginning| {
        beginning.root = "/there".to_owned();
        beginning.owns_workspace = true;
        beginning.owner = elsewhere();
    });
    let run = run.unwrap().run;
    let holder =
        json!({ "claim": "theirs", "host": "elsewhere", "pid": 7, "boot_id": "b", "start_ticks": 1 });
    let now = scene.clock.now().millis();
    let until = now + i64::try_from(HOLDS.as_millis()).unwrap();
    scene.store.acquire("issue:42", &holder.to_string(), now, until).unwrap();
    let Err(ClaimError::Held { by, .. }) = scene.runs.claim_issue("42") else { panic!("it is theirs") };
    assert_eq!(by, "process 7 on elsewhere");
    assert_eq!(scene.runs.claimant("42").unwrap().unwrap().pid, 7);
    assert!(!scene.runs.is_left(&run).unwrap() && scene.runs.left().unwrap().is_empty());

    // Nobody has renewed it.
    let _busy = scene.clock.enter();
    scene.clock.pause(HOLDS);
    assert!(scene.runs.is_left(&run).unwrap() && scene.runs.left().unwrap().len() == 1);
    scene.runs.claim_issue("42").unwrap();
}
