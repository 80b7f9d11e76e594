//! The repository of a slot: a workspace that was made for runs, beside the person's own checkout.
//!
//! A slot's directory holds `tree/`, the working tree, and a marker that says where the tree's repository is. For a clone
//! that is `git/` beside it, whose objects are hard links to the person's; for a git worktree it is where git put it. The
//! marker lies outside the tree, so what an agent writes into its tree never decides which repository is meant.
//!
//! A clone has refs and a configuration of its own and no remote: nothing in it can move a branch of the person's.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use super::{
    Location, index,
    integrate::{TargetError, tracked},
    lfs, nested,
    own::{GitError, Repository},
    submodules,
};
use crate::{
    boundary,
    process::{self, End},
    refs::{self, HeadAt, is_object},
};

/// The working tree in a slot's directory.
pub const TREE: &str = "tree";
/// A clone's git directory in a slot's directory.
pub const GIT: &str = "git";
/// The file in a slot's directory that says what it is.
pub const MARKER: &str = "warp-slot";
const FIRST_LINE: &str = "warp-slot 1";
/// The largest marker that is read, in bytes: a few short lines.
const LARGEST_MARKER: u64 = 64 * 1024;

/// How long a repository may take to be copied or checked out, or its files to be kept.
pub(super) const LIMIT: Duration = Duration::from_secs(600);
/// How long to wait for a git whose warp has died before its lock counts as left behind.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);
/// How deep below `refs` a lock is looked for.
const DEEPEST_REF: usize = 12;

/// The person's settings that a clone takes over, as they are in force for the person: who commits, and how files are
/// turned into what is committed. No more, because everything else can name a program or a place (hooks, monitors,
/// aliases, remotes, credentials) that a run has no business with; what the person set for all their repositories is in
/// force in a clone anyway.
const TAKEN_OVER: &str = r"^(user\.(name|email)|core\.(autocrlf|eol|ignorecase|filemode|symlinks)|filter\.lfs\.(clean|smudge|process|required))$";

/// What a clone has of its own: nobody is there to type the passphrase of a key, git never cleans up by itself under a
/// run, no program of the tree is started, and any commit can be fetched from here by its hash. Git LFS asks no server,
/// whatever the tree's `.lfsconfig` names, and a file whose content is not here stays a pointer.
const OWN_SETTINGS: &[(&str, &str)] = &[
    ("core.bare", "false"),
    ("core.logAllRefUpdates", "true"),
    ("core.fsmonitor", "false"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("uploadpack.allowAnySHA1InWant", "true"),
    ("lfs.url", "file:///dev/null"),
    ("lfs.skipDownloadErrors", "true"),
];

/// How a slot's working tree hangs together with the person's repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A repository of its own with hard-linked objects.
    Clone,
    /// A further working tree of the person's repository.
    Worktree,
}

/// What a slot's marker says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    pub kind: Kind,
    pub location: Location,
    /// The root of the person's checkout.
    pub origin: PathBuf,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Clone => "clone",
            Self::Worktree => "worktree",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Reads the marker of the slot whose working tree is `root`; nothing if it is no slot's.
pub fn marker(root: &Path) -> Option<Marker> {
    if root.file_name()? != TREE {
        return None;
    }
    let directory = root.parent()?;
    let file = directory.join(MARKER);
    let data = file.symlink_metadata().ok()?;
    if !data.is_file() || data.len() > LARGEST_MARKER {
        return None;
    }
    let text = fs::read_to_string(file).ok()?;
    let mut lines = text.lines();
    if lines.next()? != FIRST_LINE {
        return None;
    }
    let (mut kind, mut git_dir, mut origin) = (None, None, None);
    for (name, value) in lines.filter_map(|line| line.split_once(' ')) {
        match name {
            "kind" => kind = [Kind::Clone, Kind::Worktree].into_iter().find(|kind| kind.as_str() == value),
            "git" => git_dir = Some(PathBuf::from(value)),
            "origin" => origin = Some(PathBuf::from(value)),
            _ => {}
        }
    }
    let (kind, origin) = (kind?, origin?);
    let location = match kind {
        Kind::Clone => {
            let git_dir = directory.join(GIT);
            Location { common_dir: git_dir.clone(), git_dir }
        }
        Kind::Worktree => {
            let git_dir = git_dir?;
            // Git keeps a further working tree's directory as `worktrees/NAME` of the repository.
            Location { common_dir: git_dir.parent()?.parent()?.to_owned(), git_dir }
        }
    };
    Some(Marker { kind, location, origin })
}

/// Writes the marker of a slot. With a worktree, `git_dir` is where git keeps it.
pub fn mark(directory: &Path, kind: Kind, git_dir: &Path, origin: &Path) -> io::Result<()> {
    let text = format!(
        "{FIRST_LINE}\nkind {kind}\ngit {}\norigin {}\n",
        git_dir.to_string_lossy(),
        origin.to_string_lossy()
    );
    fs::write(directory.join(MARKER), text)
}

/// Makes the git directory of a clone, with `target` as its only branch, and nothing checked out.
pub fn clone(origin: &Location, target: &str, git_dir: &Path) -> Result<(), GitError> {
    let text =
        |path: &Path| path.to_str().map(str::to_owned).ok_or_else(|| GitError::NotText(path.to_owned()));
    let (from, to) = (text(&origin.common_dir)?, text(git_dir)?);
    let single = format!("--branch={target}");
    // A path is linked where that is possible and copied where it is not; `--local` would insist on links.
    let arguments = [
        "clone",
        "--quiet",
        "--bare",
        "--no-tags",
        "--single-branch",
        &single,
        "--template=",
        "--",
        &from,
        &to,
    ];
    let set = [("GIT_TERMINAL_PROMPT", "0"), ("LC_ALL", "C")];
    let finished = boundary::around("clone", || {
        process::run_without(
            super::own::elsewhere(),
            super::own::program(),
            arguments,
            &origin.common_dir,
            &set,
            LIMIT,
        )
    })?;
    if !finished.is_success() {
        let (end, words) = (finished.end.to_string(), finished.last_words(300));
        return Err(GitError::Said { command: "clone".to_owned(), end, words });
    }
    let location = Location { git_dir: git_dir.to_owned(), common_dir: git_dir.to_owned() };
    let git = Repository::bare(&location, LIMIT);
    git.text(&["config", "--remove-section", "remote.origin"], &[])?;
    configure(origin, git_dir)?;
    lfs::share(origin, &location)?;
    remember_target(&git, target)
}

/// Writes what a clone takes over of the person's settings, and what it has of its own.
fn configure(origin: &Location, git_dir: &Path) -> Result<(), GitError> {
    let theirs = Repository::bare(origin, LIMIT).run(&["config", "-z", "--get-regexp", TAKEN_OVER], &[])?;
    if !theirs.is_success() && theirs.end != End::Exit(1) {
        let (end, words) = (theirs.end.to_string(), theirs.last_words(300));
        return Err(GitError::Said { command: "config".to_owned(), end, words });
    }
    let theirs = String::from_utf8_lossy(&theirs.stdout).into_owned();
    let theirs = theirs.split('\0').filter_map(|entry| entry.split_once('\n'));
    let mut text = String::new();
    for (name, value) in theirs.chain(OWN_SETTINGS.iter().copied()) {
        text.push_str(&setting(name, value));
    }
    let failed = |source| GitError::File { path: git_dir.join("config"), source };
    let mut file = fs::OpenOptions::new().append(true).open(git_dir.join("config")).map_err(failed)?;
    io::Write::write_all(&mut file, text.as_bytes()).map_err(failed)?;
    let (from, to) = (origin.common_dir.join("info/exclude"), git_dir.join("info/exclude"));
    let failed = |source| GitError::File { path: to.clone(), source };
    fs::create_dir_all(git_dir.join("info")).map_err(failed)?;
    match fs::copy(&from, &to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
        _ => Ok(()),
    }
}

/// Spells one setting as git's configuration has it.
fn setting(name: &str, value: &str) -> String {
    let (section, key) = name.rsplit_once('.').unwrap_or(("core", name));
    let header = match section.split_once('.') {
        Some((section, sub)) => format!("[{section} \"{}\"]", sub.replace('\\', "\\\\").replace('"', "\\\"")),
        None => format!("[{section}]"),
    };
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{header}\n\t{key} = \"{value}\"\n")
}

/// Notes which branch the work of this clone goes to, where git notes a remote's main branch.
fn remember_target(git: &Repository<'_>, target: &str) -> Result<(), GitError> {
    let tracked = tracked(target);
    git.text(&["update-ref", &tracked, &format!("refs/heads/{target}")], &[])?;
    git.text(&["symbolic-ref", "refs/remotes/origin/HEAD", &tracked], &[]).map(drop)
}

/// Makes a further working tree of the person's repository at `tree`, with nothing checked out, and returns its git
/// directory.
pub fn worktree(origin: &Location, tree: &Path, base: &str) -> Result<PathBuf, GitError> {
    let git = Repository::bare(origin, LIMIT);
    let path = tree.to_str().ok_or_else(|| GitError::NotText(tree.to_owned()))?;
    boundary::around("worktree", || {
        git.text(&["worktree", "prune"], &[])?;
        git.text(&["worktree", "add", "--quiet", "--force", "--no-checkout", "--detach", path, base], &[])
    })?;
    worktree_of(origin, tree)?.ok_or_else(|| GitError::Said {
        command: "worktree add".to_owned(),
        end: "success".to_owned(),
        words: format!("`{path}` is not among the repository's working trees"),
    })
}

/// Finds where git keeps the working tree at `tree`, without asking the tree.
pub fn worktree_of(origin: &Location, tree: &Path) -> Result<Option<PathBuf>, GitError> {
    let all = origin.common_dir.join("worktrees");
    let failed = |source| GitError::File { path: all.clone(), source };
    let entries = match fs::read_dir(&all) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    for entry in entries {
        let git_dir = entry.map_err(failed)?.path();
        let link = fs::read_to_string(git_dir.join("gitdir")).unwrap_or_default();
        if Path::new(link.trim()) == tree.join(".git") {
            return git_dir.canonicalize().map(Some).map_err(failed);
        }
    }
    Ok(None)
}

/// Where a tree's HEAD is after a checkout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head<'a> {
    /// At a commit, on no branch.
    Detached(&'a str),
    /// On the branch that it is on already.
    OnBranch(&'a str),
}

/// What becomes of ignored files when a tree is made a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// They go with the rest.
    Removed,
    /// They stay: they are what was installed for the tests.
    Kept,
}

/// Puts the working tree back to its last commit: changes and new files go, ignored files and the branch stay.
///
/// Only for what nobody could miss, such as what tests have left in a tree that no agent has worked in.
pub fn discard(root: &Path, location: &Location) -> Result<(), GitError> {
    let git = Repository::new(root, location, LIMIT);
    boundary::around("discard", || {
        git.text(&["reset", "--quiet", "--hard"], &[])?;
        git.text(&["clean", "-f", "-d", "--quiet"], &[])
    })
    .map(drop)
}

/// Checks out `head` over whatever is there, and removes everything that is not part of it, with or without ignored files.
///
/// What can be lost by that must have been kept before. Repositories inside the tree, and whatever is in the directory of a
/// submodule, are given to `set_aside`, which moves them out of it: they may hold work that nobody else has.
pub fn check_out_only<E: From<GitError>>(
    root: &Path,
    location: &Location,
    head: Head<'_>,
    ignored: Ignored,
    mut set_aside: impl FnMut(&Path) -> Result<(), E>,
) -> Result<(), E> {
    let git = Repository::new(root, location, LIMIT);
    let (how, name, commit) = match head {
        Head::Detached(commit) => ("--detach", commit, commit),
        Head::OnBranch(name) => ("--no-guess", name, "HEAD"),
    };
    let left: Vec<PathBuf> = boundary::around("check_out", || {
        for name in ["rebase-merge", "rebase-apply", "sequencer"] {
            remove_directory(&location.git_dir.join(name))?;
        }
        let workers = ["-c", "checkout.workers=0", "checkout", "--quiet", "--force", how, name, "--"];
        git.text(&workers, &[])?;
        // A single `-f`: what has a repository of its own is not removed.
        let (clean, others): (&[&str], &[&str]) = match ignored {
            Ignored::Removed => (&["-x"], &[]),
            Ignored::Kept => (&[], &["--exclude-standard"]),
        };
        git.text(&[&["clean", "-f", "-d", "--quiet"], clean].concat(), &[])?;
        let left = git.text(&[&["ls-files", "--others", "--directory", "-z"], others].concat(), &[])?;
        let left = left.split('\0').map(|path| path.trim_end_matches('/')).filter(|path| !path.is_empty());
        Ok::<_, GitError>(left.map(|path| root.join(path)).collect())
    })?;
    left.iter().try_for_each(|path| set_aside(path))?;
    for path in nested::links(&git, commit)?.iter().map(|path| root.join(path)) {
        if nested::is_filled(&path) && !submodules::clear_unchanged(root, &path)? {
            set_aside(&path)?;
            // To git, a submodule without a directory is one that was deleted.
            fs::create_dir(&path).map_err(|source| GitError::File { path, source })?;
        }
    }
    Ok(())
}

/// Tells whether a working tree is exactly its last commit: nothing is changed, new, ignored (unless that stays) or a
/// repository of its own.
pub fn is_clean(root: &Path, location: &Location, ignored: Ignored) -> Result<bool, GitError> {
    let ignored = match ignored {
        Ignored::Removed => "--ignored=traditional",
        Ignored::Kept => "--ignored=no",
    };
    let arguments = ["status", "--porcelain=v2", "--branch", "-z", ignored, "--untracked-files=normal"];
    let git = Repository::new(root, location, LIMIT);
    let listed = git.run(&arguments, &[])?;
    let said = String::from_utf8_lossy(&listed.stdout);
    let (about, changed): (Vec<&str>, Vec<&str>) =
        said.split_terminator('\0').partition(|line| line.starts_with("# "));
    let head =
        about.iter().find_map(|line| line.strip_prefix("# branch.oid ")).filter(|head| is_object(head));
    let Some(head) = head.filter(|_| listed.is_success() && changed.is_empty()) else { return Ok(false) };
    Ok(!nested::links(&git, head)?.iter().any(|path| nested::is_filled(&root.join(path))))
}

/// Checks out `commit` in a working tree that is clean, on no branch.
pub fn check_out(root: &Path, location: &Location, commit: &str) -> Result<(), GitError> {
    let git = Repository::new(root, location, LIMIT);
    let arguments = ["-c", "checkout.workers=0", "checkout", "--quiet", "--detach", commit, "--"];
    boundary::around("check_out", || git.text(&arguments, &[])).map(drop)
}

/// Puts a clone's own branch `target` where the person's is, and deletes every other branch, tags and the stash. Their
/// commits must have been kept before.
///
/// The clone stands on no branch then; if it stood on one, its files are those of `commit`.
pub fn put_refs(location: &Location, target: &str, commit: &str) -> Result<(), TargetError> {
    let git = Repository::bare(location, LIMIT);
    let (full, tracked) = (format!("refs/heads/{target}"), tracked(target));
    let found = refs::read(location)?;
    let stash = (!found.stashes.is_empty()).then(|| refs::STASH.to_owned());
    let is_other = |name: &String| {
        *name != full && ["refs/heads/", "refs/tags/"].iter().any(|kind| name.starts_with(kind))
    };
    let others = found.refs.into_keys().filter(is_other).chain(stash);
    let mut lines: Vec<String> = others.map(|name| format!("delete {name}")).collect();
    for name in [&full, &tracked] {
        if refs::one(location, name)?.as_deref() != Some(commit) {
            lines.push(format!("update {name} {commit}"));
        }
    }
    if let HeadAt::Branch(_) = found.head {
        // First, and by itself: git does not change a branch and what stands on it at once.
        let first = ["start", &format!("update HEAD {commit}"), "commit", "start"].map(str::to_owned);
        lines.splice(0..0, first);
        lines.push("commit".to_owned());
    }
    boundary::around("put_refs", || git.change_refs(&lines))?;
    if refs::one(location, "refs/remotes/origin/HEAD")? != Some(format!("ref: {tracked}")) {
        git.text(&["symbolic-ref", "refs/remotes/origin/HEAD", &tracked], &[])?;
    }
    Ok(())
}

/// Removes what a git that was killed has left behind. Whoever calls this holds the slot.
pub fn clear_leftovers(location: &Location) -> io::Result<()> {
    for entry in fs::read_dir(&location.git_dir)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with(index::OWN) && path.is_file() {
            fs::remove_file(&path)?;
        } else if name.ends_with(".lock") && path.is_file() {
            outwait(&path)?;
        }
    }
    if location.git_dir == location.common_dir {
        clear_locks(&location.git_dir.join("refs"), DEEPEST_REF)?;
    }
    Ok(())
}

fn clear_locks(directory: &Path, depth: usize) -> io::Result<()> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() && depth > 0 {
            clear_locks(&entry.path(), depth - 1)?;
        } else if kind.is_file() && entry.file_name().to_string_lossy().ends_with(".lock") {
            outwait(&entry.path())?;
        }
    }
    Ok(())
}

/// Waits for a lock to go away by itself, and removes it if it does not.
fn outwait(path: &Path) -> io::Result<()> {
    let until = Instant::now() + LOCK_PATIENCE;
    let age = |path: &Path| path.metadata().and_then(|data| data.modified()).ok()?.elapsed().ok();
    while path.exists() && Instant::now() < until && age(path).is_some_and(|age| age < LOCK_PATIENCE) {
        thread::sleep(Duration::from_millis(20));
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn remove_directory(path: &Path) -> Result<(), GitError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(GitError::File { path: path.to_owned(), source: error })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_spelled_so_that_git_reads_it_back() {
        assert_eq!(setting("user.name", r#"Ann "A" \ B"#), "[user]\n\tname = \"Ann \\\"A\\\" \\\\ B\"\n");
        assert_eq!(
            setting("filter.lfs.clean", "git-lfs clean -- %f"),
            "[filter \"lfs\"]\n\tclean = \"git-lfs clean -- %f\"\n"
        );
    }
}
