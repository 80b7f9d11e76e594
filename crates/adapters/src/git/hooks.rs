//! Git's hooks: where they are, and running the user's own.

use std::{
    ffi::{OsStr, OsString},
    fs,
    io::{self, Seek as _, Write as _},
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use super::{
    Location,
    own::{GitError, Repository},
};
use crate::process::End;

/// How long git may take to read or write its configuration.
const LIMIT: Duration = Duration::from_secs(20);
/// The error of a program without a first line that names its interpreter.
const NOT_A_PROGRAM: i32 = 8;

/// Where `core.hooksPath` was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// For one working tree.
    Worktree,
    /// For the repository.
    Local,
    /// For the user or the machine.
    Wider,
}

/// What `core.hooksPath` is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HooksPath {
    /// As it was written.
    pub value: String,
    /// With the home directory put in.
    pub path: PathBuf,
    pub scope: Scope,
}

/// Reads `core.hooksPath` from the configuration; nothing if it is not set.
pub fn hooks_path(root: &Path, location: &Location) -> Result<Option<HooksPath>, GitError> {
    if is_plainly_unset(location) {
        return Ok(None);
    }
    // The flags of our own calls set it too; what a flag sets is left out.
    let ask = |more: &[&str]| -> Result<Option<(Scope, String)>, GitError> {
        let git = Repository::new(root, location, LIMIT);
        let mut arguments = vec!["config", "--show-scope", "-z"];
        arguments.extend_from_slice(more);
        arguments.extend(["--get-all", "core.hooksPath"]);
        let finished = git.run(&arguments, &[])?;
        let text = String::from_utf8_lossy(&finished.stdout).into_owned();
        let mut words = text.split('\0').filter(|word| !word.is_empty());
        let mut found = None;
        while let (Some(scope), Some(value)) = (words.next(), words.next()) {
            let scope = match scope {
                "worktree" => Scope::Worktree,
                "local" => Scope::Local,
                "command" => continue,
                _ => Scope::Wider,
            };
            found = Some((scope, value.to_owned()));
        }
        Ok(found)
    };
    let Some((scope, value)) = ask(&[])?.filter(|(_, value)| !value.is_empty()) else { return Ok(None) };
    let Some((_, path)) = ask(&["--type=path"])? else { return Ok(None) };
    Ok(Some(HooksPath { value, path: path.into(), scope }))
}

/// Tells whether no file of the configuration speaks of hooks, or of another file; this starts no git. Whoever asks only
/// once is not answered: to find out which files there are takes as long.
fn is_plainly_unset(location: &Location) -> bool {
    static WAS_ASKED: AtomicBool = AtomicBool::new(false);
    if !WAS_ASKED.swap(true, Ordering::Relaxed) {
        return false;
    }
    let Some(wider) = wider_files(location) else { return false };
    let says = |path: &Path, words: &[&str]| match fs::read_to_string(path) {
        Ok(text) => words.iter().any(|word| text.to_lowercase().contains(word)),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    };
    !says(&location.common_dir.join("config"), &["hookspath", "include", "worktreeconfig"])
        && !wider.iter().any(|path| says(path, &["hookspath", "include"]))
}

/// Returns the files in which the user's and the machine's configuration is, looked for once; nothing where git does not
/// say, which it does since 2.42.
fn wider_files(location: &Location) -> Option<&'static [PathBuf]> {
    static FILES: OnceLock<Option<Vec<PathBuf>>> = OnceLock::new();
    let find = || {
        let git = Repository::bare(location, LIMIT);
        let users = git.text(&["var", "GIT_CONFIG_GLOBAL"], &[]).ok()?;
        let machines = git.run(&["var", "GIT_CONFIG_SYSTEM"], &[]).ok()?;
        // It says no where the machine's is not read.
        if !machines.is_success() && machines.end != End::Exit(1) {
            return None;
        }
        let machines = machines.text();
        let files: Vec<PathBuf> = users.lines().chain(machines.lines()).map(PathBuf::from).collect();
        files.iter().all(|path| path.is_absolute()).then_some(files)
    };
    FILES.get_or_init(find).as_deref()
}

/// Sets `core.hooksPath`, or takes it away.
pub fn set_hooks_path(
    root: &Path,
    location: &Location,
    scope: Scope,
    value: Option<&str>,
) -> Result<(), GitError> {
    let git = Repository::new(root, location, LIMIT);
    let scope = if scope == Scope::Worktree { "--worktree" } else { "--local" };
    match value {
        Some(value) => git.text(&["config", scope, "--replace-all", "core.hooksPath", value], &[]).map(drop),
        None => git.text(&["config", scope, "--unset-all", "core.hooksPath"], &[]).map(drop),
    }
}

/// Returns the file in which a scope's configuration is.
pub fn config_file(location: &Location, scope: Scope) -> PathBuf {
    match scope {
        Scope::Worktree => location.git_dir.join("config.worktree"),
        Scope::Local | Scope::Wider => location.common_dir.join("config"),
    }
}

/// Tells whether git would run a file as a hook.
pub fn is_runnable(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// Becomes the user's own hook: this process is replaced, so its end is the hook's end.
///
/// With `input`, that is what it reads; else it reads what this process would have read. Returns only if it cannot be
/// started.
pub fn become_hook(hook: &Path, arguments: &[OsString], input: Option<&[u8]>, forget: &str) -> io::Error {
    let stdin = match input.map(prepare).transpose() {
        Ok(stdin) => stdin,
        Err(error) => return error,
    };
    let start = |program: &OsStr, before: &[&OsStr], stdin: Option<fs::File>| {
        let mut command = Command::new(program);
        command.args(before).args(arguments).env_remove(forget);
        if let Some(stdin) = stdin {
            command.stdin(Stdio::from(stdin));
        }
        command.exec()
    };
    // A name without a slash would be looked for in PATH.
    let program =
        if hook.as_os_str().as_bytes().contains(&b'/') { hook.to_owned() } else { Path::new(".").join(hook) };
    let again = stdin.as_ref().map(fs::File::try_clone).transpose();
    let error = start(program.as_os_str(), &[], stdin);
    match again {
        // Like git, and every shell: what names no interpreter is for the shell.
        Ok(again) if error.raw_os_error() == Some(NOT_A_PROGRAM) => {
            start(OsStr::new("/bin/sh"), &[program.as_os_str()], again)
        }
        Ok(_) | Err(_) => error,
    }
}

fn prepare(input: &[u8]) -> io::Result<fs::File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(input)?;
    file.rewind()?;
    Ok(file)
}
