//! Protected files are compared before and after every tool call: what a call has changed is put back.
//!
//! The gate refuses what it can read. A program can still write a file that no agent may, so before a call that may change
//! something its state is noted, outside of the project; after it, whatever differs is moved aside and made what it was. A
//! change between two calls, or between two turns, is the person's.
//!
//! Of calls that run at the same time the first one's note counts until the last has ended.

mod file;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use adapters::{
    git::{settings, vault::key},
    machine,
};
use engine::{Breach, Event};
use project::{AskError, Dirs, Error, Place, Workspace};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use file::State;

/// Where notes are, in the state directory.
const NOTES: &str = "watched";
/// Where changed files are moved, beside the journal; `warp salvage list` shows what is there.
const SET_ASIDE: &str = "set-aside";
/// How long a call counts as running whose end nobody has told, in milliseconds.
const LONGEST_CALL: i64 = 60 * 60 * 1000;

/// The files that show a run; warp writes them itself while a call runs.
const STATE_FILES: [&str; 2] = [".claude/.warp-drive-state.json", ".claude/autonomous-loop.json"];
/// Files of a workspace, relative to its root.
const IN_WORKSPACE: [&str; 4] =
    [".claude/settings.json", ".claude/settings.local.json", ".codex/hooks.json", ".codex/config.toml"];
/// Directories of a workspace whose files are all watched.
const WHOLE: [&str; 1] = [".warp/workflows"];
/// Settings of git's that a call may change: they name no program and no other file.
const HARMLESS: [&str; 7] =
    ["branch.", "user.", "advice.", "color.", "submodule.active", "gc.", "maintenance."];
/// The file into which Claude Code writes what a person permits while a call waits.
const PERMISSIONS: &str = ".claude/settings.local.json";

/// Why protected files could not be checked.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error("failed to read or write `{}`", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}` was changed by a tool call and could not be put back", path.display())]
    NotPutBack {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Project(#[from] Error),
    #[error("what was put back could not be recorded")]
    Record(#[source] AskError),
}

/// What is known of the protected files while calls run.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Note {
    /// The calls that run, and when they began.
    calls: Vec<(String, i64)>,
    /// Whether a person was asked to permit one of them.
    asked: bool,
    files: Vec<(PathBuf, State)>,
    directories: Vec<PathBuf>,
    /// The files that show the run.
    shown: Vec<(PathBuf, State)>,
}

/// Records the state of the protected files before a call.
pub fn before(place: &Place, dirs: &Dirs, call: &str) -> Result<(), WatchError> {
    let path = note_file(dirs, &place.root);
    let now = machine::now().millis();
    let mut note = load(&path).unwrap_or_default();
    note.calls.retain(|(_, began)| (now - began).abs() < LONGEST_CALL);
    if note.calls.is_empty() {
        let directories = directories(place, dirs);
        let files = taken(&watched(place, &directories));
        let shown = taken(&STATE_FILES.map(|name| place.root.join(name)));
        note = Note { files, directories, shown, ..Note::default() };
    }
    note.calls.push((call.to_owned(), now));
    store(&path, &note)
}

/// Records that a person is asked to permit a call, which may change the client's settings.
pub fn asked(place: &Place, dirs: &Dirs) -> Result<(), WatchError> {
    let path = note_file(dirs, &place.root);
    let Some(mut note) = load(&path) else { return Ok(()) };
    note.asked = true;
    store(&path, &note)
}

/// Discards the record at the end of a turn.
pub fn forget(place: &Place, dirs: &Dirs) -> Result<(), WatchError> {
    let path = note_file(dirs, &place.root);
    match fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(WatchError::File { path, source }),
        _ => Ok(()),
    }
}

/// Compares after a call, restores what changed, and reports it.
pub fn after(place: &Place, dirs: &Dirs, call: &str) -> Result<Option<String>, WatchError> {
    let path = note_file(dirs, &place.root);
    let Some(mut note) = load(&path) else { return Ok(None) };
    let open = || Workspace::open(place.clone(), dirs.clone());
    if note.shown.iter().any(|(path, before)| State::read(path) != *before) {
        // A state file that warp did not write is set aside and recorded by whoever looks at it.
        open()?.refresh()?;
    }
    let changed = changed(&note);
    let mut told = Vec::new();
    let mut kept = Vec::new();
    if !changed.is_empty() {
        let id = place.ensure_project_id().map_err(Error::from)?;
        let aside = dirs.project(&id).join(SET_ASIDE);
        for (path, before) in &changed {
            let put_back = file::put_back(path, before, &aside);
            kept.extend(put_back.map_err(|source| WatchError::NotPutBack { path: path.clone(), source })?);
            told.push(format!("`{}`", path.strip_prefix(&place.root).unwrap_or(path).display()));
        }
    }
    note.calls.retain(|(name, _)| name != call);
    // What is left is in order: a later call of these is compared with it.
    note.files = taken(&watched(place, &note.directories));
    note.shown = taken(&STATE_FILES.map(|name| place.root.join(name)));
    store(&path, &note)?;
    if told.is_empty() {
        return Ok(None);
    }
    let what = format!("{} was changed by a tool call, which no agent may; it was put back", told.join(", "));
    let kept = kept.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ");
    let kept = (!kept.is_empty()).then_some(kept);
    let event = Event::RailBroken { what: what.clone(), kept: kept.clone(), breach: Breach::Undone };
    match open()?.ask(event, Map::new()) {
        Ok(_) | Err(AskError::NoRun) => {}
        Err(error) => return Err(WatchError::Record(error)),
    }
    let kept = kept.map(|kept| format!(". What was written is kept as {kept}")).unwrap_or_default();
    Ok(Some(format!("{what}{kept}")))
}

/// Returns the directories of which every file counts.
fn directories(place: &Place, dirs: &Dirs) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = WHOLE.iter().map(|name| place.root.join(name)).collect();
    all.extend(place.location().map(|location| location.common_dir.join("hooks")));
    if place.git_dir().is_none() {
        all.push(dirs.config.clone());
    }
    all
}

/// Returns every path that counts: a directory before what is in it.
fn watched(place: &Place, directories: &[PathBuf]) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = [".claude", ".codex", ".warp"].map(|name| place.root.join(name)).into();
    all.extend(IN_WORKSPACE.iter().map(|name| place.root.join(name)));
    if let Some(location) = place.location() {
        all.push(location.common_dir.join("config"));
        all.push(location.common_dir.join("info/attributes"));
        all.push(location.git_dir.join("config.worktree"));
    }
    // A workspace that was made for runs is driven: a person may change their own settings meanwhile.
    if let Some(home) = std::env::home_dir().filter(|_| place.git_dir().is_none()) {
        all.extend(IN_WORKSPACE.iter().map(|name| home.join(name)));
    }
    for directory in directories {
        all.push(directory.clone());
        all.extend(names(directory));
    }
    all
}

fn names(directory: &Path) -> Vec<PathBuf> {
    let is_real = directory.symlink_metadata().is_ok_and(|data| data.is_dir());
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().filter(|_| is_real);
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension() != Some("sample".as_ref()))
        .collect();
    paths.sort();
    paths
}

fn taken(paths: &[PathBuf]) -> Vec<(PathBuf, State)> {
    paths.iter().map(|path| (path.clone(), State::read(path))).collect()
}

/// Returns what differs from the note and may not, with what it was.
fn changed(note: &Note) -> Vec<(PathBuf, State)> {
    let mut changed: Vec<(PathBuf, State)> = Vec::new();
    for (path, before) in &note.files {
        let now = State::read(path);
        if now != *before && !is_in_order(note, path, before, &now) {
            changed.push((path.clone(), before.clone()));
        }
    }
    let is_known = |path: &PathBuf| note.files.iter().any(|(known, _)| known == path);
    let made = note.directories.iter().flat_map(|directory| names(directory));
    changed.extend(made.filter(|path| !is_known(path)).map(|path| (path, State::Missing)));
    changed
}

fn is_in_order(note: &Note, path: &Path, before: &State, now: &State) -> bool {
    match (before, now) {
        // What counts in a directory are its files; they are looked at by themselves.
        (State::Missing | State::Directory, State::Missing | State::Directory) => true,
        (State::File { bytes: before, .. }, State::File { bytes: now, .. }) => {
            if path.ends_with(PERMISSIONS) && note.asked {
                return only_permissions(before, now);
            }
            let is_git = path.file_name().is_some_and(|name| name == "config" || name == "config.worktree");
            is_git && path.with_file_name("objects").exists() && only_harmless_settings(before, now)
        }
        (State::Missing, State::File { bytes, .. }) if path.ends_with(PERMISSIONS) && note.asked => {
            only_permissions(b"{}", bytes)
        }
        _ => false,
    }
}

/// Tells whether two files of git's settings differ in nothing that names a program or another file.
fn only_harmless_settings(before: &[u8], now: &[u8]) -> bool {
    let (Some(before), Some(now)) = (settings::listed(before), settings::listed(now)) else { return false };
    before.symmetric_difference(&now).all(|setting| HARMLESS.iter().any(|start| setting.starts_with(start)))
}

/// Tells whether two files of a client's settings differ in nothing but permissions.
fn only_permissions(before: &[u8], now: &[u8]) -> bool {
    let rest = |bytes: &[u8]| -> Option<Value> {
        let mut value: Value = serde_json::from_slice(bytes).ok()?;
        value.as_object_mut()?.remove("permissions");
        Some(value)
    };
    rest(before).is_some_and(|before| Some(before) == rest(now))
}

fn note_file(dirs: &Dirs, root: &Path) -> PathBuf {
    dirs.state.join(NOTES).join(key(root))
}

fn load(path: &Path) -> Option<Note> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn store(path: &Path, note: &Note) -> Result<(), WatchError> {
    let failed = |source| WatchError::File { path: path.to_owned(), source };
    let directory = path.parent().unwrap_or(path);
    fs::create_dir_all(directory).map_err(failed)?;
    let text = serde_json::to_vec(note).map_err(|error| failed(error.into()))?;
    let draft = tempfile::NamedTempFile::new_in(directory).map_err(failed)?;
    fs::write(draft.path(), text).map_err(failed)?;
    draft.persist(path).map_err(|error| failed(error.error)).map(drop)
}
