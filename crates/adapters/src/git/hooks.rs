//! Git's hooks: where they are, and running the user's own.

use std::{
    ffi::{OsStr, OsString},
    io::{self, Seek as _, Write as _},
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use super::{
    Location,
    own::{GitError, Own},
};

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
    // The flags of our own calls set it too; what a flag sets is left out.
    let ask = |more: &[&str]| -> Result<Option<(Scope, String)>, GitError> {
        let git = Own::new(root, location, LIMIT);
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
    let (Some((scope, value)), Some((_, path))) = (ask(&[])?, ask(&["--type=path"])?) else {
        return Ok(None);
    };
    if value.is_empty() {
        return Ok(None);
    }
    Ok(Some(HooksPath { value, path: path.into(), scope }))
}

/// Sets `core.hooksPath`, or takes it away.
pub fn set_hooks_path(
    root: &Path,
    location: &Location,
    scope: Scope,
    value: Option<&str>,
) -> Result<(), GitError> {
    let git = Own::new(root, location, LIMIT);
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
    let start = |program: &OsStr, before: &[&OsStr], stdin: Option<std::fs::File>| {
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
    let again = stdin.as_ref().map(std::fs::File::try_clone).transpose();
    let error = start(program.as_os_str(), &[], stdin);
    match again {
        // Like git, and every shell: what names no interpreter is for the shell.
        Ok(again) if error.raw_os_error() == Some(NOT_A_PROGRAM) => {
            start(OsStr::new("/bin/sh"), &[program.as_os_str()], again)
        }
        Ok(_) | Err(_) => error,
    }
}

fn prepare(input: &[u8]) -> io::Result<std::fs::File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(input)?;
    file.rewind()?;
    Ok(file)
}
