//! `go test`, its text and its JSON.
//!
//! A test is named `package.Test`. Without `-v` the tests that passed are not listed: a package that is `ok` then counts as
//! one passed test of the package's name, so that one that vanishes is noticed.

use serde_json::Value;

use super::{Runner, Section, TestOutcome};

pub(super) fn text(lines: &[&str]) -> Option<Section> {
    let mut section = Section::of(Runner::Go);
    // The line of a package comes after those of its tests.
    let mut tests: Vec<(TestOutcome, String)> = Vec::new();
    let mut is_go = false;
    for line in lines {
        let line = line.trim_start();
        if let Some(test) = go_test(line) {
            tests.push(test);
        } else if let Some((ended, package, rest)) = go_package(line) {
            is_go = true;
            finish(&mut section, ended, package, rest, std::mem::take(&mut tests));
        }
    }
    if !tests.is_empty() {
        // A single test binary, or an output that was cut.
        is_go = true;
        tests.into_iter().for_each(|(ended, name)| section.add(ended, name));
    }
    if is_go { section.found() } else { None }
}

/// Removes the lines of `-v` that tell of tests which began or passed: what is left are the failures.
pub(crate) fn without_passes(output: &[u8]) -> Vec<u8> {
    const NOISE: &[&[u8]] = &[b"=== RUN ", b"=== PAUSE ", b"=== CONT ", b"=== NAME ", b"--- PASS: "];
    let is_noise = |line: &&[u8]| NOISE.iter().any(|start| line.trim_ascii_start().starts_with(start));
    output.split_inclusive(|byte| *byte == b'\n').filter(|line| !is_noise(line)).flatten().copied().collect()
}

fn go_test(line: &str) -> Option<(TestOutcome, String)> {
    let (word, rest) = line.strip_prefix("--- ")?.split_once(": ")?;
    let ended = match word {
        "PASS" => TestOutcome::Passed,
        "FAIL" => TestOutcome::Failed,
        "SKIP" => TestOutcome::Skipped,
        _ => return None,
    };
    let name = rest.rsplit_once(" (").map_or(rest, |(name, _)| name);
    Some((ended, name.trim().to_owned()))
}

/// Reads a package by its fields, which tabs set apart: `ok`, name, time; `FAIL`, name and why; `?`, name, `[no test files]`.
fn go_package(line: &str) -> Option<(TestOutcome, &str, &str)> {
    let (word, rest) = line.split_once('\t')?;
    let ended = match word.trim_end() {
        "ok" => TestOutcome::Passed,
        "FAIL" => TestOutcome::Failed,
        "?" => TestOutcome::Skipped,
        _ => return None,
    };
    let (package, rest) = rest.split_once(['\t', ' ']).unwrap_or((rest, ""));
    (!package.is_empty()).then_some((ended, package, rest))
}

fn finish(
    section: &mut Section,
    ended: TestOutcome,
    package: &str,
    rest: &str,
    tests: Vec<(TestOutcome, String)>,
) {
    let has_failure = tests.iter().any(|(ended, _)| *ended == TestOutcome::Failed);
    match ended {
        TestOutcome::Passed if tests.is_empty() && !rest.contains("[no tests to run]") => {
            section.add(TestOutcome::Passed, package);
        }
        // It did not build, or ended by itself: nobody knows what was not tested.
        TestOutcome::Failed if !has_failure => section.unnamed_failures += 1,
        TestOutcome::Passed | TestOutcome::Failed | TestOutcome::Skipped => {}
    }
    for (ended, name) in tests {
        section.add(ended, format!("{package}.{name}"));
    }
}

/// Reads `go test -json`; lines that are something else are passed over.
pub(super) fn json(output: &str) -> Option<Section> {
    let mut section = Section::of(Runner::Go);
    let mut failed_packages: Vec<String> = Vec::new();
    let mut has_failure: Vec<String> = Vec::new();
    for line in output.lines().filter(|line| line.starts_with('{') && line.contains("\"Action\"")) {
        let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
        let word = |field: &str| event.get(field).and_then(Value::as_str);
        let Some(package) = word("Package") else { continue };
        let ended = match word("Action") {
            Some("pass") => TestOutcome::Passed,
            Some("fail") => TestOutcome::Failed,
            Some("skip") => TestOutcome::Skipped,
            _ => continue,
        };
        match word("Test") {
            Some(test) => {
                if ended == TestOutcome::Failed {
                    has_failure.push(package.to_owned());
                }
                section.add(ended, format!("{package}.{test}"));
            }
            None if ended == TestOutcome::Failed => failed_packages.push(package.to_owned()),
            None => {}
        }
    }
    section.unnamed_failures =
        failed_packages.iter().filter(|package| !has_failure.contains(package)).count() as u64;
    section.found()
}
