//! RSpec, minitest, PHPUnit, ExUnit, dotnet, Maven's Surefire, Gradle, ctest and prove.
//!
//! Their summaries are read, and the names of failures where they are listed. Names of tests that passed mostly come from
//! report files. A reader whose summary does not occur has read lines of something else, and counts for nothing.

use serde_json::Value;

use super::{Counts, Section, TestOutcome, text};

pub(super) fn read(lines: &[&str]) -> Vec<Section> {
    let readers = [rspec, minitest, phpunit, exunit, dotnet, surefire, gradle, ctest, prove];
    readers.iter().map(|read| read(lines)).filter(|section| section.counts.is_some()).collect()
}

/// `3 examples, 1 failure, 1 pending`, and `rspec ./spec/a_spec.rb:12 # Adder adds`.
fn rspec(lines: &[&str]) -> Section {
    let mut section = Section::default();
    for line in lines {
        if text::counts(line, "examples") || text::counts(line, "example") {
            let all = text::before(line, &["example", "examples"]);
            let (failed, skipped) =
                (text::before(line, &["failure", "failures"]), text::before(line, &["pending"]));
            section.count(Counts { passed: all.saturating_sub(failed + skipped), failed, skipped });
            section.unnamed_failures += text::before(line, &["error", "errors"]);
        } else if let Some((_, name)) = line.strip_prefix("rspec ").and_then(|rest| rest.split_once(" # ")) {
            section.add_once(TestOutcome::Failed, name.trim());
        }
    }
    section
}

/// Reads RSpec's JSON.
pub(super) fn rspec_json(document: &str) -> Option<Section> {
    let report: Value = serde_json::from_str(document).ok()?;
    let mut section = Section::default();
    for example in report.get("examples")?.as_array()? {
        let word = |field: &str| example.get(field).and_then(Value::as_str);
        let ended = match word("status")? {
            "passed" => TestOutcome::Passed,
            "failed" => TestOutcome::Failed,
            _ => TestOutcome::Skipped,
        };
        section.add(ended, word("full_description")?.trim());
    }
    let summary = report.get("summary");
    let errors = summary.and_then(|summary| summary.get("errors_outside_of_examples_count"));
    section.unnamed_failures = errors.and_then(Value::as_u64).unwrap_or(0);
    let named = |names: &[String]| names.len() as u64;
    let (passed, failed) = (named(&section.passed), named(&section.failed));
    section.counts = Some(Counts { passed, failed, skipped: named(&section.skipped) });
    Some(section)
}

/// `3 runs, 4 assertions, 1 failures, 0 errors, 0 skips`, and `TestX#test_y [a.rb:3]:` below `1) Failure:`.
fn minitest(lines: &[&str]) -> Section {
    let mut section = Section::default();
    let mut is_failure = false;
    for line in lines.iter().map(|line| line.trim()) {
        if line.contains(" assertions, ") {
            let all = text::before(line, &["runs", "tests"]);
            let failed = text::before(line, &["failures", "errors"]);
            let skipped = text::before(line, &["skips", "pendings", "omissions"]);
            section.count(Counts { passed: all.saturating_sub(failed + skipped), failed, skipped });
        } else if is_failure
            && let Some((name, _)) = line.split_once([' ', ':']).filter(|(name, _)| name.contains('#'))
        {
            section.add_once(TestOutcome::Failed, name);
        } else if let Some((name, end)) = line.split_once(" = ").filter(|(name, _)| name.contains('#')) {
            match end.rsplit(' ').next() {
                Some(".") => section.add_once(TestOutcome::Passed, name),
                Some("F" | "E") => section.add_once(TestOutcome::Failed, name),
                Some("S") => section.add_once(TestOutcome::Skipped, name),
                _ => {}
            }
        }
        is_failure = line.ends_with(") Failure:") || line.ends_with(") Error:");
    }
    section
}

/// `OK (3 tests, 4 assertions)`, `Tests: 3, Assertions: 4, Failures: 1.`, and `1) App\FooTest::testBar`.
fn phpunit(lines: &[&str]) -> Section {
    let mut section = Section::default();
    for line in lines {
        if line.starts_with("OK (") && line.contains(" assertion") {
            section.count(Counts { passed: text::before(line, &["test", "tests"]), ..Counts::default() });
        } else if line.starts_with("Tests: ") && line.contains("Assertions: ") {
            let failed = text::after(line, "Failures: ") + text::after(line, "Errors: ");
            let skipped = text::after(line, "Skipped: ") + text::after(line, "Incomplete: ");
            let all = text::after(line, "Tests: ");
            section.count(Counts { passed: all.saturating_sub(failed + skipped), failed, skipped });
        } else if let Some((number, name)) = line.split_once(") ")
            && number.parse::<u64>().is_ok()
            && name.contains("::")
        {
            section.add_once(TestOutcome::Failed, name.trim());
        }
    }
    section
}

/// `1 doctest, 3 tests, 1 failure, 1 skipped`, and `  1) test adds (FooTest)`.
fn exunit(lines: &[&str]) -> Section {
    const TESTS: &[&str] = &["doctest", "doctests", "property", "properties", "test", "tests"];
    let mut section = Section::default();
    for line in lines.iter().map(|line| line.trim()) {
        let is_count = |part: &str| {
            let mut words = part.split(' ');
            words.next().is_some_and(|number| number.parse::<u64>().is_ok()) && words.count() == 1
        };
        let is_summary = (line.contains(" test, ") || line.contains(" tests, "))
            && line.contains(" failure")
            && !line.contains(" assertions, ")
            && line.split(", ").all(is_count);
        if is_summary {
            let failed = text::before(line, &["failure", "failures", "invalid"]);
            let skipped = text::before(line, &["skipped", "excluded"]);
            let all = text::before(line, TESTS);
            section.count(Counts { passed: all.saturating_sub(failed + skipped), failed, skipped });
        } else if let Some((number, rest)) = line.split_once(") test ")
            && number.parse::<u64>().is_ok()
            && let Some((name, module)) = rest.rsplit_once(" (")
        {
            section.add_once(TestOutcome::Failed, text::path([module.trim_end_matches(')'), name]));
        }
    }
    section
}

/// `Failed!  - Failed:     1, Passed:     3, Skipped:     0, Total:     4`, and `  Failed Ns.Class.Test [5 ms]`.
fn dotnet(lines: &[&str]) -> Section {
    let mut section = Section::default();
    for line in lines.iter().map(|line| line.trim()) {
        if line.contains("Failed:") && line.contains("Passed:") && line.contains("Total:") {
            section.count(Counts {
                passed: text::after(line, "Passed:"),
                failed: text::after(line, "Failed:"),
                skipped: text::after(line, "Skipped:"),
            });
            continue;
        }
        for (word, ended) in [
            ("Passed ", TestOutcome::Passed),
            ("Failed ", TestOutcome::Failed),
            ("Skipped ", TestOutcome::Skipped),
        ] {
            if let Some(name) =
                line.strip_prefix(word).filter(|name| name.ends_with(']') && name.contains('.'))
            {
                section.add_once(ended, text::without_time(name));
            }
        }
    }
    section
}

/// `Tests run: 3, Failures: 1, Errors: 0, Skipped: 0`, the line of all classes, and `[ERROR]   FooTest.bar:12 …`.
fn surefire(lines: &[&str]) -> Section {
    let mut section = Section::default();
    let mut lists_failures = false;
    for line in lines {
        let said =
            line.split_once("] ").filter(|_| line.starts_with('[')).map_or(*line, |(_, said)| said).trim();
        if said.starts_with("Tests run: ") && said.contains("Errors: ") && !said.contains("Time elapsed") {
            let failed = text::after(said, "Failures: ") + text::after(said, "Errors: ");
            let skipped = text::after(said, "Skipped: ");
            let all = text::after(said, "Tests run: ");
            section.count(Counts { passed: all.saturating_sub(failed + skipped), failed, skipped });
            lists_failures = false;
        } else if said == "Failures:" || said == "Errors:" {
            lists_failures = true;
        } else if lists_failures
            && let Some((name, _)) = said.split_once(':')
            && name.contains('.')
            && !name.contains(' ')
        {
            section.add_once(TestOutcome::Failed, name);
        }
    }
    section
}

/// `3 tests completed, 1 failed`, and `FooTest > bar() FAILED`.
fn gradle(lines: &[&str]) -> Section {
    let mut section = Section::default();
    for line in lines.iter().map(|line| line.trim()) {
        if text::counts(line, "tests") && line.contains("tests completed") {
            let all = text::before(line, &["tests"]);
            let (failed, skipped) = (text::before(line, &["failed"]), text::before(line, &["skipped"]));
            section.count(Counts { passed: all.saturating_sub(failed + skipped), failed, skipped });
        } else if let Some((name, end)) = line.rsplit_once(' ').filter(|(name, _)| name.contains(" > ")) {
            match end {
                "PASSED" => section.add_once(TestOutcome::Passed, name),
                "FAILED" => section.add_once(TestOutcome::Failed, name),
                "SKIPPED" => section.add_once(TestOutcome::Skipped, name),
                _ => {}
            }
        }
    }
    section
}

/// `1/2 Test #1: adds .........   Passed    0.00 sec`, and `50% tests passed, 1 tests failed out of 2`.
fn ctest(lines: &[&str]) -> Section {
    let mut section = Section::default();
    for line in lines.iter().map(|line| line.trim()) {
        if line.contains("% tests passed, ") && line.contains(" out of ") {
            let (failed, all) = (text::after(line, "% tests passed, "), text::after(line, "out of "));
            section.count(Counts { passed: all.saturating_sub(failed), failed, skipped: 0 });
        } else if let Some((_, rest)) = line.split_once(" Test ").filter(|_| line.contains('#'))
            && let Some((_, rest)) = rest.split_once(": ")
            && let Some((name, end)) = rest.split_once(" .")
        {
            let end = end.trim_start_matches(['.', ' ', '*']);
            if end.starts_with("Passed") {
                section.add_once(TestOutcome::Passed, name.trim());
            } else if end.starts_with("Skipped") || end.starts_with("Not Run (Disabled)") {
                section.add_once(TestOutcome::Skipped, name.trim());
            } else {
                section.add_once(TestOutcome::Failed, name.trim());
            }
        }
    }
    section
}

/// `Files=2, Tests=5, …` and `Result: PASS`; with `--verbose` the tests are TAP, which is read elsewhere.
fn prove(lines: &[&str]) -> Section {
    let mut section = Section::default();
    let is_verbose = lines.iter().any(|line| line.starts_with("1.."));
    for line in lines {
        if line.starts_with("Files=") && line.contains(", Tests=") && !is_verbose {
            section.count(Counts { passed: text::after(line, "Tests="), ..Counts::default() });
        } else if line.starts_with("Result: FAIL") && !is_verbose {
            section.unnamed_failures += 1;
        }
    }
    section
}
