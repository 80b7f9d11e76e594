//! TAP, with subtests as node and node-tap indent them, and as vitest puts them in braces.
//!
//! A parent of subtests is no test of its own, unless it failed and none of its subtests did.

use super::{Counts, Section, TestOutcome, text};

/// A result whose parents are not parsed yet.
struct PendingResult {
    indent: usize,
    ended: TestOutcome,
    path: Vec<String>,
}

/// A line about one test.
struct Point<'a> {
    indent: usize,
    ended: TestOutcome,
    name: &'a str,
    opens: bool,
}

pub(super) fn read(lines: &[&str]) -> Option<Section> {
    let mut found: Vec<PendingResult> = Vec::new();
    let mut open: Vec<Point<'_>> = Vec::new();
    let (mut planned, mut points, mut bailed) = (0u64, 0u64, 0u64);
    let mut block: Option<usize> = None;
    let mut counted = None;
    for line in lines {
        let (indent, trimmed) = (text::indent(line), line.trim());
        if let Some(at) = block {
            // The details of a failure, as YAML.
            if trimmed == "..." && indent <= at {
                block = None;
            }
            continue;
        }
        if trimmed == "---" && !found.is_empty() && indent > 0 {
            block = Some(indent);
        } else if let Some(point) = point(line) {
            points += u64::from(point.indent == 0);
            if point.opens {
                open.push(point);
            } else {
                close(&mut found, &point);
            }
        } else if trimmed == "}" && open.last().is_some_and(|point| point.indent == indent) {
            if let Some(point) = open.pop() {
                close(&mut found, &point);
            }
        } else if let Some(plan) = line.strip_prefix("1..") {
            let number: String = plan.chars().take_while(char::is_ascii_digit).collect();
            planned += number.parse::<u64>().unwrap_or(0);
        } else if trimmed.starts_with("Bail out!") {
            bailed += 1;
        } else if let Some(rest) = line.strip_prefix("# ") {
            let counts: &mut Counts = counted.get_or_insert_default();
            match rest.split_once(' ').map(|(word, number)| (word, number.trim().parse::<u64>())) {
                Some(("pass", Ok(number))) => counts.passed += number,
                Some(("fail" | "cancelled", Ok(number))) => counts.failed += number,
                Some(("skip" | "skipped" | "todo", Ok(number))) => counts.skipped += number,
                _ => {}
            }
        }
    }
    if found.is_empty() {
        return None;
    }
    let mut section = Section::default();
    let mut unnamed = Counts::default();
    for PendingResult { ended, path, .. } in found {
        let name = text::path(path.iter().map(String::as_str));
        if name.is_empty() {
            match ended {
                TestOutcome::Passed => unnamed.passed += 1,
                TestOutcome::Failed => section.unnamed_failures += 1,
                TestOutcome::Skipped => unnamed.skipped += 1,
            }
        } else if ended == TestOutcome::Failed && is_file(&name) {
            section.unnamed_failures += 1;
        } else {
            section.add(ended, name);
        }
    }
    let named = Counts {
        passed: section.passed.len() as u64,
        failed: section.failed.len() as u64,
        skipped: section.skipped.len() as u64,
    };
    let summary =
        counted.filter(|counts| counts.passed + counts.failed > 0 && named.passed + named.failed > 0);
    section.counts = summary.or_else(|| {
        (unnamed != Counts::default()).then(|| Counts {
            passed: named.passed + unnamed.passed,
            skipped: named.skipped + unnamed.skipped,
            ..named
        })
    });
    section.unnamed_failures += bailed + planned.saturating_sub(points);
    section.found()
}

/// A file that could not be run at all is no test.
fn is_file(name: &str) -> bool {
    !name.contains(' ') && super::javascript::is_script(name)
}

/// Gives a point's name to the subtests before it, or takes it as a test.
fn close(found: &mut Vec<PendingResult>, point: &Point<'_>) {
    let first = found.iter().rposition(|earlier| earlier.indent <= point.indent).map_or(0, |at| at + 1);
    let has_children = first < found.len();
    let has_failure = found[first..].iter().any(|child| child.ended == TestOutcome::Failed);
    for child in &mut found[first..] {
        child.indent = point.indent;
        child.path.insert(0, point.name.to_owned());
    }
    if !has_children || (point.ended == TestOutcome::Failed && !has_failure) {
        found.push(PendingResult {
            indent: point.indent,
            ended: point.ended,
            path: vec![point.name.to_owned()],
        });
    }
}

/// Reads `ok 1 - name`, `not ok 2 - name # TODO why`, `ok 3 # skip why`, `ok 1 - name # time=5ms {`.
fn point(line: &str) -> Option<Point<'_>> {
    let (indent, rest) = (text::indent(line), line.trim());
    let (is_ok, rest) = match rest.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, rest.strip_prefix("ok")?),
    };
    let rest =
        rest.strip_prefix(' ').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '-'))?;
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    if !rest.is_empty() && !rest.starts_with([' ', '-']) {
        return None;
    }
    let rest = rest.trim_start();
    let rest = rest.strip_prefix("- ").or_else(|| (rest == "-").then_some("")).unwrap_or(rest);
    let (rest, opens) = match rest.strip_suffix(" {") {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    // A sign that belongs to the name is escaped.
    let hash = rest.match_indices('#').map(|(at, _)| at).find(|at| *at == 0 || rest[..*at].ends_with(' '));
    let (name, directive) = match hash {
        Some(at) => (&rest[..at], rest[at + 1..].trim().to_lowercase()),
        None => (rest, String::new()),
    };
    let ended = match (is_ok, directive.starts_with("skip") || directive.starts_with("todo")) {
        (_, true) => TestOutcome::Skipped,
        (true, false) => TestOutcome::Passed,
        (false, false) => TestOutcome::Failed,
    };
    Some(Point { indent, ended, name: name.trim(), opens })
}
