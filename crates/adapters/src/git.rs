//! Git, by its own command line.
//!
//! Configuration that would run programs out of the repository (hooks, the file-system monitor) is switched
//! off for every call, and nothing here takes a lock that a person's own git would wait for.

mod evidence;
pub mod hooks;
pub mod mend;
pub(crate) mod own;
pub mod salvage;
mod write;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use engine::{Branches, Diff, Seen};

pub use write::Prepared;

use crate::process::{self, Finished};

/// How long any single git command may take.
const LIMIT: Duration = Duration::from_secs(60);
/// How many names of changed files are kept.
const FILES_KEPT: usize = 300;
/// How much of a new file is searched for words.
const SEARCHED: u64 = 512 * 1024;
/// The largest file that is read as a link to a repository, in bytes.
const LONGEST_LINK: u64 = 64 * 1024;

/// What a commit of everything takes in: all but the person's own settings for their agent in this checkout.
const EVERYTHING: [&str; 5] = ["add", "--all", "--", ".", ":(exclude,top).claude/settings.local.json"];

/// Where a repository keeps itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The directory of this working tree's own state.
    pub git_dir: PathBuf,
    /// The directory that all working trees of the repository share.
    pub common_dir: PathBuf,
}

/// Finds the repository whose working tree has its root at `root`, without starting git.
pub fn locate(root: &Path) -> Option<Location> {
    let dot_git = root.join(".git");
    let data = fs::metadata(&dot_git).ok()?;
    if data.is_dir() {
        return Some(Location { git_dir: dot_git.clone(), common_dir: dot_git });
    }
    // A pipe would never answer, and a link to the repository is one short line.
    if !data.is_file() || data.len() > LONGEST_LINK {
        return None;
    }
    let text = fs::read_to_string(&dot_git).ok()?;
    let git_dir = root.join(text.strip_prefix("gitdir:")?.trim());
    let common_dir = match fs::read_to_string(git_dir.join("commondir")) {
        Ok(common) => git_dir.join(common.trim()),
        Err(_) => git_dir.clone(),
    };
    Some(Location { git_dir, common_dir })
}

/// A working tree, to be asked.
#[derive(Clone, Copy, Debug)]
pub struct Git<'a> {
    root: &'a Path,
}

impl<'a> Git<'a> {
    /// Takes the directory in which git is asked.
    pub fn new(root: &'a Path) -> Self {
        Self { root }
    }

    fn run(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Result<Finished, String> {
        let fixed = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];
        let arguments = fixed.iter().chain(arguments);
        let mut all = vec![("GIT_OPTIONAL_LOCKS", "0"), ("GIT_TERMINAL_PROMPT", "0"), ("LC_ALL", "C")];
        all.extend_from_slice(environment);
        process::run("git", arguments, self.root, &all, LIMIT).map_err(|error| error.to_string())
    }

    fn text(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Result<String, String> {
        let finished = self.run(arguments, environment)?;
        if finished.is_success() {
            Ok(finished.text())
        } else {
            let name = arguments.first().copied().unwrap_or("");
            Err(format!("`git {name}` ended with {}: {}", finished.end, finished.last_words(300)))
        }
    }

    /// Tells whether there is a repository at all; git missing is not the same as none.
    fn is_repository(&self) -> Result<bool, String> {
        let finished = self.run(&["rev-parse", "--is-inside-work-tree"], &[])?;
        Ok(finished.is_success() && finished.text() == "true")
    }

    fn look<T>(&self, look: impl FnOnce() -> Result<Seen<T>, String>) -> Seen<T> {
        match self.is_repository() {
            Ok(true) => look().unwrap_or_else(Seen::Failed),
            Ok(false) => Seen::Absent("there is no git repository".to_owned()),
            Err(error) => Seen::Failed(error),
        }
    }

    /// Returns the current commit.
    pub fn head(&self) -> Seen<String> {
        self.look(|| {
            let finished = self.run(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], &[])?;
            Ok(if finished.is_success() {
                Seen::Value(finished.text())
            } else {
                Seen::Absent("there is no commit yet".to_owned())
            })
        })
    }

    /// Returns the tree that a commit of everything would have: tracked, changed and new files.
    ///
    /// It is written with an index of its own, so the person's index stays as it is.
    pub fn tree(&self) -> Seen<String> {
        self.look(|| Ok(Seen::Value(self.prepare(Vec::new())?.tree()?)))
    }

    /// Returns what has changed since `base` (or the last commit), new files included.
    pub fn diff(&self, base: Option<&str>, words: &[String]) -> Seen<Diff> {
        self.look(|| {
            let base = self.base(base)?;
            let changed =
                self.text(&["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", &base, "--"], &[])?;
            let new = self.text(&["ls-files", "--others", "--exclude-standard", "-z"], &[])?;
            let names = |text: &str| -> Vec<String> {
                text.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect()
            };
            let new = names(&new);
            let mut files = names(&changed);
            files.extend(new.iter().filter(|name| !files.contains(name)).cloned().collect::<Vec<_>>());
            let shared_words = self.shared_words(&base, &files, &new, words)?;
            let count = files.len();
            files.truncate(FILES_KEPT);
            Ok(Seen::Value(Diff { files, count, shared_words }))
        })
    }

    /// Returns what a change is measured from: `base`, or else the last commit.
    fn base(&self, base: Option<&str>) -> Result<String, String> {
        match base {
            Some(base) => Ok(base.to_owned()),
            None => match self.head() {
                Seen::Value(head) => Ok(head),
                // Before the first commit everything is new: compare with the empty tree.
                Seen::Absent(_) => self.text(&["hash-object", "-t", "tree", "/dev/null"], &[]),
                Seen::Failed(error) => Err(error),
            },
        }
    }

    /// Returns which words occur in a changed path, an added line or a new file.
    fn shared_words(
        &self,
        base: &str,
        files: &[String],
        new: &[String],
        words: &[String],
    ) -> Result<Vec<String>, String> {
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let diff = self
            .run(&["diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", base, "--"], &[])?;
        let mut text = files.join("\n").to_lowercase();
        for line in String::from_utf8_lossy(&diff.stdout).lines() {
            if let Some(added) = line.strip_prefix('+') {
                text.push('\n');
                text.push_str(&added.to_lowercase());
            }
        }
        for name in new.iter().take(FILES_KEPT) {
            use std::io::Read as _;
            let (path, mut content) = (self.root.join(name), Vec::new());
            // A link is not followed: what it leads to is not part of the change, and may be a pipe.
            if !path.symlink_metadata().is_ok_and(|data| data.is_file()) {
                continue;
            }
            let read = fs::File::open(path).and_then(|file| file.take(SEARCHED).read_to_end(&mut content));
            if read.is_ok() {
                text.push_str(&String::from_utf8_lossy(&content).to_lowercase());
            }
        }
        Ok(words.iter().filter(|word| text.contains(word.as_str())).cloned().collect())
    }

    /// Returns the files that a commit changed.
    pub fn changed_in(&self, commit: &str) -> Result<Vec<String>, String> {
        let arguments = ["diff-tree", "--no-commit-id", "--name-only", "-r", "-z", "--root", commit];
        let names = self.text(&arguments, &[])?;
        Ok(names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    /// Finds the branches that a run works between.
    pub fn branches(&self) -> Branches {
        let ask = |arguments: &[&str]| self.text(arguments, &[]).ok().filter(|text| !text.is_empty());
        let branch = ask(&["symbolic-ref", "--quiet", "--short", "HEAD"]).unwrap_or_default();
        let remote = ask(&["symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"]);
        let remote = remote.and_then(|name| name.strip_prefix("origin/").map(str::to_owned));
        let exists =
            |name: &&str| ask(&["rev-parse", "--verify", "--quiet", &format!("refs/heads/{name}")]).is_some();
        let local = || ["main", "master"].into_iter().find(|name| exists(name)).map(str::to_owned);
        let main_branch = remote
            .or_else(local)
            .unwrap_or_else(|| if branch.is_empty() { "main".to_owned() } else { branch.clone() });
        Branches {
            branch,
            merge_target: main_branch.clone(),
            main_branch,
            session_branch: None,
            merge_strategy: "ff-only".to_owned(),
        }
    }

    /// Returns a file as it is in a branch's newest commit; nothing if it is not there.
    pub fn file_in(&self, branch: &str, path: &str) -> Option<String> {
        let finished = self.run(&["show", &format!("refs/heads/{branch}:{path}")], &[]).ok()?;
        (finished.is_success() && !finished.cut).then(|| String::from_utf8(finished.stdout).ok()).flatten()
    }

    /// Returns the names of a directory's files in a branch's newest commit.
    pub fn files_in(&self, branch: &str, directory: &str) -> Vec<String> {
        let tree = format!("refs/heads/{branch}:{directory}");
        let names = self.text(&["ls-tree", "--name-only", "-z", &tree], &[]).unwrap_or_default();
        names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    /// Returns git's version, if it can be run.
    pub fn version(&self) -> Option<String> {
        self.text(&["version"], &[]).ok()
    }
}
