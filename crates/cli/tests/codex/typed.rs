//! A shell that an agent types into: no hook of the client's sees the words.

use serde_json::json;
use testkit::{
    agents::Codex,
    model::{Model, Script, Turn},
};

use super::project::{launch, project};
use crate::support::Ends as _;

#[test]
fn what_is_typed_into_a_shell_is_held_by_git() {
    let Some(codex) = Codex::or_skip() else { return };
    let sandbox = project();
    sandbox.warp_ok(&["state", "init", ".", "--level", "3", "--issue", "42"]);
    let before = sandbox.git(&["rev-parse", "HEAD"]);
    let mut shell = None;
    let mut asked = 0;
    let model = Model::start(Script::function(move |request| {
        let Some(told) = request.last_tool_result() else {
            let open = json!({ "cmd": "bash --norc", "tty": true, "yield_time_ms": 250 });
            return Turn::call("exec_command", open);
        };
        let number = || told.split("session ID ").nth(1)?.split_whitespace().next()?.parse::<u64>().ok();
        shell = shell.or_else(number);
        asked += 1;
        let chars = match asked {
            1 => "git commit --allow-empty -m typed; echo it ended: $?\n",
            _ if told.contains("it ended: 1") => return Turn::say("It is refused."),
            _ => "\n",
        };
        Turn::call("write_stdin", json!({ "session_id": shell, "chars": chars, "yield_time_ms": 250 }))
    }));
    launch(&codex, &sandbox, &model, "Commit.").run().ends(0);
    let told = model.text();
    assert!(told.contains("it ended: 1"), "{told}");
    assert!(told.contains("git_commit is only allowed during committing phase"), "{told}");
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), before);
}
