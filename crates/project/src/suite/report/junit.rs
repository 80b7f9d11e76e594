//! JUnit's XML, in the dialects of pytest, jest-junit, vitest, node, Surefire, Gradle, gotestsum, PHPUnit and their like.

use super::{
    Counts, Ended, Runner, Section, python, text,
    xml::{self, Broken, Part},
};

/// A test of the report that is being read.
struct Case {
    file: Option<String>,
    class: String,
    name: String,
    ended: Ended,
}

/// Reads a report.
pub(super) fn read(document: &str) -> Result<Section, Broken> {
    let mut section = Section::default();
    // The elements that are open: those of suites have their name.
    let mut open: Vec<(String, Option<String>)> = Vec::new();
    let mut case: Option<Case> = None;
    let mut counted = 0;
    for part in xml::parts(document)? {
        match part {
            Part::Start { name, attributes } => {
                let value = |key: &str| {
                    attributes.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
                };
                let mut suite = None;
                match name.as_str() {
                    "testsuite" => {
                        let number =
                            |key: &str| value(key).and_then(|number| number.parse::<u64>().ok()).unwrap_or(0);
                        let is_outermost = !open.iter().any(|(element, _)| element == "testsuite");
                        counted += if is_outermost { number("failures") + number("errors") } else { 0 };
                        suite = Some(value("name").unwrap_or_default().to_owned());
                        if suite.as_deref() == Some("pytest") {
                            section.runner = Runner::Pytest;
                        }
                    }
                    "testcase" => case = Some(begun(&value)),
                    "failure" | "error" => match &mut case {
                        Some(case) => case.ended = Ended::Failed,
                        // Of a whole suite.
                        None => section.unnamed_failures += 1,
                    },
                    "skipped" => {
                        if let Some(case) = case.as_mut().filter(|case| case.ended == Ended::Passed) {
                            case.ended = Ended::Skipped;
                        }
                    }
                    _ => {}
                }
                open.push((name, suite));
            }
            Part::End => {
                let ended = open.pop().map(|(name, _)| name);
                if ended.as_deref() == Some("testcase")
                    && let Some(case) = case.take()
                {
                    let suites: Vec<&str> = open.iter().filter_map(|(_, suite)| suite.as_deref()).collect();
                    add(&mut section, &suites, &case);
                }
            }
        }
    }
    if !document.contains("<testsuite") {
        return Err(Broken);
    }
    if counted > section.failed.len() as u64 + section.unnamed_failures {
        let missing = counted - section.failed.len() as u64 - section.unnamed_failures;
        section.unnamed_failures += missing;
    }
    let named = |names: &[String]| names.len() as u64;
    section.counts = Some(Counts {
        passed: named(&section.passed),
        failed: named(&section.failed),
        skipped: named(&section.skipped),
    });
    Ok(section)
}

fn begun<'a>(value: &impl Fn(&str) -> Option<&'a str>) -> Case {
    let is_left_out =
        value("status").is_some_and(|status| ["notrun", "skipped", "disabled"].contains(&status));
    Case {
        file: value("file").map(str::to_owned),
        class: value("classname").unwrap_or_default().trim().to_owned(),
        name: value("name").unwrap_or_default().trim().to_owned(),
        ended: if is_left_out { Ended::Skipped } else { Ended::Passed },
    }
}

fn add(section: &mut Section, suites: &[&str], case: &Case) {
    let (class, name) = (case.class.as_str(), case.name.as_str());
    let is_script = super::javascript::is_script(class);
    let named = if section.runner == Runner::Pytest {
        // A file that could not be imported is a case without a name or a class.
        if name.is_empty() || (class.is_empty() && case.ended == Ended::Failed) {
            section.unnamed_failures += u64::from(case.ended == Ended::Failed);
            return;
        }
        python::node_id_of(case.file.as_deref(), class, name)
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
        section.unnamed_failures += u64::from(case.ended == Ended::Failed);
    } else {
        section.add(case.ended, named);
    }
}
