//! What earlier versions made in the directory for temporary files, under names that do not tell whose it is.

use std::{
    fs, io,
    os::unix::{fs::FileTypeExt as _, net::UnixStream},
    path::{Path, PathBuf},
    time::Duration,
};

use super::PREFIX;

/// The name of the socket for hooks, which was alone in its directory.
const SOCKET: &str = "hooks";
/// Files of one turn: how their names began, and how they ended.
const OF_A_TURN: [(&str, &str); 2] = [("warp-answer-", ".json"), ("warp-opencode-", "")];
/// No turn lasts so long.
const OLD: Duration = Duration::from_secs(24 * 60 * 60);
/// How many random characters a name had.
const RANDOM: usize = 6;

/// Removes those among `paths` that nothing uses any more.
pub(super) fn remove(paths: impl Iterator<Item = PathBuf>) {
    for path in paths {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // What cannot be removed is left to the next.
        if OF_A_TURN.iter().any(|(start, end)| is_random(name, start, end)) {
            if is_old(&path) {
                let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            }
        } else if is_random(name, PREFIX, "") && holds_a_dead_socket(&path) {
            let _ = fs::remove_file(path.join(SOCKET)).and_then(|()| fs::remove_dir(&path));
        }
    }
}

/// Tells whether a name has a few random characters between its start and its end.
fn is_random(name: &str, start: &str, end: &str) -> bool {
    let random = name.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
    random.is_some_and(|random| random.len() == RANDOM && random.chars().all(|c| c.is_ascii_alphanumeric()))
}

fn is_old(path: &Path) -> bool {
    let changed = path.symlink_metadata().and_then(|data| data.modified()).ok();
    changed.and_then(|changed| changed.elapsed().ok()).is_some_and(|age| age > OLD)
}

/// Tells whether all that is in a directory is a socket for hooks to which nobody listens.
fn holds_a_dead_socket(directory: &Path) -> bool {
    let Ok(entries) = fs::read_dir(directory) else { return false };
    let is_alone = entries.flatten().all(|entry| entry.file_name() == SOCKET);
    let socket = directory.join(SOCKET);
    is_alone
        && socket.symlink_metadata().is_ok_and(|data| data.file_type().is_socket())
        && UnixStream::connect(&socket).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests {
    use std::{fs::File, os::unix::net::UnixListener, time::SystemTime};

    use super::*;

    #[test]
    fn only_what_nothing_uses_is_removed() {
        let base = tempfile::tempdir().unwrap();
        let path = |name: &str| base.path().join(name);
        let mut listeners = Vec::new();
        for (name, listens) in [("warp-dead01", false), ("warp-live01", true), ("warp-more01", false)] {
            fs::create_dir(path(name)).unwrap();
            let listener = UnixListener::bind(path(name).join(SOCKET)).unwrap();
            listeners.extend(Some(listener).filter(|_| listens));
        }
        fs::write(path("warp-more01").join("notes"), "mine").unwrap();
        for name in ["warp-notes1", "warp-opencode-old001", "warp-demo-abc123"] {
            fs::create_dir(path(name)).unwrap();
        }
        for name in ["warp-answer-old001.json", "warp-answer-new001.json", "warp-answer-mine.json"] {
            fs::write(path(name), "{}").unwrap();
        }
        for name in
            ["warp-opencode-old001", "warp-answer-old001.json", "warp-answer-mine.json", "warp-notes1"]
        {
            File::open(path(name)).unwrap().set_modified(SystemTime::now() - 2 * OLD).unwrap();
        }
        let names = || {
            let entries = fs::read_dir(base.path()).unwrap().flatten();
            let mut names: Vec<String> =
                entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        let before = names();
        remove(before.iter().map(|name| path(name)));
        let removed: Vec<String> = before.into_iter().filter(|name| !names().contains(name)).collect();
        assert_eq!(removed, ["warp-answer-old001.json", "warp-dead01", "warp-opencode-old001"]);
    }
}
