//! Copies of whole directories, for trials that must not touch the original.

use std::{fs, io, path::Path, time::Duration};

use crate::process::{self, RunError};

/// How long a copy may take, or its removal.
const LIMIT: Duration = Duration::from_secs(1800);

/// Why a directory was not copied or removed.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("`{}` cannot be copied: {words}", path.display())]
    Copy { path: std::path::PathBuf, words: String },
    #[error("`{}` cannot be removed", path.display())]
    Remove {
        path: std::path::PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Copies a directory with modes, times and links, sharing blocks where the file system can. `to` must not be there.
pub fn copy(from: &Path, to: &Path) -> Result<(), CopyError> {
    let call = |how: &[&str]| {
        let mut arguments: Vec<&std::ffi::OsStr> = how.iter().map(std::ffi::OsStr::new).collect();
        arguments.extend(["--".as_ref(), from.as_os_str(), to.as_os_str()]);
        process::run("cp", arguments, Path::new("/"), &[("LC_ALL", "C")], LIMIT)
    };
    let mut finished = call(&["-a", "--reflink=auto"])?;
    if !finished.is_success() && String::from_utf8_lossy(&finished.stderr).contains("option") {
        // Not every `cp` can share blocks.
        finished = call(&["-a"])?;
    }
    if finished.is_success() {
        return Ok(());
    }
    Err(CopyError::Copy { path: from.to_owned(), words: finished.last_words(300) })
}

/// Removes a directory with all that is in it, also where something in it may not be written.
pub fn remove(path: &Path) -> Result<(), CopyError> {
    let remove = || match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    };
    if remove().is_ok() {
        return Ok(());
    }
    process::run(
        "chmod",
        ["-R".as_ref(), "u+rwX".as_ref(), "--".as_ref(), path.as_os_str()],
        Path::new("/"),
        &[],
        LIMIT,
    )?;
    remove().map_err(|source| CopyError::Remove { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_copy_has_times_modes_and_links_and_nothing_of_it_is_shared() {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        fs::create_dir_all(from.join("below")).unwrap();
        fs::write(from.join("below/file"), "one").unwrap();
        fs::set_permissions(from.join("below/file"), fs::Permissions::from_mode(0o750)).unwrap();
        symlink("below/file", from.join("link")).unwrap();
        copy(&from, &to).unwrap();
        let (old, new) =
            (from.join("below/file").metadata().unwrap(), to.join("below/file").metadata().unwrap());
        assert_eq!((old.mode(), old.mtime_nsec()), (new.mode(), new.mtime_nsec()));
        assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("below/file"));
        fs::write(to.join("below/file"), "two").unwrap();
        assert_eq!(fs::read_to_string(from.join("below/file")).unwrap(), "one");
        fs::set_permissions(to.join("below"), fs::Permissions::from_mode(0o555)).unwrap();
        remove(&to).unwrap();
        remove(&to).unwrap();
        assert!(!to.exists());
    }
}
