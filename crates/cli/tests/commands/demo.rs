use std::fs;

use super::sandbox;
use crate::support::{Ends as _, InProject as _};

#[test]
fn the_demonstration_goes_from_an_issue_to_a_merged_branch_over_a_kill() {
    let sandbox = sandbox().proving();
    let directory = sandbox.home().join("shown");
    let said = sandbox.warp(&["demo", directory.to_str().unwrap()]).ends(0);
    for words in [
        "refused: Bash: git_commit is only allowed during committing phase",
        "the tests can fail: with 1 source file broken they did",
        "not ok 3 - f2c converts to celsius",
        "doom loop: `convert.sh` was edited 6 times",
        "resumes in `coding`",
        "closed  5/5  Convert temperatures and distances",
        "closed  -    Chunk 3/3 of #1",
        "feat(convert): list every conversion",
        "ok 7 - f2c converts to celsius",
    ] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
    assert_eq!(said.out.matches("Chunk 1/3 of #1").count(), 1, "each report is filed once");
    assert!(fs::exists(directory.join("converter/test/help.test")).unwrap());
}

#[test]
fn the_demonstration_touches_no_directory_that_is_there() {
    let sandbox = sandbox();
    insta::assert_snapshot!(sandbox.refused(1, &["demo", sandbox.home().to_str().unwrap()]), @"
    error: the demonstration failed: `[HOME]` cannot be made: File exists (os error 17)
    hint: name a directory that is not there yet
    ");
}
