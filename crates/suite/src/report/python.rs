//! pytest and unittest.
//!
//! pytest's tests are named by node id (`tests/test_a.py::TestX::test_y`), unittest's by their dotted path.

use super::{Counts, Runner, Section, TestOutcome, text};

/// How pytest says that a test ended.
const WORDS: &[(&str, TestOutcome)] = &[
    ("PASSED", TestOutcome::Passed),
    ("FAILED", TestOutcome::Failed),
    ("ERROR", TestOutcome::Failed),
    ("SKIPPED", TestOutcome::Skipped),
    ("XFAIL", TestOutcome::Skipped),
    ("XPASS", TestOutcome::Passed),
];

pub(super) fn pytest(lines: &[&str]) -> Option<Section> {
    let mut section = Section::of(Runner::Pytest);
    for line in lines.iter().map(|line| line.trim()) {
        if is_pytest_summary(line) {
            section.count(Counts {
                passed: text::before(line, &["passed", "xpassed"]),
                failed: text::before(line, &["failed", "error", "errors"]),
                skipped: text::before(line, &["skipped", "xfailed"]),
            });
        } else if let Some((ended, id)) = verbose(line).or_else(|| short(line)) {
            section.add_once(ended, id);
        }
    }
    // Without a summary these are lines of something else.
    section.counts.is_some().then_some(section)
}

/// `=== 2 failed, 1 passed in 0.12s ===`, also without the signs.
fn is_pytest_summary(line: &str) -> bool {
    let line = line.trim_matches('=').trim();
    let Some((counted, took)) = line.rsplit_once(" in ") else { return false };
    let took = took.split(' ').next().unwrap_or_default();
    let is_time = took.strip_suffix('s').is_some_and(|seconds| seconds.parse::<f64>().is_ok());
    let is_count = |part: &str| {
        let mut words = part.split(' ');
        words.next().is_some_and(|number| number.parse::<u64>().is_ok()) && words.next().is_some()
    };
    is_time && (counted == "no tests ran" || counted.split(", ").all(is_count))
}

/// `tests/a.py::test_b PASSED [ 50%]`, or with xdist `[gw0] [ 50%] PASSED tests/a.py::test_b`.
fn verbose(line: &str) -> Option<(TestOutcome, String)> {
    if let Some(rest) = line.strip_prefix("[gw") {
        let (_, rest) = rest.split_once("%] ")?;
        let (word, id) = rest.split_once(' ')?;
        return Some((ended(word)?, node_id(id)?.to_owned()));
    }
    WORDS.iter().find_map(|(word, ended)| {
        let (id, rest) = line.rsplit_once(&format!(" {word}"))?;
        let is_end = rest.is_empty() || rest.starts_with(' ');
        let id = id.trim_end();
        (is_end && is_node_id(id)).then(|| (*ended, id.to_owned()))
    })
}

/// `FAILED tests/a.py::test_b - assert …`, of the short summary.
fn short(line: &str) -> Option<(TestOutcome, String)> {
    let (word, rest) = line.split_once(' ')?;
    // `SUBFAILED[message]` and `SUBFAILED(i=1)` are parts of a test.
    let ended = if word.starts_with("SUBFAILED") { TestOutcome::Failed } else { ended(word)? };
    Some((ended, node_id(rest)?.to_owned()))
}

fn ended(word: &str) -> Option<TestOutcome> {
    WORDS.iter().find(|(known, _)| *known == word).map(|(_, ended)| *ended)
}

/// Returns the node id that a text begins with. A parameter may hold spaces and dashes.
fn node_id(text: &str) -> Option<&str> {
    let id = match (text.find('['), text.find(" - ")) {
        (Some(open), Some(dash)) if open < dash => text.find("] - ").map_or(text, |end| &text[..=end]),
        (_, Some(dash)) => &text[..dash],
        (_, None) => text,
    };
    let id = id.trim_end();
    is_node_id(id).then_some(id)
}

fn is_node_id(id: &str) -> bool {
    let Some((file, test)) = id.split_once("::") else { return false };
    !file.is_empty() && !test.is_empty() && !file.contains(' ') && file.contains('.')
}

/// Names a test of pytest's XML as a node id.
pub(super) fn node_id_of(file: Option<&str>, class: &str, name: &str) -> String {
    let module = |file: &str| file.trim_end_matches(".py").replace(['/', '\\'], ".");
    if let Some(file) = file
        && let Some(rest) = class.strip_prefix(&module(file))
    {
        let classes = rest.split('.').filter(|part| !part.is_empty());
        let parts: Vec<&str> = [file].into_iter().chain(classes).chain([name]).collect();
        return parts.join("::");
    }
    // Without the file's name, classes are told by their first letter.
    let parts: Vec<&str> = class.split('.').filter(|part| !part.is_empty()).collect();
    let is_class = |part: &&str| part.starts_with(char::is_uppercase);
    let classes = parts.iter().position(is_class).unwrap_or(parts.len());
    if classes == 0 {
        return [class, name].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("::");
    }
    let file = format!("{}.py", parts[..classes].join("/"));
    [file.as_str()]
        .into_iter()
        .chain(parts[classes..].iter().copied())
        .chain([name])
        .collect::<Vec<_>>()
        .join("::")
}

pub(super) fn unittest(lines: &[&str]) -> Option<Section> {
    let mut section = Section::default();
    let mut asked: Option<String> = None;
    let mut ran = None;
    for line in lines {
        if let Some(rest) = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: ")) {
            if let Some(name) = dotted(rest) {
                section.add_once(TestOutcome::Failed, name);
            }
        } else if let Some((test, end)) = line.rsplit_once(" ... ") {
            // With a docstring, the name stands in the line before.
            let name = dotted(test).or_else(|| asked.take());
            if let (Some(name), Some(ended)) = (name, unittest_end(end)) {
                section.add_once(ended, name);
            }
        } else if line.starts_with("Ran ") && line.contains(" in ") {
            ran = Some(text::before(line, &["test", "tests"]));
        } else if let Some(all) = ran
            && (line.starts_with("FAILED") || line.starts_with("OK") || line.starts_with("NO TESTS RAN"))
        {
            let number = |key: &str| unittest_number(line, key);
            let failed = number("failures") + number("errors") + number("unexpected successes");
            let skipped = number("skipped") + number("expected failures");
            let passed = all.saturating_sub(failed).saturating_sub(skipped);
            section.count(Counts { passed, failed, skipped });
            ran = None;
        } else {
            asked = dotted(line);
        }
    }
    section.counts.is_some().then_some(section)
}

/// Reads a number of `FAILED (failures=2, expected failures=1)`.
fn unittest_number(line: &str, key: &str) -> u64 {
    let inner =
        line.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(inner, _)| inner);
    let pairs = inner.split(", ").filter_map(|part| part.split_once('='));
    pairs.filter(|(name, _)| *name == key).filter_map(|(_, number)| number.parse::<u64>().ok()).sum()
}

fn unittest_end(end: &str) -> Option<TestOutcome> {
    match end.trim() {
        "ok" => Some(TestOutcome::Passed),
        "FAIL" | "ERROR" | "unexpected success" => Some(TestOutcome::Failed),
        "expected failure" => Some(TestOutcome::Skipped),
        end if end.starts_with("skipped ") => Some(TestOutcome::Skipped),
        _ => None,
    }
}

/// Reads `test_x (mod.Class.test_x)`, with a subtest behind it or not, and `test_x (mod.Class)` of older versions. A class
/// that could not be set up, or a module that could not be imported, is no test.
fn dotted(text: &str) -> Option<String> {
    let text = text.trim();
    let (name, rest) = text.split_once(" (")?;
    let (path, rest) = rest.split_once(')')?;
    let is_word =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    let is_test =
        is_word(name) && is_word(path) && !name.starts_with("setUp") && !name.starts_with("tearDown");
    if !is_test || path.contains("_FailedTest") {
        return None;
    }
    let whole = if path.ends_with(&format!(".{name}")) { path.to_owned() } else { format!("{path}.{name}") };
    Some(format!("{whole}{}", rest.trim_end()))
}
