//! Gathers what a commit in the making changes.

use std::{collections::BTreeMap, fs, path::Path};

use adapters::git::{Git, Object, ObjectKind, Prepared, StagedFile};

use super::{
    Change, ChangedFile, Content, places,
    sources::{self, State},
};
use workspace::Place;

/// The largest text that is looked at line by line, in bytes.
const LARGEST_TEXT: u64 = 8 * 1024 * 1024;
/// How much of a file is looked at to tell whether it is text, in bytes.
const LOOKED_AT: usize = 8000;
/// The most contents that are looked at, in bytes.
const MOST_CONTENT: u64 = 128 * 1024 * 1024;

/// Returns the changes of a prepared commit.
pub fn look(git: &Git<'_>, root: &Path, prepared: &Prepared<'_>) -> Result<Change, String> {
    let staged = prepared.staged()?;
    let new = staged.files.iter().filter(|file| file.before.is_none()).map(|file| file.path.as_str());
    let candidates = places::candidates(new);
    let names: Vec<&str> = candidates.iter().map(String::as_str).collect();
    let directories_before = git.directories_before(&names)?;
    let made: Vec<&String> = candidates.iter().filter(|name| !directories_before.contains(*name)).collect();
    let is_apart = |file: &&StagedFile| !made.iter().any(|directory| places::is_below(&file.path, directory));
    let read: Vec<&StagedFile> = staged.files.iter().filter(is_apart).collect();
    let contents = git.contents(&wanted(&read))?;
    let files = staged.files.iter().map(|file| changed(root, file, &contents)).collect();
    let changed: Vec<&str> = read.iter().map(|file| file.path.as_str()).collect();
    let lfs = git.files_of_lfs(&changed)?;
    Ok(Change { files, directories_before, lfs, is_cut: !staged.is_whole })
}

/// Returns the contents that are looked at: what is new, and what tests and links were before.
fn wanted<'a>(files: &[&'a StagedFile]) -> Vec<&'a Object> {
    let mut sum = 0;
    let mut wanted = Vec::new();
    for object in files.iter().flat_map(|file| [&file.after, &file.before]).flatten() {
        let is_wanted = object.kind != ObjectKind::Submodule && object.size <= LARGEST_TEXT;
        sum += if is_wanted { object.size } else { 0 };
        if is_wanted && sum <= MOST_CONTENT {
            wanted.push(object);
        }
    }
    wanted
}

fn changed(root: &Path, file: &StagedFile, contents: &BTreeMap<String, Vec<u8>>) -> ChangedFile {
    let content = |object: &Object| Content {
        kind: object.kind,
        id: object.id.clone(),
        size: object.size,
        text: contents.get(&object.id).and_then(|bytes| text(bytes)),
    };
    let mut after = file.after.as_ref().map(content);
    if let Some(after) =
        after.as_mut().filter(|after| after.text.is_none() && !contents.contains_key(&after.id))
    {
        after.text = in_tree(root, &file.path, after);
    }
    ChangedFile {
        path: file.path.clone(),
        from: file.from.clone(),
        before: file.before.as_ref().map(content),
        after,
    }
}

/// Reads a file of the working tree that is too large to be asked of git, if it is as large as what is committed.
fn in_tree(root: &Path, path: &str, after: &Content) -> Option<String> {
    if after.kind != ObjectKind::File || after.size > LARGEST_TEXT || sources::may_hold_tests(path) {
        return None;
    }
    let file = root.join(path);
    let metadata = fs::symlink_metadata(&file).ok().filter(|metadata| metadata.is_file())?;
    (metadata.len() == after.size).then(|| fs::read(file).ok()).flatten().and_then(|bytes| text(&bytes))
}

/// Returns a content as text, unless it is binary.
fn text(bytes: &[u8]) -> Option<String> {
    let is_binary = bytes.iter().take(LOOKED_AT).any(|byte| *byte == 0);
    (!is_binary).then(|| String::from_utf8_lossy(bytes).into_owned())
}

/// Returns the names of the tests in the source of a tree that are written to run in any case. Those that their source
/// skips are [`super::judge`]'s to hold.
pub fn tests_in(place: &Place) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for path in place.git().tracked()?.iter().filter(|path| sources::may_hold_tests(path)) {
        // What is not there or no text has no tests.
        let Ok(text) = fs::read_to_string(place.root.join(path)) else { continue };
        let tests = sources::tests(path, &text);
        if !tests.iter().any(|test| test.is_only) {
            let active = tests.into_iter().filter(|test| test.state == State::Active);
            names.extend(active.map(|test| test.name));
        }
    }
    Ok(names)
}
