//! The commit guard: what is looked at before warp commits the work of a run.
//!
//! [`judge`] is pure: it takes what a commit changes and says what is held, each with where, why and what to do. `look`
//! gathers a change from git. Whether somebody is told or asked about it is decided where commits are made (`next`).
//!
//! Invariants:
//! - Only what the change adds counts: a secret, a link or a skipped test that was there before is not held.
//! - No finding repeats a secret.
//! - What cannot be looked at, because it is binary or too large, is held for its size or not at all.

mod look;
mod narrowed;
mod places;
mod sources;
mod tested;

use std::collections::BTreeSet;

use adapters::{
    git::{ObjectKind, lfs},
    secrets::Secrets,
};
use engine::{Held, HeldKind, Run, digest, keys};

pub use look::{look, tests_in};

/// The most findings of one change that are told.
const MOST_HELD: usize = 60;
/// The most that is said of a name or a path, in characters.
const LONGEST_NAME: usize = 200;

/// Changes of a commit.
#[derive(Clone, Debug, Default)]
pub struct Change {
    pub files: Vec<ChangedFile>,
    /// Parent directories of changed files that existed before.
    pub directories_before: BTreeSet<String>,
    /// Changed files stored in Git LFS.
    pub lfs: BTreeSet<String>,
    /// Whether the list is truncated.
    pub is_cut: bool,
}

/// A changed file.
#[derive(Clone, Debug)]
pub struct ChangedFile {
    pub path: String,
    /// Previous path of a moved file.
    pub from: Option<String>,
    pub before: Option<Content>,
    pub after: Option<Content>,
}

/// Content of a file on one side of the change.
#[derive(Clone, Debug)]
pub struct Content {
    pub kind: ObjectKind,
    pub id: String,
    /// Size in bytes.
    pub size: u64,
    /// The text, if it is text.
    pub text: Option<String>,
}

/// Limits of a commit.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum file size, in bytes.
    pub file: u64,
    /// Maximum number of new files.
    pub new_files: u64,
}

impl Limits {
    pub fn of(run: &Run) -> Self {
        Self {
            file: run.settings.get(keys::GUARD_MAX_FILE_MB).saturating_mul(1024 * 1024),
            new_files: run.settings.get(keys::GUARD_MAX_NEW_FILES),
        }
    }
}

impl ChangedFile {
    fn is_new(&self) -> bool {
        self.before.is_none() && self.after.is_some()
    }

    fn text_before(&self) -> Option<&str> {
        self.before.as_ref()?.text.as_deref()
    }

    fn text_after(&self) -> Option<&str> {
        self.after.as_ref()?.text.as_deref()
    }

    fn is(&self, kind: ObjectKind) -> bool {
        self.after.as_ref().is_some_and(|after| after.kind == kind)
    }
}

/// Returns the findings that hold back a change, most urgent first.
pub fn judge(change: &Change, limits: &Limits, secrets: &Secrets) -> Vec<Held> {
    let directories = places::dependency_directories(change);
    let is_apart =
        |file: &&ChangedFile| !directories.iter().any(|directory| places::is_below(&file.path, directory));
    let own: Vec<&ChangedFile> = change.files.iter().filter(is_apart).collect();
    let mut held = secret(&own, secrets);
    held.extend(large(&own, limits));
    held.extend(lfs_content(&own, &change.lfs));
    held.extend(many(&own, change.is_cut && directories.is_empty(), limits));
    held.extend(directories.iter().map(|directory| places::dependency(change, directory)));
    held.extend(places::links(&own));
    held.extend(tested::deleted(&own));
    held.extend(tested::skipped(&own));
    held.extend(narrowed::narrowed(&own));
    held.sort_by_key(|held| held.kind);
    held.truncate(MOST_HELD);
    held
}

fn secret(files: &[&ChangedFile], secrets: &Secrets) -> Vec<Held> {
    let before: BTreeSet<&str> =
        files.iter().filter_map(|file| file.text_before()).flat_map(str::lines).map(str::trim).collect();
    let mut held = Vec::new();
    for file in files.iter().filter(|file| file.is(ObjectKind::File)) {
        let Some(text) = file.text_after() else { continue };
        for sighting in secrets.in_source(text) {
            let line = text.lines().nth(sighting.line as usize - 1).unwrap_or_default().trim();
            if !before.contains(line) {
                let what = format!("looks like {}", sighting.what);
                held.push(finding(HeldKind::Secret, &file.path, Some(sighting.line), what, line));
            }
        }
    }
    held
}

/// Finds files that are pointers in the repository, or should be, and would be committed with their content.
fn lfs_content(files: &[&ChangedFile], of_lfs: &BTreeSet<String>) -> Vec<Held> {
    let found = files.iter().filter(|file| file.is(ObjectKind::File)).filter_map(|file| {
        let after = file.after.as_ref().filter(|after| after.size > 0)?;
        let was_pointer = file.text_before().is_some_and(lfs::is_pointer);
        let is_pointer = file.text_after().is_some_and(lfs::is_pointer);
        let is_held = (was_pointer || of_lfs.contains(&file.path)) && !is_pointer;
        let what = "belongs to Git LFS, and its content would be committed instead of a pointer".to_owned();
        is_held.then(|| finding(HeldKind::LfsContent, &file.path, None, what, &after.id))
    });
    found.collect()
}

fn large(files: &[&ChangedFile], limits: &Limits) -> Vec<Held> {
    let is_large = |size: u64| size > limits.file;
    let found = files.iter().filter_map(|file| {
        let after = file.after.as_ref().filter(|after| is_large(after.size))?;
        // A large file that was there before is not made smaller by a change of it.
        if file.before.as_ref().is_some_and(|before| is_large(before.size)) {
            return None;
        }
        let what =
            format!("has {:.1} MB; the most is {} MB", megabytes(after.size), limits.file / 1024 / 1024);
        Some(finding(HeldKind::LargeFile, &file.path, None, what, &after.id))
    });
    found.collect()
}

fn many(files: &[&ChangedFile], is_cut: bool, limits: &Limits) -> Option<Held> {
    let new: Vec<&str> = files.iter().filter(|file| file.is_new()).map(|file| file.path.as_str()).collect();
    if new.len() as u64 <= limits.new_files && !is_cut {
        return None;
    }
    let top = new.first().and_then(|path| path.split_once('/')).map_or("", |(top, _)| top);
    let common = if new.iter().all(|path| path.starts_with(&format!("{top}/"))) { top } else { "" };
    let count = if is_cut { format!("more than {}", new.len()) } else { new.len().to_string() };
    let what = format!("{count} new files in one commit; the most is {}", limits.new_files);
    Some(finding(HeldKind::ManyFiles, common, None, what, &new.join("\n")))
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / (1024.0 * 1024.0)
}

/// Makes a finding. `about` is what an accepted one holds for.
fn finding(kind: HeldKind, path: &str, line: Option<u64>, what: String, about: &str) -> Held {
    let short = |text: &str| text.chars().take(LONGEST_NAME).collect::<String>();
    Held { kind, path: short(path), line, what: short(&what), digest: digest(about.as_bytes()) }
}

#[cfg(test)]
mod corpus;
