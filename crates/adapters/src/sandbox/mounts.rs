//! The walls as arguments of bubblewrap. What comes later lies on top of what came before.

use std::{
    ffi::OsString,
    fs,
    path::{Component, Path, PathBuf},
};

use super::{
    WallError, Walls, Who, home,
    table::{EMPTY, PUT_BACK},
};

/// Processes, shared memory and the host's name are not those outside; no capability is left to a superuser, who
/// could take the walls down with it; and all of it ends with whoever started it.
pub(super) const NAMESPACES: [&str; 8] = [
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
];

pub(super) fn arguments(walls: &Walls, who: Who) -> Result<Vec<OsString>, WallError> {
    let tree = real(&walls.tree)?;
    let mut mounts = Mounts::default();
    mounts.add("--ro-bind", [Path::new("/"), Path::new("/")]);
    mounts.add("--dev", [Path::new("/dev")]);
    mounts.add("--proc", [Path::new("/proc")]);
    for path in EMPTY.iter().map(Path::new).filter(|path| path.is_dir() && !path.is_symlink()) {
        mounts.add("--tmpfs", [path]);
    }
    for path in PUT_BACK.iter().map(Path::new).filter(|path| path.exists()) {
        mounts.add("--ro-bind", [path, path]);
    }
    home::add(&mut mounts, walls, who)?;
    for path in walls.hidden.iter().filter(|path| path.exists()) {
        mounts.hide(&real(path)?);
    }
    mounts.add("--bind", [&tree, &tree]);
    let in_tree = tree.join(".git");
    let git = [Some(&in_tree).filter(|path| path.exists()), walls.git_dir.as_ref()];
    for path in git.into_iter().flatten() {
        let path = real(path)?;
        for path in behind(&path).into_iter().chain([path]) {
            let path = real(&path)?;
            if tree.starts_with(&path) {
                return Err(WallError::TooWide { path });
            }
            mounts.add("--ro-bind", [&path, &path]);
            // Addresses of remotes may hold tokens.
            home::clean(&mut mounts, &walls.kept, &path.join("config"))?;
        }
    }
    for path in &walls.visible {
        let path = real(path)?;
        mounts.add("--ro-bind", [&path, &path]);
    }
    for path in &walls.writable {
        let path = real(path)?;
        mounts.add("--bind", [&path, &path]);
    }
    for (file, place) in &walls.instead {
        mounts.add("--bind", [&real(file)?, place]);
    }
    mounts.add("--chdir", [&tree]);
    mounts.0.extend(NAMESPACES.map(OsString::from));
    Ok(mounts.0)
}

/// Returns what a git directory needs besides itself: the repository that it is a working tree of, and objects that
/// others keep for it.
fn behind(git_dir: &Path) -> Vec<PathBuf> {
    /// How far objects are followed from one keeper to the next, as git does.
    const DEEPEST: usize = 5;
    let read = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
    let common = read(git_dir.join("commondir"));
    let common = Some(common.trim()).filter(|path| !path.is_empty()).map(|path| git_dir.join(path));
    let mut objects = vec![common.as_deref().unwrap_or(git_dir).join("objects")];
    let mut all: Vec<PathBuf> = common.into_iter().collect();
    for _ in 0..DEEPEST {
        let others = objects.iter().flat_map(|objects| {
            let text = read(objects.join("info/alternates"));
            let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
            lines.map(|line| objects.join(line)).collect::<Vec<_>>()
        });
        objects = others.filter(|path| path.is_dir()).collect();
        all.extend(objects.iter().cloned());
    }
    all
}

/// Returns a name for a path that needs no directories above it.
pub(super) fn flat(path: &str) -> String {
    path.trim_start_matches(['.', '/']).replace(['/', '.'], "-")
}

pub(super) fn make(path: &Path) -> Result<PathBuf, WallError> {
    fs::create_dir_all(path).map_err(|source| WallError::Path { path: path.to_owned(), source })?;
    real(path)
}

pub(super) fn real(path: &Path) -> Result<PathBuf, WallError> {
    let real = path.canonicalize().map_err(|source| WallError::Path { path: path.to_owned(), source })?;
    let is_root = real.components().all(|part| matches!(part, Component::RootDir));
    if is_root { Err(WallError::TooWide { path: real }) } else { Ok(real) }
}

#[derive(Default)]
pub(super) struct Mounts(Vec<OsString>);

impl Mounts {
    pub(super) fn add<const COUNT: usize>(&mut self, what: &str, paths: [impl AsRef<Path>; COUNT]) {
        self.0.push(what.into());
        self.0.extend(paths.iter().map(|path| path.as_ref().as_os_str().to_owned()));
    }

    /// Covers a file or a directory.
    pub(super) fn hide(&mut self, path: &Path) {
        if path.is_dir() {
            self.add("--tmpfs", [path]);
        } else {
            self.add("--ro-bind", [Path::new("/dev/null"), path]);
        }
    }
}
