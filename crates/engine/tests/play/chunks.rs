//! Issues, chunks and commits: what comes with events, and what is refused of it.

use insta::assert_snapshot;

use crate::script::{play, play_to};

#[test]
fn bad_lists_of_criteria_are_refused_and_each_says_why() {
    let define = |acs: &str| play(&format!("@chunking, chunks_defined acs={acs}"));
    let many = format!("[{}]", vec!["[\"a\"]"; 501].join(","));
    let long = format!("[[\"{}\"]]", "x".repeat(2001));
    let messages: Vec<String> = [
        "7",
        "[]",
        "[7]",
        "[[7]]",
        "[[\"\"]]",
        "[[\"a\"],[]]",
        "[[\"a\",\"b\",\"c\",\"d\"]]",
        "[[\"a\"],[\"a\"]]",
        &many,
        &long,
    ]
    .into_iter()
    .map(define)
    .map(|line| line.split_once(" refused: ").expect("a refusal").1.to_owned())
    .collect();
    assert_snapshot!(messages.join("\n"), @r#"
    `acs` must be a list of lists of criteria, like [["AC-01","AC-02"],["AC-03"]]
    `acs` must be a list of lists of criteria, like [["AC-01","AC-02"],["AC-03"]]
    `acs` must be a list of lists of criteria, like [["AC-01","AC-02"],["AC-03"]]
    `acs` must be a list of lists of criteria, like [["AC-01","AC-02"],["AC-03"]]
    `acs` must be a list of lists of criteria, like [["AC-01","AC-02"],["AC-03"]]
    `acs` has no criterion in chunk 2
    `acs` has 4 criteria in chunk 1; max_acs_per_commit is 3
    `acs` has `a` twice; each criterion belongs to one chunk
    `acs` has 501 chunks; the most is 500
    `acs` has a criterion of more than 2000 bytes
    "#);
}

#[test]
fn chunks_are_taken_one_after_the_other_until_none_is_left() {
    let script = r#"@chunking, chunks_defined acs=[["AC-01","AC-02"],["AC-03"]] head=base0"#;
    let (run, _) = play_to(script);
    assert_eq!(
        (run.chunk.index, run.chunk.acs.len(), run.current_criteria()),
        (1, 2, ["AC-01".to_owned(), "AC-02".to_owned()].as_slice())
    );
    assert_eq!(run.chunk.base.as_deref(), Some("base0"));
    let (run, lines) = play_to(&format!(
        "{script}, @committing, committed head=c1, @chunk_complete, next_chunk head=c1, @committing, committed head=c2, @chunk_complete, next_chunk, abort"
    ));
    assert_snapshot!(lines, @r#"
    chunks_defined acs=[["AC-01","AC-02"],["AC-03"]] head=base0: coding e4
    committed head=c1: reporting e8
    next_chunk head=c1: coding [total_chunks 1] e10
    committed head=c2: reporting [total_chunks 1] e14
    next_chunk: coding [total_chunks 2] e16
      no chunk is left: 2 of 2 were taken; `requirement_done` ends the issue
    abort: aborted [total_chunks 2] e17
    "#);
    assert_eq!(run.chunk.index, 2);
    let done: Vec<_> = run
        .completed_chunks
        .iter()
        .map(|chunk| (chunk.index, chunk.acs.len(), chunk.commit.as_deref()))
        .collect();
    assert_eq!(done, [(1, 2, Some("c1")), (2, 1, Some("c2"))]);
}

#[test]
fn a_head_that_has_not_moved_is_no_commit_of_the_chunk() {
    let (run, lines) = play_to("@chunking, chunks_defined head=base0, @committing, committed head=base0");
    assert_snapshot!(lines, @"
    chunks_defined head=base0: coding e4
    committed head=base0: reporting e8
      no new commit was found; none was recorded
    ");
    assert!(run.commit_hashes.is_empty());
}

#[test]
fn another_issue_starts_with_a_clean_sheet() {
    let (run, _) = play_to(
        "@committing, committed head=c1, @awaiting_continue, continue_yes, work_selected requirement=43 branch=feature/43",
    );
    assert_eq!((run.issue.as_deref(), run.branches.branch.as_str()), (Some("43"), "feature/43"));
    assert_eq!(
        (run.chunk.index, run.chunk.acs.len(), run.completed_chunks.len(), run.commit_hashes.len()),
        (0, 0, 0, 0)
    );
    assert_eq!([run.docs_updated, run.tests_passed, run.committed, run.report_filed], [false; 4]);
    // The session's own numbers go on.
    assert_eq!((run.metrics.commits, run.metrics.chunks_completed, run.counter("total_chunks")), (1, 1, 1));
}

#[test]
fn data_of_the_wrong_kind_is_refused_and_nothing_moves() {
    assert_snapshot!(play("@discovering, work_selected requirement=[], work_selected branch=7, @testing,
        tests_failed failure=7"), @"
    work_selected requirement=[]: refused: `requirement` must be a text of at most 2000 bytes
    work_selected branch=7: refused: `branch` must be a text of at most 2000 bytes
    tests_failed failure=7: refused: `failure` must be the text of the failure
    ");
}

#[test]
fn tests_that_fail_undo_what_was_ticked_off() {
    let (run, _) = play_to("@testing");
    assert_eq!((run.docs_updated, run.tests_passed), (true, false));
    let (run, _) = play_to("@testing, tests_failed");
    assert_eq!((run.docs_updated, run.tests_passed, run.metrics.tests_run), (false, false, 1));
    let (run, _) = play_to("@committing");
    assert_eq!((run.docs_updated, run.tests_passed, run.metrics.tests_run), (true, true, 1));
}

/// Two chunks of which the first is committed; the second criterion is a box further down.
const COMMITTED: &str = r#"@chunking, chunks_defined acs=[["AC-01"],["AC-02"]] head=b0 boxes=0/2, @committing, committed head=c1"#;

#[test]
fn at_the_end_of_a_chunk_git_says_how_many_commits_there_are() {
    let (run, lines) = play_to(&format!("{COMMITTED}, report_filed commits=c1"));
    assert!(lines.ends_with("report_filed commits=c1: chunk_complete [total_chunks 1] e9"), "{lines}");
    assert_eq!((run.commit_hashes, run.metrics.commits), (vec!["c1".to_owned()], 1));

    let (run, lines) = play_to(&format!("{COMMITTED}, report_filed commits=c0;c2"));
    assert!(lines.ends_with("progress is corrected: git has 2 commits of this session, not 1"), "{lines}");
    assert_eq!(run.commit_hashes, ["c0", "c2"]);
    assert_eq!((run.metrics.commits, run.completed_chunks[0].commit.as_deref()), (2, Some("c2")));

    let (run, lines) = play_to(&format!("{COMMITTED}, report_filed commits=c9"));
    assert!(lines.ends_with("progress is corrected: a commit of the chunk is another one now"), "{lines}");
    assert_eq!((run.commit_hashes, run.metrics.commits), (vec!["c9".to_owned()], 1));

    let (run, _) = play_to(&format!("{COMMITTED}, report_filed commits=none"));
    assert_eq!((run.commit_hashes.len(), run.metrics.commits), (0, 0));

    // What cannot be looked up stays as it was counted.
    for seen in ["absent", "broken"] {
        let (run, _) = play_to(&format!("{COMMITTED}, report_filed commits={seen}"));
        assert_eq!((run.commit_hashes, run.metrics.commits), (vec!["c1".to_owned()], 1));
    }
}

#[test]
fn the_commits_of_earlier_chunks_stay_when_those_of_a_later_one_are_corrected() {
    let (run, _) = play_to(&format!(
        "{COMMITTED}, report_filed commits=c1, next_chunk head=c1, @committing, committed head=c2, report_filed commits=x1;x2"
    ));
    assert_eq!(run.commit_hashes, ["c1", "x1", "x2"]);
    assert_eq!(run.metrics.commits, 3);
}

#[test]
fn at_the_end_of_a_chunk_the_issue_says_what_is_left() {
    let (run, lines) = play_to(&format!("{COMMITTED}, report_filed boxes=2/2"));
    assert!(
        lines.ends_with(
            "progress is corrected: AC-02 is ticked in the issue already; chunks in all: 1, not 2"
        ),
        "{lines}"
    );
    assert_eq!((run.chunk.acs.len(), run.completed_chunks[0].acs.len()), (1, 1));

    let (run, lines) = play_to(&format!("{COMMITTED}, report_filed boxes=0/2"));
    assert!(lines.ends_with("AC-01 is not ticked in the issue, and not counted as met"), "{lines}");
    assert_eq!((run.chunk.acs.len(), run.completed_chunks[0].acs.len()), (2, 0));
}

#[test]
fn without_reconcile_per_chunk_everything_stays_as_counted() {
    let (run, lines) = play_to(&format!(
        "warp-drive reconcile_per_chunk=false: {COMMITTED}, report_filed commits=c0;c2 boxes=2/2"
    ));
    assert!(!lines.contains("corrected"), "{lines}");
    assert_eq!((run.commit_hashes, run.metrics.commits), (vec!["c1".to_owned()], 1));
    assert_eq!((run.chunk.acs.len(), run.completed_chunks[0].acs.len()), (2, 1));
}

#[test]
fn docs_that_were_mended_into_git_are_commits_of_the_chunk() {
    let gated = COMMITTED.replace("committed", "commit_with_doc_gate");
    for (value, wanted) in [("c1;d1", vec!["c1", "d1"]), ("a1", vec!["a1"])] {
        let (run, _) =
            play_to(&format!("warp-drive reconcile_per_chunk=false: {gated}, drift_clean commits={value}"));
        assert_eq!(
            (run.metrics.commits, run.commit_hashes),
            (wanted.len() as u64, wanted.iter().map(ToString::to_string).collect())
        );
    }
}
