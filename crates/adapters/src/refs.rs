//! Refs, read from the files in which git keeps them.
//!
//! This runs after every tool call of an agent, so no process is started for it. Where refs are kept in another way
//! (reftable), or a directory looks unlike what git makes, git itself is asked.
//!
//! Left out are refs that may move at any time: those of remotes, of warp itself, and the private ones of a rebase,
//! a bisection or a prefetch.

use std::{
    collections::BTreeMap,
    fmt,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::{
    fs::{Mode, OFlags, open},
    io::Errno,
};

use crate::git::{Location, own::Repository};

pub use crate::git::own::GitError;

/// The deepest directory of refs that is looked into.
const DEEPEST: usize = 40;
/// The most loose refs that are read; a repository with more is asked by git.
const MOST: usize = 50_000;
/// The largest file that is read as one ref, in bytes.
const LARGEST_REF: u64 = 4096;
/// The largest file that is read as many refs, in bytes.
const LARGEST_PACK: u64 = 256 * 1024 * 1024;
/// How long git may take where it has to be asked.
const LIMIT: Duration = Duration::from_secs(20);
/// What a ref's value is when its file holds nothing that git could read.
pub const BROKEN: &str = "broken";

/// The newest commit of the stash.
pub const STASH: &str = "refs/stash";

/// Beginnings of names that may move at any time.
const FREE: [&str; 6] =
    ["refs/remotes/", "refs/warp/", "refs/bisect/", "refs/worktree/", "refs/rewritten/", "refs/prefetch/"];

/// Every ref that may not move at any time, and where HEAD is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refs {
    pub head: HeadAt,
    /// Names and what they point at: an object, or `ref: NAME`.
    pub refs: BTreeMap<String, String>,
    /// The commits of the stash, oldest first.
    pub stashes: Vec<String>,
}

/// Where HEAD is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeadAt {
    /// On a branch, which need not exist yet.
    Branch(String),
    /// On a commit, without a branch.
    Commit(String),
    /// It cannot be read, so git sees no repository.
    Broken,
}

/// Why refs could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("failed to read `{}`", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("git could not list the refs")]
    Git(#[from] GitError),
}

impl fmt::Display for HeadAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HeadAt::Branch(name) => write!(f, "branch `{}`", short_name(name)),
            HeadAt::Commit(commit) => write!(f, "commit {}", short(commit)),
            HeadAt::Broken => f.write_str("something that cannot be read"),
        }
    }
}

impl Refs {
    /// Returns the commit that HEAD leads to; none before the first commit.
    pub fn head_commit(&self) -> Option<&str> {
        match &self.head {
            HeadAt::Branch(name) => self.refs.get(name).map(String::as_str).filter(|value| is_object(value)),
            HeadAt::Commit(commit) => Some(commit),
            HeadAt::Broken => None,
        }
    }
}

/// Tells whether a ref may move at any time, so that nobody has to look at it.
pub fn is_free(name: &str) -> bool {
    !name.starts_with("refs/") || FREE.iter().any(|free| name.starts_with(free))
}

/// Tells whether a text is the full name of an object.
pub fn is_object(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns as much of a commit's name as people read.
pub fn short(commit: &str) -> &str {
    if is_object(commit) { &commit[..10] } else { commit }
}

/// Returns a ref's name without the part that all of its kind have.
pub fn short_name(name: &str) -> &str {
    ["refs/heads/", "refs/tags/"].iter().find_map(|kind| name.strip_prefix(kind)).unwrap_or(name)
}

/// Reads every ref of a repository.
pub fn read(location: &Location) -> Result<Refs, ReadError> {
    let head = head(location)?;
    let mut refs = match from_files(location)? {
        Some(refs) => refs,
        None => from_git(location)?,
    };
    let stashes = match refs.remove(STASH) {
        Some(newest) => entries(stash_log(location)?, newest),
        None => Vec::new(),
    };
    let head = match head {
        // With reftable, the file is there for old programs only.
        HeadAt::Branch(name) if name.ends_with("/.invalid") => head_from_git(location)?,
        HeadAt::Branch(_) | HeadAt::Commit(_) | HeadAt::Broken => head,
    };
    Ok(Refs { head, refs, stashes })
}

/// Reads where HEAD is.
pub fn head(location: &Location) -> Result<HeadAt, ReadError> {
    let text = small_text(&location.git_dir.join("HEAD"), LARGEST_REF)?;
    let Some(value) = text.as_deref().and_then(value_of) else { return Ok(HeadAt::Broken) };
    Ok(match value.strip_prefix("ref: ") {
        Some(name) => HeadAt::Branch(name.to_owned()),
        None => HeadAt::Commit(value),
    })
}

/// Reads one ref; nothing if it is not there.
pub fn one(location: &Location, name: &str) -> Result<Option<String>, ReadError> {
    // With reftable no ref has a file, so one that is found needs no look at how refs are kept.
    match small_text(&location.common_dir.join(name), LARGEST_REF)? {
        Some(text) => Ok(Some(value_of(&text).unwrap_or_else(|| BROKEN.to_owned()))),
        None if location.common_dir.join("reftable").is_dir() => Ok(from_git(location)?.remove(name)),
        None => packed(location, name),
    }
}

/// Tells whether there is no ref whose name begins with `prefix`, which is a directory's; false where that is not sure.
pub fn are_none_under(location: &Location, prefix: &str) -> Result<bool, ReadError> {
    let is_elsewhere = location.common_dir.join("reftable").is_dir();
    if is_elsewhere || location.common_dir.join(prefix).symlink_metadata().is_ok() {
        return Ok(false);
    }
    let packed = small_text(&location.common_dir.join("packed-refs"), LARGEST_PACK)?.unwrap_or_default();
    Ok(!pack_lines(&packed).any(|(_, name)| name.starts_with(prefix)))
}

/// Reads what a ref is in the file of packed refs.
pub fn packed(location: &Location, name: &str) -> Result<Option<String>, ReadError> {
    let Some(text) = small_text(&location.common_dir.join("packed-refs"), LARGEST_PACK)? else {
        return Ok(None);
    };
    Ok(pack_lines(&text).find(|(_, known)| *known == name).map(|(object, _)| object.to_owned()))
}

/// Reads the commits of the stash, oldest first.
pub fn stashes(location: &Location) -> Result<Vec<String>, ReadError> {
    match one(location, STASH)? {
        Some(newest) => Ok(entries(stash_log(location)?, newest)),
        None => Ok(Vec::new()),
    }
}

/// Reads the log of the stash, oldest first: all but the newest commit are in there alone.
pub fn stash_log(location: &Location) -> Result<Vec<String>, ReadError> {
    if location.common_dir.join("reftable").is_dir() {
        let listed = Repository::bare(location, LIMIT)
            .run(&["log", "--walk-reflogs", "--format=%H", STASH, "--"], &[])?;
        let mut commits: Vec<String> = listed.text().lines().map(str::to_owned).collect();
        commits.reverse();
        return Ok(commits);
    }
    let Some(text) = small_text(&location.common_dir.join("logs/refs/stash"), LARGEST_PACK)? else {
        return Ok(Vec::new());
    };
    let objects = text.lines().filter_map(|line| line.split(' ').nth(1)).filter(|object| is_object(object));
    Ok(objects.map(str::to_owned).collect())
}

fn entries(mut log: Vec<String>, newest: String) -> Vec<String> {
    if log.last() != Some(&newest) {
        log.push(newest);
    }
    log
}

/// Reads loose and packed refs; nothing if they are not kept in such files.
fn from_files(location: &Location) -> Result<Option<BTreeMap<String, String>>, ReadError> {
    let root = location.common_dir.join("refs");
    if location.common_dir.join("reftable").is_dir() || !root.join("heads").is_dir() {
        return Ok(None);
    }
    let mut refs = BTreeMap::new();
    // Loose refs first: what is packed meanwhile is then found in the pack, and loose ones count more.
    let mut open = vec![("refs".to_owned(), root, 0)];
    while let Some((name, directory, depth)) = open.pop() {
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            // Git removes directories that have become empty.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(source) => return Err(ReadError::File { path: directory, source }),
        };
        for entry in entries {
            let entry = entry.map_err(|source| ReadError::File { path: directory.clone(), source })?;
            let Some(last) = entry.file_name().to_str().map(str::to_owned) else { continue };
            let (name, path) = (format!("{name}/{last}"), entry.path());
            if is_free(&format!("{name}/")) || name.ends_with(".lock") {
                continue;
            }
            let kind = entry.file_type().map_err(|source| ReadError::File { path: path.clone(), source })?;
            if kind.is_dir() {
                if depth >= DEEPEST {
                    return Ok(None);
                }
                open.push((name, path, depth + 1));
            } else if let Some(text) = small_text(&path, LARGEST_REF)? {
                refs.insert(name, value_of(&text).unwrap_or_else(|| BROKEN.to_owned()));
            }
            if refs.len() > MOST {
                return Ok(None);
            }
        }
    }
    let packed = location.common_dir.join("packed-refs");
    if fs::metadata(&packed).is_ok_and(|data| data.len() > LARGEST_PACK) {
        return Ok(None);
    }
    if let Some(text) = small_text(&packed, LARGEST_PACK)? {
        for (object, name) in pack_lines(&text) {
            if !is_free(name) && !refs.contains_key(name) {
                refs.insert(name.to_owned(), object.to_owned());
            }
        }
    }
    Ok(Some(refs))
}

fn pack_lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    // Lines with `#` are about the file, those with `^` about the tag in the line before.
    // A name that is no text is passed over, as it is among the loose ones; the others count all the same.
    let is_text = |name: &str| !name.contains(char::REPLACEMENT_CHARACTER);
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.filter(move |(object, name)| is_object(object) && is_text(name))
}

fn from_git(location: &Location) -> Result<BTreeMap<String, String>, ReadError> {
    let own = Repository::bare(location, LIMIT);
    let text = own.text(&["for-each-ref", "--format=%(objectname) %(refname) %(symref)"], &[])?;
    let mut refs = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split(' ');
        let (Some(object), Some(name)) = (words.next(), words.next()) else { continue };
        if is_free(name) {
            continue;
        }
        let value = match words.next().filter(|target| !target.is_empty()) {
            Some(target) => format!("ref: {target}"),
            None => object.to_owned(),
        };
        refs.insert(name.to_owned(), value);
    }
    Ok(refs)
}

fn head_from_git(location: &Location) -> Result<HeadAt, ReadError> {
    let own = Repository::bare(location, LIMIT);
    let branch = own.run(&["symbolic-ref", "--quiet", "HEAD"], &[])?;
    if branch.is_success() {
        return Ok(HeadAt::Branch(branch.text()));
    }
    Ok(HeadAt::Commit(own.text(&["rev-parse", "--verify", "HEAD"], &[])?))
}

/// Returns what a loose ref's file says: an object's name in lower case, or `ref: NAME`.
fn value_of(text: &str) -> Option<String> {
    let text = text.trim_end();
    if let Some(name) = text.strip_prefix("ref:") {
        let name = name.trim_start();
        return name.starts_with("refs/").then(|| format!("ref: {name}"));
    }
    is_object(text).then(|| text.to_ascii_lowercase())
}

/// Reads a file of text; nothing if it is not there. What is no ordinary file or too large is read as empty.
fn small_text(path: &Path, largest: u64) -> Result<Option<String>, ReadError> {
    let failed = |source| ReadError::File { path: path.to_owned(), source };
    // Without `NONBLOCK` the opening of a pipe would wait for somebody to write into it.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let mut file = match open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        // Only a socket or a device says that.
        Err(Errno::NXIO | Errno::NODEV) => return Ok(Some(String::new())),
        Err(error) => return Err(failed(error.into())),
    };
    let data = file.metadata().map_err(failed)?;
    if data.is_dir() {
        return Ok(None);
    }
    if !data.is_file() || data.len() > largest {
        return Ok(Some(String::new()));
    }
    let mut bytes = vec![0; usize::try_from(data.len()).unwrap_or_default()];
    let mut read = 0;
    while read < bytes.len() {
        match file.read(&mut bytes[read..]) {
            Ok(0) => break,
            Ok(count) => read += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => return Err(failed(source)),
        }
    }
    bytes.truncate(read);
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::git::locate;

    fn git(root: &Path, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command.current_dir(root).args(arguments).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", root);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), "Test")
                .env(format!("GIT_{role}_EMAIL"), "test@localhost");
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Makes a repository with refs of every kind, in the given format.
    fn repository(format: &str) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        git(root, &["init", "--quiet", "--initial-branch=main", format]);
        git(root, &["commit", "--quiet", "--allow-empty", "-m", "one"]);
        git(root, &["branch", "a/b/c"]);
        git(root, &["tag", "-a", "-m", "annotated", "v1"]);
        git(root, &["tag", "v2"]);
        git(root, &["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
        git(root, &["update-ref", "refs/remotes/origin/main", "HEAD"]);
        git(root, &["update-ref", "refs/warp/salvage/r/1", "HEAD"]);
        for text in ["one", "two"] {
            fs::write(root.join("file"), text).unwrap();
            git(root, &["add", "."]);
            git(root, &["stash", "--quiet"]);
        }
        directory
    }

    fn check(root: &Path) {
        let location = locate(root).unwrap();
        let refs = read(&location).unwrap();
        assert_eq!(refs.head, HeadAt::Branch("refs/heads/main".to_owned()));
        let mut listed = from_git(&location).unwrap();
        assert_eq!(listed.remove(STASH).as_ref(), refs.stashes.last());
        assert_eq!(refs.stashes.len(), 2);
        assert_eq!(refs.refs, listed);
        let names: Vec<&str> = refs.refs.keys().map(String::as_str).collect();
        let wanted =
            ["refs/heads/a/b/c", "refs/heads/alias", "refs/heads/main", "refs/tags/v1", "refs/tags/v2"];
        assert_eq!(names, wanted);
        assert_eq!(refs.refs["refs/heads/alias"], "ref: refs/heads/main");
        assert_eq!(one(&location, "refs/heads/a/b/c").unwrap().as_ref(), refs.refs.get("refs/heads/a/b/c"));
        assert_eq!(one(&location, "refs/heads/none").unwrap(), None);
        assert_eq!(refs.head_commit(), Some(git(root, &["rev-parse", "HEAD"]).as_str()));
    }

    #[test]
    fn loose_and_packed_refs_are_read_as_git_lists_them() {
        let directory = repository("--object-format=sha1");
        let root = directory.path();
        check(root);
        git(root, &["pack-refs", "--all"]);
        check(root);
        git(root, &["commit", "--quiet", "--allow-empty", "-m", "two"]);
        git(root, &["branch", "--quiet", "--force", "a/b/c"]);
        check(root);
        git(root, &["checkout", "--quiet", "--detach"]);
        let refs = read(&locate(root).unwrap()).unwrap();
        assert_eq!(refs.head, HeadAt::Commit(git(root, &["rev-parse", "HEAD"])));
    }

    #[test]
    fn longer_names_of_objects_and_other_ways_of_keeping_refs_are_read_too() {
        check(repository("--object-format=sha256").path());
        let directory = tempfile::tempdir().unwrap();
        let version = git(directory.path(), &["version"]);
        let minor = version.split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok());
        // Before 2.45 git knows no other way.
        if minor.is_some_and(|minor| minor >= 45) {
            check(repository("--ref-format=reftable").path());
        }
    }

    #[test]
    fn files_that_are_no_refs_are_told_and_never_waited_for() {
        let directory = repository("--object-format=sha1");
        let root = directory.path();
        let location = locate(root).unwrap();
        fs::write(root.join(".git/refs/heads/broken"), "garbage").unwrap();
        let pipe = Command::new("mkfifo").arg(root.join(".git/refs/heads/pipe")).status().unwrap();
        assert!(pipe.success());
        fs::write(root.join(".git/refs/heads/main.lock"), "").unwrap();
        let refs = read(&location).unwrap();
        assert_eq!(
            (refs.refs["refs/heads/broken"].as_str(), refs.refs["refs/heads/pipe"].as_str()),
            (BROKEN, BROKEN)
        );
        assert!(!refs.refs.contains_key("refs/heads/main.lock"));
        fs::remove_file(root.join(".git/HEAD")).unwrap();
        assert_eq!(read(&location).unwrap().head, HeadAt::Broken);
    }

    #[test]
    fn a_packed_name_that_is_no_text_hides_no_other() {
        let object = "1234567890123456789012345678901234567890";
        let mut pack =
            format!("# pack-refs with: peeled\n{object} refs/heads/one\n{object} refs/heads/").into_bytes();
        pack.extend_from_slice(b"\xe4\n");
        pack.extend_from_slice(format!("{object} refs/tags/two\n").as_bytes());
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("packed-refs");
        fs::write(&path, pack).unwrap();
        let text = small_text(&path, LARGEST_PACK).unwrap().unwrap();
        let names: Vec<&str> = pack_lines(&text).map(|(_, name)| name).collect();
        assert_eq!(names, ["refs/heads/one", "refs/tags/two"]);
    }
}
