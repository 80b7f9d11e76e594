//! Submodules in a run's tree: their files, taken from repositories that are on this machine.
//!
//! A slot gets files only, no repository: to warp a submodule is the commit that it stands at. They come from where the
//! person's own repository has them (`.git/modules`), from the person's checkout, or from a path that `.gitmodules` names on
//! the merge target. Nothing is fetched, and what an agent writes into `.gitmodules` is not read.
//!
//! The index by which files were written lies beside the tree. By it, files that nobody has changed are told from work.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
    time::Duration,
};

use super::{
    Location, locate, nested,
    own::{GitError, Repository},
};
use crate::{boundary, refs::is_object};

/// How long all of it may take.
const LIMIT: Duration = Duration::from_secs(600);
/// The directory in a slot's directory that holds the indexes.
const INDEXES: &str = "submodules";
/// How deep submodules may lie in each other.
const DEEPEST: usize = 8;

/// The person's repository, as far as submodules come from it.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The root of the checkout.
    pub root: &'a Path,
    pub location: &'a Location,
}

/// An entry of `.gitmodules`.
struct Submodule {
    name: String,
    path: String,
    url: String,
}

/// Fills the empty directories of submodules in the tree of a slot, which is `root`; returns the paths of those that no
/// repository on this machine has.
pub fn fill(
    root: &Path,
    location: &Location,
    target: &str,
    origin: Origin<'_>,
) -> Result<Vec<String>, GitError> {
    let directory = root.parent().unwrap_or(root).join(INDEXES);
    let mut missing = Vec::new();
    let place =
        Place { root, location, origin_root: origin.root, modules: origin.location.common_dir.clone() };
    boundary::around("submodules", || {
        place.fill("HEAD", &format!("refs/heads/{target}"), &directory, DEEPEST, &mut missing)
    })?;
    Ok(missing)
}

/// Empties the directory of a submodule if nobody has changed what [`fill`] put there; tells whether it did.
pub fn clear_unchanged(root: &Path, path: &Path) -> Result<bool, GitError> {
    let Ok(relative) = path.strip_prefix(root) else { return Ok(false) };
    let directory = root.parent().unwrap_or(root).join(INDEXES);
    let index = directory.join(flat(&relative.to_string_lossy()));
    let Ok(from) = fs::read_to_string(index.with_extension("from")) else { return Ok(false) };
    let git_dir = PathBuf::from(from.trim_end_matches('\n'));
    let location = Location { common_dir: git_dir.clone(), git_dir };
    let git = Repository::new(path, &location, LIMIT);
    let index = index.to_str().ok_or_else(|| GitError::NotText(index.clone()))?.to_owned();
    let set = [("GIT_INDEX_FILE", index.as_str())];
    // With a repository of its own somebody has worked there.
    let is_changed = path.join(".git").symlink_metadata().is_ok()
        || !git.run(&["diff-files", "--quiet"], &set)?.is_success()
        || !git.text(&["ls-files", "--others", "--exclude-standard", "--directory"], &set)?.is_empty();
    if is_changed {
        return Ok(false);
    }
    let failed = |source| GitError::File { path: path.to_owned(), source };
    fs::remove_dir_all(path).map_err(failed)?;
    fs::create_dir(path).map_err(failed)?;
    Ok(true)
}

/// A repository whose submodules are filled: the slot's own, or a submodule.
struct Place<'a> {
    root: &'a Path,
    location: &'a Location,
    /// Where the person has the same.
    origin_root: &'a Path,
    /// The git directory of the person's that keeps those of submodules below `modules`.
    modules: PathBuf,
}

impl Place<'_> {
    fn fill(
        &self,
        commit: &str,
        described_by: &str,
        indexes: &Path,
        depth: usize,
        missing: &mut Vec<String>,
    ) -> Result<(), GitError> {
        let git = Repository::bare(self.location, LIMIT);
        let links = nested::links(&git, commit)?;
        if links.is_empty() || depth == 0 {
            return Ok(());
        }
        let described = described(&git, described_by)?;
        for path in links {
            let target = self.root.join(&path);
            if !is_below(&path) || nested::is_filled(&target) {
                continue;
            }
            let stands_at = git.text(&["rev-parse", "--verify", &format!("{commit}:{path}")], &[])?;
            let module = described.iter().find(|module| module.path == path);
            let Some(from) = module.map(|module| self.find(module, &stands_at)).transpose()?.flatten() else {
                missing.push(path);
                continue;
            };
            write(&from, &stands_at, &target, &indexes.join(flat(&path)))?;
            let below = Place {
                root: &target,
                location: &from,
                origin_root: &self.origin_root.join(&path),
                modules: from.git_dir.clone(),
            };
            let mut also = Vec::new();
            below.fill(
                &stands_at,
                &stands_at,
                &indexes.join(format!("{}.d", flat(&path))),
                depth - 1,
                &mut also,
            )?;
            missing.extend(also.into_iter().map(|below| format!("{path}/{below}")));
        }
        Ok(())
    }

    /// Finds a repository on this machine that has a submodule's commit.
    fn find(&self, module: &Submodule, commit: &str) -> Result<Option<Location>, GitError> {
        let kept = self.modules.join("modules").join(&module.name);
        let mut candidates: Vec<Location> = Vec::new();
        if is_below(&module.name) && kept.join("HEAD").is_file() {
            candidates.push(Location { git_dir: kept.clone(), common_dir: kept });
        }
        // Without a repository of its own there, the one around it would be found.
        if self.origin_root.join(&module.path).join(".git").exists() {
            candidates.extend(locate(&self.origin_root.join(&module.path)));
        }
        let local = module.url.strip_prefix("file://").unwrap_or(&module.url);
        if local.starts_with('/') || local.starts_with("./") || local.starts_with("../") {
            let path = self.origin_root.join(local);
            let bare = Some(path.clone()).filter(|path| path.join("objects").is_dir());
            candidates.extend(bare.map(|path| Location { git_dir: path.clone(), common_dir: path }));
            candidates
                .extend(Some(path).filter(|path| path.join(".git").exists()).and_then(|path| locate(&path)));
        }
        for candidate in candidates {
            let has = Repository::bare(&candidate, LIMIT)
                .run(&["cat-file", "-e", &format!("{commit}^{{commit}}")], &[])?;
            if has.is_success() {
                return Ok(Some(candidate));
            }
        }
        Ok(None)
    }
}

/// Reads the `.gitmodules` of a commit.
fn described(git: &Repository<'_>, commit: &str) -> Result<Vec<Submodule>, GitError> {
    let blob = format!("{commit}:.gitmodules");
    let read =
        git.run(&["config", "--blob", &blob, "-z", "--get-regexp", r"^submodule\..*\.(path|url)$"], &[])?;
    let said = String::from_utf8_lossy(&read.stdout).into_owned();
    let mut all: Vec<Submodule> = Vec::new();
    for (key, value) in said.split('\0').filter_map(|entry| entry.split_once('\n')) {
        let Some((name, field)) = key.strip_prefix("submodule.").and_then(|key| key.rsplit_once('.')) else {
            continue;
        };
        let index = all.iter().position(|module| module.name == name).unwrap_or_else(|| {
            all.push(Submodule { name: name.to_owned(), path: String::new(), url: String::new() });
            all.len() - 1
        });
        match field {
            "path" => all[index].path = value.to_owned(),
            _ => all[index].url = value.to_owned(),
        }
    }
    Ok(all)
}

/// Writes the files of a commit into a directory, and notes where they came from.
fn write(from: &Location, commit: &str, target: &Path, index: &Path) -> Result<(), GitError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source: io::Error| GitError::File { path, source }
    };
    fs::create_dir_all(target).map_err(failed(target))?;
    if let Some(directory) = index.parent() {
        fs::create_dir_all(directory).map_err(failed(directory))?;
    }
    match fs::remove_file(index) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(index)(error)),
        _ => {}
    }
    if !is_object(commit) {
        return Ok(());
    }
    let text = index.to_str().ok_or_else(|| GitError::NotText(index.to_owned()))?.to_owned();
    let set = [("GIT_INDEX_FILE", text.as_str())];
    let git = Repository::new(target, from, LIMIT);
    git.text(&["read-tree", commit], &set)?;
    git.text(&["checkout-index", "--all", "--force", "--quiet", "-u"], &set)?;
    let note = index.with_extension("from");
    fs::write(&note, format!("{}\n", from.git_dir.display())).map_err(failed(&note))
}

/// Tells whether a relative path stays below where it begins.
fn is_below(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Returns a name for a path that needs no directories above it and has no ending.
fn flat(path: &str) -> String {
    path.replace('%', "%25").replace('/', "%2f").replace('.', "%2e")
}
