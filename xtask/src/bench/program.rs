//! Building what is measured: the product as it is released, and a program that does nothing.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::sandbox::Sandbox;
use crate::{
    build::{DIST, STATIC, X86_64, target},
    run::{Result, capture, cargo, check, root},
};

/// The programs, copied to where no other build replaces them.
pub(super) struct Programs {
    pub(super) warp: PathBuf,
    pub(super) empty: PathBuf,
    /// How they were built, for the reader of the table.
    pub(super) how: String,
}

pub(super) fn build(sandbox: &Sandbox) -> Result<Programs> {
    let (warp, empty) = (sandbox.path("warp"), sandbox.path("empty"));
    let how = match X86_64.missing() {
        None => {
            copy(&X86_64.build(DIST)?, &warp)?;
            compile_empty(&empty, &[&["--target", X86_64.target], STATIC].concat())?;
            "static at a fixed address (musl)".to_owned()
        }
        Some(reason) => {
            check(&mut cargo(&["build", "--profile", DIST, "--package", "cli"]))?;
            copy(&target().join(DIST).join("warp"), &warp)?;
            compile_empty(&empty, &[])?;
            format!("native, which starts more slowly than the static build: {reason}")
        }
    };
    Ok(Programs { warp, empty, how })
}

fn compile_empty(program: &Path, flags: &[&str]) -> Result {
    let mut command = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.args(["-O", "-C", "strip=debuginfo"]).args(flags).arg("-o").arg(program);
    capture(command.arg(root().join("bench/empty.rs"))).map(drop)
}

fn copy(from: &Path, to: &Path) -> Result {
    fs::copy(from, to).map(drop).map_err(|error| format!("{}: {error}", from.display()))
}
