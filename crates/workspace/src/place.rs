//! Where things are: the workspace and its own small directory.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use adapters::{
    boundary,
    git::{
        self, Git, Location,
        integrate::RepositoryPair,
        slot::{self, Marker},
    },
    machine,
    process::StopCheck,
};

use crate::{head::is_root, text};

/// The workspace's own directory where there is no repository.
const LOCAL: &str = ".warp/local";
/// Beside the id: where the journal is.
const JOURNAL: &str = "journal";
/// The file that holds a project's id.
const PROJECT_ID: &str = "project-id";
/// The largest file that is read as a project's id, in bytes.
const LARGEST_ID: u64 = 1024;
/// What reading says of something that is there, but is no small text file.
const NO_SMALL_TEXT: [io::ErrorKind; 3] =
    [io::ErrorKind::InvalidData, io::ErrorKind::FileTooLarge, io::ErrorKind::Other];
/// The largest list of names to ignore that is read, in bytes.
const LARGEST_EXCLUDE: u64 = 8 * 1024 * 1024;

/// A workspace: a directory that one run at a time works in.
#[derive(Clone, Debug)]
pub struct Place {
    /// The root, with all links resolved: the key of its run.
    pub root: PathBuf,
    /// Warp's directory of the workspace (head, lock, quarantined files); inside the git directory if there is one.
    pub own: PathBuf,
    /// The directory that all workspaces of the project share.
    shared: PathBuf,
    /// Git's list of names to ignore, if there is a repository.
    exclude: Option<PathBuf>,
    /// What the marker beside the tree says, if the workspace was made for runs.
    slot: Option<Marker>,
}

/// Why a directory cannot be a workspace.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    #[error("`{}` is not a directory that can be opened", path.display())]
    NotThere {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}` is not a directory", path.display())]
    NotADirectory { path: PathBuf },
    #[error("the path of `{}` is not text", path.display())]
    NotText { path: PathBuf },
    #[error(
        "neither XDG_STATE_HOME nor HOME is set to an absolute path, so there is no place for the journal"
    )]
    NoHome,
    #[error("`{}` does not hold a project id", path.display())]
    BadId { path: PathBuf },
    #[error("failed to write `{}`", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("failed to read `{}`", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl Place {
    /// Returns the workspace with this root.
    pub fn at(root: &Path) -> Result<Self, PlaceError> {
        let not_there = |source| PlaceError::NotThere { path: root.to_owned(), source };
        let root = root.canonicalize().map_err(not_there)?;
        if !root.is_dir() {
            return Err(PlaceError::NotADirectory { path: root });
        }
        if root.to_str().is_none_or(|text| text.contains('\n')) {
            return Err(PlaceError::NotText { path: root });
        }
        let slot = slot::marker(&root);
        let location = slot.as_ref().map(|slot| slot.location.clone()).or_else(|| git::locate(&root));
        Ok(match location {
            Some(location) => Self {
                own: location.git_dir.join("warp"),
                shared: location.common_dir.join("warp"),
                exclude: Some(location.common_dir.join("info/exclude")),
                root,
                slot,
            },
            None => Self { own: root.join(LOCAL), shared: root.join(LOCAL), exclude: None, root, slot },
        })
    }

    /// Returns where its repository is, if it has one.
    pub fn location(&self) -> Option<Location> {
        match &self.slot {
            Some(slot) => Some(slot.location.clone()),
            None => git::locate(&self.root),
        }
    }

    /// Returns git acts for a person's own checkout, which are all in one repository.
    pub fn between(&self) -> Result<RepositoryPair, PlaceError> {
        let none = || PlaceError::NotADirectory { path: self.root.join(".git") };
        let location = self.location().ok_or_else(none)?;
        let (root, checkout) = (self.root.clone(), self.root.clone());
        let stop = StopCheck::default();
        Ok(RepositoryPair { root, slot: location.clone(), origin: location, checkout, stop })
    }

    /// Returns git for its working tree.
    pub fn git(&self) -> Git<'_> {
        match &self.slot {
            Some(slot) => Git::trusted(&self.root, slot.location.clone()),
            None => Git::new(&self.root),
        }
    }

    /// Returns the workspace's repository, if it was made for runs: it is known without a look at the tree.
    pub fn git_dir(&self) -> Option<&Path> {
        self.slot.as_ref().map(|slot| slot.location.git_dir.as_path())
    }

    /// Returns how a slot's repository relates to the person's; none for other workspaces.
    pub fn kind(&self) -> Option<slot::Kind> {
        self.slot.as_ref().map(|slot| slot.kind)
    }

    /// Returns the person's checkout that a workspace for runs belongs to.
    pub fn origin(&self) -> Option<&Path> {
        self.slot.as_ref().map(|slot| slot.origin.as_path())
    }

    /// Finds the nearest enclosing workspace: a directory with a repository or a run.
    pub fn around(directory: &Path) -> Result<Self, PlaceError> {
        let start = Self::at(directory)?;
        match start.root.ancestors().find(|path| is_root(path)) {
            Some(root) if root != start.root => Self::at(root),
            Some(_) | None => Ok(start),
        }
    }

    /// Returns the root as text: the mark of its run.
    pub fn mark(&self) -> &str {
        self.root.to_str().expect("the constructor has refused a root that is not text")
    }

    /// Returns the project's name: that of the directory that holds the repository.
    pub fn name(&self) -> String {
        let repository =
            self.shared.parent().filter(|shared| shared.ends_with(".git")).and_then(Path::parent);
        let directory = repository.and_then(|path| path.canonicalize().ok());
        let directory = directory.or_else(|| self.origin().map(Path::to_owned));
        let directory = directory.unwrap_or_else(|| self.root.clone());
        directory
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_else(|| "/".to_owned())
    }

    fn id_file(&self) -> PathBuf {
        self.shared.join(PROJECT_ID)
    }

    /// Returns the project's id; none if it never had a run.
    ///
    /// A project that began without a repository keeps its id when it gets one.
    pub fn project_id(&self) -> Result<Option<String>, PlaceError> {
        match read_id(self.id_file())? {
            Some(id) => Ok(Some(id)),
            None if self.take_over()? => read_id(self.id_file()),
            None => Ok(None),
        }
    }

    /// Brings what was kept in the workspace while there was no repository into the one that has appeared; returns whether
    /// there was a project.
    ///
    /// One rename does it, so a crash leaves the old place or the new one. What git tracks came with the repository, and is
    /// another project's.
    fn take_over(&self) -> Result<bool, PlaceError> {
        let local = self.root.join(LOCAL);
        let is_main = self.exclude.is_some() && self.slot.is_none() && self.own == self.shared;
        // A directory that is only named like a repository is none.
        let is_there = is_main && self.own.with_file_name("HEAD").exists();
        if !is_there || !local.join(PROJECT_ID).exists() {
            return Ok(false);
        }
        let failed = |source| PlaceError::Write { path: self.shared.clone(), source };
        let name = format!("{LOCAL}/{PROJECT_ID}");
        if self.git().is_tracked(&name).map_err(|words| failed(io::Error::other(words)))? {
            return Ok(false);
        }
        match boundary::around("take_over", || fs::rename(&local, &self.shared)) {
            // Somebody else was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            // Something lies there already: the id by itself makes it the same project.
            Err(_) => {
                let Some(id) = read_id(local.join(PROJECT_ID))? else { return Ok(true) };
                keep_out_of_commits(&local).map_err(failed)?;
                self.write_id(&id).map(|_| true)
            }
            Ok(()) => Ok(true),
        }
    }

    /// Records the journal's path in the repository, so that a lost journal is detected.
    pub fn note_journal(&self, journal: &Path) {
        let path = self.shared.join(JOURNAL);
        if !path.exists() {
            // A repository that cannot be written to is still one to look at.
            let _ = fs::write(path, journal.as_os_str().as_encoded_bytes());
        }
    }

    /// Returns whether a journal was recorded at this path.
    pub fn had_journal(&self, journal: &Path) -> bool {
        fs::read(self.shared.join(JOURNAL)).is_ok_and(|noted| noted == journal.as_os_str().as_encoded_bytes())
    }

    /// Removes the record of the journal, so that a new one can start.
    pub fn forget_journal(&self) -> Result<(), PlaceError> {
        let path = self.shared.join(JOURNAL);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(PlaceError::Write { path, source })
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Returns the project's id, creating it if needed. Of two concurrent processes one wins.
    pub fn ensure_project_id(&self) -> Result<String, PlaceError> {
        if let Some(id) = self.project_id()? {
            return Ok(id);
        }
        let id =
            machine::random_text(20).map_err(|source| PlaceError::Write { path: self.id_file(), source })?;
        self.write_id(&id)
    }

    /// Gives the project an id, and returns the one that it has then: somebody may have been faster.
    fn write_id(&self, id: &str) -> Result<String, PlaceError> {
        let path = self.id_file();
        let failed = |source| PlaceError::Write { path: path.clone(), source };
        fs::create_dir_all(&self.shared).map_err(failed)?;
        if self.exclude.is_none() {
            keep_out_of_commits(&self.shared).map_err(failed)?;
        }
        let mut draft = tempfile::NamedTempFile::new_in(&self.shared).map_err(failed)?;
        io::Write::write_all(&mut draft, format!("{id}\n").as_bytes()).map_err(failed)?;
        draft.as_file().sync_all().map_err(failed)?;
        match boundary::around("project-id", || draft.persist_noclobber(&path)) {
            Ok(_) => Ok(id.to_owned()),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                read_id(path.clone())?.ok_or(PlaceError::BadId { path })
            }
            Err(error) => Err(failed(error.error)),
        }
    }

    /// Returns the file that hooks read.
    pub fn head_file(&self) -> PathBuf {
        self.own.join("head")
    }

    /// Adds names to the repository's exclude file.
    pub fn exclude_from_git(&self, names: &[&str]) -> io::Result<()> {
        let Some(exclude) = &self.exclude else { return Ok(()) };
        let text = match text::bytes(exclude, LARGEST_EXCLUDE) {
            // Names that are not UTF-8 are none of ours.
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let missing: Vec<&&str> =
            names.iter().filter(|name| !text.lines().any(|line| line == **name)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        if let Some(directory) = exclude.parent() {
            fs::create_dir_all(directory)?;
        }
        let mut more = String::new();
        if !text.is_empty() && !text.ends_with('\n') {
            more.push('\n');
        }
        for name in missing {
            more.push_str(name);
            more.push('\n');
        }
        let mut file = fs::OpenOptions::new().append(true).create(true).open(exclude)?;
        boundary::around("exclude", || io::Write::write_all(&mut file, more.as_bytes()))
    }
}

/// Reads a project's id; none if there is no such file.
fn read_id(path: PathBuf) -> Result<Option<String>, PlaceError> {
    match text::read(&path, LARGEST_ID) {
        Ok(text) => {
            let id = text.trim();
            let fits = (8..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
            if fits { Ok(Some(id.to_owned())) } else { Err(PlaceError::BadId { path }) }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if NO_SMALL_TEXT.contains(&error.kind()) => Err(PlaceError::BadId { path }),
        Err(source) => Err(PlaceError::Read { path, source }),
    }
}

/// Sees to it that git, once there is a repository, leaves the workspace's own directory alone.
fn keep_out_of_commits(local: &Path) -> io::Result<()> {
    fs::write(local.join(".gitignore"), "*\n")
}
