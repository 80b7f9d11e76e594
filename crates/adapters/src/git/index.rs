//! Indexes of warp's own, for trees and commits in the making: the repository's stays as it is meanwhile.

use std::{fs::File, io, path::Path};

use tempfile::TempPath;

/// How their names begin; a crash may leave one behind.
pub(super) const OWN: &str = "warp-index-";

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
        let mut to = File::create_new(own)?;
        io::copy(&mut from, &mut to)?;
        to.set_modified(from.metadata()?.modified()?)
    });
    Ok(made?.into_temp_path())
}
