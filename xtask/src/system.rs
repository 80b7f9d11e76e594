//! What the system has, and what can be installed on it.

use std::{env, fs, os::unix::fs::MetadataExt as _, path::PathBuf, process::Command};

use crate::run::{check, say};

/// Returns where a program is, if it is installed.
pub(crate) fn found(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|directory| directory.join(name)).find(|file| file.is_file())
}

/// Installs Debian's package of a program that is missing, where that needs no password.
pub(crate) fn package(program: &str, package: &str) {
    if found(program).is_none() && is_root() {
        // A fresh machine has no list of packages, or an old one that names files which are gone.
        attempt("apt-get", &["update"]);
        attempt("apt-get", &["install", "-y", "--no-install-recommends", package]);
    }
}

/// Tries to install something; that it fails is shown and nothing more.
pub(crate) fn attempt(program: &str, arguments: &[&str]) {
    let Some(program) = found(program) else { return };
    if let Err(error) = check(Command::new(program).args(arguments)) {
        say(&error);
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|data| data.uid() == 0)
}
