//! The home behind walls: empty, but for what the table names, what lies in `PATH`, and what the person wants shown.
//!
//! Everything is shown where it really is; a way to it that goes through links is made of a link. So whatever is hidden
//! is hidden once, where it is.

use std::{
    borrow::Cow,
    collections::{BTreeSet, VecDeque},
    env,
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use super::{
    SandboxUser, WallError, Walls,
    mounts::{Mounts, flat, make},
    table::{
        CLIENTS, COPIED, COPIED_FOR, Client, EMPTY, GIT_CONFIG, HOME, MOVED, NEVER_WHOLE, PLACES, Row,
        VIRTUAL_ENV, Visibility,
    },
    tools,
    user::Access,
};
use crate::secrets;

/// The largest file of settings that is shown, in bytes.
const LARGEST: u64 = 1024 * 1024;

/// The longest text, in bytes, of which it is remembered that no secret is in it, and how many of them are.
const REMEMBERED: usize = 64 * 1024;
const MOST_REMEMBERED: usize = 8;

/// Adds the home. What is written to it is gone afterwards.
pub(super) fn add(mounts: &mut Mounts, walls: &Walls, who: SandboxUser) -> Result<(), WallError> {
    let Ok(path) = walls.home.canonicalize() else { return Ok(()) };
    if path == Path::new("/") {
        return Err(WallError::TooWide { path });
    }
    mounts.add_temporary(&path);
    let kept = make(&walls.kept)?;
    let names = names(&path);
    let project = walls.project.clone();
    let mut home = Home { mounts, path, project, names, kept, moved: moved(), shown: Vec::new() };
    let mut places = home.wanted(&walls.shown)?;
    places.extend(home.named(Visibility::Read));
    places.extend(home.found(&walls.home, &walls.tools));
    // Below the project's own path there is the run's tree, whatever the person has there.
    places.retain(|place| !home.is_in_project(place));
    // What lies deeper comes later, so that no link is to be made where there is a directory already.
    places.sort_by_cached_key(|place| place.components().count());
    for place in places {
        home.read(&place);
    }
    for name in &walls.also_known_as {
        if let Some(project) = walls.project.as_deref().filter(|project| *project != name) {
            home.link(name, project);
        }
    }
    let git = env::var_os(GIT_CONFIG).map(PathBuf::from).filter(|path| path.is_absolute());
    for place in home.named(Visibility::Cleaned).into_iter().chain(git) {
        home.clean(&place)?;
    }
    for place in home.named(Visibility::Hidden) {
        home.hide(&place);
    }
    for row in HOME.iter().filter(|row| row.shown == Visibility::Kept) {
        home.keep(row)?;
    }
    if who == SandboxUser::Agent {
        let is_seen = |name: &str| walls.logins.iter().any(|login| login == name);
        for client in CLIENTS.iter().filter(|client| is_seen(client.name)) {
            home.show_client(client)?;
        }
        if is_seen(COPIED_FOR) {
            home.copy()?;
        }
    }
    Ok(())
}

struct Home<'a> {
    mounts: &'a mut Mounts,
    path: PathBuf,
    /// The project's own path, if the run's tree is mounted there.
    project: Option<PathBuf>,
    /// What lies in it, if that can be read.
    names: Option<BTreeSet<OsString>>,
    kept: PathBuf,
    /// Directories of the home that the person has elsewhere, and where.
    moved: Vec<(&'static str, PathBuf)>,
    /// What can be seen by now, below the home or elsewhere.
    shown: Vec<PathBuf>,
}

impl Home<'_> {
    /// Returns what the person wants shown besides; the home itself is not to be had.
    fn wanted(&self, shown: &[PathBuf]) -> Result<Vec<PathBuf>, WallError> {
        let place = |path: &PathBuf| {
            let place = self.path.join(path);
            let is_below = place.canonicalize().map_or(true, |real| !self.path.starts_with(real));
            if is_below { Ok(place) } else { Err(WallError::TooWide { path: place }) }
        };
        shown.iter().map(place).collect()
    }

    /// Returns the places of the rows of a kind, those included to which the person has moved a directory, but for most
    /// that are not there.
    fn named(&self, shown: Visibility) -> Vec<PathBuf> {
        let rows = HOME.iter().filter(|row| row.shown == shown);
        let here = |row: &Row| self.may_have(row.path).then(|| self.path.join(row.path));
        rows.flat_map(|row| here(row).into_iter().chain(moved_to(&self.moved, row.path))).collect()
    }

    /// Tells whether the home has anything of the name with which a path begins.
    fn may_have(&self, path: &str) -> bool {
        let first = path.split('/').next().unwrap_or_default();
        self.names.as_ref().is_none_or(|names| names.contains(OsStr::new(first)))
    }

    fn places(&self, row: &Row) -> Vec<PathBuf> {
        std::iter::once(self.path.join(row.path)).chain(moved_to(&self.moved, row.path)).collect()
    }

    /// Returns directories of programs that are in use, with what belongs to them, and what else the environment names:
    /// in the home, and in directories of the system that are empty inside.
    fn found(&self, spelled: &Path, programs: &[PathBuf]) -> Vec<PathBuf> {
        let mut all = Vec::new();
        for entry in env::split_paths(&env::var_os("PATH").unwrap_or_default()) {
            // The home may be spelled in another way than it is.
            let entry = entry.strip_prefix(spelled).map_or(entry.clone(), |rest| self.path.join(rest));
            let Ok(real) = entry.canonicalize() else { continue };
            for directory in [entry, real] {
                all.extend(self.toolchain_around(&directory));
                all.extend(tools::around(&directory, &self.path));
                all.push(directory);
            }
        }
        all.extend(PLACES.iter().filter_map(env::var_os).map(PathBuf::from));
        let environment = env::var_os(VIRTUAL_ENV).map(PathBuf::from);
        all.extend(environment.into_iter().flat_map(|root| tools::environment(&root, &self.path)));
        // An ACP agent starts this one.
        let client = env::var_os("CLAUDE_CODE_EXECUTABLE").map(PathBuf::from);
        let programs = programs.iter().chain(&client);
        all.extend(programs.flat_map(|program| tools::needs(program, &self.path)));
        all.retain(|path| self.is_emptied(path) && !self.is_too_wide(path));
        all
    }

    /// Returns the toolchain that a directory belongs to, if it is in another user's home: there the table tells nothing.
    fn toolchain_around(&self, directory: &Path) -> Option<PathBuf> {
        let is_toolchain = |path: &&Path| {
            let rows = HOME.iter().filter(|row| row.shown == Visibility::Read);
            path.file_name()
                .is_some_and(|name| rows.into_iter().any(|row| Path::new(row.path) == Path::new(name)))
        };
        let is_elsewhere = self.mounts.is_closed(directory) && !directory.starts_with(&self.path);
        directory.ancestors().filter(|_| is_elsewhere).find(is_toolchain).map(Path::to_owned)
    }

    /// Tells whether a path is below a directory of which only what is shown is there.
    fn is_emptied(&self, path: &Path) -> bool {
        path.starts_with(&self.path)
            || EMPTY.iter().any(|empty| path.starts_with(empty))
            || self.mounts.is_closed(path)
    }

    fn is_in_project(&self, path: &Path) -> bool {
        let project = self.project.as_ref();
        project.is_some_and(|project| path.starts_with(project))
    }

    /// Tells whether a directory holds far more than programs.
    fn is_too_wide(&self, path: &Path) -> bool {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        self.path.starts_with(&real)
            || NEVER_WHOLE.iter().any(|wide| real == self.path.join(wide))
            || EMPTY.iter().any(|empty| Path::new(empty).starts_with(&real))
    }

    fn is_shown(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.shown.iter().any(|shown| shown == above))
    }

    /// Shows a file or a directory, if it is there.
    fn read(&mut self, path: &Path) {
        let Some(real) = real(path) else { return };
        if self.path.starts_with(&real) || self.is_in_project(&real) {
            return;
        }
        if !self.is_shown(&real) {
            // It may be gone by then.
            self.mounts.add("--ro-bind-try", [&real, &real]);
            self.shown.push(real.clone());
        }
        self.link(path, &real);
    }

    /// Makes a way to what is shown, if it was asked for by another name than it has.
    fn link(&mut self, path: &Path, real: &Path) {
        if path != real && self.is_emptied(path) && !self.is_shown(path) {
            self.mounts.add("--symlink", [real, path]);
            self.shown.push(path.to_owned());
        }
    }

    /// Shows a file of settings without the secrets in it.
    fn clean(&mut self, path: &Path) -> Result<(), WallError> {
        let Some(real) = real(path).filter(|real| real.is_file()) else { return Ok(()) };
        self.read(path);
        clean(self.mounts, &self.kept, &real, &real)
    }

    /// Sees to it that something is not there.
    fn hide(&mut self, path: &Path) {
        let Some(real) = real(path) else { return };
        let is_seen = !real.starts_with(&self.path)
            || self.is_shown(&real)
            || self.shown.iter().any(|shown| shown.starts_with(&real));
        if is_seen && !self.path.starts_with(&real) {
            self.mounts.hide(&real);
        }
    }

    /// Puts a directory of the walls' own in the place of one of the person's.
    fn keep(&mut self, row: &Row) -> Result<(), WallError> {
        let own = self.own(&[&flat(row.path)])?;
        for place in self.places(row) {
            let is_new = place.starts_with(&self.path) && !self.is_shown(&place);
            let place = if is_new { Some(place) } else { real(&place).filter(|real| real.is_dir()) };
            // Where there is no place to put it, nobody misses it.
            if let Some(place) = place {
                self.mounts.add_own(&own, &place)?;
            }
        }
        Ok(())
    }

    /// Returns a directory of the walls' own, which is made the first time.
    fn own(&self, names: &[&str]) -> Result<PathBuf, WallError> {
        let mut path = self.kept.clone();
        let is_there = names.iter().all(|name| {
            path.push(name);
            path.symlink_metadata().is_ok_and(|data| data.is_dir())
        });
        // Without a link on the way it is where it is named.
        if is_there {
            Ok(path)
        } else {
            make(&names.iter().fold(self.kept.clone(), |path, name| path.join(name)))
        }
    }

    /// Shows an agent its client's directory: a new one, with the parts in it that it needs.
    fn show_client(&mut self, client: &Client) -> Result<(), WallError> {
        let directory = self.path.join(client.directory);
        if self.is_shown(&directory) && !directory.is_dir() {
            return Ok(());
        }
        let parts = [(client.shown, Access::Read), (client.written, Access::Write)];
        for (name, access) in
            parts.into_iter().flat_map(|(names, access)| names.iter().map(move |name| (name, access)))
        {
            let path = directory.join(name);
            if let Some(real) = real(&path) {
                self.mounts.add_lent(&real, &path, access)?;
            }
        }
        for name in client.kept {
            let own = self.own(&[&flat(client.directory), name])?;
            self.mounts.add_own(&own, &directory.join(name))?;
        }
        Ok(())
    }

    /// Gives an agent a copy of a file that its client rewrites. Each copy is a new file, so that an agent which still
    /// runs keeps its own.
    fn copy(&mut self) -> Result<(), WallError> {
        let path = self.path.join(COPIED);
        if !path.is_file() {
            return Ok(());
        }
        let failed = |source| WallError::Path { path: path.clone(), source };
        let text = fs::read(&path).map_err(failed)?;
        let copy = write(&self.kept, &flat(COPIED), &text).map_err(failed)?;
        self.mounts.add_given(&copy, &path)
    }
}

/// Puts a copy without secrets over a file that is shown at `inside`, if there are any in it. One that is too large to be
/// read is not there at all.
pub(super) fn clean(mounts: &mut Mounts, kept: &Path, path: &Path, inside: &Path) -> Result<(), WallError> {
    let Some(data) = path.metadata().ok().filter(fs::Metadata::is_file) else { return Ok(()) };
    if data.len() > LARGEST {
        mounts.add("--ro-bind", [Path::new("/dev/null"), inside]);
        return Ok(());
    }
    let failed = |source| WallError::Path { path: path.to_owned(), source };
    let text = fs::read(path).map_err(failed)?;
    let text = String::from_utf8_lossy(&text);
    // The same few files are looked at for every agent and every test.
    static CLEAN: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());
    let known = || CLEAN.lock().unwrap_or_else(PoisonError::into_inner);
    if known().iter().any(|clean| *clean == text) {
        return Ok(());
    }
    if let Cow::Owned(clean) = secrets::redact_settings(&text) {
        let own = make(&kept.join("cleaned"))?;
        let copy = write(&own, &flat(&path.to_string_lossy()), clean.as_bytes()).map_err(failed)?;
        mounts.add_lent(&copy, inside, Access::Read)?;
    } else if text.len() <= REMEMBERED {
        let mut known = known();
        known.truncate(MOST_REMEMBERED - 1);
        known.push_front(text.into_owned());
    }
    Ok(())
}

/// Writes a file as a whole, or not at all.
pub(super) fn write(directory: &Path, name: &str, text: &[u8]) -> io::Result<PathBuf> {
    let path = directory.join(name);
    let mut begun = tempfile::NamedTempFile::new_in(directory)?;
    io::Write::write_all(&mut begun, text)?;
    begun.persist(&path).map_err(|error| error.error)?;
    Ok(path)
}

/// Returns where something really is, if it is there. Most of what the table names is not, which one look tells.
fn real(path: &Path) -> Option<PathBuf> {
    path.symlink_metadata().ok()?;
    path.canonicalize().ok()
}

/// Returns the names in a directory; nothing if they cannot be read.
fn names(directory: &Path) -> Option<BTreeSet<OsString>> {
    let entries = fs::read_dir(directory).ok()?;
    entries.map(|entry| entry.map(|entry| entry.file_name()).ok()).collect()
}

/// Returns where a path of the home is if the person has moved the directory that it is in.
pub(crate) fn elsewhere(path: &str) -> Option<PathBuf> {
    moved_to(&moved(), path)
}

/// Returns the directories of the home that the person has elsewhere, and where.
fn moved() -> Vec<(&'static str, PathBuf)> {
    let place = |variable| env::var_os(variable).map(PathBuf::from).filter(|place| place.is_absolute());
    MOVED.iter().filter_map(|(variable, base)| Some((*base, place(variable)?))).collect()
}

fn moved_to(moved: &[(&str, PathBuf)], path: &str) -> Option<PathBuf> {
    let within = |base: &str| Path::new(path).strip_prefix(base).ok();
    let (place, rest) = moved.iter().find_map(|(base, place)| Some((place, within(base)?)))?;
    Some(if rest.as_os_str().is_empty() { place.clone() } else { place.join(rest) })
}
