//! Git, by its own command line.
//!
//! Configuration that would run programs out of the repository (hooks, the file-system monitor) is switched
//! off for every call, no call looks into a repository inside this one (`nested`), and nothing here takes a lock that a
//! person's own git would wait for.
//!
//! In a workspace that was made for a run ([`slot`]) the git directory lies beside the tree and is named in every call, so
//! that whatever an agent does to `.git` in its tree decides nothing.

mod evidence;
mod facts;
pub mod hooks;
mod index;
pub mod integrate;
pub mod lfs;
mod listing;
pub mod mend;
mod nested;
pub mod outgoing;
pub(crate) mod own;
pub mod recovery;
pub mod resume;
pub mod salvage;
pub mod settings;
pub mod sight;
pub mod slot;
mod slug;
mod staged;
pub mod submodules;
mod take_back;
pub mod target;
pub mod vault;
mod write;

use std::{
    collections::{BTreeMap, VecDeque},
    env,
    ffi::OsString,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use engine::{Branches, Diff, Seen};

pub use listing::ListingCache;
pub use slug::slug;
pub use staged::{Object, ObjectKind, Staged, StagedFile};
pub use write::{Prepared, PreparedCommit};

use listing::Listing;

use crate::{
    process::{End, Finished},
    refs::{self, HeadAt, is_object},
};

/// How long any single git command may take.
const LIMIT: Duration = Duration::from_secs(60);
/// How many names of changed files are kept.
const FILES_KEPT: usize = 300;
/// Size of the cache of tree listings, in commits.
const COMMITS_SEEN: usize = 4;
/// How much of a new file is searched for words.
const SEARCHED: u64 = 512 * 1024;
/// The largest file that is read as a link to a repository, in bytes.
const LONGEST_LINK: u64 = 64 * 1024;

/// Pathspecs for a commit of everything except the person's own settings for their agent in this checkout.
///
/// `git add` fails if an excluded path is also ignored, which it is as soon as Claude Code has written its line to the
/// global ignore file. It compares only the part of a pathspec before its first special character, so the backslash
/// (which stands for a plain `.`) keeps this path out of that comparison.
const EVERYTHING: &[&str] = &["--", ".", r":(exclude,top)\.claude/settings.local.json"];

/// Where a repository keeps itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The directory of this working tree's own state.
    pub git_dir: PathBuf,
    /// The directory that all working trees of the repository share.
    pub common_dir: PathBuf,
}

/// Finds the repository whose working tree has its root at `root`, without starting git.
///
/// In a slot the tree is not asked.
pub fn locate(root: &Path) -> Option<Location> {
    if let Some(marker) = slot::marker(root) {
        return Some(marker.location);
    }
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
#[derive(Clone, Debug)]
pub struct Git<'a> {
    root: &'a Path,
    /// Where the repository is, if that is known without the tree; else git looks for it.
    trusted: Option<Location>,
}

impl<'a> Git<'a> {
    /// Takes the directory in which git is asked. The tree of a slot is taken as [`Git::trusted`] does.
    pub fn new(root: &'a Path) -> Self {
        Self { root, trusted: slot::marker(root).map(|marker| marker.location) }
    }

    /// Takes a working tree whose repository is known: nothing in the tree, and nothing of the caller's environment, says
    /// where that is or which programs git runs.
    pub fn trusted(root: &'a Path, location: Location) -> Self {
        Self { root, trusted: Some(location) }
    }

    fn run(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Result<Finished, String> {
        self.run_for(LIMIT, arguments, environment)
    }

    fn run_for(
        &self,
        limit: Duration,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<Finished, String> {
        self.run_with(Vec::new(), limit, arguments, environment)
    }

    fn run_with(
        &self,
        input: Vec<u8>,
        limit: Duration,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<Finished, String> {
        let mut all: Vec<OsString> = Vec::new();
        let mut set = vec![("GIT_OPTIONAL_LOCKS", "0"), ("GIT_TERMINAL_PROMPT", "0"), ("LC_ALL", "C")];
        let mut hidden: &[&str] = &[];
        if let Some(location) = &self.trusted {
            all.push(named("--git-dir=", &location.git_dir));
            all.push(named("--work-tree=", self.root));
            // Nobody is there to type the passphrase of a key.
            for setting in ["gc.auto=0", "maintenance.auto=false", "commit.gpgSign=false"] {
                all.extend(["-c", setting].map(OsString::from));
            }
            hidden = own::elsewhere();
        }
        for setting in nested::SETTINGS.iter().chain(lfs::settings()) {
            all.extend(["-c", setting].map(OsString::from));
        }
        set.extend_from_slice(environment);
        own::call(input, all, arguments, hidden, self.root, &set, (limit, None))
            .map_err(|error| error.to_string())
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
        if self.trusted.is_some() {
            return Ok(true);
        }
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
        if let Some(head) = self.head_in_files() {
            return Seen::Value(head);
        }
        self.look(|| {
            let finished = self.run(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], &[])?;
            Ok(if finished.is_success() {
                Seen::Value(finished.text())
            } else {
                Seen::Absent("there is no commit yet".to_owned())
            })
        })
    }

    /// Reads the current commit from where git keeps it, if that is known and simple; this starts no git.
    fn head_in_files(&self) -> Option<String> {
        let location = self.trusted.as_ref()?;
        let commit = match refs::head(location).ok()? {
            HeadAt::Branch(name) => refs::one(location, &name).ok()??,
            HeadAt::Commit(commit) => commit,
            HeadAt::Broken => return None,
        };
        is_object(&commit).then_some(commit)
    }

    /// Returns the tree that a commit of everything would have: tracked, changed and new files.
    ///
    /// It is written with an index of its own, so the person's index stays as it is.
    pub fn tree(&self) -> Seen<String> {
        self.look(|| Ok(Seen::Value(self.prepare(Vec::new())?.tree()?)))
    }

    /// Returns what has changed since `base` (or the last commit), new files included.
    pub fn diff(&self, base: Option<&str>, words: &[String], listed: &mut ListingCache) -> Seen<Diff> {
        self.look(|| {
            let base = self.base(base)?;
            let Listing { changed: mut files, new } = self.list(&base, listed)?.clone();
            let has_changed = !files.is_empty();
            files.extend(new.iter().filter(|name| !files.contains(name)).cloned().collect::<Vec<_>>());
            let shared_words =
                self.shared_words(has_changed.then_some(base.as_str()), &files, &new, words)?;
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

    /// Returns which words occur in a changed path, an added line or a new file. Without a base no line is looked at.
    fn shared_words(
        &self,
        base: Option<&str>,
        files: &[String],
        new: &[String],
        words: &[String],
    ) -> Result<Vec<String>, String> {
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let diff = match base {
            Some(base) => {
                let fixed = ["diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-textconv"];
                self.run(&[&fixed[..], &[base, "--"]].concat(), &[])?.stdout
            }
            None => Vec::new(),
        };
        let mut text = files.join("\n").to_lowercase();
        for line in String::from_utf8_lossy(&diff).lines() {
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
            let read = File::open(path).and_then(|file| file.take(SEARCHED).read_to_end(&mut content));
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

    /// Returns the commit that HEAD is at, if it was just made there and not only switched to.
    pub fn newest_commit_made(&self) -> Option<String> {
        let newest = self.text(&["log", "--walk-reflogs", "--max-count=1", "--format=%H %gs"], &[]).ok()?;
        newest.split_once(' ').filter(|(_, how)| how.starts_with("commit")).map(|(hash, _)| hash.to_owned())
    }

    /// Returns where the refs of the repository are, if they can be read without git: that is known, and they are files.
    fn in_files(&self) -> Option<Location> {
        let location = match &self.trusted {
            Some(location) => location.clone(),
            // The caller's environment may lead git elsewhere.
            None if ["GIT_DIR", "GIT_COMMON_DIR", "GIT_NAMESPACE"]
                .iter()
                .any(|name| env::var_os(name).is_some()) =>
            {
                return None;
            }
            None => locate(self.root)?,
        };
        (!location.common_dir.join("reftable").is_dir()).then_some(location)
    }

    /// Returns the branch that HEAD is on; empty if it is on none.
    pub fn branch(&self) -> String {
        match self.in_files().and_then(|location| refs::head(&location).ok()) {
            Some(HeadAt::Branch(name)) => {
                if let Some(name) = name.strip_prefix("refs/heads/").filter(|name| *name != ".invalid") {
                    return name.to_owned();
                }
            }
            Some(HeadAt::Commit(_)) => return String::new(),
            Some(HeadAt::Broken) | None => {}
        }
        self.text(&["symbolic-ref", "--quiet", "--short", "HEAD"], &[]).unwrap_or_default()
    }

    /// Finds the branches that a run works between. How its work is merged depends on its level, and is left empty.
    pub fn branches(&self) -> Branches {
        let ask = |arguments: &[&str]| self.text(arguments, &[]).ok().filter(|text| !text.is_empty());
        let branch = self.branch();
        let files = self.in_files();
        let one = |location: &Location, name: &str| refs::one(location, name).ok().flatten();
        let remote = match &files {
            Some(location) => one(location, "refs/remotes/origin/HEAD")
                .and_then(|value| value.strip_prefix("ref: refs/remotes/").map(str::to_owned)),
            None => ask(&["symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"]),
        };
        let remote = remote.and_then(|name| name.strip_prefix("origin/").map(str::to_owned));
        let exists = |name: &&str| {
            let full = format!("refs/heads/{name}");
            match &files {
                Some(location) => one(location, &full).is_some_and(|value| is_object(&value)),
                None => ask(&["rev-parse", "--verify", "--quiet", &full]).is_some(),
            }
        };
        let local = || ["main", "master"].into_iter().find(|name| exists(name)).map(str::to_owned);
        let main_branch = remote
            .or_else(local)
            .unwrap_or_else(|| if branch.is_empty() { "main".to_owned() } else { branch.clone() });
        Branches {
            session_branch: Some(branch.clone()).filter(|name| !name.is_empty() && *name != main_branch),
            branch,
            merge_target: main_branch.clone(),
            main_branch,
            merge_strategy: String::new(),
        }
    }

    /// Returns a file as it is in a branch's newest commit; nothing if it is not there.
    pub fn file_in(&self, branch: &str, path: &str) -> Result<Option<String>, String> {
        let full = format!("refs/heads/{branch}");
        let object = match self.at_top(&full, path) {
            Some(None) => return Ok(None),
            Some(Some(object)) => Some(object).filter(|_| !path.contains('/')),
            None => None,
        };
        if let Some(text) = object.as_deref().and_then(facts::text) {
            return Ok(Some(text));
        }
        let finished = self.run(&["--no-replace-objects", "show", &format!("{full}:{path}")], &[])?;
        let failed = |why: &str| Err(format!("`{path}` of `{branch}` cannot be read: {why}"));
        if finished.is_success() {
            return match String::from_utf8(finished.stdout) {
                _ if finished.cut => failed("it is too large"),
                Ok(text) => {
                    if let Some(object) = &object {
                        facts::learn_text(object, &text);
                    }
                    Ok(Some(text))
                }
                Err(_) => failed("it is not text"),
            };
        }
        if self.has_no_file(&full, path)? { Ok(None) } else { failed(&finished.last_words(300)) }
    }

    /// Returns the names in a directory of a branch's newest commit; none if it is not there. The root is empty.
    pub fn names_in(&self, branch: &str, directory: &str) -> Result<Vec<String>, String> {
        let (full, below) = (format!("refs/heads/{branch}"), format!("{directory}/"));
        let mut arguments =
            vec!["--no-replace-objects", "ls-tree", "--full-tree", "--name-only", "-z", &full];
        if !directory.is_empty() {
            arguments.extend(["--", &below]);
        }
        let listed = self.run(&arguments, &[("GIT_LITERAL_PATHSPECS", "1")])?;
        if !listed.is_success() {
            return if self.has_no_file(&full, ".")? { Ok(Vec::new()) } else { Err(listed.last_words(300)) };
        }
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let names = listed.split('\0').filter(|name| !name.is_empty());
        Ok(names.map(|name| name.rsplit('/').next().unwrap_or(name).to_owned()).collect())
    }

    /// Returns the files of the working tree that a pattern matches: those that are committed, added or new, without those
    /// that are ignored.
    pub fn files_like(&self, patterns: &[String]) -> Result<Vec<String>, String> {
        let mut arguments =
            vec!["ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "-z", "--"];
        arguments.extend(patterns.iter().map(String::as_str));
        let listed = self.text(&arguments, &[])?;
        Ok(listed.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    /// Returns what is new in the working tree and not ignored: files, and directories of which all is new.
    pub fn untracked(&self) -> Result<Vec<String>, String> {
        let listed = self.text(&["ls-files", "--others", "--exclude-standard", "--directory", "-z"], &[])?;
        Ok(listed.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    /// Returns the files that are executable and not tracked as such, with the same content or another.
    pub fn made_executable(&self) -> Result<Vec<String>, String> {
        let listed = self.text(&["diff-files", "--raw", "-z", "--no-renames"], &[])?;
        let mut fields = listed.split('\0');
        let mut found = Vec::new();
        // `:OLD-MODE NEW-MODE OLD-ID NEW-ID STATUS`, then the path.
        while let (Some(entry), Some(path)) = (fields.next(), fields.next()) {
            if entry.starts_with(":100644 100755 ") {
                found.push(path.to_owned());
            }
        }
        Ok(found)
    }

    /// Returns the files that git keeps track of.
    pub fn tracked(&self) -> Result<Vec<String>, String> {
        let listed = self.text(&["ls-files", "--cached", "-z"], &[])?;
        Ok(listed.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    /// Tells whether there plainly is no such file in a commit, or no such commit at all.
    fn has_no_file(&self, commit: &str, path: &str) -> Result<bool, String> {
        if !self.is_repository()? {
            return Ok(true);
        }
        let is_there = ["rev-parse", "--verify", "--quiet", commit];
        if self.run(&is_there, &[])?.end == End::Exit(1) {
            return Ok(true);
        }
        let listed = self.run(&["ls-tree", "--full-tree", "-z", commit, "--", path], &[])?;
        Ok(listed.is_success() && listed.stdout.is_empty())
    }

    /// Returns the object at the top of a branch's newest commit with the name with which a path begins, or that there is none; nothing
    /// if that cannot be told. A commit is looked at once: several files are looked for in it, and most are in none.
    fn at_top(&self, full: &str, path: &str) -> Option<Option<String>> {
        static SEEN: Mutex<VecDeque<(String, BTreeMap<String, String>)>> = Mutex::new(VecDeque::new());
        let first = path.split('/').next()?;
        let commit = refs::one(&self.in_files()?, full).ok().flatten().filter(|value| is_object(value))?;
        let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, entries)) = seen.iter().find(|(known, _)| *known == commit) {
            return Some(entries.get(first).cloned());
        }
        let listed = self.run(&["--no-replace-objects", "ls-tree", "--full-tree", "-z", &commit], &[]);
        let listed = listed.ok().filter(|listed| listed.is_success() && !listed.cut)?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let entry = |entry: &str| {
            let (about, name) = entry.split_once('\t')?;
            Some((name.to_owned(), about.rsplit_once(' ')?.1.to_owned()))
        };
        let entries: BTreeMap<String, String> = listed.split('\0').filter_map(entry).collect();
        let found = entries.get(first).cloned();
        seen.truncate(COMMITS_SEEN - 1);
        seen.push_front((commit, entries));
        Some(found)
    }

    /// Returns the name of whoever works here, as git would write it into a commit.
    pub fn author(&self) -> Option<String> {
        let ident = self.text(&["var", "GIT_AUTHOR_IDENT"], &[]).ok()?;
        ident.split_once(" <").map(|(name, _)| name.trim().to_owned()).filter(|name| !name.is_empty())
    }

    /// Returns git's version, if it can be run.
    pub fn version(&self) -> Option<String> {
        self.text(&["version"], &[]).ok()
    }
}

fn named(option: &str, path: &Path) -> OsString {
    let mut argument = OsString::from(option);
    argument.push(path);
    argument
}
