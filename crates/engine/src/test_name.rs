//! Whether a name that somebody gives a test is that of a test which a runner reported.
//!
//! Runners name tests with all that they are in (`tests/test_a.py::TestX::test_y`, `a.test.js > adds > two numbers`), people
//! and agents by the end of that. A part of a word never matches.

/// What stands between the parts of a test's name.
const JOINTS: &[&str] = &["::", " > ", " › ", "#", "/", ".", " "];

/// Tells whether `given` is the name of the test that was reported as `full`: the whole of it, or its last parts.
pub fn names_test(given: &str, full: &str) -> bool {
    let (given, full) = (given.trim(), full.trim());
    let bare = without_parameters(full);
    !given.is_empty() && (is_end(given, full) || is_end(given, bare) || is_end(&plain(given), &plain(bare)))
}

/// Tells whether a text ends with `end`, and a part of the name begins there. Words of a title are no parts.
fn is_end(end: &str, text: &str) -> bool {
    let Some(before) = text.strip_suffix(end) else { return false };
    let joins = |joint: &&&str| **joint != " " && before.ends_with(**joint);
    before.is_empty() || JOINTS.iter().find(joins).is_some() || is_after_binary(before, end)
}

/// nextest puts the name of the test binary before the test's, and a space between.
fn is_after_binary(before: &str, end: &str) -> bool {
    before.ends_with(' ') && !before.trim_end().contains(' ') && end.contains("::")
}

/// Spells the joints of nested names in one way: jest joins the parts by a space.
fn plain(name: &str) -> String {
    name.replace(" > ", "\u{1}").replace(" › ", "\u{1}").replace("::", "\u{1}").replace('\u{1}', " > ")
}

/// Returns a name without the parameters with which the test was run: `test_y[1-a]`, `adds(int)`.
fn without_parameters(name: &str) -> &str {
    for (open, close) in [('[', ']'), ('(', ')')] {
        if name.ends_with(close)
            && let Some(at) = name.find(open).filter(|at| *at > 0)
        {
            return name[..at].trim_end();
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_name_or_its_last_parts_name_a_test() {
        for (given, full) in [
            ("tests/test_a.py::TestX::test_y", "tests/test_a.py::TestX::test_y"),
            ("TestX::test_y", "tests/test_a.py::TestX::test_y"),
            ("test_y", "tests/test_a.py::TestX::test_y"),
            ("test_y", "tests/test_a.py::test_y[1-a b]"),
            ("test_y[1]", "tests/test_a.py::test_y[1]"),
            ("test_y", "mod.Class.test_y"),
            ("two numbers", "a.test.js > adds > two numbers"),
            ("adds > two numbers", "a.test.js > adds > two numbers"),
            ("adds › two numbers", "a.test.js > adds > two numbers"),
            ("TestSub/bad", "toy.TestSub/bad"),
            ("tests::ok", "toy tests::ok"),
            ("ok", "toy tests::ok"),
            ("adds", "FooTest > adds()"),
        ] {
            assert!(names_test(given, full), "{given} {full}");
        }
        for (given, full) in [
            ("y", "tests/test_a.py::test_y"),
            ("test_y", "tests/test_a.py::test_x"),
            ("test_y", "tests/test_a.py::a_test_y"),
            ("numbers", "a.test.js > adds > two numbers"),
            ("", "test_a"),
            ("tests/test_a.py", "tests/test_a.py::test_y"),
        ] {
            assert!(!names_test(given, full), "{given} {full}");
        }
    }
}
