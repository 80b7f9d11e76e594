//! What a repository holds and once held, and the last commit made anew: for what compares the docs with the files.
//!
//! The repository is named in every call, as in a workspace that was made for a run: nothing in the tree decides which
//! repository is meant.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    time::Duration,
};

use crate::{
    boundary,
    git::{
        Location,
        own::{GitError, Repository},
    },
};

/// How long all calls of one question may take together.
const LIMIT: Duration = Duration::from_secs(60);
/// How many of the newest commits are looked through for files that are gone.
const COMMITS_LOOKED_AT: &str = "--max-count=5000";
/// How deep a list of files is taken apart that is too long for one answer.
const DEEPEST: usize = 4;

/// History of deleted and moved files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileHistory {
    /// Files that were there once, some of which may have come back.
    pub gone: BTreeSet<String>,
    /// Where a file was moved to, the last time that it was.
    pub moved: BTreeMap<String, String>,
}

/// Returns the files that are tracked, or would be by a commit of everything, whether they are there or not.
pub fn files(root: &Path, location: &Location) -> Result<BTreeSet<String>, GitError> {
    let git = Repository::new(root, location, LIMIT);
    let mut found = BTreeSet::new();
    list(&git, root, "", DEEPEST, &mut found)?;
    Ok(found)
}

/// Lists what is under `directory`, part by part if it is too much at once.
fn list(
    git: &Repository<'_>,
    root: &Path,
    directory: &str,
    deepest: usize,
    found: &mut BTreeSet<String>,
) -> Result<(), GitError> {
    let path = if directory.is_empty() { ":(top)".to_owned() } else { format!(":(top,literal){directory}") };
    let arguments = ["ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", &path];
    let listed = git.run(&arguments, &[])?;
    if !listed.is_success() {
        let (end, words) = (listed.end.to_string(), listed.last_words(300));
        return Err(GitError::Said { command: "ls-files".to_owned(), end, words });
    }
    let text = String::from_utf8_lossy(&listed.stdout);
    found.extend(text.split('\0').filter(|name| !name.is_empty()).map(str::to_owned));
    if !listed.cut {
        return Ok(());
    }
    if deepest == 0 {
        let words = format!("`{directory}` holds too many files to be listed");
        return Err(GitError::Said { command: "ls-files".to_owned(), end: "too much".to_owned(), words });
    }
    let here = root.join(directory);
    let failed = |source| GitError::File { path: here.clone(), source };
    for entry in fs::read_dir(&here).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| *name != ".git") else { continue };
        let path = if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") };
        list(git, root, &path, deepest - 1, found)?;
    }
    Ok(())
}

/// Returns which files the history of the current commit knows that were removed or moved.
pub fn past(root: &Path, location: &Location) -> Result<FileHistory, GitError> {
    let git = Repository::new(root, location, LIMIT);
    if !git.run(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], &[])?.is_success() {
        return Ok(FileHistory::default());
    }
    let text = git.text(
        &[
            "log",
            "--no-color",
            "--no-show-signature",
            "--format=",
            "--name-status",
            "--find-renames",
            "--diff-filter=DR",
            "-z",
            COMMITS_LOOKED_AT,
            "HEAD",
        ],
        &[],
    )?;
    Ok(read(&text))
}

/// Reads `STATUS NUL PATH NUL`, with two paths where a file was moved. A list whose middle is left out is read as far as
/// it can be.
fn read(text: &str) -> FileHistory {
    let mut past = FileHistory::default();
    let mut fields = text.split('\0').map(|field| field.trim_start_matches('\n'));
    while let Some(status) = fields.next() {
        let is_moved = status.len() > 1 && status.starts_with('R');
        if status == "D"
            && let Some(path) = fields.next()
        {
            past.gone.insert(path.to_owned());
        } else if is_moved
            && status[1..].bytes().all(|byte| byte.is_ascii_digit())
            && let (Some(from), Some(to)) = (fields.next(), fields.next())
        {
            past.gone.insert(from.to_owned());
            // The newest comes first.
            past.moved.entry(from.to_owned()).or_insert_with(|| to.to_owned());
        }
    }
    past
}

/// Puts a commit with another tree, and all else the same, in the place of the current one, and returns it.
///
/// Nothing happens if the current commit is not `commit` any more.
pub fn amend(root: &Path, location: &Location, commit: &str, tree: &str) -> Result<String, GitError> {
    let git = Repository::new(root, location, LIMIT);
    let format = "--format=%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%B";
    let shown =
        git.text(&["show", "--no-patch", "--no-color", "--no-show-signature", format, commit], &[])?;
    let mut fields = shown.splitn(7, '\0').map(str::to_owned);
    let mut field = || fields.next().unwrap_or_default();
    let parents = field();
    let [author, author_email, date, committer, committer_email, message] = std::array::from_fn(|_| field());
    let environment = [
        ("GIT_AUTHOR_NAME", author.as_str()),
        ("GIT_AUTHOR_EMAIL", &author_email),
        ("GIT_AUTHOR_DATE", &date),
        ("GIT_COMMITTER_NAME", &committer),
        ("GIT_COMMITTER_EMAIL", &committer_email),
    ];
    let mut arguments = vec!["commit-tree", tree, "-m", message.trim_end()];
    arguments.extend(parents.split_whitespace().flat_map(|parent| ["-p", parent]));
    let new = git.text(&arguments, &environment)?;
    boundary::around("amend", || {
        git.text(&["update-ref", "-m", "warp: amended", "HEAD", &new, commit], &[])
    })?;
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_removed_and_moved_is_read() {
        let past = read("D\0a.rs\0R100\0b.rs\0c.rs\0\nR087\0b.rs\0old.rs\0rubbish\0D\0d e.md\0");
        assert_eq!(past.gone, ["a.rs", "b.rs", "d e.md"].map(str::to_owned).into());
        assert_eq!(past.moved, [("b.rs".to_owned(), "c.rs".to_owned())].into());
    }
}
