//! Codex's own walls around its commands.
//!
//! Within them `.git` and everything outside the project can only be read, unless the person says otherwise, and the
//! processes outside cannot be seen.

use testkit::{
    agents::{Codex, skip},
    model::{Model, Turn},
};

use super::project::{on_its_path, project};
use crate::support::Ends as _;

/// A commit that cannot be seen in the command's text, by a process without any mark of an agent's.
const DISGUISED: &str = "env -i PATH=\"$PATH\" HOME=\"$HOME\" XDG_STATE_HOME=\"$XDG_STATE_HOME\" GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@localhost \
    GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@localhost awk \
    'BEGIN { system(\"gi\" \"t com\" \"mit --allow-empty -m x\") }'";

#[test]
fn a_command_within_codexs_walls_is_the_agents() {
    let Some(codex) = Codex::or_skip() else { return };
    let sandbox = project();
    sandbox.warp_ok(&["state", "init", ".", "--level", "3", "--issue", "42"]);
    let before = sandbox.git(&["rev-parse", "HEAD"]);
    let model = Model::start([
        Turn::exec_command("cat /proc/1/comm"),
        Turn::exec_command("warp next"),
        Turn::exec_command(DISGUISED),
    ]);
    let writable = [sandbox.root().join(".git"), sandbox.home().join("state/warp")];
    let said = sandbox.warp_command(&["init", "--agent", "codex"]).output().unwrap();
    let said = String::from_utf8(said.stderr).unwrap();
    assert!(said.contains(&format!("writable_roots = {writable:?}")), "{said}");
    let launch = codex.launch_walled(&sandbox, &model, "Commit.", &writable);
    on_its_path(launch, &sandbox).run().ends(0);
    let requests = model.requests();
    let told = |request: usize| requests[request].last_tool_result().unwrap();
    if !told(1).contains("\ncodex") {
        return skip("Codex cannot start its sandbox here");
    }
    assert!(told(2).contains("prerequisites -> discovering"), "{}", told(2));
    assert!(told(3).contains("git_commit is only allowed during committing phase"), "{}", told(3));
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), before);
}
