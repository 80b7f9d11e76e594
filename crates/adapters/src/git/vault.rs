//! A vault: a bare repository outside of a project that holds copies of everything in it.
//!
//! Whatever deletes the project, its `.git` included, leaves the vault alone: objects are copied, never borrowed. It has an
//! index of its own for every working tree, so a snapshot reads only files that have changed, and settings that git keeps in
//! the person's index (`skip-worktree`, `assume-unchanged`) hide nothing. A file that was in a snapshot once stays in the
//! following ones, even if a rule that makes git ignore it is written later.
//!
//! | ref | holds |
//! |---|---|
//! | `refs/warp/salvage/RUN/N` | uncommitted work, laid out as in [`salvage`] |
//! | `refs/warp/repository/KEY` | one commit for every state of a working tree and its repository, see `record` |
//! | `refs/warp/seen/*`, `refs/warp/tips/*` | the history, so that it stays |

mod rebuild;
mod record;

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

pub use rebuild::Rebuilt;
pub use record::Record;

use super::{
    Location, index, locate, nested,
    own::{GitError, Repository},
    salvage,
};
use crate::refs::is_object;

/// How long a snapshot may take in all: an agent waits for it.
const LIMIT: Duration = Duration::from_secs(50);
/// The most repositories inside a project that are copied with every snapshot.
const MOST_NESTED: usize = 20;
/// The most tips of history that are fetched by name; more are fetched all at once.
const MOST_NAMED: usize = 200;
/// Files are kept byte by byte, whatever the project's attributes say.
const ATTRIBUTES: &str = "* -text -eol -ident -filter -working-tree-encoding\n";
/// What is deleted is still in the page cache; waiting for the disk would take most of the time.
const CONFIG: &str = "\
[core]
\tfsync = none
\tcompression = 1
\tsafecrlf = false
[gc]
\tauto = 0
[advice]
\taddEmbeddedRepo = false
";

/// What a snapshot is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Something whose effect is not known: uncommitted work gets an entry in the list of salvage.
    Salvage,
    /// An ordinary write, after which the state before can still be rebuilt.
    History,
}

/// The bare repository that holds the copies.
#[derive(Clone, Debug)]
pub struct Vault {
    location: Location,
}

/// One working tree, as it was taken.
struct Section {
    root: PathBuf,
    tree: String,
    /// The current commit, if the vault has it.
    base: Option<String>,
    head_tree: Option<String>,
    staged: Option<Staged>,
    refs: record::RefList,
    files: Vec<record::File>,
    nested: Vec<PathBuf>,
    /// What git said of files that it could not read.
    refused: Option<String>,
}

/// What was staged, where that differs from the current commit.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Staged {
    commit: String,
    tree: String,
}

impl Vault {
    /// Returns the vault in a directory, if there is one.
    pub fn find(directory: &Path) -> Option<Self> {
        directory.join("HEAD").is_file().then(|| Self::of(directory))
    }

    /// Returns the vault in a directory, which is made for the repository at `project` if it is not there.
    pub fn ensure(directory: &Path, project: &Location) -> Result<Self, GitError> {
        if let Some(found) = Self::find(directory) {
            return Ok(found);
        }
        let failed = |source| GitError::File { path: directory.to_owned(), source };
        let parent = directory.parent().ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        fs::create_dir_all(parent).map_err(failed)?;
        // A directory of its own, that only its owner may read: it is renamed when it is complete.
        let draft = tempfile::Builder::new().prefix("snapshots-").tempdir_in(parent).map_err(failed)?;
        let git = Repository::bare(project, LIMIT);
        let format = git.text(&["rev-parse", "--show-object-format"], &[])?;
        let excludes = git.run(&["config", "--local", "--path", "--get", "core.excludesFile"], &[])?;
        let made = Self::of(draft.path());
        let format = format!("--object-format={format}");
        Repository::bare(&made.location, LIMIT)
            .text(&["init", "--quiet", "--bare", "--template=", &format], &[])?;
        let mut config = CONFIG.to_owned();
        if excludes.is_success() && !excludes.text().contains(['"', '\\', '\n']) {
            config.push_str(&format!("[core]\n\texcludesFile = \"{}\"\n", excludes.text()));
        }
        let write = || -> io::Result<()> {
            let file = fs::File::options().append(true).open(draft.path().join("config"));
            file?.write_all(config.as_bytes())?;
            fs::create_dir_all(draft.path().join("info"))?;
            fs::write(draft.path().join("info/attributes"), ATTRIBUTES)
        };
        write().map_err(failed)?;
        match fs::rename(draft.path(), directory) {
            // Another process was faster, or what is there is no vault.
            Err(source) => Self::find(directory).ok_or_else(|| failed(source)),
            Ok(()) => {
                // There is nothing left to remove.
                let _ = draft.keep();
                Ok(Self::of(directory))
            }
        }
    }

    fn of(directory: &Path) -> Self {
        let git_dir = directory.to_owned();
        Self { location: Location { common_dir: git_dir.clone(), git_dir } }
    }

    /// Returns where it is, as a repository.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// Takes a snapshot of a working tree, of its repository, and of the repositories inside it.
    ///
    /// Returns the ref of its uncommitted work, if an entry was made. The caller sees to it that nobody else takes one
    /// meanwhile.
    pub fn take(
        &self,
        root: &Path,
        location: &Location,
        run: &str,
        purpose: Purpose,
    ) -> Result<Option<String>, GitError> {
        let until = Instant::now() + LIMIT;
        let left = || until.saturating_duration_since(Instant::now());
        let mut sections = vec![self.section(root, location, left())?];
        let mut open = std::mem::take(&mut sections[0].nested);
        while let Some(root) = open.pop() {
            // A submodule that is not checked out, or a link that leads nowhere.
            let Some(location) = locate(&root).filter(|location| location.git_dir.is_dir()) else { continue };
            if sections.len() > MOST_NESTED {
                let git = Repository::new(&root, &location, left());
                if git.text(&["status", "--porcelain", "--untracked-files=normal"], &[])?.is_empty() {
                    continue;
                }
                return Err(GitError::TooManyNested { most: MOST_NESTED });
            }
            let mut section = self.section(&root, &location, left())?;
            open.append(&mut section.nested);
            sections.push(section);
        }
        let git = Repository::bare(&self.location, left());
        let mut entries = Vec::new();
        if purpose == Purpose::Salvage {
            for (index, section) in sections.iter().enumerate() {
                let inside = (index > 0).then(|| section.root.strip_prefix(root).unwrap_or(&section.root));
                entries.push(self.entry(&git, section, inside, run)?);
            }
        }
        let first = entries.iter().flatten().next().cloned();
        self.record(&git, &sections, entries.first().cloned().flatten().as_deref(), run)?;
        let refused: Vec<String> = sections.into_iter().filter_map(|section| section.refused).collect();
        if refused.is_empty() {
            return Ok(first);
        }
        Err(GitError::Partly { kept: first, words: refused.join("; ") })
    }

    fn section(&self, root: &Path, location: &Location, limit: Duration) -> Result<Section, GitError> {
        let git = Repository::new(root, &self.location, limit);
        let key = key(root);
        let index = self.location.git_dir.join(format!("warp-index-{key}"));
        let index = index.to_str().ok_or_else(|| GitError::NotText(index.clone()))?.to_owned();
        // Left by a process that was killed: the caller has made sure that nobody else is here.
        remove(&format!("{index}.lock").into())?;
        self.exclude(location)?;
        // Before the files: those that are committed need not be written again.
        let refs = record::RefList::read(location, limit)?;
        let head = refs.head.clone();
        let base = self.copy_history(location, &refs, limit)?;
        let environment = [("GIT_INDEX_FILE", index.as_str())];
        let salvage::StagingReport { mut nested, refused } = salvage::add_all(&git, root, &[], &environment)?;
        absent_by_choice(&git, root, location, &environment, limit)?;
        let tree = git.text(&["write-tree"], &environment)?;
        nested.extend(nested::links(&git, &tree)?.iter().map(|path| root.join(path)));
        let (head_tree, staged) = self.staged(location, head.as_deref(), base.as_deref(), &key, limit)?;
        let files = record::files(location)?;
        let root = root.to_owned();
        Ok(Section { root, tree, base, head_tree, staged, refs, files, nested, refused })
    }

    /// Has the vault ignore what the person's repository ignores by a list of its own.
    fn exclude(&self, location: &Location) -> Result<(), GitError> {
        let [from, to] = [&location.common_dir, &self.location.git_dir].map(|path| path.join("info/exclude"));
        let wanted = record::read(&from).unwrap_or_default();
        if fs::read(&to).unwrap_or_default() == wanted {
            return Ok(());
        }
        fs::write(&to, wanted).map_err(|source| GitError::File { path: to, source })
    }

    /// Copies what the vault does not have of a repository's history. Returns the current commit, if it is there then.
    ///
    /// A repository of which parts are missing (a partial clone, a damaged one) cannot be copied whole; its files can.
    fn copy_history(
        &self,
        location: &Location,
        refs: &record::RefList,
        limit: Duration,
    ) -> Result<Option<String>, GitError> {
        let note = self.location.git_dir.join("warp-tips");
        let known = fs::read_to_string(&note).unwrap_or_default();
        let known: BTreeSet<&str> = known.lines().collect();
        let head = refs.head.as_deref();
        let tips = refs.refs.iter().map(|(_, object)| object).chain(&refs.stashes);
        let tips = tips.map(String::as_str).chain(head);
        let tips: BTreeSet<&str> = tips.filter(|tip| is_object(tip) && !known.contains(tip)).collect();
        let is_there = |head: &str| known.contains(head);
        if tips.is_empty() {
            return Ok(head.filter(|head| is_there(head)).map(str::to_owned));
        }
        let named = |tip: &&str| format!("+{tip}:refs/warp/tips/{tip}");
        let mut wanted: Vec<String> = tips.iter().take(MOST_NAMED).map(named).collect();
        if tips.len() > MOST_NAMED {
            wanted = refs.stashes.iter().map(String::as_str).chain(head).map(|tip| named(&tip)).collect();
            wanted.push(format!("+refs/*:refs/warp/seen/{}/*", key(&location.common_dir)));
        }
        let (copied, fetched) = match self.fetch(location, &wanted, limit)? {
            true => (tips, true),
            false => {
                let head: BTreeSet<&str> = head.into_iter().collect();
                let wanted: Vec<String> = head.iter().map(named).collect();
                let is_copied = !wanted.is_empty() && self.fetch(location, &wanted, limit)?;
                (head, is_copied)
            }
        };
        if !fetched {
            return Ok(head.filter(|head| is_there(head)).map(str::to_owned));
        }
        let failed = |source| GitError::File { path: note.clone(), source };
        let mut file = fs::File::options().create(true).append(true).open(&note).map_err(failed)?;
        let lines: String = copied.iter().map(|tip| format!("{tip}\n")).collect();
        file.write_all(lines.as_bytes()).map_err(failed)?;
        Ok(head.map(str::to_owned))
    }

    /// Copies objects with all that they need; tells whether git could.
    fn fetch(&self, from: &Location, refspecs: &[String], limit: Duration) -> Result<bool, GitError> {
        let path = from.common_dir.to_str().ok_or_else(|| GitError::NotText(from.common_dir.clone()))?;
        let mut arguments = FETCH.to_vec();
        arguments.extend(["--", path]);
        arguments.extend(refspecs.iter().map(String::as_str));
        Ok(Repository::bare(&self.location, limit)
            .run(&arguments, &[("GIT_NO_LAZY_FETCH", "1")])?
            .is_success())
    }

    /// Returns the tree of the current commit, and what is staged. Both are noted, and read anew when the index changes.
    fn staged(
        &self,
        location: &Location,
        head: Option<&str>,
        base: Option<&str>,
        key: &str,
        limit: Duration,
    ) -> Result<(Option<String>, Option<Staged>), GitError> {
        let index = location.git_dir.join("index");
        let note = self.location.git_dir.join(format!("warp-staged-{key}"));
        let stamp = format!("{} {}", head.unwrap_or("-"), stamp(&index));
        let noted = fs::read_to_string(&note).unwrap_or_default();
        if let Some(rest) = noted.strip_prefix(&format!("{stamp}\n")) {
            let mut words = rest.split_whitespace().map(|word| is_object(word).then(|| word.to_owned()));
            let [head_tree, commit, tree] = std::array::from_fn(|_| words.next().flatten());
            let staged = commit.zip(tree).map(|(commit, tree)| Staged { commit, tree });
            return Ok((head_tree, staged));
        }
        let git = Repository::bare(location, limit);
        let tree = git.run(&["rev-parse", "--verify", "--quiet", "HEAD^{tree}"], &[])?;
        let head_tree = tree.is_success().then(|| tree.text());
        let copy = index::copy(&self.location.git_dir, &index).map_err(GitError::Index)?;
        let copy = copy.to_str().ok_or_else(|| GitError::NotText(copy.to_path_buf()))?;
        // In the middle of a merge there is no staged tree; its versions are those of commits.
        let written = git.run(&["write-tree"], &[("GIT_INDEX_FILE", copy)])?;
        let tree =
            written.is_success().then(|| written.text()).filter(|tree| Some(tree) != head_tree.as_ref());
        // An index of nothing before the first commit stages nothing.
        let tree = tree.filter(|_| head_tree.is_some() || index.exists());
        let staged = match tree {
            Some(tree) => {
                let parents: Vec<String> = base.map(str::to_owned).into_iter().collect();
                let commit = salvage::commit(&git, &tree, &parents, "What was staged")?;
                let wanted = [format!("+{commit}:refs/warp/tips/{commit}")];
                if !self.fetch(location, &wanted, limit)? {
                    let words = "what is staged could not be copied out of the repository".to_owned();
                    return Err(GitError::Partly { kept: None, words });
                }
                Some(Staged { commit, tree })
            }
            None => None,
        };
        let word = |word: Option<&String>| word.cloned().unwrap_or_else(|| "-".to_owned());
        let (commit, tree) = (staged.as_ref().map(|at| &at.commit), staged.as_ref().map(|at| &at.tree));
        let text = format!("{stamp}\n{} {} {}\n", word(head_tree.as_ref()), word(commit), word(tree));
        fs::write(&note, text).map_err(|source| GitError::File { path: note.clone(), source })?;
        Ok((head_tree, staged))
    }

    /// Keeps the uncommitted work of a working tree, if there is some that is not kept already.
    fn entry(
        &self,
        git: &Repository<'_>,
        section: &Section,
        inside: Option<&Path>,
        run: &str,
    ) -> Result<Option<String>, GitError> {
        let tree = &section.tree;
        let staged = section.staged.as_ref().filter(|staged| staged.tree != *tree);
        let is_empty = || section.head_tree.is_none() && is_empty_tree(tree);
        if staged.is_none() && (section.head_tree.as_ref() == Some(tree) || is_empty()) {
            return Ok(None);
        }
        let earlier = salvage::earlier(git, run)?;
        for same in earlier.iter().filter(|earlier| earlier.tree == *tree) {
            if salvage::staged_of(git, same)?.as_ref() == staged.map(|staged| &staged.tree) {
                return Ok(None);
            }
        }
        let base = match &section.base {
            Some(base) => base.clone(),
            // Every entry is laid out alike.
            None => {
                let empty = git.text(&["hash-object", "-w", "-t", "tree", "/dev/null"], &[])?;
                salvage::commit(git, &empty, &[], "The commit before is not in this repository")?
            }
        };
        let mut parents = vec![base];
        parents.extend(staged.map(|staged| staged.commit.clone()));
        let place = inside.map(|inside| format!(" in `{}`", inside.display())).unwrap_or_default();
        let words = format!("Work kept by warp for run {run}{place}");
        let commit = salvage::commit(git, tree, &parents, &words)?;
        let last = earlier.iter().map(|earlier| earlier.number).max().unwrap_or(0);
        // No name stands for one thing here and for another in the repository itself.
        let last = last.max(section.refs.highest(run));
        salvage::keep_after(git, run, &commit, last).map(Some)
    }
}

/// How objects are copied between repositories of this machine.
const FETCH: [&str; 12] = [
    "-c",
    "protocol.file.allow=always",
    "-c",
    "fetch.fsckObjects=false",
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-write-fetch-head",
    "--no-auto-maintenance",
    "--no-recurse-submodules",
    "--update-shallow",
    "--refmap=",
];

/// Tells whether a repository has a commit and its files.
pub fn has(location: &Location, commit: &str) -> bool {
    let found =
        Repository::bare(location, LIMIT).run(&["cat-file", "-e", &format!("{commit}^{{tree}}")], &[]);
    found.is_ok_and(|finished| finished.is_success())
}

/// Names a directory in the vault.
pub fn key(root: &Path) -> String {
    digest(root.as_os_str().as_encoded_bytes())
}

/// A short name for bytes that stays the same (FNV-1a).
fn digest(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// Files of a sparse checkout are missing from the tree by choice: they are in the snapshot as git has them.
fn absent_by_choice(
    git: &Repository<'_>,
    root: &Path,
    location: &Location,
    environment: &[(&str, &str)],
    limit: Duration,
) -> Result<(), GitError> {
    if !location.git_dir.join("info/sparse-checkout").exists() {
        return Ok(());
    }
    let listed = Repository::new(root, location, limit).text(&["ls-files", "--stage", "-t", "-z"], &[])?;
    let entries = listed.split('\0').filter_map(|entry| entry.strip_prefix("S ")?.split_once('\t'));
    let absent = entries.filter(|(_, path)| root.join(path).symlink_metadata().is_err());
    let lines: String = absent.map(|(entry, path)| format!("{entry}\t{path}\0")).collect();
    if lines.is_empty() {
        return Ok(());
    }
    let arguments = ["update-index", "-z", "--index-info"];
    let finished = git.run_reading(lines.into_bytes(), &arguments, environment)?;
    super::own::expected("update-index", finished).map(drop)
}

/// Tells whether a tree is the one without entries, in either format of names.
fn is_empty_tree(tree: &str) -> bool {
    const EMPTY: [&str; 2] = [
        "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
    ];
    EMPTY.contains(&tree)
}

/// Says which version of a file this is: a file that is replaced or written has another one.
fn stamp(path: &Path) -> String {
    match path.metadata() {
        Ok(data) => format!(
            "{} {} {} {}.{} {}.{}",
            data.dev(),
            data.ino(),
            data.size(),
            data.mtime(),
            data.mtime_nsec(),
            data.ctime(),
            data.ctime_nsec()
        ),
        Err(_) => "none".to_owned(),
    }
}

fn remove(path: &PathBuf) -> Result<(), GitError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(GitError::File { path: path.clone(), source: error })
        }
        _ => Ok(()),
    }
}
