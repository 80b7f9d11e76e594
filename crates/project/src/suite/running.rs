//! The project's own tests: which command runs them, and what came of it.

use std::{convert::Infallible, fs, path::Path};

use adapters::{
    boundary,
    git::Git,
    process::{End, Finished, is_installed},
};
use engine::Run;

use super::TestReport;
use crate::Shell;
use crate::next::{NextError, patience};

/// How much of what the tests print is kept.
const OUTPUT_KEPT: usize = 4000;

/// First words of a command that are the shell's own.
const SHELLS_OWN: &[&str] = &[
    "alias", "case", "cd", "command", "echo", "eval", "exec", "exit", "export", "false", "for", "if",
    "printf", "pwd", "read", "return", "set", "shift", "source", "test", "time", "trap", "true", "type",
    "ulimit", "umask", "unset", "until", "wait", "while",
];

/// What a person does about a test command that cannot run.
const MEND: &str = "install it, or set `test_command` under [workflow] in warp.toml and begin anew";

/// What a command prints that has found no tests to run, because what runs them is not installed.
const NO_RUNNER: &[(&str, &str)] = &[("-m pytest", "No module named pytest")];

/// What came of the tests.
pub(crate) struct Outcome {
    pub(crate) passed: bool,
    /// How they ended, in words.
    pub(crate) said: String,
    /// The last of what they printed.
    pub(crate) output: String,
    /// The names of those that passed, where the output tells.
    pub(crate) names: Vec<String>,
}

/// Returns the command that tests the project: the one that is set, the one that was found when the run began, or the one
/// that the merge target's files suggest. What an agent writes into its tree is no word in that.
pub(crate) fn command(root: &Path, run: &Run) -> Result<String, NextError> {
    let set = run.settings.text("test_command");
    if set != "auto" {
        return Ok(set.to_owned());
    }
    let target = &run.branches.merge_target;
    let found = match &run.found_test_command {
        Some(found) => Some(found.clone()),
        None => in_branch(root, target).map_err(NextError::World)?,
    };
    found.ok_or_else(|| {
        NextError::World(format!(
            "No test command was found in `{target}`, nor here when the run began: commit one there, or set `test_command` \
             under [workflow] in warp.toml and begin anew"
        ))
    })
}

/// Says that a test command cannot run on this machine, if that is plain: no agent can do anything about it.
pub(crate) fn cannot_run(command: &str) -> Option<String> {
    let program = program(command).filter(|program| !is_installed(program))?;
    Some(format!("`{program}` is not installed, and `{command}` is how this project is tested: {MEND}"))
}

/// Returns the program that a command begins with, if it is one that lies in `PATH`.
fn program(command: &str) -> Option<&str> {
    let is_name = |text: &str| text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    let is_plain =
        |text: &str| text.chars().all(|letter| letter.is_ascii_alphanumeric() || "._+-".contains(letter));
    for word in command.split_whitespace() {
        match word.split_once('=') {
            Some((name, value)) if is_name(name) && is_plain(value) && name != "PATH" => {}
            Some(_) => return None,
            None => return Some(word).filter(|word| is_plain(word) && !SHELLS_OWN.contains(word)),
        }
    }
    None
}

/// Finds the command that tests the project, before an agent has written anything: in the merge target, or else in a tree.
pub(crate) fn found_test_command(root: &Path, target: &str) -> Result<Option<String>, String> {
    Ok(in_branch(root, target)?.or_else(|| in_tree(root)))
}

fn in_branch(root: &Path, branch: &str) -> Result<Option<String>, String> {
    let git = Git::new(root);
    suggested(|name| git.file_in(branch, name))
}

fn in_tree(root: &Path) -> Option<String> {
    let Ok(found) = suggested::<Infallible>(|name| {
        let path = root.join(name);
        // Only a file is read: a pipe would never answer.
        Ok(path.is_file().then(|| fs::read_to_string(path).unwrap_or_default()))
    });
    found
}

/// Returns the command that a project's files suggest.
fn suggested<E>(file: impl Fn(&str) -> Result<Option<String>, E>) -> Result<Option<String>, E> {
    let has = |name: &str| Ok(file(name)?.is_some());
    let makes = |text: String| text.lines().any(|line| line.starts_with("test:"));
    let command = if file("Makefile")?.is_some_and(makes) {
        "make test"
    } else if has("Cargo.toml")? {
        "cargo test"
    } else if file("package.json")?.is_some_and(|text| text.contains("\"test\"")) {
        "npm test"
    } else if has("go.mod")? {
        "go test ./..."
    } else if has("pyproject.toml")? || has("pytest.ini")? || has("setup.py")? {
        "python -m pytest"
    } else {
        return Ok(None);
    };
    Ok(Some(command.to_owned()))
}

/// Runs the project's tests.
pub(crate) fn run(shell: &Shell, root: &Path, run: &Run) -> Result<Outcome, NextError> {
    let command = command(root, run)?;
    let finished = boundary::around("tests", || shell.line(root, &command, &[("CI", "true")], patience(run)));
    let finished =
        finished.map_err(|error| NextError::World(format!("`{command}` could not be run: {error}")))?;
    if finished.end == End::Stopped {
        return Err(NextError::World(format!("`{command}` was stopped before it could say anything")));
    }
    let said = format!("`{command}` ended with {}", finished.end);
    // Some runners report on the one output and some on the other.
    let printed = [finished.stdout.as_slice(), b"\n", finished.stderr.as_slice()].concat();
    let printed = String::from_utf8_lossy(&printed).into_owned();
    if !finished.is_success()
        && let Some(why) = cannot_run(&command).or_else(|| has_no_runner(&command, &finished))
    {
        return Err(NextError::World(why));
    }
    Ok(Outcome {
        passed: finished.is_success(),
        said,
        output: finished.last_words(OUTPUT_KEPT),
        names: TestReport::parse(&printed, &[]).passed,
    })
}

fn has_no_runner(command: &str, finished: &Finished) -> Option<String> {
    let said = |sign: &str| {
        [&finished.stdout, &finished.stderr].iter().any(|out| String::from_utf8_lossy(out).contains(sign))
    };
    let (_, sign) = NO_RUNNER.iter().find(|(part, sign)| command.contains(part) && said(sign))?;
    Some(format!("`{command}` cannot run here: {sign}: {MEND}"))
}

/// Returns the command that tests the project in a run; none if there is none, or if tests are switched off.
pub fn test_command(root: &Path, run: &Run) -> Option<String> {
    command(root, run).ok().filter(|_| run.settings.is_on("test_before_commit"))
}

/// Runs the project's tests outside of any phase, and returns what was said of it; a failure comes with what they printed.
/// The tree is warp's own making, so the command is what the tree suggests.
pub fn test_project(shell: &Shell, root: &Path, by: &Run) -> Result<String, String> {
    let found_test_command = in_tree(root);
    if by.settings.text("test_command") == "auto" && found_test_command.is_none() {
        return Ok("the project has no tests that warp could run".to_owned());
    }
    match run(shell, root, &Run { found_test_command, ..by.clone() }) {
        Ok(outcome) if outcome.passed => Ok(outcome.said),
        Ok(outcome) => Err(format!("{}\n{}", outcome.said, outcome.output)),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::program;

    #[test]
    fn the_program_that_runs_the_tests_is_told_where_that_is_plain() {
        for (command, expected) in [
            ("make test", Some("make")),
            ("CI=true RUST_LOG=debug cargo test", Some("cargo")),
            ("python3.12 -m pytest", Some("python3.12")),
            ("npm test && npm run lint", Some("npm")),
            ("./run-tests", None),
            ("cd api && cargo test", None),
            ("PATH=$PATH:bin check", None),
            ("NAME='a b' check", None),
            ("\"$TESTER\" all", None),
            ("(make test)", None),
            ("test -f a=b", None),
            ("", None),
        ] {
            assert_eq!(program(command), expected, "{command}");
        }
    }
}
