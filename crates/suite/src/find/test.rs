//! Which command tests a project.

use super::{Files, ProgramLookup, node, python};

/// Returns the command that a project's files suggest.
///
/// A `test` target of a Makefile comes first: whoever wrote it beside another manifest meant it. What only wraps other
/// runners comes last.
pub(crate) fn test<F: Files>(files: &F, installed: ProgramLookup<'_>) -> Result<Option<String>, F::Error> {
    let plain = |command: &str| Ok(Some(command.to_owned()));
    let makefile = match files.first(&["Makefile", "makefile", "GNUmakefile"])? {
        Some(name) => files.read(name)?.unwrap_or_default(),
        None => String::new(),
    };
    if has_target(&makefile, "test") {
        return plain("make test");
    }
    if let Some(name) = files.first(&["justfile", "Justfile", ".justfile"])?
        && has_recipe(&files.read(name)?.unwrap_or_default(), "test")
    {
        return plain("just test");
    }
    if files.has("Cargo.toml")? {
        return plain("cargo test");
    }
    if let Some(command) = node::test(files)? {
        return Ok(Some(command));
    }
    if files.first(&["go.mod", "go.work"])?.is_some() {
        return plain("go test ./...");
    }
    if let Some(command) = python::test(files, installed)? {
        return Ok(Some(command));
    }
    if let Some(command) = by_manifest(files)? {
        return Ok(Some(command));
    }
    if files.has("tox.ini")? {
        return plain("tox");
    }
    if files.has("noxfile.py")? {
        return plain("nox");
    }
    if has_target(&makefile, "check") { plain("make check") } else { Ok(None) }
}

/// Looks at the manifests of other languages.
fn by_manifest<F: Files>(files: &F) -> Result<Option<String>, F::Error> {
    let root = files.list("")?;
    let ends = |ending: &str| root.iter().any(|name| name.ends_with(ending));
    let has = |name: &str| root.iter().any(|found| found == name);
    let command = if has("Gemfile") || has("Rakefile") {
        let exec = if has("Gemfile") { "bundle exec " } else { "" };
        match (has(".rspec") || has("spec"), has("Rakefile")) {
            (true, _) => format!("{exec}rspec"),
            (false, true) => format!("{exec}rake test"),
            (false, false) => return Ok(None),
        }
    } else if has("composer.json") {
        let composer: serde_json::Value =
            serde_json::from_str(&files.read("composer.json")?.unwrap_or_default()).unwrap_or_default();
        if composer.pointer("/scripts/test").is_some() {
            "composer test".to_owned()
        } else if has("phpunit.xml") || has("phpunit.xml.dist") || has("phpunit.dist.xml") {
            "vendor/bin/phpunit".to_owned()
        } else {
            return Ok(None);
        }
    } else if ends(".sln") || ends(".slnx") || ends(".csproj") || ends(".fsproj") || ends(".vbproj") {
        "dotnet test".to_owned()
    } else if has("pom.xml") {
        if has("mvnw") { "sh ./mvnw test" } else { "mvn test" }.to_owned()
    } else if has("build.gradle") || has("build.gradle.kts") {
        if has("gradlew") { "sh ./gradlew test" } else { "gradle test" }.to_owned()
    } else if has("mix.exs") {
        "mix test".to_owned()
    } else if has("deno.json") || has("deno.jsonc") {
        "deno test".to_owned()
    } else if has("build.zig") {
        "zig build test".to_owned()
    } else if has("Package.swift") {
        "swift test".to_owned()
    } else {
        return Ok(None);
    };
    Ok(Some(command))
}

/// Tells whether a Makefile has a target of that name.
fn has_target(makefile: &str, name: &str) -> bool {
    makefile.lines().any(|line| {
        let Some((targets, rest)) = line.split_once(':') else { return false };
        // `NAME := value` sets a variable.
        !line.starts_with([' ', '\t', '#', '.'])
            && !rest.starts_with('=')
            && targets.split_whitespace().any(|target| target == name)
    })
}

/// Tells whether a justfile has a recipe of that name.
fn has_recipe(justfile: &str, name: &str) -> bool {
    justfile.lines().any(|line| {
        let Some((head, rest)) = line.split_once(':') else { return false };
        let first = head.split_whitespace().next().unwrap_or_default();
        !line.starts_with([' ', '\t', '#']) && !rest.starts_with('=') && first.trim_start_matches('@') == name
    })
}

#[cfg(test)]
mod tests {
    use super::{super::fake::Project, *};

    type File<'a> = (&'a str, &'a str);

    fn found(files: &[File<'_>]) -> Option<String> {
        let Ok(found) = test(&Project::of(files), &|program| program == "python3");
        found
    }

    const UNITTEST: &str = "import unittest\n";

    #[test]
    fn the_command_that_people_would_type_is_found() {
        let jest = r#"{"scripts":{"test":"jest"}}"#;
        let table: &[(&[File<'_>], Option<&str>)] = &[
            (&[], None),
            (&[("README.md", "")], None),
            (&[("Makefile", "test:\n\ttrue\n"), ("Cargo.toml", "")], Some("make test")),
            (&[("Makefile", "all test: build\n\ttrue\n")], Some("make test")),
            (&[("Makefile", "test := x\nbuild:\n\tcargo test: x\n"), ("Cargo.toml", "")], Some("cargo test")),
            (&[("Makefile", "check:\n\ttrue\n")], Some("make check")),
            (&[("Makefile", "check:\n\ttrue\n"), ("go.mod", "module a\n")], Some("go test ./...")),
            (&[("justfile", "build:\n  x\ntest filter='':\n  y\n")], Some("just test")),
            (&[("Cargo.toml", "")], Some("cargo test")),
            (&[("package.json", jest)], Some("npm test")),
            (&[("package.json", jest), ("pnpm-lock.yaml", "")], Some("pnpm test")),
            (&[("package.json", jest), ("yarn.lock", "")], Some("yarn test")),
            (&[("package.json", jest), ("bun.lock", "")], Some("bun run test")),
            (&[("package.json", "{}"), ("bun.lockb", "")], Some("bun test")),
            (
                &[("package.json", r#"{"packageManager":"pnpm@9.1.0","scripts":{"test":"x"}}"#)],
                Some("pnpm test"),
            ),
            (&[("package.json", "{ // a comment\n\"scripts\": {\"test\": \"x\"}}")], Some("npm test")),
            (
                &[("package.json", r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#)],
                None,
            ),
            (&[("package.json", r#"{"scripts":{"build":"tsc"},"keywords":["test"]}"#)], None),
            (&[("go.mod", "module a\n")], Some("go test ./...")),
            (&[("pyproject.toml", "[project]\nname='a'\n")], Some("python -m pytest")),
            (&[("pytest.ini", "")], Some("python -m pytest")),
            (&[("setup.py", "")], Some("python -m pytest")),
            (
                &[
                    ("pyproject.toml", "[project]\nname='a'\n"),
                    ("tests/__init__.py", ""),
                    ("tests/test_a.py", UNITTEST),
                ],
                Some("python3 -m unittest -v"),
            ),
            (
                &[("setup.py", ""), ("tests/test_a.py", UNITTEST)],
                Some("python3 -m unittest discover -v -s tests"),
            ),
            (
                &[("pyproject.toml", "[project]\nname='a'\ndependencies=['b']\n"), ("test_a.py", UNITTEST)],
                Some("python -m unittest -v"),
            ),
            (
                &[("setup.py", ""), ("tests/test_a.py", "import unittest\nimport pytest\n")],
                Some("python -m pytest"),
            ),
            (
                &[("requirements-dev.txt", "pytest==8\n"), ("tests/test_a.py", UNITTEST)],
                Some("python -m pytest"),
            ),
            (&[("test_a.py", UNITTEST)], Some("python3 -m unittest -v")),
            (&[("Gemfile", ""), (".rspec", "")], Some("bundle exec rspec")),
            (&[("Gemfile", ""), ("Rakefile", ""), ("test/a_test.rb", "")], Some("bundle exec rake test")),
            (&[("Rakefile", "")], Some("rake test")),
            (&[("composer.json", r#"{"scripts":{"test":"phpunit"}}"#)], Some("composer test")),
            (&[("composer.json", "{}"), ("phpunit.xml.dist", "")], Some("vendor/bin/phpunit")),
            (&[("App.sln", "")], Some("dotnet test")),
            (&[("pom.xml", "")], Some("mvn test")),
            (&[("pom.xml", ""), ("mvnw", "")], Some("sh ./mvnw test")),
            (&[("build.gradle.kts", "")], Some("gradle test")),
            (&[("mix.exs", "")], Some("mix test")),
            (&[("deno.json", "")], Some("deno test")),
            (&[("build.zig", "")], Some("zig build test")),
            (&[("tox.ini", "")], Some("tox")),
            (&[("noxfile.py", "")], Some("nox")),
        ];
        for (files, expected) in table {
            assert_eq!(found(files).as_deref(), *expected, "{files:?}");
        }
    }
}
