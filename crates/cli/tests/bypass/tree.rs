//! A directory as it was, to be put back as it was.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

/// Everything below a directory, by path; a directory comes before what is in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tree {
    root: PathBuf,
    entries: BTreeMap<PathBuf, Entry>,
}

#[derive(Debug, PartialEq, Eq)]
enum Entry {
    Directory,
    File(u32, Vec<u8>),
    Link(PathBuf),
    /// A pipe or a socket, which nobody wants back.
    Odd,
}

impl Tree {
    /// Reads everything below a directory.
    pub(crate) fn read(root: &Path) -> Self {
        let mut entries = BTreeMap::new();
        let mut open = vec![root.to_owned()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(&directory).unwrap() {
                let path = entry.unwrap().path();
                let data = path.symlink_metadata().unwrap();
                let entry = if data.is_dir() {
                    open.push(path.clone());
                    Entry::Directory
                } else if data.is_symlink() {
                    Entry::Link(fs::read_link(&path).unwrap())
                } else if data.is_file() {
                    Entry::File(data.permissions().mode(), fs::read(&path).unwrap())
                } else {
                    Entry::Odd
                };
                entries.insert(path, entry);
            }
        }
        Self { root: root.to_owned(), entries }
    }

    /// Returns the bytes of a file.
    pub(crate) fn file(&self, path: &Path) -> Option<&[u8]> {
        match self.entries.get(path)? {
            Entry::File(_, bytes) => Some(bytes),
            Entry::Directory | Entry::Link(_) | Entry::Odd => None,
        }
    }

    /// Returns the files below a directory by their paths in it, but for git's own and those that warp shows a run by.
    pub(crate) fn below(&self, root: &Path) -> BTreeMap<PathBuf, String> {
        let inside = self.entries.iter().filter_map(|(path, entry)| {
            let path = path.strip_prefix(root).ok()?;
            let is_left_out =
                path.starts_with(".git") || path.starts_with(".claude") || path.starts_with(".warp");
            let told = match entry {
                Entry::File(mode, bytes) => format!("{:o} {}", mode & 0o100, String::from_utf8_lossy(bytes)),
                Entry::Link(to) => format!("-> {}", to.display()),
                Entry::Directory | Entry::Odd => return None,
            };
            (!is_left_out).then(|| (path.to_owned(), told))
        });
        inside.collect()
    }

    /// Tells whether everything at or below a path is the same in both.
    pub(crate) fn is_same(&self, other: &Self, path: &Path) -> bool {
        let below = |tree: &'_ Self| -> Vec<PathBuf> {
            let from = tree.entries.range(path.to_owned()..).map(|(found, _)| found);
            from.take_while(|found| found.starts_with(path)).cloned().collect()
        };
        let (ours, theirs) = (below(self), below(other));
        ours == theirs && ours.iter().all(|path| self.entries.get(path) == other.entries.get(path))
    }

    /// Makes the directory what it was. What is as it was is not touched, so that git finds it as it left it.
    pub(crate) fn put_back(&self) {
        let now = Self::read(&self.root);
        for (path, entry) in now.entries.iter().rev() {
            if self.entries.get(path) == Some(entry) {
                continue;
            }
            let removed = match entry {
                Entry::Directory => fs::remove_dir(path),
                Entry::File(..) | Entry::Link(_) | Entry::Odd => fs::remove_file(path),
            };
            match removed {
                // A command that is just ending takes its own temporary files away.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed.unwrap(),
            }
        }
        for (path, entry) in &self.entries {
            if now.entries.get(path) == Some(entry) {
                continue;
            }
            match entry {
                Entry::Directory => fs::create_dir(path).unwrap(),
                Entry::File(mode, bytes) => {
                    fs::write(path, bytes).unwrap();
                    fs::set_permissions(path, fs::Permissions::from_mode(*mode)).unwrap();
                }
                Entry::Link(target) => symlink(target, path).unwrap(),
                Entry::Odd => {}
            }
        }
    }
}
