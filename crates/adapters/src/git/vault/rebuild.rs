//! Makes a repository anew out of a record: history, branches, tags, stashes, settings, hooks, what was staged, and files.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Component, Path, PathBuf},
};

use super::{FETCH, LIMIT, Vault};
use crate::{
    boundary,
    git::{
        Location,
        mend::{self, MendError},
        own::{GitError, Repository},
    },
    refs::is_object,
};

/// Where the vault's refs are while a repository is made.
const MEANWHILE: &str = "refs/warp/rebuild/";
/// The most names of files that are told one by one.
const MOST_TOLD: usize = 20;

/// What was made anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    pub refs: usize,
    /// Files that were missing, and were written.
    pub files: usize,
    /// Files that are there with other content than in the snapshot: they are left alone.
    pub differ: Vec<String>,
    /// Refs whose commits the vault does not have.
    pub lost: Vec<String>,
}

impl Vault {
    /// Makes the repository of a record anew at `root`, where none may be, and writes the files that are missing.
    pub fn rebuild(&self, record: &str, root: &Path) -> Result<Rebuilt, GitError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| GitError::File { path: path.clone(), source }
        };
        fs::create_dir_all(root).map_err(failed(root))?;
        let mut rebuilt = Rebuilt::default();
        self.part(record, "", root, &mut rebuilt)?;
        let git = Repository::bare(&self.location, LIMIT);
        let nested = git.run(&["ls-tree", "--name-only", &format!("{record}:nested")], &[])?;
        let nested = if nested.is_success() { nested.text() } else { String::new() };
        for number in nested.lines() {
            let under = format!("nested/{number}/");
            let path = git.text(&["cat-file", "blob", &format!("{record}:{under}path")], &[])?;
            let path = Path::new(&path);
            let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
            if is_inside && !root.join(path).join(".git").exists() {
                fs::create_dir_all(root.join(path)).map_err(failed(&root.join(path)))?;
                self.part(record, &under, &root.join(path), &mut rebuilt)?;
            }
        }
        Ok(rebuilt)
    }

    fn part(&self, record: &str, under: &str, root: &Path, rebuilt: &mut Rebuilt) -> Result<(), GitError> {
        let own = Repository::bare(&self.location, LIMIT);
        let git_dir = root.join(".git");
        let location = Location { common_dir: git_dir.clone(), git_dir: git_dir.clone() };
        let failed = |source| GitError::File { path: git_dir.clone(), source };
        fs::create_dir_all(&git_dir).map_err(failed)?;
        let format = own.text(&["rev-parse", "--show-object-format"], &[])?;
        let git = Repository::new(root, &location, LIMIT);
        // With a working tree named, git would write its path into the settings.
        let init = ["init", "--quiet", "--template=", &format!("--object-format={format}")];
        Repository::bare(&location, LIMIT).text(&init, &[])?;
        self.history(&git, record)?;
        let listed = own.text(&["cat-file", "blob", &format!("{record}:{under}refs")], &[])?;
        let stashes = self.refs(&git, &listed, rebuilt)?;
        self.small_files(&own, &format!("{record}:{under}git"), &git_dir)?;
        if !stashes.is_empty() {
            mend::put_stashes_back(root, &location, &stashes).map_err(spelled)?;
        }
        let staged = format!("{record}:{under}staged");
        let staged = match own.run(&["rev-parse", "--verify", "--quiet", &staged], &[])? {
            found if found.is_success() => Some(found.text()),
            _ => {
                let head = git.run(&["rev-parse", "--verify", "--quiet", "HEAD^{tree}"], &[])?;
                head.is_success().then(|| head.text())
            }
        };
        if let Some(staged) = staged {
            git.text(&["read-tree", &staged], &[])?;
        }
        self.checkout(record, under, root, rebuilt)?;
        // Files that are as staged are told from changed ones by their times.
        git.run(&["update-index", "--refresh", "-q"], &[])?;
        Ok(())
    }

    /// Copies all objects of the vault that belong to history, and the record.
    fn history(&self, git: &Repository<'_>, record: &str) -> Result<(), GitError> {
        let vault = &self.location.git_dir;
        let vault = vault.to_str().ok_or_else(|| GitError::NotText(vault.clone()))?;
        let mut arguments = FETCH.to_vec();
        let specs =
            ["seen", "tips", "salvage"].map(|part| format!("+refs/warp/{part}/*:{MEANWHILE}{part}/*"));
        let record = format!("+{record}:{MEANWHILE}record");
        arguments.extend(["--", vault, &record]);
        arguments.extend(specs.iter().map(String::as_str));
        boundary::around("rebuild", || git.text(&arguments, &[])).map(drop)
    }

    /// Puts the refs back; returns the stashes.
    fn refs(
        &self,
        git: &Repository<'_>,
        listed: &str,
        rebuilt: &mut Rebuilt,
    ) -> Result<Vec<String>, GitError> {
        let (mut lines, mut stashes) = (Vec::new(), Vec::new());
        let objects = listed.lines().filter_map(|line| line.split(' ').next());
        let objects: String = objects.map(|object| format!("{object}\n")).collect();
        let check = ["cat-file", "--batch-check=%(objectname)"];
        let known = git.run_reading(objects.into_bytes(), &check, &[])?;
        let known = known.text();
        let is_there: Vec<bool> = known.lines().map(|line| !line.ends_with(" missing")).collect();
        for (line, is_there) in listed.lines().zip(is_there) {
            let Some((object, name)) = line.split_once(' ').filter(|(object, _)| is_object(object)) else {
                continue;
            };
            match (is_there, name) {
                (false, _) => rebuilt.lost.push(name.to_owned()),
                (true, "stash") => stashes.push(object.to_owned()),
                (true, _) => lines.push(format!("update {name} {object}")),
            }
        }
        rebuilt.refs += lines.len();
        let meanwhile = git.text(&["for-each-ref", "--format=delete %(refname)", MEANWHILE], &[])?;
        git.change_refs(&lines)?;
        git.change_refs(&meanwhile.lines().map(str::to_owned).collect::<Vec<_>>())?;
        Ok(stashes)
    }

    /// Writes the small files of a git directory.
    fn small_files(&self, git: &Repository<'_>, tree: &str, git_dir: &Path) -> Result<(), GitError> {
        let listed = git.text(&["ls-tree", "-r", "-z", "--format=%(objectmode) %(path)", tree], &[])?;
        for (mode, path) in listed.split('\0').filter_map(|entry| entry.split_once(' ')) {
            let to: PathBuf = git_dir.join(path);
            let failed = |source| GitError::File { path: to.clone(), source };
            let blob = git.run(&["cat-file", "blob", &format!("{tree}/{path}")], &[])?;
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent).map_err(failed)?;
            }
            fs::write(&to, blob.stdout).map_err(failed)?;
            let mode = if mode == "100755" { 0o755 } else { 0o644 };
            fs::set_permissions(&to, fs::Permissions::from_mode(mode)).map_err(failed)?;
        }
        Ok(())
    }

    /// Writes the files that are missing, with the vault's own settings: byte by byte.
    fn checkout(
        &self,
        record: &str,
        under: &str,
        root: &Path,
        rebuilt: &mut Rebuilt,
    ) -> Result<(), GitError> {
        let git = Repository::new(root, &self.location, LIMIT);
        let index = tempfile::Builder::new().prefix("warp-index-").tempdir_in(&self.location.git_dir);
        let index = index.map_err(GitError::Index)?;
        let file = index.path().join("index");
        let file = file.to_str().ok_or_else(|| GitError::NotText(file.clone()))?;
        let environment = [("GIT_INDEX_FILE", file)];
        git.text(&["read-tree", &format!("{record}:{under}tree")], &environment)?;
        let missing = git.run(&["ls-files", "--deleted", "-z"], &environment)?.stdout;
        rebuilt.files += missing.iter().filter(|byte| **byte == 0).count();
        let written = git.run_reading(missing, &["checkout-index", "-z", "--stdin", "-u"], &environment)?;
        crate::git::own::expected("checkout-index", written)?;
        git.run(&["update-index", "--refresh", "-q"], &environment)?;
        let differ = git.text(&["diff-files", "--name-only", "-z"], &environment)?;
        let differ = differ.split('\0').filter(|path| !path.is_empty()).map(|path| {
            if under.is_empty() { path.to_owned() } else { root.join(path).display().to_string() }
        });
        rebuilt.differ.extend(differ.take(MOST_TOLD));
        Ok(())
    }
}

fn spelled(error: MendError) -> GitError {
    GitError::Said { command: "stash".to_owned(), end: "an error".to_owned(), words: error.to_string() }
}
