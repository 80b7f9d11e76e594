//! What has to be installed before a project's tests can run.

use super::{Files, ProgramLookup, node, python};

/// How a project is made ready.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Setup {
    pub parts: Vec<Part>,
}

/// One step: a command line, and the program that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub line: String,
    pub program: &'static str,
    /// Programs whose tests depend on this step.
    serves: &'static [&'static str],
}

/// First words of test commands that are of one language.
const NODE: &[&str] = &["npm", "pnpm", "yarn", "bun", "node", "npx"];
const PYTHON: &[&str] = &["python", "python3", "pytest", "uv", "poetry"];
const RUBY: &[&str] = &["bundle", "rspec", "rake"];
const OTHERS: &[&str] = &["cargo", "go", "dotnet", "composer", "mix", "mvn", "gradle", "vendor/bin/phpunit"];

impl Setup {
    /// Returns the whole command line; nothing if there is nothing to be done.
    pub(crate) fn line(&self) -> Option<String> {
        let lines: Vec<&str> = self.parts.iter().map(|part| part.line.as_str()).collect();
        (!lines.is_empty()).then(|| lines.join(" && "))
    }
}

/// Returns how a project is made ready for `test`, its test command.
///
/// A step whose program is not installed is left out if the tests are plainly of another language: a package.json that
/// only builds the documentation of a Rust crate stops nobody.
pub(crate) fn setup<F: Files>(
    files: &F,
    test: Option<&str>,
    installed: ProgramLookup<'_>,
) -> Result<Setup, F::Error> {
    let mut parts = all(files, installed)?;
    let program = test.and_then(|test| test.split_whitespace().next()).unwrap_or_default();
    let is_known = [NODE, PYTHON, RUBY, OTHERS].iter().any(|known| known.contains(&program));
    parts.retain(|part| installed(part.program) || !is_known || part.serves.contains(&program));
    Ok(Setup { parts })
}

fn all<F: Files>(files: &F, installed: ProgramLookup<'_>) -> Result<Vec<Part>, F::Error> {
    let mut parts = Vec::new();
    let mut add = |line: &str, program: &'static str, serves: &'static [&'static str]| {
        parts.push(Part { line: line.to_owned(), program, serves });
    };
    if files.read("Cargo.lock")?.is_some_and(|lock| lock.contains("\nsource = ")) {
        add("cargo fetch", "cargo", &["cargo"]);
    }
    if let Some((line, program)) = node::setup(files)? {
        add(&line, program, NODE);
    }
    let requires = |text: String| text.lines().any(|line| line.starts_with("require"));
    if files.read("go.mod")?.is_some_and(requires) && !files.has("vendor/modules.txt")? {
        add("go mod download", "go", &["go"]);
    }
    if let Some((line, program)) = python::setup(files, installed)? {
        add(&line, program, PYTHON);
    }
    if files.has("Gemfile")? {
        add("bundle config set --local path vendor/bundle && bundle install", "bundle", RUBY);
    }
    if let Some(text) = files.read("composer.json")? {
        let composer: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let is_package = |name: &String| name.contains('/');
        let has_any = ["require", "require-dev"].iter().any(|field| {
            composer.get(*field).and_then(|of| of.as_object()).is_some_and(|of| of.keys().any(is_package))
        });
        if has_any {
            add("composer install --no-interaction", "composer", &["composer", "vendor/bin/phpunit"]);
        }
    }
    let endings = [".sln", ".slnx", ".csproj", ".fsproj", ".vbproj"];
    if files.list("")?.iter().any(|name| endings.iter().any(|ending| name.ends_with(ending))) {
        add("dotnet restore", "dotnet", &["dotnet"]);
    }
    if files.has("mix.lock")? {
        add("mix deps.get", "mix", &["mix"]);
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::{super::fake::Project, *};

    const VENV: &str = "python3 -m venv .venv && printf '*\\n' > .venv/.gitignore && \
                        .venv/bin/python -m pip install --quiet --disable-pip-version-check";

    type File<'a> = (&'a str, &'a str);

    fn found(files: &[File<'_>]) -> Option<String> {
        let Ok(setup) = setup(&Project::of(files), None, &|_| true);
        setup.line().map(|line| line.replace(VENV, "VENV"))
    }

    #[test]
    fn what_the_tests_need_is_installed_and_nothing_where_they_need_nothing() {
        let dependent = r#"{"devDependencies":{"a":"1"}}"#;
        let table: &[(&[File<'_>], Option<&str>)] = &[
            (&[], None),
            (&[("Cargo.toml", "")], None),
            (&[("Cargo.lock", "[[package]]\nname = \"own\"\n")], None),
            (&[("Cargo.lock", "[[package]]\nname = \"a\"\nsource = \"registry\"\n")], Some("cargo fetch")),
            (&[("package.json", "{}")], None),
            (
                &[
                    ("package.json", r#"{"scripts":{"test":"node --test"}}"#),
                    ("package-lock.json", r#"{"packages":{"":{}}}"#),
                ],
                None,
            ),
            (&[("package.json", dependent)], Some("npm install --no-package-lock --no-audit --no-fund")),
            (
                &[("package.json", dependent), ("package-lock.json", "{}")],
                Some("npm ci --no-audit --no-fund"),
            ),
            (
                &[("package.json", dependent), ("npm-shrinkwrap.json", "{}")],
                Some("npm ci --no-audit --no-fund"),
            ),
            (
                &[
                    ("package.json", "{}"),
                    ("package-lock.json", r#"{"packages":{"":{},"node_modules/a":{}}}"#),
                ],
                Some("npm ci --no-audit --no-fund"),
            ),
            (&[("package.json", dependent), ("pnpm-lock.yaml", "")], Some("pnpm install --frozen-lockfile")),
            (
                &[("package.json", "{}"), ("pnpm-workspace.yaml", ""), ("pnpm-lock.yaml", "")],
                Some("pnpm install --frozen-lockfile"),
            ),
            (&[("package.json", dependent), ("yarn.lock", "")], Some("yarn install --frozen-lockfile")),
            (
                &[("package.json", dependent), ("yarn.lock", ""), (".yarnrc.yml", "")],
                Some("yarn install --immutable"),
            ),
            (
                &[
                    ("package.json", r#"{"packageManager":"yarn@4.1.0","dependencies":{"a":"1"}}"#),
                    ("yarn.lock", ""),
                ],
                Some("yarn install --immutable"),
            ),
            (
                &[
                    ("package.json", r#"{"packageManager":"yarn@1.22.0","dependencies":{"a":"1"}}"#),
                    ("yarn.lock", ""),
                ],
                Some("yarn install --frozen-lockfile"),
            ),
            (&[("package.json", dependent), ("bun.lockb", "")], Some("bun install --frozen-lockfile")),
            (&[("go.mod", "module a\n\ngo 1.19\n")], None),
            (&[("go.mod", "module a\n\nrequire b v1\n")], Some("go mod download")),
            (&[("go.mod", "module a\n\nrequire b v1\n"), ("vendor/modules.txt", "")], None),
            (
                &[("pyproject.toml", "[project]\nname='a'\n"), ("uv.lock", "")],
                Some("uv sync --all-extras --all-groups"),
            ),
            (&[("pyproject.toml", "[tool.uv]\nconflicts=[]\n"), ("uv.lock", "")], Some("uv sync")),
            (
                &[("pyproject.toml", "[tool.poetry.extras]\ntest=['x']\n"), ("poetry.lock", "")],
                Some("POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --no-interaction --extras test"),
            ),
            (&[("Pipfile", ""), ("Pipfile.lock", "")], Some("PIPENV_VENV_IN_PROJECT=1 pipenv sync --dev")),
            (&[("pyproject.toml", "[project]\nname='a'\n")], Some("VENV -e . pytest")),
            (
                &[(
                    "pyproject.toml",
                    "[project]\nname='a'\n[project.optional-dependencies]\ntest=['pytest>=8']\ndocs=['x']\n",
                )],
                Some("VENV -e '.[test]'"),
            ),
            (
                &[(
                    "pyproject.toml",
                    "[project]\nname='a'\n[dependency-groups]\ndev=[{include-group='tests'},'ruff']\ntests=['pytest>8']\ndocs=['x']\n",
                )],
                Some("VENV -e . 'pytest>8' ruff"),
            ),
            (
                &[("setup.cfg", "[metadata]\n[options.extras_require]\ndev =\n  pytest\n")],
                Some("VENV -e '.[dev]'"),
            ),
            (
                &[("setup.py", "setup(extras_require={'tests': ['pytest']})")],
                Some("VENV -e '.[tests]' pytest"),
            ),
            (
                &[("requirements.txt", "a\n"), ("requirements-dev.txt", "pytest\n")],
                Some("VENV -r requirements.txt -r requirements-dev.txt"),
            ),
            (
                &[("setup.py", ""), ("requirements.txt", "a\n"), ("requirements/test.txt", "pytest\n")],
                Some("VENV -e . -r requirements/test.txt"),
            ),
            (&[("pyproject.toml", "[project]\nname='a'\n"), ("test_a.py", "import unittest\n")], None),
            (
                &[
                    ("pyproject.toml", "[project]\nname='a'\n"),
                    ("src/a.py", ""),
                    ("tests/test_a.py", "import unittest\n"),
                ],
                Some("VENV -e ."),
            ),
            (
                &[
                    ("pyproject.toml", "[project]\nname='a'\ndependencies=['b']\n"),
                    ("test_a.py", "import unittest\n"),
                ],
                Some("VENV -e ."),
            ),
            (&[("Gemfile", "")], Some("bundle config set --local path vendor/bundle && bundle install")),
            (&[("composer.json", r#"{"require":{"php":">=8"}}"#)], None),
            (
                &[("composer.json", r#"{"require-dev":{"phpunit/phpunit":"*"}}"#)],
                Some("composer install --no-interaction"),
            ),
            (&[("a.csproj", "")], Some("dotnet restore")),
            (
                &[
                    ("package.json", dependent),
                    ("package-lock.json", "{}"),
                    ("uv.lock", ""),
                    ("pyproject.toml", ""),
                ],
                Some("npm ci --no-audit --no-fund && uv sync --all-extras --all-groups"),
            ),
        ];
        for (files, expected) in table {
            assert_eq!(found(files).as_deref(), *expected, "{files:?}");
        }
    }

    #[test]
    fn a_missing_program_counts_only_where_the_tests_may_need_it() {
        let files = Project::of(&[("package.json", r#"{"dependencies":{"a":"1"}}"#), ("yarn.lock", "")]);
        for (test, expected) in [("cargo test", 0), ("yarn test", 1), ("make test", 1)] {
            let Ok(setup) = setup(&files, Some(test), &|program| program != "yarn");
            assert_eq!(setup.parts.len(), expected, "{test}");
        }
    }
}
