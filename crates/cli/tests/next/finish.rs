//! The final test covers what is committed, and what was tested is what is merged.

use super::{next, phase, project, refused, to_committing};
use crate::support::InProject as _;

/// Goes on until the final test is due.
fn to_final_test(sandbox: &testkit::Sandbox) {
    to_committing(sandbox, "3");
    while phase(sandbox) != "requirement_complete" {
        next(sandbox);
    }
}

#[test]
fn a_tree_that_is_not_committed_is_not_finally_tested() {
    let sandbox = project();
    to_final_test(&sandbox);
    sandbox.write("fix.rs", "// makes the test pass\n");
    let said = refused(&sandbox);
    insta::assert_snapshot!(sandbox.stable(&said), @"error: what is merged is what is committed, and fix.rs is not: a person commits or removes them, then `warp next`");
    std::fs::remove_file(sandbox.root().join("fix.rs")).unwrap();
    assert!(next(&sandbox).contains("requirement_complete -> merging"));
}

#[test]
fn what_was_there_before_the_run_is_named_with_the_final_test() {
    let sandbox = project();
    sandbox.write("mine.txt", "changed\n");
    to_final_test(&sandbox);
    let said = next(&sandbox);
    assert!(said.contains("mine.txt is not committed, and lay there during the test"), "{said}");
}

#[test]
fn only_what_was_tested_is_merged() {
    let sandbox = project();
    to_final_test(&sandbox);
    let tested = sandbox.git(&["rev-parse", "HEAD"]);
    next(&sandbox);
    sandbox.git(&["commit", "--quiet", "--allow-empty", "-m", "feat: after the test"]);
    let said = next(&sandbox);
    assert!(said.contains("which was tested"), "{said}");
    assert_eq!(sandbox.git(&["rev-parse", "main"]), tested);
}
