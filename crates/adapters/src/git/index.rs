//! Indexes of warp's own, for trees and commits in the making: the repository's stays as it is meanwhile.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use tempfile::TempPath;

use crate::plain;

/// How their names begin; a crash may leave one behind.
pub(super) const OWN: &str = "warp-index-";
/// The index that the last of warp's own has replaced: the next one is written over it. To make a file and remove another takes longer
/// than to copy it.
const SPARE: &str = "warp-index.spare";

/// Makes an index of our own out of a repository's, in its git directory; it is gone when what is returned is.
///
/// A copy spares git from reading files that have not changed. It keeps its time: git does not look into a file whose size
/// and time are those of its entry, unless the entry is as young as the index itself. Then the file may have been changed
/// in the same second, and a younger copy would hide that.
pub(super) fn copy(git_dir: &Path, index: &Path) -> io::Result<TempPath> {
    let made = tempfile::Builder::new().prefix(OWN).make_in(git_dir, |own| {
        let mut from = match File::open(index) {
            // Nothing was ever put into it, and git makes its own.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            from => from?,
        };
        let mut to = match take_spare(git_dir, own) {
            Some(spare) => spare,
            None => File::create_new(own)?,
        };
        let length = io::copy(&mut from, &mut to)?;
        to.set_len(length)?;
        to.set_modified(from.metadata()?.modified()?)
    });
    Ok(made?.into_temp_path())
}

/// Puts an index of our own in the place of a repository's, which is kept for the next one.
pub(super) fn put(own: TempPath, git_dir: &Path) -> io::Result<()> {
    let index = git_dir.join("index");
    if renameat_with(CWD, &*own, CWD, &index, RenameFlags::EXCHANGE).is_err() {
        // There is none yet, or the file system cannot do it.
        return Ok(own.persist(index)?);
    }
    // Where it cannot be kept, it goes.
    own.persist(git_dir.join(SPARE)).or(Ok(()))
}

/// Takes the spare index under a new name, if there is one.
fn take_spare(git_dir: &Path, own: &Path) -> Option<File> {
    fs::rename(git_dir.join(SPARE), own).ok()?;
    let spare = plain::open(own, File::options().write(true)).ok();
    if spare.is_none() {
        // Whatever it is, it is not ours to write to.
        fs::remove_file(own).ok()?;
    }
    spare
}
