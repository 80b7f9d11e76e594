//! The user that agents and tests run as where warp itself runs as root.
//!
//! Root without capabilities still owns the machine's files. So bubblewrap makes the mounts as root, and the first program
//! inside becomes a user that owns nothing but what it is given: the tree, the caches, and the files that an agent needs.
//! Anything that runs inside may replace files of these while they are given: directories are opened one by one, and no
//! link is followed.

use std::{
    env,
    ffi::{CStr, CString, OsString},
    fs, io,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::fs::MetadataExt as _,
    },
    path::Path,
};

use rustix::{
    fs::{AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, Stat, Uid, chmodat, chownat, openat, statat},
    io::Errno,
};

use super::{WallError, home, mounts::Mounts};
use crate::{machine, process};

/// The user's id and group: one that neither distributions nor systemd hand out.
const ID: u32 = 60606;
const ROOT: u32 = 0;
const NAME: &str = "warp";
/// The program that changes the id, of util-linux.
const PROGRAM: &str = "setpriv";
/// How deep directories may be nested; each level holds a file open.
const DEEPEST: usize = 500;
/// The permissions that files need which warp makes, for another user to read them.
const READABLE: u32 = 0o055;

/// What the system's own settings are inside.
const GIT_SETTINGS: &str = "[safe]\n\tdirectory = *\n";
const SYSTEMS: &str = "[include]\n\tpath = /etc/gitconfig\n";
/// The variable by which git reads no settings of the system.
const NO_SYSTEM: &str = "GIT_CONFIG_NOSYSTEM";

/// How a file of somebody else's is used inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// Tells whether the id can be changed here, and will be able to read what warp makes.
pub(super) fn is_available() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let umask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    let umask = umask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok());
    process::installed(PROGRAM).is_some() && umask.is_some_and(|mask| mask & READABLE == 0)
}

/// Tells whether a file is warp's: its user's own, or, where that is root, the user's inside the sandbox.
pub fn is_ours(data: &fs::Metadata) -> bool {
    let user = machine::user();
    data.uid() == user || (user == 0 && data.uid() == ID)
}

/// Returns the command that becomes this user, and then what follows it.
pub(super) fn switch() -> Vec<OsString> {
    let id = ID.to_string();
    let words =
        [PROGRAM, "--reuid", &id, "--regid", &id, "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"];
    words.map(OsString::from).into()
}

/// Adds the user to the accounts inside, because programs ask for their user's name and home.
pub(super) fn add_account(mounts: &mut Mounts, kept: &Path, home: &Path) -> Result<(), WallError> {
    let user = format!("{NAME}:x:{ID}:{ID}::{}:/bin/sh\n", home.display());
    for (file, line) in [("passwd", user), ("group", format!("{NAME}:x:{ID}:\n"))] {
        let path = Path::new("/etc").join(file);
        let Ok(known) = fs::read_to_string(&path) else { continue };
        let failed = |source| WallError::Path { path: path.clone(), source };
        let copy = home::write(kept, file, format!("{known}{line}").as_bytes()).map_err(failed)?;
        lend(&copy, Access::Read)?;
        mounts.add("--ro-bind", [&copy, &path]);
    }
    for variable in ["USER", "LOGNAME"] {
        mounts.set(variable, NAME);
    }
    Ok(())
}

/// Adds git settings by which git works in a repository that is somebody else's: the run's stays warp's own. They are the
/// system's, because older versions of git take this from no variable and no command line.
pub(super) fn add_git_settings(mounts: &mut Mounts, kept: &Path, place: &Path) -> Result<(), WallError> {
    let failed = |source| WallError::Path { path: place.to_owned(), source };
    let systems = if env::var_os(NO_SYSTEM).is_some() { "" } else { SYSTEMS };
    let text = format!("{systems}{GIT_SETTINGS}");
    let copy = home::write(kept, "gitconfig", text.as_bytes()).map_err(failed)?;
    mounts.add_lent(&copy, place, Access::Read)?;
    mounts.unset(NO_SYSTEM);
    mounts.set("GIT_CONFIG_SYSTEM", &place.to_string_lossy());
    Ok(())
}

/// Gives the user a file, or a directory with all that is in it.
pub(super) fn give(path: &Path) -> Result<(), WallError> {
    let each = |directory: BorrowedFd<'_>, name: &CStr, data: &Stat| {
        if data.st_uid == ID && data.st_gid == ID { Ok(()) } else { set_owner(directory, name, ID) }
    };
    walk(path, &each).map_err(|source| WallError::Path { path: path.to_owned(), source })
}

/// Takes a directory back that was given, with all that was made in it: a person's git works in no tree of another user's.
pub(super) fn take_back(path: &Path) -> Result<(), WallError> {
    let each = |directory: BorrowedFd<'_>, name: &CStr, data: &Stat| {
        if data.st_uid == ID { set_owner(directory, name, ROOT) } else { Ok(()) }
    };
    walk(path, &each).map_err(|source| WallError::Path { path: path.to_owned(), source })
}

/// Gives the user a directory that warp itself never writes into: once it is given, all in it is the user's.
pub(super) fn give_once(path: &Path) -> Result<(), WallError> {
    let is_given = path.symlink_metadata().is_ok_and(|data| data.uid() == ID);
    if is_given { Ok(()) } else { give(path) }
}

/// Lets the user read or write something that stays somebody else's, as a member of its group. What everybody may do
/// anyway is left as it is.
pub(super) fn lend(path: &Path, access: Access) -> Result<(), WallError> {
    let each = |directory: BorrowedFd<'_>, name: &CStr, data: &Stat| {
        let wanted = wanted(data, access);
        if data.st_uid == ID || (data.st_mode & wanted) == wanted {
            return Ok(());
        }
        // A link's own permissions mean nothing.
        if FileType::from_raw_mode(data.st_mode) == FileType::Symlink {
            return Ok(());
        }
        chownat(directory, name, None, Some(Gid::from_raw(ID)), AtFlags::SYMLINK_NOFOLLOW)?;
        let mode = data.st_mode & 0o7777 | wanted << 3;
        chmodat(directory, name, Mode::from_raw_mode(mode), AtFlags::empty())
    };
    walk(path, &each).map_err(|source| WallError::Path { path: path.to_owned(), source })
}

/// Returns the permissions of others that would be enough.
fn wanted(data: &Stat, access: Access) -> u32 {
    let owner = data.st_mode >> 6;
    let file_type = FileType::from_raw_mode(data.st_mode);
    if file_type == FileType::Directory {
        0o5
    } else if file_type == FileType::Socket {
        // To connect is to write.
        0o6
    } else if access == Access::Write {
        owner & 0o7
    } else {
        owner & 0o5
    }
}

fn set_owner(directory: BorrowedFd<'_>, name: &CStr, id: u32) -> rustix::io::Result<()> {
    let (user, group) = (Some(Uid::from_raw(id)), Some(Gid::from_raw(id)));
    chownat(directory, name, user, group, AtFlags::SYMLINK_NOFOLLOW)
}

/// What is done with a file: the directory that it is in, its name there, and what it is.
type Act<'a> = &'a dyn Fn(BorrowedFd<'_>, &CStr, &Stat) -> rustix::io::Result<()>;

/// Does something with a file or with all that is in a directory, the directory itself last.
fn walk(path: &Path, act: Act<'_>) -> io::Result<()> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let name = CString::new(name.as_encoded_bytes())?;
    let directory = openat(CWD, above, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    Ok(visit(directory.as_fd(), &name, 0, act)?)
}

fn visit(above: BorrowedFd<'_>, name: &CStr, depth: usize, act: Act<'_>) -> rustix::io::Result<()> {
    let data = match statat(above, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(()),
        data => data?,
    };
    if FileType::from_raw_mode(data.st_mode) == FileType::Directory {
        if depth == DEEPEST {
            return Err(Errno::NAMETOOLONG);
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = match openat(above, name, flags, Mode::empty()) {
            // Something else has taken its place since.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            directory => directory?,
        };
        for entry in Dir::read_from(&directory)? {
            let entry = entry?;
            if ![c".", c".."].contains(&entry.file_name()) {
                visit(directory.as_fd(), entry.file_name(), depth + 1, act)?;
            }
        }
    }
    match act(above, name, &data) {
        Err(Errno::NOENT) => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn owner(path: &Path) -> u32 {
        path.symlink_metadata().unwrap().uid()
    }

    fn group_mode(path: &Path) -> (u32, u32) {
        let data = path.symlink_metadata().unwrap();
        (data.gid(), data.mode() & 0o777)
    }

    /// Returns a directory if this test runs as root, who alone can give files away.
    fn as_root() -> Option<tempfile::TempDir> {
        rustix::process::geteuid().is_root().then(|| tempfile::tempdir().unwrap())
    }

    #[test]
    fn a_tree_is_given_whole_and_nothing_behind_a_link() {
        let Some(base) = as_root() else { return };
        let (tree, outside) = (base.path().join("tree"), base.path().join("outside"));
        fs::create_dir_all(tree.join("a/b")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(tree.join("a/b/c"), "").unwrap();
        fs::write(outside.join("file"), "").unwrap();
        std::os::unix::fs::symlink(&outside, tree.join("a/link")).unwrap();
        std::os::unix::fs::symlink(outside.join("file"), tree.join("file")).unwrap();
        give(&tree).unwrap();
        for path in ["", "a", "a/b", "a/b/c", "a/link", "file"] {
            assert_eq!(owner(&tree.join(path)), ID, "{path}");
        }
        for path in ["", "file"] {
            assert_eq!(owner(&outside.join(path)), 0, "{path}");
        }
        fs::write(tree.join("new"), "").unwrap();
        give_once(&tree).unwrap();
        assert_eq!(owner(&tree.join("new")), 0, "it was given before");
        take_back(&tree).unwrap();
        for path in ["", "a", "a/b", "a/b/c", "a/link", "file", "new"] {
            assert_eq!(owner(&tree.join(path)), 0, "{path}");
        }
    }

    #[test]
    fn a_file_is_lent_to_the_group_and_its_owner_stays() {
        let Some(base) = as_root() else { return };
        for (mode, access, wanted) in [
            (0o600, Access::Read, (ID, 0o640)),
            (0o600, Access::Write, (ID, 0o660)),
            (0o700, Access::Read, (ID, 0o750)),
            (0o644, Access::Read, (0, 0o644)),
            (0o644, Access::Write, (ID, 0o664)),
        ] {
            let path = base.path().join("file");
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            lend(&path, access).unwrap();
            assert_eq!(group_mode(&path), wanted, "{mode:o} {access:?}");
            assert_eq!(owner(&path), 0);
            fs::remove_file(path).unwrap();
        }
    }
}
