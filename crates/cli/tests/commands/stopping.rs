use std::fs;

use super::{coding, json, sandbox};
use crate::support::{Ends as _, InProject as _};

#[test]
fn stop_moves_to_aborted_and_the_next_session_is_told() {
    let sandbox = coding();
    assert_eq!(sandbox.warp_ok(&["stop"]), "#5 coding -> aborted (abort)\n");
    let state = json(&sandbox.warp_ok(&["state", "status", "."]));
    assert_eq!(state["aborted"], true);
    assert!(sandbox.warp_ok(&["state", "inject", "."]).contains("It was aborted."));
    sandbox.transitions(&["restart", "start"]);
    assert_eq!(json(&sandbox.warp_ok(&["state", "status", "."]))["aborted"], false);
}

#[test]
fn a_hard_stop_archives_and_leaves_the_work_in_the_tree() {
    let sandbox = coding();
    sandbox.write("src/a.rs", "fn a() {}\n");
    let state = sandbox.read(".claude/.warp-drive-state.json").unwrap();
    insta::assert_snapshot!(sandbox.seen(&["stop", "--hard"]), @"
    archived [HOME]/demo/.git/warp/set-aside/[TIME]-0-warp-drive-state.json
    run [RUN] is reset; `warp log [RUN]` still shows it
    ");
    let archived = fs::read_dir(sandbox.root().join(".git/warp/set-aside")).unwrap().next().unwrap().unwrap();
    assert_eq!(fs::read_to_string(archived.path()).unwrap(), state);
    assert_eq!(sandbox.read(".claude/.warp-drive-state.json"), None);
    assert_eq!(sandbox.read("src/a.rs").unwrap(), "fn a() {}\n");
    sandbox.warp(&["status"]).ends(2);
    sandbox.warp_ok(&["state", "init", ".", "--level", "2"]);
}

#[test]
fn a_corrupt_state_file_is_archived_by_a_hard_stop() {
    let sandbox = sandbox();
    sandbox.write(".claude/.warp-drive-state.json", "{ not json");
    insta::assert_snapshot!(sandbox.refused(3, &["state", "init", ".", "--level", "2"]), @"
    error: Active session exists: `[HOME]/demo/.claude/.warp-drive-state.json` is there, but the journal knows no run for it
    hint: `warp adopt [HOME]/demo/.claude/.warp-drive-state.json` takes it over
    hint: `warp stop --hard` archives it
    ");
    sandbox.warp_ok(&["stop", "--hard"]);
    let archived = fs::read_dir(sandbox.root().join(".git/warp/set-aside")).unwrap().next().unwrap().unwrap();
    assert_eq!(fs::read_to_string(archived.path()).unwrap(), "{ not json");
    sandbox.warp_ok(&["state", "init", ".", "--level", "2"]);
}

#[test]
fn outside_warp_drive_a_stop_leaves_the_phase_and_can_be_resumed() {
    let sandbox = sandbox();
    sandbox.warp_ok(&["state", "init", ".", "--workflow", "coder", "--issue", "7"]);
    sandbox.transitions(&["receive_task", "workspace_ready"]);
    sandbox.warp_ok(&["stop"]);
    let status = sandbox.warp_ok(&["status"]);
    assert!(status.starts_with("WARP DRIVE STOPPED\n"), "{status}");
    assert!(status.contains("`warp state resume` resumes it"), "{status}");
    insta::assert_snapshot!(sandbox.refused(3, &["state", "transition", ".", "submit_plan"]), @"
    error: `submit_plan` is refused: the run was stopped in `PLANNING`
    hint: `warp state resume .` resumes it; `warp state reset .` archives it
    ");
    sandbox.warp_ok(&["state", "resume", "."]);
    sandbox.transitions(&["submit_plan"]);
    assert_eq!(sandbox.warp(&["state", "resume", "."]).code, Some(3), "it is not stopped");
}
