//! What a test run reported: the names of tests that passed, failed and were skipped, and how many there were.
//!
//! Two sources are read: report files (JUnit XML, TAP, RSpec's and Go's JSON) and what the runner printed. Nothing here decides whether the
//! tests passed: that is the exit code. What is read here says which tests ran, and whether failures can be told apart.
//!
//! Invariants:
//! - Pure, apart from [`gather`], which finds and reads report files.
//! - Fail closed: a failure without a name (a crashed test binary, a file that cannot be imported, a summary that counts more
//!   failures than are listed) is counted in [`TestReport::counts`], and [`TestReport::tells_names`] is false.
//! - A test that passed once and failed once counts as failed.

mod gather;
mod go;
mod javascript;
mod junit;
mod others;
mod packages;
mod python;
mod rust;
mod tap;
mod text;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use gather::{read_reports, report_environment};
pub(crate) use go::without_passes;
pub(crate) use text::without_escapes;

/// What a test run reported, as far as the runner's reports and output tell.
///
/// A name can occur more than once, where two test binaries have a test of the same name: compare failures as multisets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestReport {
    pub passed: Vec<String>,
    pub failed: Vec<String>,
    pub skipped: Vec<String>,
    /// Totals, with the tests that summary lines count and nothing names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<Counts>,
    /// Whether a part of the output or a report is missing, so that failures may be missing too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

/// How many tests there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub passed: u64,
    /// Failures and errors.
    pub failed: u64,
    pub skipped: u64,
}

/// A report that a test run wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportFile {
    /// Where it is, for messages.
    pub path: String,
    pub text: String,
}

impl TestReport {
    /// Reads what a test run printed and the reports that it wrote.
    pub fn parse(output: &str, reports: &[ReportFile]) -> Self {
        let output = packages::apart(&text::plain(output));
        let lines: Vec<&str> = output.lines().collect();
        let mut sections: Vec<Section> = [
            python::pytest(&lines),
            python::unittest(&lines),
            rust::cargo(&lines),
            rust::nextest(&lines),
            go::text(&lines),
            go::json(&output),
            tap::read(&lines),
        ]
        .into_iter()
        .flatten()
        .chain(javascript::read(&lines))
        .chain(others::read(&lines))
        .collect();
        let mut report = Self::default();
        let mut others = Section::default();
        for file in reports {
            match read_file(file) {
                Some(section) if section.runner == Runner::Other => others.append(section),
                Some(section) => unite(&mut sections, section),
                // A report that cannot be read may have been cut short by a crash.
                None => report.partial = true,
            }
        }
        if !others.is_empty() {
            replace(&mut sections, others);
        }
        report.fill(sections);
        report
    }

    /// Marks the report as one of an output whose middle is missing.
    #[must_use]
    pub fn of_cut_output(mut self) -> Self {
        self.partial = true;
        self
    }

    /// Returns how many tests are known to have run; skipped ones have not.
    pub fn ran(&self) -> u64 {
        let named = length(&self.passed) + length(&self.failed);
        self.counts.map_or(named, |counts| named.max(counts.passed.saturating_add(counts.failed)))
    }

    /// Tells whether tests ran and every failure among them has a name.
    pub fn tells_names(&self) -> bool {
        let counted = self.counts.map_or(0, |counts| counts.failed);
        !self.partial && self.ran() > 0 && counted <= length(&self.failed)
    }

    /// Tells whether every test that passed has a name.
    pub fn names_every_pass(&self) -> bool {
        let counted = self.counts.map_or(0, |counts| counts.passed);
        !self.partial && counted <= length(&self.passed)
    }

    fn fill(&mut self, sections: Vec<Section>) {
        let mut unnamed = Counts::default();
        let mut is_counted = false;
        for section in sections {
            if let Some(counts) = section.counts {
                is_counted = true;
                unnamed.passed += counts.passed.saturating_sub(length(&section.passed));
                unnamed.failed += counts.failed.saturating_sub(length(&section.failed));
                unnamed.skipped += counts.skipped.saturating_sub(length(&section.skipped));
            }
            unnamed.failed += section.unnamed_failures;
            is_counted |= section.unnamed_failures > 0;
            self.passed.extend(section.passed);
            self.failed.extend(section.failed);
            self.skipped.extend(section.skipped);
        }
        let failed: BTreeSet<&String> = self.failed.iter().collect();
        let before = self.passed.len();
        self.passed.retain(|name| !failed.contains(name));
        unnamed.passed += (before - self.passed.len()) as u64;
        self.counts = is_counted.then(|| Counts {
            passed: unnamed.passed + length(&self.passed),
            failed: unnamed.failed + length(&self.failed),
            skipped: unnamed.skipped + length(&self.skipped),
        });
    }
}

/// What one runner reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Section {
    runner: Runner,
    passed: Vec<String>,
    failed: Vec<String>,
    skipped: Vec<String>,
    /// Totals of the runner's summary lines.
    counts: Option<Counts>,
    /// Failures besides that no summary counts: a binary that crashed, a file that could not be loaded.
    unnamed_failures: u64,
}

/// Which runner a section is from, as far as reports and output of the same run have to be matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Runner {
    Pytest,
    Go,
    #[default]
    Other,
}

/// Outcome of one test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TestOutcome {
    Passed,
    Failed,
    Skipped,
}

impl Section {
    fn of(runner: Runner) -> Self {
        Self { runner, ..Self::default() }
    }

    fn add(&mut self, ended: TestOutcome, name: impl Into<String>) {
        let name = text::shortened(name.into());
        match ended {
            TestOutcome::Passed => self.passed.push(name),
            TestOutcome::Failed => self.failed.push(name),
            TestOutcome::Skipped => self.skipped.push(name),
        }
    }

    /// Adds a name unless it is there: some runners list a failure more than once.
    fn add_once(&mut self, ended: TestOutcome, name: impl Into<String>) {
        let name = text::shortened(name.into());
        let known = match ended {
            TestOutcome::Passed => &mut self.passed,
            TestOutcome::Failed => &mut self.failed,
            TestOutcome::Skipped => &mut self.skipped,
        };
        if !known.contains(&name) {
            known.push(name);
        }
    }

    fn count(&mut self, counts: Counts) {
        let sum = self.counts.get_or_insert_default();
        sum.passed += counts.passed;
        sum.failed += counts.failed;
        sum.skipped += counts.skipped;
    }

    fn is_empty(&self) -> bool {
        *self == Self::of(self.runner)
    }

    fn found(self) -> Option<Self> {
        (!self.is_empty()).then_some(self)
    }

    /// Returns how many tests there are, by name or by count.
    fn most(&self) -> Counts {
        let counts = self.counts.unwrap_or_default();
        Counts {
            passed: length(&self.passed).max(counts.passed),
            failed: length(&self.failed).max(counts.failed),
            skipped: length(&self.skipped).max(counts.skipped),
        }
    }

    /// Returns how many tests there are, and how many of them failed.
    fn totals(&self) -> (u64, u64) {
        let most = self.most();
        (most.passed + most.failed + most.skipped, most.failed)
    }

    /// Takes in another section about other tests.
    fn append(&mut self, other: Self) {
        let (one, two) = (self.most(), other.most());
        self.counts = Some(Counts {
            passed: one.passed + two.passed,
            failed: one.failed + two.failed,
            skipped: one.skipped + two.skipped,
        });
        self.passed.extend(other.passed);
        self.failed.extend(other.failed);
        self.skipped.extend(other.skipped);
        self.unnamed_failures += other.unnamed_failures;
    }

    /// Takes in another section about the same tests.
    fn unite(&mut self, other: Self) {
        for (names, more) in [
            (&mut self.passed, other.passed),
            (&mut self.failed, other.failed),
            (&mut self.skipped, other.skipped),
        ] {
            let known: BTreeSet<String> = names.iter().cloned().collect();
            names.extend(more.into_iter().filter(|name| !known.contains(name)));
        }
        self.counts = match (self.counts, other.counts) {
            (Some(one), Some(other)) => Some(Counts {
                passed: one.passed.max(other.passed),
                failed: one.failed.max(other.failed),
                skipped: one.skipped.max(other.skipped),
            }),
            (one, other) => one.or(other),
        };
        self.unnamed_failures = self.unnamed_failures.max(other.unnamed_failures);
    }
}

fn read_file(file: &ReportFile) -> Option<Section> {
    let text = text::plain(&file.text);
    let start = text.trim_start_matches('\u{feff}').trim_start();
    if start.starts_with('<') {
        return junit::read(start);
    }
    if start.starts_with('{') {
        return others::rspec_json(start).or_else(|| go::json(&text));
    }
    tap::read(&text.lines().collect::<Vec<_>>())
}

/// Adds a report whose names are the same as those that its runner prints.
fn unite(sections: &mut Vec<Section>, report: Section) {
    match sections.iter_mut().find(|section| section.runner == report.runner) {
        Some(section) => section.unite(report),
        None => sections.push(report),
    }
}

/// Adds what report files say whose names differ from what the runner prints: the output is about the same tests, and is
/// dropped, if it counts as many. Where it does not, both stay, and failures that only one of them has are not lost.
fn replace(sections: &mut Vec<Section>, reports: Section) {
    let totals = reports.totals();
    let is_other = |section: &Section| section.runner == Runner::Other;
    let printed = sections.iter().filter(|section| is_other(section)).map(Section::totals);
    let sum = printed.fold((0, 0), |sum, totals| (sum.0 + totals.0, sum.1 + totals.1));
    sections.retain(|section| !is_other(section) || (section.totals() != totals && sum != totals));
    sections.push(reports);
}

fn length(names: &[String]) -> u64 {
    names.len() as u64
}

#[cfg(test)]
mod tests;
