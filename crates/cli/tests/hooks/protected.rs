//! What a tool call has changed of the files that no agent may write is put back, whatever way it was changed.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
};

use serde_json::json;
use testkit::Sandbox;

use super::support::{call, standing_in};

/// A command of which nobody can tell what it does.
const UNKNOWN: &str = "./build.sh";

fn before(sandbox: &Sandbox, id: &str) {
    let fields = json!({ "tool_name": "Bash", "tool_use_id": id, "tool_input": { "command": UNKNOWN } });
    call(sandbox, "pre-tool-use", fields).is_silent();
}

fn after(sandbox: &Sandbox, id: &str) -> String {
    let fields = json!({ "tool_name": "Bash", "tool_use_id": id, "tool_input": { "command": UNKNOWN } });
    call(sandbox, "post-tool-use", fields).context()
}

fn project() -> Sandbox {
    let sandbox = standing_in("coding");
    sandbox.write(".claude/settings.json", "{\"hooks\":{}}\n");
    sandbox.write(".codex/config.toml", "a = 1\n");
    sandbox.write(".warp/workflows/mine.toml", "name = 'mine'\n");
    sandbox.write(".git/hooks/pre-push", "#!/bin/sh\nexit 1\n");
    fs::set_permissions(sandbox.root().join(".git/hooks/pre-push"), fs::Permissions::from_mode(0o755))
        .unwrap();
    let config = sandbox.home().join("config/warp");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), "[user]\n").unwrap();
    fs::create_dir_all(sandbox.home().join(".claude")).unwrap();
    fs::write(sandbox.home().join(".claude/settings.json"), "{}\n").unwrap();
    sandbox
}

/// Everything that is protected, as text.
fn told(sandbox: &Sandbox) -> Vec<String> {
    let mut told = Vec::new();
    for directory in
        [".claude", ".codex", ".warp/workflows", ".git/hooks", "../config/warp", "../.claude", ".git"]
    {
        let directory = sandbox.root().join(directory);
        told.push(format!("{} link {}", directory.display(), directory.is_symlink()));
        for entry in fs::read_dir(&directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            let data = path.symlink_metadata().unwrap();
            let is_shown = path.ends_with(".warp-drive-state.json");
            let counts = !directory.ends_with(".git") || path.ends_with("config");
            if data.is_dir() || is_shown || !counts {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap_or_default();
            let mode = data.permissions().mode();
            told.push(format!("{} {mode:o} {} {text}", path.display(), data.is_symlink()));
        }
    }
    told.sort();
    told
}

#[test]
fn a_protected_file_that_a_call_has_changed_is_put_back() {
    type Change = fn(&Sandbox);
    let changes: [(&str, Change); 18] = [
        ("overwrite settings", |sandbox| sandbox.write(".claude/settings.json", "{}")),
        ("append", |sandbox| sandbox.write(".claude/settings.json", "{\"hooks\":{}}\n\n")),
        ("remove", |sandbox| fs::remove_file(sandbox.root().join(".claude/settings.json")).unwrap()),
        ("make local settings", |sandbox| {
            sandbox.write(".claude/settings.local.json", "{\"disableAllHooks\":true}");
        }),
        ("a link instead", |sandbox| {
            let path = sandbox.root().join(".claude/settings.json");
            fs::remove_file(&path).unwrap();
            symlink("/dev/null", &path).unwrap();
        }),
        ("a directory instead", |sandbox| {
            let path = sandbox.root().join(".claude/settings.json");
            fs::remove_file(&path).unwrap();
            fs::create_dir(&path).unwrap();
        }),
        ("the directory moved, a link instead", |sandbox| {
            let path = sandbox.root().join(".codex");
            fs::rename(&path, sandbox.root().join("codex")).unwrap();
            symlink("codex", &path).unwrap();
            sandbox.write("codex/config.toml", "a = 2\n");
        }),
        ("the directory removed", |sandbox| fs::remove_dir_all(sandbox.root().join(".codex")).unwrap()),
        ("codex settings", |sandbox| sandbox.write(".codex/config.toml", "")),
        ("a hook emptied", |sandbox| sandbox.write(".git/hooks/pre-push", "")),
        ("a hook not to be run", |sandbox| {
            let path = sandbox.root().join(".git/hooks/pre-push");
            fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
        }),
        ("a new hook", |sandbox| sandbox.write(".git/hooks/post-commit", "#!/bin/sh\n")),
        ("hooks elsewhere", |sandbox| {
            sandbox.git(&["config", "core.hooksPath", "/dev/null"]);
        }),
        ("settings included", |sandbox| {
            sandbox.git(&["config", "include.path", "../evil"]);
        }),
        ("an alias", |sandbox| {
            sandbox.git(&["config", "alias.st", "!sh x"]);
        }),
        ("a workflow", |sandbox| sandbox.write(".warp/workflows/other.toml", "x")),
        ("a workflow renamed", |sandbox| {
            let directory = sandbox.root().join(".warp/workflows");
            fs::rename(directory.join("mine.toml"), directory.join("yours.toml")).unwrap();
        }),
        ("the person's own settings", |sandbox| {
            fs::write(sandbox.home().join("config/warp/config.toml"), "x = 1\n").unwrap();
            fs::write(sandbox.home().join(".claude/settings.json"), "{\"x\":1}\n").unwrap();
        }),
    ];
    let sandbox = project();
    let expected = told(&sandbox);
    for (number, (name, change)) in changes.iter().enumerate() {
        let id = format!("call-{number}");
        before(&sandbox, &id);
        change(&sandbox);
        let context = after(&sandbox, &id);
        assert!(context.contains("it was put back"), "{name}: {context}");
        assert_eq!(told(&sandbox), expected, "{name}");
        let log = sandbox.warp_ok(&["log", "--json"]);
        assert_eq!(log.matches("\"rail_broken\"").count(), number + 1, "{name}: {log}");
    }
    let listed = sandbox.warp_ok(&["salvage", "list"]);
    assert!(listed.contains("set aside: ") && listed.contains("settings.json."), "{listed}");
}

#[test]
fn what_changes_between_calls_or_is_harmless_stays() {
    let sandbox = project();
    before(&sandbox, "1");
    sandbox.git(&["config", "branch.main.remote", "origin"]);
    sandbox.write("src/lib.rs", "");
    assert_eq!(after(&sandbox, "1"), "");
    // The person's, between two calls.
    sandbox.write(".claude/settings.json", "{\"mine\":1}\n");
    sandbox.git(&["config", "core.pager", "less"]);
    before(&sandbox, "2");
    assert_eq!(after(&sandbox, "2"), "");
    let expected = told(&sandbox);
    // What a person permits while a call waits is written down by the client.
    before(&sandbox, "3");
    let fields = json!({ "tool_name": "Bash", "tool_input": { "command": UNKNOWN } });
    call(&sandbox, "permission-request", fields).is_silent();
    sandbox.write(".claude/settings.local.json", "{\"permissions\":{\"allow\":[\"Bash(./build.sh)\"]}}");
    assert_eq!(after(&sandbox, "3"), "");
    assert_ne!(told(&sandbox), expected);
    // That is no leave for anything else.
    before(&sandbox, "4");
    call(
        &sandbox,
        "permission-request",
        json!({ "tool_name": "Bash", "tool_input": { "command": UNKNOWN } }),
    );
    sandbox.write(".claude/settings.local.json", "{\"permissions\":{},\"disableAllHooks\":true}");
    assert!(after(&sandbox, "4").contains("put back"));
}

#[test]
fn calls_that_run_at_once_are_compared_with_the_state_before_the_first() {
    let sandbox = project();
    let expected = told(&sandbox);
    before(&sandbox, "1");
    sandbox.write(".claude/settings.json", "{}");
    before(&sandbox, "2");
    assert!(after(&sandbox, "2").contains("put back"));
    assert_eq!(told(&sandbox), expected);
    sandbox.write(".git/hooks/post-commit", "x");
    assert!(after(&sandbox, "1").contains("put back"));
    assert_eq!(told(&sandbox), expected);
}

#[test]
fn a_state_file_that_a_call_has_written_is_the_view_of_the_run_again() {
    let sandbox = project();
    let state = sandbox.read(".claude/.warp-drive-state.json").unwrap();
    before(&sandbox, "1");
    sandbox.write(".claude/.warp-drive-state.json", state.replace("coding", "committing"));
    after(&sandbox, "1");
    let now = sandbox.read(".claude/.warp-drive-state.json").unwrap();
    assert!(now.contains("\"phase\": \"coding\""), "{now}");
}
