//! Whether tests pass where some of them failed before the work began.
//!
//! Pure. Only new failures count, and only where every test can be told apart by its name; whatever cannot be told counts
//! as a failure: failures without a name, a runner that crashed, tests that were there before and are not reported any more.

use std::collections::BTreeSet;

use adapters::process::End;
use engine::Baseline;

use super::report::TestReport;

/// What a run of tests says about the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    Passed,
    /// Tests fail, and all of them failed before.
    AsBefore {
        failing: usize,
    },
    Failed {
        /// What is said besides what the tests print.
        why: Option<String>,
    },
}

/// How many names are said.
const SHOWN: usize = 8;

/// Judges a run of tests by the baseline. `known` is the baseline's whole report, where it is still there.
pub(crate) fn judge(
    baseline: Option<&Baseline>,
    known: Option<&TestReport>,
    end: &End,
    report: &TestReport,
) -> Judgement {
    let failed = |why: String| Judgement::Failed { why: Some(why) };
    match end {
        End::Exit(0) => return Judgement::Passed,
        End::Exit(1..=125) => {}
        End::Exit(_) | End::Signal(_) | End::TimedOut(_) | End::Silent(_) | End::Stopped => {
            return Judgement::Failed { why: None };
        }
    }
    let Some(baseline) = baseline.filter(|baseline| baseline.tolerated) else {
        return Judgement::Failed { why: None };
    };
    if !report.tells_names() || report.failed.is_empty() {
        return failed("not every failure has a name, so those from before cannot be told apart".to_owned());
    }
    let before: BTreeSet<&String> = baseline.failing.iter().collect();
    let new: Vec<&String> = report.failed.iter().filter(|name| !before.contains(name)).collect();
    if !new.is_empty() {
        return failed(format!("they did not fail before the work began: {}", listed(&new)));
    }
    let reported: BTreeSet<&String> =
        [&report.passed, &report.failed, &report.skipped].into_iter().flatten().collect();
    let gone: Vec<&String> = match known {
        Some(known) => known.passed.iter().filter(|name| !reported.contains(name)).collect(),
        None if report.ran() < baseline.passed + baseline.failed => {
            let ran = report.ran();
            return failed(format!("{ran} tests ran, {} did before", baseline.passed + baseline.failed));
        }
        None => Vec::new(),
    };
    if !gone.is_empty() {
        return failed(format!(
            "they passed before the work began, and are not reported now: {}",
            listed(&gone)
        ));
    }
    Judgement::AsBefore { failing: report.failed.len() }
}

/// Tells whether all that failed is known to fail now and then.
pub(crate) fn is_flaky(baseline: Option<&Baseline>, report: &TestReport) -> bool {
    let Some(baseline) = baseline.filter(|baseline| !baseline.flaky.is_empty()) else { return false };
    let is_known = |name: &String| baseline.flaky.contains(name) || baseline.failing.contains(name);
    report.tells_names() && !report.failed.is_empty() && report.failed.iter().all(is_known)
}

/// Returns the tests that failed both times, and those that failed once and passed once.
pub(crate) fn compared(first: &TestReport, second: &TestReport) -> (Vec<String>, Vec<String>) {
    let passed = |report: &TestReport, name: &String| report.passed.contains(name);
    let mut flaky: Vec<String> = first.failed.iter().filter(|name| passed(second, name)).cloned().collect();
    flaky.extend(second.failed.iter().filter(|name| passed(first, name)).cloned());
    let failing = second.failed.iter().filter(|name| !flaky.contains(name)).cloned().collect();
    (failing, flaky)
}

pub(super) fn listed(names: &[&String]) -> String {
    let shown = names.iter().take(SHOWN).map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use engine::{BaselineState, Proof, Time};

    use super::*;

    fn report(passed: &[&str], failed: &[&str]) -> TestReport {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        TestReport { passed: names(passed), failed: names(failed), ..TestReport::default() }
    }

    fn baseline(passed: &[&str], failed: &[&str]) -> (Baseline, TestReport) {
        let known = report(passed, failed);
        let baseline = Baseline {
            commit: "c".to_owned(),
            command: "t".to_owned(),
            state: BaselineState::Red,
            passed: passed.len() as u64,
            failed: failed.len() as u64,
            skipped: 0,
            failing: known.failed.clone(),
            example: None,
            flaky: Vec::new(),
            tolerated: true,
            seconds: 1,
            cached: false,
            proof: Proof::Unknown,
            key: String::new(),
            at: Time::from_millis(0),
        };
        (baseline, known)
    }

    #[test]
    fn only_new_failures_count_and_what_cannot_be_told_is_one() {
        let (base, known) = baseline(&["a", "b"], &["x"]);
        let one = End::Exit(1);
        let crashed = End::Signal(11);
        let unnamed = TestReport {
            counts: Some(super::super::report::Counts { passed: 2, failed: 2, skipped: 0 }),
            ..report(&["a", "b"], &["x"])
        };
        let skipped = TestReport { skipped: vec!["b".to_owned()], ..report(&["a"], &["x"]) };
        for (end, report, passes) in [
            (&End::Exit(0), report(&[], &[]), true),
            (&one, report(&["a", "b"], &["x"]), true),
            (&one, report(&["a", "b", "new"], &["x"]), true),
            (&one, skipped, true),
            // A new failure, a test that broke, a test that vanished, nothing at all.
            (&one, report(&["a", "b"], &["x", "y"]), false),
            (&one, report(&["a"], &["x", "b"]), false),
            (&one, report(&["a"], &["x"]), false),
            (&one, report(&[], &[]), false),
            // Failing for another reason than a test.
            (&one, report(&["a", "b", "x"], &[]), false),
            (&one, unnamed, false),
            (&crashed, report(&["a", "b"], &["x"]), false),
            (&End::Exit(127), report(&["a", "b"], &["x"]), false),
        ] {
            let judged = judge(Some(&base), Some(&known), end, &report);
            assert_eq!(!matches!(judged, Judgement::Failed { .. }), passes, "{end:?} {report:?}: {judged:?}");
        }
    }

    #[test]
    fn without_the_whole_report_fewer_tests_are_a_failure() {
        let (base, _) = baseline(&["a", "b"], &["x"]);
        let judged = |report| judge(Some(&base), None, &End::Exit(1), &report);
        assert_eq!(judged(report(&["a", "b"], &["x"])), Judgement::AsBefore { failing: 1 });
        assert!(matches!(judged(report(&["a"], &["x"])), Judgement::Failed { .. }));
    }

    #[test]
    fn nothing_is_tolerated_without_leave() {
        let (base, known) = baseline(&["a"], &["x"]);
        let base = Baseline { tolerated: false, ..base };
        for baseline in [None, Some(&base)] {
            let judged = judge(baseline, Some(&known), &End::Exit(1), &report(&["a"], &["x"]));
            assert_eq!(judged, Judgement::Failed { why: None });
        }
    }

    #[test]
    fn a_test_that_fails_once_of_twice_is_flaky() {
        let (failing, flaky) = compared(&report(&["b"], &["a", "x"]), &report(&["a"], &["b", "x"]));
        assert_eq!((failing, flaky), (vec!["x".to_owned()], vec!["a".to_owned(), "b".to_owned()]));
        let base = Baseline { flaky: vec!["a".to_owned()], ..baseline(&["a"], &["x"]).0 };
        assert!(is_flaky(Some(&base), &report(&[], &["a", "x"])));
        assert!(!is_flaky(Some(&base), &report(&[], &["a", "y"])));
        assert!(!is_flaky(None, &report(&[], &["a"])));
    }
}
