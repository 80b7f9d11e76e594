//! `warp stop` keeps finished chunks, and the next run of the issue resumes from them.

use testkit::{Said, driven::Driven};

use crate::support::{Ends as _, InProject as _};

const WARP: &str = env!("CARGO_BIN_EXE_warp");
const BRANCH: &str = "feature/issue-42-words-for-42";
const CHUNKS: [&str; 5] = ["42", "--level", "3", "--set", "max_acs_per_commit=1"];

/// A turn that begins chunk `chunk` with a file that nobody finished, and waits to be stopped.
fn half(chunk: u64, criterion: u64) -> String {
    let steps = "  { write = \"half.txt\", text = \"half\\n\" },\n  { say = \"half done\" },\n  { wait_ms = 60000 },\n";
    Driven::coding_turn(chunk, criterion..=criterion, steps)
}

/// A project whose issue of three chunks is stopped in its second.
fn stopped(how: &[&str]) -> (Driven, String) {
    let driven = Driven::new(WARP);
    driven.issue(42, 3, "");
    let learnt = "lessons = [{ title = \"Order\", text = \"words come one by one\" }], ";
    let first = Driven::coding_turn(1, 1..=1, "").replace("answer = { ", &format!("answer = {{ {learnt}"));
    driven.script(&format!("{first}{}", half(2, 2)));
    let mut run = driven.start(&CHUNKS);
    run.line("half done");
    let said = driven.sandbox.warp_ok(&[&["stop", "42"], how].concat());
    run.end();
    (driven, said)
}

/// Runs the rest of the issue.
fn resumed(driven: &Driven, more: &[&str]) -> Said {
    driven.script(&format!("{}{}", Driven::coding_turn(1, 2..=2, ""), Driven::coding_turn(2, 3..=3, "")));
    driven.run(&[CHUNKS.as_slice(), more].concat())
}

fn subjects(driven: &Driven) -> Vec<String> {
    let log = driven.sandbox.git(&["log", "--reverse", "--format=%s", "main"]);
    log.lines().skip(2).map(str::to_owned).collect()
}

const ALL: [&str; 3] =
    ["feat: Words for 42 (AC-01)", "feat: Words for 42 (AC-02)", "feat: Words for 42 (AC-03)"];

#[test]
fn the_next_run_resumes_from_finished_chunks_and_has_the_unfinished_work_in_its_tree() {
    let (driven, _) = stopped(&[]);
    let sandbox = &driven.sandbox;
    let shown = sandbox.warp_ok(&["issue", "show", "42"]);
    assert!(shown.contains("- [x] the word word1") && shown.contains("- [ ] the word word2"), "{shown}");
    insta::assert_snapshot!(sandbox.seen(&["explain", "42"]), @"
    Issue 42 (Words for 42) was stopped: run [RUN] ended at [TIME]; 1 of 3 chunks done on branch `feature/issue-42-words-for-42`.
    What to do:
      warp run 42                               resumes from `feature/issue-42-words-for-42`
      git switch feature/issue-42-words-for-42  lets you finish it yourself
    ");
    // The target has moved on meanwhile.
    sandbox.write("other.txt", "later\n");
    sandbox.commit("feat: later");

    let said = resumed(&driven, &[]).ends(0);
    assert!(said.out.contains(&format!("resumes from {BRANCH}: 1 of 3 chunks done\n")), "{said:?}");
    assert!(said.out.contains("its unfinished work is in the tree, not committed"), "{said:?}");
    assert_eq!(subjects(&driven), [&["feat: later"], ALL.as_slice()].concat());
    assert_eq!(sandbox.git(&["show", "main:half.txt"]), "half", "the agent continued with it");
    let shown = sandbox.warp_ok(&["issue", "show", "42"]);
    assert!(shown.contains("\nclosed (merged)") && !shown.contains("- [ ]"), "{shown}");

    // All of it is one account, whatever run did it.
    let stat = sandbox.warp_ok(&["diff", "42", "--stat"]);
    assert!(["file1.txt", "file2.txt", "file3.txt"].iter().all(|file| stat.contains(file)), "{stat}");
    assert!(!stat.contains("other.txt"), "{stat}");
    let log = sandbox.warp_ok(&["log", "42"]);
    assert_eq!(log.matches("\nRun ").count() + usize::from(log.starts_with("Run ")), 2, "{log}");
    let explained = sandbox.warp_ok(&["explain", "42"]);
    assert!(ALL.iter().all(|subject| explained.contains(subject)), "{explained}");
    insta::assert_snapshot!(sandbox.seen(&["revert", "42"]), @"
    `main` is at [COMMIT] now, which undoes issue 42; `make test` ended with exit 0
    issue 42 is open again; `warp run 42` tries once more
    ");
    let files = sandbox.git(&["ls-tree", "--name-only", "main"]);
    assert_eq!(files, "Makefile\nother.txt");
    let shown = sandbox.warp_ok(&["issue", "show", "42"]);
    assert!(!shown.contains("- [x]"), "{shown}");
    let explained = sandbox.warp_ok(&["explain", "42"]);
    assert!(explained.contains("taken back at ") && explained.contains("  warp run 42 "), "{explained}");
}

#[test]
fn the_next_brief_tells_what_the_earlier_run_did_and_learnt() {
    let (driven, _) = stopped(&[]);
    let agent = "cat > brief.txt; echo word2 > file2.txt; echo word3 > file3.txt; echo '{\"summary\": \"done\", \
        \"evidence\": [{\"ac\": \"AC-02\", \"file\": \"file2.txt\", \"line\": 1}, \
        {\"ac\": \"AC-03\", \"file\": \"file3.txt\", \"line\": 1}]}'";
    driven.run_shell(agent, &["42", "--level", "3"]).ends(0);
    let brief = driven.sandbox.git(&["show", "main:brief.txt"]);
    assert!(brief.contains("What earlier runs of this issue left"), "{brief}");
    assert!(brief.contains("- done: AC-01 ("), "{brief}");
    assert!(brief.contains("- lesson: Order: words come one by one"), "{brief}");
    assert!(brief.contains("What the last run had not finished is in your tree, not committed"), "{brief}");
}

#[test]
fn a_hard_stop_keeps_finished_chunks_and_names_the_rest() {
    let (driven, said) = stopped(&["--hard"]);
    let sandbox = &driven.sandbox;
    let name = said.lines().find_map(|line| line.strip_prefix("its work is kept: `warp salvage show "));
    let name = name.unwrap_or_else(|| panic!("{said}")).trim_end_matches('`').to_owned();
    let shown = sandbox.warp_ok(&["issue", "show", "42"]);
    assert!(shown.contains("- [x] the word word1") && shown.contains("- [ ] the word word2"), "{shown}");
    assert!(sandbox.warp_ok(&["explain", "42"]).contains("1 of 3 chunks done"));
    let said = resumed(&driven, &[]).ends(0);
    assert!(said.out.contains(&format!("resumes from {BRANCH}: 1 of 3 chunks done\n")), "{said:?}");
    assert!(said.out.contains("its unfinished work is not in the tree: `warp salvage show "), "{said:?}");
    assert_eq!(subjects(&driven), ALL);
    assert!(sandbox.warp_ok(&["salvage", "show", &name]).contains("half.txt"));
}

#[test]
fn what_a_person_merged_meanwhile_counts_as_done() {
    let (driven, _) = stopped(&[]);
    let sandbox = &driven.sandbox;
    // The finished chunk, without the unfinished work on top of it.
    sandbox.git(&["merge", "--quiet", "--no-edit", "--no-ff", &format!("{BRANCH}~1")]);
    sandbox.git(&["branch", "--quiet", "-D", BRANCH]);
    let said = resumed(&driven, &[]).ends(0);
    assert!(said.out.contains("merged already: AC-01"), "{said:?}");
    let log = sandbox.git(&["log", "--format=%s", "main"]);
    assert!(ALL.iter().all(|subject| log.matches(subject).count() == 1), "{log}");
    assert!(sandbox.warp_ok(&["issue", "show", "42"]).contains("\nclosed (merged)"));
}

#[test]
fn what_is_nowhere_any_more_is_open_again() {
    let (driven, _) = stopped(&[]);
    let sandbox = &driven.sandbox;
    sandbox.git(&["branch", "--quiet", "-D", BRANCH]);
    driven.script(&Driven::plain_script(3, 1));
    let said = driven.run(&CHUNKS).ends(0);
    assert!(said.out.contains("open again, because its commits are gone: AC-01"), "{said:?}");
    assert_eq!(subjects(&driven), ALL);
    assert!(!sandbox.root().join("half.txt").exists());
}

#[test]
fn a_run_that_was_stopped_before_its_merge_is_merged_by_the_next_without_an_agent() {
    let driven = Driven::with_issue(WARP, 1, 1);
    let sandbox = &driven.sandbox;
    // Something of the person's is in the way of the merge.
    sandbox.write("file1.txt", "mine\n");
    let said = driven.run(&["42", "--level", "3"]);
    assert!(said.code == Some(5) && format!("{said:?}").contains("would be overwritten"), "{said:?}");
    sandbox.warp_ok(&["stop", "42"]);
    let explained = sandbox.warp_ok(&["explain", "42"]);
    assert!(explained.contains("1 of 1 chunk done on branch"), "{explained}");
    std::fs::remove_file(sandbox.root().join("file1.txt")).unwrap();
    driven.script("");
    let said = driven.run(&["42", "--level", "3"]).ends(0);
    assert!(said.out.contains("every chunk is done: the last one is tested and committed again"), "{said:?}");
    assert_eq!(subjects(&driven), ["feat: Words for 42 (AC-01)"]);
    assert!(sandbox.warp_ok(&["issue", "show", "42"]).contains("\nclosed (merged)"));
}

#[test]
fn a_branch_that_does_not_go_onto_the_target_asks_first() {
    let (driven, _) = stopped(&[]);
    let sandbox = &driven.sandbox;
    sandbox.write("file1.txt", "other\n");
    sandbox.commit("feat: the same file");
    let said = resumed(&driven, &["--set", "decision_timeout_minutes=0"]);
    assert_ne!(said.code, Some(0), "{said:?}");
    let told = format!("{}{}", said.out, said.err);
    assert!(told.contains("have changed the same lines of file1.txt"), "{said:?}");
    assert!(told.contains(&format!("`git switch {BRANCH}`")), "{said:?}");
}
