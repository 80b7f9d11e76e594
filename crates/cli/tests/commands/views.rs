use std::fs;

use super::{coding, json, sandbox};
use crate::support::Ends as _;

const STATE: &str = ".claude/.warp-drive-state.json";

#[test]
fn a_state_file_that_was_deleted_comes_back_with_the_next_command() {
    let sandbox = coding();
    let state = sandbox.read(STATE).unwrap();
    fs::remove_file(sandbox.root().join(STATE)).unwrap();
    fs::remove_file(sandbox.root().join(".git/warp/head")).unwrap();
    sandbox.warp_ok(&["status"]);
    assert_eq!(sandbox.read(STATE).unwrap(), state);
    assert!(sandbox.read(".git/warp/head").unwrap().contains("phase coding\n"));
}

#[test]
fn a_state_file_that_was_edited_is_set_aside_and_not_obeyed() {
    let sandbox = coding();
    let state = sandbox.read(STATE).unwrap();
    let edited = state.replace("\"phase\": \"coding\"", "\"phase\": \"committing\"");
    sandbox.write(STATE, &edited);
    sandbox.warp(&["state", "transition", ".", "committed"]).ends(3);
    let kept: Vec<_> = fs::read_dir(sandbox.root().join(".git/warp/set-aside")).unwrap().collect();
    assert_eq!(fs::read_to_string(kept[0].as_ref().unwrap().path()).unwrap(), edited);
    assert_eq!(json(&sandbox.read(STATE).unwrap())["phase"], "coding");
    let log = json(&sandbox.warp_ok(&["log", "--json"]));
    assert_eq!(log.as_array().unwrap().last().unwrap()["event"], "state_file_set_aside");
}

#[test]
fn a_state_file_one_event_behind_is_a_crash_and_not_an_edit() {
    let sandbox = coding();
    let before = sandbox.read(STATE).unwrap();
    sandbox.warp_ok(&["state", "transition", ".", "file_edited", "--data", r#"{"file":"a"}"#]);
    let after = sandbox.read(STATE).unwrap();
    sandbox.write(STATE, &before);
    sandbox.warp_ok(&["status"]);
    assert_eq!(sandbox.read(STATE).unwrap(), after);
    assert!(!sandbox.root().join(".git/warp/set-aside").exists());
}

#[test]
fn the_state_file_is_kept_out_of_commits() {
    let sandbox = coding();
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn the_state_file_is_removed_at_completed_and_the_journal_keeps_all() {
    let sandbox = coding();
    sandbox.transitions(&["abort", "abort_resolved"]);
    assert_eq!(sandbox.read(STATE), None);
    assert_eq!(sandbox.read(".git/warp/head"), None);
    assert!(sandbox.warp_ok(&["log"]).contains("completed"));
    sandbox.warp_ok(&["state", "init", ".", "--level", "2", "--issue", "43"]);
}

#[test]
fn history_in_the_state_file_is_bounded_and_the_log_is_not() {
    let sandbox = sandbox();
    sandbox.warp_ok(&[
        "state",
        "init",
        ".",
        "--workflow",
        "factory",
        "--issue",
        "1",
        "--set",
        "max_infra_retries=1000",
    ]);
    sandbox.transitions(&["claimed", "pushed"]);
    for _ in 0..60 {
        sandbox.transitions(&["ci_infra_failed"]);
    }
    let state = json(&sandbox.warp_ok(&["state", "status", "."]));
    assert_eq!(state["history"].as_array().unwrap().len(), 50);
    assert_eq!(json(&sandbox.warp_ok(&["log", "--json"])).as_array().unwrap().len(), 63);
}

#[test]
fn a_workspace_without_a_repository_works_too() {
    let sandbox = sandbox();
    let plain = sandbox.home().join("plain");
    fs::create_dir(&plain).unwrap();
    let root = plain.to_str().unwrap();
    sandbox.warp_ok(&["state", "init", root, "--level", "2", "--issue", "1"]);
    assert!(plain.join(STATE).exists());
    sandbox.warp(&["state", "gate", root, "git_commit"]).ends(2);
    assert!(sandbox.warp_ok(&["-C", root, "status"]).contains("Phase: prerequisites"));
}

#[test]
fn worktrees_of_a_project_have_runs_of_their_own() {
    let sandbox = coding();
    let tree = sandbox.home().join("tree");
    let root = tree.to_str().unwrap();
    sandbox.git(&["worktree", "add", "--quiet", "-b", "feature/issue-7", root]);
    sandbox.warp_ok(&["state", "init", root, "--level", "2", "--issue", "7"]);
    assert!(sandbox.warp_ok(&["-C", root, "status"]).contains("Issue: 7\n"));
    assert!(sandbox.warp_ok(&["status"]).contains("Issue: 42\n"));
    assert!(sandbox.warp_ok(&["status", "7"]).contains("Project: demo\n"), "one project, one journal");
    sandbox.warp(&["state", "gate", root, "git_commit"]).ends(2);
    sandbox.warp_ok(&["stop", "7"]);
    assert!(sandbox.warp_ok(&["-C", root, "status"]).contains("Phase: aborted\n"));
}
