//! The project's own tests: which command runs them, and what came of it.

use std::{fs, path::Path};

use adapters::{boundary, process::End};
use engine::{Run, Settings};

use super::{NextError, patience};
use crate::Shell;

/// How much of what the tests print is kept.
const OUTPUT_KEPT: usize = 4000;
/// How many names of tests are kept.
const NAMES_KEPT: usize = 500;

/// What came of the tests.
pub(super) struct Outcome {
    pub(super) passed: bool,
    /// How they ended, in words.
    pub(super) said: String,
    /// The last of what they printed.
    pub(super) output: String,
    /// The names of those that passed, where the output tells.
    pub(super) names: Vec<String>,
}

/// Returns the command that tests the project: the one that is set, or the one that its files suggest.
pub(super) fn command(root: &Path, settings: &Settings) -> Result<String, NextError> {
    let set = settings.text("test_command");
    if set != "auto" {
        return Ok(set.to_owned());
    }
    let has = |name: &str| root.join(name).is_file();
    // Only a file is read: a pipe would never answer.
    let text = |name: &str| {
        if has(name) { fs::read_to_string(root.join(name)).unwrap_or_default() } else { String::new() }
    };
    let makes = |text: &str| text.lines().any(|line| line.starts_with("test:"));
    let found = if makes(&text("Makefile")) {
        Some("make test")
    } else if has("Cargo.toml") {
        Some("cargo test")
    } else if text("package.json").contains("\"test\"") {
        Some("npm test")
    } else if has("go.mod") {
        Some("go test ./...")
    } else if has("pyproject.toml") || has("pytest.ini") || has("setup.py") {
        Some("python -m pytest")
    } else {
        None
    };
    found.map(str::to_owned).ok_or_else(|| {
        let problem = "No test command was found: set `test_command` under [workflow] in warp.toml";
        NextError::World(problem.to_owned())
    })
}

/// Runs the project's tests.
pub(super) fn run(shell: &Shell, root: &Path, run: &Run) -> Result<Outcome, NextError> {
    let command = command(root, &run.settings)?;
    let finished = boundary::around("tests", || shell.line(root, &command, &[("CI", "true")], patience(run)));
    let finished =
        finished.map_err(|error| NextError::World(format!("`{command}` could not be run: {error}")))?;
    if finished.end == End::Stopped {
        return Err(NextError::World(format!("`{command}` was stopped before it could say anything")));
    }
    let said = format!("`{command}` ended with {}", finished.end);
    let printed = String::from_utf8_lossy(&finished.stdout).into_owned();
    Ok(Outcome {
        passed: finished.is_success(),
        said,
        output: finished.last_words(OUTPUT_KEPT),
        names: names(&printed),
    })
}

/// Returns the command that tests the project in a run; none if there is none, or if tests are switched off.
pub fn test_command(root: &Path, run: &Run) -> Option<String> {
    command(root, &run.settings).ok().filter(|_| run.settings.is_on("test_before_commit"))
}

/// Runs the project's tests outside of any phase, and returns what was said of it; a failure comes with what they printed.
pub fn test_project(shell: &Shell, root: &Path, by: &Run) -> Result<String, String> {
    if by.settings.text("test_command") == "auto" && command(root, &by.settings).is_err() {
        return Ok("the project has no tests that warp could run".to_owned());
    }
    match run(shell, root, by) {
        Ok(outcome) if outcome.passed => Ok(outcome.said),
        Ok(outcome) => Err(format!("{}\n{}", outcome.said, outcome.output)),
        Err(error) => Err(error.to_string()),
    }
}

/// Reads names of tests that passed, as Rust's, pytest's, Go's and TAP's reports write them.
fn names(output: &str) -> Vec<String> {
    let name = |line: &str| -> Option<String> {
        let line = line.trim();
        let cargo = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... ok"));
        let go = || line.strip_prefix("--- PASS: ").map(|rest| rest.split(" (").next().unwrap_or(rest));
        let pytest = || line.split_once(" PASSED").map(|(name, _)| name).filter(|name| name.contains("::"));
        let tap = || {
            let rest = line.strip_prefix("ok ")?;
            rest.split_once(" - ").map(|(_, name)| name)
        };
        let name = cargo.or_else(go).or_else(pytest).or_else(tap)?;
        Some(name.chars().take(200).collect())
    };
    output.lines().filter_map(name).take(NAMES_KEPT).collect()
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn names_of_passed_tests_are_read_from_common_reports() {
        let output = "test a::b ... ok\ntest c ... FAILED\n--- PASS: TestX (0.00s)\nt.py::test_y PASSED [ 50%]\nok 3 - adds numbers\nnot ok 4 - fails\n";
        assert_eq!(names(output), ["a::b", "TestX", "t.py::test_y", "adds numbers"]);
    }
}
