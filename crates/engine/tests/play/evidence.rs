//! Evidence: a changed line or a recorded test for each criterion, and who has to show it.

use engine::{Event, Probe, needs};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{
    script::{play, play_to},
    support::workflow,
};

/// A run in `coding`, on a chunk of two criteria; a third is in the next chunk.
const CODING: &str =
    r#"@chunking, chunks_defined acs=[["AC-01","AC-02"],["AC-03"]] head=0123456789abcdef boxes=0/3"#;
/// A line for the first criterion and one for the second.
const LINES: &str =
    r#"evidence=[{"ac":"AC-01","file":"src/a.rs","line":12},{"ac":"ac-02","file":"./src/b.rs","line":3}]"#;
/// A test for each.
const TESTS: &str = r#"evidence=[{"ac":"AC-01","test":"logs_in"},{"ac":"AC-02","test":"logs_out"}]"#;

/// Returns the answer to the last step, without the words of the step itself.
fn last(script: &str) -> String {
    let lines = play(script);
    let line = lines.lines().rev().find(|line| !line.starts_with("  ")).expect("a line");
    line.split_once(": ").expect("an answer").1.to_owned()
}

fn complete(data: &str) -> String {
    last(&format!("{CODING}, agent code_complete {data}"))
}

#[test]
fn an_agent_must_show_something_for_each_criterion() {
    assert_snapshot!(complete(""), @r#"refused: `code_complete` is refused in `coding` by self_verification: evidence is wanted for AC-01, AC-02: a line that was changed or a test of the recorded run, like --data '{"evidence":[{"ac":"AC-01","file":"src/a.rs","line":12},{"ac":"AC-02","test":"name_of_a_test"}]}'. Read each again, and confirm that it is met: AC-01: The login page opens the dashboard; AC-02: The README tells how"#);
    assert_snapshot!(complete(r#"evidence=[{"ac":"AC-02","test":"logs_out"}]"#), @r#"refused: `code_complete` is refused in `coding` by self_verification: evidence is wanted for AC-01: a line that was changed or a test of the recorded run, like --data '{"evidence":[{"ac":"AC-01","file":"src/a.rs","line":12}]}'. Read each again, and confirm that it is met: AC-01: The login page opens the dashboard"#);
    assert_snapshot!(complete(LINES), @"updating_docs e5");
}

#[test]
fn a_person_and_warp_itself_need_show_nothing() {
    for actor in ["", "engine "] {
        assert!(last(&format!("{CODING}, {actor}code_complete")).starts_with("updating_docs"), "{actor}");
    }
}

#[test]
fn the_setting_switches_it_off_and_evidence_that_is_given_is_checked_all_the_same() {
    let off = format!("warp-drive pre_exit_verification=false: {CODING}, agent code_complete");
    assert!(last(&off).starts_with("updating_docs"));
    assert!(last(&format!("{off} evidence=[]")).starts_with("updating_docs"));
    assert!(complete("evidence=[]").starts_with("refused"));
    assert_snapshot!(last(&format!("{off} {LINES} lines=none")), @"refused: `code_complete` is refused in `coding` by self_verification: AC-01: `src/a.rs:12` is no line that was changed since 0123456789; show one that was; ac-02: `src/b.rs:3` is no line that was changed since 0123456789; show one that was");
    assert_snapshot!(last(&format!("{CODING}, code_complete {LINES} lines=none")), @"refused: `code_complete` is refused in `coding` by self_verification: AC-01: `src/a.rs:12` is no line that was changed since 0123456789; show one that was; ac-02: `src/b.rs:3` is no line that was changed since 0123456789; show one that was");
}

#[test]
fn a_line_must_be_one_that_was_changed() {
    assert_snapshot!(complete(&format!("{LINES} lines=src/a.rs:12")), @"refused: `code_complete` is refused in `coding` by self_verification: ac-02: `src/b.rs:3` is no line that was changed since 0123456789; show one that was");
    assert_snapshot!(complete(&format!("{LINES} lines=broken")), @"refused: `code_complete` is refused in `coding` by self_verification: AC-01: `src/a.rs:12` could not be looked at: git: exit 128; ac-02: `src/b.rs:3` could not be looked at: git: exit 128");
    assert_snapshot!(complete(&format!("{LINES} lines=unseen")), @"refused: `code_complete` is refused in `coding` by self_verification: AC-01: `src/a.rs:12` was not looked at; ac-02: `src/b.rs:3` was not looked at");
    assert_snapshot!(play(&format!("{CODING}, agent code_complete {LINES} lines=absent")), @r#"
    chunks_defined acs=[["AC-01","AC-02"],["AC-03"]] head=0123456789abcdef boxes=0/3: coding e4
    agent code_complete evidence=[{"ac":"AC-01","file":"src/a.rs","line":12},{"ac":"ac-02","file":"./src/b.rs","line":3}] lines=absent: updating_docs e5
      not checked: evidence: there is no git repository
    "#);
}

#[test]
fn evidence_for_what_is_no_criterion_here_is_refused() {
    assert_snapshot!(complete(r#"evidence=[{"ac":"AC-03","test":"x"}]"#), @r#"refused: `code_complete` is refused in `coding` by self_verification: `AC-03` is no criterion here; there are AC-01, AC-02; evidence is wanted for AC-01, AC-02: a line that was changed or a test of the recorded run, like --data '{"evidence":[{"ac":"AC-01","file":"src/a.rs","line":12},{"ac":"AC-02","test":"name_of_a_test"}]}'. Read each again, and confirm that it is met: AC-01: The login page opens the dashboard; AC-02: The README tells how"#);
}

#[test]
fn a_chunk_whose_criteria_are_not_known_wants_no_evidence() {
    assert!(last("@coding, agent code_complete").starts_with("updating_docs"));
}

#[test]
fn a_test_must_be_in_a_recorded_run_and_an_agents_word_is_no_record() {
    let testing = format!("{CODING}, code_complete, docs_updated");
    let named = r#"tests=["logs_in","logs_out","more"]"#;
    // Where warp does not run the tests later, there is no other proof.
    let untested = |data: &str| {
        last(&format!("warp-drive test_before_commit=false: {CODING}, agent code_complete {data}"))
    };
    assert_snapshot!(untested(TESTS), @"refused: `code_complete` is refused in `coding` by self_verification: AC-01: test `logs_in` is in no recorded run; run the tests with `warp next`, or show a changed line; AC-02: test `logs_out` is in no recorded run; run the tests with `warp next`, or show a changed line");
    assert_snapshot!(untested(&format!("{TESTS} {named}")), @"refused: `code_complete` is refused in `coding` by self_verification: AC-01: test `logs_in` is in no recorded run; run the tests with `warp next`, or show a changed line; AC-02: test `logs_out` is in no recorded run; run the tests with `warp next`, or show a changed line");
    // What a person or warp reports is on record, at once and for later.
    assert!(last(&format!("{testing}, engine tests_passed {TESTS} {named}")).starts_with("committing"));
    let again = format!("{testing}, engine tests_passed {named}, committed, report_filed, next_chunk");
    let third = r#"evidence=[{"ac":"AC-03","test":"more"}]"#;
    assert!(last(&format!("{again}, agent code_complete {third}")).starts_with("updating_docs"));
    // So is what the configured command prints, and that stays on record too.
    let gates = r#"warp-drive test_before_commit=false verification_gates={"code_complete":["make"]}: "#;
    let printed = "gate=make:passed:logs_in;logs_out";
    let (run, _) = play_to(&format!("{gates}{CODING}, agent code_complete {TESTS} {printed}"));
    assert_eq!(
        (run.phase.as_str(), run.test_names.join(" ").as_str()),
        ("updating_docs", "logs_in logs_out")
    );
    assert_snapshot!(last(&format!("{gates}{CODING}, agent code_complete {TESTS} gate=make:passed:logs_in")), @"refused: `code_complete` is refused in `coding` by self_verification: AC-02: test `logs_out` is in no recorded run; run the tests with `warp next`, or show a changed line");
}

#[test]
fn a_test_of_the_same_chunk_counts_once_it_has_passed() {
    let named = format!("{CODING}, agent code_complete {TESTS}, docs_updated");
    let (run, _) = play_to(&named);
    assert_eq!((run.phase.as_str(), run.named_tests.len(), run.test_names.len()), ("testing", 2, 0));
    assert_snapshot!(last(&format!(r#"{named}, engine tests_passed tests=["t.py::logs_in"]"#)), @"refused: `tests_passed` is refused in `testing` by self_verification: AC-02: the test `logs_out` was named as evidence, and no test of that name has passed");
    let passed =
        format!(r#"{named}, engine tests_passed tests=["t.py::TestX::logs_in","t.py::logs_out[1]"]"#);
    let (run, _) = play_to(&passed);
    assert_eq!((run.phase.as_str(), run.named_tests.len()), ("committing", 0));
    // A person is believed, and another attempt names its own tests.
    assert!(last(&format!("{named}, tests_passed")).starts_with("committing"));
    let (run, _) = play_to(&format!("{named}, tests_failed, agent code_complete {LINES}"));
    assert_eq!((run.phase.as_str(), run.named_tests.len()), ("updating_docs", 0));
}

#[test]
fn evidence_for_an_issue_covers_all_its_chunks_since_the_first() {
    let first =
        format!("{CODING}, code_complete, docs_updated, tests_passed, committed head=aaaa, report_filed");
    let done = format!(
        "{first}, next_chunk head=bbbb, code_complete, docs_updated, tests_passed, committed, report_filed"
    );
    assert_snapshot!(last(&format!("{done}, requirement_done evidence=[]")), @r#"refused: `requirement_done` is refused in `chunk_complete` by self_verification: evidence is wanted for AC-01, AC-02, AC-03: a line that was changed or a test of the recorded run, like --data '{"evidence":[{"ac":"AC-01","file":"src/a.rs","line":12},{"ac":"AC-02","test":"name_of_a_test"}]}'. Read each again, and confirm that it is met: AC-01: The login page opens the dashboard; AC-02: The README tells how; AC-03: More"#);
    let (run, _) = play_to(&done);
    let data = json!({"evidence": [{"ac": "AC-01", "file": "a", "line": 1}]});
    let Value::Object(data) = data else { panic!("an object") };
    let probes = needs(
        workflow("warp-drive"),
        &run,
        engine::Actor::Agent,
        &Event::Named("requirement_done".into()),
        &data,
    );
    let [Probe::Lines { base, .. }, Probe::Usage { .. }] = probes.as_slice() else { panic!("{probes:?}") };
    assert_eq!(base.as_deref(), Some("0123456789abcdef"), "since the first chunk");
    assert_eq!(run.chunk.base.as_deref(), Some("bbbb"));
}

#[test]
fn what_warp_does_itself_is_not_taken_on_an_agents_word() {
    assert_snapshot!(last("@testing, agent tests_passed"), @"refused: `tests_passed` is warp's own work in `testing`: `warp next` does it");
    for workflow in ["warp-drive", "coder", "factory"] {
        for phase in &crate::support::workflow(workflow).phases {
            let is_own = phase.activity == engine::workflow::Activity::Engine;
            for row in phase.rows.iter().filter(|row| is_own && !row.by_person) {
                if ["abort", "docs_updated"].contains(&row.event.as_str()) {
                    continue;
                }
                let answer = last(&format!("{workflow}: @{}, agent {}", phase.name, row.event));
                assert!(answer.contains("is warp's own work in"), "{} {}: {answer}", phase.name, row.event);
            }
        }
    }
}

#[test]
fn an_agents_ticks_count_once_the_issue_was_looked_at() {
    let docs = format!("{CODING}, code_complete, agent docs_updated");
    assert_snapshot!(last(&format!("{docs} boxes=2/3")), @"testing e6");
    assert!(last(&format!("{docs} boxes=1/3")).contains("by ac_count_check"));
    assert_snapshot!(last(&format!("{docs} boxes=absent")), @"refused: `docs_updated` is warp's own work in `updating_docs`: `warp next` does it");
}

#[test]
fn names_of_tests_are_kept_within_a_bound_and_those_of_evidence_longest() {
    let names: Vec<String> = (0..1000).map(|number| format!("t{number}")).collect();
    let named = serde_json::to_string(&names).unwrap();
    let shown = r#"evidence=[{"ac":"AC-01","test":"t0"},{"ac":"AC-02","test":"t1"}]"#;
    let (run, _) =
        play_to(&format!("{CODING}, code_complete, docs_updated, tests_passed {shown} tests={named}"));
    let kept = &run.test_names;
    assert_eq!((kept.len(), kept[0].as_str(), kept[199].as_str()), (200, "t802", "t1"));
    assert!(kept.contains(&"t0".to_owned()));
}

#[test]
fn bad_evidence_is_refused_and_says_what_is_wanted() {
    assert_snapshot!(complete("evidence=7"), @r#"refused: `evidence` must be a list of criteria with a line or a test, like {"evidence":[{"ac":"AC-01","file":"src/a.rs","line":12},{"ac":"AC-02","test":"name_of_a_test"}]}"#);
    let wrong = [
        r#"[{"ac":"AC-01"}]"#,
        r#"[{"file":"a","line":1}]"#,
        r#"[{"ac":"AC-01","file":"a"}]"#,
        r#"[{"ac":"AC-01","line":1}]"#,
        r#"[{"ac":"AC-01","file":"a","line":0}]"#,
        r#"[{"ac":"AC-01","file":"a","line":"1"}]"#,
        r#"[{"ac":"AC-01","test":""}]"#,
        r#"[{"ac":1,"test":"x"}]"#,
        r#"["AC-01"]"#,
    ];
    for evidence in wrong {
        let answer = complete(&format!("evidence={evidence}"));
        assert!(answer.starts_with("refused: `evidence` must be"), "{evidence}: {answer}");
    }
    assert_snapshot!(last(&format!("{CODING}, code_complete, docs_updated, tests_passed tests=[7]")), @"refused: `tests` must be a list of names");
}

#[test]
fn what_is_a_persons_is_refused_to_an_agent() {
    let over = "warp-drive max_coding_cycles=0: @testing, tests_failed";
    assert_snapshot!(last(&format!("{over}, agent budget_continue")), @"refused: `budget_continue` is refused in `budget_exceeded`: it needs a person; tell them, and wait");
    assert_snapshot!(last(&format!("{over}, +11m, deadline, agent answer continue")), @"refused: `decision_answered` is refused in `budget_exceeded`: it needs a person; tell them, and wait");
    for script in ["coder: agent stop", "coder: agent resume", "coder: agent reset", "@coding, agent abort"] {
        assert!(last(script).contains("it needs a person"), "{script}: {}", last(script));
    }
    assert_snapshot!(last("autonomous-loop: agent turn_finished"), @"refused: `turn_finished` is refused: warp counts turns and crashes by itself; say what the phase has done instead");
}

#[test]
fn a_record_says_who_asked_and_an_old_one_was_a_persons() {
    let workflow = workflow("autonomous-loop");
    let (run, _) = play_to("autonomous-loop max_phase_iterations=1: ");
    let mut ask = engine::Ask::new(Event::Named("turn_finished".into()), run.updated_at);
    ask.actor = engine::Actor::Engine;
    let step = engine::step(workflow, &run, &ask).unwrap();
    let actors: Vec<String> = step.records.iter().map(|record| json!(record)["actor"].to_string()).collect();
    assert_eq!(actors, ["\"engine\"", "\"engine\""]);
    let mut old = json!(step.records[0]);
    old.as_object_mut().unwrap().remove("actor");
    let old: engine::Record = serde_json::from_value(old).unwrap();
    assert_eq!(old.actor, engine::Actor::Person);
    assert_eq!(json!(engine::view::LogRow::of(3, &step.records[1]))["actor"], "engine");
}
