//! A person accepts what an advisory check refuses: exactly that event of that chunk, and nothing of the tests.

use engine::{Event, Probe, Run, needs};
use insta::assert_snapshot;
use serde_json::{Map, json};

use crate::{
    script::{play, play_to},
    support::workflow,
};

const ENFORCED: &str = r#"warp-drive diff_relevance=enforce: @chunking, chunks_defined acs=[["AC-01"],["AC-02"]] boxes=0/3 head=0123456789abcdef"#;
const CODING: &str = r#"@chunking, chunks_defined acs=[["AC-01"],["AC-02"]] boxes=0/3 head=0123456789abcdef"#;
const SHOWN: &str = r#"evidence=[{"ac":"AC-01","file":"src/a.rs","line":12}]"#;

fn objections(run: &Run) -> Vec<String> {
    run.objections.iter().map(ToString::to_string).collect()
}

fn options(run: &Run) -> String {
    engine::view::asked(workflow("warp-drive"), run).expect("a question").options.join(" ")
}

/// Returns the lines after the chunk was taken.
fn after(script: &str) -> String {
    play(script).lines().skip(1).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_refused_change_that_a_person_accepts_is_taken_as_it_was_offered() {
    let refused = format!("agent code_complete {SHOWN} diff=~src/a.rs");
    let script = format!("{ENFORCED}, raise {refused}, answer accept by ann with {refused}");
    let (run, _) = play_to(&script);
    assert_snapshot!(after(&script), @r#"
    raise agent code_complete evidence=[{"ac":"AC-01","file":"src/a.rs","line":12}] diff=~src/a.rs: coding, parked on r1.5: `coding` cannot continue: `code_complete` is refused by diff_relevance_check: no changed path or added line has a word of the chunk's criteria (login, page, opens, dashboard); changed: src/a.rs
    Accept it all the same?
    answer accept by ann with agent code_complete evidence=[{"ac":"AC-01","file":"src/a.rs","line":12}] diff=~src/a.rs, then code_complete: updating_docs e7
      accepted by ann: diff_relevance_check: no changed path or added line has a word of the chunk's criteria (login, page, opens, dashboard); changed: src/a.rs
    "#);
    assert_eq!(objections(&run).len(), 1);
    assert_eq!(run.refused, None);
}

#[test]
fn the_question_offers_accept_and_is_put_off_like_any_other_in_an_agents_phase() {
    let (run, _) = play_to(&format!("{ENFORCED}, raise code_complete diff=~src/a.rs"));
    assert_eq!(options(&run), "accept continue skip abort");
    assert!(run.question_deadline().is_some());
    let (run, lines) = play_to(&format!("{ENFORCED}, raise code_complete diff=~src/a.rs, +11m, defer"));
    assert_eq!((run.deferred.len(), run.refused.is_none()), (1, true), "{lines}");
}

#[test]
fn what_is_needed_for_the_refused_event_is_looked_up_again() {
    let (run, _) = play_to(&format!("{ENFORCED}, raise agent code_complete {SHOWN} diff=~src/a.rs"));
    let answer = |option: &str| {
        let event = Event::DecisionAnswered { decision: "r1.5".to_owned(), option: option.to_owned() };
        needs(workflow("warp-drive"), &run, engine::Actor::Agent, &event, &Map::new())
    };
    let names: Vec<bool> = answer("accept").iter().map(|probe| matches!(probe, Probe::Diff { .. })).collect();
    assert_eq!(names, [false, true, false]);
    assert_eq!(answer("continue"), []);
}

#[test]
fn continue_accepts_nothing() {
    let (run, lines) = play_to(&format!(
        "{ENFORCED}, raise code_complete diff=~src/a.rs, answer continue, code_complete diff=~src/a.rs"
    ));
    assert!(lines.lines().last().unwrap_or_default().contains("refused"), "{lines}");
    assert!(run.objections.is_empty() && run.refused.is_none());
}

#[test]
fn evidence_that_cannot_be_matched_is_accepted_for_the_chunk_and_for_no_other() {
    let unmatched = format!("agent code_complete {SHOWN} lines=none");
    let accepted = format!("{CODING}, raise {unmatched}, answer accept by ann with {unmatched}");
    let (run, lines) = play_to(&accepted);
    assert_eq!(run.phase, "updating_docs", "{lines}");
    assert_snapshot!(objections(&run).join("\n"), @"accepted by ann: self_verification: AC-01: `src/a.rs:12` is no line that was changed since 0123456789; show one that was");
    // After failed tests the same chunk may be handed in again.
    let again = format!("{accepted}, @testing, tests_failed, {unmatched}");
    assert_eq!(play_to(&again).0.phase, "updating_docs");
    // The next chunk has its own evidence.
    let next = format!("{accepted}, @chunk_complete, next_chunk boxes=1/3, agent code_complete");
    let (run, lines) = play_to(&next);
    assert_eq!(run.phase, "coding", "{lines}");
    assert_eq!(objections(&run).len(), 1, "it stays on record");
}

#[test]
fn a_second_check_is_a_second_question() {
    let both = "agent code_complete diff=~src/a.rs";
    let (run, lines) = play_to(&format!("{ENFORCED}, raise {both}, answer accept by ann with {both}"));
    assert!(
        lines.contains(
            "parked on r1.7: `coding` cannot continue: `code_complete` is refused by self_verification"
        ),
        "{lines}"
    );
    assert_eq!(options(&run), "accept continue skip abort");
    let (run, _) = play_to(&format!(
        "{ENFORCED}, raise {both}, answer accept by ann with {both}, answer accept by bob with {both}"
    ));
    assert_eq!((run.phase.as_str(), objections(&run).len()), ("updating_docs", 2));
}

#[test]
fn what_is_sure_is_still_refused_after_an_acceptance() {
    let (run, lines) = play_to(&format!(
        "{ENFORCED}, raise code_complete diff=~src/a.rs, answer accept by ann with code_complete diff=nothing"
    ));
    assert_eq!(run.phase, "coding");
    assert!(lines.ends_with("diff_relevance_check: nothing has changed since 0123456789"), "{lines}");
}

#[test]
fn in_a_phase_of_warps_own_the_work_is_done_again_and_passes() {
    let ticking = format!("{CODING}, @updating_docs, raise engine docs_updated boxes=0/3");
    let (run, _) = play_to(&ticking);
    assert_eq!(options(&run), "accept continue abort", "what warp does itself can only wait");
    let script = format!("{ticking}, answer accept by ann with docs_updated, engine docs_updated boxes=0/3");
    let (run, lines) = play_to(&script);
    assert_eq!(run.phase, "testing", "{lines}");
    assert_snapshot!(objections(&run).join("\n"), @"accepted by ann: ac_count_check: 0 of 3 criteria are ticked in the issue; after this chunk it must be 1");
}

#[test]
fn an_agent_neither_asks_nor_accepts() {
    let (run, _) = play_to(&format!("{ENFORCED}, raise code_complete diff=~src/a.rs"));
    assert_eq!(
        play(&format!("{ENFORCED}, agent raise code_complete diff=~src/a.rs")).lines().last(),
        Some(
            "agent raise code_complete diff=~src/a.rs: refused: `question_asked` is refused: warp asks that by itself when retries do not help"
        )
    );
    let lines = play(&format!("{ENFORCED}, raise code_complete diff=~src/a.rs, agent answer accept"));
    assert!(lines.lines().last().unwrap_or_default().contains("needs a person"), "{lines}");
    assert!(run.objections.is_empty());
}

#[test]
fn tests_and_verification_commands_are_not_to_be_accepted() {
    let gates = r#"warp-drive verification_gates={"tests_passed":["make-audit"]}: @testing"#;
    let (run, _) = play_to(gates);
    let mut ask = engine::Ask::new(Event::Named("tests_passed".into()), run.updated_at);
    ask.actor = engine::Actor::Engine;
    let refused = engine::step(workflow("warp-drive"), &run, &ask).expect_err("it was not run");
    assert_eq!(refused.to_overrule(ask.actor, &ask.data), None, "{refused}");
    let empty = engine::Refused::Gate {
        phase: "coding".into(),
        event: "code_complete".into(),
        gate: "diff_relevance_check".to_owned(),
        reason: "nothing has changed".to_owned(),
    };
    assert_eq!(
        empty.to_overrule(engine::Actor::Agent, &json!({}).as_object().cloned().unwrap_or_default()),
        None
    );
}
