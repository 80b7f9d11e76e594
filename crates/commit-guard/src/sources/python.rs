//! pytest and unittest.

use super::{SourceTest, State, block, indent, skipped_inside, trimmed, weaker, word};

const SKIPS: &[&str] =
    &["pytest.skip(", "self.skipTest(", "raise unittest.SkipTest", "raise SkipTest", "skip("];

/// A class whose lines are being read.
struct Class {
    name: String,
    indent: usize,
    state: State,
}

pub(super) fn tests(lines: &[&str]) -> Vec<SourceTest> {
    let mut tests = Vec::new();
    let mut classes: Vec<Class> = Vec::new();
    let mut decorators = State::Active;
    let mut open = 0usize;
    let mut module = State::Active;
    for (at, line) in lines.iter().enumerate() {
        let (text, inside) = (line.trim(), indent(line));
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        // A decorator may take several lines.
        if text.starts_with('@') || open > 0 {
            if text.starts_with('@') {
                decorators = weaker(decorators, decorated(text));
            }
            open = (open + text.matches(['(', '[']).count()).saturating_sub(text.matches([')', ']']).count());
            continue;
        }
        classes.retain(|class| class.indent < inside);
        let function = text.strip_prefix("async ").unwrap_or(text).strip_prefix("def ");
        if let Some(name) = function.map(word).filter(|name| name.starts_with("test")) {
            let body = block(lines, at);
            let around = classes.last().map_or(State::Active, |class| class.state);
            let own = weaker(decorators, skipped_inside(&body, SKIPS));
            let path: Vec<&str> = classes.iter().map(|class| class.name.as_str()).chain([name]).collect();
            tests.push(SourceTest {
                name: path.join("::"),
                line: at as u64 + 1,
                state: weaker(weaker(around, module), own),
                is_only: false,
                body: trimmed(&body),
            });
        } else if let Some(name) = text.strip_prefix("class ").map(word) {
            let around = classes.last().map_or(State::Active, |class| class.state);
            let state = weaker(around, decorators);
            classes.push(Class { name: name.to_owned(), indent: inside, state });
        } else if inside == 0 && text.starts_with("pytestmark") {
            module = weaker(module, decorated(text));
        } else if inside == 0 && SKIPS.iter().any(|sign| text.starts_with(sign)) {
            module = State::Skipped;
        }
        decorators = State::Active;
    }
    tests
}

/// Returns what a decorator, or a mark of the whole file, says.
fn decorated(text: &str) -> State {
    let text = text.trim_start_matches('@');
    if ["skipif", "skipIf", "skipUnless", "skip_unless", "skip_if", "requires_"]
        .iter()
        .any(|sign| text.contains(sign))
    {
        return State::Conditional;
    }
    let is_skip = ["mark.skip", "unittest.skip", "mark.xfail", "expectedFailure"]
        .iter()
        .any(|sign| text.contains(sign))
        || ["skip(", "skip", "xfail("]
            .iter()
            .any(|sign| text == *sign || (sign.ends_with('(') && text.starts_with(sign)));
    if is_skip { State::Skipped } else { State::Active }
}
