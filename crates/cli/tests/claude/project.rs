//! A project that an agent works on, with warp's hooks in its settings.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{
    Sandbox,
    agents::{Claude, Launch},
    model::Model,
};

use crate::support::InProject as _;

/// A project with an issue of four criteria, tests that pass, and hooks.
pub(crate) fn project() -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    sandbox.write("Makefile", "test:\n\t@echo 'ok 1 - reads empty files'\n");
    sandbox.issue(
        42,
        "# Add a parser\n\n- [ ] parser reads empty files\n- [ ] parser reads lines\n- [ ] errors name the line\n- [ ] version is printed\n",
    );
    sandbox.commit("chore: tests");
    // What the client leaves behind once a person has trusted the project and allowed a command.
    sandbox.write("../config/git/ignore", "**/.claude/settings.local.json\n");
    sandbox.write(".claude/settings.local.json", r#"{"permissions":{"allow":["Bash(ls)"]}}"#);
    sandbox
}

/// Settings that hold nothing but warp's hooks.
pub(crate) fn settings() -> Value {
    let hook = |event: &str| {
        json!([{ "hooks": [{
        "type": "command", "command": env!("CARGO_BIN_EXE_warp"), "args": ["hook", event], "timeout": 60,
    }] }])
    };
    json!({ "hooks": {
        "SessionStart": hook("session-start"),
        "UserPromptSubmit": hook("user-prompt-submit"),
        "PreToolUse": hook("pre-tool-use"),
        "PostToolUse": hook("post-tool-use"),
        "PostToolUseFailure": hook("post-tool-use-failure"),
        "PermissionRequest": hook("permission-request"),
        "Stop": hook("stop"),
        "StopFailure": hook("stop-failure"),
        "SubagentStop": hook("subagent-stop"),
        "PreCompact": hook("pre-compact"),
        "SessionEnd": hook("session-end"),
    } })
}

/// Prepares the client in the project, with warp on its path.
pub(crate) fn launch(claude: &Claude, sandbox: &Sandbox, model: &Model, prompt: &str) -> Launch<Claude> {
    with_warp(claude.launch(sandbox, model, prompt), sandbox)
}

/// Puts warp on the client's path, and its state where the sandbox's own commands find it.
pub(crate) fn with_warp(launch: Launch<Claude>, sandbox: &Sandbox) -> Launch<Claude> {
    let bin: PathBuf = Path::new(env!("CARGO_BIN_EXE_warp")).parent().unwrap().to_owned();
    let state = sandbox.home().join("state");
    let config = sandbox.home().join("config");
    launch
        .path_first(bin)
        .env("XDG_STATE_HOME", state.to_str().unwrap())
        .env("XDG_CONFIG_HOME", config.to_str().unwrap())
}
