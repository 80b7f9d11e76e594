//! Building the product as it is installed: static where that can be done.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    run::{Result, capture, cargo, check, root},
    system::{attempt, found, package},
};

/// The profile of what is installed.
pub(crate) const DIST: &str = "dist";
/// The flags that `.cargo/config.toml` has for static builds; the compiler alone does not read that file.
pub(crate) const STATIC: &[&str] = &["-C", "relocation-model=static", "-C", "target-feature=+crt-static"];

/// A machine that static programs are built for.
pub(crate) struct Platform {
    pub(crate) target: &'static str,
    /// As archives and Debian call it.
    pub(crate) name: &'static str,
    pub(crate) debian: &'static str,
    /// Compiles SQLite and links: the target alone is not enough.
    compiler: &'static str,
}

/// Most machines.
pub(crate) const X86_64: Platform = Platform {
    target: "x86_64-unknown-linux-musl",
    name: "x86_64-linux",
    debian: "amd64",
    compiler: "musl-gcc",
};

/// Built where somebody has installed a compiler for it.
pub(crate) const ARM64: Platform = Platform {
    target: "aarch64-unknown-linux-musl",
    name: "arm64-linux",
    debian: "arm64",
    compiler: "aarch64-linux-musl-gcc",
};

impl Platform {
    /// Builds the product for it, statically, and returns the program.
    pub(crate) fn build(&self, profile: &str) -> Result<PathBuf> {
        let mut build = cargo(&["build", "--profile", profile, "--package", "cli", "--target", self.target]);
        let variable = self.target.replace('-', "_");
        build.env(format!("CC_{variable}"), self.compiler);
        if self.target != X86_64.target {
            build.env(format!("CARGO_TARGET_{}_LINKER", variable.to_uppercase()), self.compiler);
        }
        // These would replace the flags of the configuration.
        build.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
        check(&mut build)?;
        let directory = if profile == "dev" { "debug" } else { profile };
        Ok(target().join(self.target).join(directory).join("warp"))
    }

    /// Returns why it cannot be built for, after trying to get what that needs.
    pub(crate) fn missing(&self) -> Option<String> {
        if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
            return Some("static builds are made on x86-64 Linux".to_owned());
        }
        if self.target == X86_64.target {
            package(self.compiler, "musl-tools");
        }
        if found(self.compiler).is_none() {
            return Some(format!("{} is not installed", self.compiler));
        }
        if !self.has_target() {
            attempt("rustup", &["target", "add", self.target]);
        }
        (!self.has_target()).then(|| format!("the target {} is not installed", self.target))
    }

    fn has_target(&self) -> bool {
        let sysroot = capture(Command::new("rustc").args(["--print", "sysroot"]));
        sysroot.is_ok_and(|sysroot| Path::new(sysroot.trim()).join("lib/rustlib").join(self.target).is_dir())
    }
}

/// Returns where cargo builds.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
