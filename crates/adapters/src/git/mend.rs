//! Putting refs back where they were.
//!
//! Every move is a compare-and-swap on the ref itself, so what somebody else has moved meanwhile stays as it is. No
//! file of the working tree is written, except by [`switch_back`], which lets git decide whether that loses anything.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    Location,
    own::{GitError, Repository},
};
use crate::refs::{self, BROKEN, HeadAt, STASH, is_object};

/// How long one of these may take.
const LIMIT: Duration = Duration::from_secs(20);

/// How many branches and tags are asked for a commit; a command line holds that many with ease.
const MOST_TIPS: usize = 500;

/// Why something could not be put back.
#[derive(Debug, thiserror::Error)]
pub enum MendError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Refs(#[from] refs::ReadError),
    #[error("failed to write `{}`, or to move it out of the way", path.display())]
    Aside {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Returns the parents of a commit.
pub fn parents(location: &Location, commit: &str) -> Result<Vec<String>, GitError> {
    let git = Repository::bare(location, LIMIT);
    let text = git.text(&["cat-file", "commit", commit], &[])?;
    let header = text.lines().take_while(|line| !line.is_empty());
    Ok(header.filter_map(|line| line.strip_prefix("parent ")).map(str::to_owned).collect())
}

/// Returns the commits from `from` (left out) to `to`, oldest first, if each has exactly the one before as its parent.
///
/// With no `from`, the first must have no parent. Nothing if there is another way between them, or more than `most`.
pub fn straight_line(
    location: &Location,
    from: Option<&str>,
    to: &str,
    most: usize,
) -> Result<Option<Vec<String>>, GitError> {
    let mut line = Vec::new();
    let mut next = to.to_owned();
    while Some(next.as_str()) != from {
        if line.len() >= most {
            return Ok(None);
        }
        let parents = parents(location, &next)?;
        line.push(next.clone());
        match (parents.as_slice(), from) {
            ([parent], _) => next.clone_from(parent),
            ([], None) => break,
            ([] | [_, ..], _) => return Ok(None),
        }
    }
    line.reverse();
    Ok(Some(line))
}

/// Tells whether a commit is one of `tips`, or part of their history. Of very many tips, only some are asked.
pub fn is_in_history(location: &Location, commit: &str, tips: &[&str]) -> Result<bool, GitError> {
    if tips.contains(&commit) {
        return Ok(true);
    }
    let git = Repository::bare(location, LIMIT);
    let mut arguments = vec!["rev-list", "--max-count=1", commit, "--not"];
    arguments.extend(tips.iter().take(MOST_TIPS));
    let finished = git.run(&arguments, &[])?;
    Ok(!tips.is_empty() && finished.is_success() && finished.text().is_empty())
}

/// Moves a ref from `now` to `then`; with nothing, it is not there.
///
/// A file that leads nowhere is moved into `aside` first.
pub fn put_back(
    location: &Location,
    name: &str,
    now: Option<&str>,
    then: Option<&str>,
    aside: &Path,
) -> Result<(), MendError> {
    let git = Repository::bare(location, LIMIT);
    let log = "warp: moved without permission, moved back";
    let is_nothing = |object: &str| -> Result<bool, GitError> {
        let is_there = || git.run(&["cat-file", "-e", object], &[]);
        Ok(object == BROKEN || (is_object(object) && !is_there()?.is_success()))
    };
    let file = location.common_dir.join(name);
    if file.is_file() && now.map(is_nothing).transpose()? == Some(true) {
        set_aside(&file, aside)?;
        if let Some(then) = then {
            git.text(&["update-ref", "--no-deref", "-m", log, name, then], &[])?;
        }
        return Ok(());
    }
    let objects = |value: &str| value.strip_prefix("ref: ").is_none();
    match (now, then) {
        // A symbolic ref in place of a branch has no value to compare with.
        (Some(now), Some(then)) if !objects(now) => {
            git.text(&["symbolic-ref", "--delete", name], &[])?;
            git.text(&["update-ref", "--no-deref", "-m", log, name, then], &[])?;
        }
        (_, Some(then)) if !objects(then) => {
            let target = then.trim_start_matches("ref: ");
            git.text(&["symbolic-ref", "-m", log, name, target], &[])?;
        }
        (now, Some(then)) => {
            let zeros = "0".repeat(then.len());
            let now = now.unwrap_or(&zeros);
            git.text(&["update-ref", "--no-deref", "--create-reflog", "-m", log, name, then, now], &[])?;
        }
        (Some(now), None) if objects(now) => {
            git.text(&["update-ref", "--no-deref", "-m", log, "-d", name, now], &[])?;
        }
        (Some(_), None) => {
            git.text(&["symbolic-ref", "--delete", name], &[])?;
        }
        (None, None) => {}
    }
    Ok(())
}

/// Puts HEAD back without looking at the working tree.
pub fn put_head_back(root: &Path, location: &Location, then: &HeadAt, aside: &Path) -> Result<(), MendError> {
    if let (Ok(HeadAt::Broken), Some(text)) = (refs::head(location), head_text(then)) {
        // Without a HEAD git sees no repository, so the file is written by hand.
        let path = location.git_dir.join("HEAD");
        if path.symlink_metadata().is_ok() {
            set_aside(&path, aside)?;
        }
        return fs::write(&path, text).map_err(|source| MendError::Aside { path, source });
    }
    let git = Repository::new(root, location, LIMIT);
    let log = "warp: moved without permission, moved back";
    match then {
        HeadAt::Branch(name) => git.text(&["symbolic-ref", "-m", log, "HEAD", name], &[])?,
        HeadAt::Commit(commit) => git.text(&["update-ref", "--no-deref", "-m", log, "HEAD", commit], &[])?,
        HeadAt::Broken => String::new(),
    };
    Ok(())
}

/// Checks out what HEAD was on before, files included, if git sees no file that this would overwrite.
pub fn switch_back(root: &Path, location: &Location, then: &HeadAt) -> Result<bool, GitError> {
    let git = Repository::new(root, location, LIMIT);
    let finished = match then {
        HeadAt::Branch(name) => {
            let Some(branch) = name.strip_prefix("refs/heads/") else { return Ok(false) };
            git.run(&["switch", "--quiet", "--no-guess", "--no-recurse-submodules", branch], &[])?
        }
        HeadAt::Commit(commit) => git.run(&["switch", "--quiet", "--detach", commit], &[])?,
        HeadAt::Broken => return Ok(false),
    };
    Ok(finished.is_success())
}

/// Takes the files and the index from one commit to another, as a switch does, and leaves HEAD alone.
///
/// If a file with changes of its own would be overwritten, changes nothing and returns false.
pub fn switch_files(root: &Path, location: &Location, from: &str, to: &str) -> Result<bool, GitError> {
    let git = Repository::new(root, location, LIMIT);
    // Without a fresh look at the files, all of them would count as changed.
    git.run(&["update-index", "-q", "--refresh"], &[])?;
    Ok(git.run(&["read-tree", "-m", "-u", from, to], &[])?.is_success())
}

/// Makes the index that of the current commit; the files of the working tree stay as they are.
pub fn reset_index(root: &Path, location: &Location) -> Result<(), GitError> {
    let git = Repository::new(root, location, LIMIT);
    let has_commit = git.run(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], &[])?.is_success();
    if has_commit {
        git.text(&["reset", "--quiet", "--mixed"], &[]).map(drop)
    } else {
        git.text(&["read-tree", "--empty"], &[]).map(drop)
    }
}

/// Makes the stash hold these commits again, oldest first, and after them whatever was put there since.
///
/// Nothing is taken out before it is in there a second time, so that none is lost if this does not come to its end.
pub fn put_stashes_back(root: &Path, location: &Location, commits: &[String]) -> Result<(), MendError> {
    let git = Repository::new(root, location, LIMIT);
    if let (None, Some(newest)) = (refs::one(location, STASH)?, refs::stash_log(location)?.last()) {
        // Only the ref is gone: written by git it would be logged a second time.
        let path = location.common_dir.join(STASH);
        fs::write(&path, format!("{newest}\n")).map_err(|source| MendError::Aside { path, source })?;
    }
    let log = refs::stash_log(location)?;
    let newer = log.iter().filter(|commit| !commits.contains(commit));
    let wanted: Vec<&String> = commits.iter().chain(newer).collect();
    let in_place = log.iter().zip(&wanted).take_while(|(there, wanted)| there == *wanted).count();
    let mut missing = wanted[in_place..].to_vec();
    let newest = refs::one(location, STASH)?;
    let mut outdated = log.len() - in_place;
    if let ([first, .., last], Some(newest)) = (missing.as_slice(), &newest)
        && *first == newest
    {
        // Git logs nothing where nothing moves: a detour makes it move.
        missing.insert(0, last);
        outdated += 1;
    }
    for commit in &missing {
        let words = git.text(&["show", "--no-patch", "--format=%s", commit], &[])?;
        git.text(&["stash", "store", "--quiet", "--message", &words, commit], &[])?;
    }
    if !missing.is_empty() {
        // The newest has the number 0, and each that goes takes the place of the next.
        for _ in 0..outdated {
            let number = refs::stash_log(location)?.len().saturating_sub(in_place + 1);
            git.text(&["stash", "drop", "--quiet", &format!("stash@{{{number}}}")], &[])?;
        }
    }
    Ok(())
}

fn head_text(head: &HeadAt) -> Option<String> {
    match head {
        HeadAt::Branch(name) => Some(format!("ref: {name}\n")),
        HeadAt::Commit(commit) => Some(format!("{commit}\n")),
        HeadAt::Broken => None,
    }
}

fn set_aside(path: &Path, directory: &Path) -> Result<(), MendError> {
    let failed = |source| MendError::Aside { path: path.to_owned(), source };
    fs::create_dir_all(directory).map_err(failed)?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let free = (0..10_000).map(|number| directory.join(format!("ref-{number}-{name}")));
    let free = free.into_iter().find(|target| target.symlink_metadata().is_err());
    let target = free.ok_or_else(|| failed(io::ErrorKind::AlreadyExists.into()))?;
    fs::rename(path, target).map_err(failed)
}
