//! What Codex's hooks file has to hold, and what a person has to do so that Codex runs it.
//!
//! Codex passes over hooks that nobody has trusted, without a word. Trust is a person's to give: it is never given
//! or circumvented here, only said; and so is what its sandbox has to leave open.

use std::path::PathBuf;

use adapters::git;
use serde_json::json;

use super::edits::Want;
use crate::{Dirs, Place};

/// The file that the hooks are written to.
pub(super) const HOOKS_FILE: &str = ".codex/hooks.json";

/// The file that names the servers whose tools the client offers.
pub(super) const CONFIG_FILE: &str = ".codex/config.toml";

/// The client's event, `warp hook`'s event, seconds.
const HOOKS: &[(&str, &str, u32)] = &[
    ("SessionStart", "session-start", 30),
    ("UserPromptSubmit", "user-prompt-submit", 30),
    ("PreToolUse", "pre-tool-use", 60),
    ("PermissionRequest", "permission-request", 60),
    ("PostToolUse", "post-tool-use", 60),
    ("PreCompact", "pre-compact", 30),
    ("SubagentStop", "subagent-stop", 60),
    ("Stop", "stop", 3600),
    ("SessionEnd", "session-end", 3),
];

/// Returns what the hooks file has to hold for a program.
pub(super) fn wants(program: &str) -> Vec<Want> {
    let want = |(event, argument, timeout): &(&'static str, &str, u32)| {
        let command = format!("{} hook {argument}", quoted(program));
        let handler = json!({"type": "command", "command": command, "timeout": timeout});
        Want::Hook { event, group: json!({"hooks": [handler]}) }
    };
    HOOKS.iter().map(want).collect()
}

/// Returns what the configuration has to say so that warp's tools are offered.
///
/// The client hands its servers a few variables only; these two tell where warp's records are.
pub(super) fn server(program: &str) -> String {
    let command = toml::Value::from(program);
    format!(
        "[mcp_servers.warp]\ncommand = {command}\nargs = [\"mcp\"]\nenv_vars = [\"XDG_STATE_HOME\", \"XDG_CONFIG_HOME\"]\n"
    )
}

/// Says what a person has to add to a configuration that is their own.
pub(super) fn add(server: &str) -> String {
    format!("`{CONFIG_FILE}` is yours and stays as it is; these lines in it offer warp's tools:\n{server}")
}

/// Returns how many events have a hook.
pub(super) fn events() -> usize {
    HOOKS.len()
}

/// Says what a person has to trust, and how.
pub(super) fn trust() -> String {
    format!(
        "Codex skips these {} hooks, without a word, until a person trusts them: start `codex` in this project, trust \
         the folder (which also lets it read `.codex/config.toml`, with warp's tools), type `/hooks`, look at each and trust it. Trust is kept with the hook's digest: after a change \
         (such as another path of warp) it has to be given again. Unattended, `codex exec \
         --dangerously-bypass-hook-trust` runs every hook that it finds, not only these.",
        events()
    )
}

/// Says what Codex's own walls have to leave open, and how.
pub(super) fn walls(place: &Place, dirs: &Dirs) -> String {
    let repository = git::locate(&place.root).map(|location| location.common_dir);
    let writable: Vec<PathBuf> = repository.into_iter().chain([dirs.state.clone()]).collect();
    format!(
        "Codex's sandbox `workspace-write` lets its commands write neither `.git` nor warp's records, so `warp next` \
         fails there until `~/.codex/config.toml` says under `[sandbox_workspace_write]`: writable_roots = {writable:?}"
    )
}

/// Quotes a path for the shell that Codex hands the command to.
fn quoted(program: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if program.chars().all(is_plain) {
        program.to_owned()
    } else {
        format!("'{}'", program.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_a_space_or_a_quote_is_quoted() {
        assert_eq!(quoted("/opt/warp-1.0/bin/warp"), "/opt/warp-1.0/bin/warp");
        assert_eq!(quoted("/a b/it's/warp"), r"'/a b/it'\''s/warp'");
    }
}
