//! Changes of how tests are run that leave some of them out.
//!
//! The command is pinned where a run begins, but what it runs is in files of the tree: scripts of `package.json`, recipes of a
//! Makefile, settings of a test runner.

use engine::{Held, HeldKind};

use super::{ChangedFile, finding};

/// Options that choose among tests, or let failures pass.
const NARROWING: &[&str] = &[
    " -k ",
    " -k=",
    "--deselect",
    "--ignore=",
    "--ignore ",
    "--ignore-glob",
    "-m \"not",
    "-m 'not",
    "-m not",
    "--grep",
    "--testPathIgnorePatterns",
    "--testNamePattern",
    "--testPathPattern",
    "--exclude",
    " -run ",
    " -run=",
    "--skip ",
    "--skip=",
    " -short",
    "--passWithNoTests",
    "|| true",
    "|| :",
    "|| exit 0",
    "; exit 0",
    "; true",
    "--no-run",
    "--collect-only",
    "-DskipTests",
    "-Dmaven.test.skip",
    "--test-name-pattern",
    "--invert",
];
/// Commands that test nothing.
const EMPTY: &[&str] = &["true", ":", "echo", "exit", "printf"];

/// Configuration files of a test runner.
struct RunnerSettings {
    /// The files in which they stand, with or without an ending.
    files: &'static [&'static str],
    /// What leaves tests out.
    leaves_out: &'static [&'static str],
    /// What says which tests there are: a first such line may well add some.
    chooses: &'static [&'static str],
}

const SETTINGS: &[RunnerSettings] = &[
    RunnerSettings {
        files: &["pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini", ".pytest.ini"],
        leaves_out: &[
            "norecursedirs",
            "collect_ignore",
            "--deselect",
            "--ignore",
            "-k ",
            "-m \"not",
            "-m 'not",
        ],
        chooses: &["python_files", "python_functions", "python_classes", "testpaths"],
    },
    RunnerSettings {
        files: &["conftest.py"],
        leaves_out: &[
            "collect_ignore",
            "pytest_ignore_collect",
            "pytest_collection_modifyitems",
            "pytest.mark.skip",
        ],
        chooses: &[],
    },
    RunnerSettings {
        files: &[
            "jest.config",
            "vitest.config",
            ".mocharc",
            "ava.config",
            "playwright.config",
            "package.json",
        ],
        leaves_out: &["testPathIgnorePatterns", "passWithNoTests", "\"grep\"", "grep:", "testNamePattern"],
        chooses: &["testMatch", "testRegex"],
    },
    RunnerSettings {
        files: &["Cargo.toml"],
        leaves_out: &["autotests = false"],
        chooses: &["test = false", "[[test]]"],
    },
    RunnerSettings {
        files: &["pom.xml"],
        leaves_out: &[
            "<skipTests>true",
            "<maven.test.skip>true",
            "<testFailureIgnore>true",
            "Test.java</exclude>",
        ],
        chooses: &[],
    },
    RunnerSettings {
        files: &["build.gradle"],
        leaves_out: &["ignoreFailures = true", "excludeTestsMatching", "ignoreFailures true"],
        chooses: &[],
    },
    RunnerSettings { files: &["phpunit.xml", "phpunit.xml.dist"], leaves_out: &["<exclude>"], chooses: &[] },
    RunnerSettings {
        files: &[".rspec"],
        leaves_out: &["--tag ~", "--exclude-pattern"],
        chooses: &["--pattern"],
    },
    RunnerSettings { files: &["nextest.toml"], leaves_out: &["default-filter"], chooses: &[] },
];

/// Finds what lets fewer tests run than before.
pub(super) fn narrowed(files: &[&ChangedFile]) -> Vec<Held> {
    let mut held = Vec::new();
    for file in files {
        // What a new file says is how a project begins to be tested.
        let (Some(before), Some(after)) = (file.text_before(), file.text_after()) else { continue };
        let name = file.path.rsplit('/').next().unwrap_or(&file.path);
        let found = match name {
            "package.json" => script(before, after).or_else(|| settings(name, before, after)),
            "Makefile" | "makefile" | "GNUmakefile" | "justfile" | "Justfile" | "Taskfile.yml" => {
                recipe(before, after)
            }
            _ => settings(name, before, after),
        };
        if let Some((line, what)) = found {
            let about = after.lines().nth(line).unwrap_or_default().trim();
            held.push(finding(HeldKind::NarrowedTests, &file.path, Some(line as u64 + 1), what, about));
        }
    }
    held
}

/// Compares the script `test` of a `package.json`.
fn script(before: &str, after: &str) -> Option<(usize, String)> {
    let command = |text: &str| -> Option<String> {
        let package: serde_json::Value = serde_json::from_str(text).ok()?;
        Some(package.get("scripts")?.get("test")?.as_str()?.to_owned())
    };
    let old = command(before)?;
    let line = after.lines().position(|line| line.trim_start().starts_with("\"test\"")).unwrap_or(0);
    match command(after) {
        Some(new) => less(&old, &new).map(|why| (line, format!("the script `test` {why}"))),
        None => Some((line, "the script `test` is removed".to_owned())),
    }
}

/// Compares the recipe of `test`.
fn recipe(before: &str, after: &str) -> Option<(usize, String)> {
    let commands = |text: &str| -> Option<(usize, String)> {
        let lines: Vec<&str> = text.lines().collect();
        let at = lines
            .iter()
            .position(|line| ["test:", "check:", "  test:"].iter().any(|start| line.starts_with(start)))?;
        let inner =
            lines[at + 1..].iter().take_while(|line| line.starts_with(['\t', ' ']) || line.trim().is_empty());
        let commands: Vec<&str> = inner
            .map(|line| line.trim().trim_start_matches(['@', '-']))
            .filter(|line| !line.is_empty())
            .collect();
        let needs = lines[at].split_once(':').map_or("", |(_, needs)| needs.trim());
        Some((
            at,
            [commands.join(" && ").as_str(), needs]
                .iter()
                .filter(|part| !part.is_empty())
                .copied()
                .collect::<Vec<_>>()
                .join(" && "),
        ))
    };
    let (_, old) = commands(before)?;
    match commands(after) {
        Some((line, new)) => less(&old, &new).map(|why| (line, format!("the target `test` {why}"))),
        None => Some((0, "the target `test` is removed".to_owned())),
    }
}

/// Says how a command tests less than another.
fn less(old: &str, new: &str) -> Option<String> {
    if old == new {
        return None;
    }
    let padded = |text: &str| format!(" {text} ");
    let option =
        NARROWING.iter().find(|option| padded(new).contains(*option) && !padded(old).contains(*option));
    if let Some(option) = option {
        return Some(format!("leaves tests out (`{}`)", option.trim()));
    }
    let parts = |text: &str| -> Vec<String> {
        let parts = text.split("&&").flat_map(|part| part.split(';')).map(|part| part.trim().to_owned());
        parts.filter(|part| !part.is_empty()).collect()
    };
    let is_empty =
        |part: &String| part.split_whitespace().next().is_none_or(|program| EMPTY.contains(&program));
    let (old, new) = (parts(old), parts(new));
    if !old.iter().all(is_empty) && new.iter().all(is_empty) {
        return Some("tests nothing any more".to_owned());
    }
    if new.iter().filter(|part| !is_empty(part)).count() < old.iter().filter(|part| !is_empty(part)).count() {
        return Some("has fewer commands than before".to_owned());
    }
    let is_place = |word: &str| {
        word.contains("::")
            || [".js", ".ts", ".py", ".mjs", ".rb", ".php"].iter().any(|end| word.ends_with(end))
    };
    let words = |parts: &[String]| -> Vec<String> {
        parts.iter().flat_map(|part| part.split_whitespace()).map(str::to_owned).collect()
    };
    let (old, new) = (words(&old), words(&new));
    let had_place = old.iter().any(|word| is_place(word));
    let place = new
        .iter()
        .skip(1)
        .find(|word| is_place(word) && !had_place && !word.starts_with('-') && !word.contains('*'));
    let is_config = |word: &str| {
        word.contains("config") || word.contains("setup") || word.contains("register") || word.contains("run")
    };
    place.filter(|place| !is_config(place)).map(|place| format!("names a single file (`{place}`)"))
}

/// Finds lines of a runner's settings that are new and leave tests out.
fn settings(name: &str, before: &str, after: &str) -> Option<(usize, String)> {
    let is_of = |known: &str| name == known || name.starts_with(&format!("{known}."));
    let known = SETTINGS.iter().find(|known| known.files.iter().any(|file| is_of(file)))?;
    let chooses = known.chooses.iter().filter(|sign| before.contains(**sign));
    let signs: Vec<&str> = known.leaves_out.iter().chain(chooses).copied().collect();
    let old: Vec<&str> = before.lines().map(str::trim).collect();
    for (at, line) in after.lines().enumerate() {
        let line = line.trim();
        let is_comment = line.starts_with('#') || line.starts_with("//") || line.starts_with("<!--");
        if is_comment || old.contains(&line) {
            continue;
        }
        if let Some(sign) = signs.iter().find(|sign| line.contains(**sign)) {
            return Some((at, format!("leaves tests out (`{}`)", sign.trim())));
        }
    }
    None
}
