#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use serde_json::{Value, json as value};
use testkit::Sandbox;

use super::{json, sandbox};
use crate::support::{Ends as _, InProject as _};

const SETTINGS: &str = ".claude/settings.json";
const LOCAL: &str = ".claude/settings.local.json";
const ODD: &str = "{\r\n      \"zeta\" : 1,\r\n      \"hooks\": {\r\n            \"Stop\": [ { \"hooks\": [ {\"type\":\"command\",\"command\":\"./mine.sh\"} ] } ]\r\n      },\r\n\r\n      \"permissions\": {\"deny\": [\"Bash(git reset --hard*)\", \"Read(.env)\"]},\r\n      \"alpha\": [ ]\r\n}";

/// Every file under a directory: its mode, and its bytes or where it leads.
fn tree(directory: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(path) = waiting.pop() {
        let data = path.symlink_metadata().unwrap();
        let bytes = if data.is_symlink() {
            fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
        } else if data.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            Vec::new()
        } else {
            fs::read(&path).unwrap()
        };
        let name = path.strip_prefix(directory).unwrap().to_string_lossy().into_owned();
        found.insert(name, (data.permissions().mode(), bytes));
    }
    found
}

/// Sets up, again, and takes back: the second time changes nothing, and in the end every byte is as before.
fn there_and_back(sandbox: &Sandbox, arguments: &[&str]) {
    let before = tree(sandbox.home());
    let dry = sandbox.warp_ok(&[&["init", "--dry-run"], arguments].concat());
    assert!(dry.contains("\n+++ ") && dry.ends_with("Nothing was written.\n"), "{dry}");
    assert_eq!(tree(sandbox.home()), before);
    let said = sandbox.warp_ok(&[&["init"], arguments].concat());
    assert!(said.contains("created ") && !said.contains("+++ "), "{said}");
    assert!(said.contains("\nNext: `warp issue new` files an issue"), "{said}");
    let set_up = tree(sandbox.home());
    assert_ne!(set_up, before);
    let again = sandbox.warp_ok(&[&["init"], arguments].concat());
    assert!(again.ends_with("Everything is set up already; nothing was changed.\n"), "{again}");
    assert_eq!(tree(sandbox.home()), set_up);
    sandbox.warp_ok(&["init", "--undo", "--dry-run"]);
    assert_eq!(tree(sandbox.home()), set_up);
    sandbox.warp_ok(&["init", "--undo"]);
    assert_eq!(tree(sandbox.home()), before);
}

fn settings(sandbox: &Sandbox, name: &str) -> Value {
    json(&sandbox.read(name).unwrap())
}

#[test]
fn an_empty_project_is_set_up_and_taken_back() {
    there_and_back(&sandbox(), &[]);
    there_and_back(&sandbox(), &["--level", "3"]);
    there_and_back(&sandbox(), &["--agent", "codex"]);
}

#[test]
fn a_directory_without_a_repository_is_set_up_and_taken_back() {
    let sandbox = sandbox();
    fs::remove_dir_all(sandbox.root().join(".git")).unwrap();
    there_and_back(&sandbox, &["--level", "2"]);
}

#[test]
fn odd_files_of_others_keep_every_byte() {
    for text in [
        ODD,
        "{}",
        "",
        "{\"a\":1}",
        "{\n\t\"permissions\": {\n\t\t\"allow\": []\n\t}\n}",
        "{\n \"hooks\":{}}\n\n",
        "// mine\n{\n  \"a\": 1 // one\n}\n",
    ] {
        let sandbox = sandbox();
        sandbox.write(SETTINGS, text);
        sandbox.write(LOCAL, "{\"_automation\": {\"active_level\": 1},\n  \"_rdb\": {\"enabled\": false}}");
        sandbox.write("warp.toml", "# mine\n");
        fs::set_permissions(sandbox.root().join(SETTINGS), fs::Permissions::from_mode(0o600)).unwrap();
        there_and_back(&sandbox, &["--level", "2"]);
    }
}

#[test]
fn what_was_there_stays_in_its_place_and_layout() {
    let sandbox = sandbox();
    sandbox.write(SETTINGS, ODD);
    sandbox.warp_ok(&["init"]);
    let text = sandbox.read(SETTINGS).unwrap();
    let keys: Vec<String> = settings(&sandbox, SETTINGS).as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["zeta", "hooks", "permissions", "alpha"]);
    assert!(text.starts_with("{\r\n      \"zeta\" : 1,\r\n      \"hooks\": {\r\n            \"Stop\": [ { \"hooks\": [ {\"type\":\"command\",\"command\":\"./mine.sh\"} ] },"), "{text}");
    assert!(text.ends_with("\"alpha\": [ ]\r\n}") && !text.replace("\r\n", "").contains('\n'));
    let deny = settings(&sandbox, SETTINGS)["permissions"]["deny"].clone();
    assert_eq!(deny[1], "Read(.env)");
    let hard = deny.as_array().unwrap().iter().filter(|rule| **rule == "Bash(git reset --hard*)").count();
    assert_eq!(hard, 1);
}

#[test]
fn every_event_has_a_hook_in_exec_form() {
    let sandbox = sandbox();
    sandbox.warp_ok(&["init"]);
    let hooks = settings(&sandbox, SETTINGS)["hooks"].clone();
    for (event, argument) in [
        ("SessionStart", "session-start"),
        ("UserPromptSubmit", "user-prompt-submit"),
        ("PreToolUse", "pre-tool-use"),
        ("PostToolUse", "post-tool-use"),
        ("PostToolUseFailure", "post-tool-use-failure"),
        ("PermissionRequest", "permission-request"),
        ("Stop", "stop"),
        ("StopFailure", "stop-failure"),
        ("SubagentStop", "subagent-stop"),
        ("PreCompact", "pre-compact"),
        ("SessionEnd", "session-end"),
    ] {
        let handler = &hooks[event][0]["hooks"][0];
        assert_eq!(handler["args"], value!(["hook", argument]));
        assert!(Path::new(handler["command"].as_str().unwrap()).is_absolute());
        assert!(handler["timeout"].is_u64());
    }
    assert_eq!(hooks.as_object().unwrap().len(), 11);
}

#[test]
fn rules_go_by_the_level() {
    let has = |sandbox: &Sandbox, list: &str, rule: &str| {
        settings(sandbox, SETTINGS)["permissions"][list].as_array().unwrap().contains(&value!(rule))
    };
    let sandbox = sandbox();
    sandbox.warp_ok(&["init"]);
    assert!(!has(&sandbox, "allow", "Edit") && has(&sandbox, "ask", "Bash(git push*)"));
    assert!(sandbox.read(LOCAL).is_none());
    sandbox.warp_ok(&["init", "--level", "3"]);
    assert!(has(&sandbox, "allow", "Edit") && has(&sandbox, "allow", "Bash(git push *)"));
    assert!(!has(&sandbox, "ask", "Bash(git push*)") && has(&sandbox, "ask", "Bash(git push * main)"));
    assert_eq!(settings(&sandbox, LOCAL), value!({"_automation": {"active_level": 3}}));
    // The level that is written down counts from then on.
    let said = sandbox.warp_ok(&["init"]);
    assert!(said.contains("permission rules of level 3"), "{said}");
    assert!(has(&sandbox, "deny", "Bash(gh pr merge*)"));
    sandbox.warp_ok(&["init", "--undo"]);
    assert_eq!((sandbox.read(SETTINGS), sandbox.read(LOCAL)), (None, None));
    assert!(!sandbox.root().join(".claude").exists());
}

#[test]
fn a_link_stays_a_link_and_its_file_is_changed() {
    let sandbox = sandbox();
    sandbox.write("../dotfiles/settings.json", "{\n  \"model\": \"x\"\n}\n");
    fs::create_dir(sandbox.root().join(".claude")).unwrap();
    symlink("../../dotfiles/settings.json", sandbox.root().join(SETTINGS)).unwrap();
    there_and_back(&sandbox, &[]);
    sandbox.warp_ok(&["init"]);
    assert!(sandbox.root().join(SETTINGS).is_symlink());
    assert!(sandbox.read("../dotfiles/settings.json").unwrap().contains("pre-tool-use"));
}

#[test]
fn a_link_to_nothing_yet_is_followed_too() {
    let sandbox = sandbox();
    fs::create_dir_all(sandbox.home().join("dotfiles")).unwrap();
    fs::create_dir(sandbox.root().join(".claude")).unwrap();
    symlink("../../dotfiles/settings.json", sandbox.root().join(SETTINGS)).unwrap();
    there_and_back(&sandbox, &[]);
}

#[test]
fn a_linked_directory_is_followed() {
    let sandbox = sandbox();
    fs::create_dir_all(sandbox.home().join("dotfiles/claude")).unwrap();
    symlink("../dotfiles/claude", sandbox.root().join(".claude")).unwrap();
    there_and_back(&sandbox, &["--level", "2"]);
}

#[test]
fn a_file_with_a_syntax_error_is_left_alone_and_so_is_everything_else() {
    let sandbox = sandbox();
    sandbox.write(SETTINGS, "{\n  \"a\": 1,\n}\n");
    let before = tree(sandbox.home());
    let said = sandbox.warp(&["init", "--level", "2"]).ends(65);
    assert_eq!(
        said.err,
        "error: `.claude/settings.json` cannot be edited: line 2, column 9: trailing commas are not allowed\n\
         hint: nothing was changed; fix `.claude/settings.json` there, then run the same again\n"
    );
    assert_eq!(tree(sandbox.home()), before);
    sandbox.write(SETTINGS, "{\"hooks\": {\"Stop\": \"x\"}}");
    insta::assert_snapshot!(sandbox.refused(65, &["init"]), @"
    error: `.claude/settings.json` cannot be edited: `hooks.Stop` must be a list
    hint: nothing was changed; fix `.claude/settings.json` there, then run the same again
    ");
    sandbox.write(SETTINGS, "{}");
    sandbox.write(LOCAL, "{\"a\": }");
    let before = tree(sandbox.home());
    insta::assert_snapshot!(sandbox.refused(78, &["init"]), @"
    error: .claude/settings.local.json cannot be read: expected value at line 1 column 7
    hint: docs/reference/settings.md lists every setting with its default
    ");
    assert_eq!(tree(sandbox.home()), before);
}

#[test]
fn the_tools_are_registered_beside_servers_of_others() {
    let sandbox = sandbox();
    sandbox.write(".mcp.json", "{ \"mcpServers\": { \"other\": { \"command\": \"x\" } } }\n");
    there_and_back(&sandbox, &["--no-skills"]);
    let said = sandbox.warp(&["init", "--no-skills"]);
    insta::assert_snapshot!(sandbox.stable(&said.err), @"note: Claude Code asks once, when it starts in this project, whether the server `warp` of `.mcp.json` may be used");
    let servers = settings(&sandbox, ".mcp.json");
    assert_eq!(servers["mcpServers"]["other"]["command"], "x");
    assert_eq!(servers["mcpServers"]["warp"]["args"], value!(["mcp"]));
    let rules = settings(&sandbox, SETTINGS)["permissions"]["allow"].clone();
    assert!(rules.as_array().unwrap().contains(&value!("mcp__warp")), "{rules}");
}

#[test]
fn codex_is_given_the_tools_unless_its_configuration_is_somebodys_own() {
    let sandbox = sandbox();
    there_and_back(&sandbox, &["--agent", "codex"]);
    sandbox.warp_ok(&["init", "--agent", "codex"]);
    let written = sandbox.read(".codex/config.toml").unwrap();
    assert!(written.contains("[mcp_servers.warp]") && written.contains("args = [\"mcp\"]"), "{written}");
    sandbox.warp_ok(&["init", "--undo"]);
    sandbox.write(".codex/config.toml", "model = \"x\"\n");
    let said = sandbox.warp(&["init", "--agent", "codex"]);
    assert!(said.err.contains("these lines in it offer warp's tools"), "{said:?}");
    assert_eq!(sandbox.read(".codex/config.toml").as_deref(), Some("model = \"x\"\n"));
}

#[test]
fn undo_after_an_edit_takes_out_our_entries_and_no_more() {
    let sandbox = sandbox();
    sandbox.write(SETTINGS, "{\n  \"model\": \"x\"\n}\n");
    sandbox.warp_ok(&["init", "--level", "2", "--no-skills"]);
    let edited = sandbox
        .read(SETTINGS)
        .unwrap()
        .replace("\"model\": \"x\"", "\"model\": \"y\",\n  \"env\": {\"A\": \"1\"}");
    sandbox.write(SETTINGS, &edited);
    sandbox.write("warp.toml", "[workflow]\nauto_merge = false\n");
    // The edit is not undone by setting up again either.
    let said = sandbox.warp_ok(&["init", "--no-skills"]);
    assert!(said.ends_with("nothing was changed.\n"), "{said}");
    let said = sandbox.warp_ok(&["init", "--undo"]);
    assert!(
        said.ends_with(
            "changed .claude/settings.json (changed since; only warp's entries are taken out)\n\
             removed .mcp.json (as it was before)\n\
             removed .claude/settings.local.json (as it was before)\n\
             unchanged warp.toml (changed since; kept as it is)\n\
             git: take warp's hooks out of git\n\
             The set-up is taken back.\n"
        ),
        "{said}"
    );
    assert_eq!(sandbox.read(SETTINGS).unwrap(), "{\n  \"model\": \"y\",\n  \"env\": {\"A\": \"1\"}\n}\n");
    assert_eq!(sandbox.read("warp.toml").unwrap(), "[workflow]\nauto_merge = false\n");
    assert!(!sandbox.root().join(".git/warp").exists());
    let said = sandbox.warp_ok(&["init", "--undo"]);
    assert_eq!(said, "Nothing to undo: `warp init` has set nothing up here.\n");
}

#[test]
fn another_level_after_an_edit_replaces_the_rules_of_the_first() {
    let sandbox = sandbox();
    sandbox.warp_ok(&["init", "--level", "3"]);
    let edited = sandbox.read(SETTINGS).unwrap().replacen("{\n", "{\n  \"model\": \"y\",\n", 1);
    sandbox.write(SETTINGS, &edited);
    sandbox.warp_ok(&["init", "--level", "1"]);
    let allowed = settings(&sandbox, SETTINGS)["permissions"]["allow"].clone();
    assert!(!allowed.as_array().unwrap().contains(&value!("Edit")), "{allowed}");
    sandbox.warp_ok(&["init", "--undo"]);
    assert_eq!(settings(&sandbox, SETTINGS), value!({"model": "y"}));
}

#[test]
fn an_older_path_of_warp_is_replaced_and_comes_back() {
    let sandbox = sandbox();
    let old = "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"/old/bin/warp\",\n            \"args\": [\n              \"hook\",\n              \"stop\"\n            ]\n          },\n          {\n            \"type\": \"command\",\n            \"command\": \"theirs\"\n          }\n        ]\n      }\n    ]\n  }\n}\n";
    sandbox.write(SETTINGS, old);
    there_and_back(&sandbox, &[]);
    sandbox.warp_ok(&["init"]);
    let stop = settings(&sandbox, SETTINGS)["hooks"]["Stop"].clone();
    assert_eq!(stop.as_array().unwrap().len(), 2);
    assert_eq!(stop[0]["hooks"][1]["command"], "theirs");
    assert_eq!(stop[1]["hooks"][0]["args"][1], "after-stop");
    assert_ne!(stop[0]["hooks"][0]["command"], "/old/bin/warp");
}

#[test]
fn a_crash_between_memory_and_file_loses_nothing() {
    let sandbox = sandbox();
    sandbox.write(SETTINGS, ODD);
    let before = tree(sandbox.home());
    sandbox.warp_ok(&["init"]);
    // The memory was written, the settings were not, or not wholly.
    sandbox.write(SETTINGS, ODD);
    sandbox.write(".claude/.settings.json.warp-new", "{\"hoo");
    sandbox.warp_ok(&["init", "--undo"]);
    assert_eq!(tree(sandbox.home()), before);
    // The memory of a second set-up was written, the settings are still those of the first.
    sandbox.warp_ok(&["init"]);
    let first = sandbox.read(SETTINGS).unwrap();
    sandbox.warp_ok(&["init", "--level", "3"]);
    sandbox.write(SETTINGS, &first);
    sandbox.warp_ok(&["init", "--undo"]);
    assert_eq!(tree(sandbox.home()), before);
}

#[test]
fn skills_have_plain_names_and_somebodys_own_stay() {
    let sandbox = sandbox();
    sandbox.write(".claude/skills/vision/SKILL.md", "mine\n");
    there_and_back(&sandbox, &[]);
    let said = sandbox.warp_ok(&["init"]);
    assert!(said.contains("created .claude/skills/warp-drive/SKILL.md (/warp-drive)\n"), "{said}");
    let kept = "unchanged .claude/skills/vision/SKILL.md (somebody's own; left as it is)\n";
    assert!(said.contains(kept), "{said}");
    let own = fs::read_dir(sandbox.root().join(".claude/skills")).unwrap().count();
    assert_eq!(own, 14);
    sandbox.warp_ok(&["init", "--undo"]);
    assert_eq!(fs::read_dir(sandbox.root().join(".claude/skills")).unwrap().count(), 1);
    sandbox.warp_ok(&["init", "--no-skills"]);
    assert_eq!(fs::read_dir(sandbox.root().join(".claude/skills")).unwrap().count(), 1);
}

#[test]
fn a_memory_that_cannot_be_read_is_left_alone() {
    let sandbox = sandbox();
    sandbox.warp_ok(&["init"]);
    let memory = sandbox.read(".git/warp/setup/memory.json").unwrap();
    let bent = [
        "{".to_owned(),
        memory.replace("\"version\": 1", "\"version\": 2"),
        memory.replacen("\"did\": \"added\"", "\"did\": \"guessed\"", 1),
    ];
    for text in bent {
        assert_ne!(text, memory);
        sandbox.write(".git/warp/setup/memory.json", text);
        let before = tree(sandbox.home());
        for arguments in [&["init"][..], &["init", "--undo"]] {
            let said = sandbox.warp(arguments).ends(65);
            assert!(said.err.contains("is no memory of a set-up") && said.err.contains("hint: "), "{said:?}");
        }
        assert_eq!(tree(sandbox.home()), before);
    }
}

#[test]
fn what_cannot_be_asked_for_is_refused() {
    for arguments in [
        &["init", "--level", "4"][..],
        &["init", "--agent", "emacs"],
        &["init", "--force"],
        &["init", "--undo", "--level", "2"],
        &["init", "--undo", "--no-skills"],
        &["init", "extra"],
    ] {
        let sandbox = sandbox();
        let before = tree(sandbox.home());
        assert_eq!(sandbox.warp(arguments).code, Some(64), "{arguments:?}");
        assert_eq!(tree(sandbox.home()), before);
    }
}

#[test]
fn json_tells_every_file_and_what_became_of_it() {
    let sandbox = sandbox();
    let report = json(&sandbox.warp_ok(&["init", "--dry-run", "--json"]));
    assert_eq!((&report["version"], &report["changed"]), (&value!(1), &value!(false)));
    assert_eq!(report["files"][0]["action"], "create");
    assert!(
        report["files"][0]["diff"]
            .as_str()
            .unwrap()
            .starts_with("--- /dev/null\n+++ .claude/settings.json\n")
    );
    let report = json(&sandbox.warp_ok(&["init", "--json"]));
    assert_eq!(report["changed"], true);
    let report = json(&sandbox.warp_ok(&["init", "--json"]));
    assert_eq!(report["files"][0]["action"], "keep");
}

#[test]
fn codex_is_set_up_and_its_trust_is_asked_for_openly() {
    let sandbox = sandbox();
    let said = sandbox.warp(&["init", "--agent", "codex"]).ends(0);
    insta::assert_snapshot!(sandbox.stable(&said.err), @r#"
    note: Codex skips these 9 hooks, without a word, until a person trusts them: start `codex` in this project, trust the folder (which also lets it read `.codex/config.toml`, with warp's tools), type `/hooks`, look at each and trust it. Trust is kept with the hook's digest: after a change (such as another path of warp) it has to be given again. Unattended, `codex exec --dangerously-bypass-hook-trust` runs every hook that it finds, not only these.
    note: Codex's sandbox `workspace-write` lets its commands write neither `.git` nor warp's records, so `warp next` fails there until `~/.codex/config.toml` says under `[sandbox_workspace_write]`: writable_roots = ["[HOME]/demo/.git", "[HOME]/state/warp"]
    "#);
    let hooks = settings(&sandbox, ".codex/hooks.json")["hooks"].clone();
    let command = hooks["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap();
    assert!(command.starts_with('/') && command.ends_with("/warp hook pre-tool-use"), "{command}");
    assert!(!sandbox.root().join(".claude").exists());
    sandbox.warp_ok(&["init"]);
    sandbox.warp_ok(&["init", "--undo"]);
    assert!(!sandbox.root().join(".codex").exists() && !sandbox.root().join(".claude").exists());
}

#[test]
fn to_undo_during_a_run_says_that_nothing_keeps_its_agent_to_the_phase() {
    let sandbox = sandbox();
    sandbox.warp_ok(&["init", "--level", "2"]);
    assert_eq!(sandbox.warp(&["init", "--undo", "--dry-run"]).err, "");
    sandbox.warp_ok(&["state", "init", ".", "--level", "2", "--issue", "42"]);
    for arguments in [&["init", "--undo", "--dry-run"][..], &["init", "--undo"]] {
        let said = sandbox.warp(arguments).ends(0);
        assert!(said.err.contains("is open here, in `prerequisites`: without the hooks"), "{said:?}");
        assert!(said.err.contains("`warp stop` stops it, `warp init` puts the hooks back"), "{said:?}");
    }
    assert_eq!(sandbox.warp(&["init", "--undo"]).err, "", "nothing was left to undo");
}
