//! Whether a test command that ended with 0 has run the tests that passed before the work began.
//!
//! An exit code of 0 shows nothing if the tests did not run: a module that ends the process, a filter in `conftest.py`, a
//! runner that was replaced. Pure.
//!
//! Invariants:
//! - A test counts as left out only if it is still in the source and written to run: tests that are removed, or skipped in
//!   their source, are the commit guard's to hold.
//! - Tests are compared by their own name, so one that was moved or has other parameters is the same test.
//! - Where the runner does not name what passed, only numbers are compared.

use std::{collections::BTreeSet, fmt};

use engine::{Baseline, Held, HeldKind, digest};

use super::{judge::listed, report::TestReport};
use workspace::counted;

/// Why tests do not count as passed although their command ended with 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// Tests are reported as failed.
    Failed(String),
    /// Tests did not run. A person may accept that.
    NotRun(Held),
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(why) => f.write_str(why),
            Self::NotRun(held) => write!(f, "{held}"),
        }
    }
}

/// Says why a test command that ended with 0 is not believed. `known` is the baseline's whole report, where it is still
/// there; `in_source` returns the names of the tests in the tree that are written to run.
pub(crate) fn doubt(
    baseline: &Baseline,
    known: Option<&TestReport>,
    report: &TestReport,
    accepted: &[Held],
    in_source: impl FnOnce() -> Result<Vec<String>, String>,
) -> Result<Option<Doubt>, String> {
    let failed = failing(baseline, known, report);
    if !failed.is_empty() {
        return Ok(Some(Doubt::Failed(format!("reports tests as failed: {}", listed(&failed)))));
    }
    let held = if report.ran() == 0 && baseline.passed > 0 {
        let before = counted(baseline.passed, "test", "tests");
        Some(not_run("none", format!("no test was reported; {before} passed before the work began")))
    } else if report.partial || accepted.iter().any(|held| held.kind == HeldKind::NarrowedTests) {
        None
    } else {
        left_out(baseline, known, report, in_source)?
    };
    Ok(held.filter(|held| !accepted.iter().any(|accepted| accepted.is_same(held))).map(Doubt::NotRun))
}

/// Returns the tests that passed before and are reported as failed.
pub(crate) fn failing<'a>(
    baseline: &Baseline,
    known: Option<&TestReport>,
    report: &'a TestReport,
) -> Vec<&'a String> {
    let passed: BTreeSet<&String> = known.into_iter().flat_map(|known| &known.passed).collect();
    let is_new = |name: &&String| passed.contains(name) && !baseline.flaky.contains(name);
    report.failed.iter().filter(is_new).collect()
}

/// Finds tests that are in the source and did not run.
fn left_out(
    baseline: &Baseline,
    known: Option<&TestReport>,
    report: &TestReport,
    in_source: impl FnOnce() -> Result<Vec<String>, String>,
) -> Result<Option<Held>, String> {
    if !report.names_every_pass() {
        let counts = report.counts.unwrap_or_default();
        let now = counts.passed + counts.failed + counts.skipped;
        // Fewer than before may be rightly so; fewer than there are in the source as well is not.
        let is_fewer = now < baseline.passed && now < in_source()?.len() as u64;
        let (now, before) = (counted(now, "test", "tests"), baseline.passed);
        return Ok(is_fewer.then(|| {
            not_run(
                "fewer",
                format!("only {now} ran; {before} passed before the work began, and are still there"),
            )
        }));
    }
    let missing = known.map(|known| missing(known, report)).unwrap_or_default();
    if missing.is_empty() {
        return Ok(None);
    }
    let names = in_source()?;
    let there: BTreeSet<&str> = names.iter().map(|name| own_name(name)).collect();
    let left_out: Vec<&String> = missing.into_iter().filter(|name| there.contains(own_name(name))).collect();
    let what = || {
        format!(
            "tests that passed before the work began and are still there did not run: {}",
            listed(&left_out)
        )
    };
    Ok((!left_out.is_empty()).then(|| not_run("left out", what())))
}

/// Makes a finding. Once a person has accepted one of a kind, it holds for the run.
fn not_run(about: &str, what: String) -> Held {
    Held { kind: HeldKind::TestsNotRun, path: String::new(), line: None, what, digest: digest(about) }
}

/// Returns the tests that passed before and of whose name none has run now.
fn missing<'a>(known: &'a TestReport, report: &TestReport) -> Vec<&'a String> {
    let ran: BTreeSet<&str> = report.passed.iter().chain(&report.failed).map(|name| own_name(name)).collect();
    known.passed.iter().filter(|name| !ran.contains(own_name(name))).collect()
}

/// Returns a test's own name, without file, module, class, group and parameters.
fn own_name(name: &str) -> &str {
    let name = name.split(['[', '(']).next().unwrap_or(name).trim();
    let name = name.rsplit("::").next().unwrap_or(name);
    let name = name.rsplit(" > ").next().unwrap_or(name);
    if name.contains(' ') {
        return name;
    }
    let name = name.rsplit('.').next().unwrap_or(name);
    name.split('/').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use engine::{BaselineState, Proof, Time};

    use super::{super::report::Counts, *};

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn report(passed: &[&str], failed: &[&str], skipped: &[&str]) -> TestReport {
        let (passed, failed, skipped) = (names(passed), names(failed), names(skipped));
        TestReport { passed, failed, skipped, ..TestReport::default() }
    }

    fn counted_only(passed: u64) -> TestReport {
        TestReport { counts: Some(Counts { passed, failed: 0, skipped: 0 }), ..TestReport::default() }
    }

    /// Says what is doubted of a report after a baseline, with these tests in the source.
    fn said(known: &TestReport, report: &TestReport, source: &[&str], accepted: &[Held]) -> String {
        let baseline = Baseline {
            commit: "c".to_owned(),
            command: "t".to_owned(),
            state: BaselineState::Green,
            passed: known.ran(),
            failed: 0,
            skipped: 0,
            failing: Vec::new(),
            example: None,
            flaky: names(&["a.py::test_flaky"]),
            tolerated: false,
            seconds: 1,
            cached: false,
            proof: Proof::Unknown,
            key: String::new(),
            at: Time::from_millis(0),
        };
        let doubt = doubt(&baseline, Some(known), report, accepted, || Ok(names(source))).unwrap();
        doubt.map(|doubt| doubt.to_string()).unwrap_or_default()
    }

    #[test]
    fn only_the_own_name_of_a_test_counts() {
        for (name, own) in [
            ("tests/test_calc.py::TestX::test_sub[1-2]", "test_sub"),
            ("tests.test_calc.CalcTest.test_sub", "test_sub"),
            ("calc > adds two numbers, as 1.5", "adds two numbers, as 1.5"),
            ("suite::judge::tests::it_works", "it_works"),
            ("TestSub/negative", "TestSub"),
        ] {
            assert_eq!(own_name(name), own, "{name}");
        }
    }

    #[test]
    fn tests_that_did_not_run_or_failed_are_doubted() {
        let known = report(&["a.py::test_x[1]", "a.py::test_y", "a.py::test_flaky"], &[], &[]);
        let source = &["test_x", "test_y", "test_flaky"];
        for (now, words) in [
            (report(&[], &[], &[]), "no test was reported; 3 tests passed before"),
            (report(&[], &[], &["a.py::test_x[1]"]), "no test was reported; 3 tests passed before"),
            (
                report(&["a.py::test_x[1]", "a.py::test_flaky"], &["a.py::test_y"], &[]),
                "reports tests as failed: a.py::test_y",
            ),
            (report(&["a.py::test_x[1]", "a.py::test_flaky"], &[], &[]), "did not run: a.py::test_y"),
            // Skipped as it runs, for the source does not skip it.
            (
                report(&["a.py::test_x[1]", "a.py::test_flaky"], &[], &["a.py::test_y"]),
                "did not run: a.py::test_y",
            ),
            (counted_only(1), "only 1 test ran; 3 passed before"),
        ] {
            let said = said(&known, &now, source, &[]);
            assert!(said.contains(words), "{now:?}: {said}");
        }
    }

    #[test]
    fn right_work_is_not_doubted() {
        let known =
            report(&["a.py::test_x[1]", "a.py::test_x[2]", "a.py::test_y", "a.py::test_flaky"], &[], &[]);
        let rest = ["b.py::test_x[3]", "a.py::test_flaky"];
        let with = |more: &str| report(&[rest[0], rest[1], more], &[], &[]);
        let partial = TestReport { partial: true, ..report(&rest, &[], &[]) };
        for (now, source) in [
            // Moved and with other parameters; renamed; removed, which is the commit guard's; skipped in the source.
            (with("c/d.py::TestC::test_y"), &["test_x", "test_y", "test_flaky"][..]),
            (with("a.py::test_z"), &["test_x", "test_z", "test_flaky"]),
            (report(&rest, &[], &["a.py::test_y"]), &["test_x", "test_flaky"]),
            // A flaky failure, a report of which a part is missing.
            (report(&["a.py::test_x[1]", "a.py::test_y"], &["a.py::test_flaky"], &[]), &["test_x"]),
            (partial, &["test_x", "test_y", "test_flaky"]),
            // As many as before without names; fewer because a parameter is gone.
            (counted_only(4), &["test_x", "test_y", "test_flaky"]),
            (counted_only(3), &["test_x", "test_y", "test_flaky"]),
        ] {
            assert_eq!(said(&known, &now, source, &[]), "", "{now:?}");
        }
        // Packages of Go without `-v`, and a base of which nothing is reported.
        let packages = report(&["example.com/a", "example.com/b"], &[], &[]);
        assert_eq!(said(&packages, &report(&["example.com/a"], &[], &[]), &["TestA", "TestB"], &[]), "");
        assert_eq!(said(&TestReport::default(), &TestReport::default(), &["test_x"], &[]), "");
    }

    #[test]
    fn what_a_person_has_accepted_is_not_doubted_but_failures_are() {
        let known = report(&["a.py::test_x", "a.py::test_y"], &[], &[]);
        let source = &["test_x", "test_y"];
        let fewer = report(&["a.py::test_x"], &[], &[]);
        let narrowed = Held { kind: HeldKind::NarrowedTests, ..not_run("x", String::new()) };
        for accepted in [not_run("left out", String::new()), narrowed] {
            assert_eq!(said(&known, &fewer, source, std::slice::from_ref(&accepted)), "");
            let none = said(&known, &TestReport::default(), source, std::slice::from_ref(&accepted));
            assert!(none.contains("no test was reported"), "{none}");
            let failed =
                said(&known, &report(&["a.py::test_x"], &["a.py::test_y"], &[]), source, &[accepted]);
            assert!(failed.contains("reports tests as failed"), "{failed}");
        }
        assert_eq!(said(&known, &TestReport::default(), source, &[not_run("none", String::new())]), "");
    }
}
