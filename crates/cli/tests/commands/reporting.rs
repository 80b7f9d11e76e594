//! `warp report`: what became of every run since a time.

use insta::assert_snapshot;
use testkit::driven::Driven;

use super::{explaining::plain, json};
use crate::support::Ends as _;

const WARP: &str = env!("CARGO_BIN_EXE_warp");

#[test]
fn the_night_at_a_glance() {
    let driven = Driven::with_issue(WARP, 2, 2);
    let report = |arguments: &[&str]| plain(&driven, &[&["report"], arguments].concat());
    assert_snapshot!(report(&[]), @r"
    demo, [TIME] to [TIME]
    No run did anything in this time.
    ");
    driven.run(&["42", "--level", "3", "--once"]);
    assert_snapshot!(report(&[]), @r"
    demo, [TIME] to [TIME]
    merged 1, nothing metered

    Merged:
      #42 Words for 42
        merged as [COMMIT] (2 criteria met, nothing metered, 0 min)
    ");
    let facts = json(&driven.sandbox.warp_ok(&["report", "--json"]));
    assert_eq!(facts["runs"][0]["state"], "merged");
    assert_eq!(facts["runs"][0]["criteria"], 2);
}

#[test]
fn a_pull_request_says_what_it_comes_to_and_is_no_longer_ready_once_it_is_closed() {
    let driven = Driven::with_issue(WARP, 2, 2);
    driven.run(&["42", "--level", "2", "--once"]).ends(0);
    let pull = json(&driven.sandbox.warp_ok(&["pr", "list", "--json"]))[0]["number"].to_string();
    let shown = plain(&driven, &["pr", "show", &pull]);
    assert_snapshot!(shown.split("opened by").next().unwrap(), @"
    #44 Words for 42
    waits for review
    feature/issue-42-words-for-42 -> main at [COMMIT], for #42
      [COMMIT] feat: Words for 42 (AC-01, AC-02)
    criteria:
      AC-01 the word word1 is in file1.txt
        file1.txt:1
      AC-02 the word word2 is in file2.txt
        file2.txt:1
    changes:
      file1.txt | 1 +
      file2.txt | 1 +
      2 files changed, 2 insertions(+)
    tests: passed on [COMMIT]
    cost: nothing metered
    ");
    let work = &json(&driven.sandbox.warp_ok(&["pr", "show", &pull, "--json"]))["work"];
    assert_eq!(work["criteria"][0]["name"], "AC-01");
    assert_eq!(work["criteria"].as_array().map(Vec::len), Some(2));
    assert!(!work["criteria"][1]["evidence"][0].is_null() && work["tested"].is_string(), "{work}");
    let state = || json(&driven.sandbox.warp_ok(&["report", "--json"]))["runs"][0]["state"].clone();
    assert_eq!(state(), "ready_for_review");
    driven.sandbox.warp_ok(&["pr", "close", &pull]);
    assert_eq!(state(), "closed_unmerged");
    let report = plain(&driven, &["report"]);
    assert!(
        report.contains("was closed without a merge") && !report.contains("Ready for review"),
        "{report}"
    );
}

#[test]
fn a_page_escapes_what_others_wrote() {
    let driven = Driven::with_issue(WARP, 1, 1);
    driven.sandbox.warp_ok(&["issue", "edit", "42", "--title", "Add <script>alert(1)</script>"]);
    driven.run(&["42", "--once"]);
    let page = driven.sandbox.warp_ok(&["report", "--html"]);
    assert!(page.contains("Add &lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
    assert!(!page.contains("<script"), "{page}");
}

#[test]
fn a_time_that_cannot_be_read_is_an_error_that_shows_how_to_write_it() {
    let said = super::sandbox().warp(&["report", "--since", "yesterday"]);
    assert_eq!(said.code, Some(64));
    assert_snapshot!(said.err.lines().next().unwrap(), @r#"error: invalid value 'yesterday' for '--since <TIME>': write a time as 22:00, 2026-05-08, "2026-05-08 22:00", or how long ago: 8h, 2d"#);
}
