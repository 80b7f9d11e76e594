//! Going on to another issue in a person's checkout: it gets a branch of its own, and each issue an account of its own.

use testkit::Sandbox;

use super::{next, phase, project, refused, to_committing};
use crate::support::InProject as _;

/// A run of issue 42 that is merged, and goes on with issue 43.
fn continued() -> Sandbox {
    let sandbox = project();
    sandbox.issue(43, "# Größe hinzufügen\n\n- [ ] printer writes lines\n");
    to_committing(&sandbox, "3");
    while phase(&sandbox) != "awaiting_continue" {
        next(&sandbox);
    }
    sandbox.transitions(&["continue_yes"]);
    sandbox
}

/// Does issue 43, which was taken, and ends the run.
fn finish(sandbox: &Sandbox) {
    sandbox.transitions(&["plan_ready"]);
    next(sandbox);
    sandbox.write("printer.rs", "// printer writes lines\n");
    sandbox.transitions(&["code_complete"]);
    while phase(sandbox) != "awaiting_continue" {
        next(sandbox);
    }
    sandbox.transitions(&["continue_no"]);
    next(sandbox);
}

fn branch(sandbox: &Sandbox) -> String {
    sandbox.git(&["branch", "--show-current"])
}

#[test]
fn the_next_issue_gets_a_branch_of_its_own_and_each_has_its_own_account() {
    let sandbox = continued();
    let said = next(&sandbox);
    assert!(said.contains("branch feature/issue-43-"), "{said}");
    assert!(branch(&sandbox).starts_with("feature/issue-43-"), "{}", branch(&sandbox));
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), sandbox.git(&["rev-parse", "main"]));
    finish(&sandbox);

    let stat = |issue: &str| sandbox.warp_ok(&["diff", issue, "--stat"]);
    assert!(stat("42").contains("parser.rs") && !stat("42").contains("printer.rs"), "{}", stat("42"));
    assert!(stat("43").contains("printer.rs") && !stat("43").contains("parser.rs"), "{}", stat("43"));
    let log = |issue: &str| sandbox.warp_ok(&["log", issue]);
    assert!(log("42").contains("continue_yes") && !log("42").contains("session_ended"), "{}", log("42"));
    assert!(log("43").contains("session_ended") && !log("43").contains("continue_yes"), "{}", log("43"));
    let explained = sandbox.warp_ok(&["explain", "42"]);
    assert!(explained.contains("is done: ") && explained.contains("warp revert 42"), "{explained}");
    assert!(explained.contains("(AC-01, AC-02)") && !explained.contains("hinzu"), "{explained}");

    // Undoing one of them leaves the other, and opens only its issue again.
    sandbox.git(&["switch", "--quiet", "main"]);
    insta::assert_snapshot!(sandbox.seen(&["revert", "42"]), @"
    `main` is at [COMMIT] now, which undoes issue 42; the project has no tests that warp could run
    issue 42 is open again; `warp run 42` tries once more
    ");
    assert!(sandbox.read("parser.rs").is_none() && sandbox.read("printer.rs").is_some());
    assert!(sandbox.warp_ok(&["issue", "show", "43"]).contains("\nclosed"));
    let explained = sandbox.warp_ok(&["explain", "42"]);
    assert!(explained.contains("taken back at ") && explained.contains("  warp run 42 "), "{explained}");
}

#[test]
fn undoing_the_run_names_all_of_its_issues() {
    let sandbox = continued();
    next(&sandbox);
    finish(&sandbox);
    let explained = sandbox.json(&["explain", "43", "--json"]);
    let run = explained["run"].as_str().unwrap().to_owned();
    sandbox.git(&["switch", "--quiet", "main"]);
    insta::assert_snapshot!(sandbox.seen(&["revert", &run]), @"
    `main` is at [COMMIT] now, which undoes run `[RUN]`; the project has no tests that warp could run
    it did the work of issues 42, 43
    issue 42 is open again; `warp run 42` tries once more
    issue 43 is open again; `warp run 43` tries once more
    ");
    assert!(sandbox.read("parser.rs").is_none() && sandbox.read("printer.rs").is_none());
}

#[test]
fn with_uncommitted_work_no_branch_is_made() {
    let sandbox = continued();
    let before = branch(&sandbox);
    sandbox.write("stray.rs", "// not committed\n");
    let said = refused(&sandbox);
    insta::assert_snapshot!(sandbox.stable(&said), @"error: issue 43 gets a branch of its own, and stray.rs is not committed: commit or stash that, then `warp next`");
    assert_eq!(branch(&sandbox), before);
    std::fs::remove_file(sandbox.root().join("stray.rs")).unwrap();
    next(&sandbox);
    assert!(branch(&sandbox).starts_with("feature/issue-43-"), "{}", branch(&sandbox));
}
