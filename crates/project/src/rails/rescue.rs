//! A repository that a tool call has deleted or damaged is put back from its copy.
//!
//! Before a call that may change something its checkout is marked, outside of it; after the call, and before the next one,
//! the repository of a marked checkout has to be there. A mark goes when the agent's turn ends: what happens to the
//! repository then is the person's business.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use adapters::{
    git::{self, vault::key},
    refs,
};
use engine::{Breach, Event};
use serde_json::Map;

use super::vault::{self, VaultError};
use crate::{AskError, Dirs, Error, Place, Workspace, atomic, counted, text};

const MARKS: &str = "open-calls";
const LONGEST_MARK: u64 = 64 * 1024;
/// Where a damaged repository goes, beside the journal: `warp salvage list` shows what is there.
const SET_ASIDE: &str = "set-aside";
/// What a repository cannot do without.
const ESSENTIAL: [&str; 4] = ["HEAD", "config", "objects", "refs"];

/// Why a repository could not be put back.
#[derive(Debug, thiserror::Error)]
pub enum RescueError {
    #[error(transparent)]
    Vault(#[from] VaultError),
    #[error(transparent)]
    Workspace(#[from] Error),
    #[error("failed to read or write `{}`", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the repository was put back, which could not be recorded")]
    Record(#[source] AskError),
    #[error("`{}` is damaged, and no snapshot of it is kept", root.display())]
    NoSnapshot { root: PathBuf },
}

/// Marks a person's checkout: a call is about to be made that may change it.
pub fn mark(place: &Place, dirs: &Dirs) -> Result<(), RescueError> {
    // The repository of a workspace for runs, or of a linked working tree, is not in it.
    let Some(location) = place.location().filter(|_| place.root.join(".git").is_dir()) else {
        return Ok(());
    };
    if place.git_dir().is_some() {
        return Ok(());
    }
    let head = match refs::head(&location) {
        Ok(refs::HeadAt::Branch(branch)) => refs::one(&location, &branch).ok().flatten(),
        Ok(refs::HeadAt::Commit(commit)) => Some(commit),
        Ok(refs::HeadAt::Broken) | Err(_) => None,
    };
    let path = mark_file(dirs, &place.root);
    let wanted = format!("{}\n{}", place.mark(), head.unwrap_or_default());
    if text::read(&path, LONGEST_MARK).is_ok_and(|noted| noted == wanted) {
        return Ok(());
    }
    let write = || {
        fs::create_dir_all(dirs.state.join(MARKS))?;
        atomic::replace(&path, &wanted)
    };
    write().map_err(|source| RescueError::File { path: path.clone(), source })
}

/// Takes the mark away: the agent's turn is over.
pub fn unmark(dirs: &Dirs, root: &Path) -> Result<(), RescueError> {
    let path = mark_file(dirs, root);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(RescueError::File { path, source: error })
        }
        _ => Ok(()),
    }
}

/// Puts the repository of a marked checkout back that is not whole any more, for any of the directories that an agent is
/// in. Says what was done.
pub fn rescue(dirs: &Dirs, directories: &[PathBuf]) -> Result<Option<String>, RescueError> {
    if !dirs.state.join(MARKS).is_dir() {
        return Ok(None);
    }
    for root in directories.iter().flat_map(|directory| directory.ancestors()) {
        let Ok(noted) = text::read(&mark_file(dirs, root), LONGEST_MARK) else { continue };
        let Some((path, head)) = noted.split_once('\n').filter(|(path, _)| Path::new(path) == root) else {
            continue;
        };
        if !is_whole(root, head) {
            return put_back(dirs, Path::new(path)).map(Some);
        }
    }
    Ok(None)
}

fn mark_file(dirs: &Dirs, root: &Path) -> PathBuf {
    dirs.state.join(MARKS).join(key(root))
}

/// Tells whether a repository has what it cannot do without, and the commit that it had.
fn is_whole(root: &Path, head: &str) -> bool {
    let git_dir = root.join(".git");
    if !ESSENTIAL.iter().all(|name| git_dir.join(name).exists()) {
        return false;
    }
    let location = git::Location { common_dir: git_dir.clone(), git_dir };
    head.is_empty() || git::vault::has(&location, head)
}

fn put_back(dirs: &Dirs, root: &Path) -> Result<String, RescueError> {
    let none = || RescueError::NoSnapshot { root: root.to_owned() };
    let snapshots = vault::find(dirs, root).filter(|found| found.root == root).ok_or_else(none)?;
    let records = snapshots.records()?;
    let record = records.first().ok_or_else(none)?;
    let damaged = root.join(".git");
    let mut aside = String::new();
    if damaged.symlink_metadata().is_ok() {
        let to = set_aside(&snapshots.project().join(SET_ASIDE), &damaged)?;
        aside = format!("; what was left of it is in {}", to.display());
    }
    let rebuilt = snapshots.rebuild(record, root)?;
    let what = format!(
        "the repository was deleted or damaged, and was put back as it was before: {}, {}{aside}",
        counted(rebuilt.refs as u64, "ref", "refs"),
        counted(rebuilt.files as u64, "file", "files")
    );
    let mut workspace = Workspace::open(Place::at(root).map_err(Error::from)?, dirs.clone())?;
    let event = Event::RailBroken { what: what.clone(), kept: None, breach: Breach::Undone };
    match workspace.ask(event, Map::new()) {
        Ok(_) | Err(AskError::NoRun) => Ok(what),
        Err(error) => Err(RescueError::Record(error)),
    }
}

/// Moves a damaged repository out of the checkout, or beside itself if that is on another disk.
fn set_aside(directory: &Path, damaged: &Path) -> Result<PathBuf, RescueError> {
    let failed = |source| RescueError::File { path: damaged.to_owned(), source };
    fs::create_dir_all(directory).map_err(failed)?;
    let free = |base: &Path, name: &str| {
        let mut names = (1..).map(|number| base.join(format!("{name}-{number}")));
        names.find(|path| path.symlink_metadata().is_err()).unwrap_or_else(|| base.join(name))
    };
    let to = free(directory, "git");
    if fs::rename(damaged, &to).is_ok() {
        return Ok(to);
    }
    let to = free(damaged.parent().unwrap_or(damaged), ".git-damaged");
    fs::rename(damaged, &to).map_err(failed)?;
    Ok(to)
}
