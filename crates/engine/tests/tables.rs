//! Every (phase, event) pair of the four workflows, allowed or refused, against tables written by hand.

mod oracle;
mod support;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use engine::{
    EventName, Outcome, Refused, Run, Settings, Standing, Step, Time, Workflow, step, workflow::Tool,
};
use oracle::{ALL_EVENTS, AUTONOMOUS_LOOP, CODER, FACTORY, Oracle, WARP_DRIVE};
use serde_json::json;
use support::{START, begun, clear, settings, workflow};

#[test]
fn warp_drive_moves_as_its_46_rows_say_and_refuses_every_other_pair() {
    assert_eq!(WARP_DRIVE.rows.len(), 46);
    let mut runs = runs_in_every_phase(&WARP_DRIVE, Settings::default());
    // No row leads to `budget_exceeded`: a budget does.
    let strict = begun(workflow("warp-drive"), settings([("max_coding_cycles", json!(0))]));
    let run = ["prerequisites_ok", "work_selected", "plan_ready", "chunks_defined"]
        .into_iter()
        .chain(["code_complete", "docs_updated", "tests_failed"])
        .fold(strict, |run, event| take(workflow("warp-drive"), &run, event).expect(event).run);
    runs.insert(("budget_exceeded".to_owned(), None), run);
    assert_every_pair(&WARP_DRIVE, &runs);
}

#[test]
fn coder_moves_as_its_35_pairs_say_and_refuses_every_other_pair() {
    let pairs: BTreeSet<_> = CODER.rows.iter().map(|(from, _, to)| (from, to)).collect();
    assert_eq!(pairs.len(), 35);
    let runs = runs_in_every_phase(&CODER, Settings::default());
    for phase in ["QUESTION", "BUDGET_REVIEW"] {
        let origins: Vec<_> = runs.keys().filter(|node| node.0 == phase).map(|node| node.1).collect();
        assert_eq!(origins, [Some("CODING"), Some("FIXING"), Some("PLANNING")], "{phase}");
    }
    assert_every_pair(&CODER, &runs);
}

#[test]
fn autonomous_loop_moves_as_its_13_rows_say_and_refuses_every_other_pair() {
    assert_eq!(AUTONOMOUS_LOOP.rows.len(), 13);
    let runs = runs_in_every_phase(&AUTONOMOUS_LOOP, Settings::default());
    assert_every_pair(&AUTONOMOUS_LOOP, &runs);
}

#[test]
fn factory_moves_as_its_27_rows_say_and_refuses_every_other_pair() {
    assert_eq!(FACTORY.rows.len(), 27);
    let runs = runs_in_every_phase(&FACTORY, Settings::default());
    assert_every_pair(&FACTORY, &runs);
}

#[test]
fn shown_lists_exactly_the_tables() {
    for oracle in oracle::ALL {
        let shown = workflow(oracle.name).shown();
        let listed: Vec<(&str, &str, &str)> = shown
            .transitions
            .iter()
            .map(|row| (row.from.as_str(), row.event.as_str(), row.to.as_str()))
            .collect();
        let (mut found, mut wanted) = (listed, oracle.rows.to_vec());
        found.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(found, wanted, "{}", oracle.name);
        let phases: BTreeSet<&str> = shown.phases.iter().map(|phase| phase.as_str()).collect();
        let known = oracle.phases().into_iter().collect();
        assert_eq!((phases, shown.phases.len()), (known, oracle.phases().len()), "{}", oracle.name);
        assert_eq!(shown.initial.as_str(), oracle.initial);
        let finals: Vec<&str> = shown.finals.iter().map(|phase| phase.as_str()).collect();
        assert_eq!(finals, oracle.finals, "{}", oracle.name);
    }
}

/// Where a run stands: its phase, and where it came from in a phase that returns there.
type Node = (String, Option<&'static str>);

fn take(workflow: &Workflow, run: &Run, event: &str) -> Result<Step, Refused> {
    step(workflow, run, &clear(event, Time::from_millis(START)))
}

/// Walks the rows of the table, breadth first, and keeps one run for every node.
fn runs_in_every_phase(oracle: &'static Oracle, settings: Settings) -> BTreeMap<Node, Run> {
    let workflow = workflow(oracle.name);
    let first = (oracle.initial.to_owned(), None);
    let mut runs = BTreeMap::from([(first.clone(), begun(workflow, settings))]);
    let mut queue = VecDeque::from([first]);
    while let Some(node) = queue.pop_front() {
        for event in oracle.events(&node.0) {
            let to = oracle.target(&node.0, event, node.1).expect("a row of the table");
            let from = oracle.rows.iter().map(|row| row.0).find(|from| *from == node.0);
            let next = (to.to_owned(), from.filter(|_| oracle.returns(to)));
            if !runs.contains_key(&next) {
                let taken = take(workflow, &runs[&node], event);
                let run = taken.unwrap_or_else(|refused| panic!("{node:?} {event}: {refused}")).run;
                runs.insert(next.clone(), run);
                queue.push_back(next);
            }
        }
    }
    runs
}

fn assert_every_pair(oracle: &Oracle, runs: &BTreeMap<Node, Run>) {
    let phases: BTreeSet<&str> = runs.keys().map(|node| node.0.as_str()).collect();
    assert_eq!(phases, oracle.phases(), "a run stands in every phase");
    for ((phase, origin), run) in runs {
        assert_eq!(run.phase, phase.as_str());
        assert_eq!(run.origin.as_ref().map(|origin| origin.as_str()), *origin, "{phase}");
        for event in ALL_EVENTS.iter().copied() {
            let answer = take(workflow(oracle.name), run, event);
            assert_answer(oracle, run, event, answer);
        }
    }
}

/// Compares one answer with the table.
fn assert_answer(oracle: &Oracle, run: &Run, event: &str, answer: Result<Step, Refused>) {
    let phase = run.phase.as_str();
    let pair = format!("{} ({phase}, {event})", oracle.name);
    let origin = run.origin.as_ref().map(|origin| origin.as_str());
    if let Some(to) = oracle.target(phase, event, origin) {
        let step = answer.unwrap_or_else(|refused| panic!("{pair}: {refused}"));
        assert_eq!((step.run.phase.as_str(), &step.outcome), (to, &Outcome::Moved), "{pair}");
        let [record] = step.records.as_slice() else { panic!("{pair}: {:?}", step.records) };
        assert_eq!(record.event, event, "{pair}");
        assert_eq!(record.from.as_ref(), Some(&run.phase), "{pair}");
        assert_eq!(record.phase, to, "{pair}");
        let ends = oracle.finals.contains(&to) && oracle.close.is_none();
        assert_eq!(!step.run.is_open(), ends, "{pair}");
        assert_eq!(step.effects.len(), usize::from(!ends), "{pair}");
    } else if oracle.finals.contains(&phase) && oracle.close.is_none() {
        let over = Refused::Ended { event: EventName::new(event), how: phase.to_owned() };
        assert_eq!(answer.err(), Some(over), "{pair}");
    } else if oracle.close == Some(event) && oracle.finals.contains(&phase) {
        let step = answer.unwrap_or_else(|refused| panic!("{pair}: {refused}"));
        assert_eq!(step.run.standing, Standing::Ended { how: event.to_owned() }, "{pair}");
        assert_eq!((step.run.phase.as_str(), step.run.effect), (phase, None), "{pair}");
    } else if let Some(to) = oracle.tick(phase, event) {
        let step = answer.unwrap_or_else(|refused| panic!("{pair}: {refused}"));
        let outcome = if to == phase { Outcome::Noted } else { Outcome::Moved };
        assert_eq!((step.run.phase.as_str(), step.outcome), (to, outcome), "{pair}");
    } else if oracle.ask(phase, event).is_some() {
        let step = answer.unwrap_or_else(|refused| panic!("{pair}: {refused}"));
        let Standing::Parked { decision } = &step.run.standing else {
            panic!("{pair}: {:?}", step.run.standing)
        };
        assert_eq!(
            (step.run.phase.as_str(), decision.options.join(" ").as_str()),
            (phase, "approve reject stop")
        );
    } else {
        let Err(Refused::NotPossible { phase: named, event: asked, mut possible }) = answer else {
            panic!("{pair}: {answer:?}")
        };
        let mut wanted = oracle.events(phase);
        wanted.extend(oracle.asks.iter().filter(|ask| ask.0 == phase).map(|ask| ask.1));
        wanted.extend(oracle.close.filter(|_| oracle.finals.contains(&phase)));
        wanted.sort_unstable();
        possible.sort_unstable();
        assert_eq!((named.as_str(), asked.as_str()), (phase, event), "{pair}");
        assert_eq!(possible.iter().map(EventName::as_str).collect::<Vec<_>>(), wanted, "{pair}");
    }
}

#[test]
fn tools_stand_for_the_events_that_the_workflows_say() {
    let tools = [Tool::SubmitPlan, Tool::AskQuestion, Tool::MarkStoryComplete, Tool::Done];
    let mut text = String::new();
    for oracle in oracle::ALL {
        let workflow = workflow(oracle.name);
        for ((phase, origin), run) in runs_in_every_phase(oracle, Settings::default()) {
            let events =
                tools.iter().filter_map(|tool| Some((tool.name(), workflow.event_of_tool(&run, *tool)?)));
            let events: Vec<String> = events.map(|(tool, event)| format!("{tool} = {event}")).collect();
            if !events.is_empty() && origin.is_none() {
                text.push_str(&format!("{} {phase}: {}\n", oracle.name, events.join(", ")));
            }
        }
    }
    insta::assert_snapshot!(text, @"
    warp-drive coding: done = code_complete
    warp-drive planning: submit_plan = plan_ready
    coder CODING: ask_question = clarification, done = code_complete
    coder FIXING: ask_question = clarification, done = fix_done
    coder PLANNING: submit_plan = submit_plan, ask_question = clarification, mark_story_complete = mark_story_complete
    autonomous-loop brainstorm: done = brainstorm_written
    autonomous-loop compound: done = solution_noted
    autonomous-loop deepen: done = plan_deepened
    autonomous-loop fix: done = fixes_made
    autonomous-loop plan: submit_plan = plan_written
    autonomous-loop ship: done = shipped
    autonomous-loop spec_test: done = tests_written
    autonomous-loop work: done = work_finished
    factory in_progress: ask_question = needs_human, mark_story_complete = already_done, done = pushed
    ");
}
