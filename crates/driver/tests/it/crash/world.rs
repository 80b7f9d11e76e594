//! The world that a run works on: a person's checkout, its remote, the state directory.

use std::{
    env, fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::{Path, PathBuf},
};

use forge::{Author, NewItem};
use project::{Dirs, Place, Workspace, config};
use testkit::Sandbox;

use super::LEVEL;

/// What lies in the home and changes.
const PARTS: [&str; 3] = ["demo", "remote.git", "state"];

const ISSUE: &str = "\
The parser reads five things.

- [ ] numbers are read from number.txt
- [ ] names are read from name.txt
- [ ] lists are read from list.txt
- [ ] tables are read from table.txt
- [ ] comments are read from comment.txt
";

/// Docs that have drifted are mended in the chunk's commit.
const SETTINGS: &str = "\
[workflow]
test_command = \"sh test.sh\"
max_acs_per_commit = 2
doc_drift_gate = true
doc_drift_fix = \"amend\"
";

/// Makes a project with tests, a remote, docs that count files, and an issue.
pub(crate) fn prepare(sandbox: &Sandbox) {
    prepare_files(sandbox);
    World::new(sandbox.home(), 3).file_issue();
}

/// Makes all of it that is in files whatever stores there are.
pub(crate) fn prepare_files(sandbox: &Sandbox) {
    let home = sandbox.home();
    sandbox.git(&["switch", "--quiet", "main"]);
    sandbox.git(&["branch", "--quiet", "-D", "feature/issue-42-parser"]);
    fs::remove_dir_all(sandbox.root().join(".git/hooks")).ok();
    sandbox.write("test.sh", "! grep -qs broken *.txt\n");
    sandbox.write("warp.toml", SETTINGS);
    sandbox.write("README.md", "<!-- warp:count *.txt -->0<!-- /warp:count --> files are read.\n");
    sandbox.git(&["add", "--all"]);
    sandbox.git(&["commit", "--quiet", "-m", "chore: tests"]);
    let remote = home.join("remote.git");
    let remote = remote.to_str().unwrap();
    sandbox.git(&["clone", "--quiet", "--bare", "--template=", ".", remote]);
    sandbox.git(&["remote", "add", "origin", remote]);
}

#[derive(Clone, Debug)]
pub(crate) struct World {
    home: PathBuf,
    /// The level at which the run is begun.
    pub(crate) level: u64,
    /// Its directories, with what opens the stores in them.
    pub(crate) dirs: Dirs,
}

impl World {
    pub(crate) fn new(home: &Path, level: u64) -> Self {
        let home = home.canonicalize().unwrap();
        let dirs = Dirs::new(home.join("state/warp"), home.join("config/warp"));
        Self { home, level, dirs }
    }

    /// Takes the home that this process was given.
    pub(crate) fn of_environment() -> Self {
        let home = PathBuf::from(env::var_os("HOME").unwrap());
        Self::new(&home, env::var(LEVEL).unwrap().parse().unwrap())
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.home.join("demo")
    }

    pub(crate) fn remote(&self) -> PathBuf {
        self.home.join("remote.git")
    }

    pub(crate) fn place(&self) -> Place {
        Place::at(&self.root()).unwrap()
    }

    /// Returns the same directories, as a process finds them that holds nothing yet.
    pub(crate) fn dirs(&self) -> Dirs {
        self.dirs.clone().with_clock(self.dirs.clock.clone())
    }

    /// Files the issue, and lets what is merged be pushed.
    pub(crate) fn file_issue(&self) {
        let workspace = Workspace::open(self.place(), self.dirs()).unwrap();
        config::remember(&self.place(), &self.dirs, "push", Some("target")).unwrap();
        let tracker = workspace.tracker_as(Author::person("Ann"));
        let filed = tracker.file(&NewItem::of("Read five things", ISSUE, Default::default()), None).unwrap();
        tracker.approve(filed.id).unwrap();
    }

    /// Returns a number that another state of the disk does not have.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for part in PARTS {
            look(&self.home.join(part), &mut hasher);
        }
        hasher.finish()
    }

    /// Copies everything as it lies on the disk.
    pub(crate) fn copy_to(&self, directory: &Path) {
        for part in PARTS {
            copy(&self.home.join(part), &directory.join(part));
        }
    }

    /// Puts a copy in the place of what is there.
    pub(crate) fn put_back(&self, copy: &Path) {
        for part in PARTS {
            let place = self.home.join(part);
            if place.exists() {
                fs::remove_dir_all(&place).unwrap();
            }
            fs::rename(copy.join(part), place).unwrap();
        }
        fs::remove_dir(copy).unwrap();
    }
}

/// Takes in what is in a directory. Objects are known by their names, and what readers note for each other beside the
/// journal is made anew after a crash.
fn look(directory: &Path, hasher: &mut DefaultHasher) {
    let mut entries: Vec<fs::DirEntry> = fs::read_dir(directory).unwrap().map(Result::unwrap).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        path.hash(hasher);
        if entry.file_type().unwrap().is_dir() {
            look(&path, hasher);
        } else if !is_object(&path) && path.extension().is_none_or(|extension| extension != "db-shm") {
            fs::read(&path).unwrap().hash(hasher);
        }
    }
}

fn is_object(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "objects")
}

/// Copies a directory. Git never writes into an object that is there, so those are linked.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (from, to, kind) = (entry.path(), to.join(entry.file_name()), entry.file_type().unwrap());
        if kind.is_dir() {
            copy(&from, &to);
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&from).unwrap(), &to).unwrap();
        } else if is_object(&from) {
            fs::hard_link(&from, &to).unwrap();
        } else {
            fs::copy(&from, &to).unwrap();
        }
    }
}
