//! The walls as arguments of bubblewrap. What comes later lies on top of what came before.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Component, Path, PathBuf},
};

use super::{
    SandboxUser, WallError, Walls, home, root,
    root::Privilege,
    table::{EMPTY, PUT_BACK},
    user::{self, Access},
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

/// Directories of the kernel's, of which a sandbox has its own or none of which a part can be mounted.
pub(super) const KERNEL: [&str; 3] = ["/dev", "/proc", "/sys"];
/// The file among what is kept that stands in the place of a tree's `.git`.
const GIT_FILE: &str = "gitfile";

pub(super) fn arguments(walls: &Walls, who: SandboxUser) -> Result<Vec<OsString>, WallError> {
    let tree = real(&walls.tree)?;
    let mut mounts = Mounts::new(walls);
    mounts.push("--ro-bind", [Path::new("/"), Path::new("/")]);
    mounts.add("--dev", [Path::new("/dev")]);
    mounts.add("--proc", [Path::new("/proc")]);
    for path in EMPTY.iter().map(Path::new).filter(|path| path.is_dir() && !path.is_symlink()) {
        mounts.add_temporary(path);
    }
    mounts.add_temporary(Path::new("/dev/shm"));
    for path in PUT_BACK.iter().map(Path::new).filter(|path| path.exists()) {
        mounts.add("--ro-bind", [path, path]);
    }
    mounts.arguments.extend(root::mounts(walls.rank));
    home::add(&mut mounts, walls, who)?;
    if mounts.has_user() {
        let kept = make(&walls.kept)?;
        user::add_account(&mut mounts, &kept, &walls.home)?;
        user::add_git_settings(&mut mounts, &kept, &private().join("gitconfig"))?;
    }
    for path in walls.hidden.iter().filter(|path| path.exists()) {
        mounts.hide(&real(path)?);
    }
    match &walls.project {
        Some(project) => mounts.add_project(walls, &tree, project)?,
        None => {
            mounts.add_tree(walls, &tree, &tree)?;
            let in_tree = Some(tree.join(".git")).filter(|path| path.exists());
            for path in in_tree.into_iter().chain(walls.git_dir.clone()) {
                let path = real(&path)?;
                mounts.add_git(walls, &tree, &path, &path)?;
            }
        }
    }
    for path in &walls.visible {
        let path = real(path)?;
        mounts.add_lent(&path, &walls.seen_at(&path), Access::Read)?;
    }
    for path in &walls.writable {
        let path = real(path)?;
        mounts.add_given(&path, &path)?;
    }
    for (file, place) in &walls.instead {
        mounts.add_given(&real(file)?, place)?;
    }
    mounts.add("--chdir", [walls.project.as_ref().unwrap_or(&tree)]);
    mounts.arguments.extend(NAMESPACES.map(OsString::from));
    mounts.arguments.extend(root::namespaces(walls.rank).iter().map(OsString::from));
    Ok(mounts.arguments)
}

/// Tells whether only its owner and group may enter a directory.
fn is_closed(directory: &Path) -> bool {
    directory.symlink_metadata().is_ok_and(|data| data.is_dir() && data.mode() & 0o001 == 0)
}

/// A directory of the sandbox's own, for what has no place of its own inside: it is in an empty one.
fn private() -> PathBuf {
    let is_empty = |path: &&Path| path.is_dir() && !path.is_symlink();
    Some(Path::new("/run")).filter(is_empty).unwrap_or(Path::new("/tmp")).join("warp")
}

/// Returns where the git directory is seen of a tree that is mounted over its project.
///
/// `.git` of the tree is a file that says where the git directory is, and a directory cannot be mounted over a file. So a
/// file that names this place is mounted over it: git and its libraries go by such files, as in every submodule.
pub(super) fn git_inside() -> PathBuf {
    private().join("git")
}

/// Returns where a file of the person's checkout is seen, whose own place the run's tree has taken.
pub(super) fn seen_inside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default();
    let above = path.parent().map(|above| flat(&above.to_string_lossy())).unwrap_or_default();
    private().join("seen").join(above).join(name)
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

pub(super) struct Mounts {
    arguments: Vec<OsString>,
    /// How many bytes a temporary directory may hold; zero is no bound.
    temporary: u64,
    rank: Privilege,
    /// What is mounted where, if another user has to find the way to it.
    layers: Vec<(PathBuf, Layer)>,
}

/// What lies at a path inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    /// The system, as it is outside.
    System,
    /// A temporary directory, or one that was made in it.
    Temporary,
    /// Something that is outside too, or a part of the kernel's.
    Mounted,
}

impl Mounts {
    fn new(walls: &Walls) -> Self {
        Self {
            arguments: Vec::new(),
            temporary: walls.bounds.temporary,
            rank: walls.rank,
            layers: vec![("/".into(), Layer::System)],
        }
    }

    /// Tells whether what runs inside has another user's id than warp.
    pub(super) fn has_user(&self) -> bool {
        self.rank == Privilege::RootAsUser
    }

    /// Adds something of the second path's, or of the only one's.
    pub(super) fn add<const COUNT: usize>(&mut self, what: &str, paths: [impl AsRef<Path>; COUNT]) {
        if let Some(place) = paths.last().filter(|_| self.has_user()) {
            self.open_way(place.as_ref());
            self.layers.push((place.as_ref().to_owned(), Layer::Mounted));
        }
        self.push(what, paths);
    }

    fn push<const COUNT: usize>(&mut self, what: &str, paths: [impl AsRef<Path>; COUNT]) {
        self.arguments.push(what.into());
        self.arguments.extend(paths.iter().map(|path| path.as_ref().as_os_str().to_owned()));
    }

    /// Adds a directory that is empty, private and gone afterwards.
    pub(super) fn add_temporary(&mut self, path: &Path) {
        if self.has_user() {
            self.open_way(path);
            self.layers.push((path.to_owned(), Layer::Temporary));
            self.arguments.extend(["--perms", "1777"].map(OsString::from));
        }
        if self.temporary > 0 {
            self.arguments.extend(["--size".into(), self.temporary.to_string().into()]);
        }
        self.push("--tmpfs", [path]);
    }

    /// Adds something that the user inside may write, and owns there.
    pub(super) fn add_given(&mut self, path: &Path, place: &Path) -> Result<(), WallError> {
        if self.has_user() {
            user::give(path)?;
        }
        self.add("--bind", [path, place]);
        Ok(())
    }

    /// Adds the tree that is worked in, or only looked at.
    fn add_tree(&mut self, walls: &Walls, tree: &Path, place: &Path) -> Result<(), WallError> {
        if walls.reads_only { self.add_lent(tree, place, Access::Read) } else { self.add_given(tree, place) }
    }

    /// Adds a directory of the sandbox's own, which warp itself never writes into.
    pub(super) fn add_own(&mut self, path: &Path, place: &Path) -> Result<(), WallError> {
        if self.has_user() {
            user::give_once(path)?;
        }
        self.add("--bind", [path, place]);
        Ok(())
    }

    /// Adds something that stays whose it is.
    pub(super) fn add_lent(&mut self, path: &Path, place: &Path, access: Access) -> Result<(), WallError> {
        if self.has_user() {
            user::lend(path, access)?;
        }
        self.add(if access == Access::Read { "--ro-bind" } else { "--bind" }, [path, place]);
        Ok(())
    }

    /// Sets a variable of the environment.
    pub(super) fn set(&mut self, variable: &str, value: &str) {
        self.arguments.extend(["--setenv", variable, value].map(OsString::from));
    }

    /// Unsets a variable of the environment.
    pub(super) fn unset(&mut self, variable: &str) {
        self.arguments.extend(["--unsetenv", variable].map(OsString::from));
    }

    /// Sees to it that another user can get to a place: directories on the way that are made inside are made so that
    /// they can be written, as they could be by their owner, and those that are closed to others are covered.
    fn open_way(&mut self, place: &Path) {
        let above: Vec<&Path> = place.ancestors().skip(1).collect();
        for directory in above.into_iter().rev() {
            match self.layer(directory) {
                (_, Layer::Mounted) => {}
                (top, Layer::Temporary) if top == directory => {}
                (_, Layer::Temporary) => {
                    self.layers.push((directory.to_owned(), Layer::Temporary));
                    self.arguments.extend(["--perms", "0777"].map(OsString::from));
                    self.push("--dir", [directory]);
                }
                (_, Layer::System) if is_closed(directory) => self.add_temporary(directory),
                (_, Layer::System) => {}
            }
        }
    }

    /// Tells whether a path of the system cannot be reached by the user inside.
    pub(super) fn is_closed(&self, path: &Path) -> bool {
        self.has_user() && path.ancestors().skip(1).any(is_closed)
    }

    /// Returns what lies at a path, and from where on.
    fn layer(&self, path: &Path) -> (&Path, Layer) {
        let found = self.layers.iter().filter(|(top, _)| path.starts_with(top));
        // Of two at the same place, the later one lies on top.
        let found = found.max_by_key(|(top, _)| top.components().count());
        found.map_or((Path::new("/"), Layer::System), |(top, layer)| (top, *layer))
    }

    /// Mounts the tree over the project's own path, with its git directory where the tree's `.git` says.
    fn add_project(&mut self, walls: &Walls, tree: &Path, project: &Path) -> Result<(), WallError> {
        super::check_project(project, &[&walls.home, &walls.kept])?;
        self.add_tree(walls, tree, project)?;
        let Some(git_dir) = &walls.git_dir else { return Ok(()) };
        let inside = git_inside();
        self.add_git(walls, tree, &real(git_dir)?, &inside)?;
        let kept = make(&walls.kept)?;
        let link = kept.join(GIT_FILE);
        let text = format!("gitdir: {}\n", inside.display());
        if !fs::read(&link).is_ok_and(|found| found == text.as_bytes()) {
            home::write(&kept, GIT_FILE, text.as_bytes())
                .map_err(|source| WallError::Path { path: link.clone(), source })?;
        }
        if self.has_user() {
            user::give(&link)?;
        }
        let in_tree = tree.join(".git");
        match in_tree.symlink_metadata() {
            // Somebody's own repository: it is no longer theirs to write, and it is not the run's.
            Ok(data) if data.is_dir() => self.add("--ro-bind", [&in_tree, &project.join(".git")]),
            _ => self.add("--ro-bind", [&link, &project.join(".git")]),
        }
        Ok(())
    }

    /// Shows a git directory, and what it needs besides, to be read.
    fn add_git(
        &mut self,
        walls: &Walls,
        tree: &Path,
        git_dir: &Path,
        inside: &Path,
    ) -> Result<(), WallError> {
        let behind = behind(git_dir).into_iter().map(|path| Ok((real(&path)?, real(&path)?)));
        for pair in behind.chain([Ok((git_dir.to_owned(), inside.to_owned()))]) {
            let (path, inside): (PathBuf, PathBuf) = pair?;
            if tree.starts_with(&path) {
                return Err(WallError::TooWide { path });
            }
            // Objects that are kept in the checkout itself cannot be shown there.
            if walls.project.as_ref().is_some_and(|project| inside.starts_with(project)) {
                continue;
            }
            self.add("--ro-bind", [&path, &inside]);
            // Addresses of remotes may hold tokens.
            home::clean(self, &walls.kept, &path.join("config"), &inside.join("config"))?;
        }
        Ok(())
    }

    /// Covers a file or a directory.
    pub(super) fn hide(&mut self, path: &Path) {
        if path.is_dir() {
            self.add_temporary(path);
        } else {
            self.add("--ro-bind", [Path::new("/dev/null"), path]);
        }
    }
}
