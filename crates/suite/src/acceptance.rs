//! Running acceptance tests: by which command, and with the project's own.

mod language;
mod verdict;

use std::path::Path;

use adapters::{boundary, git::Git, process::End};
use engine::{Run, Seen, Settings, TestsSeen, TestsVerdict, keys};

use workspace::Shell;

use crate::patience;
pub use language::advice;
use language::text;
use verdict::{Judged, Own, Whose};

/// How much of what the tests print is kept: it goes into an agent's prompt.
const OUTPUT_KEPT: usize = 1200;
/// What stands for the file in a command.
const FILE: &str = "{file}";
/// The most that is read of a test's first line.
const LONGEST_FIRST_LINE: usize = 200;

/// Runs the acceptance tests in `file`, and all tests of the project if `whole` is set. Once the command is `known` that
/// runs the former, nothing in the tree can make it another.
pub fn look(
    shell: &Shell,
    root: &Path,
    run: &Run,
    file: Option<&str>,
    known: Option<&str>,
    whole: bool,
) -> Seen<Vec<TestsSeen>> {
    if !run.settings.get(keys::TEST_BEFORE_COMMIT) {
        return Seen::Absent("tests are switched off (test_before_commit)".to_owned());
    }
    let suite = crate::command(root, run).ok();
    let own = match (known, file.map(|file| command(root, &run.settings, file))) {
        (Some(known), _) => Some(known.to_owned()),
        (None, Some(Err(why))) => return Seen::Failed(why),
        (None, Some(Ok(own))) => own,
        (None, None) => None,
    };
    let mut commands: Vec<String> = match (own, whole) {
        (Some(own), _) => vec![own],
        (None, false) => suite.iter().cloned().collect(),
        (None, true) => Vec::new(),
    };
    commands.extend(suite.clone().filter(|suite| whole && !commands.contains(suite)));
    if commands.is_empty() {
        return Seen::Absent("no command is known that runs the tests".to_owned());
    }
    let mut seen = Vec::new();
    for command in commands {
        let whose = if suite.as_ref() == Some(&command) { Whose::Project } else { Whose::Feature };
        match one(shell, root, run, &command, whose) {
            Ok(tests) => seen.push(tests),
            Err(why) => return Seen::Failed(why),
        }
    }
    Seen::Value(seen)
}

/// Takes files away that a run of tests has left in a workspace of the run's own: they are no work, and nobody's fault.
pub fn leaving_nothing(git: &Git<'_>, look: impl FnOnce() -> Seen<Vec<TestsSeen>>) -> Seen<Vec<TestsSeen>> {
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

fn one(shell: &Shell, root: &Path, run: &Run, command: &str, whose: Whose) -> Result<TestsSeen, String> {
    let finished = boundary::around("tests", || shell.line(root, command, &[("CI", "true")], patience(run)));
    let finished = finished.map_err(|error| format!("`{command}`: {error}"))?;
    if finished.end == End::Stopped {
        return Err(format!("`{command}` was stopped before it could say anything"));
    }
    let printed = [finished.stdout.as_slice(), finished.stderr.as_slice()].concat();
    let printed = String::from_utf8_lossy(&printed);
    let Judged { verdict, passed } = verdict::judge(whose, &Own::of(root), command, &finished.end, &printed);
    let says_none = finished.end == End::Exit(0) && verdict != TestsVerdict::Passed;
    let end = finished.end.to_string();
    Ok(TestsSeen {
        command: command.to_owned(),
        end: if says_none { format!("{end}, and no test passed") } else { end },
        verdict,
        passed,
        output: finished.last_words(OUTPUT_KEPT),
    })
}

/// Returns the command that runs a file of acceptance tests: the one that is set, or the one that its name suggests.
fn command(root: &Path, settings: &Settings, file: &str) -> Result<Option<String>, String> {
    if file.chars().any(char::is_control) || Path::new(file).is_absolute() {
        return Err(format!("`{}` is no name of a file in the project", file.escape_debug()));
    }
    let quoted = format!("'{}'", file.replace('\'', r"'\''"));
    let named = if file.starts_with('-') { format!("./{quoted}") } else { quoted };
    let set = settings.get(keys::ACCEPTANCE_COMMAND);
    // A run that began before there was this setting has none.
    if !["auto", ""].contains(&set) {
        return Ok(Some(set.replace(FILE, &named)));
    }
    let path = Path::new(file);
    let has = |name: &str| root.join(name).is_file();
    let npm_test = || text(root, "package.json").contains("\"test\"");
    Ok(match path.extension().and_then(|ending| ending.to_str()).unwrap_or_default() {
        "sh" if first_line(root, file).contains("bash") => Some(format!("bash {named}")),
        "sh" => Some(format!("sh {named}")),
        "bash" => Some(format!("bash {named}")),
        "bats" => Some(format!("bats {named}")),
        "py" => Some(format!("python -m pytest {named}")),
        "rs" if has("Cargo.toml") => cargo_target(path).map(|target| format!("cargo test --test {target}")),
        "go" if has("go.mod") => {
            path.parent().map(|directory| format!("go test -v './{}/...'", directory.display()))
        }
        "rb" => {
            let runner = if file.ends_with("_spec.rb") { "rspec" } else { "ruby -Ilib -Itest" };
            let bundled = if has("Gemfile") { "bundle exec " } else { "" };
            Some(format!("{bundled}{runner} {named}"))
        }
        "java" => java_command(root, path),
        "exs" => Some(format!("mix test {named}")),
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "tsx" if npm_test() => Some(format!("npm test -- {named}")),
        "js" | "mjs" | "cjs" => Some(format!("node --test {named}")),
        _ => None,
    })
}

fn first_line(root: &Path, file: &str) -> String {
    text(root, file).lines().next().unwrap_or_default().chars().take(LONGEST_FIRST_LINE).collect()
}

/// Returns the command that runs a class of tests, by the build tool that the project has, or brings along.
fn java_command(root: &Path, file: &Path) -> Option<String> {
    let class = file.file_stem()?.to_str()?;
    let is_name = class.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let has = |name: &str| root.join(name).is_file();
    let or_wrapper =
        |wrapper: &'static str, tool: &'static str| if has(&wrapper[2..]) { wrapper } else { tool };
    if !is_name {
        None
    } else if has("pom.xml") {
        Some(format!("{} -B test -Dtest={class}", or_wrapper("./mvnw", "mvn")))
    } else if has("build.gradle") || has("build.gradle.kts") {
        Some(format!("{} test --tests {class}", or_wrapper("./gradlew", "gradle")))
    } else {
        None
    }
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
    use std::fs;

    use super::*;

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
            ("tests/acceptance/a_test.go", "go test -v './tests/acceptance/...'"),
            ("-a.rb", "ruby -Ilib -Itest ./'-a.rb'"),
            ("spec/a_spec.rb", "rspec 'spec/a_spec.rb'"),
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
