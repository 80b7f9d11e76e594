//! Python projects: pytest or unittest, and what goes into their virtual environment.
//!
//! The environment is the slot's own `.venv`. Extras, dependency groups and requirement files whose names speak of tests
//! or of development are installed with the project.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::{Files, ProgramLookup, Words, quoted};

/// Names of extras and dependency groups that tests are likely to need.
const FOR_TESTS: [&str; 7] = ["test", "tests", "testing", "dev", "develop", "development", "pytest"];
/// Requirement files that tests are likely to need.
const REQUIREMENTS: [&str; 16] = [
    "requirements-dev.txt",
    "requirements_dev.txt",
    "dev-requirements.txt",
    "dev_requirements.txt",
    "requirements-test.txt",
    "requirements_test.txt",
    "requirements-tests.txt",
    "requirements-testing.txt",
    "test-requirements.txt",
    "test_requirements.txt",
    "tests-requirements.txt",
    "requirements/dev.txt",
    "requirements/test.txt",
    "requirements/tests.txt",
    "requirements/testing.txt",
    "requirements/development.txt",
];
/// Files that speak of pytest if the project uses it.
const MENTIONS: [&str; 8] = [
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "tox.ini",
    "noxfile.py",
    "requirements.txt",
    "Pipfile",
    "poetry.lock",
];
/// Where tests lie.
const PLACES: [&str; 3] = ["tests", "test", ""];
/// How many test files are read to see what they are written for.
const READ: usize = 8;
/// How deep groups may include each other.
const DEEPEST: usize = 8;

/// What runs a project's tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runner {
    Pytest,
    /// With discovery that begins in this directory; the root is empty.
    Unittest(&'static str),
}

/// Tells whether there is a Python project.
fn is_there<F: Files>(files: &F) -> Result<bool, F::Error> {
    let manifests = ["pyproject.toml", "pytest.ini", "setup.py", "setup.cfg", "Pipfile", "requirements.txt"];
    Ok(files.first(&manifests)?.is_some() || test_files(files)?.is_some())
}

/// Returns where test files are, and their names.
fn test_files<F: Files>(files: &F) -> Result<Option<(&'static str, Vec<String>)>, F::Error> {
    let is_test = |name: &String| {
        name.strip_suffix(".py").is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test"))
    };
    for place in PLACES {
        let names: Vec<String> = files.list(place)?.into_iter().filter(is_test).collect();
        if !names.is_empty() {
            return Ok(Some((place, names)));
        }
    }
    Ok(None)
}

fn runner<F: Files>(files: &F) -> Result<Runner, F::Error> {
    if files
        .first(&["pytest.ini", ".pytest.ini", "conftest.py", "tests/conftest.py", "test/conftest.py"])?
        .is_some()
    {
        return Ok(Runner::Pytest);
    }
    for name in MENTIONS.iter().chain(&REQUIREMENTS) {
        if files.read(name)?.is_some_and(|text| text.contains("pytest")) {
            return Ok(Runner::Pytest);
        }
    }
    let Some((place, names)) = test_files(files)? else { return Ok(Runner::Pytest) };
    let mut speaks = false;
    for name in names.iter().take(READ) {
        let path = if place.is_empty() { name.clone() } else { format!("{place}/{name}") };
        let text = files.read(&path)?.unwrap_or_default();
        if text.contains("import pytest") || text.contains("from pytest") {
            return Ok(Runner::Pytest);
        }
        speaks |= text.contains("unittest");
    }
    // As a package they are found from the root; else discovery has to begin where they are.
    let from_root = place.is_empty() || files.has(&format!("{place}/__init__.py"))?;
    Ok(if speaks { Runner::Unittest(if from_root { "" } else { place }) } else { Runner::Pytest })
}

/// Returns the command that runs the project's tests.
pub(super) fn test<F: Files>(files: &F, installed: ProgramLookup<'_>) -> Result<Option<String>, F::Error> {
    if !is_there(files)? {
        return Ok(None);
    }
    // In a virtual environment there always is a `python`.
    let has_venv = setup(files, installed)?.is_some();
    let python = if has_venv || installed("python") || !installed("python3") { "python" } else { "python3" };
    Ok(match runner(files)? {
        Runner::Pytest => Some(format!("{python} -m pytest")),
        Runner::Unittest("") => Some(format!("{python} -m unittest -v")),
        Runner::Unittest(place) => Some(format!("{python} -m unittest discover -v -s {place}")),
    })
}

/// Returns the command that makes the virtual environment, and its program; nothing if the tests need none.
pub(super) fn setup<F: Files>(
    files: &F,
    installed: ProgramLookup<'_>,
) -> Result<Option<(String, &'static str)>, F::Error> {
    if !is_there(files)? {
        return Ok(None);
    }
    let manifest = Manifest::read(files)?;
    if files.has("uv.lock")? {
        let conflicts = manifest.has(&["tool", "uv", "conflicts"]);
        let all = if conflicts { "uv sync" } else { "uv sync --all-extras --all-groups" };
        return Ok(Some((all.to_owned(), "uv")));
    }
    if files.has("poetry.lock")? {
        let mut words = Words::default();
        words.add("POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --no-interaction");
        for extra in for_tests(manifest.keys(&["tool", "poetry", "extras"])) {
            words.add(format!("--extras {}", quoted(&extra)));
        }
        return Ok(Some((words.0, "poetry")));
    }
    if files.has("Pipfile.lock")? {
        return Ok(Some(("PIPENV_VENV_IN_PROJECT=1 pipenv sync --dev".to_owned(), "pipenv")));
    }
    let wanted = wanted(files, &manifest)?;
    if wanted.is_empty() {
        return Ok(None);
    }
    let python = if installed("python3") || !installed("python") { "python3" } else { "python" };
    let pip = ".venv/bin/python -m pip install --quiet --disable-pip-version-check";
    // Pythons before 3.13 do not keep git away from what they make.
    let venv = format!("{python} -m venv .venv && printf '*\\n' > .venv/.gitignore");
    Ok(Some((format!("{venv} && {pip} {}", wanted.join(" ")), python)))
}

/// Returns what pip is to install, as its arguments.
fn wanted<F: Files>(files: &F, manifest: &Manifest) -> Result<Vec<String>, F::Error> {
    let mut wanted = Vec::new();
    let runner = runner(files)?;
    let extras = for_tests(manifest.extras.iter().cloned());
    let is_package = manifest.is_package;
    let needs_install = is_package
        && (manifest.has_dependencies || !extras.is_empty() || files.has("src")? || runner == Runner::Pytest);
    if needs_install {
        let extras = if extras.is_empty() { String::new() } else { format!("[{}]", extras.join(",")) };
        wanted.push(format!("-e {}", quoted(&format!(".{extras}"))));
    }
    let mut requirements = Vec::new();
    for name in REQUIREMENTS {
        if files.has(name)? {
            requirements.push(name);
        }
    }
    if (!is_package || requirements.is_empty()) && files.has("requirements.txt")? {
        requirements.insert(0, "requirements.txt");
    }
    wanted.extend(requirements.iter().map(|name| format!("-r {name}")));
    let groups = for_tests(manifest.keys(&["dependency-groups"]));
    let mut named = BTreeSet::new();
    for group in &groups {
        manifest.expand(group, DEEPEST, &mut named);
    }
    wanted.extend(named.iter().map(|requirement| quoted(requirement)));
    if runner == Runner::Pytest {
        let mut has_pytest = named.iter().any(|requirement| is_pytest(requirement));
        for name in &requirements {
            has_pytest |= files.read(name)?.is_some_and(|text| text.lines().any(is_pytest));
        }
        has_pytest |= manifest.declared.iter().any(|requirement| is_pytest(requirement));
        if !has_pytest {
            wanted.push("pytest".to_owned());
        }
    }
    Ok(wanted)
}

/// Tells whether a requirement is pytest itself, or a plugin that brings it.
fn is_pytest(requirement: &str) -> bool {
    requirement.trim().to_ascii_lowercase().starts_with("pytest")
}

fn for_tests(names: impl IntoIterator<Item = String>) -> Vec<String> {
    names.into_iter().filter(|name| FOR_TESTS.contains(&name.to_ascii_lowercase().as_str())).collect()
}

/// What a project says of itself, in whichever file.
struct Manifest {
    pyproject: Table,
    /// Whether pip can install it.
    is_package: bool,
    has_dependencies: bool,
    extras: Vec<String>,
    /// Requirements of the project and of its extras for tests.
    declared: Vec<String>,
}

impl Manifest {
    fn read<F: Files>(files: &F) -> Result<Self, F::Error> {
        let text = files.read("pyproject.toml")?.unwrap_or_default();
        let pyproject: Table = text.parse().unwrap_or_default();
        let (py, cfg) = (files.read("setup.py")?, files.read("setup.cfg")?);
        let (py, cfg) = (py.unwrap_or_default(), cfg.unwrap_or_default());
        let mut manifest = Self {
            pyproject,
            is_package: false,
            has_dependencies: false,
            extras: Vec::new(),
            declared: Vec::new(),
        };
        let is_poetry = manifest.has(&["tool", "poetry"]);
        manifest.is_package = manifest.has(&["project"])
            || manifest.has(&["build-system"])
            || is_poetry
            || files.has("setup.py")?
            || cfg.contains("[metadata]");
        manifest.has_dependencies = !manifest.strings(&["project", "dependencies"]).is_empty()
            || is_poetry
            || py.contains("install_requires")
            || cfg.contains("install_requires");
        manifest.extras = manifest.keys(&["project", "optional-dependencies"]);
        manifest.extras.extend(cfg_extras(&cfg));
        manifest.extras.extend(py_extras(&py));
        manifest.declared = manifest.strings(&["project", "dependencies"]);
        for extra in for_tests(manifest.extras.clone()) {
            manifest.declared.extend(manifest.strings(&["project", "optional-dependencies", &extra]));
        }
        let older = cfg.lines().chain(py.lines());
        manifest
            .declared
            .extend(older.map(|line| line.trim_matches([' ', '\t', '"', '\'', '[', ',']).to_owned()));
        Ok(manifest)
    }

    fn value(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(self.pyproject.get(*first)?, |value, key| value.get(*key))
    }

    fn has(&self, path: &[&str]) -> bool {
        self.value(path).is_some()
    }

    fn keys(&self, path: &[&str]) -> Vec<String> {
        self.value(path)
            .and_then(Value::as_table)
            .map(|table| table.keys().cloned().collect())
            .unwrap_or_default()
    }

    fn strings(&self, path: &[&str]) -> Vec<String> {
        let entries = self.value(path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        entries.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// Adds the requirements of a dependency group and of those that it includes.
    fn expand(&self, group: &str, depth: usize, all: &mut BTreeSet<String>) {
        let entries = self.value(&["dependency-groups", group]).and_then(Value::as_array);
        for entry in entries.into_iter().flatten() {
            match (entry.as_str(), entry.get("include-group").and_then(Value::as_str)) {
                (Some(requirement), _) => {
                    all.insert(requirement.to_owned());
                }
                (None, Some(other)) if depth > 0 => self.expand(other, depth - 1, all),
                (None, _) => {}
            }
        }
    }
}

/// Reads the names of extras off `setup.cfg`.
fn cfg_extras(text: &str) -> Vec<String> {
    let section = text.lines().skip_while(|line| line.trim() != "[options.extras_require]").skip(1);
    let section = section.take_while(|line| !line.starts_with('['));
    let names = section.filter(|line| !line.starts_with([' ', '\t'])).filter_map(|line| line.split_once('='));
    names.map(|(name, _)| name.trim().to_owned()).collect()
}

/// Reads the names of extras for tests off `setup.py`, as far as they are written out there.
fn py_extras(text: &str) -> Vec<String> {
    let Some((_, after)) = text.split_once("extras_require") else { return Vec::new() };
    let is_named = |name: &&&str| {
        ['"', '\''].iter().any(|quote| {
            let key = format!("{quote}{name}{quote}");
            after.split(&key).skip(1).any(|rest| rest.trim_start().starts_with(':'))
        })
    };
    FOR_TESTS.iter().filter(is_named).map(|name| (*name).to_owned()).collect()
}
