//! Telling what a run of tests says: that they pass, that they fail, or nothing, because they could not run.
//!
//! Any command may be the one that runs them, so little is certain: that it ended well, that it did not end by itself, or
//! that the shell found no such program. Beyond that what common test programs print is read; a command that prints none
//! of it fails if it ends with another code than 0. Where a report is known, tests pass only if one did, and fail only if
//! one did.

mod unresolved;

use std::ops::RangeInclusive;

use adapters::process::End;
use engine::TestsVerdict;

pub(super) use unresolved::Own;

/// What test programs print when a test cannot be loaded, built or collected.
const NOT_RUN: &[&str] = &[
    "error: could not compile",
    "error[E0",
    "error: no test target named",
    "No module named pytest",
    "Cannot find module",
    "ERR_MODULE_NOT_FOUND",
    "cannot load such file",
    "Missing script",
    "ERROR collecting",
    "ImportError while importing test module",
    "errors during collection",
    "error during collection",
    "unittest.loader._FailedTest",
    // Jest, Vitest, Mocha.
    "Test suite failed to run",
    "Failed Suites ",
    "Exception during run:",
    "[build failed]",
    "[setup failed]",
    "Bail out!",
    "occurred outside of examples",
    "(CompileError)",
    "(SyntaxError)",
    "(LoadError)",
    // Maven, Gradle.
    "COMPILATION ERROR",
    "Compilation failed; see the compiler",
    ": Syntax error:",
    ": syntax error near unexpected token",
    ": syntax error: unexpected end of file",
];

/// Lines that say the same: as a whole, where they may stand further in.
const NOT_RUN_LINES: &[&str] = &[
    // Node, of a file that ended before its tests did, in both of its reports.
    "error: 'test failed'",
    "'test failed'",
];

/// How lines begin that say the same, with nothing before: the last words of Node and Python about a file.
const NOT_RUN_BEGINNINGS: &[&str] = &["SyntaxError: ", "IndentationError: "];

/// Exit codes by which a program says that tests could not run, where its name is a part of the command or its first line
/// is printed.
const CODES: &[(&str, &str, RangeInclusive<i32>)] = &[("pytest", "= test session starts =", 2..=5)];

/// Whose tests were run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// Those of the feature alone, of which at least one has to run.
    Feature,
    /// All of the project's, of which there may be none. Which of those that passed are new cannot be said.
    Project,
}

/// What came of tests.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Judged {
    pub(super) verdict: TestsVerdict,
    /// How many passed, where the output tells.
    pub(super) passed: u64,
}

/// Says what the end of a test command and its output mean.
pub(super) fn judge(whose: Whose, own: &Own, command: &str, end: &End, printed: &str) -> Judged {
    let printed = plain(printed);
    let counts = Counts::read(&printed);
    let has_none = |counts: &Counts| whose == Whose::Feature && counts.passed == 0;
    let verdict = match end {
        End::Exit(0) if counts.as_ref().is_some_and(has_none) => TestsVerdict::Errored,
        End::Exit(0) => TestsVerdict::Passed,
        // The shell's words for a program that is not there, cannot be run, or was ended.
        End::Exit(126..) | End::Signal(_) | End::TimedOut(_) | End::Silent(_) | End::Stopped => {
            TestsVerdict::Errored
        }
        // What does not exist yet is no fault of the tests.
        End::Exit(code) if could_not_run(command, *code, &printed) => match unresolved::is_all(own, &printed)
        {
            true => TestsVerdict::Failed,
            false => TestsVerdict::Errored,
        },
        End::Exit(_) => match &counts {
            Some(counts) if counts.errored > 0 || counts.failed == 0 => TestsVerdict::Errored,
            Some(_) | None => TestsVerdict::Failed,
        },
    };
    let counts = counts.filter(|_| whose == Whose::Feature);
    Judged { verdict, passed: counts.map(|counts| counts.passed).unwrap_or_default() }
}

fn could_not_run(command: &str, code: i32, printed: &str) -> bool {
    let by_code = |(name, sign, codes): &(&str, &str, RangeInclusive<i32>)| {
        codes.contains(&code) && (command.contains(name) || printed.contains(sign))
    };
    let by_line = |line: &str| {
        NOT_RUN_LINES.contains(&line.trim())
            || NOT_RUN_BEGINNINGS.iter().any(|beginning| line.starts_with(beginning))
    };
    CODES.iter().any(by_code)
        || NOT_RUN.iter().any(|sign| printed.contains(sign))
        || printed.lines().any(by_line)
}

/// What a report of tests counts.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: u64,
    failed: u64,
    errored: u64,
}

/// A line of a report that sums up, and the words at its numbers. Where no number says how many passed, it is all but the
/// others.
struct Summary {
    is: fn(&str) -> bool,
    passed: &'static [Number],
    all: &'static [Number],
    failed: &'static [Number],
    errored: &'static [Number],
    skipped: &'static [Number],
}

/// Where a number stands.
#[derive(Clone, Copy, Debug)]
enum Number {
    Before(&'static str),
    After(&'static str),
}

use Number::{After, Before};

/// The lines that sum up.
const SUMMARIES: &[Summary] = &[
    // Rust: test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out
    Summary {
        is: |line| line.starts_with("test result: "),
        passed: &[Before("passed")],
        failed: &[Before("failed")],
        ..Summary::NONE
    },
    // pytest: === 2 failed, 1 passed, 1 error in 0.12s ===
    Summary {
        is: is_pytest,
        passed: &[Before("passed")],
        failed: &[Before("failed")],
        errored: &[Before("error"), Before("errors")],
        ..Summary::NONE
    },
    // unittest, in two lines: Ran 3 tests in 0.001s, FAILED (failures=1, errors=1, skipped=1)
    Summary {
        is: |line| line.starts_with("Ran ") && line.contains(" in "),
        all: &[Before("test"), Before("tests")],
        ..Summary::NONE
    },
    Summary {
        is: |line| line.starts_with("FAILED (") || line.starts_with("OK ("),
        failed: &[After("failures=")],
        errored: &[After("errors=")],
        skipped: &[After("skipped=")],
        ..Summary::NONE
    },
    // Jest: Tests:       2 failed, 1 passed, 3 total
    // Vitest, perhaps in two lines:      Tests  1 failed | 2 passed (3),     Errors  1 error
    Summary {
        is: |line| {
            (line.starts_with("Tests:") && line.ends_with(" total"))
                || line.starts_with("Tests  ")
                || line.starts_with("Errors  ")
        },
        passed: &[Before("passed")],
        failed: &[Before("failed")],
        errored: &[Before("error"), Before("errors")],
        ..Summary::NONE
    },
    // Mocha, in lines of their own: 1 passing (5ms), 2 failing
    Summary {
        is: |line| begins_with_number(line, "passing") || begins_with_number(line, "failing"),
        passed: &[Before("passing")],
        failed: &[Before("failing")],
        ..Summary::NONE
    },
    // RSpec: 3 examples, 1 failure, 1 pending
    Summary {
        is: |line| begins_with_number(line, "examples") || begins_with_number(line, "example"),
        all: &[Before("example"), Before("examples")],
        failed: &[Before("failure"), Before("failures")],
        errored: &[Before("error"), Before("errors")],
        skipped: &[Before("pending")],
        ..Summary::NONE
    },
    // minitest: 3 runs, 4 assertions, 1 failures, 0 errors, 0 skips
    // test-unit: 3 tests, 4 assertions, 1 failures, 0 errors, 0 pendings, 0 omissions, 0 notifications
    Summary {
        is: |line| line.contains(" assertions, "),
        all: &[Before("runs"), Before("tests")],
        failed: &[Before("failures")],
        errored: &[Before("errors")],
        skipped: &[Before("skips"), Before("pendings"), Before("omissions")],
        ..Summary::NONE
    },
    // Maven: Tests run: 3, Failures: 1, Errors: 1, Skipped: 0. What a test throws is its failure.
    Summary {
        is: |line| line.contains("Tests run: ") && !line.contains("Time elapsed"),
        all: &[After("Tests run: ")],
        failed: &[After("Failures: "), After("Errors: ")],
        skipped: &[After("Skipped: ")],
        ..Summary::NONE
    },
    // Gradle: 3 tests completed, 1 failed
    Summary {
        is: |line| line.contains(" tests completed, ") || line.contains(" test completed, "),
        all: &[Before("tests"), Before("test")],
        failed: &[Before("failed")],
        skipped: &[Before("skipped")],
        ..Summary::NONE
    },
    // ExUnit: 1 doctest, 3 tests, 1 failure, 1 skipped
    Summary {
        is: is_exunit,
        all: &[
            Before("doctest"),
            Before("doctests"),
            Before("property"),
            Before("properties"),
            Before("test"),
            Before("tests"),
        ],
        failed: &[Before("failure"), Before("failures")],
        errored: &[Before("invalid")],
        skipped: &[Before("skipped"), Before("excluded")],
        ..Summary::NONE
    },
    // Node, in lines of their own: # pass 1, # fail 1, # cancelled 0
    Summary {
        is: is_node,
        passed: &[After(" pass ")],
        failed: &[After(" fail ")],
        errored: &[After(" cancelled ")],
        ..Summary::NONE
    },
];

impl Summary {
    const NONE: Self = Self { is: |_| false, passed: &[], all: &[], failed: &[], errored: &[], skipped: &[] };
}

impl Counts {
    /// Adds up what a report says; nothing if there is none that is known. A line for each test, as TAP and Go write them,
    /// counts where nothing sums up.
    fn read(printed: &str) -> Option<Self> {
        let (mut summed, mut single) = (None, None);
        for line in printed.lines().map(str::trim) {
            for summary in SUMMARIES.iter().filter(|summary| (summary.is)(line)) {
                let (passed, counts) = summed.get_or_insert_with(|| (0i64, Self::default()));
                let [known, all, failed, errored, skipped] =
                    [summary.passed, summary.all, summary.failed, summary.errored, summary.skipped]
                        .map(|numbers| sum(line, numbers));
                counts.failed = counts.failed.saturating_add(failed);
                counts.errored = counts.errored.saturating_add(errored);
                let rest =
                    [failed, errored, skipped].map(signed).into_iter().fold(signed(all), i64::saturating_sub);
                let more = if summary.passed.is_empty() { rest } else { signed(known) };
                *passed = passed.saturating_add(more);
            }
            if let Some(one) = Self::of_one(line) {
                let counts = single.get_or_insert_with(Self::default);
                counts.passed += one.passed;
                counts.failed += one.failed;
            }
        }
        let summed =
            summed.map(|(passed, counts)| Self { passed: u64::try_from(passed).unwrap_or(0), ..counts });
        summed.or(single)
    }

    /// Reads a line about one test; one that was left out, or that there is none, counts for nothing.
    fn of_one(line: &str) -> Option<Self> {
        let (passed, failed, none) =
            (Self { passed: 1, ..Self::default() }, Self { failed: 1, ..Self::default() }, Self::default());
        if line.starts_with("--- PASS: ") {
            return Some(passed);
        } else if line.starts_with("--- FAIL: ") {
            return Some(failed);
        } else if line.starts_with("--- SKIP: ")
            || line.ends_with("[no test files]")
            || line.ends_with("[no tests to run]")
        {
            return Some(none);
        }
        let (one, rest) = match line.strip_prefix("not ok ") {
            Some(rest) => (failed, rest),
            None => (passed, line.strip_prefix("ok ")?),
        };
        if !rest.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            return None;
        }
        let directive =
            rest.split_once(" # ").map(|(_, directive)| directive.to_lowercase()).unwrap_or_default();
        Some(if directive.starts_with("skip") || directive.starts_with("todo") { none } else { one })
    }
}

fn is_pytest(line: &str) -> bool {
    let line = line.trim_matches('=').trim();
    let Some((counted, took)) = line.rsplit_once(" in ") else { return false };
    let took = took.split(' ').next().unwrap_or_default();
    let is_time = took.strip_suffix('s').is_some_and(|seconds| seconds.parse::<f64>().is_ok());
    is_time && (counted == "no tests ran" || counted.starts_with(|c: char| c.is_ascii_digit()))
}

fn is_exunit(line: &str) -> bool {
    let is_count = |part: &str| {
        let mut words = part.split(' ');
        words.next().is_some_and(|number| number.parse::<u64>().is_ok())
            && words.next().is_some()
            && words.next().is_none()
    };
    (line.contains(" test, ") || line.contains(" tests, "))
        && line.contains(" failure")
        && line.split(", ").all(is_count)
        && !line.contains(" assertions, ")
}

fn is_node(line: &str) -> bool {
    let said = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ "));
    let Some((what, number)) = said.and_then(|said| said.split_once(' ')) else { return false };
    ["tests", "pass", "fail", "cancelled"].contains(&what) && number.parse::<u64>().is_ok()
}

fn begins_with_number(line: &str, word: &str) -> bool {
    let mut words = line.split([' ', ',']);
    words.next().is_some_and(|number| number.parse::<u64>().is_ok()) && words.next() == Some(word)
}

fn sum(line: &str, numbers: &[Number]) -> u64 {
    let number = |number: &Number| match *number {
        Before(word) => number_before(line, word),
        After(sign) => number_after(line, sign),
    };
    numbers.iter().map(number).fold(0, u64::saturating_add)
}

fn number_before(line: &str, word: &str) -> u64 {
    let words: Vec<&str> =
        line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let found = words.windows(2).find(|pair| pair[1] == word);
    found.and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

fn number_after(line: &str, sign: &str) -> u64 {
    let rest = line.split_once(sign).map(|(_, rest)| rest).unwrap_or_default();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Returns a text without the colours that a program has given it.
fn plain(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        plain.push_str(rest.strip_prefix(|c: char| c.is_ascii_alphabetic()).unwrap_or(rest));
    }
    plain
}

#[cfg(test)]
mod tests;
