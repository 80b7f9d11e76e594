//! Output of several packages at once: `pnpm --recursive`, `turbo`, `yarn workspaces foreach` write before each line which
//! package it is from, and mix the lines of packages that run side by side.

/// Returns the text with the lines of each package together and without their prefix; other lines come first.
pub(super) fn apart(text: &str) -> String {
    if !text.lines().any(|line| prefix(line).is_some()) {
        return text.to_owned();
    }
    let mut others = String::new();
    let mut packages: Vec<(&str, String)> = Vec::new();
    for line in text.lines() {
        let (lines, rest) = match prefix(line) {
            None => (&mut others, line),
            Some((name, rest)) => {
                let index = packages.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                    packages.push((name, String::new()));
                    packages.len() - 1
                });
                (&mut packages[index].1, rest)
            }
        };
        lines.push_str(rest);
        lines.push('\n');
    }
    packages.into_iter().fold(others, |all, (_, lines)| all + &lines)
}

/// Splits a line into the package that it is from and what that wrote.
fn prefix(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once(": ").or_else(|| Some((line.strip_suffix(':')?, "")))?;
    let is_plain = |word: &str| !word.is_empty() && !word.contains([' ', '(', ')', '\'', '"', '=']);
    // `packages/calc test: …` of pnpm.
    if let Some((package, script)) = name.split_once(' ')
        && is_plain(package)
        && is_plain(script)
        && script.starts_with("test")
        && !["not", "ok", "test", "the", "a", "FAIL", "PASS"].contains(&package)
    {
        return Some((name, rest));
    }
    // `calc:test: …` of turbo, `[calc]: …` of yarn.
    let is_turbo = is_plain(name) && name.split_once(':').is_some_and(|(_, task)| task.starts_with("test"));
    let is_yarn = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).is_some_and(is_plain);
    (is_turbo || is_yarn).then_some((name, rest))
}

#[cfg(test)]
mod tests {
    use super::{super::TestReport, *};

    #[test]
    fn lines_of_packages_are_brought_together() {
        let pnpm = "Scope: 2 of 3 workspace projects\npackages/calc test$ node --test\npackages/app test$ node --test\n\
                    packages/calc test: ▶ sums\npackages/app test: ✔ the app adds (0.6ms)\n\
                    packages/calc test:   ✔ adds (0.5ms)\npackages/calc test: ▶ sums (1.2ms)\n\
                    packages/app test: ℹ tests 1\npackages/app test: ℹ pass 1\npackages/app test: ℹ fail 0\n\
                    packages/calc test: ℹ tests 1\npackages/calc test: ℹ pass 1\npackages/calc test: ℹ fail 0\n\
                    packages/calc test: Done\npackages/app test: Done\n";
        let report = TestReport::parse(pnpm, &[]);
        assert_eq!(report.passed, ["sums > adds", "the app adds"], "{report:?}");
        assert!(report.tells_names() && report.ran() == 2, "{report:?}");
        assert_eq!(apart("x\ncalc:test: a\n[b]: c\ncalc:test:  d\ncalc:test:\n"), "x\na\n d\n\nc\n");
    }

    #[test]
    fn other_lines_stay_as_they_are() {
        for line in [
            "test result: ok. 1 passed",
            "ok 1 - adds: two",
            "not ok test: x",
            "FAIL test/a.js: x",
            "Error: no",
            "tests/test_a.py::test_b: x",
            "  File \"a.py\", line 1: x",
        ] {
            assert_eq!(prefix(line), None, "{line}");
        }
    }
}
