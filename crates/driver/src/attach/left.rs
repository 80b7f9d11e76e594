//! What a killed driver leaves outside of the state directory: the socket of its terminal, its phase file in the directory for
//! temporary files. Both are noted while the driver lives, and the next run of the project removes them.

use std::{
    fs, io,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use adapters::{plain, sandbox};

/// The note in the directory of an attached run.
const NOTE: &str = "left";
/// The largest note that is read, in bytes.
const LARGEST: u64 = 16 * 1024;

/// A note of what is to be removed, held for as long as its driver lives.
#[derive(Debug)]
pub(super) struct Left {
    path: PathBuf,
    _held: fs::File,
}

impl Left {
    /// Notes files, in the directory of an attached run.
    pub(super) fn note(directory: &Path, files: &[PathBuf]) -> io::Result<Self> {
        let path = directory.join(NOTE);
        let text: String = files.iter().map(|file| format!("{}\n", file.display())).collect();
        let mut held = fs::File::create(&path)?;
        held.try_lock()?;
        io::Write::write_all(&mut held, text.as_bytes())?;
        Ok(Self { path, _held: held })
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        // One that stays names files that are gone.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes what killed drivers of a project's attached runs left; `attached` holds their directories. What cannot be
/// removed is left to the next.
pub(crate) fn remove(attached: &Path) {
    for entry in fs::read_dir(attached).into_iter().flatten().flatten() {
        let note = entry.path().join(NOTE);
        let Ok(file) = plain::open(&note, fs::OpenOptions::new().read(true)) else { continue };
        // Its driver lives.
        if file.try_lock().is_err() {
            continue;
        }
        let mut text = String::new();
        if io::Read::read_to_string(&mut io::Read::take(file, LARGEST), &mut text).is_ok() {
            text.lines()
                .map(Path::new)
                .filter(|path| is_ours(path))
                .for_each(|path| _ = fs::remove_file(path));
        }
        let _ = fs::remove_file(note);
    }
}

/// Tells whether something is a file or a socket of this user's, under one name.
fn is_ours(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|data| {
        let kind = data.file_type();
        sandbox::is_ours(&data) && data.nlink() == 1 && (kind.is_file() || kind.is_socket())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_driver_noted_is_removed_once_it_is_dead() {
        let base = tempfile::tempdir().unwrap();
        let (run, file, link) = (base.path().join("run"), base.path().join("file"), base.path().join("link"));
        fs::create_dir(&run).unwrap();
        fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let left = Left::note(&run, &[file.clone(), link.clone(), base.path().join("gone")]).unwrap();
        remove(base.path());
        assert!(file.exists(), "the driver lives");
        // As if it had been killed: the lock goes, the note stays.
        fs::copy(run.join(NOTE), base.path().join("copy")).unwrap();
        drop(left);
        fs::rename(base.path().join("copy"), run.join(NOTE)).unwrap();
        remove(base.path());
        assert!(!file.exists() && link.is_symlink() && !run.join(NOTE).exists());
    }
}
