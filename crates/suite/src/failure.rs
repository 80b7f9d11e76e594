//! What an agent is told of tests that fail: their names first, then what the runner said of them.
//!
//! Lines about tests that passed and padding are left out; of what is too long, the middle is.

use std::collections::BTreeSet;

use super::report::TestReport;

/// The most that is told, in characters: of names, of the beginning of the output and of its end.
const NAMES: usize = 1_000;
const HEAD: usize = 1_000;
const TAIL: usize = 2_000;
/// How many blanks in a row say something.
const BLANKS: usize = 12;

/// Says what fails. `before` are the tests that failed on the base, where that is known.
pub(crate) fn told(printed: &str, report: &TestReport, before: Option<&[String]>) -> String {
    let names = named(report, before);
    let excerpt = excerpt(printed);
    if names.is_empty() { excerpt } else { format!("{names}\n{excerpt}") }
}

fn named(report: &TestReport, before: Option<&[String]>) -> String {
    let known: BTreeSet<&String> = before.unwrap_or_default().iter().collect();
    let (old, new): (BTreeSet<&String>, BTreeSet<&String>) =
        report.failed.iter().partition(|name| known.contains(name));
    let list = |title: &str, names: &BTreeSet<&String>| {
        let mut text = if names.is_empty() { String::new() } else { format!("{title}:\n") };
        for (index, name) in names.iter().enumerate() {
            if text.len() + name.len() > NAMES {
                text.push_str(&format!("- and {} more\n", names.len() - index));
                break;
            }
            text.push_str(&format!("- {name}\n"));
        }
        text
    };
    let title = if before.is_some() { "Failing, and not at the base" } else { "Failing" };
    list(title, &new) + &list("Failing at the base already", &old)
}

fn excerpt(printed: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in printed.lines().map(without_padding).filter(|line| !is_pass(line)) {
        if !line.is_empty() || lines.last().is_some_and(|last| !last.is_empty()) {
            lines.push(line);
        }
    }
    let text = lines.join("\n");
    let text = text.trim_end();
    let count = text.chars().count();
    if count <= HEAD + TAIL {
        return text.to_owned();
    }
    let head: String = text.chars().take(HEAD).collect();
    let tail: String = text.chars().skip(count - TAIL).collect();
    // Whole lines, where there are any.
    let head = head.rsplit_once('\n').map_or(head.as_str(), |(head, _)| head);
    let tail = tail.split_once('\n').map_or(tail.as_str(), |(_, tail)| tail);
    let left_out = count - head.chars().count() - tail.chars().count();
    format!("{head}\n[… {left_out} characters are left out here …]\n{tail}")
}

/// Returns what is left on a line that was written over, without blanks that only fill it.
fn without_padding(line: &str) -> String {
    let line = line.trim_end();
    let mut text = String::with_capacity(line.len());
    let mut blanks = 0;
    for c in line.rsplit('\r').next().unwrap_or_default().chars() {
        blanks = if matches!(c, ' ' | '\t') { blanks + 1 } else { 0 };
        if blanks <= BLANKS {
            text.push(c);
        }
    }
    text
}

/// Tells whether a line only says that a test passed or began.
fn is_pass(line: &str) -> bool {
    const BEGINS: [&str; 10] =
        ["=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME ", "--- PASS: ", "ok ", "PASS ", "✓ ", "✔ ", "√ "];
    const ENDS: [&str; 4] = [" ... ok", " PASSED", " ✓", " passed (cached)"];
    let line = line.trim_start();
    let is_percent = line.ends_with("%]") && line.contains(" PASSED ");
    is_percent
        || BEGINS.iter().any(|start| line.starts_with(start))
        || ENDS.iter().any(|end| line.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failing_tests_are_named_first_and_those_that_are_new_apart() {
        let report = TestReport {
            failed: vec!["locale".to_owned(), "says the name".to_owned()],
            ..TestReport::default()
        };
        let printed =
            "ok 1 - says hello\nnot ok 2 - says the name\n# expected hello, Ada\nnot ok 3 - locale\n";
        assert_eq!(
            told(printed, &report, Some(&["locale".to_owned()])),
            "Failing, and not at the base:\n- says the name\nFailing at the base already:\n- locale\n\n\
             not ok 2 - says the name\n# expected hello, Ada\nnot ok 3 - locale"
        );
        assert!(told(printed, &report, None).starts_with("Failing:\n- locale\n- says the name\n\n"));
        assert_eq!(told("cannot load\n", &TestReport::default(), None), "cannot load");
    }

    #[test]
    fn passed_lines_and_padding_are_left_out_and_so_is_the_middle() {
        let padded = format!(
            "10 %\rdone{}\n\n\n\ntests/a.py::b PASSED   [ 50%]\nE  boom{}x\n",
            " ".repeat(90),
            " ".repeat(90)
        );
        assert_eq!(excerpt(&padded), format!("done\n\nE  boom{}x", " ".repeat(BLANKS)));
        let long: String = (0..2_000).map(|line| format!("line {line}\n")).collect();
        let cut = excerpt(&long);
        assert!(cut.starts_with("line 0\nline 1\n") && cut.ends_with("line 1998\nline 1999"), "{cut}");
        assert!(
            cut.contains("characters are left out here") && cut.chars().count() < HEAD + TAIL + 60,
            "{cut}"
        );
    }
}
