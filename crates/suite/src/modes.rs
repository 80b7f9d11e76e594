//! Files that the preparation makes executable although they are committed otherwise, as npm does with the programs of local
//! packages.
//!
//! They are executable while the tests run and at no other time: else every commit of the run would change their mode.

use std::{collections::BTreeSet, fs, io, os::unix::fs::PermissionsExt as _, path::Path};

const EXECUTABLE: u32 = 0o111;

/// Returns what was made executable between two looks at the same tree.
pub(crate) fn added(before: &[String], after: Vec<String>) -> Vec<String> {
    let before: BTreeSet<&String> = before.iter().collect();
    after.into_iter().filter(|file| !before.contains(file)).collect()
}

/// Does something while these files of a tree are executable.
pub(crate) fn with<T>(tree: &Path, files: &[String], act: impl FnOnce() -> T) -> io::Result<T> {
    let changed = set(tree, files)?;
    let done = act();
    unset(tree, &changed)?;
    Ok(done)
}

/// Makes files executable; returns those that were not.
fn set(tree: &Path, files: &[String]) -> io::Result<Vec<String>> {
    let mut changed = Vec::new();
    for file in files {
        if change(&tree.join(file), |mode| mode | (mode & 0o444) >> 2)? {
            changed.push(file.clone());
        }
    }
    Ok(changed)
}

/// Takes back from files that they are executable.
pub(crate) fn unset(tree: &Path, files: &[String]) -> io::Result<()> {
    files.iter().try_for_each(|file| change(&tree.join(file), |mode| mode & !EXECUTABLE).map(drop))
}

/// Changes the mode of a file; one that is gone, or a link, is left alone. Tells whether it was another.
fn change(path: &Path, how: impl Fn(u32) -> u32) -> io::Result<bool> {
    let Some(data) = path.symlink_metadata().ok().filter(fs::Metadata::is_file) else { return Ok(false) };
    let mode = data.permissions().mode();
    let new = how(mode);
    if new != mode {
        fs::set_permissions(path, fs::Permissions::from_mode(new))?;
    }
    Ok(new != mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_executable_only_meanwhile() {
        let tree = tempfile::tempdir().unwrap();
        let mode = |name: &str| fs::metadata(tree.path().join(name)).unwrap().permissions().mode() & 0o777;
        for (name, mode) in [("a", 0o644), ("b", 0o755)] {
            fs::write(tree.path().join(name), "").unwrap();
            fs::set_permissions(tree.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        let files = ["a", "b", "gone"].map(str::to_owned);
        with(tree.path(), &files, || assert_eq!((mode("a"), mode("b")), (0o755, 0o755))).unwrap();
        assert_eq!((mode("a"), mode("b")), (0o644, 0o755));
        assert_eq!(added(&files[..1], files.to_vec()), ["b", "gone"]);
    }
}
