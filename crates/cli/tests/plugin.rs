//! The Claude Code plugin: its shim, its files, and what the real client makes of them.

use std::{
    env, fs,
    io::Write as _,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use testkit::{
    Sandbox,
    agents::{Claude, Codex},
    model::{Model, Turn},
};

use crate::support::Ends as _;

const SKILLS: &[&str] = &[
    "auto-loop",
    "automation",
    "capability",
    "dev-up",
    "doc-audit",
    "doc-sync",
    "loop-cancel",
    "loop-status",
    "rdb",
    "requirement",
    "start-work",
    "stop-warp-drive",
    "vision",
    "warp-drive",
];
/// What a person says, and no model may.
const A_PERSONS: &[&str] =
    &["auto-loop", "automation", "loop-cancel", "rdb", "start-work", "stop-warp-drive", "warp-drive"];

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_warp"))
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn plugin() -> PathBuf {
    repository().join("plugin")
}

/// The directory of the program under test.
fn warp_directory() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_warp")).parent().unwrap().to_owned()
}

/// Makes a program named `warp` that does what a script says.
fn fake_warp(sandbox: &Sandbox, script: &str) -> PathBuf {
    let directory = sandbox.home().join("bin");
    sandbox.program(directory.join("warp"), &format!("#!/bin/sh\n{script}\n"));
    directory
}

/// Makes a directory with the few tools that the shim needs: a system's own may hold a warp.
fn tools(sandbox: &Sandbox) -> PathBuf {
    let directory = sandbox.home().join("tools");
    fs::create_dir_all(&directory).unwrap();
    let path = env::var_os("PATH").unwrap();
    for tool in ["cat", "grep", "head", "sed"] {
        let program =
            env::split_paths(&path).map(|path| path.join(tool)).find(|path| path.is_file()).unwrap();
        let link = directory.join(tool);
        if !link.exists() {
            symlink(program, link).unwrap();
        }
    }
    directory
}

/// Runs the shim; `first` is searched before anything else.
fn shim(sandbox: &Sandbox, first: Option<&Path>, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command: Command = sandbox.command(plugin().join("bin/warp"));
    let first = first.map(|path| format!("{}:", path.display())).unwrap_or_default();
    command
        .env("PATH", format!("{first}{}:{}", plugin().join("bin").display(), tools(sandbox).display()))
        .env("CLAUDE_PROJECT_DIR", sandbox.root())
        .args(arguments);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A program that does not read its input may be gone already.
    let _ = child.stdin.take().unwrap().write_all(b"{\"tool_name\":\"Bash\"}");
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn without_warp_the_gate_refuses_and_the_others_keep_quiet() {
    let sandbox = sandbox();
    let (code, _, err) = shim(&sandbox, None, &["hook", "pre-tool-use"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("warp command is not installed") && err.contains("plugin disable"), "{err}");
    for event in ["post-tool-use", "stop", "user-prompt-submit", "session-end"] {
        assert_eq!(shim(&sandbox, None, &["hook", event]), (Some(0), String::new(), String::new()));
    }
    let (code, out, _) = shim(&sandbox, None, &["hook", "session-start"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("tool calls are refused"), "{out}");
    assert_eq!(shim(&sandbox, None, &["status"]).0, Some(127));
}

#[test]
fn with_warp_it_hands_over_input_output_and_exit_code() {
    let sandbox = sandbox();
    let directory = fake_warp(&sandbox, "echo \"$@\"; cat; exit 2");
    for event in ["pre-tool-use", "stop"] {
        let (code, out, _) = shim(&sandbox, Some(&directory), &["hook", event]);
        assert_eq!((code, out), (Some(2), format!("hook {event}\n{{\"tool_name\":\"Bash\"}}")));
    }
    let (code, out, _) = shim(&sandbox, Some(&warp_directory()), &["--version"]);
    assert_eq!(code, Some(0));
    assert!(out.starts_with("warp "), "{out}");
}

#[test]
fn a_gate_that_ends_in_another_way_refuses() {
    let sandbox = sandbox();
    for script in ["exit 1", "exit 64", "kill -9 $$", "exec /nonexistent"] {
        let directory = fake_warp(&sandbox, script);
        assert_eq!(shim(&sandbox, Some(&directory), &["hook", "pre-tool-use"]).0, Some(2), "{script}");
    }
}

#[test]
fn in_a_project_with_hooks_of_its_own_only_the_gate_runs_twice() {
    let sandbox = sandbox();
    sandbox.warp_ok(&["init"]);
    let directory = fake_warp(&sandbox, "echo ran");
    for (event, out) in
        [("pre-tool-use", "ran\n"), ("permission-request", "ran\n"), ("stop", ""), ("post-tool-use", "")]
    {
        assert_eq!(shim(&sandbox, Some(&directory), &["hook", event]).1, out, "{event}");
    }
    // A program that is not there does nothing, so the plugin does it.
    let settings = sandbox.read(".claude/settings.json").unwrap();
    let gone = settings.replace(env!("CARGO_BIN_EXE_warp"), "/nonexistent/warp");
    assert_ne!(gone, settings);
    sandbox.write(".claude/settings.json", gone);
    assert_eq!(shim(&sandbox, Some(&directory), &["hook", "stop"]).1, "ran\n");
}

#[test]
fn the_plugin_and_init_register_the_same_hooks() {
    let sandbox = sandbox();
    sandbox.warp_ok(&["init"]);
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap()["hooks"].clone();
    let of_plugin = read(&fs::read_to_string(plugin().join("hooks/hooks.json")).unwrap());
    let of_init = sandbox.read(".claude/settings.json").unwrap();
    let program = read(&of_init)["Stop"][0]["hooks"][0]["command"].as_str().unwrap().to_owned();
    assert_eq!(read(&of_init.replace(&program, "${CLAUDE_PLUGIN_ROOT}/bin/warp")), of_plugin);
}

#[test]
fn every_skill_says_who_may_call_it_and_cannot_fail_to_open() {
    let mut names: Vec<String> = fs::read_dir(plugin().join("skills"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, SKILLS);
    for name in SKILLS {
        let text = fs::read_to_string(plugin().join("skills").join(name).join("SKILL.md")).unwrap();
        let (front, body) = text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
        assert!(front.starts_with("description: "), "{name}");
        assert_eq!(front.contains("disable-model-invocation: true"), A_PERSONS.contains(name), "{name}");
        // A command whose failure would keep the skill from being opened.
        for command in body.split("!`").skip(1).map(|rest| rest.split('`').next().unwrap()) {
            assert!(command.ends_with("|| true") || command.contains("|| echo "), "{name}: {command}");
        }
    }
}

#[test]
fn the_real_client_accepts_plugin_and_marketplace() {
    let Some(claude) = Claude::or_skip() else { return };
    let sandbox = sandbox();
    for directory in [plugin(), repository()] {
        claude.plain(&sandbox, &["plugin", "validate", "--strict"]).argument(directory).run().ends(0);
    }
}

#[test]
fn the_real_client_lists_every_skill_and_opens_one() {
    let Some(claude) = Claude::or_skip() else { return };
    let sandbox = sandbox();
    let model = Model::start([Turn::say("no run")]);
    let ended = claude
        .launch(&sandbox, &model, "/warp-drive:loop-status")
        .plugin_dir(plugin())
        .path_first(warp_directory())
        .permission_mode("default")
        .run()
        .ends(0);
    let init = ended.lines.iter().find(|line| line["subtype"] == "init").unwrap();
    for name in SKILLS {
        let listed = json!(format!("warp-drive:{name}"));
        assert!(init["slash_commands"].as_array().unwrap().contains(&listed), "{name}: {init}");
    }
    let told = model.text();
    assert!(told.contains("No run yet"), "{told}");
    assert!(told.contains("Nothing is changed, and the work is not continued"), "{told}");
}

#[test]
fn a_project_that_was_set_up_has_the_skills_under_plain_names() {
    let Some(claude) = Claude::or_skip() else { return };
    let sandbox = sandbox();
    sandbox.warp_ok(&["init"]);
    let model = Model::start([Turn::say("no run")]);
    let ended = claude.launch(&sandbox, &model, "/loop-status").path_first(warp_directory()).run().ends(0);
    let init = ended.lines.iter().find(|line| line["subtype"] == "init").unwrap();
    for name in SKILLS {
        assert!(init["slash_commands"].as_array().unwrap().contains(&json!(name)), "{name}: {init}");
    }
    let told = model.text();
    assert!(told.contains("No run yet"), "{told}");
}

#[test]
fn a_run_that_the_plugin_began_shows_its_rails() {
    let Some(claude) = Claude::or_skip() else { return };
    let sandbox = sandbox();
    sandbox.issue(42, "# Add a parser\n\n- [ ] parser reads empty files\n");
    let model = Model::start([Turn::say("it stands in prerequisites")]);
    let home = |name: &str| sandbox.home().join(name).to_str().unwrap().to_owned();
    claude
        .launch(&sandbox, &model, "/warp-drive:warp-drive 42 --level 2")
        .plugin_dir(plugin())
        .path_first(warp_directory())
        .env("XDG_STATE_HOME", home("state"))
        .env("XDG_CONFIG_HOME", home("config"))
        .run()
        .ends(0);
    let status = sandbox.warp_ok(&["status"]);
    assert!(status.contains("\nRails: in the agent only (by the plugin), no sandbox"), "{status}");
}

/// A warp that only writes down which hooks it was called for.
fn recorder(sandbox: &Sandbox) -> PathBuf {
    fake_warp(sandbox, "[ \"$1\" != hook ] || echo \"$2\" >> \"$HOME/hooks.log\"")
}

/// Counts how often each hook was called that the client waits for, and forgets it.
fn recorded(sandbox: &Sandbox) -> Vec<(String, usize)> {
    let log = sandbox.home().join("hooks.log");
    let text = fs::read_to_string(&log).unwrap_or_default();
    let _ = fs::remove_file(log);
    let mut calls: Vec<(String, usize)> = Vec::new();
    for event in text.lines().filter(|event| *event != "after-stop") {
        match calls.iter_mut().find(|call| call.0 == event) {
            Some(call) => call.1 += 1,
            None => calls.push((event.to_owned(), 1)),
        }
    }
    calls.sort();
    calls
}

/// Makes the hooks of a settings file run the recorder instead of the program under test.
fn record_instead(sandbox: &Sandbox, file: &str, directory: &Path) {
    let text = sandbox.read(file).unwrap();
    let other = text.replace(env!("CARGO_BIN_EXE_warp"), directory.join("warp").to_str().unwrap());
    assert_ne!(other, text);
    sandbox.write(file, other);
}

fn calls(calls: &[(&str, usize)]) -> Vec<(String, usize)> {
    calls.iter().map(|(event, times)| ((*event).to_owned(), *times)).collect()
}

#[test]
fn the_real_claude_code_runs_each_hook_once_from_init_and_from_the_plugin() {
    let Some(claude) = Claude::or_skip() else { return };
    let sandbox = sandbox();
    let directory = recorder(&sandbox);
    let once = |gate: usize| {
        calls(&[
            ("post-tool-use", 1),
            ("post-tool-use-failure", 1),
            ("pre-tool-use", gate),
            ("session-end", 1),
            ("session-start", 1),
            ("stop", 1),
            ("user-prompt-submit", 1),
        ])
    };
    let run = |with_plugin: bool| {
        let model = Model::start([Turn::bash("true"), Turn::bash("exit 3"), Turn::say("done")]);
        let launch = claude.launch(&sandbox, &model, "Go.").path_first(&directory);
        let launch = if with_plugin { launch.plugin_dir(plugin()) } else { launch };
        launch.run().ends(0);
    };
    run(true);
    assert_eq!(recorded(&sandbox), once(2));
    sandbox.warp_ok(&["init"]);
    record_instead(&sandbox, ".claude/settings.json", &directory);
    run(false);
    assert_eq!(recorded(&sandbox), once(2));
    run(true);
    assert_eq!(recorded(&sandbox), once(4));
}

#[test]
fn the_real_codex_runs_the_hooks_once_they_are_trusted() {
    let Some(codex) = Codex::or_skip() else { return };
    let sandbox = sandbox();
    let directory = recorder(&sandbox);
    sandbox.warp_ok(&["init", "--agent", "codex"]);
    record_instead(&sandbox, ".codex/hooks.json", &directory);
    let run = |trusted: bool| {
        let model = Model::start([Turn::exec_command("true"), Turn::say("done")]);
        let launch = codex.launch(&sandbox, &model, "Go.");
        if trusted { launch.trust_hooks() } else { launch }.run().ends(0);
        recorded(&sandbox)
    };
    assert_eq!(run(false), calls(&[]));
    let expected = [
        ("post-tool-use", 1),
        ("pre-tool-use", 1),
        ("session-end", 1),
        ("session-start", 1),
        ("stop", 1),
        ("user-prompt-submit", 1),
    ];
    assert_eq!(run(true), calls(&expected));
}

#[test]
fn without_hooks_the_permission_rules_still_hold_in_the_real_client() {
    let Some(claude) = Claude::or_skip() else { return };
    let sandbox = sandbox();
    sandbox.warp_ok(&["init", "--level", "3"]);
    sandbox.write("kept", "uncommitted\n");
    sandbox.git(&["add", "kept"]);
    let state = sandbox.root().join(".claude/.warp-drive-state.json");
    let model = Model::start([
        Turn::bash("git reset --hard"),
        Turn::bash("cd . && git push origin --force main"),
        Turn::bash("gh pr merge 7"),
        Turn::call("Write", json!({"file_path": state, "content": "{}"})),
        Turn::say("nothing was allowed"),
    ]);
    let off = json!({"disableAllHooks": true}).to_string();
    let ended = claude.launch(&sandbox, &model, "Go.").settings(off).run().ends(0);
    assert_eq!(ended.result().unwrap()["permission_denials"].as_array().unwrap().len(), 4, "{ended:?}");
    assert_eq!(sandbox.read("kept").as_deref(), Some("uncommitted\n"));
    assert!(!state.exists());
}
