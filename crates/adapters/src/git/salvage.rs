//! Salvage: work that might be lost, kept as commits under `refs/warp/salvage/RUN/N`.
//!
//! A snapshot is made with an index of its own, so neither the person's index nor a file is touched. It is laid out
//! like a stash: the tree of all files, the commit it was made on as first parent, and what was staged as second
//! parent where that differs. Being a ref, it stays until somebody deletes it.
//!
//! A repository inside this one is an entry of one line in such a tree. It is not looked into: an agent may have made it, and
//! git would run what its configuration names.
//!
//! Snapshots of a person's own checkout are kept outside of it, by a [`vault`](super::vault).

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    Location, index, integrate, locate, nested,
    own::{GitError, Repository, expected},
    slot,
};
use crate::{boundary, process::End};

/// How long anything but a snapshot may take.
const LIMIT: Duration = Duration::from_secs(20);
/// How often the next number is tried because another process took it.
const TRIES: usize = 20;

/// The previous snapshot of a run.
pub(super) struct PreviousSnapshot {
    pub(super) number: u64,
    pub(super) tree: String,
    parents: Vec<String>,
}

/// Keeps all uncommitted work of a run's tree: changed, staged and new files, as far as git does not ignore them.
/// Repositories inside it are left alone.
///
/// Returns the ref under which it is kept; nothing if there is no work that is not kept already.
pub fn snapshot(root: &Path, location: &Location, run: &str) -> Result<Option<String>, GitError> {
    let git = Repository::bare(location, slot::LIMIT);
    let submodules = match head(&git)? {
        Some((commit, _)) => nested::links(&git, &commit)?,
        None => Vec::new(),
    };
    take(root, location, run, slot::LIMIT, &submodules)
}

fn take(
    root: &Path,
    location: &Location,
    run: &str,
    limit: Duration,
    left_out: &[String],
) -> Result<Option<String>, GitError> {
    let git = Repository::new(root, location, limit);
    let head = head(&git)?;
    let index = index::copy(&location.git_dir, &location.git_dir.join("index")).map_err(GitError::Index)?;
    let index = index.to_str().ok_or_else(|| GitError::NotText(index.to_path_buf()))?;
    let environment = [("GIT_INDEX_FILE", index)];
    // In the middle of a merge there is no staged tree; its versions are those of commits.
    let staged = git.run(&["write-tree"], &environment)?;
    let staged = staged.is_success().then(|| staged.text());
    show_hidden(&git, root, &environment)?;
    let StagingReport { refused, .. } = add_all(&git, root, left_out, &environment)?;
    let tree = git.text(&["write-tree"], &environment)?;
    let (base, base_tree) = match head {
        Some((commit, tree)) => (Some(commit), tree),
        None => (None, git.text(&["hash-object", "-w", "-t", "tree", "/dev/null"], &[])?),
    };
    let staged = staged.filter(|staged| *staged != tree && *staged != base_tree);
    let taken = |kept: Option<String>| match refused {
        None => Ok(kept),
        Some(words) => Err(GitError::Partly { kept, words }),
    };
    if staged.is_none() && base_tree == tree {
        return taken(None);
    }
    let earlier = earlier(&git, run)?;
    for same in earlier.iter().filter(|earlier| earlier.tree == tree) {
        if staged_of(&git, same)? == staged {
            return taken(None);
        }
    }
    let base = match base {
        Some(base) => base,
        // Before the first commit an empty one stands in for it, so that every snapshot is laid out alike.
        None => commit(&git, &base_tree, &[], "Nothing was committed yet")?,
    };
    let mut parents = vec![base.clone()];
    if let Some(staged) = &staged {
        parents.push(commit(&git, staged, &[base], "What was staged")?);
    }
    let commit = commit(&git, &tree, &parents, &format!("Work kept by warp for run {run}"))?;
    let last = earlier.iter().map(|earlier| earlier.number).max().unwrap_or(0);
    taken(Some(keep_after(&git, run, &commit, last)?))
}

/// Takes the marks from entries of which git would not see a change (`assume-unchanged`, and `skip-worktree` where the file
/// is there), so that their files are added like any other.
fn show_hidden(git: &Repository<'_>, root: &Path, environment: &[(&str, &str)]) -> Result<(), GitError> {
    let listed = git.text(&["ls-files", "-v", "-z"], environment)?;
    let is_hidden = |(tag, path): &(&str, &str)| {
        let is_assumed = tag.starts_with(|tag: char| tag.is_ascii_lowercase());
        is_assumed || (*tag == "S" && root.join(path).symlink_metadata().is_ok())
    };
    let entries = listed.split('\0').filter_map(|entry| entry.split_once(' '));
    let hidden: String = entries.filter(is_hidden).map(|(_, path)| format!("{path}\0")).collect();
    if hidden.is_empty() {
        return Ok(());
    }
    for mark in ["--no-assume-unchanged", "--no-skip-worktree"] {
        let arguments = ["update-index", mark, "-z", "--stdin"];
        let finished = git.run_reading(hidden.clone().into_bytes(), &arguments, environment)?;
        expected("update-index", finished)?;
    }
    Ok(())
}

/// Result of staging all files.
pub(super) struct StagingReport {
    /// Repositories without a commit.
    pub(super) nested: Vec<PathBuf>,
    /// What git said of files that it could not read.
    pub(super) refused: Option<String>,
}

/// Adds every file that is not ignored and can be read. A repository inside this one counts as one entry, and one without a
/// commit cannot even be that.
pub(super) fn add_all(
    git: &Repository<'_>,
    root: &Path,
    left_out: &[String],
    environment: &[(&str, &str)],
) -> Result<StagingReport, GitError> {
    // A person may have asked git to refuse line ends that it would change; what is kept here changes none.
    let arguments = ["-c", "core.safecrlf=false", "add", "--all", "--ignore-errors", "--", "."];
    let left_out: Vec<String> = nested::left_out(left_out).collect();
    let arguments: Vec<&str> = arguments.into_iter().chain(left_out.iter().map(String::as_str)).collect();
    let finished = git.run(&arguments, environment)?;
    if !finished.is_success() && finished.end != End::Exit(1) {
        let (end, words) = (finished.end.to_string(), finished.last_words(300));
        return Err(GitError::Said { command: "add".to_owned(), end, words });
    }
    let said = String::from_utf8_lossy(&finished.stderr);
    let nested = said.lines().filter_map(nested::without_commit).map(|path| root.join(path)).collect();
    let refused: Vec<&str> = said
        .lines()
        .filter(|line| line.starts_with("error:") && nested::without_commit(line).is_none())
        .collect();
    let refused = (!finished.is_success() && !refused.is_empty()).then(|| refused.join("; "));
    Ok(StagingReport { nested, refused })
}

pub(super) fn commit(
    git: &Repository<'_>,
    tree: &str,
    parents: &[String],
    message: &str,
) -> Result<String, GitError> {
    let mut arguments = vec!["commit-tree", tree, "-m", message];
    for parent in parents {
        arguments.extend(["-p", parent]);
    }
    git.text(&arguments, &[])
}

/// Keeps a commit (or any object) under the next number of a run, and returns the ref; nothing if there is no such
/// object.
pub fn keep(location: &Location, run: &str, object: &str) -> Result<Option<String>, GitError> {
    keep_from(location, run, object, 0)
}

/// Does the same with a number above `floor`: lower ones are those of entries that are kept elsewhere.
pub fn keep_from(
    location: &Location,
    run: &str,
    object: &str,
    floor: u64,
) -> Result<Option<String>, GitError> {
    let git = Repository::bare(location, LIMIT);
    if !git.run(&["cat-file", "-e", object], &[])?.is_success() {
        return Ok(None);
    }
    let kept = kept(&git, run)?;
    if let Some((number, _)) = kept.iter().find(|(_, known)| known == object) {
        return Ok(Some(format!("{}{number}", directory(run))));
    }
    let last = kept.iter().map(|(number, _)| *number).max().unwrap_or(0);
    keep_after(&git, run, object, last.max(floor)).map(Some)
}

/// Returns the highest number under which work of a run is kept in a repository.
pub fn highest(location: &Location, run: &str) -> Result<u64, GitError> {
    let kept = kept(&Repository::bare(location, LIMIT), run)?;
    Ok(kept.iter().map(|(number, _)| *number).max().unwrap_or(0))
}

/// Work that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The whole name of its ref.
    pub name: String,
    pub run: String,
    pub number: u64,
    pub object: String,
    /// When it was made, in seconds since 1970.
    pub seconds: i64,
    pub subject: String,
}

/// Returns all work that a repository keeps, the newest last.
pub fn list(location: &Location) -> Result<Vec<Entry>, GitError> {
    let format = "--format=%(refname) %(objectname) %(creatordate:unix) %(contents:subject)";
    let git = Repository::bare(location, LIMIT);
    let text = git.text(&["for-each-ref", "--sort=creatordate", format, "refs/warp/salvage/"], &[])?;
    let read = |line: &str| {
        let mut words = line.splitn(4, ' ');
        let (name, object) = (words.next()?, words.next()?);
        let (run, number) = name.strip_prefix("refs/warp/salvage/")?.rsplit_once('/')?;
        Some(Entry {
            name: name.to_owned(),
            run: run.to_owned(),
            number: number.parse().ok()?,
            object: object.to_owned(),
            seconds: words.next().and_then(|seconds| seconds.parse().ok()).unwrap_or_default(),
            subject: words.next().unwrap_or_default().to_owned(),
        })
    };
    Ok(text.lines().filter_map(read).collect())
}

/// Returns what kept work holds, as git shows it: with `--stat`, `--patch` or `--name-only`, against what it was made on.
pub fn show(location: &Location, object: &str, how: &[&str]) -> Result<Vec<u8>, GitError> {
    let git = Repository::bare(location, LIMIT);
    let parent = git.run(&["rev-parse", "--verify", "--quiet", &format!("{object}^1")], &[])?;
    let parent = match parent.is_success() {
        true => parent.text(),
        false => git.text(&["hash-object", "-t", "tree", "/dev/null"], &[])?,
    };
    let mut arguments = vec!["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames"];
    arguments.extend_from_slice(how);
    arguments.extend([parent.as_str(), object, "--"]);
    let finished = git.run(&arguments, &[])?;
    if finished.is_success() {
        return Ok(finished.stdout);
    }
    let (end, words) = (finished.end.to_string(), finished.last_words(300));
    Err(GitError::Said { command: "diff".to_owned(), end, words })
}

/// Puts kept work of `from` onto a new branch of `to`, in a working tree of its own at `tree` if one is named. No file of
/// another working tree is touched. Returns the commit.
pub fn restore(
    from: &Location,
    to: &Location,
    object: &str,
    branch: &str,
    tree: Option<&str>,
) -> Result<String, GitError> {
    let git = Repository::bare(to, LIMIT);
    if from.common_dir != to.common_dir {
        let path = from.git_dir.to_str().ok_or_else(|| GitError::NotText(from.git_dir.clone()))?;
        integrate::fetch(&git, path, &[object])?;
    }
    let parents = git.text(&["rev-list", "--no-walk", "--parents", object], &[])?;
    let parents: Vec<&str> = parents.split(' ').skip(1).collect();
    let restored = match parents.as_slice() {
        // What was staged is a second parent, which would make it look like a merge.
        [base, _staged] => {
            let words = git.text(&["show", "--no-patch", "--format=%s", object], &[])?;
            commit(&git, &format!("{object}^{{tree}}"), &[(*base).to_owned()], &words)?
        }
        [] | [_] | [_, _, _, ..] => object.to_owned(),
    };
    boundary::around("restore", || match tree {
        Some(tree) => add_worktree(to, branch, tree, &restored),
        None => git.text(&["branch", "--no-track", branch, &restored], &[]).map(std::mem::drop),
    })?;
    Ok(restored)
}

/// Checks a commit out on a new branch in a new working tree of a repository.
///
/// Our git names an index in every call. `worktree add` would fill that one, which is the person's, and leave the new tree
/// without, so the files are checked out by a second call that works in the new tree.
fn add_worktree(to: &Location, branch: &str, tree: &str, commit: &str) -> Result<(), GitError> {
    let add = ["worktree", "add", "--quiet", "--no-checkout", "-b", branch, tree, commit];
    Repository::bare(to, LIMIT).text(&add, &[])?;
    let root = Path::new(tree);
    let git_dir = locate(root).map(|location| location.git_dir).ok_or_else(|| GitError::Said {
        command: "worktree add".to_owned(),
        end: "success".to_owned(),
        words: format!("`{tree}` is no working tree of the repository"),
    })?;
    let location = Location { git_dir, common_dir: to.common_dir.clone() };
    Repository::new(root, &location, slot::LIMIT)
        .text(&["reset", "--quiet", "--hard"], &[])
        .map(std::mem::drop)
}

/// Removes kept work, if it is still that object. Git keeps the object for a while.
pub fn drop(location: &Location, name: &str, object: &str) -> Result<(), GitError> {
    Repository::bare(location, LIMIT).text(&["update-ref", "-d", name, object], &[]).map(std::mem::drop)
}

/// Returns the commits at which a repository's work ends: HEAD, branches, tags and stashes.
pub fn tips(location: &Location) -> Result<Vec<String>, GitError> {
    let git = Repository::bare(location, LIMIT);
    let format = "--format=%(if)%(*objectname)%(then)%(*objectname)%(else)%(objectname)%(end)";
    let mut tips = Vec::new();
    if let Some((head, _)) = head(&git)? {
        tips.push(head);
    }
    let named = git.text(&["for-each-ref", format, "refs/heads/", "refs/tags/"], &[])?;
    let stashes = git.run(&["reflog", "show", "--format=%H", "refs/stash", "--"], &[])?;
    let stashes = if stashes.is_success() { stashes.text() } else { String::new() };
    for tip in named.lines().chain(stashes.lines()) {
        if !tips.iter().any(|known| known == tip) {
            tips.push(tip.to_owned());
        }
    }
    Ok(tips)
}

/// Tells whether some ref of a repository leads to a commit; warp's own refs count.
pub fn is_reachable(location: &Location, commit: &str) -> Result<bool, GitError> {
    let git = Repository::bare(location, LIMIT);
    // A commit that is not even there makes git complain.
    let found = git.run(&["for-each-ref", "--count=1", "--format=%(refname)", "--contains", commit], &[])?;
    Ok(found.is_success() && !found.text().is_empty())
}

fn directory(run: &str) -> String {
    format!("refs/warp/salvage/{run}/")
}

pub(super) fn keep_after(
    git: &Repository<'_>,
    run: &str,
    object: &str,
    last: u64,
) -> Result<String, GitError> {
    let mut number = last;
    for _ in 1..TRIES {
        number += 1;
        let name = format!("{}{number}", directory(run));
        // Nothing but zeros: the ref must not be there yet.
        let made = git.run(&["update-ref", &name, object, &"0".repeat(object.len())], &[])?;
        if made.is_success() {
            return Ok(name);
        }
        if git.run(&["rev-parse", "--verify", "--quiet", &name], &[])?.is_success() {
            continue;
        }
        let (end, words) = (made.end.to_string(), made.last_words(300));
        return Err(GitError::Said { command: "update-ref".to_owned(), end, words });
    }
    let words = format!("`{}` is being written by others all the time", directory(run));
    Err(GitError::Said { command: "update-ref".to_owned(), end: "no success".to_owned(), words })
}

fn kept(git: &Repository<'_>, run: &str) -> Result<Vec<(u64, String)>, GitError> {
    let under = directory(run);
    let text = git.text(&["for-each-ref", "--format=%(refname) %(objectname)", &under], &[])?;
    let read = |line: &str| {
        let (name, object) = line.split_once(' ')?;
        Some((name.strip_prefix(&under)?.parse().ok()?, object.to_owned()))
    };
    Ok(text.lines().filter_map(read).collect())
}

pub(super) fn earlier(git: &Repository<'_>, run: &str) -> Result<Vec<PreviousSnapshot>, GitError> {
    let under = directory(run);
    let text = git.text(&["for-each-ref", "--format=%(refname) %(tree) %(parent)", &under], &[])?;
    let read = |line: &str| {
        let mut words = line.split(' ').map(str::to_owned);
        let number = words.next()?.strip_prefix(&under)?.parse().ok()?;
        Some(PreviousSnapshot { number, tree: words.next()?, parents: words.collect() })
    };
    Ok(text.lines().filter_map(read).collect())
}

/// Returns the staged tree of a snapshot, if it has one.
pub(super) fn staged_of(
    git: &Repository<'_>,
    earlier: &PreviousSnapshot,
) -> Result<Option<String>, GitError> {
    let [_, staged] = earlier.parents.as_slice() else { return Ok(None) };
    git.text(&["rev-parse", "--verify", &format!("{staged}^{{tree}}")], &[]).map(Some)
}

/// Returns the current commit and its tree; nothing before the first commit.
fn head(git: &Repository<'_>) -> Result<Option<(String, String)>, GitError> {
    let commit = git.run(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], &[])?;
    if !commit.is_success() {
        return Ok(None);
    }
    let tree = git.text(&["rev-parse", "--verify", &format!("{}^{{tree}}", commit.text())], &[])?;
    Ok(Some((commit.text(), tree)))
}
