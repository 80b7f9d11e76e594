//! Files that belong elsewhere: directories of dependencies and caches, and links that leave the tree.

use std::{collections::BTreeSet, path::Path};

use adapters::git::ObjectKind;
use engine::{Held, HeldKind};

use super::{Change, ChangedFile, finding};

/// Directories that programs make and fill by themselves.
const MADE: &[&str] = &[
    "node_modules",
    "bower_components",
    ".venv",
    "venv",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".nox",
    ".eggs",
    ".ipynb_checkpoints",
    "site-packages",
    ".hypothesis",
    ".gradle",
    ".parcel-cache",
    ".next",
    ".nuxt",
    ".svelte-kit",
    ".turbo",
    ".yarn/cache",
    ".pnpm-store",
    ".terraform",
    ".bundle",
    "vendor/bundle",
    ".dart_tool",
    ".stack-work",
    ".cargo/registry",
    ".idea/caches",
    ".nyc_output",
    ".serverless",
    "DerivedData",
    ".angular",
    ".cache",
    ".eslintcache",
];
/// Files by which a directory is known as made by a program, and what it holds.
const MARKERS: &[(&str, &str)] = &[
    ("pyvenv.cfg", "a Python environment"),
    ("CACHEDIR.TAG", "a cache"),
    (".rustc_info.json", "build output"),
    ("composer/installed.json", "installed packages"),
    (".package-lock.json", "installed packages"),
];

/// Returns the directories of dependencies and caches that a change adds, outermost first. One that was there before is
/// the project's own.
pub(super) fn dependency_directories(change: &Change) -> Vec<String> {
    let mut found: BTreeSet<String> = BTreeSet::new();
    for file in change.files.iter().filter(|file| file.is_new()) {
        found.extend(named(&file.path));
        found.extend(marked(&file.path));
    }
    let mut outermost: Vec<String> = Vec::new();
    for directory in found {
        let is_new = !change.directories_before.contains(&directory);
        if is_new && !outermost.iter().any(|above| is_below(&directory, above)) {
            outermost.push(directory);
        }
    }
    outermost
}

/// Returns all directories that a new file may make to one of dependencies.
pub(super) fn candidates<'a>(paths: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    paths.flat_map(|path| named(path).into_iter().chain(marked(path))).collect()
}

/// Finds the outermost directory above a path that is known by its name.
fn named(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').collect();
    (1..parts.len()).map(|end| parts[..end].join("/")).find(|directory| {
        MADE.iter().any(|name| directory == name || directory.ends_with(&format!("/{name}")))
            || directory.ends_with(".egg-info")
    })
}

/// Finds the directory that a path marks as made by a program.
fn marked(path: &str) -> Option<String> {
    MARKERS.iter().find_map(|(marker, _)| {
        let directory = path.strip_suffix(marker)?.strip_suffix('/')?;
        (!directory.is_empty()).then(|| directory.to_owned())
    })
}

/// Tells whether a path is in a directory.
pub(super) fn is_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

/// Makes a directory of dependencies a finding.
pub(super) fn dependency(change: &Change, directory: &str) -> Held {
    let inside: Vec<&str> =
        change.files.iter().map(|file| file.path.as_str()).filter(|path| is_below(path, directory)).collect();
    let kind = MARKERS.iter().find(|(marker, _)| inside.contains(&format!("{directory}/{marker}").as_str()));
    let kind = kind.map_or("dependencies or a cache", |(_, kind)| kind);
    let count = workspace::counted(inside.len() as u64, "file", "files");
    let what = format!("holds {kind} that a program makes ({count})");
    finding(HeldKind::DependencyDirectory, directory, None, what, &inside.join("\n"))
}

/// Finds new links that lead out of the tree or into git's own directory.
pub(super) fn links(files: &[&ChangedFile]) -> Vec<Held> {
    let found = files.iter().filter(|file| file.is(ObjectKind::Link)).filter_map(|file| {
        let target = file.text_after()?;
        if file.from.is_none() && file.text_before() == Some(target) {
            return None;
        }
        let why = leaves(&file.path, target)?;
        Some(finding(HeldKind::Link, &file.path, None, format!("links to `{target}`, {why}"), target))
    });
    found.collect()
}

/// Says how a link leaves the tree, by its words alone: what is there differs from machine to machine.
fn leaves(path: &str, target: &str) -> Option<&'static str> {
    if Path::new(target).is_absolute() || target.starts_with('~') {
        return Some("which is outside of the project on other machines");
    }
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if parts.pop().is_none() {
                    return Some("which is outside of the project");
                }
            }
            part => parts.push(part),
        }
    }
    parts.iter().any(|part| part.eq_ignore_ascii_case(".git")).then_some("which is git's own")
}
