//! Chunks that were deferred or skipped at level 2: what is done is handed over, and the rest stays in the issue.

use testkit::driven::Driven;

use crate::support::{Ends as _, InProject as _};

const WARP: &str = env!("CARGO_BIN_EXE_warp");

/// A project whose agent does the first chunk of issue 42 and asks about the second.
fn asks_about_the_second() -> Driven {
    let driven = Driven::new(WARP);
    driven.issue(42, 2, "");
    let asks = "[[turn]]\nphase = \"coding\"\nchunk = 2\nsteps = [{ write = \"draft.txt\", text = \"draft\\n\" }]\n\
        answer = { summary = \"\", question = { kind = \"scope\", text = \"Which?\", options = [\"a\", \"b\"] } }\n";
    driven.script(&format!("{}{asks}", Driven::coding_turn(1, 1..=1, "")));
    driven
}

const CHUNKS: [&str; 3] = ["42", "--set", "max_acs_per_commit=1"];

#[test]
fn a_chunk_that_nobody_decides_about_leaves_a_pull_request_with_the_rest() {
    let driven = asks_about_the_second();
    let nobody = ["--level", "2", "--set", "decision_timeout_minutes=0"];
    let said = driven.run(&[CHUNKS.as_slice(), &nobody].concat()).ends(5);
    assert!(
        said.out.contains("`feature/issue-42-words-for-42` is ready for review as pull request #"),
        "{said:?}"
    );
    let sandbox = &driven.sandbox;
    let files = sandbox.git(&["ls-tree", "--name-only", "feature/issue-42-words-for-42"]);
    assert_eq!(files, "Makefile\nfile1.txt");
    let kept = sandbox.warp_ok(&["salvage", "show", "1"]);
    assert!(kept.contains("draft.txt"), "{kept}");
    let told = sandbox.warp_ok(&["explain", "42"]);
    assert!(
        told.contains("is ready for review as pull request #") && told.contains("warp pr merge "),
        "{told}"
    );
}

#[test]
fn a_chunk_that_a_person_skips_leaves_a_pull_request_with_the_rest() {
    let driven = asks_about_the_second();
    let mut run = driven.start(&[CHUNKS.as_slice(), &["--level", "2"]].concat());
    let asked: serde_json::Value = serde_json::from_str(&run.line("\"type\":\"asked\"")).unwrap();
    driven.sandbox.warp_ok(&["answer", asked["asked"]["id"].as_str().unwrap(), "skip"]);
    run.line("is ready for review as pull request #");
    assert_eq!(run.end(), Some(5));
    insta::assert_snapshot!(driven.sandbox.seen(&["pr", "list"]), @"
    #44  waits for review  feature/issue-42-words-for-42 -> main  Words for 42  for #42

    1 open
    ");
}
