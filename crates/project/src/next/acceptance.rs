//! Running acceptance tests, and telling a test that fails from one that cannot run.
//!
//! Any command may be the one that runs them, so little is certain: that it ended well, that it did not end by itself, or
//! that the shell found no such program. Beyond that what common test programs print is read; a command that prints none
//! of it fails if it ends with another code than 0.

use std::{fs, path::Path};

use adapters::{boundary, git::Git, process::End};
use engine::{Run, Seen, Settings, TestsSeen, TestsVerdict};

use super::{patience, suite};
use crate::Shell;

/// How much of what the tests print is kept: it goes into an agent's prompt.
const OUTPUT_KEPT: usize = 1200;
/// What stands for the file in a command.
const FILE: &str = "{file}";
/// The most that is read of a test's first line.
const LONGEST_FIRST_LINE: usize = 200;

/// What test programs print when a test cannot be loaded, built or collected.
const NOT_RUN: &[&str] = &[
    "error: could not compile",
    "error[E0",
    "error: no test target named",
    "No module named pytest",
    "Cannot find module",
    "ERR_MODULE_NOT_FOUND",
    "cannot load such file",
    "Missing script",
    "ERROR collecting",
    "ImportError while importing test module",
    "errors during collection",
    "error during collection",
    "unittest.loader._FailedTest",
    "Test suite failed to run",
    "[build failed]",
    "[setup failed]",
    "Bail out!",
    "occurred outside of examples",
    "(CompileError)",
    ": Syntax error:",
    ": syntax error near unexpected token",
    ": syntax error: unexpected end of file",
];

/// Runs the acceptance tests in `file`, and all tests of the project if `whole` is set. Once the command is `known` that
/// runs the former, nothing in the tree can make it another.
pub(crate) fn look(
    shell: &Shell,
    root: &Path,
    run: &Run,
    file: Option<&str>,
    known: Option<&str>,
    whole: bool,
) -> Seen<Vec<TestsSeen>> {
    if !run.settings.is_on("test_before_commit") {
        return Seen::Absent("tests are switched off (test_before_commit)".to_owned());
    }
    let suite = suite::command(root, run).ok();
    let own = match (known, file.map(|file| command(root, &run.settings, file))) {
        (Some(known), _) => Some(known.to_owned()),
        (None, Some(Err(why))) => return Seen::Failed(why),
        (None, Some(Ok(own))) => own,
        (None, None) => None,
    };
    // Of the whole suite it cannot be said which of the passed tests are new.
    let counts_passed = own.is_some();
    let mut commands: Vec<String> = match (own, whole) {
        (Some(own), _) => vec![own],
        (None, false) => suite.iter().cloned().collect(),
        (None, true) => Vec::new(),
    };
    commands.extend(suite.filter(|suite| whole && !commands.contains(suite)));
    if commands.is_empty() {
        return Seen::Absent("no command is known that runs the tests".to_owned());
    }
    let mut seen = Vec::new();
    for command in commands {
        match one(shell, root, run, &command) {
            Ok(tests) => seen.push(if counts_passed { tests } else { TestsSeen { passed: 0, ..tests } }),
            Err(why) => return Seen::Failed(why),
        }
    }
    Seen::Value(seen)
}

/// Takes files away that a run of tests has left in a workspace of the run's own: they are no work, and nobody's fault.
pub(crate) fn leaving_nothing(
    git: &Git<'_>,
    look: impl FnOnce() -> Seen<Vec<TestsSeen>>,
) -> Seen<Vec<TestsSeen>> {
    let before = git.not_committed();
    let seen = look();
    let cleared = before.and_then(|before| {
        let left: Vec<String> =
            git.not_committed()?.into_keys().filter(|file| !before.contains_key(file)).collect();
        if left.is_empty() { Ok(()) } else { git.put_back("HEAD", &left) }
    });
    match cleared {
        Ok(()) => seen,
        Err(why) => Seen::Failed(why),
    }
}

fn one(shell: &Shell, root: &Path, run: &Run, command: &str) -> Result<TestsSeen, String> {
    let finished = boundary::around("tests", || shell.line(root, command, &[("CI", "true")], patience(run)));
    let finished = finished.map_err(|error| format!("`{command}`: {error}"))?;
    if finished.end == End::Stopped {
        return Err(format!("`{command}` was stopped before it could say anything"));
    }
    let printed = [finished.stdout.as_slice(), finished.stderr.as_slice()].concat();
    let (verdict, passed) = judge(&finished.end, &String::from_utf8_lossy(&printed));
    Ok(TestsSeen {
        command: command.to_owned(),
        end: finished.end.to_string(),
        verdict,
        passed,
        output: finished.last_words(OUTPUT_KEPT),
    })
}

/// Says what the end of a test command and its output mean, and how many tests passed.
fn judge(end: &End, printed: &str) -> (TestsVerdict, u64) {
    let counts = Counts::read(printed);
    let verdict = match end {
        End::Exit(0) => TestsVerdict::Passed,
        // The shell's words for a program that is not there, cannot be run, or was ended.
        End::Exit(126..) | End::Signal(_) | End::TimedOut(_) | End::Silent(_) | End::Stopped => {
            TestsVerdict::Errored
        }
        End::Exit(_) if counts.errored > 0 || NOT_RUN.iter().any(|sign| printed.contains(sign)) => {
            TestsVerdict::Errored
        }
        End::Exit(_) => TestsVerdict::Failed,
    };
    (verdict, counts.passed)
}

/// What a report of tests counts.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: u64,
    errored: u64,
}

impl Counts {
    /// Adds up what the reports of Rust, pytest, unittest, Jest, Vitest, Mocha, RSpec, Go and TAP say.
    fn read(printed: &str) -> Self {
        let mut counts = Self::default();
        for line in printed.lines().map(str::trim) {
            let is_summary = line.starts_with("test result: ")
                || line.starts_with("Tests:")
                || line.starts_with("Tests  ")
                || line.starts_with("FAILED (")
                || line.contains(" failures")
                || (line.contains(" in ") && line.ends_with(['s', '=', ')']));
            if is_summary {
                counts.passed += number_before(line, "passed");
                counts.errored += number_before(line, "error") + number_before(line, "errors");
                counts.errored += number_after(line, "errors=");
            } else if line.starts_with("ok ") || line.starts_with("--- PASS: ") {
                counts.passed += 1;
            } else if line.ends_with(" passing") || line.contains(" passing (") {
                counts.passed += number_before(line, "passing");
            }
        }
        counts
    }
}

/// Returns the number that stands before a word.
fn number_before(line: &str, word: &str) -> u64 {
    let words: Vec<&str> =
        line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let found = words.windows(2).find(|pair| pair[1] == word);
    found.and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

fn number_after(line: &str, sign: &str) -> u64 {
    let rest = line.split_once(sign).map(|(_, rest)| rest).unwrap_or_default();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

/// Returns the command that runs a file of acceptance tests: the one that is set, or the one that its name suggests.
fn command(root: &Path, settings: &Settings, file: &str) -> Result<Option<String>, String> {
    if file.chars().any(char::is_control) || Path::new(file).is_absolute() {
        return Err(format!("`{}` is no name of a file in the project", file.escape_debug()));
    }
    let quoted = format!("'{}'", file.replace('\'', r"'\''"));
    let named = if file.starts_with('-') { format!("./{quoted}") } else { quoted };
    let set = settings.text("acceptance_command");
    // A run that began before there was this setting has none.
    if !["auto", ""].contains(&set) {
        return Ok(Some(set.replace(FILE, &named)));
    }
    let path = Path::new(file);
    let has = |name: &str| root.join(name).is_file();
    let npm_test = || {
        let text = fs::read_to_string(root.join("package.json")).unwrap_or_default();
        has("package.json") && text.contains("\"test\"")
    };
    Ok(match path.extension().and_then(|ending| ending.to_str()).unwrap_or_default() {
        "sh" if first_line(root, file).contains("bash") => Some(format!("bash {named}")),
        "sh" => Some(format!("sh {named}")),
        "bash" => Some(format!("bash {named}")),
        "bats" => Some(format!("bats {named}")),
        "py" => Some(format!("python -m pytest {named}")),
        "rs" if has("Cargo.toml") => cargo_target(path).map(|target| format!("cargo test --test {target}")),
        "go" if has("go.mod") => {
            path.parent().map(|directory| format!("go test './{}/...'", directory.display()))
        }
        "rb" if has("Gemfile") => Some(format!("bundle exec rspec {named}")),
        "rb" => Some(format!("ruby {named}")),
        "exs" => Some(format!("mix test {named}")),
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "tsx" if npm_test() => Some(format!("npm test -- {named}")),
        "js" | "mjs" | "cjs" => Some(format!("node --test {named}")),
        _ => None,
    })
}

fn first_line(root: &Path, file: &str) -> String {
    let path = root.join(file);
    // Only a file is read: a pipe would never answer.
    let text = if path.is_file() { fs::read_to_string(path).unwrap_or_default() } else { String::new() };
    text.lines().next().unwrap_or_default().chars().take(LONGEST_FIRST_LINE).collect()
}

/// Returns the name that Cargo gives a file of `tests/`: that of the file, or of its directory.
fn cargo_target(file: &Path) -> Option<String> {
    let mut parts = file.strip_prefix("tests").ok()?.components();
    let first = Path::new(parts.next()?.as_os_str());
    let name = first.file_stem()?.to_str()?;
    name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn verdict(code: i32, printed: &str) -> TestsVerdict {
        judge(&End::Exit(code), printed).0
    }

    #[test]
    fn a_test_that_cannot_run_is_an_error_and_no_failure() {
        for (code, printed) in [
            (127, "sh: 1: ./greet: not found"),
            (126, ""),
            (139, ""),
            (101, "error[E0425]: cannot find function `greet`\nerror: could not compile `demo`"),
            (2, "ERROR tests/a.py\n!!! Interrupted: 1 error during collection !!!\n=== 1 error in 0.10s ==="),
            (1, "=== 2 failed, 1 error in 0.10s ==="),
            (1, "FAILED (failures=2, errors=1)"),
            (1, "FAIL tests/a.test.js\n  ● Test suite failed to run"),
            (2, "FAIL example.com/a [build failed]"),
            (2, "x.sh: 3: Syntax error: end of file unexpected"),
            (1, "0 examples, 0 failures, 1 error occurred outside of examples"),
        ] {
            assert_eq!(verdict(code, printed), TestsVerdict::Errored, "{code} {printed}");
        }
        assert_eq!(judge(&End::TimedOut(Duration::from_secs(9)), "").0, TestsVerdict::Errored);
        assert_eq!(judge(&End::Signal(9), "").0, TestsVerdict::Errored);
    }

    #[test]
    fn a_test_that_ran_fails_and_those_that_passed_are_counted() {
        for (printed, passed) in [
            ("", 0),
            ("sh: 1: ./greet: not found", 0),
            ("test result: FAILED. 0 passed; 3 failed; 0 ignored", 0),
            ("test result: ok. 2 passed; 0 failed\ntest result: FAILED. 1 passed; 1 failed", 3),
            ("=== 2 failed, 1 passed in 0.12s ===", 1),
            ("2 failed in 0.12s", 0),
            ("FAILED (failures=2)", 0),
            ("Tests:       2 failed, 1 passed, 3 total", 1),
            ("  1 passing (5ms)\n  2 failing", 1),
            ("1..2\nok 1 - a\nnot ok 2 - b", 1),
            ("--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)", 1),
            ("3 examples, 3 failures", 0),
        ] {
            assert_eq!(judge(&End::Exit(1), printed), (TestsVerdict::Failed, passed), "{printed}");
        }
        assert_eq!(verdict(0, "ok 1 - a"), TestsVerdict::Passed);
    }

    #[test]
    fn the_command_goes_by_the_ending_unless_one_is_set() {
        let root = tempfile::tempdir().unwrap();
        let mut settings = Settings::default();
        let of = |settings: &Settings, file: &str| command(root.path(), settings, file).unwrap();
        fs::write(root.path().join("b.sh"), "#!/usr/bin/env bash\n").unwrap();
        assert_eq!(
            of(&settings, "tests/greet.rs"),
            None,
            "without a package there is nothing to run it with"
        );
        for file in ["Cargo.toml", "go.mod"] {
            fs::write(root.path().join(file), "").unwrap();
        }
        for (file, wanted) in [
            ("a.sh", "sh 'a.sh'"),
            ("b.sh", "bash 'b.sh'"),
            ("tests/it's.py", r"python -m pytest 'tests/it'\''s.py'"),
            ("tests/acceptance/greet.rs", "cargo test --test acceptance"),
            ("tests/greet.rs", "cargo test --test greet"),
            ("tests/acceptance/a_test.go", "go test './tests/acceptance/...'"),
            ("-a.rb", "ruby ./'-a.rb'"),
        ] {
            assert_eq!(of(&settings, file).as_deref(), Some(wanted));
        }
        assert_eq!(of(&settings, "tests/a.txt"), None);
        let older: Settings =
            serde_json::from_value(serde_json::json!({ "test_before_commit": true })).unwrap();
        assert_eq!(
            of(&older, "a.sh").as_deref(),
            Some("sh 'a.sh'"),
            "the run began before there was the setting"
        );
        settings.set("acceptance_command", serde_json::json!("./check {file} --strict")).unwrap();
        assert_eq!(of(&settings, "a.sh").as_deref(), Some("./check 'a.sh' --strict"));
        assert!(command(root.path(), &settings, "a\n.sh").is_err());
        assert!(command(root.path(), &settings, "/etc/passwd").is_err());
    }
}
