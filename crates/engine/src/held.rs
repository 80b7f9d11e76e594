//! What the commit guard holds before a commit, and what a person has accepted of it.
//!
//! Pure data: what is held is found in `project`. A run keeps what it asks a person about and what was accepted, so that
//! reports can name it. An accepted finding holds for exactly that path, kind and content.

use serde::{Deserialize, Serialize};

use crate::Run;

/// The kind of the question about findings of the commit guard.
pub const COMMIT_GUARD: &str = "commit_guard";

/// Something that is not committed unless a person accepts it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    pub kind: HeldKind,
    pub path: String,
    /// From 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// What was found, in words.
    pub what: String,
    /// A digest of what it is about: another content is another finding.
    pub digest: String,
}

/// Why something is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldKind {
    Secret,
    LargeFile,
    /// A file of Git LFS that would be committed with its content.
    LfsContent,
    ManyFiles,
    DependencyDirectory,
    Link,
    DeletedTest,
    SkippedTest,
    /// The command or the settings of the tests leave some of them out.
    NarrowedTests,
    /// The test command passed, and tests that passed before the work began did not run.
    TestsNotRun,
}

impl HeldKind {
    /// Says what to do about it.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Secret => {
                "take it out of the file and read it from the environment; if it was real, it has to be revoked"
            }
            Self::LargeFile => "leave it out of the commit (.gitignore), or raise `guard_max_file_mb`",
            Self::LfsContent => {
                "leave the file as it was, or install git-lfs (`git lfs install`): it commits a pointer instead"
            }
            Self::ManyFiles => {
                "leave generated files out of the commit (.gitignore), or raise `guard_max_new_files`"
            }
            Self::DependencyDirectory => "remove it from the commit and add it to .gitignore",
            Self::Link => "link to something inside the project, or copy the file",
            Self::DeletedTest => "put the test back, or change it to fit what is wanted now",
            Self::SkippedTest => "let the test run, and fix what makes it fail",
            Self::NarrowedTests => "let all tests run as before",
            Self::TestsNotRun => "let them run and be reported as before: undo what leaves them out",
        }
    }

    /// Tells whether it is about the project's tests.
    pub fn is_about_tests(self) -> bool {
        match self {
            Self::DeletedTest | Self::SkippedTest | Self::NarrowedTests | Self::TestsNotRun => true,
            Self::Secret
            | Self::LargeFile
            | Self::LfsContent
            | Self::ManyFiles
            | Self::DependencyDirectory
            | Self::Link => false,
        }
    }
}

impl Held {
    /// Tells whether both are the same finding, wherever in the file it is.
    pub fn is_same(&self, other: &Self) -> bool {
        self.kind == other.kind && self.path == other.path && self.digest == other.digest
    }
}

impl std::fmt::Display for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.what),
            None if self.path.is_empty() => f.write_str(&self.what),
            None => write!(f, "{}: {}", self.path, self.what),
        }
    }
}

impl Run {
    /// Tells whether a person has accepted a finding of the commit guard.
    pub fn has_accepted(&self, held: &Held) -> bool {
        self.accepted_held.iter().any(|accepted| accepted.is_same(held))
    }
}
