//! The gate in a run that warp drives.

use testkit::{Said, driven::Driven};

use super::support::{WARP, commit};
use crate::support::{Ends as _, InProject as _};

/// A step that moves what the README links to.
const MOVE: &str = "  { run = \"mkdir -p docs && mv guide.md docs/guide.md\" },\n";
/// A step that removes it.
const REMOVE: &str = "  { run = \"rm guide.md\" },\n";

fn project(steps: &str) -> Driven {
    let driven = Driven::new(WARP);
    driven.sandbox.write("guide.md", "# Guide\n\nHow it is done, at some length.\n");
    driven.sandbox.write("README.md", "# Tea\n\n[How](guide.md#guide)\n");
    commit(&driven.sandbox, "docs: guide");
    driven.issue(42, 1, "");
    driven.script(&Driven::coding_turn(1, 1..=1, steps));
    driven
}

fn run(driven: &Driven, settings: &[&str]) -> Said {
    let set: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    driven.run(&[&["42", "--level", "3", "--set", "doc_drift_gate=true"], set.as_slice()].concat())
}

fn subjects(driven: &Driven) -> Vec<String> {
    let log = driven.sandbox.git(&["log", "--format=%s", "--grep=^Refs #42$", "main"]);
    log.lines().map(str::to_owned).collect()
}

fn readme(driven: &Driven) -> String {
    driven.sandbox.git(&["show", "main:README.md"])
}

#[test]
fn docs_without_drift_are_let_through() {
    let driven = project("");
    let said = run(&driven, &[]).ends(0);
    assert!(said.out.contains("the docs were looked at: 2 pages"), "{}", said.out);
    assert_eq!(subjects(&driven).len(), 1);
}

#[test]
fn mended_docs_are_a_commit_of_their_own() {
    let driven = project(MOVE);
    run(&driven, &["doc_drift_fix=commit"]).ends(0);
    let subjects = subjects(&driven);
    assert_eq!(subjects.len(), 2, "{subjects:?}");
    assert_eq!(subjects[0], "docs: fix what has drifted");
    assert_eq!(readme(&driven), "# Tea\n\n[How](docs/guide.md#guide)");
}

#[test]
fn mended_docs_are_put_into_the_commit_of_the_chunk() {
    let driven = project(MOVE);
    run(&driven, &["doc_drift_fix=amend"]).ends(0);
    let subjects = subjects(&driven);
    assert_eq!(subjects.len(), 1, "{subjects:?}");
    assert!(subjects[0].starts_with("feat: Words for 42"), "{subjects:?}");
    assert_eq!(readme(&driven), "# Tea\n\n[How](docs/guide.md#guide)");
    let author = driven.sandbox.git(&["log", "-1", "--format=%an %cn", "main"]);
    assert_eq!(author, "Test Test");
}

#[test]
fn drift_that_matters_sends_the_run_back_to_coding_with_the_findings() {
    let driven = project("");
    let first = Driven::coding_turn(1, 1..=1, REMOVE).replace("chunk = 1\n", "chunk = 1\ncycle = 0\n");
    let fix = "  { write = \"README.md\", text = \"# Tea\\n\\nNo guide.\\n\" },\n";
    let second = Driven::coding_turn(1, 1..=1, fix);
    driven.script(&format!("{first}{second}"));
    let said = run(&driven, &[]).ends(0);
    assert!(
        said.out.contains("README.md:3: `guide.md#guide` should be a path that is there: `guide.md` is gone"),
        "{}",
        said.out
    );
    let log = driven.sandbox.json(&["log", "42", "--json"]);
    let blocked = log.as_array().unwrap().iter().find(|row| row["event"] == "drift_blocked").unwrap();
    assert_eq!(blocked["phase"], "coding");
    assert!(blocked["data"]["failure"].as_str().unwrap().contains("README.md:3"), "{blocked:#}");
    assert_eq!(readme(&driven), "# Tea\n\nNo guide.");
}

#[test]
fn drift_that_an_agent_does_not_mend_may_be_accepted_by_a_person() {
    let driven = project("");
    driven.script(&Driven::coding_turn(1, 1..=1, "  { run = \"rm -f guide.md; echo >> more.txt\" },\n"));
    let said = run(&driven, &[]).ends(5);
    assert!(said.err.contains("`drift_clean` is refused by doc_drift_check"), "{}", said.err);
    let status = driven.sandbox.json(&["status", "42", "--json"]);
    let id = status["asked"]["id"].as_str().unwrap_or_else(|| panic!("{status:#}"));
    driven.sandbox.warp_ok(&["answer", id, "accept", "--note", "the guide comes back"]);
    run(&driven, &[]).ends(0);
    assert_eq!(readme(&driven), "# Tea\n\n[How](guide.md#guide)");
    let log = driven.sandbox.warp_ok(&["log", "42"]);
    assert!(
        log.contains("accepted by Test: doc_drift_check: ") && log.contains("(the guide comes back)"),
        "{log}"
    );
}

#[test]
fn the_programs_that_are_set_are_asked_in_a_run() {
    for (programs, code) in [("none", 0), ("tea=./tea", 5)] {
        let driven = project("  { write = \"README.md\", text = \"`tea boil`\\n\" },\n");
        let tea = "#!/bin/sh\ntest \"$*\" = --help && printf 'Commands:\\n  brew  Brew it\\n'\n";
        driven.sandbox.program("tea", tea);
        commit(&driven.sandbox, "feat: tea");
        let said = run(&driven, &[&format!("docs_programs={programs}"), "max_coding_cycles=0"]);
        assert_eq!(said.code, Some(code), "{programs}: {said:?}");
        assert_eq!(said.out.contains("README.md:1: `tea boil` should be known to `tea --help`"), code == 5);
    }
}

#[test]
fn pages_that_were_mended_before_a_crash_are_committed_and_nothing_else_is() {
    for (fix, count) in [("commit", "3"), ("amend", "2")] {
        let driven = Driven::new(WARP);
        let sandbox = &driven.sandbox;
        sandbox.git(&["switch", "--quiet", "-c", "feature/words"]);
        let (gate, fix) = ("doc_drift_gate=true", format!("doc_drift_fix={fix}"));
        sandbox.warp_ok(&["state", "init", ".", "--level", "2", "--set", gate, "--set", &fix]);
        sandbox.transitions(&["prerequisites_ok", "work_selected", "plan_ready", "chunks_defined"]);
        sandbox.write("README.md", "# Words\n");
        sandbox.write("word.txt", "word\n");
        sandbox.transitions(&["code_complete", "docs_updated", "tests_passed"]);
        commit(sandbox, "feat: words");
        sandbox.transitions(&["commit_with_doc_gate"]);
        // As a crash leaves it, between the mending and the commit; a person has begun something else beside it.
        sandbox.write("README.md", "# Words, fixed\n");
        sandbox.write("draft.txt", "not yet\n");
        let said = sandbox.warp_ok(&["next", "--step"]);
        assert!(said.contains("drift_clean"), "{said}");
        assert_eq!(sandbox.git(&["rev-list", "--count", "main~1..HEAD"]), count, "{fix}");
        assert_eq!(sandbox.git(&["show", "HEAD:README.md"]), "# Words, fixed");
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "?? draft.txt");
        let state = sandbox.json(&["state", "status", "."]);
        let made = sandbox.git(&["rev-list", "--reverse", "main..HEAD"]);
        assert_eq!(state["commit_hashes"], made.lines().collect::<serde_json::Value>(), "{fix}");
        assert_eq!(state["metrics"]["commits"], made.lines().count());
    }
}

#[test]
fn drift_that_stays_ends_at_the_limit_of_cycles() {
    let driven = project(REMOVE);
    let said = run(&driven, &["max_coding_cycles=0"]).ends(5);
    assert!(said.out.contains("(redirected: coding_cycles_exceeded)"), "{}", said.out);
}
