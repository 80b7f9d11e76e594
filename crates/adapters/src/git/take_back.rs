//! Taking back what a checkout has written before it failed: a disk that fills half-way leaves new files, and files that are
//! already those of the newer commit.
//!
//! Git looks at every file before it writes the first one, so until then all of them were as the older commit has them. A
//! file is touched only if it holds what git was writing, whole or in part: anything else is a person's.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
};

use super::own::{GitError, Repository};

/// How much of a file is compared with what git was writing.
const COMPARED: u64 = 64 * 1024;

/// What says that git could not write, and not that it did not want to.
const FAILED_WRITES: &[&str] = &[
    "unable to write file",
    "unable to create file",
    "No space left on device",
    "File too large",
    "quota exceeded",
];

/// Tells whether a checkout failed while it wrote.
pub(super) fn is_cut_short(words: &str) -> bool {
    FAILED_WRITES.iter().any(|said| words.contains(said))
}

/// Puts the files that differ between two commits back to the older one, as far as git has written them.
pub(super) fn take_back(git: &Repository<'_>, root: &Path, older: &str, newer: &str) -> Result<(), GitError> {
    let listed = git.text(&["diff-tree", "-r", "-z", "--name-status", "--no-renames", older, newer], &[])?;
    let mut fields = listed.split('\0').filter(|field| !field.is_empty());
    let mut restored = Vec::new();
    while let Some((status, path)) = fields.next().zip(fields.next()) {
        let file = root.join(path);
        if !is_written_by_git(git, &file, newer, path)? {
            continue;
        }
        if status == "A" {
            // New files go first: that makes room for those that are written again.
            match fs::remove_file(&file) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(GitError::File { path: file, source });
                }
                Ok(()) | Err(_) => remove_empty(root, file.parent()),
            }
        } else {
            restored.push(path);
        }
    }
    if restored.is_empty() {
        return Ok(());
    }
    let source = format!("--source={older}");
    let restore = [&["restore", "--worktree", "--quiet", &source, "--"], restored.as_slice()].concat();
    git.text(&restore, &[("GIT_LITERAL_PATHSPECS", "1")]).map(drop)
}

/// Tells whether a file is missing, or holds the beginning of what a commit has there.
fn is_written_by_git(git: &Repository<'_>, file: &Path, commit: &str, path: &str) -> Result<bool, GitError> {
    let found = match fs::symlink_metadata(file) {
        Ok(data) if data.is_file() => data.len(),
        Ok(_) => return Ok(false),
        // The older commit may have it.
        Err(_) => return Ok(true),
    };
    let mut begins = Vec::new();
    let read = File::open(file).and_then(|file| file.take(COMPARED).read_to_end(&mut begins));
    read.map_err(|source| GitError::File { path: file.to_owned(), source })?;
    let object = format!("{commit}:{path}");
    let size = git.run(&["cat-file", "-s", &object], &[])?;
    // A file that the newer commit does not have is removed by git, and not written.
    let Ok(size) = size.text().trim().parse::<u64>() else { return Ok(false) };
    let wanted = git.run(&["cat-file", "blob", &object], &[])?.stdout;
    Ok(found <= size && wanted.starts_with(&begins))
}

/// Removes the directories that git has made for a file, if nothing else is in them.
fn remove_empty(root: &Path, directory: Option<&Path>) {
    let above = directory.into_iter().flat_map(Path::ancestors);
    for directory in above.take_while(|directory| *directory != root && directory.starts_with(root)) {
        if fs::remove_dir(directory).is_err() {
            return;
        }
    }
}
