//! What a person types to their agent in plain words, and the commands that begin a run.

use serde_json::{Value, json};
use testkit::Sandbox;

use super::support::{call, standing_in, state};
use crate::support::InProject as _;

fn typed(sandbox: &Sandbox, prompt: &str) -> String {
    let answered = call(sandbox, "user-prompt-submit", json!({ "prompt": prompt }));
    if answered.out.is_empty() { String::new() } else { answered.context() }
}

/// Returns the newest record of an event.
fn newest(sandbox: &Sandbox, event: &str) -> Value {
    let log = sandbox.json(&["log", "--json"]);
    let found = log.as_array().unwrap().iter().rev().find(|record| record["event"] == event);
    found.unwrap_or_else(|| panic!("no {event}: {log}")).clone()
}

/// A run that asks whether to continue.
fn done() -> Sandbox {
    let sandbox = standing_in("reporting");
    sandbox.transitions(&["report_filed", "requirement_done", "merge_ready", "merged"]);
    assert_eq!(state(&sandbox)["phase"], "awaiting_continue");
    sandbox
}

#[test]
fn yes_in_the_chat_continues_with_the_next_issue_and_is_the_persons() {
    for (prompt, phase, event) in [
        ("yes, continue", "discovering", "continue_yes"),
        ("Sure, go on!", "discovering", "continue_yes"),
        ("no, that's all for today", "session_ending", "continue_no"),
        ("stop", "session_ending", "continue_no"),
    ] {
        let sandbox = done();
        let told = typed(&sandbox, prompt);
        assert!(
            told.contains("has decided:") && told.contains(&format!("phase `{phase}`")),
            "{prompt}: {told}"
        );
        assert_eq!(state(&sandbox)["phase"], phase, "{prompt}");
        let record = newest(&sandbox, event);
        assert_eq!(
            (&record["actor"], &record["data"]["via"]),
            (&json!("person"), &json!("chat")),
            "{record}"
        );
        assert!(record["data"]["by"].as_str().is_some_and(|by| !by.is_empty()), "{record}");
    }
}

#[test]
fn another_session_speaks_of_something_else() {
    let sandbox = done();
    call(&sandbox, "session-start", json!({ "source": "startup" }));
    let other = json!({ "session_id": "other", "prompt": "yes" });
    assert_eq!(call(&sandbox, "user-prompt-submit", other).out, "");
    assert_eq!(state(&sandbox)["phase"], "awaiting_continue");
    typed(&sandbox, "yes");
    assert_eq!(state(&sandbox)["phase"], "discovering");
}

#[test]
fn stop_in_the_chat_stops_the_run_and_other_words_do_not() {
    let sandbox = standing_in("coding");
    for prompt in ["stop using unwrap", "add a stop button", "don't stop"] {
        assert_eq!(typed(&sandbox, prompt), "", "{prompt}");
    }
    let told = typed(&sandbox, "please stop");
    assert!(told.contains("The person stopped the run") && told.contains("aborted"), "{told}");
    assert_eq!(newest(&sandbox, "abort")["actor"], "person");
}

#[test]
fn somebody_who_grabs_lunch_is_away_while_a_run_is_open() {
    let sandbox = standing_in("coding");
    let told = typed(&sandbox, "grab lunch, keep going");
    insta::assert_snapshot!(sandbox.stable(&told), @"The person wants decisions and notices in Telegram, but cannot be reached: there is no bot token; put it into `[HOME]/config/warp/telegram-token`, or into WARP_TELEGRAM_TOKEN. Tell them that, and that questions stay in the terminal until `warp rdb test` succeeds.");
    let settings = || sandbox.read(".claude/settings.local.json");
    assert!(settings().is_some_and(|settings| settings.contains("\"enabled\": true")), "{:?}", settings());
    let bare = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    assert_eq!(typed(&bare, "grab lunch, keep going"), "");
    assert_eq!(bare.read(".claude/settings.local.json"), None);
}

#[test]
fn a_run_begins_only_with_an_issue_that_can_be_worked_on() {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    typed(&sandbox, "/automation level 3");
    let told = typed(&sandbox, "/warp-drive");
    insta::assert_snapshot!(sandbox.stable(&told), @"No run was begun: no open issue is labelled `req`: `warp issue new` files one.");
    sandbox.issue(41, "# Done\n\n- [ ] it is done\n");
    sandbox.warp_ok(&["issue", "close", "41"]);
    for (prompt, why) in [
        ("/warp-drive 99", "issue 99 cannot be worked on: not there (`warp issue list` lists the issues)"),
        ("/warp-drive 41", "issue 41 cannot be worked on: closed"),
        ("/warp-drive the parser", "takes one issue"),
        ("/warp-drive parser", "`parser` is no number of an issue"),
    ] {
        let told = typed(&sandbox, prompt);
        assert!(told.contains(why), "{prompt}: {told}");
        assert_eq!(sandbox.warp(&["status"]).code, Some(2), "{prompt}");
    }
    sandbox.warp_ok(&["issue", "new", "--title", "Print", "--body", "- [ ] it prints"]);
    let told = typed(&sandbox, "/warp-drive");
    insta::assert_snapshot!(sandbox.stable(&told), @"No run was begun: no issue is approved: `warp issue approve N` lets one be taken.");
    let told = typed(&sandbox, "/warp-drive #42");
    assert!(told.contains("phase `prerequisites`"), "{told}");
    assert!(sandbox.warp_ok(&["issue", "show", "42"]).contains("approved by"), "to name it is to approve it");
    typed(&sandbox, "/stop-warp-drive reset");
    let told = typed(&sandbox, "/warp-drive");
    assert!(told.contains("phase `prerequisites`"), "{told}");
}

#[test]
fn a_level_sets_a_bare_project_up_and_undo_takes_it_back() {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    let before = sandbox.git(&["status", "--short", "--untracked-files=all"]);
    let told = typed(&sandbox, "/automation level 2");
    insta::assert_snapshot!(sandbox.stable(&told), @"The person set the automation level to 2, in .claude/settings.local.json with its permission rules; runs that begin from now on go by it. Git's hooks guard its branches now. `warp init --undo` takes that back.");
    let settings: Value =
        serde_json::from_str(&sandbox.read(".claude/settings.local.json").unwrap()).unwrap();
    assert_eq!(settings["_automation"]["active_level"], 2);
    let rules = |list: &str| settings["permissions"][list].to_string();
    assert!(rules("allow").contains("Bash(warp next*)") && rules("allow").contains("\"Edit\""), "{settings}");
    assert!(rules("deny").contains("git push --force"), "{settings}");
    let hook = sandbox.read(".git/hooks/reference-transaction");
    assert!(hook.is_some_and(|hook| hook.contains("warp")), "git asks warp too");
    typed(&sandbox, "/automation level 3");
    let settings = sandbox.read(".claude/settings.local.json").unwrap();
    assert!(
        settings.contains("\"Bash(git push *)\"") && !settings.contains("\"Bash(git push*)\""),
        "{settings}"
    );
    sandbox.warp_ok(&["init", "--undo"]);
    assert_eq!(sandbox.read(".claude/settings.local.json"), None);
    assert_eq!(sandbox.git(&["status", "--short", "--untracked-files=all"]), before);
}
