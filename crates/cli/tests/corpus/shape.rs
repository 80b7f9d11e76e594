//! What a project of the corpus is made of.

use std::path::{Path, PathBuf};

use testkit::Sandbox;

/// A kind of project.
#[derive(Clone)]
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    /// Programs without which it cannot be tried.
    pub(crate) needs: &'static [&'static str],
    pub(crate) place: Place,
    /// The files that are committed, besides those of the code.
    pub(crate) files: Vec<(&'static str, String)>,
    pub(crate) code: Code,
    /// What the person has set up besides, after the first commit.
    pub(crate) set_up: SetUp,
    pub(crate) issue: &'static str,
    pub(crate) right: Expected,
}

/// Sets up what a person has besides the project, in the home or in a directory outside of it, and returns the variables
/// of the shell that they work in.
pub(crate) type SetUp = fn(&Sandbox, &Path) -> Vec<(&'static str, String)>;

/// Where the project lies.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// Wherever the build keeps its files.
    Usual(&'static str),
    /// Below `/tmp`.
    Temporary,
}

/// A function with tests, work on it that is right, and work that breaks it.
#[derive(Clone)]
pub(crate) struct Code {
    pub(crate) source: &'static str,
    pub(crate) before: &'static str,
    pub(crate) right: &'static str,
    pub(crate) broken: &'static str,
    pub(crate) tests: &'static str,
    pub(crate) tests_before: &'static str,
    pub(crate) tests_after: &'static str,
}

/// What becomes of right work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    Merged,
    /// The run stops before an agent works, and says this.
    Refused(&'static str),
}

pub(crate) const ISSUE: &str = "# Double a number\n\n- [ ] AC-01: `double` returns twice its argument\n";

impl Shape {
    /// Returns a project with code and tests, in the usual place.
    pub(crate) fn new(name: &'static str, needs: &'static [&'static str], code: Code) -> Self {
        Self {
            name,
            needs,
            place: Place::Usual("project"),
            files: Vec::new(),
            code,
            set_up: |_, _| Vec::new(),
            issue: ISSUE,
            right: Expected::Merged,
        }
    }

    pub(crate) fn with(mut self, files: &[(&'static str, &str)]) -> Self {
        self.files.extend(files.iter().map(|(path, text)| (*path, (*text).to_owned())));
        self
    }

    pub(crate) fn at(self, place: Place) -> Self {
        Self { place, ..self }
    }

    pub(crate) fn set_up(self, set_up: SetUp) -> Self {
        Self { set_up, ..self }
    }

    pub(crate) fn expecting(self, right: Expected) -> Self {
        Self { right, ..self }
    }
}

impl Place {
    /// Returns the directory that the home is made in, and the project's name there.
    pub(crate) fn parts(self) -> (PathBuf, &'static str) {
        match self {
            Self::Usual(name) => (PathBuf::from(env!("CARGO_TARGET_TMPDIR")), name),
            Self::Temporary => (PathBuf::from("/tmp"), "project"),
        }
    }
}
