//! The language of a project, and where its acceptance tests go: a file that the runner collects.

use std::{fs, path::Path};

/// A language whose runner is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Rust,
    Go,
    Java,
    TypeScript,
    JavaScript,
    Ruby,
    Python,
}

/// The files by which a language is told, the surest first.
const SIGNS: [(&str, Language); 15] = [
    ("Cargo.toml", Language::Rust),
    ("go.mod", Language::Go),
    ("pom.xml", Language::Java),
    ("build.gradle", Language::Java),
    ("build.gradle.kts", Language::Java),
    ("tsconfig.json", Language::TypeScript),
    ("package.json", Language::JavaScript),
    ("Gemfile", Language::Ruby),
    ("Rakefile", Language::Ruby),
    ("pyproject.toml", Language::Python),
    ("setup.py", Language::Python),
    ("setup.cfg", Language::Python),
    ("pytest.ini", Language::Python),
    ("tox.ini", Language::Python),
    ("requirements.txt", Language::Python),
];

impl Language {
    /// Tells the language of a project by the files at its root.
    pub(super) fn of(root: &Path) -> Option<Self> {
        SIGNS.iter().find(|(sign, _)| root.join(sign).is_file()).map(|(_, language)| *language)
    }

    /// Returns the file that acceptance tests go into, with `FEATURE` for a short name of the feature.
    pub(super) fn file(self, root: &Path) -> &'static str {
        match self {
            Self::Rust => "tests/FEATURE_acceptance.rs",
            Self::Go => "tests/acceptance/FEATURE_test.go",
            Self::Java => "src/test/java/acceptance/FeatureTest.java",
            Self::TypeScript => "tests/acceptance/FEATURE.test.ts",
            Self::JavaScript => "tests/acceptance/FEATURE.test.js",
            Self::Ruby if root.join("spec").is_dir() || root.join(".rspec").is_file() => {
                "spec/acceptance/FEATURE_spec.rb"
            }
            Self::Ruby => "test/acceptance/test_FEATURE.rb",
            Self::Python => "tests/acceptance/test_FEATURE.py",
        }
    }

    /// Says when such a test has failed because what it asks for is not there.
    fn rule(self) -> &'static str {
        match self {
            Self::Rust => {
                "a function, type, field or module of this crate that is not there (`error[E0425]`, `E0432`, `E0599`, …)"
            }
            Self::Go => "a name of this module that is `undefined`, or a package of it that is not there",
            Self::Java => {
                "a class, method or package of this project for which the compiler says `cannot find symbol` or `does not exist`"
            }
            Self::TypeScript | Self::JavaScript => {
                "a module of this project, imported by its path, or an export of it that is not there"
            }
            Self::Ruby => {
                "a constant or method that is not there (`NameError`, `NoMethodError`), or a file of this project that cannot be loaded"
            }
            Self::Python => "a module, function or class of this project that cannot be imported",
        }
    }
}

/// Says where acceptance tests go, by which command they are run, and what counts as failed.
pub fn advice(root: &Path, settings: &engine::Settings) -> String {
    let Some(language) = Language::of(root) else {
        return "Write them into a file that the test runner collects, such as `tests/acceptance/DATE-FEATURE-acceptance.EXT`. A test that \
                cannot be loaded or built is an error, and does not count."
            .to_owned();
    };
    let file = language.file(root);
    let command = super::command(root, settings, file).ok().flatten();
    let command = command.map(|command| format!(" Warp runs it with `{}`.", command.replace('\'', "")));
    format!(
        "Write them into `{file}`, which the runner collects.{} A test fails, as it should, at {}. A syntax error or a missing dependency \
         is no failure.",
        command.unwrap_or_default(),
        language.rule()
    )
}

/// Returns the text of a small file of a project; nothing if there is none.
pub(super) fn text(root: &Path, file: &str) -> String {
    let path = root.join(file);
    // Only a file is read: a pipe would never answer.
    if path.is_file() { fs::read_to_string(path).unwrap_or_default() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_language_has_a_file_that_its_runner_collects_and_a_command() {
        let cases = [
            ("Cargo.toml", "tests/FEATURE_acceptance.rs", "cargo test --test FEATURE_acceptance"),
            ("go.mod", "tests/acceptance/FEATURE_test.go", "go test -v ./tests/acceptance/..."),
            ("pom.xml", "src/test/java/acceptance/FeatureTest.java", "mvn -B test -Dtest=FeatureTest"),
            ("build.gradle", "src/test/java/acceptance/FeatureTest.java", "gradle test --tests FeatureTest"),
            (
                "package.json",
                "tests/acceptance/FEATURE.test.js",
                "node --test tests/acceptance/FEATURE.test.js",
            ),
            (
                "Gemfile",
                "test/acceptance/test_FEATURE.rb",
                "bundle exec ruby -Ilib -Itest test/acceptance/test_FEATURE.rb",
            ),
            (
                "pyproject.toml",
                "tests/acceptance/test_FEATURE.py",
                "python -m pytest tests/acceptance/test_FEATURE.py",
            ),
        ];
        for (sign, file, command) in cases {
            let root = tempfile::tempdir().unwrap();
            assert!(advice(root.path(), &engine::Settings::default()).contains("-acceptance.EXT"));
            fs::write(root.path().join(sign), "").unwrap();
            let told = advice(root.path(), &engine::Settings::default());
            assert!(told.contains(&format!("`{file}`")), "{sign}: {told}");
            assert!(told.contains(&format!("`{command}`")), "{sign}: {told}");
        }
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("package.json"), r#"{"scripts":{"test":"vitest run"}}"#).unwrap();
        fs::write(root.path().join("tsconfig.json"), "{}").unwrap();
        let told = advice(root.path(), &engine::Settings::default());
        assert!(told.contains("`npm test -- tests/acceptance/FEATURE.test.ts`"), "{told}");
        fs::write(root.path().join("Gemfile"), "").unwrap();
        fs::remove_file(root.path().join("tsconfig.json")).unwrap();
        fs::remove_file(root.path().join("package.json")).unwrap();
        fs::create_dir(root.path().join("spec")).unwrap();
        let told = advice(root.path(), &engine::Settings::default());
        assert!(told.contains("`bundle exec rspec spec/acceptance/FEATURE_spec.rb`"), "{told}");
    }
}
