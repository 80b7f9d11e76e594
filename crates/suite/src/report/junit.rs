//! JUnit's XML, in the dialects of pytest, jest-junit, vitest, node, Surefire, Gradle, gotestsum, PHPUnit and their like.

use roxmltree::{Document, Node};

use super::{Counts, Runner, Section, TestOutcome, python, text};

/// A test of the report.
struct Case<'a> {
    file: Option<&'a str>,
    class: &'a str,
    name: &'a str,
    ended: TestOutcome,
}

/// Reads a report; nothing if it is no whole report, so that one which was cut short does not look whole.
pub(super) fn read(document: &str) -> Option<Section> {
    let document = Document::parse(document).ok()?;
    let elements = |name: &'static str| document.descendants().filter(move |node| node.has_tag_name(name));
    let mut section = Section::default();
    let mut counted = 0;
    let mut is_report = false;
    for suite in elements("testsuite") {
        is_report = true;
        if suite.attribute("name") == Some("pytest") {
            section.runner = Runner::Pytest;
        }
        let is_outermost = !suite.ancestors().skip(1).any(|node| node.has_tag_name("testsuite"));
        let number =
            |key: &str| suite.attribute(key).and_then(|number| number.parse::<u64>().ok()).unwrap_or(0);
        counted += if is_outermost { number("failures") + number("errors") } else { 0 };
        // Failures of a whole suite.
        section.unnamed_failures += suite.children().filter(is_failure).count() as u64;
    }
    if !is_report {
        return None;
    }
    for node in elements("testcase") {
        let mut suites: Vec<&str> = node
            .ancestors()
            .filter(|node| node.has_tag_name("testsuite"))
            .map(|suite| suite.attribute("name").unwrap_or_default())
            .collect();
        suites.reverse();
        add(&mut section, &suites, &case(node));
    }
    let told = section.failed.len() as u64 + section.unnamed_failures;
    section.unnamed_failures += counted.saturating_sub(told);
    let named = |names: &[String]| names.len() as u64;
    section.counts = Some(Counts {
        passed: named(&section.passed),
        failed: named(&section.failed),
        skipped: named(&section.skipped),
    });
    Some(section)
}

fn is_failure(node: &Node<'_, '_>) -> bool {
    node.has_tag_name("failure") || node.has_tag_name("error")
}

fn case<'a>(node: Node<'a, '_>) -> Case<'a> {
    let attribute = |key: &str| node.attribute(key).unwrap_or_default();
    let is_skipped = ["notrun", "skipped", "disabled"].contains(&attribute("status"))
        || node.children().any(|child| child.has_tag_name("skipped"));
    Case {
        file: node.attribute("file"),
        class: attribute("classname").trim(),
        name: attribute("name").trim(),
        ended: match () {
            () if node.children().any(|child| is_failure(&child)) => TestOutcome::Failed,
            () if is_skipped => TestOutcome::Skipped,
            () => TestOutcome::Passed,
        },
    }
}

fn add(section: &mut Section, suites: &[&str], case: &Case<'_>) {
    let (class, name) = (case.class, case.name);
    let is_script = super::javascript::is_script(class);
    let named = if section.runner == Runner::Pytest {
        // A file that could not be imported is a case without a name or a class.
        if name.is_empty() || (class.is_empty() && case.ended == TestOutcome::Failed) {
            section.unnamed_failures += u64::from(case.ended == TestOutcome::Failed);
            return;
        }
        python::node_id_of(case.file, class, name)
    } else if class == "test" {
        // Node's: the groups are suites.
        text::path(suites.iter().copied().chain([name]))
    } else if class.is_empty() || class == name {
        name.to_owned()
    } else if is_script {
        text::path([class, name])
    } else {
        format!("{class}.{name}")
    };
    if named.is_empty() {
        section.unnamed_failures += u64::from(case.ended == TestOutcome::Failed);
    } else {
        section.add(case.ended, named);
    }
}
