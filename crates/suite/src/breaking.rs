//! Which files of a project are its source, and how each is broken so that no tests of it can pass.
//!
//! Pure. Only what is plainly source by its name is broken: not tests, not configuration, and not the scripts by which the
//! test command works, because a test run that fails for those says nothing about the source.

use std::collections::BTreeSet;

use serde_json::Value;

/// Stands in the place of a file's text: an error in every language of the table.
const BROKEN: &str = ")]} broken by warp, to see whether the tests notice {[(\n";
/// The same where text outside of a tag is no code.
const BROKEN_PHP: &str = "<?php )]} broken by warp, to see whether the tests notice {[(\n";

/// Endings of source files.
const SOURCE: &[&str] = &[
    "astro", "bash", "c", "cc", "cjs", "clj", "cljc", "cljs", "coffee", "cpp", "cr", "cs", "cts", "cxx", "d",
    "dart", "elm", "erl", "ex", "exs", "fs", "go", "groovy", "h", "hh", "hpp", "hs", "hxx", "java", "jl",
    "js", "jsx", "kt", "lua", "m", "ml", "mjs", "mm", "mts", "nim", "php", "pl", "pm", "py", "r", "rb", "rs",
    "scala", "sh", "svelte", "swift", "ts", "tsx", "v", "vb", "vue", "zig",
];

/// Directories of tests.
const TEST_DIRECTORIES: &[&str] = &[
    "test",
    "tests",
    "spec",
    "specs",
    "__tests__",
    "__mocks__",
    "__fixtures__",
    "e2e",
    "fixtures",
    "testdata",
    "cypress",
];

/// Directories of things that a project is built, checked or described with, or that others wrote.
const BESIDE: &[&str] = &[
    "bench",
    "benches",
    "benchmarks",
    "bin",
    "build",
    "ci",
    "dist",
    "doc",
    "docs",
    "examples",
    "node_modules",
    "scripts",
    "third_party",
    "tools",
    "vendor",
];

/// Files that say how a project is built and tested.
const CONFIGURATION: &[&str] = &[
    "build.rs",
    "build.zig",
    "conf.py",
    "fabfile.py",
    "gruntfile.js",
    "gulpfile.js",
    "manage.py",
    "mix.exs",
    "noxfile.py",
    "package.swift",
    "project.clj",
    "setup.py",
    "tasks.py",
];

/// How deep targets and scripts are followed.
const DEEPEST: usize = 5;

/// Returns the files that are to be broken. `mentioned` is what the test command runs, as text.
pub(crate) fn to_break(files: &[String], mentioned: &str) -> Vec<String> {
    let scripts = words(mentioned);
    let is_source = |path: &&String| {
        is_source(path) && !is_test(path) && !is_configuration(path) && !scripts.contains(path.as_str())
    };
    let sources: Vec<&String> = files.iter().filter(is_source).collect();
    let is_beside =
        |path: &str| directories(path).any(|part| BESIDE.contains(&part) || part.starts_with('.'));
    let own: Vec<String> =
        sources.iter().filter(|path| !is_beside(path)).map(|path| (*path).clone()).collect();
    // A project may be nothing but scripts.
    if own.is_empty() { sources.into_iter().cloned().collect() } else { own }
}

/// Returns what stands in the place of a file's text. Its first line stays if it names an interpreter.
pub(crate) fn broken(path: &str, text: &[u8]) -> String {
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let shebang = first.starts_with(b"#!").then(|| format!("{}\n", String::from_utf8_lossy(first)));
    let broken = if ending(path) == "php" { BROKEN_PHP } else { BROKEN };
    format!("{}{broken}", shebang.unwrap_or_default())
}

/// Returns the text of what a test command runs: the command, and the Makefile's recipes or the package's scripts behind it.
pub(crate) fn mentioned(command: &str, makefile: Option<&str>, package: Option<&str>) -> String {
    let mut text = format!("{command}\n");
    if let Some(makefile) = makefile {
        for target in words(command).iter().filter(|word| !word.starts_with('-')) {
            recipe(makefile, target, DEEPEST, &mut text);
        }
    }
    let package: Option<Value> = package.and_then(|package| serde_json::from_str(package).ok());
    if let Some(scripts) = package.as_ref().and_then(|package| package.get("scripts")) {
        let named: Vec<String> = words(command).iter().map(|word| (*word).to_owned()).collect();
        for name in named {
            script(scripts, &name, DEEPEST, &mut text);
        }
    }
    text
}

/// Adds the recipe of a Makefile's target, and of those that it depends on.
fn recipe(makefile: &str, target: &str, depth: usize, text: &mut String) {
    let mut lines = makefile.lines();
    let rule = lines.by_ref().find_map(|line| {
        let (targets, needs) = line.split_once(':')?;
        let is_it = !line.starts_with(['\t', '#']) && targets.split_whitespace().any(|name| name == target);
        is_it.then_some(needs)
    });
    let Some(needs) = rule else { return };
    for line in lines.take_while(|line| line.starts_with('\t') || line.trim().is_empty()) {
        text.push_str(line.trim_start_matches(['\t', '@', '-']));
        text.push('\n');
    }
    for need in needs.split_whitespace().filter(|_| depth > 0) {
        recipe(makefile, need, depth - 1, text);
    }
}

/// Adds a package's script, what runs before and after it, and the scripts that it runs.
fn script(scripts: &Value, name: &str, depth: usize, text: &mut String) {
    for name in [format!("pre{name}"), name.to_owned(), format!("post{name}")] {
        let Some(line) = scripts.get(&name).and_then(Value::as_str) else { continue };
        text.push_str(line);
        text.push('\n');
        let called: Vec<&str> = line.split_whitespace().filter(|word| scripts.get(*word).is_some()).collect();
        for called in called.into_iter().filter(|called| depth > 0 && *called != name) {
            script(scripts, called, depth - 1, text);
        }
    }
}

/// Returns the words of a text, as paths are written in commands.
fn words(text: &str) -> BTreeSet<&str> {
    let parts = text.split(|letter: char| letter.is_whitespace() || "\"'`;&|()<>=,".contains(letter));
    parts.map(|word| word.trim_start_matches("./")).filter(|word| !word.is_empty()).collect()
}

fn is_source(path: &str) -> bool {
    SOURCE.contains(&ending(path).as_str())
}

fn is_test(path: &str) -> bool {
    let in_tests = directories(path).any(|part| {
        let part = part.to_ascii_lowercase();
        TEST_DIRECTORIES.contains(&part.as_str()) || part.starts_with("test-") || part.starts_with("test_")
    });
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let lower = stem.to_ascii_lowercase();
    let begins = ["test_", "test-", "test.", "run-test", "run_test", "runtest", "check-test"];
    let ends = [
        "_test",
        "-test",
        ".test",
        "_tests",
        "-tests",
        ".tests",
        "_spec",
        "-spec",
        ".spec",
        ".e2e",
        ".cy",
        ".test-d",
        "tests.main",
    ];
    // `ParserTest.java`, `TestParser.java`; not `latest.py`.
    let is_camel = ["Test", "Tests", "Spec", "IT"].iter().any(|end| {
        stem.strip_suffix(end).is_some_and(|before| {
            before.ends_with(|letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit())
        })
    }) || stem
        .strip_prefix("Test")
        .is_some_and(|after| after.starts_with(|letter: char| letter.is_ascii_uppercase()));
    in_tests
        || ["test", "tests", "spec", "conftest", "testing"].contains(&lower.as_str())
        || begins.iter().any(|begin| lower.starts_with(begin))
        || ends.iter().any(|end| lower.ends_with(end))
        || is_camel
}

fn is_configuration(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let parts: Vec<&str> = name.split('.').collect();
    CONFIGURATION.contains(&name.as_str())
        || name.starts_with('.')
        || parts.iter().skip(1).any(|part| ["config", "conf", "setup"].contains(part))
        || ["webpack", "rollup", "karma", "jest", "vitest", "babel", "eslint"].contains(&parts[0])
        || path.starts_with("config/") && name.ends_with(".exs")
}

fn ending(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.')
        .filter(|(stem, _)| !stem.is_empty())
        .map(|(_, end)| end.to_ascii_lowercase())
        .unwrap_or_default()
}

fn directories(path: &str) -> impl Iterator<Item = &str> {
    path.rsplit_once('/').map(|(directories, _)| directories).unwrap_or_default().split('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(files: &[&str], mentioned: &str) -> Vec<String> {
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        to_break(&files, mentioned)
    }

    #[test]
    fn only_source_is_broken() {
        let sources = [
            "src/lib.rs",
            "app.py",
            "src/pkg/latest.py",
            "index.js",
            "index.d.ts",
            "cmd/main.go",
            "Parser.java",
            "lib/a.rb",
            "src/contest.py",
            "src/attest/x.ts",
            "convert.sh",
            "Edit.kt",
        ];
        assert_eq!(chosen(&sources, ""), sources);
        let others = [
            "README.md",
            "Cargo.toml",
            "data.json",
            "style.css",
            "Makefile",
            "tests/test_a.py",
            "test_a.py",
            "a_test.go",
            "test.js",
            "src/a.test.ts",
            "src/a.spec.tsx",
            "src/__tests__/a.js",
            "spec/a_spec.rb",
            "ParserTest.java",
            "TestParser.java",
            "ParserTests.cs",
            "conftest.py",
            "setup.py",
            "build.rs",
            "jest.config.js",
            ".eslintrc.cjs",
            "vitest.setup.ts",
            "webpack.prod.js",
            "mix.exs",
            "test/run.sh",
            "run-tests.sh",
            "index.test-d.ts",
            "t/fixtures/a.py",
        ];
        assert_eq!(chosen(&others, ""), [""; 0]);
    }

    #[test]
    fn what_the_test_command_runs_is_left_alone() {
        let makefile = "all: x\ntest: build check.sh\n\t@sh ./run.sh && node tool.js\nbuild:\n\tpython3 gen.py\nother:\n\tsh other.sh\n";
        let text = mentioned("make test", Some(makefile), None);
        let files = ["run.sh", "check.sh", "tool.js", "gen.py", "other.sh", "app.sh"];
        assert_eq!(chosen(&files, &text), ["check.sh", "other.sh", "app.sh"]);
        let package = r#"{"main":"index.js","scripts":{"pretest":"node pre.js","test":"npm run unit && xo","unit":"node unit.js","x":"node x.js"}}"#;
        let text = mentioned("npm test", None, Some(package));
        assert_eq!(chosen(&["index.js", "pre.js", "unit.js", "x.js"], &text), ["index.js", "x.js"]);
    }

    #[test]
    fn scripts_and_tools_are_broken_only_if_there_is_nothing_else() {
        assert_eq!(chosen(&["scripts/a.sh", "src/a.rs", "bin/b.py"], ""), ["src/a.rs"]);
        assert_eq!(chosen(&["scripts/a.sh", "bin/b.py"], ""), ["scripts/a.sh", "bin/b.py"]);
    }

    #[test]
    fn an_interpreter_stays_named() {
        assert_eq!(broken("a.py", b"import x\n"), BROKEN);
        assert_eq!(broken("a.sh", b"#!/bin/sh\necho\n"), format!("#!/bin/sh\n{BROKEN}"));
        assert_eq!(broken("a.php", b"<?php echo 1;"), BROKEN_PHP);
    }
}
