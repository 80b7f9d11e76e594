use super::{coding, json, sandbox};
use crate::support::Ends as _;

#[test]
fn status_looks_as_in_the_original() {
    let sandbox = coding();
    let said = sandbox.warp_ok(&["status"]);
    let status = json(&sandbox.warp_ok(&["status", "--json"]));
    let said = said.replace(status["run"].as_str().unwrap(), "[RUN]");
    insta::assert_snapshot!(said.replace(&status["pid"].to_string(), "[PID]"), @r"
    WARP DRIVE ACTIVE
    Project: demo
    Phase: coding
    Issue: 42
    Branch: feature/issue-42-parser
    Level: 2
    Chunk: 1 / 2
    Commits: 0 Chunks: 0 Tests: 0 Reports: 0
    Started: [TIME]
    PID: [PID]
    Rails: none; `warp init` puts them in
    Run: [RUN]
    ");
}

#[test]
fn a_session_whose_process_has_ended_is_stale() {
    let sandbox = sandbox();
    let mut child = sandbox.command("true").spawn().unwrap();
    let pid = child.id().to_string();
    child.wait().unwrap();
    sandbox.warp_ok(&["state", "init", ".", "--level", "2", "--pid", &pid]);
    let said = sandbox.warp_ok(&["status"]);
    assert!(said.starts_with("INTERRUPTED: the next session here resumes\n"), "{said}");
    assert!(said.contains(&format!("\nPID: {pid} (not running)\n")), "{said}");
    let live = std::process::id().to_string();
    sandbox.warp_ok(&["state", "reset", "."]);
    sandbox.warp_ok(&["state", "init", ".", "--level", "2", "--pid", &live]);
    assert!(sandbox.warp_ok(&["status"]).contains(&format!("\nPID: {live}\n")));
}

#[test]
fn the_log_shows_every_move_oldest_first() {
    let sandbox = coding();
    sandbox.warp_ok(&["state", "transition", ".", "file_edited", "--data", r#"{"file":"src/a.rs"}"#]);
    insta::assert_snapshot!(sandbox.warp_ok(&["log"]), @r"
    Phase History (demo)

    #   Phase                    Event               Time
    ─── ──────────────────────── ─────────────────── ─────────────────────
    0   prerequisites            init                [TIME]
    1   discovering              prerequisites_ok    [TIME]
    2   planning                 work_selected       [TIME]
    3   chunking                 plan_ready          [TIME]
    4   coding                   chunks_defined      [TIME]
    ");
    let rows = json(&sandbox.warp_ok(&["log", "--json"]));
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 6);
    for (seq, row) in rows.iter().enumerate() {
        assert_eq!(row["seq"], seq);
        assert_eq!(row["from"].is_null(), seq == 0);
    }
    assert_eq!(
        (rows[4]["event"].as_str(), rows[4]["phase"].as_str()),
        (Some("chunks_defined"), Some("coding"))
    );
    assert_eq!(rows[4]["data"]["acs"][1][0], "AC-03");
    assert_eq!((rows[5]["event"].as_str(), rows[5]["moved"].as_bool()), (Some("file_edited"), Some(false)));
}

#[test]
fn explain_says_where_why_and_what_next() {
    let sandbox = coding();
    let said = sandbox.warp_ok(&["explain"]);
    let run = json(&sandbox.warp_ok(&["explain", "--json"]))["run"].as_str().unwrap().to_owned();
    insta::assert_snapshot!(said.replace(&run, "[RUN]"), @r#"
    Run [RUN] of warp-drive is in `coding`: implements the current chunk's acceptance criteria.
    Why: `chunks_defined` led here from `chunking` at [TIME].
    Waits for: an agent in the role of coder.
    Until: [TIME]; then phase_timeout.
    Next:
      code_complete -> updating_docs; needs a change (diff_relevance_check), from an agent evidence for AC-01, AC-02: --data '{"evidence":[{"ac":"AC-01","file":"src/a.rs","line":12},{"ac":"AC-02","test":"name_of_a_test"}]}'
      abort -> aborted
    Budgets:
      phase_timeout: 0 of 30
      retry_exceeded: 0 of 5
      coding_cycles_exceeded: 0 of 3
      no_progress: 0 of 3
      total_chunks_exceeded: 0 of 20
      session_timeout: 0 of 480
    "#);
}

#[test]
fn a_run_is_found_by_its_id_and_by_its_issue_also_when_it_is_over() {
    let sandbox = coding();
    let run = json(&sandbox.warp_ok(&["status", "--json"]))["run"].as_str().unwrap().to_owned();
    sandbox.warp_ok(&["stop"]);
    sandbox.transitions(&["abort_resolved"]);
    for selector in [run.as_str(), "42", "#42"] {
        assert!(
            sandbox.warp_ok(&["status", selector]).starts_with("WARP DRIVE ENDED (completed)"),
            "{selector}"
        );
        assert!(sandbox.warp_ok(&["log", selector]).contains("abort_resolved"));
    }
    sandbox.warp(&["status", "77"]).ends(2);
    sandbox.warp(&["log", "nope"]).ends(2);
}

#[test]
fn the_doom_loop_is_told_at_the_sixth_edit() {
    let sandbox = coding();
    let edit =
        || sandbox.warp(&["state", "transition", ".", "file_edited", "--data", r#"{"file":"src/a.rs"}"#]);
    for _ in 0..5 {
        assert_eq!(edit().err, "");
    }
    assert!(edit().err.contains("doom loop: `src/a.rs` was edited 6 times in `coding`"));
    let state = json(&sandbox.warp_ok(&["state", "status", "."]));
    assert_eq!(state["edit_counts"]["src/a.rs"], 6);
    assert_eq!(state["doom_loop_events"].as_array().unwrap().len(), 1);
}

#[test]
fn a_project_can_be_looked_at_from_a_directory_below_it() {
    let sandbox = coding();
    sandbox.write("src/deep/file.rs", "");
    let below = sandbox.root().join("src/deep");
    assert!(sandbox.warp_ok(&["-C", below.to_str().unwrap(), "status"]).contains("Phase: coding"));
}

#[test]
fn the_status_names_the_branch_that_the_work_is_on_now() {
    let sandbox = coding();
    sandbox.git(&["branch", "--move", "feature/renamed"]);
    assert!(sandbox.warp_ok(&["status"]).contains("\nBranch: feature/renamed\n"));
    assert_eq!(json(&sandbox.warp_ok(&["status", "--json"]))["branch"], "feature/renamed");
}
