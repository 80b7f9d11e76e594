//! `/warp-drive 1` as a person types it: Claude Code in a terminal, in a project that is trusted, with the git ignore file that
//! the client writes. Two issues, a decision that is answered in the chat, and a yes to the second issue.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use testkit::{
    Sandbox,
    agents::Claude,
    model::{Model, Turn},
    terminal::Terminal,
};

use super::script::{Move, bash, play, write};
use crate::support::InProject as _;

const FIRST: &str = "feature/issue-1-add-a-parser";
const SECOND: &str = "feature/issue-2-print-the-version";

/// A project with two issues, the first with three criteria, set up for a level and with a remote.
fn project(level: &str) -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    sandbox.git(&["switch", "--quiet", "main"]);
    sandbox.write("Makefile", ".PHONY: test\ntest:\n\t@echo 'ok 1 - reads empty files'\n");
    sandbox.issue(
        1,
        "# Add a parser\n\n- [ ] parser reads empty files\n- [ ] parser reads lines\n- [ ] errors name the line\n",
    );
    sandbox.issue(2, "# Print the version\n\n- [ ] version is printed\n");
    sandbox.warp_ok(&["init", "--level", level]);
    // The person has agreed to the tools of `.mcp.json`.
    let local: Value = serde_json::from_str(&sandbox.read(".claude/settings.local.json").unwrap()).unwrap();
    let mut local = local.as_object().unwrap().clone();
    local.insert("enableAllProjectMcpServers".to_owned(), json!(true));
    sandbox.write(".claude/settings.local.json", Value::Object(local).to_string());
    let ignored = "**/.claude/settings.local.json\n";
    std::fs::create_dir_all(sandbox.home().join("config/git")).unwrap();
    std::fs::write(sandbox.home().join("config/git/ignore"), ignored).unwrap();
    sandbox.commit("chore: set up");
    sandbox.git(&["init", "--quiet", "--bare", "../remote.git"]);
    sandbox.git(&["remote", "add", "origin", "../remote.git"]);
    sandbox.git(&["push", "--quiet", "origin", "main"]);
    sandbox.warp_ok(&["config", "push=target"]);
    sandbox
}

/// Goes from `coding` to `awaiting_continue` with a chunk whose criteria are all met by one file.
fn chunk(root: &Path, name: &str, criteria: &[&str]) -> Vec<Move> {
    let evidence: Vec<Value> =
        criteria.iter().map(|criterion| json!({ "ac": criterion, "file": name, "line": 1 })).collect();
    let data = json!({ "evidence": evidence });
    let text = "// parser reads empty files and lines, errors name the line; version is printed\n";
    vec![
        write(root.join(name).to_str().unwrap(), text, &[]),
        bash(
            &format!("warp state transition . code_complete --data '{data}'"),
            &["Self-verification before `code_complete`", "coding -> updating_docs"],
        ),
        bash(
            "warp next",
            &[
                "Self-verification before `requirement_done`",
                "updating_docs -> testing",
                "testing -> committing",
                "committing -> reporting",
                "reporting -> chunk_complete",
                "chunk_complete -> requirement_complete",
                "requirement_complete -> merging",
                "merging -> awaiting_continue",
            ],
        ),
    ]
}

/// Begins the first issue, asks the person something and waits.
fn asking() -> Vec<Move> {
    let question = json!({
        "question": "May the parser use a crate?",
        "kind": "dependency",
        "options": ["crate", "by hand"],
    });
    vec![
        bash("warp next", &["prerequisites -> discovering", "discovering -> planning", FIRST]),
        bash("warp state transition . plan_ready", &["planning -> chunking"]),
        bash("warp next", &["3 criteria in 1 chunk", "chunking -> coding"]),
        Move {
            turn: Turn::call("mcp__warp__ask_question", question),
            told: &["May the parser use a crate?"],
        },
        Move { turn: Turn::say("I wait for your decision."), told: &["has decided: by hand", "coding"] },
    ]
}

/// All that the model does, and how often it ends its turn to wait for the person.
fn moves(root: &Path) -> Vec<Move> {
    let mut moves = asking();
    moves.extend(chunk(root, "parser.rs", &["AC-01", "AC-02", "AC-03"]));
    moves.push(Move { turn: Turn::say("Shall I take the next issue?"), told: &["has decided: yes"] });
    moves.extend([
        bash("warp next", &["discovering -> planning", SECOND]),
        bash("warp state transition . plan_ready", &["planning -> chunking"]),
        bash("warp next", &["chunking -> coding"]),
    ]);
    moves.extend(chunk(root, "version.rs", &["AC-01"]));
    moves.push(Move { turn: Turn::say("Is there more to do?"), told: &["has decided: no"] });
    moves.extend([
        bash("warp next", &["session_ending -> completed"]),
        Move { turn: Turn::say("The session has ended."), told: &[] },
    ]);
    moves
}

/// Starts the client in a terminal.
fn terminal(claude: &Claude, sandbox: &Sandbox, model: &Model) -> Terminal {
    let home = |name: &str| sandbox.home().join(name).to_str().unwrap().to_owned();
    let terminal = claude
        .interactive(sandbox, model)
        .path_first(Path::new(env!("CARGO_BIN_EXE_warp")).parent().unwrap())
        .env("XDG_STATE_HOME", home("state"))
        .env("XDG_CONFIG_HOME", home("config"))
        .in_terminal((150, 50));
    terminal.wait_for("accept edits on");
    terminal
}

/// Plays the person: types, and waits for what the agent says.
fn typed(claude: &Claude, sandbox: &Sandbox) -> (Model, Arc<Mutex<usize>>, usize) {
    let moves = moves(&sandbox.root());
    let wanted = moves.len();
    let (script, done) = play(moves);
    let model = Model::start(script);
    let terminal = terminal(claude, sandbox, &model);
    terminal.type_line("/warp-drive 1");
    terminal.wait_for("I wait for your decision.");
    terminal.type_line("by hand");
    terminal.wait_for("Shall I take the next issue?");
    terminal.type_line("yes");
    terminal.wait_for("Is there more to do?");
    terminal.type_line("no");
    terminal.wait_for("The session has ended.");
    (model, done, wanted)
}

/// Returns the events of the run, oldest first, each with who reported it.
fn events(sandbox: &Sandbox) -> Vec<(String, String)> {
    let log = sandbox.rows(&["log", "--json"]);
    let text = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
    log.iter().map(|row| (text(row, "event"), text(row, "actor"))).collect()
}

/// Sees that the run went through both issues and ended, with the person's words on record as theirs.
fn is_over(sandbox: &Sandbox) {
    let events = events(sandbox);
    assert_eq!(events.last().unwrap().0, "session_ended", "{events:?}");
    for event in ["decision_answered", "continue_yes", "continue_no"] {
        assert!(events.contains(&(event.to_owned(), "person".to_owned())), "{event}: {events:?}");
    }
    assert_eq!(events.iter().filter(|(event, _)| event == "merged").count(), 2);
    for issue in ["1", "2"] {
        assert!(!sandbox.warp_ok(&["issue", "show", issue]).contains("[ ]"), "issue {issue}");
    }
    assert_eq!(sandbox.read(".claude/.warp-drive-state.json"), None, "the session is over");
    let branches = sandbox.git(&["branch", "--format=%(refname:short)"]);
    let branches: Vec<&str> = branches.lines().collect();
    assert!(branches.contains(&FIRST) && branches.contains(&SECOND), "{branches:?}");
    let files = |branch: &str| sandbox.git(&["show", "--name-only", "--format=", branch]);
    assert_eq!((files(FIRST), files(SECOND)), ("parser.rs".to_owned(), "version.rs".to_owned()));
}

#[test]
fn at_level_two_both_issues_end_as_pull_requests_on_branches_of_their_own() {
    let (Some(claude), false) = (Claude::or_skip(), Terminal::is_skipped()) else { return };
    let sandbox = project("2");
    let main = sandbox.git(&["rev-parse", "main"]);
    // At level 2 the person makes the first branch, as `/start-work` does.
    sandbox.git(&["switch", "--quiet", "-c", FIRST]);
    let (model, done, wanted) = typed(&claude, &sandbox);
    assert_eq!(*done.lock().unwrap(), wanted, "{}", model.text());
    is_over(&sandbox);
    assert_eq!(sandbox.git(&["rev-parse", "main"]), main, "nothing is merged");
    let pulls = sandbox.warp_ok(&["pr", "list"]);
    assert!(pulls.contains("Add a parser") && pulls.contains("Print the version"), "{pulls}");
    for branch in [FIRST, SECOND] {
        let remote = sandbox.git(&["ls-remote", "origin", branch]);
        assert!(remote.starts_with(&sandbox.git(&["rev-parse", branch])), "{branch}: {remote}");
        assert_eq!(sandbox.git(&["merge-base", "main", branch]), main, "{branch} starts at the newest main");
    }
}

#[test]
fn at_level_three_both_issues_are_merged_and_pushed() {
    let (Some(claude), false) = (Claude::or_skip(), Terminal::is_skipped()) else { return };
    let sandbox = project("3");
    let before = sandbox.git(&["rev-parse", "main"]);
    let (model, done, wanted) = typed(&claude, &sandbox);
    assert_eq!(*done.lock().unwrap(), wanted, "{}", model.text());
    is_over(&sandbox);
    let main = sandbox.git(&["rev-parse", "main"]);
    let count = sandbox.git(&["rev-list", "--count", &format!("{before}..{main}")]);
    assert_eq!((count.as_str(), sandbox.git(&["rev-parse", SECOND])), ("2", main.clone()));
    assert!(sandbox.git(&["ls-remote", "origin", "main"]).starts_with(&main));
    for issue in ["1", "2"] {
        assert!(sandbox.warp_ok(&["issue", "show", issue]).contains("closed"), "issue {issue}");
    }
}

#[test]
fn an_answer_that_is_given_elsewhere_wakes_the_agent() {
    let (Some(claude), false) = (Claude::or_skip(), Terminal::is_skipped()) else { return };
    let sandbox = project("3");
    let mut moves = asking();
    moves.push(Move { turn: Turn::say("Then I write it by hand."), told: &[] });
    let (script, _) = play(moves);
    let model = Model::start(script);
    let terminal = terminal(&claude, &sandbox, &model);
    terminal.type_line("/warp-drive 1");
    terminal.wait_for("I wait for your decision.");
    // The turn has ended when the hook in the background waits.
    terminal.wait_until("the hook that waits", |_| sandbox.root().join(".git/warp/waiting").exists());
    let status = sandbox.json(&["status", "--json"]);
    let decision = status["standing"]["decision"]["id"].as_str().unwrap();
    sandbox.warp_ok(&["answer", decision, "by hand"]);
    terminal.wait_for("Then I write it by hand.");
}
