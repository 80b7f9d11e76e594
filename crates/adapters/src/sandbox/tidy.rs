//! What a program leaves behind in a tree that others would trip over.
//!
//! A directory that cannot be entered is neither seen by git nor removed by it, so it would be handed to the next agent. A
//! named pipe makes whoever reads it wait for ever: git reads `.gitignore` in every directory, and warp the project's files.

use std::{
    fs, io,
    os::unix::fs::{FileTypeExt as _, PermissionsExt as _},
    path::Path,
};

/// What the owner needs to look into a directory and to remove what is in it, and to read and replace a file.
const DIRECTORY: u32 = 0o700;
const FILE: u32 = 0o600;

/// Makes everything below a tree accessible to its owner again, and removes named pipes. Links are not followed.
///
/// Whatever worked in the tree must have ended.
pub fn tidy(tree: &Path) -> io::Result<()> {
    let data = tree.symlink_metadata()?;
    if data.is_dir() {
        permit(tree, data.permissions().mode(), DIRECTORY)?;
    }
    let mut open = vec![tree.to_owned()];
    while let Some(directory) = open.pop() {
        let entries = match fs::read_dir(&directory) {
            // Something that was there a moment ago has removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let path = entry?.path();
            let Ok(data) = path.symlink_metadata() else { continue };
            let kind = data.file_type();
            if kind.is_fifo() {
                fs::remove_file(&path)?;
            } else if kind.is_dir() {
                permit(&path, data.permissions().mode(), DIRECTORY)?;
                open.push(path);
            } else if kind.is_file() {
                permit(&path, data.permissions().mode(), FILE)?;
            }
        }
    }
    Ok(())
}

/// The files that git reads in every directory of a working tree.
const READ_BY_GIT: [&str; 3] = [".gitignore", ".gitattributes", ".gitmodules"];

/// Removes named pipes that git would wait at for ever, while others may be at work in the tree. Links are not followed.
pub fn unblock_git(tree: &Path) -> io::Result<()> {
    let mut open = vec![tree.to_owned()];
    while let Some(directory) = open.pop() {
        // What is gone by now, or cannot be entered, git does not read either.
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries {
            let entry = entry?;
            let kind = entry.file_type()?;
            let name = entry.file_name();
            if kind.is_dir() && name != ".git" {
                open.push(entry.path());
            } else if kind.is_fifo() && READ_BY_GIT.iter().any(|read| name == *read) {
                fs::remove_file(entry.path())?;
            }
        }
    }
    Ok(())
}

fn permit(path: &Path, mode: u32, needed: u32) -> io::Result<()> {
    if mode & needed == needed {
        return Ok(());
    }
    // The bits of its group and of others, and what is special about it, are as they were.
    fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o7777 | needed))
}
