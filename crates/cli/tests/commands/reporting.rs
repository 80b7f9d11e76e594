//! `warp report`: what became of every run since a time.

use insta::assert_snapshot;
use testkit::driven::Driven;

use super::{explaining::plain, json};

const WARP: &str = env!("CARGO_BIN_EXE_warp");

/// Takes times out of a report: the span, and how long runs took.
fn without_times(text: &str) -> String {
    let lines = text.lines().map(|line| match line.split_once(" UTC to ") {
        Some((before, _)) => format!("{}[SPAN]\n", &before[..before.len() - 16]),
        None => format!("{line}\n"),
    });
    lines.collect()
}

#[test]
fn the_night_at_a_glance() {
    let driven = Driven::with_issue(WARP, 2, 2);
    let report = |arguments: &[&str]| without_times(&plain(&driven, &[&["report"], arguments].concat()));
    assert_snapshot!(report(&[]), @r"
    demo, [SPAN]
    No run did anything in this time.
    ");
    driven.run(&["42", "--level", "3", "--once"]);
    assert_snapshot!(report(&[]), @r"
    demo, [SPAN]
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
