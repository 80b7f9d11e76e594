//! Repositories inside a working tree: submodules, and whatever an agent has made there.
//!
//! The configuration of such a repository names programs (filters, a monitor) that git runs when it looks for changes in
//! it, and git looks into every submodule when it is asked for a status or a difference, or is to add everything. A
//! setting does not stop it: `.gitmodules`, a file of the tree, outweighs it. So every call says that a submodule is no more than
//! the commit that it stands at; and in a run's tree `add` is kept away from submodules, of which there is no such option.

use std::{fs, path::Path};

use super::{
    Location, facts, locate,
    own::{GitError, Repository},
};
use crate::refs::is_object;

/// What is set in every call: no program out of the repository is started, and no command goes on into submodules.
pub(super) const SETTINGS: [&str; 4] =
    ["core.fsmonitor=false", "core.hooksPath=/dev/null", "diff.submodule=short", "submodule.recurse=false"];

/// The commands that compare files with what git knows of them.
const LOOKING: [&str; 4] = ["status", "diff", "diff-index", "diff-files"];
const NOT_INTO: &str = "--ignore-submodules=dirty";

/// The mode of an entry that is a repository.
const GITLINK: &str = "160000";

/// Returns arguments of git's with which it looks into no repository but its own.
pub(super) fn guarded<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let mut guarded = arguments.to_vec();
    let settings = arguments.chunks(2).take_while(|pair| pair.first() == Some(&"-c")).count() * 2;
    if arguments.get(settings).is_some_and(|command| LOOKING.contains(command)) {
        guarded.insert(settings + 1, NOT_INTO);
    }
    guarded
}

/// Returns the paths of a commit or a tree that are repositories.
pub(super) fn links(git: &Repository<'_>, object: &str) -> Result<Vec<String>, GitError> {
    if let Some(known) = facts::links(object) {
        return Ok(known);
    }
    // With `-d` no file is listed, so that this stays short.
    let listed = git
        .text(&["ls-tree", "-r", "-d", "-z", "--full-tree", "--format=%(objectmode) %(path)", object], &[])?;
    let entries = listed.split('\0').filter_map(|entry| entry.split_once(' '));
    let links: Vec<String> =
        entries.filter(|(mode, _)| *mode == GITLINK).map(|(_, path)| path.to_owned()).collect();
    if is_object(object) {
        facts::learn_links(object, links.clone());
    }
    Ok(links)
}

/// Names paths so that a command leaves them out.
pub(super) fn left_out(paths: &[String]) -> impl Iterator<Item = String> + '_ {
    paths.iter().map(|path| format!(":(exclude,top,literal){path}"))
}

/// Tells whether a submodule's directory has a repository that is none of those which git keeps for the one around it.
pub(super) fn is_foreign(directory: &Path, around: &Location) -> bool {
    if directory.join(".git").symlink_metadata().is_err() {
        return false;
    }
    let real = |path: &Path| path.canonicalize().ok();
    let own = locate(directory).and_then(|location| real(&location.git_dir));
    !own.zip(real(&around.common_dir)).is_some_and(|(own, around)| own.starts_with(around))
}

/// Reads, of what git says while it adds, that a directory is a repository without a commit, which it cannot even name.
pub(super) fn without_commit(line: &str) -> Option<&str> {
    let path = line.strip_suffix("' does not have a commit checked out")?;
    path.split_once('\'').map(|(_, path)| path.trim_end_matches('/'))
}

/// Tells whether something is in the directory of a submodule; in a run's tree none is checked out.
pub(super) fn is_filled(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_looks_at_files_is_told_to_stay_out_of_submodules() {
        assert_eq!(guarded(&["status", "-z"]), ["status", NOT_INTO, "-z"]);
        assert_eq!(guarded(&["-c", "a=b", "diff", "HEAD"]), ["-c", "a=b", "diff", NOT_INTO, "HEAD"]);
        assert_eq!(guarded(&["-c", "a=b", "-c", "diff", "add"]), ["-c", "a=b", "-c", "diff", "add"]);
        assert_eq!(guarded(&["log", "diff"]), ["log", "diff"]);
        assert_eq!(guarded(&[]), [""; 0]);
    }
}
