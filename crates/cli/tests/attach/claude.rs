//! The real Claude Code in the terminal, against a scripted model.

use std::{env, fs, os::unix::fs::symlink};

use serde_json::json;
use testkit::{
    agents::Claude,
    model::{Model, Script, Turn},
};

use super::support::{Attached, is_skipped};

#[test]
fn the_real_client_is_typed_to_and_writes_its_phases() {
    if is_skipped() || Claude::or_skip().is_none() {
        return;
    }
    let model = Model::start(Script::function(|request| {
        let news = request.news();
        if news.contains("Implement issue #42") {
            Turn::call("mcp__warp__report_finding", json!({ "severity": "p3", "text": "few words" }))
        } else if news.contains("finding_reported") {
            Turn::bash("echo word1 > file1.txt && echo PHASE:awaiting_ci > \"$PHASE_FILE\"")
        } else {
            Turn::say("I wait.")
        }
    }));
    let mut attached = Attached::new("");
    let home = attached.driven.sandbox.home().to_owned();
    let bin = home.join("bin");
    fs::create_dir(&bin).unwrap();
    symlink(env::var_os("WARP_TEST_CLAUDE").unwrap(), bin.join("claude")).unwrap();
    // As after the first start of a client that a person uses.
    let known = json!({
        "hasCompletedOnboarding": true,
        "theme": "dark",
        "customApiKeyResponses": { "approved": ["dummy"], "rejected": [] },
    });
    fs::write(home.join(".claude.json"), known.to_string()).unwrap();
    let path = format!("{}:{}", bin.display(), env::var("PATH").unwrap());
    attached.agent = "claude".to_owned();
    attached.environment = vec![
        ("PATH".to_owned(), path),
        ("ANTHROPIC_BASE_URL".to_owned(), model.url()),
        ("ANTHROPIC_API_KEY".to_owned(), "dummy".to_owned()),
    ];
    attached.start(&[]);
    attached.event("pushed");
    attached.event("ci_passed");
    assert_eq!(attached.log("finding_reported").len(), 1);
    attached.driven.sandbox.warp_ok(&["stop", "42"]);
    assert_eq!(attached.end(), Some(0));
    let cost = attached.driven.sandbox.warp_ok(&["cost", "42", "--by", "agent"]);
    assert!(cost.contains("claude") && !cost.contains("unmetered"), "{cost}");
    attached.is_clean();
}
