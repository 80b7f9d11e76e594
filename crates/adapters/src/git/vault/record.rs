//! The record of a working tree: a commit whose tree has everything that is needed to make the repository anew.
//!
//! | path | holds |
//! |---|---|
//! | `tree/` | the files of the working tree |
//! | `staged/` | what was staged; missing where that is the current commit |
//! | `git/` | small files of the git directory: `HEAD`, `config`, hooks and so on |
//! | `refs` | a line `OBJECT NAME` for every ref, and `OBJECT stash` for every stash, oldest first |
//! | `nested/N/` | the same for a repository inside, with its path in `path` |

use std::{
    fs,
    io::Read as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{Section, Vault, digest, key};
use crate::{
    git::{
        Location,
        own::{GitError, Repository, expected},
    },
    machine, plain,
    refs::{self, HeadAt, ReadError, is_object},
};

/// The largest file of a git directory that is kept, in bytes.
pub(super) const LARGEST: u64 = 4 * 1024 * 1024;
/// Files of a working tree's own git directory.
const OWN: [&str; 7] =
    ["HEAD", "ORIG_HEAD", "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "config.worktree", "info/sparse-checkout"];
/// Files of the git directory that all working trees share.
const SHARED: [&str; 4] = ["config", "info/exclude", "info/attributes", "info/grafts"];
/// Directories whose plain files are kept, and whether all working trees share them.
const DIRECTORIES: [&str; 2] = ["hooks", "warp"];

/// A small file of a git directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct File {
    pub(super) path: String,
    is_executable: bool,
    bytes: Vec<u8>,
}

/// A state that can be rebuilt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub commit: String,
    /// When it was taken, in seconds since 1970.
    pub seconds: i64,
    /// The entry in the list of salvage that was made with it.
    pub entry: Option<String>,
}

/// Reads the small files of a git directory that a repository cannot do without.
pub(super) fn files(location: &Location) -> Result<Vec<File>, GitError> {
    let mut paths: Vec<(PathBuf, String)> = Vec::new();
    paths.extend(OWN.map(|name| (location.git_dir.join(name), name.to_owned())));
    paths.extend(SHARED.map(|name| (location.common_dir.join(name), name.to_owned())));
    for directory in DIRECTORIES {
        let Ok(entries) = fs::read_dir(location.common_dir.join(directory)) else { continue };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let fits = |name: &String| {
            !name.ends_with(".lock") && !name.ends_with(".sample") && !name.contains(['"', '\\', '\n'])
        };
        let mut names: Vec<String> = names.filter(fits).collect();
        names.sort();
        let named =
            |name: String| (location.common_dir.join(directory).join(&name), format!("{directory}/{name}"));
        paths.extend(names.into_iter().map(named));
    }
    let read = |(from, path): (PathBuf, String)| {
        let bytes = read(&from)?;
        let is_executable = from.metadata().is_ok_and(|data| data.permissions().mode() & 0o100 != 0);
        Some(File { path, is_executable, bytes })
    };
    Ok(paths.into_iter().filter_map(read).collect())
}

/// Reads a small plain file; whatever else is there is left alone.
pub(super) fn read(path: &Path) -> Option<Vec<u8>> {
    let file = plain::open(path, fs::File::options().read(true)).ok()?;
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= LARGEST).then_some(bytes)
}

/// All refs of a repository except symbolic ones, which git recreates.
pub(super) struct RefList {
    pub(super) head: Option<String>,
    /// Names and objects.
    pub(super) refs: Vec<(String, String)>,
    /// The commits of the stash, oldest first.
    pub(super) stashes: Vec<String>,
}

impl RefList {
    pub(super) fn read(location: &Location, limit: Duration) -> Result<Self, GitError> {
        let format = "--format=%(objectname) %(refname) %(symref)";
        let listed = Repository::bare(location, limit).text(&["for-each-ref", format], &[])?;
        let read = |line: &str| {
            let mut words = line.split(' ');
            let (object, name) = (words.next()?, words.next()?);
            let is_own = words.next().is_none_or(str::is_empty) && name != "refs/stash";
            (is_own && is_object(object)).then(|| (name.to_owned(), object.to_owned()))
        };
        let all: Vec<(String, String)> = listed.lines().filter_map(read).collect();
        let failed = |error: ReadError| GitError::Said {
            command: "for-each-ref".to_owned(),
            end: "an error".to_owned(),
            words: error.to_string(),
        };
        let head = match refs::head(location).map_err(failed)? {
            HeadAt::Branch(branch) => {
                all.iter().find(|(name, _)| *name == branch).map(|(_, object)| object.clone())
            }
            HeadAt::Commit(commit) => Some(commit),
            HeadAt::Broken => None,
        };
        Ok(Self { head, refs: all, stashes: refs::stashes(location).map_err(failed)? })
    }

    /// Returns the highest number under which the repository itself keeps work of a run.
    pub(super) fn highest(&self, run: &str) -> u64 {
        let under = format!("refs/warp/salvage/{run}/");
        let numbers = self.refs.iter().filter_map(|(name, _)| name.strip_prefix(&under)?.parse().ok());
        numbers.max().unwrap_or(0)
    }

    fn lines(&self) -> String {
        let mut lines: String = self.refs.iter().map(|(name, object)| format!("{object} {name}\n")).collect();
        lines.extend(self.stashes.iter().map(|commit| format!("{commit} stash\n")));
        lines
    }
}

impl Vault {
    /// Returns every state of a working tree that can be rebuilt, the newest first.
    pub fn records(&self, root: &Path) -> Result<Vec<Record>, GitError> {
        let git = Repository::bare(&self.location, super::LIMIT);
        let name = name(root);
        if !git.run(&["rev-parse", "--verify", "--quiet", &name], &[])?.is_success() {
            return Ok(Vec::new());
        }
        let text = git.text(&["log", "--first-parent", "--format=%H %ct %s", &name, "--"], &[])?;
        let read = |line: &str| {
            let mut words = line.split(' ');
            let (commit, seconds) = (words.next()?.to_owned(), words.next()?.parse().ok()?);
            let entry = words.find(|word| word.starts_with("refs/")).map(str::to_owned);
            Some(Record { commit, seconds, entry })
        };
        Ok(text.lines().filter_map(read).collect())
    }

    /// Writes the record of a working tree, unless nothing has changed since the last one.
    pub(super) fn record(
        &self,
        git: &Repository<'_>,
        sections: &[Section],
        entry: Option<&str>,
        run: &str,
    ) -> Result<(), GitError> {
        let Some(first) = sections.first() else { return Ok(()) };
        let mut body = Vec::new();
        for (index, section) in sections.iter().enumerate() {
            if index == 0 {
                section_lines(&mut body, "", section);
            } else {
                let path = section.root.strip_prefix(&first.root).unwrap_or(&section.root);
                let under = format!("nested/{index}/");
                inline(&mut body, "100644", &format!("{under}path"), path.as_os_str().as_encoded_bytes());
                section_lines(&mut body, &under, section);
            }
        }
        let note = self.location.git_dir.join(format!("warp-last-{}", key(&first.root)));
        let digest = format!("{} {}", digest(&body), body.len());
        if entry.is_none() && fs::read_to_string(&note).is_ok_and(|noted| noted == digest) {
            return Ok(());
        }
        let name = name(&first.root);
        let words = match entry {
            Some(entry) => format!("Run {run}, with {entry}"),
            None => format!("Run {run}"),
        };
        let seconds = machine::now().millis() / 1000;
        let mut stream = format!("commit {name}\ncommitter warp <warp@localhost> {seconds} +0000\n");
        stream.push_str(&format!("data {}\n{words}\n", words.len()));
        if git.run(&["rev-parse", "--verify", "--quiet", &name], &[])?.is_success() {
            stream.push_str(&format!("from {name}^0\n"));
        }
        stream.push_str("deleteall\n");
        let mut stream = stream.into_bytes();
        stream.append(&mut body);
        stream.extend_from_slice(b"\ndone\n");
        let finished = git.run_reading(stream, &["fast-import", "--quiet", "--done"], &[])?;
        expected("fast-import", finished)?;
        fs::write(&note, digest).map_err(|source| GitError::File { path: note, source })
    }
}

pub(super) fn name(root: &Path) -> String {
    format!("refs/warp/repository/{}", key(root))
}

fn section_lines(body: &mut Vec<u8>, under: &str, section: &Section) {
    body.extend_from_slice(format!("M 040000 {} {under}tree\n", section.tree).as_bytes());
    if let Some(staged) = &section.staged {
        body.extend_from_slice(format!("M 040000 {} {under}staged\n", staged.tree).as_bytes());
    }
    inline(body, "100644", &format!("{under}refs"), section.refs.lines().as_bytes());
    for file in &section.files {
        let mode = if file.is_executable { "100755" } else { "100644" };
        inline(body, mode, &format!("{under}git/{}", file.path), &file.bytes);
    }
}

fn inline(body: &mut Vec<u8>, mode: &str, path: &str, bytes: &[u8]) {
    body.extend_from_slice(format!("M {mode} inline \"{path}\"\ndata {}\n", bytes.len()).as_bytes());
    body.extend_from_slice(bytes);
    body.push(b'\n');
}
