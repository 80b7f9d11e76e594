//! The checks before `code_complete` and `docs_updated`, and the configured ones.

use engine::{Event, Probe, Run, needs};
use insta::assert_snapshot;
use serde_json::{Map, Value};

use crate::{
    script::{play, play_to},
    support::workflow,
};

/// A run in `coding`, on a chunk of the first criterion of an issue with three.
const LOGIN: &str = r#"@chunking, chunks_defined acs=[["AC-01"],["AC-02"]] boxes=0/3 head=0123456789abcdef"#;
/// The same where a doubtful change is refused.
const ENFORCED: &str = r#"warp-drive diff_relevance=enforce: @chunking, chunks_defined acs=[["AC-01"],["AC-02"]] boxes=0/3 head=0123456789abcdef"#;
/// The same on the second criterion, which is about documentation.
const README: &str = r#"@chunking, chunks_defined acs=[["AC-02"]] boxes=0/3"#;

fn last(script: &str) -> String {
    play(script).lines().last().expect("a line").to_owned()
}

fn complete(chunk: &str, diff: &str) -> String {
    last(&format!("{chunk}, code_complete diff={diff}"))
}

#[test]
fn a_change_that_has_to_do_with_the_criteria_is_cleared() {
    assert_snapshot!(
        complete(LOGIN, "src/login.rs;README.md"),
        @"code_complete diff=src/login.rs;README.md: updating_docs e5"
    );
}

#[test]
fn an_empty_diff_is_refused() {
    assert_snapshot!(
        complete(LOGIN, "nothing"),
        @"code_complete diff=nothing: refused: `code_complete` is refused in `coding` by diff_relevance_check: nothing has changed since 0123456789"
    );
}

#[test]
fn a_diff_of_documentation_or_lock_files_alone_is_refused_if_that_is_enforced() {
    assert_snapshot!(
        complete(ENFORCED, "docs/login.md;web/yarn.lock"),
        @"code_complete diff=docs/login.md;web/yarn.lock: refused: `code_complete` is refused in `coding` by diff_relevance_check: only documentation or lock files have changed (docs/login.md, web/yarn.lock)"
    );
}

#[test]
fn documentation_is_enough_where_the_criteria_ask_for_it() {
    assert_snapshot!(complete(README, "README.md"), @"code_complete diff=README.md: updating_docs e5");
    assert_snapshot!(
        complete(README, "nothing"),
        @"code_complete diff=nothing: refused: `code_complete` is refused in `coding` by diff_relevance_check: nothing has changed"
    );
}

#[test]
fn a_diff_without_a_word_of_the_criteria_is_refused_if_that_is_enforced() {
    assert_snapshot!(
        complete(ENFORCED, "~src/logout.rs"),
        @"code_complete diff=~src/logout.rs: refused: `code_complete` is refused in `coding` by diff_relevance_check: no changed path or added line has a word of the chunk's criteria (login, page, opens, dashboard); changed: src/logout.rs"
    );
    // Without a telling word in the criteria there is nothing to compare.
    assert_snapshot!(
        complete(r#"@chunking, chunks_defined acs=[["AC-09"]]"#, "~src/logout.rs"),
        @"code_complete diff=~src/logout.rs: updating_docs e5"
    );
}

#[test]
fn a_doubtful_change_is_advice_and_stays_on_record_until_it_is_no_more() {
    let (run, lines) = play_to(&format!("{LOGIN}, code_complete diff=web/yarn.lock"));
    assert_snapshot!(lines.lines().skip(1).collect::<Vec<_>>().join("\n"), @"
    code_complete diff=web/yarn.lock: updating_docs e5
      diff_relevance_check: only documentation or lock files have changed (web/yarn.lock)
    ");
    let shown: Vec<String> = run.objections_here().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        ["diff_relevance_check: only documentation or lock files have changed (web/yarn.lock)"]
    );
    let again = "@testing, tests_failed, code_complete";
    let (run, _) =
        play_to(&format!("{LOGIN}, code_complete diff=web/yarn.lock, {again} diff=~src/logout.rs"));
    assert_eq!(run.objections.len(), 1, "the newer one takes its place: {:?}", run.objections);
    assert!(run.objections[0].reason.starts_with("no changed path"), "{:?}", run.objections);
    let (run, _) = play_to(&format!("{LOGIN}, code_complete diff=web/yarn.lock, {again} diff=src/login.rs"));
    assert!(run.objections.is_empty(), "{:?}", run.objections);
}

fn probes(run: &Run, event: &str, data: &[&str]) -> Vec<Probe> {
    let data = data.iter().map(|field| ((*field).to_owned(), Value::from("x"))).collect();
    needs(workflow(&run.workflow), run, engine::Actor::Agent, &Event::Named(event.into()), &data)
}

#[test]
fn a_decision_names_what_it_wants_looked_up() {
    let at = |script: &str| play_to(script).0;
    let boxes = Probe::Boxes { issue: "42".to_owned() };
    let usage = Probe::Usage { since: at("@chunking").started_at };
    let chunk = [Probe::Head, boxes.clone(), usage.clone()];
    assert_eq!(probes(&at("@chunking"), "chunks_defined", &[]), chunk);
    assert_eq!(probes(&at("@chunk_complete"), "next_chunk", &[]), chunk);
    assert_eq!(probes(&at("@session_ending"), "session_ended", &[]), [usage]);
    assert_eq!(probes(&at("@updating_docs"), "docs_updated", &[]), std::slice::from_ref(&boxes));
    assert_eq!(probes(&at("@testing"), "tests_failed", &["failure"]), [Probe::Tree]);
    assert_eq!(probes(&at("@doc_drift_check"), "drift_blocked", &["failure"]), [Probe::Tree]);
    assert_eq!(probes(&at("@testing"), "tests_failed", &[]), []);
    let commits = Probe::Commits { since: "0123456789abcdef".to_owned() };
    let at_commit = |phase: &str| at(&format!("{LOGIN}, {phase}"));
    assert_eq!(probes(&at_commit("@doc_drift_check"), "drift_clean", &[]), std::slice::from_ref(&commits));
    assert_eq!(probes(&at_commit("@reporting"), "report_filed", &[]), [commits, boxes]);
    assert_eq!(probes(&at("warp-drive reconcile_per_chunk=false: @reporting"), "report_filed", &[]), []);
    for commit in ["committed", "commit_with_doc_gate"] {
        assert_eq!(probes(&at("@committing"), commit, &[]), [Probe::Head]);
    }
    assert_eq!(probes(&at("autonomous-loop: @plan"), "plan_written", &[]), [Probe::Head]);
    // What the phase does not have needs nothing, and so does what the engine does by itself.
    assert_eq!(probes(&at("@coding"), "committed", &[]), []);
    assert_eq!(
        needs(
            workflow("warp-drive"),
            &at("@coding"),
            engine::Actor::Agent,
            &Event::StopRequested,
            &Map::new()
        ),
        []
    );
    let words = ["login", "page", "opens", "dashboard"].map(str::to_owned).to_vec();
    let diff = Probe::Diff { base: Some("0123456789abcdef".to_owned()), words };
    let seeds = Probe::Seeds { base: Some("0123456789abcdef".to_owned()) };
    assert_eq!(probes(&at(LOGIN), "code_complete", &[]), [diff, seeds]);
    let gates = r#"warp-drive verification_gates={"tests_passed":["make-audit"]}: @testing"#;
    assert_eq!(probes(&at(gates), "tests_passed", &[]), [Probe::Commands(vec!["make-audit".to_owned()])]);
}

#[test]
fn an_agent_is_told_once_of_tables_without_seed_data_and_a_person_is_believed() {
    let made = r#"code_complete unseeded=cups;pots evidence=[{"ac":"AC-01","file":"a.rs","line":1}]"#;
    assert_snapshot!(play(&format!("{LOGIN}, agent {made}, agent {made}")), @r#"
    chunks_defined acs=[["AC-01"],["AC-02"]] boxes=0/3 head=0123456789abcdef: coding e4
    agent code_complete unseeded=cups;pots evidence=[{"ac":"AC-01","file":"a.rs","line":1}]: refused: `code_complete` is refused in `coding` by dev_seed_check: no seed data for cups, pots: add some in the same commit, or hand it in again as it is
    agent code_complete unseeded=cups;pots evidence=[{"ac":"AC-01","file":"a.rs","line":1}]: updating_docs e6
    "#);
    assert_snapshot!(last(&format!("{LOGIN}, {made}")), @"  no seed data for cups, pots: add some in the same commit");
    let seeds = |who: &str| play_to(&format!("{LOGIN}, {who}{made}")).0.facts.chunk.seeds;
    for who in ["", "agent "] {
        let missing = "no seed data for cups, pots: add some in the same commit";
        assert_eq!(seeds(who).as_deref(), Some(missing), "{who}");
    }
}

#[test]
fn an_agent_plans_by_criteria_that_somebody_wrote_or_confirmed() {
    let planned =
        |who: &str| last(&format!("coder: @PLANNING, {who}submit_plan approach=one criteria=missing"));
    assert_snapshot!(
        planned("agent "),
        @"agent submit_plan approach=one criteria=missing: refused: `submit_plan` is refused in `PLANNING` by criteria_check: the issue has no acceptance criteria: send 1 to 10 of them as `criteria`"
    );
    assert_snapshot!(planned(""), @"submit_plan approach=one criteria=missing: PLAN_REVIEW [planning_iterations 1] e3");
    let mut run = play_to("coder: @PLANNING").0;
    let criteria = Probe::Criteria { issue: "42".to_owned() };
    assert!(!probes(&run, "submit_plan", &[]).contains(&criteria), "others bring their own");
    run.owner.session = Some(engine::Owner::DRIVER.to_owned());
    assert!(probes(&run, "submit_plan", &[]).contains(&criteria));
}

#[test]
fn criteria_are_told_apart_by_their_whole_label() {
    let mut run = play_to(r#"@chunking, chunks_defined acs=[["AC-1"]]"#).0;
    run.chunk.texts = ["AC-10: tenth", "AC-1: first"].map(str::to_owned).to_vec();
    assert_eq!(
        probes(&run, "code_complete", &[])[0],
        Probe::Diff { base: None, words: vec!["first".to_owned()] }
    );
}

#[test]
fn a_diff_that_cannot_be_read_is_refused_and_one_that_cannot_be_is_advice() {
    assert_snapshot!(
        complete(LOGIN, "broken"),
        @"code_complete diff=broken: refused: `code_complete` is refused in `coding` by diff_relevance_check: the diff could not be read: git: exit 128"
    );
    assert_snapshot!(
        complete(LOGIN, "unseen"),
        @"code_complete diff=unseen: refused: `code_complete` is refused in `coding` by diff_relevance_check: the diff was not looked at"
    );
    assert_snapshot!(play(&format!("{LOGIN}, code_complete diff=absent")), @r#"
    chunks_defined acs=[["AC-01"],["AC-02"]] boxes=0/3 head=0123456789abcdef: coding e4
    code_complete diff=absent: updating_docs e5
      not checked: diff_relevance_check: there is no repository
    "#);
}

#[test]
fn too_few_ticked_boxes_are_refused() {
    let tick = |boxes: &str| last(&format!("{LOGIN}, @updating_docs, docs_updated boxes={boxes}"));
    assert_snapshot!(
        tick("0/3"),
        @"docs_updated boxes=0/3: refused: `docs_updated` is refused in `updating_docs` by ac_count_check: 0 of 3 criteria are ticked in the issue; after this chunk it must be 1"
    );
    assert_snapshot!(tick("1/3"), @"docs_updated boxes=1/3: testing e6");
    assert_snapshot!(
        tick("0/0"),
        @"docs_updated boxes=0/0: refused: `docs_updated` is refused in `updating_docs` by ac_count_check: the issue has 0 criteria, but 1 would be ticked after this chunk: were criteria removed?"
    );
    assert_snapshot!(
        tick("broken"),
        @"docs_updated boxes=broken: refused: `docs_updated` is refused in `updating_docs` by ac_count_check: the issue's criteria could not be read: gh: exit 1"
    );
    assert_snapshot!(
        tick("unseen"),
        @"docs_updated boxes=unseen: refused: `docs_updated` is refused in `updating_docs` by ac_count_check: the issue's criteria were not looked at"
    );
    assert_snapshot!(tick("absent"), @"  not checked: ac_count_check: the issue has no text");
}

#[test]
fn boxes_that_were_ticked_before_the_chunk_do_not_count_for_it() {
    let second = format!("{LOGIN}, @chunk_complete, next_chunk boxes=2/3, @updating_docs");
    assert_snapshot!(
        last(&format!("{second}, docs_updated boxes=2/3")),
        @"docs_updated boxes=2/3: refused: `docs_updated` is refused in `updating_docs` by ac_count_check: 2 of 3 criteria are ticked in the issue; after this chunk it must be 3"
    );
    assert_snapshot!(
        last(&format!("{second}, docs_updated boxes=3/3")),
        @"docs_updated boxes=3/3: testing [total_chunks 1] e12"
    );
}

#[test]
fn every_configured_command_must_pass() {
    let gates = r#"warp-drive verification_gates={"code_complete":["make-lint","make-types"],"tests_passed":["make-audit"]}: @coding"#;
    let complete = |results: &str| last(&format!("{gates}, code_complete{results}"));
    assert_snapshot!(
        complete(" gate=make-types:passed gate=make-lint:passed"),
        @"code_complete gate=make-types:passed gate=make-lint:passed: updating_docs e5"
    );
    assert_snapshot!(
        complete(" gate=make-lint:passed"),
        @"code_complete gate=make-lint:passed: refused: `code_complete` is refused in `coding` by verification_gates: verification gate `make-types` was not run"
    );
    assert_snapshot!(play(&format!("{gates}, code_complete gate=make-lint:failed gate=make-types:passed")), @"
    code_complete gate=make-lint:failed gate=make-types:passed: refused: `code_complete` is refused in `coding` by verification_gates: verification gate `make-lint` failed (exit 2)
    warning: unused
    ");
    // The built-in check comes first, and each event has its own commands.
    assert_snapshot!(
        complete(" diff=nothing"),
        @"code_complete diff=nothing: refused: `code_complete` is refused in `coding` by diff_relevance_check: nothing has changed"
    );
    assert_snapshot!(play(&format!("{gates}, code_complete gate=make-lint:passed gate=make-types:passed,
        docs_updated, tests_passed")), @"
    code_complete gate=make-lint:passed gate=make-types:passed: updating_docs e5
    docs_updated: testing e6
    tests_passed: refused: `tests_passed` is refused in `testing` by verification_gates: verification gate `make-audit` was not run
    ");
}
