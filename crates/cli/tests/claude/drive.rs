//! A run of `warp-drive` by an agent that tries what it must not.

use std::time::Duration;

use testkit::{
    agents::Claude,
    model::{Model, Turn},
};

use super::{
    project::{launch, project, settings},
    script::{Move, bash, play, write},
};
use crate::support::{Ends as _, InProject as _};

/// How long the client may take to ask the model twice.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn an_agent_goes_through_the_whole_run_because_it_cannot_do_otherwise() {
    let Some(claude) = Claude::or_skip() else { return };
    let sandbox = project();
    let root = sandbox.root();
    let file = |name: &str| root.join(name).to_str().unwrap().to_owned();
    let parser = file("parser.rs");
    sandbox.warp_ok(&["state", "init", ".", "--level", "3", "--issue", "42"]);
    let evidence = r#"{"evidence":[{"ac":"AC-01","file":"parser.rs","line":1},{"ac":"AC-02","file":"parser.rs","line":1},{"ac":"AC-03","file":"parser.rs","line":1}]}"#;
    let moves = vec![
        bash("warp next", &["prerequisites -> discovering", "discovering -> planning", "## The issue"]),
        bash(
            "warp state transition . plan_ready",
            &["planning -> chunking", "What you were told before still holds"],
        ),
        bash("warp next", &["4 criteria in 2 chunks", "chunking -> coding"]),
        // What an agent must not do.
        bash(
            "git commit --allow-empty -m 'feat: too early'",
            &["git_commit is only allowed during committing phase"],
        ),
        write(&file(".claude/.warp-drive-state.json"), "{}", &["not for an agent to write"]),
        bash("warp answer 1 continue", &["is a person's"]),
        bash("git push origin HEAD", &["git push"]),
        // A file edited again and again.
        write(&parser, "// parser reads empty files 1\n", &[]),
        write(&parser, "// parser reads empty files 2\n", &[]),
        write(&parser, "// parser reads empty files 3\n", &[]),
        write(&parser, "// parser reads empty files 4\n", &[]),
        write(&parser, "// parser reads empty files 5\n", &[]),
        write(&parser, "// parser reads empty files 6\n", &["parser.rs` was edited 6 times"]),
        bash("warp state transition . code_complete", &["evidence"]),
        bash(
            &format!("warp state transition . code_complete --data '{evidence}'"),
            &["coding -> updating_docs"],
        ),
        bash("warp next --step", &["ticked in issue 42: 3 criteria", "updating_docs -> testing"]),
        bash("warp next --step", &["testing -> committing"]),
        bash(
            "git add -A && git commit -q -m 'feat(parser): read files'",
            &["`committed` was noticed: the run is in `reporting` now"],
        ),
        // It stops before the report is filed, and is kept going.
        Move { turn: Turn::say("I am done."), told: &["report"] },
        bash(
            "warp next",
            &[
                "the chunk report is",
                "reporting -> chunk_complete",
                "chunk 2 of 2",
                "chunk_complete -> coding",
            ],
        ),
        write(&file("version.rs"), "// version is printed\n", &[]),
        bash(
            r#"warp state transition . code_complete --data '{"evidence":[{"ac":"AC-04","file":"version.rs","line":1}]}'"#,
            &["coding -> updating_docs"],
        ),
        bash(
            "warp next -m 'feat: print the version'",
            &[
                "updating_docs -> testing",
                "testing -> committing",
                "committing -> reporting",
                "reporting -> chunk_complete",
                "chunk_complete -> requirement_complete",
                "requirement_complete -> merging",
                "merging -> awaiting_continue",
            ],
        ),
        bash("warp state transition . continue_yes", &["person"]),
        bash("warp state transition . continue_no", &["awaiting_continue -> session_ending"]),
        bash("warp next", &["session_ending -> completed"]),
    ];
    let wanted = moves.len();
    let (script, done) = play(moves);
    let model = Model::start(script);
    launch(&claude, &sandbox, &model, "Carry on the run of this project.")
        .settings(settings().to_string())
        .run()
        .ends(0);
    assert_eq!(*done.lock().unwrap(), wanted, "{}", model.text());
    assert!(model.text().contains("A warp-drive run is under way"), "{}", model.text());

    let log = sandbox.json(&["log", "--json"]);
    let phases: Vec<&str> =
        log.as_array().unwrap().iter().map(|row| row["phase"].as_str().unwrap()).collect();
    assert_eq!(phases.last(), Some(&"completed"));
    assert_eq!(
        sandbox.git(&["rev-parse", "main"]),
        sandbox.git(&["rev-parse", "HEAD"]),
        "the work is merged"
    );
    let subjects = sandbox.git(&["log", "--format=%s", "-n", "2"]);
    assert_eq!(subjects, "feat: print the version\nfeat(parser): read files");
    assert!(!sandbox.warp_ok(&["issue", "show", "42"]).contains("[ ]"));
    assert_eq!(sandbox.read(".claude/.warp-drive-state.json"), None);
}

#[test]
fn a_killed_agent_leaves_its_run_where_it_was_and_the_next_session_goes_on() {
    let Some(claude) = Claude::or_skip() else { return };
    let sandbox = project();
    sandbox.warp_ok(&["init", "--level", "2"]);
    let (script, done) = play(vec![
        bash("warp next --step", &["prerequisites -> discovering"]),
        Move { turn: Turn::Silence, told: &[] },
    ]);
    let model = Model::start(script);
    let mut running = launch(&claude, &sandbox, &model, "/warp-drive 42").start();
    assert!(model.wait_for_requests(2, PATIENCE), "{}", running.out());
    running.kill();
    let ended = running.wait();
    assert_eq!(ended.signal, Some(9), "{ended:?}");
    assert_eq!(*done.lock().unwrap(), 2);
    let status = sandbox.warp_ok(&["status"]);
    assert!(status.contains("discovering") && status.contains("not running"), "{status}");

    let (script, done) = play(vec![
        bash("warp next", &["discovering -> planning"]),
        bash("warp state transition . plan_ready", &["planning -> chunking"]),
    ]);
    let model = Model::start(script);
    launch(&claude, &sandbox, &model, "Continue.").run().ends(0);
    assert_eq!(*done.lock().unwrap(), 2, "{}", model.text());
    let told = model.text();
    assert!(told.contains("It stands in phase `discovering`") && told.contains("has exited"), "{told}");
    let log = sandbox.json(&["log", "--json"]);
    let owners = log.as_array().unwrap().iter().filter(|row| row["event"] == "owner_changed").count();
    assert_eq!(owners, 1, "the run was begun by the first session and carried on by the second");
}

#[test]
fn yes_in_the_chat_goes_on_with_the_next_issue_on_its_own_branch() {
    let Some(claude) = Claude::or_skip() else { return };
    let sandbox = project();
    sandbox.warp_ok(&["state", "init", ".", "--level", "3", "--issue", "41"]);
    sandbox.transitions(&["prerequisites_ok", "work_selected", "plan_ready", "chunks_defined"]);
    sandbox.write("before.rs", "// the issue before\n");
    sandbox.transitions(&["code_complete", "docs_updated", "tests_passed"]);
    sandbox.git(&["add", "before.rs"]);
    sandbox.git(&["commit", "--quiet", "-m", "feat: before"]);
    sandbox.transitions(&["committed", "report_filed", "requirement_done", "merge_ready", "merged"]);
    let (script, done) = play(vec![bash("warp next", &["branch feature/issue-42-add-a-parser"])]);
    let model = Model::start(script);
    launch(&claude, &sandbox, &model, "yes, continue").settings(settings().to_string()).run().ends(0);
    assert_eq!(*done.lock().unwrap(), 1, "{}", model.text());
    assert!(model.text().contains("has decided: yes (continue). It is recorded."), "{}", model.text());
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "feature/issue-42-add-a-parser");
    let log = sandbox.json(&["log", "--json"]);
    let said = log.as_array().unwrap().iter().find(|row| row["event"] == "continue_yes").unwrap();
    assert_eq!((said["actor"].as_str(), said["data"]["via"].as_str()), (Some("person"), Some("chat")));
}
