//! Every run ends, unless a person keeps it going: the workflow proof, put to the test with the engine.

mod oracle;
mod support;

use std::collections::{BTreeMap, BTreeSet};

use engine::{Ask, Event, Run, Seen, Settings, Standing, Time, Workflow, keys, step};
use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{FileFailurePersistence, RngAlgorithm},
};
use serde_json::json;
use support::{Dice, begun, clear, settings, workflow};

fn config(cases: u32) -> ProptestConfig {
    let kept = FileFailurePersistence::Direct("tests/ends.proptest-regressions");
    ProptestConfig {
        failure_persistence: Some(Box::new(kept)),
        rng_algorithm: RngAlgorithm::XorShift,
        ..ProptestConfig::with_cases(cases)
    }
}

/// The events that can happen without a person where the run stands.
fn possible(workflow: &Workflow, run: &Run) -> Vec<String> {
    if run.standing != Standing::Active {
        return Vec::new();
    }
    let rows = workflow.rows(&run.phase).iter().filter(|row| !row.by_person);
    let mut events: Vec<String> = rows.map(|row| row.event.to_string()).collect();
    let ticks = workflow.ticks.iter().map(|tick| tick.event.as_str());
    let ticks: BTreeSet<&str> = ticks.filter(|event| workflow.ticks(&run.phase, event).is_some()).collect();
    events.extend(ticks.into_iter().map(str::to_owned));
    if workflow.is_final(&run.phase) {
        events.extend(workflow.close_event.iter().map(ToString::to_string));
    }
    events
}

/// What happens when the deadline of the phase passes, as if it were an event.
const DEADLINE: &str = "deadline_passed";

/// Takes an event without letting time pass, unless that is the event.
fn take(workflow: &Workflow, run: &Run, event: &str) -> Run {
    let ask = if event == DEADLINE {
        let due = run.deadline(workflow).expect("the phase has a deadline");
        Ask::new(Event::DeadlinePassed, Time::from_millis(due.millis() + 1))
    } else {
        let mut ask = clear(event, run.updated_at);
        ask.data.insert("failure".to_owned(), json!("FAIL login"));
        ask.observations.tree = Some(Seen::Value("t1".to_owned()));
        ask
    };
    step(workflow, run, &ask).unwrap_or_else(|refused| panic!("{refused}")).run
}

/// Where a run can go from depends on this alone.
type State = (String, bool, Option<String>, BTreeMap<String, u64>, u64, Vec<String>);

fn state(run: &Run) -> State {
    let counters = run.counters.iter().filter(|(_, value)| **value > 0);
    let failures = run.last_failure.as_ref().map(|failure| failure.times).unwrap_or(0);
    (
        run.phase.to_string(),
        run.standing == Standing::Active,
        run.origin.as_ref().map(ToString::to_string),
        counters.map(|(name, value)| (name.clone(), *value)).collect(),
        failures,
        run.trip.as_ref().map(|trip| trip.reasons.clone()).unwrap_or_default(),
    )
}

/// Takes every walk from `run` and returns the length of the longest; an error is a walk without an end.
struct Search<'a> {
    workflow: &'a Workflow,
    with_deadlines: bool,
    longest: BTreeMap<State, usize>,
    path: Vec<String>,
    on_path: BTreeSet<State>,
}

impl<'a> Search<'a> {
    fn new(workflow: &'a Workflow, with_deadlines: bool) -> Self {
        let (longest, path, on_path) = (BTreeMap::new(), Vec::new(), BTreeSet::new());
        Self { workflow, with_deadlines, longest, path, on_path }
    }

    fn visit(&mut self, run: &Run) -> Result<usize, String> {
        let here = state(run);
        if let Some(longest) = self.longest.get(&here) {
            return Ok(*longest);
        }
        if self.path.len() > 400 || !self.on_path.insert(here.clone()) {
            return Err(format!("no end: {}", self.path.join(", ")));
        }
        let mut longest = 0;
        let mut events = possible(self.workflow, run);
        if self.with_deadlines && run.standing == Standing::Active {
            events.push(DEADLINE.to_owned());
        }
        for event in events {
            let next = take(self.workflow, run, &event);
            self.path.push(format!("{event} -> {}", next.phase));
            longest = longest.max(1 + self.visit(&next)?);
            self.path.pop();
        }
        self.on_path.remove(&here);
        self.longest.insert(here, longest);
        Ok(longest)
    }
}

/// A bound on the events of a run without a person, by the limits alone.
fn bound(name: &str, settings: &Settings) -> u64 {
    let of = |key| settings.get(key);
    match name {
        // A chunk has a cycle of five events for each failure that is let through, and at most eight more;
        // then come the merge, whose retries are counted, and the ways to the end.
        "warp-drive" => {
            let cycles = of(keys::MAX_CODING_CYCLES).min(of(keys::MAX_RETRIES_PER_CHUNK)) + 1;
            4 + (of(keys::MAX_TOTAL_CHUNKS) + 1) * (5 * cycles + 8) + of(keys::MAX_RETRIES_PER_CHUNK) + 8
        }
        // A turn that counts has at most four events after it that do not; each answer starts them again.
        "coder" => {
            let turns = of(keys::PLANNING_ITERATIONS).max(1)
                + of(keys::CODING_ITERATIONS).max(1)
                + of(keys::FIXING_ITERATIONS).max(1);
            4 + (of(keys::MAX_BUDGET_ANSWERS).max(1) + 1) * (5 * turns + 5)
        }
        // Turns, the way through the phases, and the way round for each fix cycle.
        "autonomous-loop" => of(keys::MAX_ITERATIONS).max(1) + 11 + 5 * (of(keys::MAX_FIX_CYCLES).max(1) + 1),
        // Rounds by dependency, review and merge; in each the checks fail, and on each push the machines.
        _ => {
            let rounds = 10 + of(keys::MAX_REVIEW_ROUNDS) + of(keys::MAX_MERGE_ATTEMPTS) + 3;
            rounds * ((of(keys::MAX_CI_FIXES) + 1) * (of(keys::MAX_INFRA_RETRIES) + 3) + 5)
                + of(keys::MAX_AGENT_RESTARTS)
                + 2
        }
    }
}

fn small(limit: u64) -> Settings {
    let counts = Settings::TABLE.iter().filter(|row| row.kind == engine::Kind::Count);
    settings(counts.filter(|row| row.key.starts_with("max_") || row.key.ends_with("_iterations")).map(
        |row| {
            let value =
                if row.key.ends_with("_minutes") || row.key == "max_acs_per_commit" { 1_000 } else { limit };
            (row.key, json!(value))
        },
    ))
}

#[test]
fn no_walk_of_a_built_in_workflow_comes_back_to_where_it_was() {
    for name in oracle::ALL.map(|oracle| oracle.name) {
        // The factory's six counters make for a great many places.
        for limit in 0..=if name == "factory" { 1 } else { 2 } {
            let settings = small(limit);
            let run = begun(workflow(name), settings.clone());
            let longest = Search::new(workflow(name), false)
                .visit(&run)
                .unwrap_or_else(|error| panic!("{name} ({limit}): {error}"));
            assert!(longest as u64 <= bound(name, &settings), "{name} ({limit}): {longest}");
        }
    }
}

proptest! {
    #![proptest_config(config(150))]

    /// Random walks with the settings as they are; what leads straight to an end is taken rarely.
    #[test]
    fn a_walk_without_a_person_ends_within_the_bound_of_its_limits(numbers in vec(any::<u16>(), 64)) {
        for name in oracle::ALL.map(|oracle| oracle.name) {
            let workflow = workflow(name);
            let settings = Settings::default();
            let bound = bound(name, &settings);
            let mut run = begun(workflow, settings);
            let mut taken = 0;
            for number in numbers.iter().cycle().map(|number| usize::from(*number)) {
                let events = possible(workflow, &run);
                let onward: Vec<&String> = events.iter().filter(|event| !ENDING.contains(&event.as_str())).collect();
                let Some(event) = (match onward.is_empty() || number % 97 == 0 {
                    true => events.get(number % events.len().max(1)),
                    false => onward.get(number % onward.len()).copied(),
                }) else { break };
                let ask = clear(event, run.started_at);
                run = step(workflow, &run, &ask).unwrap_or_else(|refused| panic!("{refused}")).run;
                taken += 1;
                prop_assert!(taken <= bound, "{} events in {}, in {}", taken, name, run.phase);
            }
        }
    }

}

proptest! {
    #![proptest_config(config(2000))]

    /// A workflow that was proved has no walk without an end, whatever it is made of.
    #[test]
    fn a_workflow_that_is_proved_ends(numbers in vec(any::<u64>(), 32)) {
        let text = some_workflow(&numbers);
        if let Ok(workflow) = Workflow::parse(&text) {
            let flags = [("auto_merge", json!(false)), ("skip_brainstorm", json!(true)), ("phase_timeout_enforcement", json!("block"))];
            for settings in [Settings::default(), settings(flags)] {
                let run = begun(&workflow, settings);
                if let Err(error) = Search::new(&workflow, true).visit(&run) {
                    prop_assert!(false, "{}\n{}", error, text);
                }
            }
        }
    }
}

/// Events that lead to an end or to a person at once.
const ENDING: [&str; 16] = [
    "abort",
    "abandon",
    "agent_crashed",
    "already_done",
    "completion_approved",
    "continue_no",
    "failed",
    "merge_successful",
    "merged",
    "needs_human",
    "no_work",
    "requirement_done",
    "shipped",
    "too_large",
    "unrecoverable_error",
    "workspace_setup_failed",
];

/// Writes some workflow of two to four phases; whether it can be run is another matter.
fn some_workflow(numbers: &[u64]) -> String {
    let mut dice = numbers.iter().map(|number| Dice(*number));
    let mut dice = || dice.next().expect("enough numbers");
    let phases = &["a", "b", "c", "d"][..2 + few(&mut dice(), 3)];
    let targets: Vec<&str> = phases.iter().copied().chain(["end"]).collect();
    let events = ["x", "y", "z"];
    let mut text = "name = \"some\"\npurpose = \"Is there\"\ninitial = \"a\"\nfinal = [\"end\"]\n".to_owned();
    if dice().one_in(8) {
        text.push_str("phase_counters = [\"one\"]\n");
    }
    for counter in ["one", "two"] {
        text.push_str(&some_budget(&mut dice(), counter, phases, &targets, &events));
    }
    let late = "[[budget]]\nreason = \"late\"\nmeasure = \"phase_minutes\"\nlimit = 60\n";
    text.push_str(&format!("{late}outcomes = [{{ redirect = \"{}\" }}]\n", dice().pick(&targets)));
    for (index, name) in phases.iter().enumerate() {
        let deadline = dice().pick(&["park", "park", "park", "x", "late"]);
        let deadline = format!("deadline = {{ minutes = 60, outcome = \"{deadline}\" }}");
        // The first row leads on, so that everything can be reached.
        let mut rows = some_row(&mut dice(), "x", Some(targets[index + 1]), &targets);
        for event in &events[1..1 + few(&mut dice(), 3)] {
            rows.push_str(&some_row(&mut dice(), event, None, &targets));
        }
        text.push_str(&format!(
            "[[phase]]\nname = \"{name}\"\npurpose = \"Is there\"\nactivity = \"engine\"\n{deadline}\non = [{rows}]\n"
        ));
    }
    text.push_str("[[phase]]\nname = \"end\"\npurpose = \"Is there\"\nactivity = \"engine\"\n");
    text
}

fn few(dice: &mut Dice, sides: u64) -> usize {
    usize::try_from(dice.roll(sides)).expect("few")
}

fn some_row(dice: &mut Dice, event: &str, onward: Option<&str>, targets: &[&str]) -> String {
    let to = onward.unwrap_or_else(|| dice.pick(targets));
    let to = if onward.is_none() && dice.one_in(8) {
        "to_origin = true".to_owned()
    } else {
        format!("to = \"{to}\"")
    };
    let raises =
        dice.pick(&["", ", raises = [\"one\"]", ", raises = [\"two\"]", ", raises = [\"one\", \"two\"]"]);
    let resets = dice.pick(&["", "", "", ", resets = [\"one\"]", ", resets = [\"two\"]"]);
    let person = if dice.one_in(6) { ", by = \"person\"" } else { "" };
    let exempt = if dice.one_in(8) { ", exempt = true" } else { "" };
    let acts = if dice.one_in(10) {
        dice.pick(&[", acts = [\"renew_budgets\"]", ", acts = [\"renew_origin\"]"])
    } else {
        ""
    };
    format!("{{ event = \"{event}\", {to}{raises}{resets}{person}{exempt}{acts} }}, ")
}

fn some_budget(dice: &mut Dice, counter: &str, phases: &[&str], targets: &[&str], events: &[&str]) -> String {
    let limit = 1 + dice.roll(2);
    let trips = dice.pick(&["above", "at"]);
    let enforcement = if dice.one_in(10) { "enforcement = \"phase_timeout_enforcement\"\n" } else { "" };
    let outcomes: Vec<String> = (0..=dice.roll(2))
        .map(|_| {
            let place = dice.pick(phases);
            let here = if dice.one_in(2) { format!("phase = \"{place}\", ") } else { String::new() };
            let event = dice.pick(events);
            let asked = if dice.one_in(3) { format!("event = \"{event}\", ") } else { String::new() };
            let when = if dice.one_in(8) { ", when = \"auto_merge\"" } else { "" };
            match dice.roll(5) {
                0..2 => format!("{{ {here}{asked}redirect = \"{}\"{when} }}", dice.pick(targets)),
                2..4 => format!("{{ phase = \"{place}\", follow = \"{event}\"{when} }}"),
                _ => format!("{{ {here}{asked}park = true{when} }}"),
            }
        })
        .collect();
    format!(
        "[[budget]]\nreason = \"{counter}_used_up\"\ncounter = \"{counter}\"\nlimit = {limit}\ntrips = \"{trips}\"\n{enforcement}outcomes = [{}]\n",
        outcomes.join(", ")
    )
}
