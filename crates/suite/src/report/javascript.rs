//! jest, vitest, mocha, ava, node's spec reporter, bun and deno.
//!
//! They print trees of signs (`✓`) that look alike. Which of them printed the lines is told by the summary that follows, so
//! the output is cut at the summaries, and each part is read as its runner writes it. Names of nested tests are joined by
//! ` > `, and begin with the file where the runner tells it.

use super::{Counts, Section, TestOutcome, text};

const PASS: &[char] = &['✓', '✔', '√'];
const FAIL: &[char] = &['✕', '✖', '✗', '×', '✘'];
const SKIP: &[char] = &['○', '↓', '□', '﹣', '✎'];

/// The endings of files that these runners run.
const SCRIPTS: &[&str] = &[".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Jest,
    Vitest,
    Mocha,
    Ava,
    Node,
    Bun,
    Deno,
}

pub(super) fn read(lines: &[&str]) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut from = 0;
    for (at, line) in lines.iter().enumerate() {
        let Some(kind) = summary(line) else { continue };
        if at < from {
            continue;
        }
        let end = summary_end(lines, at, kind);
        let (body, summary) = (&lines[from..at], &lines[at..end]);
        let section = match kind {
            Kind::Jest => jest(body, summary),
            Kind::Vitest => vitest(body, summary),
            Kind::Mocha => mocha(body, summary),
            Kind::Ava => ava(body, summary),
            Kind::Node => node(body, summary),
            Kind::Bun => bun(body, summary),
            Kind::Deno => deno(body, summary),
        };
        sections.extend(section.found());
        from = end;
    }
    sections
}

/// Tells whether a name is one of a file that these runners run.
pub(super) fn is_script(name: &str) -> bool {
    SCRIPTS.iter().any(|ending| name.ends_with(ending))
}

/// Tells whose summary begins with a line.
fn summary(line: &str) -> Option<Kind> {
    let trimmed = line.trim();
    if line.starts_with("Tests:") && trimmed.ends_with(" total") {
        Some(Kind::Jest)
    } else if trimmed.starts_with("Tests  ") && trimmed.ends_with(')') {
        Some(Kind::Vitest)
    } else if text::counts(trimmed, "passing") && trimmed.ends_with(')') {
        Some(Kind::Mocha)
    } else if is_ava(line) {
        Some(Kind::Ava)
    } else if trimmed.starts_with("ℹ tests ") {
        Some(Kind::Node)
    } else if line.starts_with(' ') && text::counts(trimmed, "pass") && trimmed.ends_with(" pass") {
        Some(Kind::Bun)
    } else if (line.starts_with("ok | ") || line.starts_with("FAILED | ")) && line.contains(" passed ") {
        Some(Kind::Deno)
    } else {
        None
    }
}

/// `  3 tests passed`, `  1 test failed`: indented by two and nothing else.
fn is_ava(line: &str) -> bool {
    let words: Vec<&str> = line.trim().split(' ').collect();
    let [number, noun, verb] = words.as_slice() else { return false };
    text::indent(line) == 2
        && number.parse::<u64>().is_ok()
        && ["test", "tests"].contains(noun)
        && ["passed", "failed"].contains(verb)
}

fn summary_end(lines: &[&str], at: usize, kind: Kind) -> usize {
    let goes_on = |line: &&str| match kind {
        Kind::Jest | Kind::Vitest | Kind::Deno => false,
        // The list of failures follows, up to the end or the next run.
        Kind::Mocha => summary(line).is_none() && !begins_tree(line),
        Kind::Ava => {
            let trimmed = line.trim();
            trimmed.starts_with(|c: char| c.is_ascii_digit()) && text::indent(line) == 2
        }
        Kind::Node => line.trim().starts_with('ℹ'),
        Kind::Bun => line.starts_with(' ') && !line.trim().is_empty(),
    };
    at + 1 + lines[at + 1..].iter().take_while(|line| goes_on(line)).count()
}

/// Tells whether a line is one of a passed test, so that the list of failures is over.
fn begins_tree(line: &str) -> bool {
    line.trim_start().starts_with(PASS)
}

/// A line of a tree: how far it is indented, how the test ended, and its name.
fn leaf(line: &str) -> Option<(usize, TestOutcome, &str)> {
    let trimmed = line.trim_start();
    let ended = match trimmed.chars().next()? {
        sign if PASS.contains(&sign) => TestOutcome::Passed,
        sign if FAIL.contains(&sign) => TestOutcome::Failed,
        sign if SKIP.contains(&sign) => TestOutcome::Skipped,
        _ => return None,
    };
    let name = trimmed.trim_start_matches(|c| PASS.contains(&c) || FAIL.contains(&c) || SKIP.contains(&c));
    Some((text::indent(line), ended, text::without_time(name.trim_start())))
}

/// The groups that enclose the next line, with how far they are indented.
#[derive(Default)]
struct Groups(Vec<(usize, String)>);

impl Groups {
    fn open(&mut self, indent: usize, name: &str) {
        self.leave(indent);
        self.0.push((indent, name.to_owned()));
    }

    fn leave(&mut self, indent: usize) {
        self.0.retain(|(at, _)| *at < indent);
    }

    fn name(&self, file: &str, indent: usize, name: &str) -> String {
        let groups = self.0.iter().filter(|(at, _)| *at < indent).map(|(_, group)| group.as_str());
        text::path([file].into_iter().chain(groups).chain([name]))
    }
}

/// Tells whether the next line with words is further in, as those of a group are.
fn encloses(lines: &[&str], at: usize) -> bool {
    let next = lines[at + 1..].iter().find(|line| !line.trim().is_empty());
    next.is_some_and(|next| text::indent(next) > text::indent(lines[at]))
}

fn jest(body: &[&str], summary: &[&str]) -> Section {
    let mut section = Section::default();
    let (mut file, mut groups) = ("", Groups::default());
    for (at, line) in body.iter().enumerate() {
        if let Some(name) = line.strip_prefix("PASS ").or_else(|| line.strip_prefix("FAIL ")) {
            (file, groups) = (text::without_time(name.trim()), Groups::default());
        } else if let Some(name) = line.strip_prefix("  ● ") {
            // What is printed about a file that could not be loaded is no test, nor is what was printed to the console.
            if name.contains("Test suite failed to run") {
                section.unnamed_failures += 1;
            } else if name != "Console" {
                section.add_once(
                    TestOutcome::Failed,
                    text::path([file].into_iter().chain(name.trim().split(" › "))),
                );
            }
        } else if let Some((indent, ended, name)) = leaf(line) {
            let name = match ended {
                TestOutcome::Skipped => {
                    name.strip_prefix("skipped ").or_else(|| name.strip_prefix("todo ")).unwrap_or(name)
                }
                TestOutcome::Passed | TestOutcome::Failed => name,
            };
            section.add_once(ended, groups.name(file, indent, name));
        } else if line.starts_with("  ") && encloses(body, at) {
            groups.open(text::indent(line), line.trim());
        }
    }
    for line in summary {
        section.count(Counts {
            passed: text::before(line, &["passed"]),
            failed: text::before(line, &["failed"]),
            skipped: text::before(line, &["skipped", "todo", "pending"]),
        });
    }
    section
}

fn vitest(body: &[&str], summary: &[&str]) -> Section {
    let mut section = Section::default();
    for line in body {
        let trimmed = line.trim();
        if let Some(name) = trimmed.strip_prefix("FAIL ").map(str::trim) {
            match name.contains(" > ") {
                true => section.add_once(TestOutcome::Failed, name),
                // A file that could not be loaded.
                false => section.unnamed_failures += 1,
            }
        } else if let Some((_, ended, name)) = leaf(line)
            && name.split(" > ").next().is_some_and(|file| is_script(file) && file != name)
        {
            section.add_once(ended, name);
        }
    }
    for line in summary {
        section.count(Counts {
            passed: text::before(line, &["passed"]),
            failed: text::before(line, &["failed"]),
            skipped: text::before(line, &["skipped", "todo"]),
        });
    }
    let errors = body.iter().filter(|line| line.trim().starts_with("Errors  ")).count() as u64;
    section.unnamed_failures += errors;
    section
}

fn mocha(body: &[&str], summary: &[&str]) -> Section {
    let mut section = Section::default();
    let mut groups = Groups::default();
    for (at, line) in body.iter().enumerate() {
        let (indent, trimmed) = (text::indent(line), line.trim());
        if let Some((indent, ended, name)) = leaf(line) {
            groups.leave(indent);
            section.add(ended, groups.name("", indent, name));
        } else if let Some(name) = trimmed.strip_prefix("- ").filter(|_| indent >= 2) {
            groups.leave(indent);
            section.add(TestOutcome::Skipped, groups.name("", indent, name));
        } else if indent >= 2 && numbered(trimmed).is_none() && encloses(body, at) {
            groups.open(indent, trimmed);
        }
    }
    let mut lines = summary.iter();
    while let Some(line) = lines.next() {
        let trimmed = line.trim();
        if text::counts(trimmed, "passing")
            || text::counts(trimmed, "failing")
            || text::counts(trimmed, "pending")
        {
            section.count(Counts {
                passed: text::before(trimmed, &["passing"]),
                failed: text::before(trimmed, &["failing"]),
                skipped: text::before(trimmed, &["pending"]),
            });
        } else if let Some(first) = numbered(trimmed).filter(|_| text::indent(line) == 2) {
            // The groups stand in lines of their own; the last line ends with a colon.
            let mut path = vec![first.to_owned()];
            while !path.last().is_some_and(|part| part.ends_with(':')) {
                match lines.next().map(|line| line.trim()) {
                    Some(part) if !part.is_empty() => path.push(part.to_owned()),
                    Some(_) | None => break,
                }
            }
            let name = text::path(path.iter().map(String::as_str));
            match name.strip_suffix(':') {
                Some(name) if !name.contains("\" hook") => section.add_once(TestOutcome::Failed, name),
                Some(_) | None => {}
            }
        }
    }
    section
}

/// Returns what follows `1) `.
fn numbered(line: &str) -> Option<&str> {
    let (number, rest) = line.split_once(") ")?;
    number.parse::<u64>().is_ok().then_some(rest)
}

fn ava(body: &[&str], summary: &[&str]) -> Section {
    let mut section = Section::default();
    let name = |text: &str| text.replace(" › ", " > ");
    for line in body.iter().filter(|line| text::indent(line) == 2) {
        let trimmed = line.trim();
        let skipped = trimmed.strip_prefix("- [skip] ").or_else(|| trimmed.strip_prefix("- [todo] "));
        if let Some(skipped) = skipped {
            section.add(TestOutcome::Skipped, name(skipped));
        } else if let Some((_, ended, said)) = leaf(line) {
            match (ended, said.strip_prefix("[fail]: ")) {
                (TestOutcome::Passed | TestOutcome::Skipped, _) => section.add(ended, name(said)),
                (TestOutcome::Failed, Some(said)) => section.add(ended, name(said)),
                // `✘ a.test.js exited with a non-zero exit code: 1`
                (TestOutcome::Failed, None) => section.unnamed_failures += 1,
            }
        }
    }
    for line in summary {
        section.count(Counts {
            passed: if line.ends_with("passed") { text::before(line, &["test", "tests"]) } else { 0 },
            failed: if line.ends_with("failed") { text::before(line, &["test", "tests"]) } else { 0 },
            skipped: if line.ends_with("skipped") { text::before(line, &["test", "tests"]) } else { 0 },
        });
    }
    section
}

fn node(body: &[&str], summary: &[&str]) -> Section {
    let mut section = Section::default();
    let mut groups = Groups::default();
    // How many failures there were when each group began.
    let mut failures: Vec<(usize, usize)> = Vec::new();
    for line in body {
        if line.starts_with("✖ failing tests:") {
            continue;
        }
        let indent = text::indent(line);
        if let Some(name) = line.trim_start().strip_prefix("▶ ") {
            groups.open(indent, text::without_time(name));
            failures.retain(|(at, _)| *at < indent);
            failures.push((indent, section.failed.len()));
        } else if let Some((_, ended, said)) = leaf(line) {
            let (said, directive) = said.rsplit_once(" # ").unwrap_or((said, ""));
            let said = text::without_time(said);
            let is_skipped = ["SKIP", "TODO"].iter().any(|word| directive.starts_with(word));
            let ended = if is_skipped { TestOutcome::Skipped } else { ended };
            let is_group = groups.0.iter().any(|(at, group)| *at == indent && group == said);
            groups.leave(indent);
            let before = failures.iter().find(|(at, _)| *at == indent).map_or(0, |(_, before)| *before);
            if is_group && (ended != TestOutcome::Failed || section.failed.len() > before) {
                continue;
            }
            match ended == TestOutcome::Failed && is_script(said) && !said.contains(' ') {
                true => section.unnamed_failures += 1,
                false => section.add_once(ended, groups.name("", indent, said)),
            }
        }
    }
    for line in summary.iter().map(|line| line.trim()) {
        section.count(Counts {
            passed: text::after(line, "ℹ pass "),
            failed: text::after(line, "ℹ fail ") + text::after(line, "ℹ cancelled "),
            skipped: text::after(line, "ℹ skipped ") + text::after(line, "ℹ todo "),
        });
    }
    section
}

/// `(pass) adds > two numbers [0.12ms]`, below a line with the file's name and a colon.
fn bun(body: &[&str], summary: &[&str]) -> Section {
    let mut section = Section::default();
    let mut file = "";
    for line in body {
        if let Some(name) = line.strip_suffix(':').filter(|name| is_script(name)) {
            file = name;
        }
        for (sign, ended) in [
            ("(pass) ", TestOutcome::Passed),
            ("(fail) ", TestOutcome::Failed),
            ("(skip) ", TestOutcome::Skipped),
            ("(todo) ", TestOutcome::Skipped),
        ] {
            if let Some(name) = line.strip_prefix(sign) {
                section.add_once(ended, text::path([file, text::without_time(name)]));
            }
        }
    }
    for line in summary {
        section.count(Counts {
            passed: text::before(line, &["pass"]),
            failed: text::before(line, &["fail", "error", "errors"]),
            skipped: text::before(line, &["skip", "todo"]),
        });
    }
    section
}

/// `adds two numbers ... ok (5ms)`, and steps further in.
fn deno(body: &[&str], summary: &[&str]) -> Section {
    let mut section = Section::default();
    for line in body.iter().filter(|line| text::indent(line) == 0) {
        let Some((name, end)) = line.rsplit_once(" ... ") else { continue };
        match end.split(' ').next() {
            Some("ok") => section.add(TestOutcome::Passed, name),
            Some("FAILED") => section.add(TestOutcome::Failed, name),
            Some("ignored") => section.add(TestOutcome::Skipped, name),
            _ => {}
        }
    }
    for line in summary {
        section.count(Counts {
            passed: text::before(line, &["passed"]),
            failed: text::before(line, &["failed"]),
            skipped: text::before(line, &["ignored"]),
        });
    }
    section
}
