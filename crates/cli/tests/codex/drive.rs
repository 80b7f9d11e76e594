//! A run of `warp-drive` by an agent that tries what it must not.

use testkit::agents::Codex;

use super::project::{patch, play, project, say, shell};
use crate::support::InProject as _;

#[test]
fn the_rails_hold_in_codex() {
    let Some(codex) = Codex::or_skip() else { return };
    let sandbox = project();
    sandbox.warp_ok(&["state", "init", ".", "--level", "3", "--issue", "42"]);
    let evidence = r#"{"evidence":[{"ac":"AC-01","file":"parser.rs","line":1}]}"#;
    let moves = vec![
        // The run is the client's own: by that its commands are told from a person's.
        shell("grep -q \"^owner $PPID \" .git/warp/head && echo its own", &["its own"]),
        shell("warp next", &["prerequisites -> discovering", "discovering -> planning"]),
        shell("warp state transition . plan_ready", &["planning -> chunking"]),
        shell("warp next", &["1 criterion in 1 chunk", "chunking -> coding"]),
        // What an agent must not do.
        shell(
            "git commit --allow-empty -m 'feat: too early'",
            &["git_commit is only allowed during committing phase"],
        ),
        patch("*** Add File: .claude/.warp-drive-state.json\n+{}", &["not for an agent to write"]),
        patch("  *** Add File: .warp/local/x\n+{}", &["not for an agent to write"]),
        shell(
            "apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: .codex/hooks.json\n*** End Patch\nEOF",
            &["not an agent's to write"],
        ),
        shell("warp answer 1 continue", &["is a person's"]),
        // What it does is noticed.
        patch("*** Add File: parser.rs\n+// parser reads empty files", &["Success"]),
        shell("warp state status .", &["\"parser.rs\": 1"]),
        shell(
            &format!("warp state transition . code_complete --data '{evidence}'"),
            &["coding -> updating_docs"],
        ),
        shell("warp next --step", &["updating_docs -> testing"]),
        shell("warp next --step", &["testing -> committing"]),
        shell(
            "git add -A && git commit -q -m 'feat(parser): read files'",
            &["`committed` was noticed: the run is in `reporting` now"],
        ),
        // It stops before the report is filed, and is kept going.
        say("I am done.", &["its report is not filed"]),
        shell("warp next --step", &["reporting -> chunk_complete"]),
        say("Now I am.", &[]),
    ];
    let wanted = moves.len();
    let model = play(&codex, &sandbox, "Carry on the run of this project.", moves);
    let requests = model.requests();
    assert_eq!(requests.len(), wanted, "{}", requests.last().unwrap().news());
    let told = requests[0].text();
    assert!(told.contains("A warp-drive run is under way in this project, for issue 42"), "{told}");

    let log = sandbox.json(&["log", "--json"]);
    assert_eq!(log.as_array().unwrap().last().unwrap()["phase"], "chunk_complete");
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s"]), "feat(parser): read files");
    assert!(sandbox.read(".codex/hooks.json").is_some());
    assert_eq!(sandbox.read(".warp/local/x"), None);
}
