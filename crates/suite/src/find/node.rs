//! Node projects: which package manager is theirs, and what it installs.

use serde_json::{Map, Value};

use super::Files;

/// What `npm init` writes where nobody has said how to test.
const PLACEHOLDER: &str = "no test specified";

/// The fields of a package.json that name dependencies.
const DEPENDENCIES: [&str; 4] =
    ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];

/// A package manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manager {
    Npm,
    Pnpm,
    /// Yarn 1.
    Yarn,
    /// Yarn 2 and later.
    Berry,
    Bun,
}

impl Manager {
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pnpm => "pnpm",
            Self::Yarn | Self::Berry => "yarn",
            Self::Bun => "bun",
        }
    }

    fn install(self, is_locked: bool) -> &'static str {
        match (self, is_locked) {
            (Self::Npm, true) => "npm ci --no-audit --no-fund",
            (Self::Npm, false) => "npm install --no-package-lock --no-audit --no-fund",
            (Self::Pnpm, true) => "pnpm install --frozen-lockfile",
            (Self::Pnpm, false) => "pnpm install --no-lockfile",
            (Self::Yarn, true) => "yarn install --frozen-lockfile",
            (Self::Yarn, false) => "yarn install --no-lockfile",
            (Self::Berry, true) => "yarn install --immutable",
            (Self::Berry, false) => "yarn install",
            (Self::Bun, true) => "bun install --frozen-lockfile",
            (Self::Bun, false) => "bun install --no-save",
        }
    }
}

/// Returns the project's package manager and whether it has a lock file.
fn manager<F: Files>(files: &F, package: Option<&Value>) -> Result<(Manager, bool), F::Error> {
    let named = package.and_then(|package| package.get("packageManager")).and_then(Value::as_str);
    let (name, version) = named.and_then(|named| named.split_once('@')).unwrap_or_default();
    let is_berry = files.has(".yarnrc.yml")? || (name == "yarn" && !version.starts_with("1."));
    let yarn = if is_berry { Manager::Berry } else { Manager::Yarn };
    let locks = [
        ("npm", Manager::Npm, &["package-lock.json", "npm-shrinkwrap.json"] as &[&str]),
        ("pnpm", Manager::Pnpm, &["pnpm-lock.yaml"]),
        ("yarn", yarn, &["yarn.lock"]),
        ("bun", Manager::Bun, &["bun.lock", "bun.lockb"]),
    ];
    for (of, manager, names) in locks {
        let has_lock = files.first(names)?.is_some();
        if name == of || (name.is_empty() && has_lock) {
            return Ok((manager, has_lock));
        }
    }
    let is_pnpm = files.has("pnpm-workspace.yaml")?;
    Ok((if is_pnpm { Manager::Pnpm } else { Manager::Npm }, false))
}

/// Returns the command that runs the package's test script, if it has one that is more than a placeholder.
pub(super) fn test<F: Files>(files: &F) -> Result<Option<String>, F::Error> {
    let Some(text) = files.read("package.json")? else { return Ok(None) };
    let package: Option<Value> = serde_json::from_str(&text).ok();
    let (manager, _) = manager(files, package.as_ref())?;
    let has_test = match &package {
        Some(package) => package
            .pointer("/scripts/test")
            .and_then(Value::as_str)
            .is_some_and(|script| !script.trim().is_empty() && !script.contains(PLACEHOLDER)),
        // Comments are none of JSON's, and yet some write them.
        None => text.contains("\"test\""),
    };
    Ok(match (manager, has_test) {
        (Manager::Bun, true) => Some("bun run test".to_owned()),
        (Manager::Bun, false) => Some("bun test".to_owned()),
        (_, true) => Some(format!("{} test", manager.program())),
        (_, false) => None,
    })
}

/// Returns the command that installs the package's dependencies, and its program; nothing if it has none.
pub(super) fn setup<F: Files>(files: &F) -> Result<Option<(String, &'static str)>, F::Error> {
    let Some(text) = files.read("package.json")? else { return Ok(None) };
    let package: Option<Value> = serde_json::from_str(&text).ok();
    let (manager, is_locked) = manager(files, package.as_ref())?;
    if let Some(package) = &package {
        let names_any =
            |field: &str| package.get(field).and_then(Value::as_object).is_some_and(|of| !of.is_empty());
        let has_any =
            DEPENDENCIES.iter().any(|field| names_any(field)) || package.get("workspaces").is_some();
        if !has_any && !files.has("pnpm-workspace.yaml")? && !locks_any(files)? {
            return Ok(None);
        }
    }
    Ok(Some((manager.install(is_locked).to_owned(), manager.program())))
}

/// Tells whether npm's lock file names a package other than the project itself.
fn locks_any<F: Files>(files: &F) -> Result<bool, F::Error> {
    let Some(name) = files.first(&["package-lock.json", "npm-shrinkwrap.json"])? else { return Ok(false) };
    let lock: Value = serde_json::from_str(&files.read(name)?.unwrap_or_default()).unwrap_or_default();
    let of = |field: &str| lock.get(field).and_then(Value::as_object).cloned().unwrap_or_default();
    let is_other = |packages: Map<String, Value>| packages.keys().any(|path| !path.is_empty());
    Ok(is_other(of("packages")) || is_other(of("dependencies")))
}
