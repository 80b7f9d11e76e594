//! Python: with an environment of the person's that imports their checkout, with pytest, with unittest.

use std::{fs, path::Path};

use testkit::Sandbox;

use super::{
    index,
    shape::{Code, Expected, Place, Shape},
};

/// A back end that lies in the project, so that `pip install -e .` needs no other.
const BACK_END: &str = r#"import os, zipfile

NAME = "calc-1.0"
METADATA = "Metadata-Version: 2.1\nName: calc\nVersion: 1.0\nProvides-Extra: test\nRequires-Dist: pytest; extra == 'test'\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: calc\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def build_editable(directory, config_settings=None, metadata_directory=None):
    name = NAME + "-py3-none-any.whl"
    files = {
        "calc.pth": os.path.abspath("src") + "\n",
        NAME + ".dist-info/METADATA": METADATA,
        NAME + ".dist-info/WHEEL": WHEEL,
    }
    record = NAME + ".dist-info/RECORD"
    with zipfile.ZipFile(os.path.join(directory, name), "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
        wheel.writestr(record, "".join(f"{path},,\n" for path in [*files, record]))
    return name
"#;

const PROJECT: &str = r#"[build-system]
requires = []
build-backend = "backend"
backend-path = ["packaging"]

[project]
name = "calc"
version = "1.0"
"#;

const EXTRA: &str = "\n[project.optional-dependencies]\ntest = [\"pytest\"]\n";

const BEFORE: &str = "def add(a, b):\n    return a + b\n";
const RIGHT: &str = "def add(a, b):\n    return a + b\n\n\ndef double(a):\n    return add(a, a)\n";
const BROKEN: &str = "def add(a, b):\n    return a - b\n\n\ndef double(a):\n    return a * 2\n";

const TESTS: &str = "import unittest\n\nimport calc\n\n\nclass Adding(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(calc.add(2, 3), 5)\n";
const TESTS_AFTER: &str = "import unittest\n\nimport calc\n\n\nclass Adding(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(calc.add(2, 3), 5)\n\n    def test_double(self):\n        self.assertEqual(calc.double(4), 8)\n";
const RED: &str = "import unittest\n\nimport calc\n\n\nclass Old(unittest.TestCase):\n    def test_old(self):\n        self.assertEqual(calc.add(1, 1), 3)\n";

const IGNORED: &str = ".venv/\n__pycache__/\n";

fn flat() -> Code {
    Code {
        source: "calc.py",
        before: BEFORE,
        right: RIGHT,
        broken: BROKEN,
        tests: "tests/test_calc.py",
        tests_before: TESTS,
        tests_after: TESTS_AFTER,
    }
}

fn src_layout(name: &'static str, needs: &'static [&'static str]) -> Shape {
    Shape::new(name, needs, Code { source: "src/calc/__init__.py", ..flat() }).with(&[
        ("packaging/backend.py", BACK_END),
        ("tests/__init__.py", ""),
        (".gitignore", IGNORED),
    ])
}

fn unittest(name: &'static str) -> Shape {
    Shape::new(name, &["python3"], flat()).with(&[("tests/__init__.py", ""), (".gitignore", IGNORED)])
}

pub(crate) fn shapes() -> Vec<Shape> {
    vec![
        src_layout("python, src, venv in the home", &["python3", index::WHEELS])
            .with(&[("pyproject.toml", &format!("{PROJECT}{EXTRA}"))])
            .set_up(|sandbox, outside| {
                let mut environment = venv(sandbox, &sandbox.home().join("venvs/calc"));
                environment.extend(index::serve(sandbox, outside));
                environment
            }),
        src_layout("python, src, venv in the project", &["python3"])
            .with(&[("pyproject.toml", PROJECT)])
            .set_up(|sandbox, _| venv(sandbox, &sandbox.root().join(".venv"))),
        src_layout("python, src, venv elsewhere", &["python3"])
            .with(&[("pyproject.toml", PROJECT)])
            .set_up(|sandbox, outside| venv(sandbox, &outside.join("venv"))),
        Shape::new("python, pytest", &["python3", index::WHEELS], flat())
            .with(&[
                ("requirements-dev.txt", "pytest\n"),
                ("pytest.ini", "[pytest]\npythonpath = .\n"),
                (".gitignore", IGNORED),
            ])
            .set_up(index::serve),
        unittest("python, unittest"),
        unittest("python, red at the base").with(&[("tests/test_old.py", RED)]),
        unittest("python, below /tmp").at(Place::Temporary),
        unittest("python, spaces and umlauts").at(Place::Usual("Über uns/mein Projekt")),
        Shape {
            issue: "# Verdoppeln\n\n- [ ] AC-01: Die Zahl wird verdoppelt\n",
            ..unittest("python, German criteria")
        },
        Shape::new("python, no tests", &["python3"], Code { tests: "", ..flat() })
            .with(&[("README.md", "# Calc\n")])
            .expecting(Expected::Refused("No test command was found")),
        unittest("python, test_command = true")
            .with(&[("warp.toml", "[workflow]\ntest_command = \"true\"\n")])
            .expecting(Expected::Refused("no test was reported")),
    ]
}

/// Makes an environment of the person's, which imports the checkout, and goes into it.
fn venv(sandbox: &Sandbox, place: &Path) -> Vec<(&'static str, String)> {
    let mut command = sandbox.command("python3");
    command.args(["-m", "venv", "--without-pip"]).arg(place);
    assert!(command.status().unwrap().success());
    let lib = fs::read_dir(place.join("lib")).unwrap().next().unwrap().unwrap().path();
    let source = sandbox.root().join("src");
    fs::write(lib.join("site-packages/calc.pth"), format!("{}\n", source.display())).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    vec![("VIRTUAL_ENV", place.display().to_string()), ("PATH", format!("{}/bin:{path}", place.display()))]
}
