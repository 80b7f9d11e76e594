//! One `warp next` goes through every phase that is warp's, and tells only what is new.

use super::{phase, project};
use crate::support::{Ends as _, InProject as _};

/// A run in `coding` whose only chunk is written.
fn written() -> testkit::Sandbox {
    let sandbox = project();
    sandbox.warp_ok(&["state", "init", ".", "--level", "3", "--issue", "42"]);
    sandbox.warp_ok(&["next"]);
    assert_eq!(phase(&sandbox), "planning");
    sandbox.transitions(&["plan_ready"]);
    sandbox.warp_ok(&["next"]);
    assert_eq!(phase(&sandbox), "coding");
    sandbox.write("parser.rs", "// parser reads empty files and lines\n");
    sandbox.transitions(&["code_complete"]);
    sandbox
}

#[test]
fn one_call_goes_on_until_something_is_an_agents_or_a_persons() {
    let sandbox = written();
    let said = sandbox.warp_ok(&["next"]);
    let said = said.replace(&sandbox.git(&["rev-parse", "HEAD"])[..10], "[COMMIT]");
    insta::assert_snapshot!(sandbox.stable(&said), @"
    ticked in issue 42: 2 criteria
    #6 updating_docs -> testing (docs_updated)
    `make test` ended with exit 0
    #7 testing -> committing (tests_passed)
    [COMMIT] feat: Add a parser (AC-01, AC-02) (1 file, +1 -0)
    #8 committing -> reporting (committed)
    the chunk report is #43
    #9 reporting -> chunk_complete (report_filed)
    every chunk is done
    #10 chunk_complete -> requirement_complete (requirement_done)
    [COMMIT]: `make test` ended with exit 0
    #11 requirement_complete -> merging (merge_ready)
    `main` is at [COMMIT] now, which was tested
    #12 merging -> awaiting_continue (merged)
    A warp-drive run is under way in this project, for issue 42.
    It stands in phase `awaiting_continue`: Asks whether to continue with the next issue, chunk 1 of 1.

    What you were told before still holds (`warp state inject .` repeats it); this is new or has changed.

    ## What to report

    A person decides here. What can happen next:
    - continue_yes (needs a person)
    - continue_no
    - abort

    ## Done so far

    - chunk 1 (AC-01, AC-02) as [COMMIT]
    ");
    assert_eq!(phase(&sandbox), "awaiting_continue");
    assert_eq!(sandbox.git(&["rev-parse", "main"]), sandbox.git(&["rev-parse", "HEAD"]));
}

#[test]
fn a_call_ends_where_a_phase_fails_and_says_what_was_done_before() {
    let sandbox = written();
    sandbox.program(".git/hooks/pre-commit", "#!/bin/sh\necho 'no trailing spaces'\nexit 7\n");
    let said = sandbox.warp(&["next"]).ends(1);
    assert!(said.out.contains("testing -> committing"), "{said:?}");
    assert!(said.err.contains("pre-commit hook ended with exit 7"), "{said:?}");
    assert_eq!(phase(&sandbox), "committing");
    let shown: serde_json::Value =
        serde_json::from_str(&sandbox.warp(&["next", "--json"]).ends(1).out).unwrap_or_default();
    assert_eq!(shown, serde_json::Value::Null, "nothing was done, so there is nothing to show");
}

#[test]
fn tests_that_fail_lead_back_to_the_agent_which_is_told_them() {
    let sandbox = written();
    sandbox.write("Makefile", "test:\n\t@echo 'parser loses lines'; false\n");
    let said = sandbox.as_agent(&["next"]).ends(0);
    assert!(said.out.contains("testing -> coding (tests_failed)"), "{said:?}");
    assert!(said.out.contains("## What failed") && said.out.contains("parser loses lines"), "{said:?}");
    assert!(said.out.contains("warp state transition . code_complete --data"), "{said:?}");
    // What it was told before is not told again, what failed is.
    sandbox.transitions(&["code_complete"]);
    let again = sandbox.as_agent(&["next"]).ends(0);
    assert!(again.out.contains("What you were told before still holds"), "{again:?}");
    assert!(again.out.contains("This is try 3 of 4.") && !again.out.contains("## The issue"), "{again:?}");
    assert!(!again.out.contains("warp state transition . code_complete --data"), "{again:?}");
}

#[test]
fn with_step_a_call_does_one_phase() {
    let sandbox = written();
    let said = sandbox.json(&["next", "--step", "--json"]);
    assert_eq!(said["events"], serde_json::json!(["docs_updated"]));
    assert_eq!((phase(&sandbox).as_str(), &said["event"]), ("testing", &said["events"][0]));
    let said = sandbox.json(&["next", "--json"]);
    assert_eq!(said["events"][0], "tests_passed");
    assert_eq!(said["event"], "merged");
}
