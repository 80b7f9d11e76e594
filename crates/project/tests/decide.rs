//! A question whose time is up: put off once, and never over an answer.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use adapters::boundary;
use engine::{Actor, Event, EventName, Standing};
use forge::{ItemId, ItemState};
use project::{Dirs, Given, Overdue, Place, Request, Workspace, spend::More};
use serde_json::{Map, json};
use testkit::Sandbox;

fn open(sandbox: &Sandbox) -> Workspace {
    let dirs = Dirs::new(sandbox.home().join("state"), sandbox.home().join("config"));
    Workspace::open(Place::at(&sandbox.root()).unwrap(), dirs).unwrap()
}

/// A run whose agent has asked, and whose time for an answer is over at once; returns the decision's id.
fn asking(workspace: &mut Workspace, on_timeout: &str) -> String {
    let request = Request {
        workflow: Some("warp-drive".to_owned()),
        issue: Some("42".to_owned()),
        level: Some(2),
        set: [("decision_timeout_minutes", "0"), ("on_timeout", on_timeout)]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .to_vec(),
        ..Request::default()
    };
    workspace.begin(request).unwrap();
    for event in ["prerequisites_ok", "work_selected", "plan_ready"] {
        workspace.ask(Event::Named(EventName::new(event)), Map::new()).unwrap();
    }
    let chunks = json!({ "acs": [["AC-01"], ["AC-02"]] });
    let data = chunks.as_object().unwrap().clone();
    workspace.ask(Event::Named(EventName::new("chunks_defined")), data).unwrap();
    let default = Map::from_iter([("default".to_owned(), json!("good day"))]);
    let event = Event::QuestionAsked {
        kind: "ambiguity".to_owned(),
        question: "Which greeting?".to_owned(),
        options: vec!["hello".to_owned(), "good day".to_owned()],
    };
    let answer = workspace.ask_as(Actor::Agent, event, default).unwrap();
    let Standing::Parked { decision } = &answer.current.run.standing else { panic!("it is not parked") };
    decision.id.clone()
}

#[test]
fn an_answer_that_comes_while_a_question_is_put_off_counts_and_its_issue_is_closed() {
    let sandbox = Sandbox::new("warp");
    let (mut workspace, mut other) = (open(&sandbox), None);
    let id = asking(&mut workspace, "skip");
    let given = Given {
        decision: id.clone(),
        option: "hello".to_owned(),
        by: "Ann".to_owned(),
        via: "test".to_owned(),
        ..Given::default()
    };
    let mut answering = open(&sandbox);
    boundary::watch(move |point| {
        if point == "before chunk_deferred" || other.is_some() {
            return;
        }
        // The first thing that is written is the issue.
        other = Some(answering.decide(&given, More::default()).unwrap());
    });
    let overdue = workspace.put_off().unwrap();
    boundary::unwatch();
    let Some(Overdue::Decided(decided)) = overdue else { panic!("{overdue:?}") };
    assert_eq!((decided.option.as_str(), decided.by.as_deref()), ("hello", Some("Ann")));
    let current = workspace.current().unwrap().unwrap();
    assert_eq!((current.run.chunk.index, current.run.deferred.len()), (1, 0));
    let todo = workspace.tracker().item(ItemId::from(1)).unwrap().unwrap();
    assert_eq!(todo.state, ItemState::Closed);
}

#[test]
fn a_question_is_put_off_once_wherever_the_process_dies() {
    for at in 0..50 {
        let sandbox = Sandbox::new("warp");
        let mut workspace = open(&sandbox);
        asking(&mut workspace, "skip");
        let mut passed = 0;
        boundary::watch(move |_| {
            passed += 1;
            if passed > at {
                std::panic::resume_unwind(Box::new("died"));
            }
        });
        let lived = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| workspace.put_off()));
        boundary::unwatch();
        let mut workspace = open(&sandbox);
        workspace.put_off().unwrap();
        let current = workspace.current().unwrap().unwrap();
        let why: Vec<&str> = current.run.deferred.iter().map(|chunk| chunk.why.as_str()).collect();
        assert_eq!(why, ["nobody decided in time; see #1"]);
        assert!(workspace.tracker().item(ItemId::from(2)).unwrap().is_none());
        assert_eq!(workspace.tracker().item(ItemId::from(1)).unwrap().unwrap().state, ItemState::Open);
        if lived.is_ok() {
            assert!(at > 3, "{at}");
            return;
        }
    }
    panic!("it has more points than that");
}

#[test]
fn the_askers_default_is_taken_where_a_setting_says_so_and_a_person_is_told() {
    let sandbox = Sandbox::new("warp");
    let mut workspace = open(&sandbox);
    let id = asking(&mut workspace, "default");
    let Some(Overdue::PutOff { why, answer }) = workspace.put_off().unwrap() else {
        panic!("it is not settled")
    };
    assert!(
        why.starts_with("nobody decided in time, so the agent's default `good day` was taken; see #"),
        "{why}"
    );
    let run = &answer.current.run;
    assert_eq!((&run.standing, run.phase.as_str()), (&Standing::Active, "coding"));
    let asked = run.facts.questions.last().unwrap();
    assert_eq!((asked.word("decision"), asked.option()), (id.as_str(), Some("good day")));
    let todo =
        workspace.tracker().item(ItemId::typed(why.rsplit('#').next().unwrap()).unwrap()).unwrap().unwrap();
    assert!(todo.body.contains("the agent's default `good day` was taken"), "{}", todo.body);
}
