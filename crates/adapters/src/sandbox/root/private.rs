//! What of the system only root may read: behind walls it is not there, as it would not be for an ordinary user.
//!
//! Directories are looked for some levels deep. Single files are looked for where they lie still, because one that is gone
//! when the sandbox is made would fail it.

use std::{
    env, fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// How many levels below the root of the file system are looked at.
const DEEPEST: usize = 3;
/// Every place is one more mount; a system with more is not looked at any further.
const MOST: usize = 400;
/// What is the sandbox's own, or open to everybody and large.
const NOT_LOOKED_AT: [&str; 9] =
    ["/proc", "/sys", "/dev", "/tmp", "/run", "/var/tmp", "/usr", "/nix", "/gnu"];
/// Where single files are looked for.
const WITH_FILES: [&str; 2] = ["/etc", "/root"];

/// Returns what only root may read; looked for once.
pub(super) fn places() -> &'static [PathBuf] {
    static PLACES: OnceLock<Vec<PathBuf>> = OnceLock::new();
    PLACES.get_or_init(|| {
        let path = env::var_os("PATH").unwrap_or_default();
        let in_use: Vec<PathBuf> = env::split_paths(&path).chain(env::current_exe().ok()).collect();
        find(Path::new("/"), &in_use)
    })
}

/// Finds what lies below a directory, but for what programs that are in use lie in.
fn find(root: &Path, in_use: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![(root.to_owned(), 0)];
    while let Some((directory, depth)) = open.pop() {
        // What cannot be read is not read by what runs inside, either.
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(data) = path.symlink_metadata() else { continue };
            if data.uid() != 0 || NOT_LOOKED_AT.iter().any(|other| path == Path::new(other)) {
                continue;
            }
            let is_needed = in_use.iter().any(|used| used.starts_with(&path));
            if data.is_dir() && (is_needed || data.mode() & 0o007 != 0) {
                open.extend((depth + 1 < DEEPEST || is_needed).then_some((path, depth + 1)));
            } else if data.is_dir() || data.is_file() && data.mode() & 0o004 == 0 && has_files(&path) {
                found.push(path);
            }
            if found.len() >= MOST {
                return found;
            }
        }
    }
    found
}

fn has_files(path: &Path) -> bool {
    WITH_FILES.iter().any(|directory| path.starts_with(directory))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_only_root_may_enter_is_found_but_for_what_is_in_use() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path();
        for (name, mode) in
            [("a/open", 0o755), ("a/closed", 0o700), ("used/bin", 0o700), ("used/keys", 0o700)]
        {
            fs::create_dir_all(base.join(name)).unwrap();
            fs::set_permissions(base.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::set_permissions(base.join("used"), fs::Permissions::from_mode(0o700)).unwrap();
        let mut found = find(base, &[base.join("used/bin")]);
        found.sort();
        let is_root = base.metadata().unwrap().uid() == 0;
        let wanted = [base.join("a/closed"), base.join("used/keys")];
        assert_eq!(found, if is_root { &wanted[..] } else { &[] });
    }
}
