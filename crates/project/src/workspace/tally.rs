//! The tally of edits: counted at once in a small file, and recorded with the next event.
//!
//! An agent edits far more often than anything else happens to its run, and an edit decides nothing. So a hook only
//! adds a line under the workspace's lock; whoever records an event next records the edits before it. A tally belongs
//! to one stay in one phase and is removed with it. The run knows up to which line it was recorded, so a crash in
//! between neither loses an edit nor counts it twice.
//!
//! ```text
//! k3.e7.0            the stay, and how often the tally was made anew because it had grown long
//! =4 src/a.rs        what was counted before
//! 5 src/a.rs         an edit: the fifth of this file
//! ```

use std::{
    fs::File,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use adapters::boundary;
use engine::{Event, view::Head};

use runs::Current;

use super::{Error, Workspace, lock::Lock};
use crate::{HeadLookup, atomic, quick_head, text};

/// A tally that is longer, in bytes, is made anew with the next event; one that is longer still waits for that.
const LONG: usize = 16 * 1024;
const TOO_LONG: usize = 64 * 1024;
/// The longest tally that is read, in bytes.
const LARGEST: u64 = 1024 * 1024;
/// The most that is kept of a file's name, in characters.
const LONGEST_NAME: usize = 500;

/// How often a file was edited in its phase, and how often is too often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edits {
    pub times: u64,
    pub most: u64,
    pub phase: String,
}

/// Counts an edit of a file in the workspace at `root`; nothing if only the store can tell whether there is a run.
pub fn count_edit(root: &Path, own: &Path, file: &str) -> Result<Option<Edits>, Error> {
    let _lock = Lock::take(own)?;
    let HeadLookup::Known(head) = quick_head(root) else { return Ok(None) };
    let path = own.join("edits");
    let failed = |source| Error::Write { path: path.clone(), source };
    let tally = Tally::read(&path).map_err(failed)?.filter(|tally| tally.stay == head.stay);
    let name: String = file.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect();
    let times = tally.as_ref().and_then(|tally| tally.times(&name)).unwrap_or(0).saturating_add(1);
    match tally {
        Some(tally) if tally.text.len() > TOO_LONG => return Ok(None),
        Some(_) => {
            let mut file = File::options().append(true).open(&path).map_err(failed)?;
            let line = format!("{times} {name}\n");
            boundary::around("edits", || file.write_all(line.as_bytes())).map_err(failed)?;
        }
        None => {
            let text = format!("{}.0\n{times} {name}\n", head.stay);
            atomic::replace(&path, &text).map_err(failed)?;
        }
    }
    let Head { most_edits, phase, .. } = head;
    Ok(Some(Edits { times, most: most_edits, phase }))
}

/// A tally as it was read.
struct Tally {
    /// Its name: the stay and a number.
    name: String,
    stay: String,
    number: u64,
    text: String,
}

impl Tally {
    fn read(path: &Path) -> io::Result<Option<Self>> {
        let text = match text::read(path, LARGEST) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let name = text.lines().next().unwrap_or_default().to_owned();
        let Some((stay, number)) = name.rsplit_once('.') else { return Ok(None) };
        let Ok(number) = number.parse() else { return Ok(None) };
        Ok(Some(Self { stay: stay.to_owned(), number, name, text }))
    }

    /// Returns how often a file was edited.
    fn times(&self, file: &str) -> Option<u64> {
        let times = |line: &str| {
            let (times, name) = line.trim_start_matches('=').split_once(' ')?;
            if name == file { times.parse().ok() } else { None }
        };
        self.text.lines().rev().find_map(times)
    }

    /// Returns the edits, oldest first. A line that was cut short by a full disk is none.
    fn edits(&self) -> Vec<&str> {
        let whole = self.text.rfind('\n').map_or("", |end| &self.text[..=end]);
        let edit = |line: &'_ str| !line.starts_with('=');
        let name = |line: &'_ str| line.find(' ').map(|space| space + 1);
        let lines = whole.lines().skip(1).filter(|line| edit(line));
        lines.filter_map(|line| name(line).map(|start| &line[start..])).collect()
    }

    /// Returns the tally that goes on from here: what was counted, and no edit.
    fn renewed(&self, counts: impl Iterator<Item = (String, u64)>) -> String {
        let mut text = format!("{}.{}\n", self.stay, self.number.saturating_add(1));
        for (file, times) in counts {
            text.push_str(&format!("={times} {file}\n"));
        }
        text
    }
}

impl Workspace {
    fn tally_file(&self) -> PathBuf {
        self.place.own.join("edits")
    }

    /// Tells whether edits were counted that are not recorded.
    pub(super) fn has_tally(&self, current: &Current) -> bool {
        match Tally::read(&self.tally_file()) {
            Ok(None) => false,
            Ok(Some(tally)) => {
                tally.stay == current.run.stay() && tally.edits().len() as u64 > taken(current, &tally)
            }
            Err(_) => true,
        }
    }

    /// Records the edits that were counted since the last event. The caller holds the lock.
    pub(super) fn take_tally(&mut self, current: Current) -> Result<Current, Error> {
        let path = self.tally_file();
        let failed = |source| Error::Write { path: path.clone(), source };
        let Some(tally) = Tally::read(&path).map_err(failed)? else { return Ok(current) };
        if tally.stay != current.run.stay() {
            // A crash left it behind: what it counted was recorded before the phase was left.
            atomic::remove(&path).map_err(failed)?;
            return Ok(current);
        }
        let edits = tally.edits();
        let lines = edits.len() as u64;
        let taken = taken(&current, &tally);
        if lines <= taken {
            return Ok(current);
        }
        let new = edits.iter().skip(usize::try_from(taken).unwrap_or(usize::MAX));
        let files = new.map(|file| (*file).to_owned()).collect();
        let event = Event::EditsCounted { files, tally: tally.name.clone(), lines };
        let current = self.note(current, event)?;
        if tally.text.len() > LONG {
            let counts = current.run.edit_counts.iter().map(|(file, times)| (file.clone(), *times));
            atomic::replace(&path, &tally.renewed(counts)).map_err(failed)?;
        }
        Ok(current)
    }

    /// Removes the tally of a phase that was left.
    pub(super) fn drop_tally(&self) -> Result<(), Error> {
        let path = self.tally_file();
        atomic::remove(&path).map_err(|source| Error::Write { path, source })
    }
}

/// Returns how many edits of a tally are recorded.
fn taken(current: &Current, tally: &Tally) -> u64 {
    match &current.run.tally_taken {
        Some((name, lines)) if *name == tally.name => *lines,
        Some(_) | None => 0,
    }
}
