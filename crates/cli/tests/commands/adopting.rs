use super::{json, sandbox};
use crate::support::{Ends as _, InProject as _};

const LOOP_V1: &str = r#"{"version":1,"feature":"Login","phase":"work","phase_iteration":2,"global_iteration":9,
  "phases_completed":["plan"],"receipts":[{"phase":"plan","artifact":"p.md","git_sha":"a","timestamp":"2026-02-13T10:15:00Z"}],
  "mood":"good"}"#;

#[test]
fn a_state_file_of_the_original_is_adopted_with_its_unknown_fields_and_without_receipts() {
    let sandbox = sandbox();
    sandbox.write(".claude/autonomous-loop.json", LOOP_V1);
    assert!(sandbox.warp(&["status"]).out.contains("takes it over"));
    let said = sandbox.warp(&["adopt", ".claude/autonomous-loop.json"]).ends(0);
    insta::assert_snapshot!(sandbox.stable(&said.err), @"
    note: the file was of version 1 and was brought to version 2
    note: receipts were not carried over: nobody here has checked them
    note: the original file is kept as [HOME]/demo/.git/warp/set-aside/[TIME]-0-autonomous-loop.json
    ");
    let state = json(&sandbox.read(".claude/autonomous-loop.json").unwrap());
    assert_eq!(
        (state["version"].as_u64(), state["phase"].as_str(), state["mood"].as_str()),
        (Some(2), Some("work"), Some("good"))
    );
    assert_eq!(state["receipts"], serde_json::json!([]));
    assert_eq!(sandbox.warp(&["adopt", ".claude/autonomous-loop.json"]).code, Some(3), "a run is open now");
}

#[test]
fn an_adopted_run_never_stands_in_a_phase_that_gives_leave() {
    let sandbox = sandbox();
    sandbox.write("old.json", r#"{"version":1,"session":{"started_at":"2026-05-08T15:56:59.401Z","level":3},"phase":"committing","requirement":"42"}"#);
    let said = sandbox.warp(&["adopt", "old.json"]);
    insta::assert_snapshot!(sandbox.stable(&said.err), @"note: `committing` gives permission, so the run stands in `testing`: its last step is done again");
    sandbox.warp(&["state", "gate", ".", "git_commit"]).ends(2);
    assert!(sandbox.read("old.json").is_some(), "a file outside its place is left alone");
}

#[test]
fn a_file_that_is_no_state_file_is_refused_with_the_reason() {
    let sandbox = sandbox();
    for (text, why) in [
        ("{", "it is not JSON: EOF while parsing an object at line 1 column 1"),
        ("[]", "it is no JSON object"),
        (r#"{"phase":"coding"}"#, "it has neither `session` nor `feature`"),
        (r#"{"session":{},"phase":"dancing"}"#, "phase `dancing` is not a phase of warp-drive"),
        (r#"{"session":{},"phase":"completed"}"#, "that run is over"),
        (r#"{"session":{"level":"high"},"phase":"coding"}"#, "`level` must be a number"),
    ] {
        sandbox.write("bad.json", text);
        let said = sandbox.warp(&["adopt", "bad.json"]);
        assert_eq!(said.code, Some(65), "{text}");
        assert!(said.err.contains(why), "{}", said.err);
        sandbox.warp(&["status"]).ends(2);
    }
}
