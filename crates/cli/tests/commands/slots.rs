//! Runs in workspaces of their own, as a person sees them: `diff`, `salvage`, `recover`, `revert`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use engine::Event;
use journal::{Durable, MemoryStore, Store as _};
use project::{
    Place, Request, Workspace,
    slots::{Kind, Pool, Slot},
};
use testkit::Sandbox;

use super::{json, sandbox};
use crate::support::{Ends as _, InProject as _, dirs};

/// A project with a run in a slot of its own, which has made one commit there and waits in `reporting`.
struct Running {
    sandbox: Sandbox,
    root: PathBuf,
    run: String,
    base: String,
}

impl Running {
    fn new() -> Self {
        let sandbox = sandbox();
        sandbox.git(&["config", "user.name", "Ann"]);
        sandbox.git(&["config", "user.email", "ann@localhost"]);
        sandbox.git(&["switch", "--quiet", "main"]);
        sandbox.write("Makefile", "test:\n\t@test ! -e broken\n");
        sandbox.commit("chore: tests");
        sandbox.issue(42, "# Add a parser\n\n- [ ] parser reads lines\n");
        let slot = pool(&sandbox).take(Kind::Clone, "main").unwrap();
        let base = slot.base().unwrap().to_owned();
        slot.begin_branch("feature/issue-42-parser", &base).unwrap();
        let mut workspace = Workspace::open(slot.place.clone(), dirs(&sandbox)).unwrap();
        let request = Request {
            level: Some(3),
            issue: Some("42".to_owned()),
            owns_workspace: true,
            ..Request::default()
        };
        let run = workspace.begin(request).unwrap().current.run.id.to_string();
        slot.note_run(&run).unwrap();
        let running = Self { sandbox, root: slot.root().to_owned(), run, base };
        running.next();
        running.next();
        running.warp_ok(&["state", "transition", ".", "plan_ready"]);
        running.next();
        fs::write(running.root.join("parser.rs"), "// parser reads lines\n").unwrap();
        running.warp_ok(&["state", "transition", ".", "code_complete"]);
        for _ in 0..3 {
            running.next();
        }
        running
    }

    fn next(&self) {
        self.warp_ok(&["next", "--step"]);
    }

    /// Runs `warp` in the slot.
    fn warp_ok(&self, arguments: &[&str]) -> String {
        let root = self.root.to_str().unwrap();
        // The events of a run are reported from where it is.
        let arguments: Vec<&str> =
            arguments.iter().map(|argument| if *argument == "." { root } else { argument }).collect();
        self.sandbox.warp_ok(&[&["-C", root], arguments.as_slice()].concat())
    }

    fn slot(&self) -> Slot {
        pool(&self.sandbox).reopen(&self.root).unwrap()
    }

    fn commit(&self) -> String {
        match adapters::git::Git::new(&self.root).head() {
            engine::Seen::Value(head) => head,
            engine::Seen::Absent(why) | engine::Seen::Failed(why) => panic!("{why}"),
        }
    }

    fn merge(&self) -> String {
        let commit = self.commit();
        self.slot().fast_forward(None, "main", (&self.base, &commit), &durable()).unwrap();
        self.warp_ok(&["state", "reset", "."]);
        commit
    }
}

fn salvaged(sandbox: &Sandbox) -> String {
    sandbox.git(&["for-each-ref", "refs/warp/salvage"])
}

fn pool(sandbox: &Sandbox) -> Pool {
    Pool::of(&Place::at(&sandbox.root()).unwrap(), &dirs(sandbox)).unwrap()
}

#[test]
fn diff_shows_what_a_run_has_changed_in_its_own_workspace() {
    let running = Running::new();
    fs::write(running.root.join("new.txt"), "not committed\n").unwrap();
    insta::assert_snapshot!(running.sandbox.seen(&["diff", "42", "--stat"]), @"
    new.txt   | 1 +
    parser.rs | 1 +
    2 files changed, 2 insertions(+)
    ");
    let diff = running.sandbox.warp_ok(&["diff", &running.run]);
    assert!(diff.contains("+not committed") && diff.contains("+// parser reads lines"), "{diff}");
    fs::remove_file(running.root.join("new.txt")).unwrap();
    running.merge();
    insta::assert_snapshot!(running.sandbox.seen(&["diff", "42", "--stat"]), @"
    parser.rs | 1 +
    1 file changed, 1 insertion(+)
    ");
    running.sandbox.as_agent(&["diff", "42"]).ends(0);
}

#[test]
fn a_project_without_runs_keeps_nothing_and_is_left_as_it_is() {
    let sandbox = sandbox();
    assert_eq!(sandbox.warp_ok(&["salvage", "list"]), "Nothing is kept.\n");
    assert_eq!(sandbox.warp_ok(&["salvage", "list", "--json"]), "[]\n");
    for arguments in [["salvage", "show", "1"].as_slice(), &["recover"], &["revert", "42"], &["diff"]] {
        let said = sandbox.warp(arguments);
        assert!(matches!(said.code, Some(2 | 64)) && said.err.contains("hint: "), "{arguments:?}: {said:?}");
    }
    assert!(sandbox.read(".git/warp/project-id").is_none());
}

#[test]
fn kept_work_is_listed_shown_restored_and_dropped() {
    let running = Running::new();
    let sandbox = &running.sandbox;
    assert_eq!(sandbox.warp_ok(&["salvage", "list"]), "Nothing is kept.\n");
    fs::write(running.root.join("new.txt"), "not committed\n").unwrap();
    running.warp_ok(&["state", "reset", "."]);
    drop(pool(sandbox).take(Kind::Clone, "main").unwrap());

    let list = sandbox.warp_ok(&["salvage", "list"]);
    let (first, second) =
        (format!("refs/warp/salvage/{}/1", running.run), format!("refs/warp/salvage/{}/2", running.run));
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines.len(), 2, "{list}");
    assert!(list.contains(&first) && list.contains(&second) && lines[0].ends_with("issue 42"), "{list}");
    let rows = json(&sandbox.warp_ok(&["salvage", "list", "--json"]));
    let row = rows.as_array().unwrap().iter().find(|row| row["ref"] == first.as_str()).unwrap();
    assert_eq!((row["issue"].as_str(), row["files"].as_u64()), (Some("42"), Some(1)));
    assert!(row["slot"].is_null());

    let shown = sandbox.warp_ok(&["salvage", "show", &first]);
    assert!(shown.contains("new.txt | 1 +") && shown.contains("+not committed"), "{shown}");
    assert_eq!(sandbox.warp_ok(&["salvage", "show", &format!("{}/1", running.run)]), shown);

    sandbox.write("new.txt", "mine\n");
    for arguments in [["salvage", "restore", &first], ["salvage", "drop", &first]] {
        let said = sandbox.as_agent(&arguments);
        assert!(said.code == Some(2) && said.err.contains("only a person"), "{said:?}");
    }
    let branch = format!("salvage/{}-1", running.run);
    let said = sandbox.warp_ok(&["salvage", "restore", &first]);
    assert!(said.contains(&format!("is on branch `{branch}`")), "{said}");
    assert_eq!(sandbox.git(&["show", &format!("{branch}:new.txt")]), "not committed");
    assert_eq!(sandbox.read("new.txt").unwrap(), "mine\n");
    insta::assert_snapshot!(sandbox.refused(1, &["salvage", "restore", &first]), @"
    error: `git branch` ended with exit 128: fatal: a branch named 'salvage/[RUN]-1' already exists
    hint: `--to` takes another branch, or a directory that is not there yet
    ");
    sandbox.git(&["branch", "--quiet", "-D", &branch]);
    // What the person has staged stays staged, and the new directory is as clean as after a checkout.
    sandbox.write("staged.txt", "mine too\n");
    sandbox.git(&["add", "staged.txt"]);
    let before = sandbox.git(&["status", "--short"]);
    sandbox.warp_ok(&["salvage", "restore", &first, "--to", "../elsewhere"]);
    assert_eq!(sandbox.git(&["status", "--short"]), before);
    let elsewhere = sandbox.home().join("elsewhere");
    assert_eq!(fs::read_to_string(elsewhere.join("new.txt")).unwrap(), "not committed\n");
    assert_eq!(sandbox.git(&["-C", elsewhere.to_str().unwrap(), "status", "--short"]), "");

    insta::assert_snapshot!(sandbox.refused(64, &["salvage", "drop", "1"]), @"
    error: nothing is kept as `1`
    hint: `warp salvage list` shows everything that is kept
    hint: to be dropped, an entry is named by its whole ref
    ");
    let said = sandbox.warp_ok(&["salvage", "drop", &second]);
    let commit = said.split_whitespace().find(|word| word.len() >= 40 && !word.contains('/')).unwrap();
    sandbox.git(&["branch", "back", commit.trim_end_matches('`')]);
    assert_eq!(sandbox.warp_ok(&["salvage", "list"]).lines().count(), 1);
    sandbox.warp(&["salvage", "show", "7"]).ends(64);
}

#[test]
fn a_lost_workspace_is_made_again_and_the_run_goes_on() {
    let running = Running::new();
    let commit = running.commit();
    running.slot().keep_outside(&commit, &running.run).unwrap();
    let whole = running.sandbox.warp_ok(&["recover", "42"]);
    insta::assert_snapshot!(running.sandbox.stable(&whole), @"The workspace of run [RUN] is whole: [HOME]/state/warp/projects/[ID]/slots/1/tree");
    insta::assert_snapshot!(running.sandbox.refused(2, &["recover"]), @"
    error: no open run has lost its workspace
    hint: `warp status` shows the runs
    ");

    fs::remove_dir_all(running.root.parent().unwrap()).unwrap();
    running.sandbox.as_agent(&["recover"]).ends(2);
    let said = running.sandbox.warp_ok(&["recover"]);
    assert!(said.contains("is there again") && said.contains(&format!("{commit} is part of it")), "{said}");
    assert_eq!(running.commit(), commit);
    running.next();
    let status = json(&running.warp_ok(&["state", "status", "."]));
    assert_eq!(status["phase"], "chunk_complete");
}

/// Has the agent of a run ask, and returns the decision's id.
fn question(running: &Running) -> String {
    let place = Place::at(&running.root).unwrap();
    let mut workspace = Workspace::open(place, dirs(&running.sandbox)).unwrap();
    let question = Event::QuestionAsked {
        kind: "ambiguity".to_owned(),
        question: "Which lines?".to_owned(),
        options: vec!["all".to_owned(), "some".to_owned()],
    };
    workspace.ask_for(None, question).unwrap()
}

#[test]
fn a_run_whose_workspace_is_gone_is_told_answered_explained_and_stopped() {
    let running = Running::new();
    let (sandbox, run) = (&running.sandbox, running.run.as_str());
    let id = question(&running);
    fs::remove_dir_all(running.root.parent().unwrap()).unwrap();
    let told = sandbox.warp_ok(&["tell", "42", "read the README"]);
    assert!(told.contains(&format!("run {run} gets it")), "{told}");
    let explained = sandbox.warp_ok(&["explain", run]);
    assert!(explained.contains("Which lines?"), "{explained}");
    assert!(sandbox.warp_ok(&["status", "42"]).contains(&id));
    assert_eq!(sandbox.warp(&["answer", &id, "none"]).code, Some(65));
    let answered = sandbox.warp_ok(&["answer", &id, "some"]);
    assert!(answered.contains("decision_answered"), "{answered}");
    let stopped = sandbox.warp_ok(&["stop", "42"]);
    assert!(stopped.contains("(abort)"), "{stopped}");
    let log = sandbox.warp_ok(&["log", run, "--all"]);
    assert!(log.contains("told") && log.contains("abort"), "{log}");
    let ended = sandbox.warp_ok(&["stop", "--hard", run]);
    assert!(ended.contains(&format!("run {run} is reset")), "{ended}");
    assert_eq!(sandbox.warp(&["tell", "42", "hello"]).code, Some(2));
}

#[test]
fn a_workspace_that_comes_back_shows_what_was_recorded_meanwhile() {
    let running = Running::new();
    let (sandbox, slot) = (&running.sandbox, running.root.parent().unwrap());
    let (id, away) = (question(&running), slot.with_file_name("away"));
    fs::rename(slot, &away).unwrap();
    sandbox.warp_ok(&["tell", "42", "read the README"]);
    sandbox.warp_ok(&["answer", &id, "some"]);
    fs::rename(&away, slot).unwrap();
    let root = running.root.to_str().unwrap();
    let said = sandbox.warp(&["-C", root, "status"]);
    assert!(said.code == Some(0) && !said.err.contains("set aside"), "{said:?}");
    let shown = fs::read_to_string(running.root.join(".claude/.warp-drive-state.json")).unwrap();
    assert_eq!(json(&shown)["phase"], "reporting");
    running.next();
}

#[test]
fn a_commit_that_nobody_has_is_named() {
    let running = Running::new();
    let commit = running.commit();
    fs::remove_dir_all(running.root.parent().unwrap()).unwrap();
    let said = running.sandbox.warp(&["recover", &running.run]);
    assert!(said.code == Some(1) && said.out.contains(&format!("{commit} was found nowhere")), "{said:?}");
    assert_eq!(running.commit(), running.base);
}

#[test]
fn a_merged_run_is_undone_by_one_commit() {
    let running = Running::new();
    let sandbox = &running.sandbox;
    insta::assert_snapshot!(sandbox.refused(3, &["revert", "42"]), @"
    error: issue 42 is still being worked on by run `[RUN]`
    hint: `warp stop` ends it
    ");
    let merged = running.merge();
    assert_eq!(sandbox.git(&["rev-parse", "main"]), merged);
    assert!(sandbox.read("parser.rs").is_some(), "the checkout of main has moved along");
    sandbox.write("other.txt", "later\n");
    sandbox.git(&["add", "other.txt"]);
    sandbox.git(&["commit", "--quiet", "-m", "feat: later"]);

    // With the run undone the tests fail: nothing moves.
    let before = salvaged(sandbox);
    sandbox.write("Makefile", "test:\n\t@test -e parser.rs\n");
    sandbox.git(&["commit", "--quiet", "-am", "test: needs the parser"]);
    let failing = sandbox.git(&["rev-parse", "main"]);
    insta::assert_snapshot!(sandbox.refused(1, &["revert", "42"]), @"
    error: with issue 42 undone, the tests fail: `make test` ended with exit 2
      make: *** [Makefile:2: test] Error 1
    hint: nothing was changed; fix what still needs the work, then revert again
    ");
    assert_eq!(sandbox.git(&["rev-parse", "main"]), failing);
    assert_eq!(salvaged(sandbox), before, "a revert that failed leaves nothing behind");
    sandbox.git(&["revert", "--no-edit", "HEAD"]);

    insta::assert_snapshot!(sandbox.seen(&["revert", "42"]), @"`main` is at [COMMIT] now, which undoes issue 42; `make test` ended with exit 0");
    assert!(sandbox.read("parser.rs").is_none() && sandbox.read("other.txt").is_some());
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    assert!(sandbox.git(&["log", "-1", "--format=%s by %an"]).starts_with("revert: undo issue 42"));
    insta::assert_snapshot!(sandbox.refused(3, &["revert", "42"]), @"error: issue 42 was already reverted in `main`");
    sandbox.as_agent(&["revert", "42"]).ends(2);
}

#[test]
fn a_run_that_cannot_be_undone_is_left() {
    let running = Running::new();
    let sandbox = &running.sandbox;
    insta::assert_snapshot!(sandbox.refused(2, &["revert", "7"]), @"
    error: `7` has no run
    hint: `warp status` shows open runs; `warp explain 7` says more
    ");
    running.merge();
    sandbox.write("parser.rs", "// rewritten\n");
    sandbox.git(&["commit", "--quiet", "-am", "feat: rewritten"]);
    let before = salvaged(sandbox);
    insta::assert_snapshot!(sandbox.refused(1, &["revert", "42"]), @"
    error: reverting it conflicts with later changes in parser.rs
    hint: nothing was changed; `git revert --no-commit` lets a person sort that out
    ");
    assert_eq!(salvaged(sandbox), before);
    sandbox.git(&["reset", "--quiet", "--hard", &running.base]);
    insta::assert_snapshot!(sandbox.refused(3, &["revert", "42"]), @"
    error: nothing of issue 42 is part of `main`
    hint: what was never merged has nothing to undo; `warp diff` shows its commits
    ");
    assert!(Path::new(&running.root).exists());
}

#[test]
fn nothing_of_the_callers_environment_leads_git_elsewhere() {
    let running = Running::new();
    let mut command = running.sandbox.warp_command(&["-C", running.root.to_str().unwrap(), "diff", "--stat"]);
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"] {
        command.env(name, running.sandbox.home().join("elsewhere"));
    }
    let output = command.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains(" parser.rs "), "{out}{err}");
}

/// Nothing here is recorded, so nothing has to be on disk before it.
fn durable() -> Durable {
    MemoryStore::new().flush().unwrap()
}
