//! Finding the commits of a run whose workspace was lost.

use std::time::Duration;

use super::{
    integrate::{RepositoryPair, fetch, is_ancestor, kept_as, text},
    own::{GitError, Repository},
};
use crate::boundary;

/// How long the search may take in all; a remote may be slow.
const LIMIT: Duration = Duration::from_secs(600);

/// Result of a search for lost commits.
#[derive(Debug)]
pub struct SearchResult {
    /// The commits that were found, in the order in which they were named.
    pub commits: Vec<String>,
    /// Remotes that could not be asked for the others, each with the reason.
    pub unasked: Vec<String>,
}

/// Brings those of a run's commits into its workspace that can be found.
///
/// They are looked for in the person's repository, under branches, warp's own refs or none, and then at its remotes.
pub fn find(
    between: &RepositoryPair,
    run: &str,
    branch: &str,
    commits: &[String],
) -> Result<SearchResult, GitError> {
    let (here, theirs) = (Repository::bare(&between.slot, LIMIT), between.talking());
    let is_in = |git: &Repository<'_>, commit: &String| -> Result<bool, GitError> {
        Ok(git.run(&["cat-file", "-e", &format!("{commit}^{{commit}}")], &[])?.is_success())
    };
    let mut lacking = Vec::new();
    for commit in commits {
        if !is_in(&theirs, commit)? {
            lacking.push(commit);
        }
    }
    let mut unasked = Vec::new();
    if !lacking.is_empty() {
        for remote in theirs.text(&["remote"], &[])?.lines() {
            match boundary::around("ask_remote", || ask(&theirs, remote, branch, &lacking)) {
                Ok(()) => {}
                // What was not looked for is not known to be missing.
                Err(error @ GitError::Interrupted { .. }) => return Err(error),
                Err(error) => unasked.push(format!("`{remote}`: {error}")),
            }
        }
    }
    let mut found = Vec::new();
    for commit in commits {
        if is_in(&theirs, commit)? {
            found.push(commit.clone());
        }
    }
    // A person's repository gives out what has a name, so what has none gets one.
    for commit in &found {
        if !is_in(&here, commit)? {
            let name = format!("{}-recovered", kept_as(run));
            theirs.text(&["update-ref", &name, commit], &[])?;
            boundary::around("bring_back", || fetch(&here, text(&between.origin.common_dir)?, &[&name]))?;
            theirs.text(&["update-ref", "-d", &name, commit], &[])?;
        }
    }
    Ok(SearchResult { commits: found, unasked })
}

/// Fetches what a remote has of a run: its branch, and commits by their hash.
fn ask(git: &Repository<'_>, remote: &str, branch: &str, commits: &[&String]) -> Result<(), GitError> {
    let branch = format!("refs/heads/{branch}");
    let listed = git.text(&["ls-remote", "--", remote, &branch], &[])?;
    if !listed.is_empty() {
        fetch(git, remote, &[&branch])?;
    }
    for commit in commits {
        // A remote that answers and does not give it out has not got it, or gives out none by its hash.
        match fetch(git, remote, &[commit]) {
            Ok(()) | Err(GitError::Said { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns the last of these commits that continues `base`.
pub fn newest(between: &RepositoryPair, base: &str, commits: &[String]) -> Result<Option<String>, GitError> {
    let git = Repository::bare(&between.slot, LIMIT);
    for commit in commits.iter().rev() {
        if is_ancestor(&git, base, commit)? {
            return Ok(Some(commit.clone()));
        }
    }
    Ok(None)
}

/// Returns those of these commits that `tip` has in its history.
pub fn parts(between: &RepositoryPair, tip: &str, commits: &[String]) -> Result<Vec<String>, GitError> {
    let git = Repository::bare(&between.slot, LIMIT);
    let mut parts = Vec::new();
    for commit in commits {
        if is_ancestor(&git, commit, tip)? {
            parts.push(commit.clone());
        }
    }
    Ok(parts)
}
