//! The backstop: warp's hooks in git, beside the user's own.
//!
//! Where hooks lie in the git directory, ours take their places: a hook `NAME` of the user's becomes `NAME.user` and
//! is run by ours. Where `core.hooksPath` leads elsewhere (to a tool's directory, a tracked one, one of the user's for
//! all repositories), nothing there is touched: a directory of warp's own takes its place in the configuration, and
//! passes every hook on to the directory that was named before.
//!
//! What was done is remembered first and done second, so that a crash leaves nothing that [`remove`] cannot undo.

mod record;

use std::{
    fmt, fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use adapters::{
    git::{
        self, Location,
        hooks::{self, HooksPath, Scope},
    },
    refs::GitError,
};
use engine::digest;

use super::script::{self, CLIENT_SIDE, MARK, OTHERS, OURS};
use crate::Place;
use record::{Hook, Record, Setting};

pub use super::script::USER_HOOK;

/// The largest hook that is compared with ours, in bytes.
const LARGEST: u64 = 64 * 1024;

/// What is to be done so that the backstop is there.
#[derive(Debug)]
pub struct Plan {
    steps: Vec<Step>,
    record: Record,
    file: PathBuf,
}

/// One thing to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    MakeDirectory {
        path: PathBuf,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    Write {
        path: PathBuf,
        text: String,
    },
    Set {
        scope: Scope,
        value: String,
    },
    /// The hooks are there already; one more working tree relies on them.
    Join {
        workspace: PathBuf,
    },
}

/// What becomes of the hooks when one working tree wants them no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    /// Nothing was installed.
    Nothing,
    /// They go.
    Whole,
    /// They stay, because these working trees rely on them too.
    Stays { others: Vec<PathBuf>, is_listed: bool },
}

/// Whether the backstop is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    NoRepository,
    Installed {
        directory: PathBuf,
    },
    /// With what is missing.
    Missing {
        what: Vec<String>,
    },
}

/// Why the backstop could not be installed or removed.
#[derive(Debug, thiserror::Error)]
pub enum BackstopError {
    #[error("`{}` is no git repository; `git init` makes one", root.display())]
    NoRepository { root: PathBuf },
    #[error("`{}` and `{}` are both there; rename or remove one of them", hook.display(), kept.display())]
    Both { hook: PathBuf, kept: PathBuf },
    #[error("`{}` is there without the hook it would belong to; rename or remove it", kept.display())]
    InTheWay { kept: PathBuf },
    #[error("the path `{}` is not text, and a hook is", path.display())]
    NotText { path: PathBuf },
    #[error("`{}` does not say what was installed; look at the hooks by hand, then remove it", path.display())]
    BadRecord { path: PathBuf },
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("failed to read or write `{}`", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::MakeDirectory { path } => write!(f, "make {}", path.display()),
            Step::Rename { from, to } => write!(f, "rename {} to {}", from.display(), to.display()),
            Step::Write { path, .. } => write!(f, "write {}", path.display()),
            Step::Set { scope: Scope::Worktree, value } => {
                write!(f, "set core.hooksPath to {value} for this working tree")
            }
            Step::Set { value, .. } => write!(f, "set core.hooksPath to {value}"),
            Step::Join { workspace } => {
                write!(f, "note that {} relies on the hooks of this repository", workspace.display())
            }
        }
    }
}

impl Plan {
    /// Returns what is to be done, in order; nothing if the backstop is there.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
}

fn real(path: &Path) -> Result<PathBuf, BackstopError> {
    path.canonicalize().map_err(failed(path))
}

/// Where the backstop belongs.
struct Site {
    location: Location,
    /// The git directory that holds the record: the shared one, or a working tree's own.
    base: PathBuf,
    hooks_path: Option<HooksPath>,
}

impl Site {
    fn find(place: &Place) -> Result<Self, BackstopError> {
        let none = || BackstopError::NoRepository { root: place.root.clone() };
        let location = place.location().ok_or_else(none)?;
        let git_dir = real(&location.git_dir)?;
        let is_shared = location.common_dir != location.git_dir;
        let common_dir = if is_shared { real(&location.common_dir)? } else { git_dir.clone() };
        let location = Location { git_dir, common_dir };
        let hooks_path = hooks::hooks_path(&place.root, &location)?;
        let is_own = matches!(&hooks_path, Some(set) if set.scope == Scope::Worktree);
        let base = if is_own { location.git_dir.clone() } else { location.common_dir.clone() };
        Ok(Self { location, base, hooks_path })
    }

    fn record_file(&self) -> PathBuf {
        self.base.join("warp/backstop.json")
    }

    /// The directory that takes the place of one that is not ours to write into.
    fn substitute(&self) -> PathBuf {
        self.base.join("warp/hooks")
    }

    /// Returns the directory in which git looks for hooks, if it lies in the git directory.
    fn inside(&self, root: &Path) -> Option<PathBuf> {
        let Some(set) = &self.hooks_path else { return Some(self.location.common_dir.join("hooks")) };
        let path = root.join(&set.path);
        let path = path.canonicalize().unwrap_or(path);
        let is_inside =
            path.starts_with(&self.location.common_dir) || path.starts_with(&self.location.git_dir);
        is_inside.then_some(path)
    }
}

/// Says what has to be done so that git asks `warp`; nothing is written.
pub fn plan(place: &Place, warp: &Path) -> Result<Plan, BackstopError> {
    let site = Site::find(place)?;
    let file = site.record_file();
    let before = Record::load(&file)?;
    let mut plan = Plan { steps: Vec::new(), record: before.unwrap_or_default(), file };
    let substitute = site.substitute();
    match site.inside(&place.root) {
        Some(directory) if directory != substitute => plan.take_places(&directory, warp)?,
        inside => {
            let original = match (&inside, plan.record.setting.clone(), &site.hooks_path) {
                // It is in place already, and passes on to where it did before.
                (Some(_), Some(setting), _) => setting.original,
                (_, _, Some(set)) => set.path.to_str().map(str::to_owned).unwrap_or_default(),
                (_, _, None) => String::new(),
            };
            let root = place.root.clone();
            plan.substitute(&site, &root, &original, warp, inside.is_none())?;
        }
    }
    let root = real(&place.root)?;
    if !plan.record.workspaces.contains(&root) {
        if plan.steps.is_empty() {
            plan.steps.push(Step::Join { workspace: root.clone() });
        }
        plan.record.workspaces.push(root);
    }
    Ok(plan)
}

impl Plan {
    fn make_directory(&mut self, path: &Path) {
        let missing: Vec<&Path> = path.ancestors().take_while(|path| !path.exists()).collect();
        for path in missing.into_iter().rev() {
            self.steps.push(Step::MakeDirectory { path: path.to_owned() });
            self.record.directories.push(path.to_owned());
        }
    }

    /// Plans hooks in a directory that is the repository's own.
    fn take_places(&mut self, directory: &Path, warp: &Path) -> Result<(), BackstopError> {
        self.make_directory(directory);
        for name in OURS {
            let (path, kept) = (directory.join(name), directory.join(format!("{name}.user")));
            let text = script::render(name, &script::beside(name), warp)
                .ok_or_else(|| BackstopError::NotText { path: warp.to_owned() })?;
            match found(&path)? {
                Found::Nothing if kept_path(&kept).is_some() && !self.record.knows(&path) => {
                    return Err(BackstopError::InTheWay { kept });
                }
                Found::Nothing => {}
                Found::Ours(there) if there == text => {
                    self.record.add(&path, &text, kept_path(&kept));
                    continue;
                }
                Found::Ours(_) => {}
                Found::Users if kept_path(&kept).is_some() => {
                    return Err(BackstopError::Both { hook: path, kept });
                }
                Found::Users => {
                    self.steps.push(Step::Rename { from: path.clone(), to: kept.clone() });
                    self.record.add(&path, &text, Some(kept));
                    self.steps.push(Step::Write { path, text });
                    continue;
                }
            }
            self.record.add(&path, &text, kept_path(&kept));
            self.steps.push(Step::Write { path, text });
        }
        Ok(())
    }

    /// Plans a directory of our own that passes on to `original`.
    fn substitute(
        &mut self,
        site: &Site,
        root: &Path,
        original: &str,
        warp: &Path,
        set: bool,
    ) -> Result<(), BackstopError> {
        let directory = site.substitute();
        self.make_directory(&directory);
        let there = |name: &&str| root.join(original).join(name).exists();
        let names = CLIENT_SIDE.into_iter().chain(OTHERS.into_iter().filter(there));
        for name in names {
            let path = directory.join(name);
            let text = script::render(name, &script::inside(original, name), warp)
                .ok_or_else(|| BackstopError::NotText { path: warp.to_owned() })?;
            if !matches!(found(&path)?, Found::Ours(there) if there == text) {
                self.steps.push(Step::Write { path: path.clone(), text: text.clone() });
            }
            self.record.add(&path, &text, None);
        }
        if set {
            let scope = site.hooks_path.as_ref().map_or(Scope::Wider, |set| set.scope);
            let value =
                directory.to_str().ok_or_else(|| BackstopError::NotText { path: directory.clone() })?;
            self.steps.push(Step::Set { scope, value: value.to_owned() });
            let before = site.hooks_path.as_ref().filter(|set| set.scope != Scope::Wider);
            let file = hooks::config_file(&site.location, scope);
            let bytes = fs::read(&file).map_err(failed(&file))?;
            self.record.setting = Some(Setting {
                worktree: scope == Scope::Worktree,
                before: before.map(|set| set.value.clone()),
                original: original.to_owned(),
                value: value.to_owned(),
                bytes: String::from_utf8(bytes).ok(),
                after: String::new(),
            });
        }
        Ok(())
    }
}

/// Installs the backstop, and returns what was done; nothing if it was there.
pub fn install(place: &Place, warp: &Path) -> Result<Plan, BackstopError> {
    let mut plan = plan(place, warp)?;
    if plan.steps.is_empty() {
        return Ok(plan);
    }
    let location = Site::find(place)?.location;
    plan.record.remember_parents(&plan.file);
    plan.record.store(&plan.file)?;
    for step in plan.steps.clone() {
        match step {
            Step::MakeDirectory { path } => fs::create_dir_all(&path).map_err(failed(&path))?,
            Step::Rename { from, to } => fs::rename(&from, &to).map_err(failed(&from))?,
            Step::Write { path, text } => write(&path, &text)?,
            // It is in the record, which is written by now.
            Step::Join { .. } => {}
            Step::Set { scope, value } => {
                hooks::set_hooks_path(&place.root, &location, scope, Some(&value))?;
                let file = hooks::config_file(&location, scope);
                let after = digest(fs::read(&file).map_err(failed(&file))?);
                if let Some(setting) = &mut plan.record.setting {
                    setting.after = after;
                }
                plan.record.store(&plan.file)?;
            }
        }
    }
    Ok(plan)
}

/// Writes warp's hooks into the repository of a slot: nobody else's are there, and the slot goes with them.
///
/// Behind a sandbox that repository is read-only, so they only ever answer outside of one.
pub(super) fn install_in_slot(git_dir: &Path, warp: &Path) -> io::Result<()> {
    let directory = git_dir.join("hooks");
    fs::create_dir_all(&directory)?;
    for name in OURS {
        let Some(text) = script::render(name, &script::beside(name), warp) else { continue };
        let path = directory.join(name);
        if fs::read_to_string(&path).is_ok_and(|there| there == text) {
            continue;
        }
        let draft = tempfile::NamedTempFile::new_in(&directory)?;
        fs::write(draft.path(), text)?;
        fs::set_permissions(draft.path(), fs::Permissions::from_mode(0o755))?;
        draft.persist(&path).map_err(|error| error.error)?;
    }
    Ok(())
}

/// Takes the backstop away: everything is as it was, byte for byte. Returns what was left, and why.
///
/// While another working tree relies on it, only this one is taken off the list.
pub fn remove(place: &Place) -> Result<Vec<String>, BackstopError> {
    let site = Site::find(place)?;
    let file = site.record_file();
    let Some(mut record) = Record::load(&file)? else { return Ok(Vec::new()) };
    let root = real(&place.root)?;
    if !others(&site, &record, &root).is_empty() {
        record.workspaces.retain(|workspace| *workspace != root);
        record.store(&file)?;
        return Ok(Vec::new());
    }
    let mut left = Vec::new();
    if let Some(setting) = &record.setting {
        left.extend(unset(place, &site, setting)?);
    }
    for hook in &record.hooks {
        left.extend(take_away(hook)?);
    }
    fs::remove_file(&file).map_err(failed(&file))?;
    for directory in record.directories.iter().rev() {
        match fs::remove_dir(directory) {
            Ok(()) => {}
            Err(error)
                if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) => {}
            Err(source) => return Err(BackstopError::Io { path: directory.clone(), source }),
        }
    }
    Ok(left)
}

/// Puts `core.hooksPath` back.
fn unset(place: &Place, site: &Site, setting: &Setting) -> Result<Option<String>, BackstopError> {
    let scope = if setting.worktree { Scope::Worktree } else { Scope::Local };
    let is_ours = matches!(&site.hooks_path, Some(set) if set.value == setting.value);
    if !is_ours {
        return Ok(Some("core.hooksPath was changed since, and is left as it is".to_owned()));
    }
    let file = hooks::config_file(&site.location, scope);
    let now = fs::read(&file).map_err(failed(&file))?;
    match &setting.bytes {
        Some(bytes) if digest(&now) == setting.after => replace(&file, bytes.as_bytes())?,
        Some(_) | None => {
            hooks::set_hooks_path(&place.root, &site.location, scope, setting.before.as_deref())?;
        }
    }
    Ok(None)
}

fn take_away(hook: &Hook) -> Result<Option<String>, BackstopError> {
    let path = &hook.path;
    match fs::read(path) {
        Ok(bytes) if digest(&bytes) != hook.digest => {
            return Ok(Some(format!("{} was changed since, and is left as it is", path.display())));
        }
        Ok(_) => fs::remove_file(path).map_err(failed(path))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(source) => return Err(BackstopError::Io { path: path.clone(), source }),
    }
    if let Some(kept) = hook.kept.as_ref().filter(|kept| kept_path(kept).is_some()) {
        fs::rename(kept, path).map_err(failed(kept))?;
    }
    Ok(None)
}

/// Says what [`remove`] would do.
pub fn removal(place: &Place) -> Result<Removal, BackstopError> {
    let site = match Site::find(place) {
        Ok(site) => site,
        Err(BackstopError::NoRepository { .. }) => return Ok(Removal::Nothing),
        Err(error) => return Err(error),
    };
    let Some(record) = Record::load(&site.record_file())? else { return Ok(Removal::Nothing) };
    let root = real(&place.root)?;
    let others = others(&site, &record, &root);
    if others.is_empty() {
        return Ok(Removal::Whole);
    }
    Ok(Removal::Stays { others, is_listed: record.workspaces.contains(&root) })
}

/// Returns the other working trees of this repository that rely on the hooks and are still there.
fn others(site: &Site, record: &Record, root: &Path) -> Vec<PathBuf> {
    let is_there = |workspace: &&PathBuf| {
        let location = git::locate(workspace).map(|location| location.common_dir.canonicalize());
        matches!(location, Some(Ok(common)) if common == site.location.common_dir)
    };
    record.workspaces.iter().filter(|workspace| *workspace != root).filter(is_there).cloned().collect()
}

/// Tells whether the backstop is there.
pub fn state(place: &Place) -> Result<State, BackstopError> {
    let site = match Site::find(place) {
        Ok(site) => site,
        Err(BackstopError::NoRepository { .. }) => return Ok(State::NoRepository),
        Err(error) => return Err(error),
    };
    let Some(directory) = site.inside(&place.root) else {
        let what = "core.hooksPath leads past it".to_owned();
        return Ok(State::Missing { what: vec![what] });
    };
    let can_ask = |text: &str| warp_of(text).is_some_and(|warp| hooks::is_runnable(Path::new(&warp)));
    let is_there =
        |name: &&str| matches!(found(&directory.join(name)), Ok(Found::Ours(text)) if can_ask(&text));
    let what: Vec<String> = OURS.iter().filter(|name| !is_there(name)).map(ToString::to_string).collect();
    Ok(if what.is_empty() { State::Installed { directory } } else { State::Missing { what } })
}

/// Returns git's hook for moves of refs, if ours is in force.
pub(super) fn guard_in_force(place: &Place) -> Option<PathBuf> {
    match state(place) {
        Ok(State::Installed { directory }) => Some(directory.join("reference-transaction")),
        Ok(State::NoRepository | State::Missing { .. }) | Err(_) => None,
    }
}

/// Returns the user's own hook that git would run in the end, past ours.
pub fn user_hook(place: &Place, name: &str) -> Result<Option<PathBuf>, BackstopError> {
    let site = Site::find(place)?;
    let directory = match &site.hooks_path {
        Some(set) => place.root.join(&set.path),
        None => site.location.common_dir.join("hooks"),
    };
    let directory = directory.canonicalize().unwrap_or(directory);
    let path = directory.join(name);
    let hook = match found(&path)? {
        Found::Nothing => return Ok(None),
        Found::Users => path,
        Found::Ours(_) if directory == site.substitute() => {
            match Record::load(&site.record_file())?.and_then(|record| record.setting) {
                Some(setting) => place.root.join(setting.original).join(name),
                None => return Ok(None),
            }
        }
        Found::Ours(_) => directory.join(format!("{name}.user")),
    };
    Ok(hooks::is_runnable(&hook).then_some(hook))
}

/// What lies where a hook belongs.
enum Found {
    Nothing,
    Ours(String),
    Users,
}

fn found(path: &Path) -> Result<Found, BackstopError> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(source) => return Err(BackstopError::Io { path: path.to_owned(), source }),
        Ok(data) if !data.is_file() || data.len() > LARGEST => return Ok(Found::Users),
        Ok(_) => {}
    }
    let bytes = fs::read(path).map_err(failed(path))?;
    Ok(match String::from_utf8(bytes) {
        Ok(text) if text.lines().nth(1) == Some(MARK) => Found::Ours(text),
        Ok(_) | Err(_) => Found::Users,
    })
}

/// Reads from a script of ours which program it asks.
fn warp_of(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("warp='"))?;
    Some(line.strip_suffix('\'')?.replace(r"'\''", "'"))
}

/// Returns the path of a user's hook that was renamed, if it is there.
fn kept_path(kept: &Path) -> Option<PathBuf> {
    kept.symlink_metadata().is_ok().then(|| kept.to_owned())
}

fn write(path: &Path, text: &str) -> Result<(), BackstopError> {
    replace(path, text.as_bytes())?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).map_err(failed(path))
}

/// Replaces a file whole, with the permissions that it had.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), BackstopError> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut draft = tempfile::NamedTempFile::new_in(directory).map_err(failed(path))?;
    io::Write::write_all(&mut draft, bytes).map_err(failed(path))?;
    let mode = path.metadata().map_or(0o644, |data| data.permissions().mode());
    fs::set_permissions(draft.path(), fs::Permissions::from_mode(mode)).map_err(failed(path))?;
    draft.persist(path).map_err(|error| failed(path)(error.error))?;
    Ok(())
}

fn failed(path: &Path) -> impl Fn(io::Error) -> BackstopError {
    move |source| BackstopError::Io { path: path.to_owned(), source }
}
