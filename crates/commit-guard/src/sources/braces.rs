//! Tests that are functions: Go's by their names, and those that an attribute or annotation marks.

use super::{SourceTest, State, block, indent, skipped_inside, trimmed, weaker, word};

/// How a language marks tests.
pub(super) struct Marks {
    /// How a line begins that marks the function after it.
    opens: &'static [&'static str],
    test: fn(&str) -> bool,
    skipped: &'static [&'static str],
    conditional: &'static [&'static str],
    /// Functions that are tests by their names.
    named: &'static [&'static str],
    inside: &'static [&'static str],
}

pub(super) const RUST: Marks = Marks {
    opens: &["#["],
    test: |mark| {
        let name = mark.trim_start_matches("#[").split(['(', ']', ' ']).next().unwrap_or_default();
        name == "test"
            || name.ends_with("::test")
            || name == "rstest"
            || name == "test_case"
            || name == "quickcheck"
    },
    skipped: &["#[ignore"],
    conditional: &["#[cfg_attr("],
    named: &[],
    inside: &[],
};

pub(super) const JAVA: Marks = Marks {
    opens: &["@"],
    test: |mark| {
        ["@Test", "@ParameterizedTest", "@RepeatedTest", "@TestFactory", "@Property"]
            .iter()
            .any(|known| has(mark, known))
    },
    skipped: &["@Disabled", "@Ignore"],
    conditional: &[
        "@DisabledOnOs",
        "@DisabledIf",
        "@EnabledOnOs",
        "@EnabledIf",
        "@DisabledOnJre",
        "@EnabledOnJre",
        "@DisabledInNativeImage",
    ],
    named: &[],
    inside: &[],
};

pub(super) const CSHARP: Marks = Marks {
    opens: &["["],
    test: |mark| {
        ["[Fact", "[Theory", "[Test]", "[Test(", "[TestMethod", "[TestCase", "[DataTestMethod"]
            .iter()
            .any(|known| mark.contains(known))
    },
    skipped: &["[Ignore", "Skip=", "Skip ="],
    conditional: &["[SkippableFact", "[ConditionalFact"],
    named: &[],
    inside: &["Assert.Ignore(", "Assert.Inconclusive(", "Skip.If("],
};

pub(super) const PHP: Marks = Marks {
    opens: &["#[", "* @test", "/** @test"],
    test: |mark| mark.contains("#[Test") || mark.contains("@test"),
    skipped: &[],
    conditional: &["#[Requires"],
    named: &["test"],
    inside: &["$this->markTestSkipped(", "$this->markTestIncomplete(", "self::markTestSkipped("],
};

/// Tells whether a mark has this name and no longer one.
fn has(mark: &str, name: &str) -> bool {
    mark.match_indices(name)
        .any(|(at, found)| !mark[at + found.len()..].starts_with(|letter: char| letter.is_alphanumeric()))
}

pub(super) fn attributed(lines: &[&str], marks: &Marks) -> Vec<SourceTest> {
    let mut tests = Vec::new();
    let (mut is_test, mut state) = (false, State::Active);
    for (at, line) in lines.iter().enumerate() {
        let text = line.trim();
        if text.is_empty() || text.starts_with("//") {
            continue;
        }
        let opens = marks.opens.iter().any(|open| text.starts_with(open));
        if opens {
            is_test |= (marks.test)(text);
            state = weaker(state, marked(text, marks));
        }
        let Some(name) = function(text).filter(|_| is_function(text, opens)) else {
            if !opens && !text.starts_with('*') && !text.starts_with("/*") {
                (is_test, state) = (false, State::Active);
            }
            continue;
        };
        if is_test || marks.named.iter().any(|start| name.starts_with(start)) {
            let body = body(lines, at);
            let state = weaker(state, skipped_inside(&body, marks.inside));
            let line = at as u64 + 1;
            tests.push(SourceTest {
                name: name.to_owned(),
                line,
                state,
                is_only: false,
                body: trimmed(&body),
            });
        }
        (is_test, state) = (false, State::Active);
    }
    tests
}

fn marked(text: &str, marks: &Marks) -> State {
    if marks.conditional.iter().any(|mark| text.contains(mark)) {
        let is_ignored = !text.contains("#[cfg_attr(") || text.contains("ignore");
        return if is_ignored { State::Conditional } else { State::Active };
    }
    let is_skipped = marks.skipped.iter().any(|mark| text.contains(mark));
    if is_skipped { State::Skipped } else { State::Active }
}

/// Tells whether a line defines a function. After a mark in the same line anything may follow.
fn is_function(text: &str, opens: bool) -> bool {
    let is_statement = ["return ", "if ", "for ", "while ", "throw ", "new ", "else", "assert"]
        .iter()
        .any(|word| text.starts_with(word));
    !is_statement
        && (!opens
            || text.contains(" void ")
            || text.contains(" fun ")
            || text.contains(" fn ")
            || text.contains(" Task "))
}

/// Returns the name of the function that a line defines.
fn function(text: &str) -> Option<&str> {
    for keyword in ["fn ", "function ", "fun "] {
        let at = text.find(keyword).filter(|at| *at == 0 || text[..*at].ends_with(' '));
        if let Some(at) = at {
            let rest = &text[at + keyword.len()..];
            return match rest.strip_prefix('`') {
                Some(quoted) => quoted.split('`').next(),
                None => Some(word(rest)).filter(|name| !name.is_empty()),
            };
        }
    }
    // `public void name(…) {`: the word before the first bracket that follows a type.
    let text = without_marks(text);
    let (head, _) = text.split_once('(')?;
    let (before, name) = head.rsplit_once(' ')?;
    let is_name = !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    (is_name && !before.contains(['=', '.', '"', '{'])).then_some(name)
}

/// Returns a line without the annotations that it begins with.
fn without_marks(mut text: &str) -> &str {
    while let Some(rest) = text.strip_prefix('@') {
        let rest = &rest
            [rest.find(|letter: char| !letter.is_alphanumeric() && letter != '.').unwrap_or(rest.len())..];
        let rest =
            rest.strip_prefix('(').map_or(rest, |inner| inner.split_once(')').map_or("", |(_, rest)| rest));
        text = rest.trim_start();
    }
    text
}

/// Returns the lines of a function, whose brace may stand in a line of its own.
fn body<'a>(lines: &[&'a str], at: usize) -> Vec<&'a str> {
    match lines.get(at + 1) {
        Some(next) if next.trim() == "{" && indent(next) == indent(lines[at]) => block(lines, at + 1),
        _ => block(lines, at),
    }
}

pub(super) fn go(lines: &[&str]) -> Vec<SourceTest> {
    let built = lines
        .iter()
        .take_while(|line| !line.starts_with("package "))
        .find_map(|line| line.strip_prefix("//go:build "));
    let file = match built.map(str::trim) {
        Some("ignore") => State::Skipped,
        Some(_) => State::Conditional,
        None => State::Active,
    };
    let mut tests = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = line.strip_prefix("func ").map(word) else { continue };
        if ["Test", "Fuzz", "Example"].iter().any(|start| name.starts_with(start)) && name != "TestMain" {
            let body = block(lines, at);
            let state = weaker(file, skipped_inside(&body, &["t.Skip", "f.Skip", "tb.Skip"]));
            let line = at as u64 + 1;
            tests.push(SourceTest {
                name: name.to_owned(),
                line,
                state,
                is_only: false,
                body: trimmed(&body),
            });
        }
    }
    tests
}
