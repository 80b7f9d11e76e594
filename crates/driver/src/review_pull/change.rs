//! The change of a pull request, in a workspace that is taken for looking at it.

use std::{
    fs::File,
    io::Read as _,
    path::{Component, Path},
};

use forge::{ItemId, Pull};
use project::{
    Workspace, counted,
    slots::{Kind, Pool, Slot},
    spelled,
};
use review::{
    FileDiff, Lines, Part, Place,
    diff::{self, MOST_PARTS, PART},
};

use super::ReviewError;

/// The most files of a change that is reviewed by an agent.
const MOST_FILES: usize = 1000;
/// The most of a file that is read to count its lines, in bytes.
const LARGEST: u64 = 16 * 1024 * 1024;

/// What is put to a reviewer.
pub(super) struct Change {
    /// The commit that it began at.
    pub(super) base: String,
    /// Every file of it.
    pub(super) files: Vec<String>,
    pub(super) binary: Vec<String>,
    pub(super) generated: Vec<String>,
    /// All of it, or what has changed since the round before.
    pub(super) parts: Vec<Part>,
    /// The lines that have changed since the round before, where there was one.
    pub(super) delta: Option<Lines>,
    /// What a person should know, a line each.
    pub(super) notes: Vec<String>,
}

/// Takes a workspace that stands at the commit that a pull request offers.
pub(super) fn take(here: &Workspace, number: ItemId, pull: &Pull) -> Result<Slot, ReviewError> {
    let no_commit = |why: String| ReviewError::NoCommit { number, head: pull.head.clone(), why };
    let slot = Pool::of(&here.place, &here.dirs)?.take(Kind::Clone, &pull.target)?;
    // One that a person has not at home may be at the remote.
    let brought = slot.bring_target(&pull.branch, None);
    brought
        .or_else(|_| slot.bring_target(&pull.branch, slot.remote().as_deref()))
        .map_err(|error| no_commit(spelled(&error)))?;
    slot.begin_branch(&pull.branch, &pull.head).map_err(|error| no_commit(spelled(&error)))?;
    match slot.place.git().head().found() {
        Some(head) if head == pull.head => Ok(slot),
        Some(head) => Err(no_commit(format!("the workspace stands at {head}"))),
        None => Err(no_commit("the workspace cannot be read".to_owned())),
    }
}

/// Reads the change. `since` is the commit of the round before. The inner error says why it is for a person.
pub(super) fn read(
    slot: &Slot,
    pull: &Pull,
    since: Option<&str>,
) -> Result<Result<Change, String>, ReviewError> {
    let git = slot.place.git();
    let target = slot.base().unwrap_or(&pull.target);
    let base = git
        .fork_of_commit(target)
        .ok_or_else(|| ReviewError::World(format!("it has no commit in common with `{}`", pull.target)))?;
    let files = git.names(&["--ignore-submodules=none", &base, &pull.head, "--"]);
    let files = files.map_err(ReviewError::World)?;
    if files.len() > MOST_FILES {
        return Ok(Err(too_large(&format!("it changes {} files", files.len()))));
    }
    let (generated, written): (Vec<String>, Vec<String>) =
        files.iter().cloned().partition(|file| diff::is_generated(file));
    let Some(whole) = patch(slot, &base, &pull.head, &written)? else {
        return Ok(Err(too_large("its text is longer than a megabyte")));
    };
    let binary = whole.iter().filter(|file| file.is_binary).map(|file| file.path.clone()).collect();
    let mut notes = Vec::new();
    let (shown, delta) = match since.map(|since| patch(slot, since, &pull.head, &written)) {
        None => (whole, None),
        Some(Ok(Some(newer))) => {
            // What came from the target meanwhile is not the author's.
            let delta = diff::lines(&newer).within(&diff::lines(&whole));
            (newer, Some(delta))
        }
        Some(Ok(None) | Err(_)) => {
            notes.push(
                "The commit of the round before cannot be compared with this one: all of the change was read again.".to_owned(),
            );
            let delta = diff::lines(&whole);
            (whole, Some(delta))
        }
    };
    let mut parts = diff::parts(&shown, PART);
    if parts.len() > MOST_PARTS {
        let count = counted(parts.len() as u64, "part", "parts");
        return Ok(Err(too_large(&format!("it would be read in {count}"))));
    }
    if parts.is_empty() {
        parts.push(Part::default());
    }
    Ok(Ok(Change { base, files, binary, generated, parts, delta, notes }))
}

/// Returns the patch of these files; nothing if it is too long to be read whole.
fn patch(slot: &Slot, base: &str, tip: &str, files: &[String]) -> Result<Option<Vec<FileDiff>>, ReviewError> {
    if files.is_empty() {
        // No file would mean every file.
        return Ok(Some(Vec::new()));
    }
    let (text, is_cut) = slot.place.git().patch_of(base, tip, files).map_err(ReviewError::World)?;
    Ok((!is_cut).then(|| diff::parse(&text)))
}

fn too_large(why: &str) -> String {
    format!("the change is too large for an agent to read all of it ({why}): split it, or review it yourself")
}

impl Change {
    /// Tells whether a place exists: a line of a file in the tree, or a file that the change removes.
    pub(super) fn is_place(&self, root: &Path, place: &Place) -> bool {
        let path = Path::new(&place.path);
        let stays_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !stays_inside || place.path.is_empty() {
            return false;
        }
        let Some(count) = count_lines(root, path) else { return self.files.contains(&place.path) };
        place.lines.is_none_or(|(first, last)| first >= 1 && last <= count.max(1))
    }
}

/// Counts the lines of a file that lies in the tree itself; no link is followed.
fn count_lines(root: &Path, path: &Path) -> Option<u64> {
    let mut at = root.to_owned();
    for part in path.components() {
        at.push(part);
        if at.symlink_metadata().ok()?.is_symlink() {
            return None;
        }
    }
    let mut text = Vec::new();
    let file = File::open(&at).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    file.take(LARGEST).read_to_end(&mut text).ok()?;
    let ends = text.iter().filter(|byte| **byte == b'\n').count() as u64;
    Some(ends + u64::from(text.last().is_some_and(|byte| *byte != b'\n')))
}
