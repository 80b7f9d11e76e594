//! What is noticed after a tool has run.

use std::io::Write as _;

use serde_json::json;

use super::support::{call, call_raw, command, ruin_journal, standing_in, state, used};
use crate::support::InProject as _;

#[test]
fn edits_are_counted_by_file_and_too_many_are_warned_of() {
    let sandbox = standing_in("coding");
    let edit = || used(&sandbox, "Edit", json!({ "file_path": sandbox.root().join("src/a.rs") }));
    for _ in 0..5 {
        edit().is_silent();
    }
    // The file itself is up to date, also before anything else happens to the run.
    let shown: serde_json::Value =
        serde_json::from_str(&sandbox.read(".claude/.warp-drive-state.json").unwrap()).unwrap();
    assert_eq!(shown["edit_counts"]["src/a.rs"], 5);
    let warned = edit().context();
    insta::assert_snapshot!(sandbox.stable(&warned), @"doom loop: `src/a.rs` was edited 6 times in `coding` (the threshold is 5); another approach may be needed");
    assert_eq!(state(&sandbox)["edit_counts"]["src/a.rs"], 6);
    let patch = "*** Begin Patch\n*** Add File: b.rs\n+x\n*** Update File: c.rs\n*** End Patch";
    used(&sandbox, "apply_patch", json!({ "command": patch })).is_silent();
    assert_eq!(state(&sandbox)["edit_counts"]["c.rs"], 1);
    used(&sandbox, "Read", json!({ "file_path": "src/a.rs" })).is_silent();
    assert_eq!(state(&sandbox)["edit_counts"]["src/a.rs"], 6);
}

#[test]
fn an_edit_is_recorded_once_whatever_is_left_behind_by_a_crash() {
    let sandbox = standing_in("coding");
    let edit = || used(&sandbox, "Edit", json!({ "file_path": "a.rs" }));
    let count = || state(&sandbox)["edit_counts"]["a.rs"].clone();
    (0..3).for_each(|_| edit().is_silent());
    assert_eq!((count(), count()), (json!(3), json!(3)));
    (0..2).for_each(|_| edit().is_silent());
    assert_eq!(count(), 5);
    assert!(edit().context().contains("edited 6 times"), "recorded edits count too");

    // The file of a phase that was left is what a crash may leave; so is a line that was cut short.
    let left = sandbox.read(".git/warp/edits").unwrap();
    sandbox.write("parser.rs", "fn parse() {}\n");
    sandbox.transitions(&["code_complete"]);
    assert_eq!(sandbox.read(".git/warp/edits"), None);
    sandbox.write(".git/warp/edits", &left);
    assert_eq!(state(&sandbox)["edit_counts"], json!({}));
    edit().is_silent();
    let whole = sandbox.read(".git/warp/edits").unwrap();
    sandbox.write(".git/warp/edits", format!("{whole}2 a.r"));
    assert_eq!(count(), 1);

    let log = sandbox.warp_ok(&["log", "--json"]);
    assert_eq!(log.matches("\"event\": \"edits_counted\"").count(), 7, "{log}");
}

#[test]
fn hooks_at_the_same_time_lose_no_count() {
    let sandbox = standing_in("coding");
    let input = json!({
        "session_id": "s", "cwd": sandbox.root(), "tool_name": "Write", "tool_input": { "file_path": "a.rs" },
    });
    let input = input.to_string();
    let start = || {
        let mut child = command(&sandbox, "post-tool-use").spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child
    };
    let children: Vec<_> = (0..40).map(|_| start()).collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    assert_eq!(state(&sandbox)["edit_counts"]["a.rs"], 40);
}

#[test]
fn a_commit_is_noticed_by_its_effect_and_moves_the_run_on() {
    let sandbox = standing_in("committing");
    call(&sandbox, "session-start", json!({ "source": "startup" }));
    used(&sandbox, "Bash", json!({ "command": "git status" })).is_silent();
    sandbox.commit("feat: x");
    let told = used(&sandbox, "Bash", json!({ "command": "make commit" })).context();
    assert!(told.contains("`committed` was noticed: the run is in `reporting` now"), "{told}");
    let state = state(&sandbox);
    assert_eq!(state["commit_hashes"][0], sandbox.git(&["rev-parse", "HEAD"]));
    used(&sandbox, "Bash", json!({ "command": "ls" })).is_silent();
}

#[test]
fn with_the_drift_gate_on_a_commit_goes_through_it() {
    let sandbox = standing_in("testing");
    sandbox.warp_ok(&["state", "reset", "."]);
    sandbox.write("warp.toml", "[workflow]\ndoc_drift_gate = true\n");
    sandbox.warp_ok(&["state", "init", ".", "--level", "3", "--issue", "42"]);
    sandbox.transitions(&[
        "prerequisites_ok",
        "work_selected",
        "plan_ready",
        "chunks_defined",
        "code_complete",
    ]);
    sandbox.transitions(&["docs_updated", "tests_passed"]);
    sandbox.write("scripts/run", "x");
    sandbox.commit("feat: x");
    let told = used(&sandbox, "Bash", json!({ "command": "git commit -m 'feat: x'" })).context();
    assert!(told.contains("`commit_with_doc_gate` was noticed"), "{told}");
    assert!(told.contains("and no document"), "{told}");
    assert_eq!(state(&sandbox)["phase"], "doc_drift_check");
}

#[test]
fn ticked_criteria_are_noticed_and_the_gate_of_that_event_decides() {
    let sandbox = standing_in("updating_docs");
    sandbox.warp_ok(&["state", "reset", "."]);
    sandbox.issue(42, "# T\n- [ ] parse one\n- [ ] parse two\n");
    sandbox.warp_ok(&["state", "init", ".", "--level", "3", "--issue", "42"]);
    sandbox.to_coding(r#"[["AC-01"],["AC-02"]]"#);
    sandbox.transitions(&["code_complete"]);
    let edit = || used(&sandbox, "Bash", json!({ "command": "gh issue edit 42 --body-file x" })).context();
    let told = edit();
    insta::assert_snapshot!(sandbox.stable(&told), @"`docs_updated` is refused in `updating_docs` by ac_count_check: 0 of 2 criteria are ticked in the issue; after this chunk it must be 1");
    sandbox.issue(42, "# T\n- [x] parse one\n- [ ] parse two\n");
    let told = edit();
    insta::assert_snapshot!(sandbox.stable(&told), @"`docs_updated` was noticed: the run is in `testing` now; `warp next` continues");
}

#[test]
fn a_document_that_is_edited_while_docs_are_due_moves_the_run_on() {
    let sandbox = standing_in("coding");
    sandbox.warp_ok(&["state", "reset", "."]);
    sandbox.issue(42, "# T\n- [ ] parse one\n");
    sandbox.warp_ok(&["state", "init", ".", "--level", "3", "--issue", "42"]);
    sandbox.to_coding(r#"[["AC-01"]]"#);
    used(&sandbox, "Edit", json!({ "file_path": "docs/parser.md" })).is_silent();
    assert_eq!(state(&sandbox)["phase"], "coding");
    sandbox.write("parser.rs", "fn parse() {}\n");
    sandbox.transitions(&["code_complete"]);
    used(&sandbox, "Edit", json!({ "file_path": "parser.rs" })).is_silent();
    let told = used(&sandbox, "Write", json!({ "file_path": "docs/parser.md" })).context();
    assert!(told.contains("ticked in issue 42: 1 criterion"), "{told}");
    assert!(told.contains("`docs_updated` was noticed: the run is in `testing` now"), "{told}");
    assert_eq!(state(&sandbox)["phase"], "testing");
}

#[test]
fn a_commit_outside_a_run_that_leaves_tooling_undocumented_is_advised_on_once() {
    let sandbox = testkit::Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    let commit = |file: &str| {
        sandbox.write(file, "x\n");
        sandbox.commit("feat: x");
        used(&sandbox, "Bash", json!({ "command": "git commit -m 'feat: x'" }))
    };
    let told = commit("scripts/deploy.sh").context();
    insta::assert_snapshot!(sandbox.stable(&told), @"the commit changes `scripts/deploy.sh` and no document: check that the documentation still says what it does (`warp docs audit`)");
    used(&sandbox, "Bash", json!({ "command": "git log --grep commit" })).is_silent();
    commit("src/a.rs").is_silent();
    sandbox.write("README.md", "how to deploy\n");
    commit("bin/deploy").is_silent();
}

#[test]
fn observers_never_disturb() {
    let sandbox = standing_in("coding");
    for event in [
        "post-tool-use",
        "post-tool-use-failure",
        "session-start",
        "user-prompt-submit",
        "stop",
        "pre-compact",
    ] {
        for input in ["", "{", "{\"cwd\":\"/nowhere\"}", "\u{0}"] {
            let answered = call_raw(&sandbox, event, input.as_bytes());
            assert_eq!((answered.code, answered.out.as_str()), (Some(0), ""), "{event} {input:?}");
        }
    }
    ruin_journal(&sandbox);
    let answered = call(&sandbox, "session-start", json!({ "source": "startup" }));
    assert_eq!((answered.code, answered.out.as_str()), (Some(0), ""));
    assert!(answered.err.contains("journal"), "{answered:?}");
    let answered = used(&sandbox, "Edit", json!({ "file_path": "a.rs" }));
    assert_eq!((answered.code, answered.out.as_str()), (Some(0), ""));
}

#[test]
fn only_the_session_that_carries_the_run_on_is_counted() {
    let sandbox = standing_in("coding");
    call(&sandbox, "session-start", json!({ "source": "startup" }));
    let stranger =
        json!({ "session_id": "other", "tool_name": "Edit", "tool_input": { "file_path": "a.rs" } });
    call(&sandbox, "post-tool-use", stranger).is_silent();
    assert_eq!(state(&sandbox)["edit_counts"], json!({}));
}
