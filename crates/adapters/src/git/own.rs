//! Warp's own git: no hooks, no monitor, nothing of the caller's environment decides where it works.

use std::{
    env,
    os::unix::fs::MetadataExt as _,
    path::Path,
    sync::OnceLock,
    time::{Duration, Instant},
};

use super::{Location, nested};
use crate::process::{self, Finished, RunError};

/// The program's name.
const GIT: &str = "git";

/// Variables that would lead git to another repository, or let a program of the caller's decide what it sees. Most are
/// those that git itself drops on its way into another repository; who a person is and how they log in stays.
const ELSEWHERE: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_REPLACE_REF_BASE",
    "GIT_ATTR_SOURCE",
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
];

/// Returns those of [`ELSEWHERE`] that are set, looked for once: nobody sets any while the program runs.
pub(super) fn elsewhere() -> &'static [&'static str] {
    static SET: OnceLock<Vec<&str>> = OnceLock::new();
    SET.get_or_init(|| ELSEWHERE.iter().copied().filter(|name| env::var_os(name).is_some()).collect())
}

/// Returns where git is, looked for once: a program that is only named is looked for at every start.
pub(crate) fn program() -> &'static str {
    static FOUND: OnceLock<String> = OnceLock::new();
    FOUND.get_or_init(|| {
        let path = env::var_os("PATH").unwrap_or_default();
        let mut candidates = env::split_paths(&path).map(|directory| directory.join(GIT));
        let found = candidates.find(|path| {
            // A relative directory is another one from where git is started.
            path.is_absolute() && path.metadata().is_ok_and(|data| data.is_file() && data.mode() & 0o111 != 0)
        });
        found.and_then(|path| path.into_os_string().into_string().ok()).unwrap_or_else(|| GIT.to_owned())
    })
}

/// Why git did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("`git {command}` ended with {end}: {words}")]
    Said { command: String, end: String, words: String },
    #[error("git took longer than {seconds} seconds; is the disk full or slow?")]
    TooSlow { seconds: u64 },
    #[error("the path of `{0}` is not text")]
    NotText(std::path::PathBuf),
    #[error("more than {most} repositories inside this one have uncommitted work; commit some of it first")]
    TooManyNested { most: usize },
    #[error(
        "not everything can be kept{}: {words}",
        kept.as_ref().map(|kept| format!(" (the rest is, as {kept})")).unwrap_or_default()
    )]
    Partly { kept: Option<String>, words: String },
    #[error("failed to read or write `{}`", path.display())]
    File {
        path: std::path::PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("no room for an index of its own")]
    Index(#[source] std::io::Error),
}

/// A repository, worked on until a deadline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Own<'a> {
    root: Option<&'a Path>,
    location: &'a Location,
    limit: Duration,
    until: Instant,
}

impl<'a> Own<'a> {
    /// Takes a working tree; all calls together may take `limit`.
    pub(crate) fn new(root: &'a Path, location: &'a Location, limit: Duration) -> Self {
        Self { root: Some(root), ..Self::bare(location, limit) }
    }

    /// Takes a repository without its working tree.
    pub(crate) fn bare(location: &'a Location, limit: Duration) -> Self {
        Self { root: None, location, limit, until: Instant::now() + limit }
    }

    /// Runs git to its end, whatever it says.
    pub(crate) fn run(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Result<Finished, GitError> {
        self.run_reading(Vec::new(), arguments, environment)
    }

    /// Changes refs, all of them or none: each line is a command of `git update-ref --stdin`.
    pub(crate) fn change_refs(&self, lines: &[String]) -> Result<(), GitError> {
        if lines.is_empty() {
            return Ok(());
        }
        let input = format!("{}\n", lines.join("\n")).into_bytes();
        let finished = self.run_reading(input, &["update-ref", "--no-deref", "--stdin"], &[])?;
        expected("update-ref", finished).map(drop)
    }

    fn run_reading(
        &self,
        input: Vec<u8>,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<Finished, GitError> {
        let slow = || GitError::TooSlow { seconds: self.limit.as_secs() };
        let left = self.until.checked_duration_since(Instant::now()).ok_or_else(slow)?;
        let text =
            |path: &Path| path.to_str().map(str::to_owned).ok_or_else(|| GitError::NotText(path.to_owned()));
        let git_dir = format!("--git-dir={}", text(&self.location.git_dir)?);
        let mut all = vec![git_dir, "--no-replace-objects".to_owned()];
        if let Some(root) = self.root {
            all.push(format!("--work-tree={}", text(root)?));
        }
        for setting in nested::SETTINGS.into_iter().chain(["gc.auto=0", "maintenance.auto=false"]) {
            all.extend(["-c".to_owned(), setting.to_owned()]);
        }
        all.extend(nested::guarded(arguments).into_iter().map(str::to_owned));
        let index = text(&self.location.git_dir.join("index"))?;
        let mut set = vec![
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("LC_ALL", "C"),
            ("GIT_CONFIG_COUNT", "0"),
            ("GIT_CONFIG_PARAMETERS", ""),
            ("GIT_AUTHOR_NAME", "warp"),
            ("GIT_AUTHOR_EMAIL", "warp@localhost"),
            ("GIT_COMMITTER_NAME", "warp"),
            ("GIT_COMMITTER_EMAIL", "warp@localhost"),
            ("GIT_INDEX_FILE", index.as_str()),
        ];
        set.extend_from_slice(environment);
        let directory = self.root.unwrap_or(&self.location.git_dir);
        let finished = process::run_reading(input, elsewhere(), program(), &all, directory, &set, left)?;
        if matches!(finished.end, process::End::TimedOut(_)) {
            return Err(slow());
        }
        Ok(finished)
    }

    /// Runs git, expects success and returns what it printed.
    pub(crate) fn text(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Result<String, GitError> {
        let finished = self.run(arguments, environment)?;
        expected(arguments.first().copied().unwrap_or_default(), finished)
    }
}

/// Returns what git printed, if it succeeded.
fn expected(command: &str, finished: Finished) -> Result<String, GitError> {
    if finished.is_success() {
        return Ok(finished.text());
    }
    let (end, words) = (finished.end.to_string(), finished.last_words(300));
    Err(GitError::Said { command: command.to_owned(), end, words })
}
