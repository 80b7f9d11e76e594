//! Where the snapshots of a person's checkout are: in a repository of their own, in the project's state directory.
//!
//! It knows the paths of the working trees that were copied, so that it is found even if the project's `.git`, and with it
//! the project's id, is gone.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use adapters::{
    git::{
        salvage,
        vault::{self, Purpose, Rebuilt, Record, Vault},
    },
    hold,
    refs::GitError,
};

use crate::{Dirs, Place, PlaceError, text};

/// The directory of the vault, beside the journal.
const VAULT: &str = "snapshots.git";
const LOCK: &str = "snapshots.lock";
/// The directory in it with a file for every working tree that was copied.
const ROOTS: &str = "warp-roots";
const LONGEST_PATH: u64 = 64 * 1024;
/// How long to wait for another snapshot of the same project.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why a snapshot could not be taken, or a repository not be rebuilt.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error("failed to write `{}`", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("another snapshot of the project has taken more than {seconds} seconds")]
    Locked { seconds: u64 },
    #[error("`{}` is there: name a directory without a repository, or move it away", path.display())]
    InTheWay { path: PathBuf },
}

/// The snapshots of one working tree.
#[derive(Debug)]
pub struct Snapshots {
    vault: Vault,
    /// The working tree, by the path that it had.
    pub root: PathBuf,
}

/// Takes a snapshot of a person's checkout. Returns the ref of its uncommitted work, if an entry was made.
pub(super) fn take(
    place: &Place,
    dirs: &Dirs,
    run: &str,
    purpose: Purpose,
) -> Result<Option<String>, VaultError> {
    let Some(location) = place.location() else { return Ok(None) };
    let project = dirs.project(&place.ensure_project_id()?);
    let _hold = lock(&project)?;
    let vault = Vault::ensure(&project.join(VAULT), &location)?;
    note_root(&vault, &place.root)?;
    Ok(vault.take(&place.root, &location, run, purpose)?)
}

/// Returns the vault of a project, if it has one.
pub fn of_project(dirs: &Dirs, id: &str) -> Option<Vault> {
    Vault::find(&dirs.project(id).join(VAULT))
}

/// Returns the highest number of an entry that a run has there.
pub(super) fn highest(place: &Place, dirs: &Dirs, run: &str) -> Result<u64, GitError> {
    // A project without an id has no run, and no vault.
    let id = place.project_id().ok().flatten();
    match id.and_then(|id| of_project(dirs, &id)) {
        Some(vault) => salvage::highest(vault.location(), run),
        None => Ok(0),
    }
}

/// Finds the snapshots of a directory, or of the nearest one around it, by its path alone.
pub fn find(dirs: &Dirs, directory: &Path) -> Option<Snapshots> {
    let vaults: Vec<PathBuf> = fs::read_dir(dirs.state.join("projects"))
        .ok()?
        .flatten()
        .map(|entry| entry.path().join(VAULT))
        .filter(|vault| vault.join(ROOTS).is_dir())
        .collect();
    directory.ancestors().find_map(|root| {
        let file = Path::new(ROOTS).join(vault::key(root));
        let is_its = |vault: &&PathBuf| {
            text::read(&vault.join(&file), LONGEST_PATH).is_ok_and(|noted| Path::new(&noted) == root)
        };
        // A path may have been another project's before: the newest copy counts.
        let mut found: Vec<&PathBuf> = vaults.iter().filter(is_its).collect();
        found.sort_by_key(|vault| vault.join(&file).metadata().and_then(|data| data.modified()).ok());
        let vault = Vault::find(found.pop()?)?;
        Some(Snapshots { vault, root: root.to_owned() })
    })
}

impl Snapshots {
    /// Returns every state that can be rebuilt, the newest first.
    pub fn records(&self) -> Result<Vec<Record>, VaultError> {
        Ok(self.vault.records(&self.root)?)
    }

    /// Returns the project's own directory, in which they are.
    pub(super) fn project(&self) -> PathBuf {
        self.vault.location().git_dir.parent().map(Path::to_owned).unwrap_or_default()
    }

    /// Makes the repository anew in a directory that has none, and writes the files that are missing there.
    pub fn rebuild(&self, record: &Record, to: &Path) -> Result<Rebuilt, VaultError> {
        let in_the_way = to.join(".git");
        if in_the_way.symlink_metadata().is_ok() {
            return Err(VaultError::InTheWay { path: in_the_way });
        }
        let _hold = lock(&self.project())?;
        Ok(self.vault.rebuild(&record.commit, to)?)
    }
}

fn lock(project: &Path) -> Result<File, VaultError> {
    let path = project.join(LOCK);
    let failed = |source| VaultError::Write { path: path.clone(), source };
    fs::create_dir_all(project).map_err(failed)?;
    let file = File::options().create(true).truncate(false).read(true).write(true).open(&path);
    let file = file.map_err(failed)?;
    match hold::wait(&file, PATIENCE).map_err(failed)? {
        true => Ok(file),
        false => Err(VaultError::Locked { seconds: PATIENCE.as_secs() }),
    }
}

fn note_root(vault: &Vault, root: &Path) -> Result<(), VaultError> {
    let path = vault.location().git_dir.join(ROOTS).join(vault::key(root));
    if path.exists() {
        return Ok(());
    }
    let write = || {
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        fs::write(&path, root.as_os_str().as_encoded_bytes())
    };
    write().map_err(|source| VaultError::Write { path: path.clone(), source })
}
