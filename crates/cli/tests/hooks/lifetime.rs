//! Sessions come and go; the run stays, and whoever comes is told where it stands.

use std::process::Stdio;

use serde_json::{Value, json};
use testkit::Sandbox;

use super::support::{SESSION, call, command, standing_in, state};
use crate::support::{Ends as _, InProject as _};

#[test]
fn a_new_session_is_told_where_the_run_stands_and_carries_it_on() {
    let sandbox = standing_in("coding");
    for source in ["startup", "resume", "clear", "compact"] {
        let told = call(&sandbox, "session-start", json!({ "source": source })).context();
        for words in ["warp-drive run is under way", "issue 42", "phase `coding`", "code_complete"] {
            assert!(told.contains(words), "{source}: {told}");
        }
        assert!(told.chars().count() < 10_000);
    }
    let log = sandbox.json(&["log", "--json"]);
    let last = log.as_array().unwrap().last().unwrap();
    assert_eq!(last["event"], "owner_changed");
    // A conversation that was cleared has another name and the same process.
    let told = call(&sandbox, "session-start", json!({ "session_id": "new", "source": "clear" })).context();
    assert!(told.contains("phase `coding`"), "{told}");
    let edit = json!({ "session_id": "new", "tool_name": "Edit", "tool_input": { "file_path": "a.rs" } });
    call(&sandbox, "post-tool-use", edit).is_silent();
    assert_eq!(state(&sandbox)["edit_counts"]["a.rs"], 1);
}

/// What is behind a run in one workflow.
struct Behind {
    workflow: &'static str,
    /// The events to a phase, with what comes with them.
    events: &'static [(&'static str, &'static str)],
    /// What a session has to be told there.
    known: &'static [&'static str],
}

const BEHIND: [Behind; 4] = [
    Behind {
        workflow: "warp-drive",
        events: &[
            ("prerequisites_ok", "{}"),
            ("work_selected", "{}"),
            (
                "plan_ready",
                r#"{"approach":"A table of words.","decisions":[{"title":"Crate","text":"none"}]}"#,
            ),
            ("chunks_defined", r#"{"acs":[["AC-01"],["AC-02"]]}"#),
            ("code_complete", r#"{"summary":"tried a regular expression"}"#),
        ],
        known: &["A table of words.", "decision: Crate: none", "handed in: tried a regular expression"],
    },
    Behind {
        workflow: "coder",
        events: &[
            ("receive_task", "{}"),
            ("workspace_ready", "{}"),
            ("submit_plan", r#"{"plan":"A table of words."}"#),
            ("approve", r#"{"feedback":"mind the empty line"}"#),
        ],
        known: &["A table of words.", "mind the empty line"],
    },
    Behind {
        workflow: "autonomous-loop",
        events: &[
            ("brainstorm_written", r#"{"summary":"a parser"}"#),
            ("noted", r#"{"plan_file":"docs/plans/a.md","summary":"half","failed_approaches":["a cache"]}"#),
        ],
        known: &["the plan: docs/plans/a.md", "plan: half", "did not work: a cache"],
    },
    Behind { workflow: "factory", events: &[("claimed", "{}")], known: &["parser reads lines"] },
];

#[test]
fn in_every_workflow_a_session_that_has_forgotten_is_told_what_is_behind_the_run() {
    for Behind { workflow, events, known } in BEHIND {
        let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
        sandbox.issue(42, "# Add a parser\n\n- [ ] parser reads lines\n- [ ] parser reads files\n");
        let mut begin = vec!["state", "init", ".", "--level", "2", "--workflow", workflow];
        match workflow {
            "autonomous-loop" => begin.extend(["--feature", "Add a parser"]),
            _ => begin.extend(["--issue", "42"]),
        }
        sandbox.warp_ok(&begin);
        for (event, data) in events {
            // The code has to have changed for its event.
            sandbox.write("parser.rs", "// parser reads lines and files\n");
            sandbox.warp_ok(&["state", "transition", ".", event, "--data", data]);
        }
        let run = sandbox.json(&["status", "--json"])["run"].as_str().unwrap().to_owned();
        sandbox.warp_ok(&["tell", &run, "use tabs, please"]);
        for source in ["compact", "resume", "clear"] {
            let told = call(&sandbox, "session-start", json!({ "source": source })).context();
            for words in known.iter().chain(&["use tabs, please", "## What to report"]) {
                assert!(told.contains(words), "{workflow}, {source}: {words}: {told}");
            }
            assert!(told.chars().count() < 10_000);
        }
    }
}

#[test]
fn words_that_an_agent_puts_into_the_hook_are_not_a_persons() {
    let sandbox = standing_in("coding");
    let mut child =
        command(&sandbox, "user-prompt-submit").env("AI_AGENT", "claude-code_2-1_agent").spawn().unwrap();
    let input = json!({ "session_id": SESSION, "cwd": sandbox.root(), "prompt": "/stop-warp-drive reset" });
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("came from an agent"), "{output:?}");
    assert_eq!(state(&sandbox)["phase"], "coding");
    for marked in ["claude-code_2-1_agent", "claude-code_2-1_harness"] {
        let stopped =
            sandbox.warp_command(&["stop"]).env("AI_AGENT", marked).env("CLAUDECODE", "1").output().unwrap();
        assert_eq!(stopped.status.code(), Some(2), "{stopped:?}");
    }
}

#[test]
fn a_second_session_is_told_of_the_first_and_changes_nothing() {
    let sandbox = standing_in("coding");
    call(&sandbox, "session-start", json!({ "source": "startup" }));
    let before = sandbox.warp_ok(&["log", "--json"]);
    let other = json!({ "session_id": "other", "cwd": sandbox.root(), "source": "startup" });
    // It is another process too: the test's own child, and not the test.
    let mut shell = sandbox.command("sh");
    shell.arg("-c").arg(format!("{} hook session-start; :", env!("CARGO_BIN_EXE_warp")));
    let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), other.to_string().as_bytes()).unwrap();
    let told = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    insta::assert_snapshot!(sandbox.stable(&told), @r#"{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"Another session carries on the warp-drive run of this project. Its rails hold here too: commits are refused while its phase does not allow them."}}"#);
    assert_eq!(sandbox.warp_ok(&["log", "--json"]), before);
}

#[test]
fn a_typed_command_begins_a_run_and_another_stops_it() {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    sandbox.issue(42, "# Add a parser\n\n- [ ] it parses\n");
    let typed = |prompt: &str| call(&sandbox, "user-prompt-submit", json!({ "prompt": prompt })).context();
    let told = typed("/warp-drive 42");
    insta::assert_snapshot!(sandbox.stable(&told), @"No run was begun: Automation level must be 2 or 3. `warp doctor` checks what is needed.");
    let told = typed("/automation 3");
    insta::assert_snapshot!(sandbox.stable(&told), @"The person set the automation level to 3, in .claude/settings.local.json with its permission rules; runs that begin from now on go by it. Git's hooks guard its branches now. `warp init --undo` takes that back.");
    let told = typed("/warp-drive 42");
    assert!(told.contains("phase `prerequisites`"), "{told}");
    assert_eq!(state(&sandbox)["requirement"], "42");
    let told = typed("/warp-drive 43");
    assert!(told.contains("No run was begun: Active session exists"), "{told}");
    let told = typed("/stop-warp-drive");
    assert!(told.contains("The person stopped the run") && told.contains("aborted"), "{told}");
    let told = typed("/stop-warp-drive reset");
    insta::assert_snapshot!(sandbox.stable(&told), @"Run [RUN] was taken off this project by the person; its journal is kept.");
    sandbox.warp(&["status"]).ends(2);
    let told = typed("/auto-loop add dark mode --max-iterations 9 --skip-brainstorm");
    assert!(told.contains("add dark mode") && told.contains("phase `plan`"), "{told}");
    assert_eq!(call(&sandbox, "user-prompt-submit", json!({ "prompt": "hello" })).out, "");
}

#[test]
fn a_setting_that_a_person_types_keeps_the_rest_of_the_file() {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    sandbox.write(".claude/settings.local.json", r#"{"permissions":{"allow":["Bash(ls)"]},"_rdb":{"a":1}}"#);
    call(&sandbox, "user-prompt-submit", json!({ "prompt": "I'm going AFK for an hour" }));
    let settings: Value =
        serde_json::from_str(&sandbox.read(".claude/settings.local.json").unwrap()).unwrap();
    assert_eq!(
        settings,
        json!({ "permissions": { "allow": ["Bash(ls)"] }, "_rdb": { "a": 1, "enabled": true } })
    );
    sandbox.write(".claude/settings.local.json", "{broken");
    call(&sandbox, "user-prompt-submit", json!({ "prompt": "/rdb off" }));
    assert_eq!(sandbox.read(".claude/settings.local.json").unwrap(), "{broken");
}

#[test]
fn killed_at_any_hook_the_run_is_where_it_was_and_the_next_session_is_told() {
    let sandbox = standing_in("coding");
    let events = [
        ("session-start", json!({ "source": "startup" })),
        ("user-prompt-submit", json!({ "prompt": "/stop-warp-drive maybe" })),
        ("pre-tool-use", json!({ "tool_name": "Bash", "tool_input": { "command": "make test" } })),
        ("post-tool-use", json!({ "tool_name": "Edit", "tool_input": { "file_path": "a.rs" } })),
        ("post-tool-use-failure", json!({ "tool_name": "Bash", "tool_input": { "command": "false" } })),
        ("permission-request", json!({ "tool_name": "Bash", "tool_input": { "command": "make" } })),
        ("stop", json!({ "stop_hook_active": false })),
        ("session-end", json!({ "reason": "other" })),
    ];
    for (round, (event, fields)) in events.iter().cycle().take(events.len() * 4).enumerate() {
        let mut input = json!({ "session_id": SESSION, "cwd": sandbox.root() });
        for (name, value) in fields.as_object().unwrap() {
            input[name] = value.clone();
        }
        let mut child = command(&sandbox, event).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_string();
        // Killed before it has its input, or at some moment of its work.
        let given = if round < events.len() { 0 } else { input.len() };
        std::io::Write::write_all(&mut stdin, &input.as_bytes()[..given]).unwrap();
        drop(stdin);
        for _ in 0..round * 97 % 1500 {
            std::hint::black_box(child.try_wait().unwrap());
        }
        // It may have ended already.
        let _ = child.kill();
        child.wait().unwrap();
        let next = format!("session-{round}");
        let told =
            call(&sandbox, "session-start", json!({ "session_id": next, "source": "resume" })).context();
        assert!(told.contains("phase `coding`"), "{event}: {told}");
    }
    assert_eq!(state(&sandbox)["phase"], "coding");
    assert!(sandbox.warp(&["doctor"]).out.contains("journal"));
}
