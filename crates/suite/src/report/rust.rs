//! cargo test and nextest.

use super::{Counts, Section, TestOutcome, text};

pub(super) fn cargo(lines: &[&str]) -> Option<Section> {
    let mut section = Section::default();
    let (mut is_running, mut lists_failures) = (false, false);
    let mut listed = Vec::new();
    for line in lines {
        if line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test")) {
            // A binary that has not come to its result has crashed.
            section.unnamed_failures += u64::from(is_running);
            is_running = true;
        } else if line.starts_with("test result: ") {
            is_running = false;
            section.count(Counts {
                passed: text::before(line, &["passed"]),
                failed: text::before(line, &["failed"]),
                skipped: text::before(line, &["ignored"]),
            });
            (lists_failures, listed) = (false, add_listed(&mut section, listed));
        } else if *line == "failures:" {
            // There are two such lists: what was printed, then the names.
            (lists_failures, listed) = (true, Vec::new());
        } else if let Some((name, end)) =
            line.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... "))
        {
            let name = cargo_name(name);
            match end.trim_end() {
                "ok" => section.add(TestOutcome::Passed, name),
                "FAILED" => section.add(TestOutcome::Failed, name),
                end if end.starts_with("ignored") => section.add(TestOutcome::Skipped, name),
                _ => {}
            }
        } else if lists_failures
            && let Some(name) = line.strip_prefix("    ").filter(|name| !name.starts_with(' '))
        {
            listed.push(cargo_name(name));
        }
    }
    section.unnamed_failures += u64::from(is_running);
    section.found()
}

/// Adds failures that only the list at the end names: what a test printed can tear its own line apart.
fn add_listed(section: &mut Section, listed: Vec<String>) -> Vec<String> {
    for name in listed {
        section.add_once(TestOutcome::Failed, name);
    }
    Vec::new()
}

/// `tests::panics - should panic`, `src/lib.rs - f (line 1)`: what stays the same when lines move.
fn cargo_name(name: &str) -> String {
    let name = name.trim();
    let name = ["- should panic", "- compile fail", "- compile"]
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(name)
        .trim_end();
    match name.rsplit_once(" (line ") {
        Some((head, line)) if line.ends_with(')') => head.to_owned(),
        _ => name.to_owned(),
    }
}

pub(super) fn nextest(lines: &[&str]) -> Option<Section> {
    let mut section = Section::default();
    let mut is_over = false;
    for line in lines.iter().map(|line| line.trim()) {
        if line.starts_with("Starting ") && line.contains(" across ") {
            is_over = false;
        } else if line.starts_with("Summary [") && line.contains(" run: ") {
            is_over = true;
            section.count(Counts {
                passed: text::before(line, &["passed"]),
                failed: text::before(line, &["failed", "exec", "timed"]),
                skipped: text::before(line, &["skipped"]),
            });
        } else if !is_over && let Some((ended, name)) = nextest_line(line) {
            section.add_once(ended, name);
        }
    }
    section.counts.is_some().then_some(section)
}

/// `PASS [   0.012s] (1/3) toy tests::ok`, `TRY 2 PASS [   0.012s] toy tests::ok`.
fn nextest_line(line: &str) -> Option<(TestOutcome, &str)> {
    let (word, rest) = line.split_once(" [")?;
    let (_, rest) = rest.split_once("s] ")?;
    let rest = rest.trim_start();
    let name = match rest.strip_prefix('(').and_then(|rest| rest.split_once(") ")) {
        Some((place, name)) if place.contains('/') => name.trim_start(),
        _ => rest,
    };
    let ended = match word {
        "PASS" | "LEAK" => TestOutcome::Passed,
        "FAIL" | "TIMEOUT" | "ABORT" | "XFAIL" | "LEAK-FAIL" => TestOutcome::Failed,
        "SKIP" => TestOutcome::Skipped,
        word if word.starts_with("SIG") => TestOutcome::Failed,
        word if word.starts_with("FLAKY") => TestOutcome::Passed,
        word if word.starts_with("TRY ") && word.ends_with(" PASS") => TestOutcome::Passed,
        _ => return None,
    };
    Some((ended, name))
}
