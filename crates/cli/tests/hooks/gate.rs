//! The gate refuses what a phase does not allow, and whatever it cannot judge.

use std::{fs, io::Write as _, path::Path};

use serde_json::json;
use testkit::Sandbox;

use super::support::{bash, call, call_raw, command, ruin_journal, stand_in, standing_in};
use crate::support::InProject as _;

#[test]
fn a_commit_is_denied_outside_its_phase_and_allowed_in_it() {
    let sandbox = standing_in("coding");
    bash(&sandbox, "git commit -am 'feat: x'")
        .is_denied("git_commit is only allowed during committing phase");
    bash(&sandbox, "cd src; git -c user.name=x commit -m y || true").is_denied("committing");
    bash(&sandbox, "git log --grep 'git commit'").is_silent();
    let sandbox = standing_in("committing");
    bash(&sandbox, "git add -A && git commit -m 'feat: x'").is_silent();
    bash(&sandbox, "git commit --amend").is_denied("amend");
    bash(&sandbox, "git commit --no-verify -m x").is_denied("without its checks");
}

#[test]
fn what_is_never_an_agents_is_denied_in_every_phase() {
    for phase in ["coding", "committing"] {
        let sandbox = standing_in(phase);
        for command in [
            "git push origin HEAD",
            "git reset --hard",
            "git clean -fd",
            "git branch -D main",
            "git rebase main",
            "git merge main",
            "git stash drop",
            "git config core.hooksPath /dev/null",
            "gh pr merge 3",
            "warp answer 1 continue",
            "warp stop",
            "warp state reset .",
            "warp hook post-tool-use",
            "claude -p '/stop-warp-drive reset'",
            "npx @openai/codex exec x || codex exec x",
            "echo '{}' > .claude/.warp-drive-state.json",
            "sed -i s/a/b/ .claude/settings.json",
            "tee .git/hooks/pre-commit < x",
        ] {
            let answered = bash(&sandbox, command);
            assert_eq!(answered.code, Some(2), "{phase}: {command}: {answered:?}");
            assert!(answered.err.len() > 20, "{command}: {answered:?}");
        }
    }
}

#[test]
fn protected_files_are_denied_to_every_tool_that_writes() {
    let sandbox = standing_in("coding");
    std::os::unix::fs::symlink(sandbox.root().join(".claude"), sandbox.root().join("notes")).unwrap();
    let state = sandbox.root().join(".claude/.warp-drive-state.json");
    for (tool, input) in [
        ("Write", json!({ "file_path": state, "content": "{}" })),
        ("Edit", json!({ "file_path": ".claude/settings.json" })),
        ("MultiEdit", json!({ "file_path": "src/../.git/config" })),
        ("NotebookEdit", json!({ "notebook_path": ".warp/workflows/x.toml" })),
        ("Write", json!({ "file_path": "notes/settings.local.json" })),
        ("PutFile", json!({ "file_path": sandbox.journal() })),
        ("mcp__filesystem__write_file", json!({ "path": state, "content": "{}" })),
        ("mcp__filesystem__move_file", json!({ "source": "a", "destination": [".claude/settings.json"] })),
        (
            "apply_patch",
            json!({ "command": "*** Begin Patch\n*** Update File: .claude/settings.json\n*** End Patch" }),
        ),
    ] {
        let answered = call(&sandbox, "pre-tool-use", json!({ "tool_name": tool, "tool_input": input }));
        answered.is_denied("not for an agent to write");
    }
    for (tool, path) in
        [("Read", ".claude/.warp-drive-state.json"), ("Write", "src/lib.rs"), ("Edit", "warp.toml")]
    {
        call(&sandbox, "pre-tool-use", json!({ "tool_name": tool, "tool_input": { "file_path": path } }))
            .is_silent();
    }
}

#[test]
fn a_gate_that_cannot_judge_refuses() {
    let sandbox = standing_in("coding");
    for input in ["", "{", "[]", "\"x\"", "{\"tool_input\":7}", "\u{0}"] {
        call_raw(&sandbox, "pre-tool-use", input.as_bytes()).is_denied("not given the JSON");
    }
    call_raw(&sandbox, "pre-tool-use", b"\xff\xfe").is_denied("not given the JSON");
    bash(&sandbox, "git 'unclosed").is_denied("");
    bash(&sandbox, &"(".repeat(40)).is_denied("");
    bash(&sandbox, &format!("echo {}", "x".repeat(40_000))).is_denied("");
    for words in [&["hook", "pre-tool-use", "more"] as &[&str], &["--json", "hook", "pre-tool-use"]] {
        assert_eq!(sandbox.warp(words).code, Some(2), "{words:?}");
    }
    let answered = call_raw(&sandbox, "permission-request", b"{");
    assert_eq!(answered.json()["hookSpecificOutput"]["decision"]["behavior"], "deny");
}

#[test]
fn leave_is_read_from_the_store_and_no_store_is_no_leave() {
    let sandbox = standing_in("committing");
    ruin_journal(&sandbox);
    bash(&sandbox, "git commit -m 'feat: x'").is_denied("");
    bash(&sandbox, "ls").is_silent();
    fs::remove_file(sandbox.root().join(".git/warp/head")).unwrap();
    bash(&sandbox, "git push").is_denied("");
}

#[test]
fn a_head_that_allows_what_the_journal_does_not_gives_no_leave() {
    let sandbox = standing_in("coding");
    let path = sandbox.root().join(".git/warp/head");
    let head = fs::read_to_string(&path).unwrap();
    fs::write(&path, head.replace("may \n", "may git_commit\n")).unwrap();
    bash(&sandbox, "git commit -m 'feat: x'").is_denied("committing");
}

#[test]
fn without_a_run_nothing_is_refused() {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    for command in ["git push --force", "git commit -m x", "rm -rf .git"] {
        bash(&sandbox, command).is_silent();
    }
    for event in ["session-start", "stop", "post-tool-use"] {
        call(&sandbox, event, json!({})).is_silent();
    }
}

#[test]
fn tools_of_other_servers_pass_the_same_gate() {
    let sandbox = standing_in("coding");
    let ask = |tool: &str, input: serde_json::Value| {
        call(&sandbox, "pre-tool-use", json!({ "tool_name": tool, "tool_input": input }))
    };
    ask("mcp__git__git_log", json!({})).is_silent();
    ask("mcp__github__list_commits", json!({ "owner": "o", "repo": "r" })).is_silent();
    ask("mcp__filesystem__read_file", json!({ "path": ".claude/settings.json" })).is_silent();
    ask("mcp__filesystem__write_file", json!({ "path": "src/a.rs", "content": "see .git/config" }))
        .is_silent();
    ask("mcp__tracker__create_issue", json!({ "title": "a / b" })).is_denied("`mcp_tools`");
    // A word in its name makes no tool a reader, and an input that it does not look at makes none a shell.
    for (tool, input) in [
        ("mcp__acme__get_then_publish", json!({})),
        ("mcp__acme__read_file", json!({ "path": "src/a.rs" })),
        ("mcp__forge__create_or_update_file", json!({ "branch": "main", "content": "x" })),
        ("mcp__github__delete_file", json!({ "path": "a" })),
        ("mcp__github__update_pull_request", json!({ "command": "ls" })),
        ("mcp__github2__get_commit", json!({})),
        ("mcp__status__log_and_show", json!({ "cmd": "true" })),
    ] {
        ask(tool, input).is_denied("`mcp_tools`");
    }
}

#[test]
fn a_tool_of_a_server_that_commits_merges_approves_pushes_or_runs_is_refused_in_every_phase() {
    for phase in ["coding", "committing"] {
        let sandbox = standing_in(phase);
        for (tool, input) in [
            ("mcp__git__git_commit", json!({ "message": "feat: x" })),
            ("mcp__git__git_reset", json!({})),
            ("mcp__github__push_files", json!({ "branch": "main" })),
            ("mcp__github__merge_pull_request", json!({ "command": "ls" })),
            ("mcp__forge__approveMergeRequest", json!({})),
            ("mcp__ci__run-workflow", json!({ "script": "true" })),
            ("mcp__plugin_ci_ci__rerun_jobs", json!({})),
            ("mcp__ide__executeCode", json!({ "code": "1" })),
        ] {
            let answered = call(&sandbox, "pre-tool-use", json!({ "tool_name": tool, "tool_input": input }));
            answered.is_denied("not an agent's to do in any phase");
        }
    }
}

#[test]
fn a_tool_that_is_like_a_shell_is_judged_by_its_command() {
    let sandbox = standing_in("coding");
    let ask = |tool: &str, input: serde_json::Value| {
        call(&sandbox, "pre-tool-use", json!({ "tool_name": tool, "tool_input": input }))
    };
    ask("mcp__desktop__execute_command", json!({ "command": "ls -la && cargo test" })).is_silent();
    ask("mcp__x__run_in_terminal", json!({ "cmd": "make test" })).is_silent();
    ask("mcp__desktop__execute_command", json!({ "path": "x" }))
        .is_denied("not an agent's to do in any phase");
    for (tool, input) in [
        ("mcp__desktop__execute_command", json!({ "command": "git push" })),
        ("mcp__desktop__start_process", json!({ "command": "git", "args": ["push", "origin"] })),
        ("mcp__x__bash", json!({ "cmd": "cd src && git reset --hard" })),
        ("mcp__x__run_script", json!({ "script": "#!/bin/sh\nset -e\ngit merge other\n" })),
        ("mcp__x__run_commands", json!({ "commands": ["ls", "git clean -fdx"] })),
        ("mcp__x__shell", json!({ "options": { "cmd": ["git", "push", "--force"] } })),
        ("mcp__x__exec", json!({ "command": "rm -rf HEAD", "cwd": sandbox.root().join(".git") })),
        ("mcp__x__exec", json!({ "command": "rm -rf .git", "cwd": sandbox.root(), "args": [] })),
        ("shell", json!({ "command": ["bash", "-lc", "git push"] })),
        ("exec_command", json!({ "cmd": "git push" })),
    ] {
        let answered = ask(tool, input.clone());
        assert_eq!(answered.code, Some(2), "{tool} {input}: {answered:?}");
    }
    ask("mcp__x__exec", json!({ "command": "git commit -m x" })).is_denied("committing");
}

#[test]
fn mcp_tools_lists_what_else_agents_may_call() {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    let config = sandbox.home().join("config/warp");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), "[workflow]\nmcp_tools = [\"tracker/create_issue\", \"docs/*\"]\n")
        .unwrap();
    stand_in(&sandbox, "coding");
    let ask = |tool: &str, input: serde_json::Value| {
        call(&sandbox, "pre-tool-use", json!({ "tool_name": tool, "tool_input": input }))
    };
    ask("mcp__tracker__create_issue", json!({ "title": "x" })).is_silent();
    ask("mcp__docs__publish_draft", json!({})).is_silent();
    ask("mcp__docs__save", json!({ "path": ".claude/settings.json" })).is_denied("not for an agent to write");
    ask("mcp__tracker__close_issue", json!({})).is_denied("`mcp_tools`");
    ask("mcp__docs__merge", json!({})).is_denied("in any phase");
}

#[test]
fn a_permission_that_is_never_given_is_not_asked_for() {
    let sandbox = standing_in("coding");
    let ask = |command: &str| {
        call(
            &sandbox,
            "permission-request",
            json!({ "tool_name": "Bash", "tool_input": { "command": command } }),
        )
    };
    assert_eq!(ask("git push").json()["hookSpecificOutput"]["decision"]["behavior"], "deny");
    ask("cargo check").is_silent();
}

#[test]
fn the_rails_hold_wherever_in_the_project_the_agent_is() {
    let sandbox = standing_in("coding");
    let deep = sandbox.root().join("a/b");
    fs::create_dir_all(&deep).unwrap();
    let input = json!({ "cwd": deep, "tool_name": "Bash", "tool_input": { "command": "git commit -m x" } });
    call(&sandbox, "pre-tool-use", input).is_denied("committing");
    // A repository inside the project, and a place outside of it.
    sandbox.command("git").args(["init", "-q", "vendor/dep"]).status().unwrap();
    let nested = sandbox.root().join("vendor/dep");
    let push = |cwd: &Path| json!({ "cwd": cwd, "tool_name": "Bash", "tool_input": { "command": "git push --force" } });
    call(&sandbox, "pre-tool-use", push(&nested)).is_denied("push");
    let state = sandbox.root().join(".claude/.warp-drive-state.json");
    let write = json!({ "cwd": "/", "tool_name": "Write", "tool_input": { "file_path": state } });
    call(&sandbox, "pre-tool-use", write).is_denied("not for an agent to write");
    let mut child =
        command(&sandbox, "pre-tool-use").env("CLAUDE_PROJECT_DIR", sandbox.root()).spawn().unwrap();
    let mut input = push(Path::new("/"));
    input["tool_input"]["command"] = json!(format!("git -C {} push --force", sandbox.root().display()));
    child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(2));
}

#[test]
fn another_workspace_of_the_project_has_no_rails_of_this_ones_run() {
    let sandbox = standing_in("coding");
    sandbox.git(&["worktree", "add", "-q", "../other"]);
    let other = sandbox.home().join("other");
    let input = json!({ "cwd": other, "tool_name": "Bash", "tool_input": { "command": "git commit -m x" } });
    call(&sandbox, "pre-tool-use", input).is_silent();
}

#[test]
fn with_an_event_that_says_that_work_is_done_the_criteria_are_told_again_in_words() {
    let sandbox = standing_in("coding");
    sandbox.warp_ok(&["state", "reset", "."]);
    sandbox.issue(42, "# T\n- [ ] parse one\n- [ ] parse two\n");
    sandbox.warp_ok(&["state", "init", ".", "--level", "3", "--issue", "42"]);
    sandbox.to_coding(r#"[["AC-01"],["AC-02"]]"#);
    let told = |command: &str| {
        let answered = bash(&sandbox, command);
        assert_eq!(answered.code, Some(0), "{answered:?}");
        answered.context()
    };
    assert_eq!(told("warp status"), "");
    let text = told("warp state transition . code_complete --data '{}'");
    insta::assert_snapshot!(sandbox.stable(&text), @"
    Self-verification before `code_complete`: read each criterion again, and confirm that it is genuinely satisfied, not just that code exists.
    - AC-01: parse one
    If one is not, finish it first.
    ");
    sandbox.write("parser.rs", "fn parse() {}\n");
    sandbox.transitions(&["code_complete"]);
    sandbox.warp_ok(&["next", "--step"]);
    let text = told("warp next");
    insta::assert_snapshot!(sandbox.stable(&text), @"
    Self-verification before `tests_passed`: read each criterion again, and confirm that it is genuinely satisfied, not just that code exists.
    - AC-01: parse one
    If one is not, `warp state transition . tests_failed` leads back to the code.
    ");
    sandbox.transitions(&["tests_passed", "committed", "report_filed"]);
    assert_eq!(told("warp next"), "", "another chunk is left");
    sandbox.transitions(&["next_chunk"]);
    sandbox.write("parser.rs", "fn parse() { two() }\n");
    sandbox.transitions(&["code_complete"]);
    sandbox.warp_ok(&["next", "--step"]);
    sandbox.transitions(&["tests_passed", "committed", "report_filed"]);
    let text = told("warp next");
    insta::assert_snapshot!(sandbox.stable(&text), @"
    Self-verification before `requirement_done`: read each criterion again, and confirm that it is genuinely satisfied, not just that code exists.
    - AC-01: parse one
    - AC-02: parse two
    If one is not, tell the person which.
    ");
}
