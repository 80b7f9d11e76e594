//! Each built-in workflow, copied under another name with all its phases and events renamed, behaves the same.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[path = "support/renamed.rs"]
mod renamed;
mod support;

use engine::{
    Actor, Ask, Event, EventName, Run, Settings, Standing, Time, Usage, WaitKind, Worker, Workflow, begin,
    needs, step,
    view::{Owned, asked, explain, status},
    workflow::{BUILT_IN, Tool},
};
use renamed::{MARK, renamed};
use serde_json::{Map, Value, json};
use support::{START, beginning, clear, find_all};

/// Numbers that look like dice, and are the same in every run of the test.
struct Dice(u64);

impl Dice {
    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        &of[usize::try_from(self.0 >> 33).unwrap() % of.len()]
    }
}

const WALKS: u64 = 16;
const STEPS: usize = 60;

/// Returns what is known of a run, in the names of the original.
fn known(run: &Run) -> String {
    let mut run = serde_json::to_value(run).unwrap();
    run["workflow_digest"] = Value::Null;
    run.to_string().replace(MARK, "")
}

/// The events that are offered: those of the workflow, and of the engine's own what moves or counts.
fn offers(workflow: &Workflow, run: &Run) -> Vec<Event> {
    let rows = workflow.rows(&run.phase).iter().map(|row| row.event.clone());
    let ticks = workflow.ticks.iter().map(|tick| tick.event.clone());
    let asking = workflow.questions.iter().map(|question| question.event.clone());
    let named = rows.chain(ticks).chain(asking).chain(workflow.close_event.clone()).map(Event::Named);
    let worker = Worker { agent: "claude".to_owned(), ..Worker::default() };
    let mut events: Vec<Event> = named.collect();
    events.extend([
        Event::DeadlinePassed,
        Event::StopRequested,
        Event::Resumed,
        Event::TurnStarted { worker },
        Event::TurnEnded {
            how: engine::ANSWERED.to_owned(),
            session: None,
            brief: Vec::new(),
            usage: Usage::default(),
            context: 0,
            is_idle: false,
        },
        Event::Suspended { kind: WaitKind::Limit, why: "full".to_owned(), until: None },
        Event::WaitOver,
        Event::QuestionAsked {
            kind: "scope".to_owned(),
            question: "Which?".to_owned(),
            options: vec!["a".to_owned()],
        },
        Event::ChunkDeferred { why: "late".to_owned() },
    ]);
    if let Some(asked) = asked(workflow, run) {
        for option in asked.options {
            events.push(Event::DecisionAnswered { decision: asked.id.clone(), option });
        }
    }
    events
}

fn marked(event: &Event) -> Event {
    if let Event::Named(name) = event {
        return Event::Named(EventName::new(format!("{MARK}{name}")));
    }
    event.clone()
}

fn data() -> Map<String, Value> {
    let data = json!({
        "requirement": "42", "failure": "red", "summary": "done", "acs": [["AC-01"], ["AC-02"]], "approach": "one",
    });
    data.as_object().unwrap().clone()
}

/// Makes an ask that clears the gates of both workflows: what is looked up is the same.
fn ask(workflow: &Workflow, run: &Run, event: &Event, original: &str, actor: Actor, at: Time) -> Ask {
    let mut ask = clear(original, at);
    (ask.event, ask.actor) = (event.clone(), actor);
    ask.data.extend(data());
    find_all(workflow, run, &mut ask);
    ask
}

#[test]
fn a_renamed_workflow_goes_the_same_ways() {
    for built_in in BUILT_IN {
        let ours = Workflow::built_in(built_in.name).unwrap();
        let theirs = Workflow::parse(&renamed(built_in.text)).unwrap_or_else(|error| panic!("{error}"));
        for seed in 1..=WALKS {
            let mut dice = Dice(seed);
            let mut settings = Settings::default();
            settings.set("phase_timeout_enforcement", json!(dice.pick(&["block", "abort"]))).unwrap();
            settings.set("max_coding_cycles", json!(2)).unwrap();
            let mut run = begin(&ours, beginning(settings.clone())).run;
            let mut other = begin(&theirs, beginning(settings)).run;
            let mut at = Time::from_millis(START);
            for _ in 0..STEPS {
                assert_eq!(known(&run), known(&other), "{} {seed}", built_in.name);
                look_alike((&ours, &run), (&theirs, &other), at);
                if !matches!(
                    run.standing,
                    Standing::Active
                        | Standing::Parked { .. }
                        | Standing::Suspended { .. }
                        | Standing::Stopped
                ) {
                    break;
                }
                let events = offers(&ours, &run);
                let event = dice.pick(&events);
                let actor = *dice.pick(&[Actor::Person, Actor::Engine, Actor::Agent]);
                at = at.plus_minutes(*dice.pick(&[0, 1, 45]));
                let name = event.name();
                let mine = step(&ours, &run, &ask(&ours, &run, event, name.as_str(), actor, at));
                let event = marked(event);
                let its = step(&theirs, &other, &ask(&theirs, &other, &event, name.as_str(), actor, at));
                match (mine, its) {
                    (Ok(mine), Ok(its)) => (run, other) = (mine.run, its.run),
                    (Err(mine), Err(its)) => {
                        assert_eq!(mine.to_string(), its.to_string().replace(MARK, ""), "{}", built_in.name);
                    }
                    (mine, its) => panic!("{} {seed}: {mine:?} but {its:?}", built_in.name),
                }
            }
        }
    }
}

/// Sees that both runs are told alike, and ask their agents for the same.
fn look_alike(ours: (&Workflow, &Run), theirs: (&Workflow, &Run), now: Time) {
    let told = |(workflow, run): (&Workflow, &Run)| {
        let status = status(workflow, run, "project", Owned::Live, "rails");
        let status = engine::view::render_status(&status, Time::to_seconds);
        let events = workflow.events_of_agent(run);
        let tools = [Tool::SubmitPlan, Tool::AskQuestion, Tool::MarkStoryComplete, Tool::Done];
        let tools = tools.map(|tool| workflow.event_of_tool(run, tool));
        let phase = workflow.phase(&run.phase).unwrap();
        let explained = explain(workflow, run, now).render(Time::to_seconds);
        let probes: Vec<String> = offers(workflow, run)
            .iter()
            .map(|event| format!("{:?}", needs(workflow, run, Actor::Agent, event, &data())))
            .collect();
        let words = ["awaiting_ci", "awaiting_review", "needs_human", "failed", "done"];
        let words = words.map(|word| workflow.means(run, word));
        let ends =
            (workflow.failing_event(run), workflow.merged_event(run), &workflow.crash_event, phase.fails);
        format!(
            "{status}{explained}{events:?}{tools:?}{:?}{:?}{:?}{probes:?}{words:?}{ends:?}",
            phase.answer,
            run.act(),
            phase.unattended
        )
        .replace(MARK, "")
    };
    // The default workflow is not named.
    let without_name = |text: String| {
        text.lines().filter(|line| !line.starts_with("Workflow: ")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(without_name(told(ours)), without_name(told(theirs)));
}
