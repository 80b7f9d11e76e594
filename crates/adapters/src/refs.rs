//! Refs, read from the files in which git keeps them.
//!
//! This runs after every tool call of an agent, so no process is started for it. Where refs are kept in another way
//! (reftable), or a directory looks unlike what git makes, git itself is asked.
//!
//! Left out are refs that may move at any time: those of remotes, of warp itself, and the private ones of a rebase,
//! a bisection or a prefetch.

use std::{
    collections::BTreeMap,
    fmt, fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::git::{Location, own::Own};

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
    if location.common_dir.join("reftable").is_dir() {
        return Ok(from_git(location)?.remove(name));
    }
    match small_text(&location.common_dir.join(name), LARGEST_REF)? {
        Some(text) => Ok(Some(value_of(&text).unwrap_or_else(|| BROKEN.to_owned()))),
        None => packed(location, name),
    }
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
    if let Some(text) = small_text(&location.common_dir.join("packed-refs"), LARGEST_PACK)? {
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
    text.lines().filter_map(|line| line.split_once(' ')).filter(|(object, _)| is_object(object))
}

fn from_git(location: &Location) -> Result<BTreeMap<String, String>, ReadError> {
    let own = Own::bare(location, LIMIT);
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
    let own = Own::bare(location, LIMIT);
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

/// Reads a file of text; nothing if it is not there. What is no ordinary file, too large or no text is read as empty.
fn small_text(path: &Path, largest: u64) -> Result<Option<String>, ReadError> {
    let failed = |source| ReadError::File { path: path.to_owned(), source };
    let gone =
        |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    match fs::metadata(path) {
        Err(error) if gone(&error) => return Ok(None),
        Err(source) => return Err(failed(source)),
        Ok(data) if data.is_dir() => return Ok(None),
        // A pipe would never answer.
        Ok(data) if !data.is_file() || data.len() > largest => return Ok(Some(String::new())),
        Ok(_) => {}
    }
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8(bytes).unwrap_or_default())),
        Err(error) if gone(&error) => Ok(None),
        Err(source) => Err(failed(source)),
    }
}
