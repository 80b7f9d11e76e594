//! Tests that are calls with a title: JavaScript's runners, RSpec, ExUnit.

use super::{SourceTest, State, block, indent, skipped_inside, trimmed, weaker, word};

/// How a family of runners writes tests.
pub(super) struct Dialect {
    tests: &'static [&'static str],
    groups: &'static [&'static str],
    /// Words for tests and groups that are skipped.
    skipped: &'static [(&'static str, CallKind)],
    /// Words for tests and groups of which only those run.
    only: &'static [(&'static str, CallKind)],
    /// Statements that skip the test that they are in.
    inside: &'static [&'static str],
    /// Tests that are functions, by how their names begin.
    functions: Option<&'static str>,
    /// Lines before a test that skip it.
    tags: &'static [&'static str],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallKind {
    Test,
    Group,
}

pub(super) const JAVASCRIPT: Dialect = Dialect {
    tests: &["it", "test", "specify"],
    groups: &["describe", "context", "suite"],
    skipped: &[
        ("xit", CallKind::Test),
        ("xtest", CallKind::Test),
        ("xspecify", CallKind::Test),
        ("xdescribe", CallKind::Group),
        ("xcontext", CallKind::Group),
    ],
    only: &[("fit", CallKind::Test), ("fdescribe", CallKind::Group)],
    inside: &["this.skip(", "t.skip(", "ctx.skip(", "context.skip(", "test.skip("],
    functions: None,
    tags: &[],
};

pub(super) const RUBY: Dialect = Dialect {
    tests: &["it", "specify", "example", "scenario", "test"],
    groups: &["describe", "context", "feature", "RSpec"],
    skipped: &[
        ("xit", CallKind::Test),
        ("xspecify", CallKind::Test),
        ("xexample", CallKind::Test),
        ("pending", CallKind::Test),
        ("xdescribe", CallKind::Group),
        ("xcontext", CallKind::Group),
    ],
    only: &[("fit", CallKind::Test), ("fdescribe", CallKind::Group), ("fcontext", CallKind::Group)],
    inside: &["skip", "pending"],
    functions: Some("def test_"),
    tags: &[],
};

pub(super) const ELIXIR: Dialect = Dialect {
    tests: &["test", "property"],
    groups: &["describe"],
    skipped: &[],
    only: &[],
    inside: &[],
    functions: None,
    tags: &["@tag :skip", "@tag skip:"],
};

/// How many lines a table of cases may take before its title.
const MOST_ROWS: usize = 100;

/// A group whose lines are being read.
struct Group {
    name: String,
    indent: usize,
    state: State,
}

/// A call that makes a test or a group.
struct Call {
    called: CallKind,
    state: State,
    is_only: bool,
    title: String,
}

pub(super) fn tests(lines: &[&str], dialect: &Dialect) -> Vec<SourceTest> {
    let mut tests = Vec::new();
    let mut groups: Vec<Group> = Vec::new();
    let mut tagged = State::Active;
    for (at, line) in lines.iter().enumerate() {
        let (text, inside) = (line.trim(), indent(line));
        if text.is_empty() || text.starts_with("//") || text.starts_with('#') {
            continue;
        }
        if dialect.tags.iter().any(|tag| text.starts_with(tag)) {
            tagged = State::Skipped;
            continue;
        }
        let Some(call) = call(text, &lines[at + 1..], dialect) else { continue };
        groups.retain(|group| group.indent < inside);
        let around = groups.last().map_or(State::Active, |group| group.state);
        let state = weaker(around, weaker(call.state, tagged));
        tagged = State::Active;
        match call.called {
            CallKind::Group => {
                // Of a group of which only those run, its tests say so.
                groups.push(Group { name: call.title, indent: inside, state });
                if call.is_only {
                    tests.push(SourceTest {
                        name: path(&groups, ""),
                        line: at as u64 + 1,
                        state,
                        is_only: true,
                        body: Vec::new(),
                    });
                }
            }
            CallKind::Test => {
                let body = block(lines, at);
                let state = weaker(state, skipped_inside(&body, dialect.inside));
                let (name, body) = (path(&groups, &call.title), trimmed(&body));
                tests.push(SourceTest { name, line: at as u64 + 1, state, is_only: call.is_only, body });
            }
        }
    }
    tests
}

fn path(groups: &[Group], title: &str) -> String {
    let parts = groups.iter().map(|group| group.name.as_str()).chain([title]);
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" > ")
}

fn call(text: &str, below: &[&str], dialect: &Dialect) -> Option<Call> {
    if let Some(start) = dialect.functions
        && let Some(rest) = text.strip_prefix("def ").filter(|_| text.starts_with(start))
    {
        return Some(Call {
            called: CallKind::Test,
            state: State::Active,
            is_only: false,
            title: word(rest).to_owned(),
        });
    }
    let text = text.strip_prefix("await ").unwrap_or(text);
    let text = text.strip_prefix("QUnit.").unwrap_or(text);
    let first = word(text);
    let named = |words: &[(&str, CallKind)]| {
        words.iter().find(|(known, _)| *known == first).map(|(_, called)| *called)
    };
    let (called, mut state, mut is_only) = if dialect.tests.contains(&first) {
        (CallKind::Test, State::Active, false)
    } else if dialect.groups.contains(&first) {
        (CallKind::Group, State::Active, false)
    } else if let Some(called) = named(dialect.skipped) {
        (called, State::Skipped, false)
    } else {
        (named(dialect.only)?, State::Active, true)
    };
    let mut rest = &text[first.len()..];
    let mut called = called;
    while let Some(after) = rest.strip_prefix('.') {
        let modifier = word(after);
        match modifier {
            "skip" | "todo" | "failing" | "fixme" | "fails" => state = State::Skipped,
            "skipIf" | "runIf" => state = weaker(state, State::Conditional),
            "only" => is_only = true,
            "describe" => called = CallKind::Group,
            "each" | "concurrent" | "serial" | "sequential" | "for" | "shuffle" | "macro" | "before"
            | "cb" | "extend" => {}
            // Something else that is called `test`: `test.beforeEach(`.
            _ => return None,
        }
        rest = &after[modifier.len()..];
        // `each([…])('title')`: the title is in the last call of the line.
        if ["each", "skipIf", "runIf", "for"].contains(&modifier) {
            // The table may take many lines.
            let all = std::iter::once(rest).chain(below.iter().take(MOST_ROWS).map(|line| line.trim()));
            rest = all.into_iter().find_map(|line| {
                let end = line.rfind(")(").or_else(|| line.rfind("`("))?;
                Some(&line[end + 1..])
            })?;
        }
    }
    let rest = rest.strip_prefix('(').or_else(|| rest.strip_prefix(' ')).map(str::trim_start)?;
    let rest = if rest.is_empty() { below.first().map_or("", |next| next.trim()) } else { rest };
    let (title, after) = title(rest, dialect)?;
    let options: String = after.chars().filter(|letter| !letter.is_whitespace()).collect();
    if ["skip:true", "todo:true", "skip:'", "skip:\"", ":skip", "todo:'"]
        .iter()
        .any(|sign| options.contains(sign))
    {
        state = State::Skipped;
    }
    is_only |= options.contains("only:true") || options.contains("focus:true") || options.contains(":focus");
    Some(Call { called, state, is_only, title: title.to_owned() })
}

/// Returns the title of a call, and what follows it.
fn title<'a>(text: &'a str, dialect: &Dialect) -> Option<(&'a str, &'a str)> {
    let quote = text.chars().next()?;
    if ['\'', '"', '`'].contains(&quote) {
        let end = text[1..].find(quote).map(|end| end + 1)?;
        return Some((&text[1..end], &text[end + 1..]));
    }
    // RSpec's groups are classes, and a title may be a name.
    let is_ruby = dialect.functions.is_some();
    let name = text.split([',', ' ', '(', ')']).next().unwrap_or_default();
    let is_name =
        !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || "_.:$".contains(letter));
    (is_name && (is_ruby || text[name.len()..].trim_start().starts_with(',')))
        .then(|| (name, &text[name.len()..]))
}
