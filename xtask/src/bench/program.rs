//! Building what is measured: the product as it is released, and a program that does nothing.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::sandbox::{Sandbox, target};
use crate::{
    run::{Result, capture, cargo, check, root},
    system::{attempt, found, package},
};

const MUSL: &str = "x86_64-unknown-linux-musl";
/// The profile of what is installed.
pub(super) const DIST: &str = "dist";
/// The flags that `.cargo/config.toml` has for the product; the compiler alone does not read that file.
const STATIC: &[&str] = &["-C", "relocation-model=static", "-C", "target-feature=+crt-static"];

/// The programs, copied to where no other build replaces them.
pub(super) struct Programs {
    pub(super) warp: PathBuf,
    pub(super) empty: PathBuf,
    /// How they were built, for the reader of the table.
    pub(super) how: String,
}

pub(super) fn build(sandbox: &Sandbox) -> Result<Programs> {
    let (warp, empty) = (sandbox.path("warp"), sandbox.path("empty"));
    let how = match missing() {
        None => {
            let mut build = cargo(&["build", "--profile", DIST, "--package", "cli", "--target", MUSL]);
            build.env("CC_x86_64_unknown_linux_musl", "musl-gcc");
            // These would replace the flags of the configuration.
            build.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
            check(&mut build)?;
            copy(&target().join(MUSL).join(DIST).join("warp"), &warp)?;
            compile_empty(&empty, &[&["--target", MUSL], STATIC].concat())?;
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

/// Returns why there can be no static build, after trying to get what it needs.
fn missing() -> Option<String> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Some(format!("this is no {MUSL} machine"));
    }
    if !has_target() {
        attempt("rustup", &["target", "add", MUSL]);
    }
    package("musl-gcc", "musl-tools");
    if !has_target() {
        return Some(format!("the target {MUSL} is not installed"));
    }
    // SQLite is C, so the target alone is not enough.
    found("musl-gcc").is_none().then(|| "musl-gcc is not installed".to_owned())
}

fn has_target() -> bool {
    let sysroot = capture(Command::new("rustc").args(["--print", "sysroot"]));
    sysroot.is_ok_and(|sysroot| Path::new(sysroot.trim()).join("lib/rustlib").join(MUSL).is_dir())
}
