//! State files of the original tools: what is taken over, what is kept aside, and what is refused.

mod support;

use engine::{
    Settings, Standing, Time, keys,
    view::{AdoptError, Adopted, adopt, state_json},
};
use insta::assert_snapshot;
use proptest::{prelude::*, test_runner::FileFailurePersistence};
use serde_json::{Map, Value, json};
use support::{START, beginning, workflow};

const WARP_DRIVE: &str = include_str!("fixtures/warp-drive-state.json");
const AUTONOMOUS_LOOP: &str = include_str!("fixtures/autonomous-loop.json");
const VERSION_1: &str = include_str!("fixtures/autonomous-loop-v1.json");

fn adopted(text: &str) -> Adopted {
    adopt(text, beginning(Settings::default())).expect("a state file").1
}

fn refused(text: &str) -> String {
    match adopt(text, beginning(Settings::default())) {
        Ok((_, adopted)) => panic!("adopted: {:?}", adopted.step.run),
        Err(error) => error.to_string(),
    }
}

/// Returns the example with some of its fields set otherwise.
fn changed(text: &str, fields: Value) -> String {
    let mut value: Value = serde_json::from_str(text).expect("a fixture is JSON");
    for (path, field) in fields.as_object().expect("fields") {
        let pointer = format!("/{}", path.replace('.', "/"));
        match value.pointer_mut(&pointer) {
            Some(place) => *place = field.clone(),
            None => value[path] = field.clone(),
        }
    }
    value.to_string()
}

#[test]
fn the_example_of_the_state_reference_goes_on_where_it_stands() {
    let adopted = adopted(WARP_DRIVE);
    let run = &adopted.step.run;
    assert_eq!(adopted.notes, Vec::<String>::new());
    assert_eq!(
        (run.workflow.as_str(), run.phase.as_str(), &run.standing),
        ("warp-drive", "coding", &Standing::Active)
    );
    assert_eq!((run.issue.as_deref(), run.level), (Some("42"), 3));
    assert_eq!((run.chunk.index, run.current_criteria().join(" ")), (1, "AC-01 AC-02".to_owned()));
    assert_eq!(run.started_at.to_string(), "2026-05-08T15:56:59.401Z");
    let effect = run.effect.as_ref().expect("work to do");
    assert_eq!((effect.phase.as_str(), &adopted.step.effects), ("coding", &vec![effect.clone()]));
    let [record] = adopted.step.records.as_slice() else { panic!("{:?}", adopted.step.records) };
    assert_eq!(record.event, "adopted");
}

#[test]
fn an_adopted_run_can_be_stepped_and_replayed() {
    let (workflow, adopted) = adopt(WARP_DRIVE, beginning(Settings::default())).unwrap();
    let step = engine::step(
        &workflow,
        &adopted.step.run,
        &support::clear("code_complete", Time::from_millis(START + 9)),
    );
    let step = step.unwrap();
    let mut fold = engine::Fold::default();
    for record in adopted.step.records.iter().chain(&step.records) {
        let line = serde_json::to_string(record).unwrap();
        fold.add(&serde_json::from_str(&line).unwrap()).unwrap();
    }
    assert_eq!(fold.finish().unwrap(), (step.run, workflow.text.clone()));
}

#[test]
fn unknown_fields_are_shown_again_wherever_they_were() {
    let text = changed(WARP_DRIVE, json!({"x_team": {"deep": [1, null]}, "session.level": 2}));
    let text = text.replacen("\"pid\":51506", "\"pid\":51506,\"tmux\":\"w1\"", 1);
    let adopted = adopted(&text);
    let shown = state_json(workflow("warp-drive"), &adopted.step.run);
    assert_eq!((&shown["x_team"], &shown["session"]["tmux"]), (&json!({"deep": [1, null]}), &json!("w1")));
    assert_eq!(adopted.step.run.unknown_fields.keys().collect::<Vec<_>>(), ["session", "x_team"]);
    // They never come before what the engine knows.
    assert_eq!(shown["session"]["level"], json!(2));
}

#[test]
fn counters_are_taken_over_and_a_trip_with_them() {
    let text = changed(
        WARP_DRIVE,
        json!({
            "phase": "budget_exceeded",
            "metrics.chunks_completed": 4,
            "budgets": {"retry_count": 6, "coding_cycles": 2, "exceeded_reasons": ["retry_exceeded"],
                "exceeded_at": "2026-05-08T15:57:00Z", "exceeded_from_phase": "testing"},
            "checklist.committed": true,
            "commit_hashes": ["c1"],
        }),
    );
    let run = adopted(&text).step.run;
    let counters = ["retry_count", "coding_cycles", "total_chunks"].map(|name| run.counter(name));
    assert_eq!(
        (counters, run.committed, run.commit_hashes.as_slice()),
        ([6, 2, 4], true, ["c1".to_owned()].as_slice())
    );
    let trip = run.trip.as_ref().expect("a trip");
    assert_eq!(
        (trip.reasons.as_slice(), trip.from_phase.as_str()),
        (["retry_exceeded".to_owned()].as_slice(), "testing")
    );
    let on = engine::step(
        workflow("warp-drive"),
        &run,
        &support::clear("budget_continue", Time::from_millis(START)),
    );
    assert_eq!(on.unwrap().run.counter("retry_count"), 0);
}

#[test]
fn a_phase_that_gives_leave_is_never_landed_in() {
    let adopted = adopted(&changed(WARP_DRIVE, json!({"phase": "committing"})));
    let run = &adopted.step.run;
    assert_eq!(
        (run.phase.as_str(), run.effect.as_ref().map(|effect| effect.phase.as_str())),
        ("testing", Some("testing"))
    );
    assert_snapshot!(
        adopted.notes.join("\n"),
        @"`committing` gives permission, so the run stands in `testing`: its last step is done again"
    );
}

#[test]
fn the_example_of_the_loop_schema_goes_on_without_its_receipts() {
    let adopted = adopted(AUTONOMOUS_LOOP);
    let run = &adopted.step.run;
    assert_eq!((run.workflow.as_str(), run.phase.as_str()), ("autonomous-loop", "work"));
    assert_eq!(
        ["phase_iteration", "global_iteration", "fix_review_cycles"].map(|name| run.counter(name)),
        [2, 9, 0]
    );
    assert_eq!((run.receipts.len(), run.checkpoints.len(), run.phases_completed.len()), (0, 2, 4));
    assert_snapshot!(adopted.notes.join("\n"), @"receipts were not carried over: nobody here has checked them");
    let mut wanted: Value = serde_json::from_str(AUTONOMOUS_LOOP).unwrap();
    wanted["receipts"] = json!([]);
    let shown = state_json(workflow("autonomous-loop"), run);
    // Everything else is shown as it was, to the field; times are written to the millisecond.
    for (name, value) in wanted.as_object().unwrap() {
        if !["started_at", "last_updated", "checkpoints"].contains(&name.as_str()) {
            assert_eq!(&shown[name], value, "{name}");
        }
    }
    assert_eq!(shown["checkpoints"][1]["summary"], wanted["checkpoints"][1]["summary"]);
}

#[test]
fn receipts_are_dropped_wherever_they_come_from() {
    let adopted = adopted(&changed(WARP_DRIVE, json!({"receipts": [{"phase": "plan"}]})));
    assert_eq!(adopted.notes.len(), 1);
    assert_eq!(state_json(workflow("warp-drive"), &adopted.step.run).get("receipts"), None);
}

#[test]
fn a_loop_of_version_1_is_brought_to_version_2() {
    let adopted = adopted(VERSION_1);
    let run = &adopted.step.run;
    assert_snapshot!(adopted.notes.join("\n"), @"the file was of version 1 and was brought to version 2");
    assert_eq!(
        (run.phase.as_str(), run.settings.get(keys::MAX_ITERATIONS), run.settings.get(keys::SKIP_BRAINSTORM)),
        ("review", 40, true)
    );
    assert_eq!(run.errors.len(), 1);
    let shown = state_json(workflow("autonomous-loop"), run);
    assert_eq!((&shown["version"], &shown["artifacts"]["acceptance_tests_file"]), (&json!(2), &Value::Null));
}

#[test]
fn lists_that_are_too_long_are_cut_like_those_of_any_run() {
    let hashes: Vec<String> = (0..500).map(|number| format!("c{number}")).collect();
    let run = adopted(&changed(WARP_DRIVE, json!({"commit_hashes": hashes}))).step.run;
    assert_eq!((run.commit_hashes.len(), run.commit_hashes.last().map(String::as_str)), (100, Some("c499")));
    let mut phases = vec!["work"; 500];
    phases.push("fix");
    let error = json!({"phase": "work", "message": "m", "iteration": 1, "timestamp": "2026-02-13T11:15:00Z"});
    let run =
        adopted(&changed(AUTONOMOUS_LOOP, json!({"phases_completed": phases, "errors": vec![error; 500]})))
            .step
            .run;
    assert_eq!((run.phases_completed.len(), run.errors.len()), (100, 100));
    assert_eq!(run.phases_completed.last().map(|phase| phase.as_str()), Some("fix"));
}

#[test]
fn what_cannot_be_a_state_file_is_refused_and_says_why() {
    let cases = [
        String::new(),
        "{\"version\": 1".to_owned(),
        "[1, 2]".to_owned(),
        "{}".to_owned(),
        changed(WARP_DRIVE, json!({"phase": "flying"})),
        changed(WARP_DRIVE, json!({"phase": 7})),
        changed(WARP_DRIVE, json!({"phase": "completed"})),
        changed(WARP_DRIVE, json!({"session": []})),
        changed(WARP_DRIVE, json!({"session.started_at": "yesterday"})),
        changed(WARP_DRIVE, json!({"session.level": -1})),
        changed(WARP_DRIVE, json!({"chunk.acs": [1]})),
        changed(WARP_DRIVE, json!({"checklist.committed": "yes"})),
        changed(WARP_DRIVE, json!({"budgets.retry_count": 1e30})),
        changed(WARP_DRIVE, json!({"commit_hashes": "c1"})),
        changed(AUTONOMOUS_LOOP, json!({"phase": "committing"})),
        changed(AUTONOMOUS_LOOP, json!({"max_iterations": "many"})),
        changed(AUTONOMOUS_LOOP, json!({"global_iteration": "nine"})),
        changed(AUTONOMOUS_LOOP, json!({"phases_completed": [1]})),
        "[".repeat(10_000),
    ];
    assert_snapshot!(cases.map(|text| refused(&text)).join("\n"), @r#"
    it is not JSON: EOF while parsing a value at line 1 column 0
    it is not JSON: EOF while parsing an object at line 1 column 13
    it is not a state file of Warp Drive or autonomous-loop: it is no JSON object
    it is not a state file of Warp Drive or autonomous-loop: it has neither `session` nor `feature` beside `phase`
    phase `flying` is not a phase of warp-drive
    phase `7` is not a phase of warp-drive
    `phase` is `completed`: that run is over
    `session` must be a table
    `started_at` is no time: `yesterday` is not a time like 2026-05-08T15:56:59Z
    `level` must be a number of zero or more, not -1
    `chunk.acs` must be a list of lists of criteria
    `committed` must be true or false
    `retry_count` must be a number of zero or more, not 1e+30
    `commit_hashes` must be a list of texts
    phase `committing` is not a phase of autonomous-loop
    `max_iterations` must be a whole number from 0 to 4294967295, not "many"
    `global_iteration` must be a number of zero or more, not "nine"
    `phases_completed` must be a list of phases
    it is not JSON: recursion limit exceeded at line 1 column 128
    "#);
}

fn any_json() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number))
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number,
        ".{0,12}".prop_map(Value::from),
        Just(json!("2026-05-08T15:56:59Z"))
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z_]{1,8}", inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Every place of the two examples, as a JSON pointer.
fn places(value: &Value, prefix: &str, found: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, inner)| (name.clone(), inner)).collect(),
        Value::Array(entries) => {
            entries.iter().enumerate().map(|(index, inner)| (index.to_string(), inner)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    for (name, inner) in inner {
        let place = format!("{prefix}/{name}");
        places(inner, &place, found);
        found.push(place);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("tests/adopt.proptest-regressions"))),
        ..ProptestConfig::with_cases(200)
    })]

    #[test]
    fn no_text_makes_adopting_panic(text in ".{0,200}") {
        prop_assert!(adopt(&text, beginning(Settings::default())).is_err());
    }

    /// An example with some of its places overwritten is refused, or stands in a phase of its workflow.
    #[test]
    fn no_json_makes_adopting_panic(
        is_loop in any::<bool>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any_json()), 1..4),
    ) {
        let example = if is_loop { AUTONOMOUS_LOOP } else { WARP_DRIVE };
        let mut value: Value = serde_json::from_str(example).unwrap();
        for (place, new) in edits {
            let mut found = Vec::new();
            places(&value, "", &mut found);
            if let Some(slot) = found.get(place.index(found.len().max(1))).and_then(|place| value.pointer_mut(place)) {
                *slot = new;
            }
        }
        let text = value.to_string();
        match adopt(&text, beginning(Settings::default())) {
            Ok((workflow, Adopted { step, .. })) => {
                prop_assert!(workflow.phase(&step.run.phase).is_some());
                prop_assert!(!workflow.gives_leave(&step.run.phase));
                prop_assert!(step.run.receipts.is_empty());
                // It can be shown, and adopted again.
                let shown = state_json(&workflow, &step.run).to_string();
                prop_assert!(adopt(&shown, beginning(Settings::default())).is_ok(), "{}", shown);
            }
            Err(AdoptError::NotJson(error)) => prop_assert!(false, "{}", error),
            Err(AdoptError::Unknown(_) | AdoptError::Field { .. } | AdoptError::Phase { .. } | AdoptError::Setting(_)) => {}
        }
    }
}
