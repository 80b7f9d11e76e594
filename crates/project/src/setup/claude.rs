//! What Claude Code's settings have to hold: a hook for every event that matters, and permission rules.
//!
//! Hooks are in exec form: no shell reads the path. A hook that takes too long is cancelled and then decides
//! nothing, which lets the call through; so gates have far more time than they take, and watch the time themselves. In
//! away mode the gate of a question to the person waits for the answer, and so does the end of a turn that asks one, for up
//! to an hour less five minutes. Otherwise the person may answer in the chat, so the client does not wait: a hook in the
//! background does, and wakes the agent.
//!
//! Permission rules stand beside the hooks, and hold where hooks are turned off. Denials are the same at every
//! level; what is asked and what is allowed goes by the automation level.

use serde_json::{Value, json};

use super::edits::Want;

/// The file that the hooks and rules are written to.
pub(super) const SETTINGS: &str = ".claude/settings.json";
/// The file of this checkout alone, which holds the automation level.
pub(super) const LOCAL: &str = ".claude/settings.local.json";

/// The file that names the servers whose tools the client offers.
pub(super) const SERVERS: &str = ".mcp.json";

/// One hook: the client's event, what it matches, `warp hook`'s event, seconds.
struct Hook {
    event: &'static str,
    matcher: Option<&'static str>,
    argument: &'static str,
    timeout: u32,
    /// Whether the client does not wait for it, and goes on with what it says if it says something.
    wakes: bool,
}

const HOOKS: &[Hook] = &[
    hook("SessionStart", Some("startup|resume|clear|compact|fork"), "session-start", 30),
    hook("UserPromptSubmit", None, "user-prompt-submit", 30),
    hook("PreToolUse", None, "pre-tool-use", 3600),
    hook("PermissionRequest", None, "permission-request", 60),
    hook("PostToolUse", None, "post-tool-use", 60),
    hook("PostToolUseFailure", None, "post-tool-use-failure", 60),
    hook("Stop", None, "stop", 3600),
    Hook { wakes: true, ..hook("Stop", None, "after-stop", 86_400) },
    hook("StopFailure", None, "stop-failure", 10),
    hook("SubagentStop", None, "subagent-stop", 60),
    hook("PreCompact", None, "pre-compact", 30),
    hook("SessionEnd", None, "session-end", 10),
];

/// Refused at every level: what loses work or history, what switches a rail off, and a person's own commands.
///
/// Rules are patterns over the text of a command, so these name only what no harmless command looks like; the gate
/// reads the shell properly and catches the rest.
const DENY: &[&str] = &[
    "Bash(git push --force*)",
    "Bash(git push * --force*)",
    "Bash(git push -f *)",
    "Bash(git push * -f)",
    "Bash(git push * -f *)",
    "Bash(git push --mirror*)",
    "Bash(git push --delete*)",
    "Bash(git push * --delete*)",
    "Bash(git reset --hard*)",
    "Bash(git reset * --hard*)",
    "Bash(git clean -f*)",
    "Bash(git clean -df*)",
    "Bash(git clean -xf*)",
    "Bash(git clean -dxf*)",
    "Bash(git clean -xdf*)",
    "Bash(git clean --force*)",
    "Bash(git branch -D *)",
    "Bash(git branch --delete --force *)",
    "Bash(git update-ref *)",
    "Bash(git filter-branch *)",
    "Bash(git reflog expire *)",
    "Bash(git stash drop*)",
    "Bash(git stash clear*)",
    "Bash(git worktree remove --force *)",
    "Bash(git commit --no-verify*)",
    "Bash(git push --no-verify*)",
    "Bash(git config core.hooksPath *)",
    "Bash(git config * core.hooksPath *)",
    "Bash(gh pr merge*)",
    "Bash(warp answer *)",
    "Bash(warp rdb on*)",
    "Bash(warp rdb off*)",
    "Bash(warp adopt *)",
    "Bash(warp stop*)",
    "Bash(warp init*)",
    "Bash(warp state init *)",
    "Bash(warp state resume *)",
    "Bash(warp state reset *)",
    "Edit(/.claude/.warp-drive-state.json)",
    "Edit(/.claude/autonomous-loop.json)",
    "Edit(/.git/**)",
    "Edit(/.warp/local/**)",
];

/// Asked at every level: what changes the rails, and what cannot be taken back or needs a judgement.
const ASK: &[&str] = &[
    "Edit(/.claude/settings.json)",
    "Edit(/.claude/settings.local.json)",
    "Edit(/.warp/workflows/**)",
    "Bash(rm -rf *)",
    "Bash(git merge *)",
    "Bash(git rebase *)",
    "Bash(git cherry-pick *)",
    "Bash(git checkout -- *)",
    "Bash(git restore *)",
];

/// Allowed at every level: looking, and telling the run what happened, which warp checks for itself.
const LOOK: &[&str] = &[
    "mcp__warp",
    "Bash(warp status*)",
    "Bash(warp explain*)",
    "Bash(warp log*)",
    "Bash(warp config*)",
    "Bash(warp rdb status*)",
    "Bash(warp issue list*)",
    "Bash(warp issue show *)",
    "Bash(warp pr list*)",
    "Bash(warp pr show *)",
    "Bash(warp next*)",
    "Bash(warp state transition *)",
    "Bash(git status*)",
    "Bash(git diff*)",
    "Bash(git log*)",
    "Bash(git show *)",
];

/// Allowed from level 2 on: what can be inferred and taken back.
const WORK: &[&str] = &[
    "Edit",
    "Write",
    "Bash(git add *)",
    "Bash(git commit *)",
    "Bash(git switch *)",
    "Bash(warp issue new *)",
    "Bash(gh issue view *)",
    "Bash(gh issue list*)",
    "Bash(gh issue create *)",
    "Bash(gh issue edit *)",
    "Bash(gh issue comment *)",
];

/// Level 3 pushes by itself, but asks for the branches that others build on.
const MAIN_BRANCHES: &[&str] = &[
    "Bash(git push * main)",
    "Bash(git push * master)",
    "Bash(git push *:main)",
    "Bash(git push *:master)",
    "Bash(git push --all*)",
];

const fn hook(
    event: &'static str,
    matcher: Option<&'static str>,
    argument: &'static str,
    timeout: u32,
) -> Hook {
    Hook { event, matcher, argument, timeout, wakes: false }
}

/// Returns what the settings have to hold for a program and a level.
pub(super) fn wants(program: &str, level: u64) -> Vec<Want> {
    HOOKS.iter().map(|hook| want(hook, program)).chain(rules(level)).collect()
}

/// Returns the permission rules of a level.
pub(super) fn rules(level: u64) -> Vec<Want> {
    let mut wants = Vec::new();
    let mut rules = |list: &'static str, rules: &[&str]| {
        let element = |rule: &&str| Want::Element { path: ["permissions", list], value: json!(rule) };
        wants.extend(rules.iter().map(element));
    };
    rules("allow", LOOK);
    if level >= 2 {
        rules("allow", WORK);
    }
    if level >= 3 {
        rules("allow", &["Bash(git push *)", "Bash(gh pr create *)"]);
        rules("ask", MAIN_BRANCHES);
    } else {
        rules("ask", &["Bash(git push*)", "Bash(gh pr create *)"]);
    }
    rules("ask", ASK);
    rules("deny", DENY);
    wants
}

/// Returns what the servers' file has to hold.
pub(super) fn server(program: &str) -> Vec<Want> {
    let value = json!({ "type": "stdio", "command": program, "args": ["mcp"] });
    vec![Want::Member { path: ["mcpServers", "warp"], value }]
}

/// Says what a person is asked once.
pub(super) fn consent() -> String {
    format!(
        "Claude Code asks once, when it starts in this project, whether the server `warp` of `{SERVERS}` may be used"
    )
}

/// Returns what the checkout's own file has to hold.
pub(super) fn level(level: u64) -> Vec<Want> {
    vec![Want::Member { path: ["_automation", "active_level"], value: json!(level) }]
}

/// Returns what the checkout's own file has to hold for decisions to go to the remote channel, or not.
pub(super) fn remote_decisions(on: bool) -> Vec<Want> {
    vec![Want::Member { path: ["_rdb", "enabled"], value: json!(on) }]
}

/// Returns how many events have a hook.
pub(super) fn events() -> usize {
    HOOKS.iter().filter(|hook| !hook.wakes).count()
}

fn want(hook: &Hook, program: &str) -> Want {
    let mut handler = json!({"type": "command", "command": program, "args": ["hook", hook.argument], "timeout": hook.timeout});
    if hook.wakes {
        handler["asyncRewake"] = json!(true);
    }
    let group: Value = match hook.matcher {
        Some(matcher) => json!({"matcher": matcher, "hooks": [handler]}),
        None => json!({"hooks": [handler]}),
    };
    Want::Hook { event: hook.event, group }
}
