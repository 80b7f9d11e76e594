//! Tests that could not be loaded or built only because what they ask for is not there yet.
//!
//! Before a feature is written, its tests name what does not exist. In languages that resolve names before anything runs, that
//! ends the whole file, and says as much as a failed test does. It counts only if every fault that is printed is of this
//! kind, and of the project under test: a syntax error, or a dependency that is missing, is no failure.

use std::{collections::BTreeSet, path::Path};

use serde_json::Value;

use crate::acceptance::language::text;

/// What belongs to a project, by the names under which its tests may ask for it.
#[derive(Clone, Debug, Default)]
pub(in crate::acceptance) struct Own {
    /// Crates, packages and modules.
    names: BTreeSet<String>,
    /// How the packages of a Java project begin, in two words.
    packages: BTreeSet<String>,
    /// The path of a Go module.
    module: Option<String>,
    /// Where the project lies.
    root: String,
}

/// Directories that hold no code of the project under test.
const NOT_OWN: &[&str] = &["test", "tests", "spec", "node_modules", "vendor", "venv"];
/// Codes of Rust's compiler for names, fields and methods that are not there, and for another number of arguments.
const RUST: &[&str] = &[
    "E0026", "E0061", "E0405", "E0412", "E0422", "E0423", "E0425", "E0432", "E0433", "E0531", "E0532",
    "E0560", "E0574", "E0576", "E0599", "E0609",
];
/// What Rust's compiler says after the errors.
const RUST_SUMS: &[&str] = &["could not compile", "aborting due to"];
/// What Go says of names that are not there.
const GO: &[&str] = &[
    "undefined: ",
    " undefined (type ",
    "unknown field ",
    "not enough arguments in call to ",
    "too many arguments in call to ",
];
/// What Java's compiler says of names that are not there.
const JAVA: &[&str] =
    &["cannot find symbol", "cannot be applied to given types", "does not override or implement"];
/// Codes of TypeScript's compiler for names and members that are not there.
const TYPESCRIPT: &[&str] = &["TS2304", "TS2305", "TS2339", "TS2551", "TS2554", "TS2614", "TS2724"];

impl Own {
    /// Looks up what belongs to the project at `root`.
    pub(in crate::acceptance) fn of(root: &Path) -> Self {
        let mut names = BTreeSet::new();
        for (file, pointer) in [("Cargo.toml", "/package/name"), ("pyproject.toml", "/project/name")] {
            let parsed = toml::from_str::<toml::Value>(&text(root, file)).ok();
            let parsed = parsed.and_then(|parsed| serde_json::to_value(parsed).ok());
            names.extend(parsed.and_then(|parsed| Some(parsed.pointer(pointer)?.as_str()?.to_owned())));
        }
        let package = serde_json::from_str::<Value>(&text(root, "package.json")).ok();
        names.extend(package.and_then(|package| Some(package.get("name")?.as_str()?.to_owned())));
        // Modules of scripting languages.
        for directory in ["", "src", "lib"] {
            let entries = root.join(directory).read_dir().into_iter().flatten().flatten();
            names.extend(entries.filter_map(|entry| {
                let path = entry.path();
                let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
                let name = path.file_stem()?.to_str()?.to_owned();
                let is_module = path.is_dir() || ["py", "rb"].contains(&ending);
                (is_module && !NOT_OWN.contains(&name.as_str())).then_some(name)
            }));
        }
        let names = names.iter().flat_map(|name| [name.clone(), name.replace('-', "_")]).collect();
        let module = text(root, "go.mod")
            .lines()
            .find_map(|line| Some(line.strip_prefix("module ")?.trim().to_owned()));
        let java = root.join("src/main/java");
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        Self { names, packages: packages(&java), module, root: root.display().to_string() }
    }

    /// Tells whether a dotted, slashed or colon-separated name begins with one of the project's own.
    fn has(&self, name: &str) -> bool {
        let first = name.split(['.', '/', ':']).next().unwrap_or_default();
        self.names.contains(name) || self.names.contains(first) || ["crate", "self", "super"].contains(&first)
    }

    /// Tells whether what is imported by this is a file of the project.
    fn has_file(&self, import: &str) -> bool {
        let path = import.strip_prefix("file://").unwrap_or(import);
        let is_inside = !self.root.is_empty() && Path::new(path).starts_with(&self.root);
        import.starts_with("./")
            || import.starts_with("../")
            || is_inside && !import.contains("/node_modules/")
    }

    fn has_go(&self, package: &str) -> bool {
        self.module.as_deref().is_some_and(|module| {
            package == module || package.strip_prefix(module).is_some_and(|rest| rest.starts_with('/'))
        })
    }
}

/// Returns how the packages below a directory begin: `org/demo`.
fn packages(java: &Path) -> BTreeSet<String> {
    let directories = |path: &Path| {
        let entries = path.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    let seconds = directories(java).into_iter().flat_map(|first| directories(&first));
    let named = seconds.filter_map(|path| Some(path.strip_prefix(java).ok()?.to_str()?.to_owned()));
    named.collect()
}

/// Tells whether all that kept the tests from running are names of the project that are not there.
pub(super) fn is_all(own: &Own, printed: &str) -> bool {
    let found: Vec<bool> = printed.lines().filter_map(|line| fault(own, line)).collect();
    !found.is_empty() && found.into_iter().all(|is_unresolved| is_unresolved)
}

/// Reads a line that names a fault: whether it is a name of the project that is not there. Nothing for any other line.
fn fault(own: &Own, line: &str) -> Option<bool> {
    let line = line.trim();
    // pytest's mark of what was raised.
    let line = line.strip_prefix("E ").map_or(line, str::trim);
    rust(own, line)
        .or_else(|| go(own, line))
        .or_else(|| python(own, line))
        .or_else(|| script(own, line))
        .or_else(|| ruby(own, line))
        .or_else(|| java(own, line))
}

fn rust(own: &Own, line: &str) -> Option<bool> {
    if let Some(rest) = line.strip_prefix("error[") {
        let (code, message) = rest.split_once("]: ")?;
        let of = ["in crate `", "in module `", "in `", "unresolved import `", "crate `", "module `"];
        let named = of.iter().find_map(|before| message.split_once(before)?.1.split('`').next());
        return Some(RUST.contains(&code) && named.is_none_or(|name| own.has(name)));
    }
    let rest = line.strip_prefix("error: ")?;
    if let Some(target) = rest.strip_prefix(RUST_SUMS[0]) {
        // The project itself has to build.
        return (!target.contains("(test ")).then_some(false);
    }
    RUST_SUMS.iter().all(|sum| !rest.starts_with(sum)).then_some(false)
}

fn go(own: &Own, line: &str) -> Option<bool> {
    let package = ["no required module provides package ", "package ", "does not contain package "]
        .iter()
        .find_map(|before| line.split_once(before).map(|(_, rest)| rest));
    let is_missing = line.contains("no required module provides")
        || line.contains("is not in std")
        || line.contains("does not contain package");
    if let Some(package) = package.filter(|_| is_missing) {
        return Some(own.has_go(package.split([' ', ';', ':']).next().unwrap_or_default()));
    }
    // a_test.go:9:2: undefined: demo.Greet
    let (place, message) = line.split_once(".go:")?;
    let (at, message) = message.split_once(": ")?;
    let is_place = at.split(':').all(|number| number.parse::<u64>().is_ok()) && !place.contains(' ');
    (is_place && own.module.is_some()).then(|| GO.iter().any(|words| message.contains(words)))
}

fn python(own: &Own, line: &str) -> Option<bool> {
    let quoted = |text: &str| text.split('\'').nth(1).map(str::to_owned);
    if let Some(rest) = line.strip_prefix("ModuleNotFoundError: ") {
        return Some(quoted(rest).is_some_and(|name| own.has(&name)));
    }
    if let Some(rest) = line.strip_prefix("ImportError: ") {
        if rest.starts_with("Failed to import test module") {
            return None;
        }
        let from = rest.strip_prefix("cannot import name ").and_then(|rest| rest.split_once(" from "));
        return Some(from.and_then(|(_, from)| quoted(from)).is_some_and(|name| own.has(&name)));
    }
    if let Some(rest) = line.strip_prefix("AttributeError: module ") {
        return Some(quoted(rest).is_some_and(|name| own.has(&name)));
    }
    ["SyntaxError: invalid", "IndentationError: ", "NameError: name "]
        .iter()
        .any(|beginning| line.starts_with(beginning))
        .then_some(false)
}

fn script(own: &Own, line: &str) -> Option<bool> {
    let quoted = |rest: &str| {
        let quote = rest.chars().find(|letter| matches!(letter, '\'' | '"'))?;
        rest.split(quote).nth(1).map(|name| name.trim_matches(['\'', '"']).to_owned())
    };
    if let Some((_, rest)) = line.split_once("error TS") {
        let code = format!("TS{}", rest.split(':').next().unwrap_or_default());
        let is_own = quoted(rest).is_some_and(|name| own.has_file(&name) || own.has(&name));
        return Some(if code == "TS2307" { is_own } else { TYPESCRIPT.contains(&code.as_str()) });
    }
    let missing =
        ["Cannot find module ", "Cannot find package ", "Failed to resolve import ", "Failed to load url "];
    if let Some(rest) = missing.iter().find_map(|before| Some(line.split_once(before)?.1)) {
        let name = quoted(rest).or_else(|| rest.split(' ').next().map(str::to_owned))?;
        return Some(own.has_file(&name) || own.has(&name));
    }
    if let Some((_, rest)) = line.split_once("The requested module ") {
        let is_own = quoted(rest).is_some_and(|name| own.has_file(&name) || own.has(&name));
        return Some(is_own && rest.contains("does not provide an export"));
    }
    line.starts_with("SyntaxError: ").then_some(false)
}

fn ruby(own: &Own, line: &str) -> Option<bool> {
    if let Some((_, rest)) = line.split_once("cannot load such file -- ") {
        let file = rest.split([' ', '(']).next().unwrap_or_default();
        return Some(own.has(file) || own.has_file(file));
    }
    let words = ["uninitialized constant ", "undefined method ", "undefined local variable or method "];
    let rest = words.iter().find_map(|before| Some(line.split_once(before)?.1))?;
    let is_of_tests = ["RSpec", "Minitest", "Test::Unit"].iter().any(|name| rest.starts_with(name));
    Some(!is_of_tests)
}

fn java(own: &Own, line: &str) -> Option<bool> {
    // Maven: [ERROR] /a/src/test/java/GreetTest.java:[9,5] cannot find symbol. javac: GreetTest.java:9: error: cannot find symbol
    let (place, message) = line.split_once(".java:")?;
    let message =
        message.split_once("] ").or_else(|| message.split_once(": error: ")).map(|(_, rest)| rest)?;
    let is_test = place.contains("/test/");
    let package = message.strip_prefix("package ").and_then(|rest| rest.strip_suffix(" does not exist"));
    let is_unresolved = match package {
        Some(package) => {
            own.packages.iter().any(|own| Path::new(&package.replace('.', "/")).starts_with(own))
        }
        None => JAVA.iter().any(|words| message.contains(words)),
    };
    Some(is_test && is_unresolved)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A project of every language at once.
    fn own() -> Own {
        let root = tempfile::tempdir().unwrap();
        let files = [
            ("Cargo.toml", "[package]\nname = \"demo-words\"\n"),
            ("go.mod", "module example.com/demo\n\ngo 1.22\n"),
            ("package.json", "{\"name\":\"demo\"}"),
            ("src/greeter/__init__.py", ""),
            ("src/main/java/org/demo/A.java", ""),
            ("lib/talk.rb", ""),
            ("tests/helper.py", ""),
        ];
        for (file, text) in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Own { root: "/project".to_owned(), ..Own::of(root.path()) }
    }

    #[test]
    fn a_name_of_the_project_that_is_not_there_is_a_failure() {
        let own = own();
        for printed in [
            "error[E0425]: cannot find function `greet` in crate `demo_words`\n --> tests/a.rs:3:5\nerror: could not compile `demo-words` (test \"a\") due to 1 previous error",
            "error[E0432]: unresolved import `demo_words::greet`\nerror[E0599]: no method named `x` found for struct `Y` in the current scope\nerror: aborting due to 2 previous errors",
            "# example.com/demo/tests/acceptance [example.com/demo/tests/acceptance.test]\ntests/acceptance/a_test.go:9:7: undefined: demo.Greet\nFAIL\texample.com/demo/tests/acceptance [build failed]",
            "a_test.go:4:2: package example.com/demo/greet is not in std",
            "ImportError while importing test module '/project/tests/test_a.py'.\nE   ImportError: cannot import name 'greet' from 'greeter' (/project/src/greeter/__init__.py)\nERROR collecting tests/test_a.py",
            "E   ModuleNotFoundError: No module named 'greeter.words'",
            "Cannot find module '../../src/greet' from 'tests/acceptance/a.test.ts'\nTest suite failed to run",
            "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/project/src/greet.js' imported from /project/tests/a.mjs",
            "SyntaxError: The requested module '../src/words.js' does not provide an export named 'greet'",
            "tests/a.test.ts:1:10 - error TS2305: Module '\"../src/words\"' has no exported member 'greet'.",
            "NameError:\n  uninitialized constant Talk::Greeting\nAn error occurred while loading ./spec/a_spec.rb. 0 examples, 0 failures, 1 error occurred outside of examples",
            "LoadError:\n  cannot load such file -- talk/greeting",
            "[ERROR] COMPILATION ERROR :\n[ERROR] /project/src/test/java/acceptance/GreetTest.java:[9,5] cannot find symbol\n[ERROR] /project/src/test/java/acceptance/GreetTest.java:[3,9] package org.demo.greet does not exist",
            "/project/src/test/java/GreetTest.java:9: error: cannot find symbol\n1 error\nCompilation failed; see the compiler error output for details.",
        ] {
            assert!(is_all(&own, printed), "{printed}");
        }
    }

    #[test]
    fn a_syntax_error_and_a_missing_dependency_are_none() {
        let own = own();
        for printed in [
            "",
            "it just ended",
            "error[E0432]: unresolved import `serde_json`\nerror: could not compile `demo-words` (test \"a\")",
            "error[E0433]: failed to resolve: use of unresolved module or unlinked crate `rand`",
            "error: expected one of `!` or `::`, found `greet`\nerror[E0425]: cannot find function `greet` in this scope",
            "error[E0425]: cannot find value `x` in this scope\nerror: could not compile `demo-words` (lib) due to 1 previous error",
            "error[E0308]: mismatched types\nerror: could not compile `demo-words` (test \"a\")",
            "a_test.go:4:2: no required module provides package github.com/stretchr/testify; to add it:",
            "a_test.go:9:2: undefined: demo.Greet\na_test.go:5:2: \"fmt\" imported and not used",
            "a_test.go:9:2: syntax error: unexpected newline",
            "E   ModuleNotFoundError: No module named 'requests'",
            "E   ModuleNotFoundError: No module named 'tests.other'",
            "E   ImportError: cannot import name 'greet' from 'greeter'\nE   SyntaxError: invalid syntax",
            "Cannot find module 'lodash' from 'tests/a.test.ts'",
            "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'chai' imported from /project/tests/a.mjs",
            "Cannot find module '/project/node_modules/x/y.js'",
            "SyntaxError: Unexpected token",
            "cannot load such file -- nokogiri (LoadError)",
            "uninitialized constant RSpec",
            "[ERROR] /project/src/test/java/GreetTest.java:[3,9] package org.junit.jupiter.api does not exist\n[ERROR] /project/src/test/java/GreetTest.java:[9,5] cannot find symbol",
            "[ERROR] /project/src/main/java/org/demo/A.java:[9,5] cannot find symbol",
            "[ERROR] /project/src/test/java/GreetTest.java:[9,5] ';' expected",
        ] {
            assert!(!is_all(&own, printed), "{printed}");
        }
    }
}
