//! The fingerprint of an environment: what was installed depends on nothing else.
//!
//! It covers the setup command, the lock files and manifests of the tree, where the tree is seen, and the programs that
//! install. A program is known by its file; to ask each for its version would take longer than all the rest.

use std::{env, fs, os::unix::fs::MetadataExt as _, path::Path};

use adapters::git::Git;
use engine::digest;

use super::{cache, command};

/// Names of files that say what is installed, and by which tools, wherever they lie.
const MANIFESTS: &[&str] = &[
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "yarn.lock",
    ".yarnrc.yml",
    ".npmrc",
    "bun.lock",
    "bun.lockb",
    "Cargo.toml",
    "Cargo.lock",
    "go.mod",
    "go.sum",
    "go.work",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "uv.lock",
    "poetry.lock",
    "Pipfile",
    "Pipfile.lock",
    "*requirements*.txt",
    "Gemfile",
    "Gemfile.lock",
    "*.gemspec",
    "composer.json",
    "composer.lock",
    "*.csproj",
    "*.fsproj",
    "*.vbproj",
    "*.sln",
    "Directory.Packages.props",
    "mix.exs",
    "mix.lock",
    ".python-version",
    ".node-version",
    ".nvmrc",
    ".tool-versions",
    "rust-toolchain",
    "rust-toolchain.toml",
];

/// Returns the fingerprint of what `setup` installs for `test` in a tree that is seen at `inside`.
pub(crate) fn fingerprint(
    git: &Git<'_>,
    root: &Path,
    inside: &Path,
    setup: Option<&str>,
    test: &str,
) -> Result<String, String> {
    let mut parts = vec![setup.unwrap_or_default().to_owned(), inside.display().to_string()];
    let mut patterns: Vec<String> = MANIFESTS.iter().map(|name| format!(":(glob)**/{name}")).collect();
    patterns.push(":(glob)requirements/*.txt".to_owned());
    for file in git.files_like(&patterns)? {
        // A file that was deleted is known to git until that is committed.
        let content = fs::read(root.join(&file)).map(digest).unwrap_or_default();
        parts.extend([file, content]);
    }
    let lines = setup.into_iter().flat_map(|setup| setup.split("&&")).chain([test]);
    parts.extend(lines.filter_map(command::program).map(identity));
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    Ok(cache::key(&parts))
}

/// Says which program a name stands for: its file, and when that was changed.
fn identity(program: &str) -> String {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).map(|directory| directory.join(program)).find(|path| path.is_file());
    let Some(path) = found.and_then(|path| path.canonicalize().ok()) else { return program.to_owned() };
    let about = path.metadata().map(|data| format!("{} {}", data.size(), data.mtime())).unwrap_or_default();
    format!("{program} {} {about}", path.display())
}
