//! Warp's own git: no hooks, no monitor, nothing of the caller's environment decides where it works.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use super::Location;
use crate::process::{self, Finished, RunError};

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
        let slow = || GitError::TooSlow { seconds: self.limit.as_secs() };
        let left = self.until.checked_duration_since(Instant::now()).ok_or_else(slow)?;
        let text =
            |path: &Path| path.to_str().map(str::to_owned).ok_or_else(|| GitError::NotText(path.to_owned()));
        let git_dir = format!("--git-dir={}", text(&self.location.git_dir)?);
        let mut all = vec![git_dir, "--no-replace-objects".to_owned()];
        if let Some(root) = self.root {
            all.push(format!("--work-tree={}", text(root)?));
        }
        for setting in
            ["core.fsmonitor=false", "core.hooksPath=/dev/null", "gc.auto=0", "maintenance.auto=false"]
        {
            all.extend(["-c".to_owned(), setting.to_owned()]);
        }
        all.extend(arguments.iter().map(|argument| (*argument).to_owned()));
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
        let finished = process::run("git", &all, directory, &set, left)?;
        if matches!(finished.end, process::End::TimedOut(_)) {
            return Err(slow());
        }
        Ok(finished)
    }

    /// Runs git, expects success and returns what it printed.
    pub(crate) fn text(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Result<String, GitError> {
        let finished = self.run(arguments, environment)?;
        if finished.is_success() {
            return Ok(finished.text());
        }
        Err(GitError::Said {
            command: arguments.first().copied().unwrap_or_default().to_owned(),
            end: finished.end.to_string(),
            words: finished.last_words(300),
        })
    }
}
