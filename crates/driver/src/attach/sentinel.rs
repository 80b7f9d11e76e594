//! The phase file: what an agent writes to say where it is, and the event that each line stands for.
//!
//! The first line is the sentinel, `PHASE:` and a word; a second may give the reason. Which event a word stands for, the
//! workflow says ([`engine::Workflow::means`]).

use std::{
    fs, io,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use adapters::{
    clock::Bell,
    plain, sandbox, secrets,
    watch::{Alarm, Watch},
};

/// How a sentinel begins.
const PREFIX: &str = "PHASE:";
/// The most that is read of a phase file, in bytes.
const LONGEST: u64 = 8 * 1024;
/// The names of the phase file, of the directory in which it is alone, and of the file that remembers what was written last.
const FILE: &str = "phase";
const SHARED: &str = "agent";
const LAST: &str = "last-phase";

/// What an agent has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sentinel {
    pub(super) word: String,
    pub(super) reason: Option<String>,
}

impl Sentinel {
    /// Reads what is in a phase file; nothing if it is no sentinel.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let word: String = lines.next()?.split_whitespace().collect();
        let word = word.strip_prefix(PREFIX).filter(|word| !word.is_empty())?.to_owned();
        let reason = lines.find_map(|line| line.trim().strip_prefix("Reason:"));
        let reason = reason.map(|reason| reason.trim().to_owned()).filter(|reason| !reason.is_empty());
        Some(Self { word, reason })
    }
}

/// A file as it was when it was read: when it was written, and with what.
type Stamp = (i64, i64, String);

/// The files that an agent may write its phase to.
#[derive(Debug)]
pub(super) struct PhaseFile {
    /// Where warp's own files are. An agent behind walls cannot write there, so nothing there can be a link of its making.
    pub(super) directory: PathBuf,
    /// The directory of the file that `PHASE_FILE` names, which is the agent's to write.
    pub(super) shared: PathBuf,
    /// The file in the directory for temporary files, if it could be had.
    pub(super) elsewhere: Option<PathBuf>,
    pub(super) watch: Watch,
    /// Rings when something is written.
    _alarm: Alarm,
    /// What was written last, by this agent or one before it.
    pub(super) last: Option<Sentinel>,
    read: Vec<(PathBuf, Stamp)>,
    /// Holds the file elsewhere for as long as it is watched.
    _held: Option<fs::File>,
}

impl PhaseFile {
    /// Makes the files anew, and rings a bell whenever something is written to them; what an earlier agent wrote last is remembered.
    pub(super) fn make(directory: &Path, elsewhere: &Path, bell: Bell) -> io::Result<Self> {
        let shared = directory.join(SHARED);
        fs::create_dir_all(directory)?;
        let last = read(&directory.join(LAST))?.and_then(|stamp| Sentinel::parse(&stamp.2));
        let held = own(elsewhere);
        let elsewhere = held.as_ref().map(|_| elsewhere.to_owned());
        // All of it: an earlier agent may have left something else under the name of the file.
        match fs::remove_dir_all(&shared) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Err(_) | Ok(()) => {}
        }
        fs::create_dir(&shared)?;
        fs::File::create_new(shared.join(FILE))?;
        let mut watched = vec![shared.as_path()];
        watched.extend(elsewhere.as_deref());
        let watch = Watch::over(&watched)?;
        let _alarm = Watch::over(&watched)?.call(move || bell.ring())?;
        let directory = directory.to_owned();
        Ok(Self { directory, shared, elsewhere, watch, last, read: Vec::new(), _held: held, _alarm })
    }

    pub(super) fn path(&self) -> PathBuf {
        self.shared.join(FILE)
    }

    /// Takes what was written since it was last asked. A file that cannot be read does not keep the other one from it.
    pub(super) fn take(&mut self) -> io::Result<Option<Sentinel>> {
        let mut failure = None;
        let files = [Some(self.path()), self.elsewhere.clone()];
        for file in files.into_iter().flatten() {
            let stamp = match read(&file) {
                Ok(Some(stamp)) => stamp,
                Ok(None) => continue,
                Err(error) => {
                    failure = Some(error);
                    continue;
                }
            };
            let known = self.read.iter_mut().find(|(known, _)| *known == file);
            match known {
                Some((_, known)) if *known == stamp => continue,
                Some((_, known)) => known.clone_from(&stamp),
                None => self.read.push((file, stamp.clone())),
            }
            let text = secrets::redacted(stamp.2);
            let Some(sentinel) = Sentinel::parse(&text) else { continue };
            // Only for who comes after a crash; one that cannot be written is missed by nobody else.
            let _ = fs::write(self.directory.join(LAST), &text);
            self.last = Some(sentinel.clone());
            return Ok(Some(sentinel));
        }
        failure.map_or(Ok(None), Err)
    }
}

impl Drop for PhaseFile {
    /// Takes the agent's own files away, which may hold anything; they are made anew for the next one.
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.shared);
        if let Some(elsewhere) = &self.elsewhere {
            let _ = fs::remove_file(elsewhere);
        }
    }
}

/// Reads a file; nothing if there is none.
fn read(file: &Path) -> io::Result<Option<Stamp>> {
    let opened = match plain::open(file, fs::OpenOptions::new().read(true)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let data = opened.metadata()?;
    let mut text = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(opened, LONGEST), &mut text)?;
    Ok(Some((data.mtime(), data.mtime_nsec(), String::from_utf8_lossy(&text).into_owned())))
}

/// Makes an empty file in a directory that is everybody's, and holds it; nothing if it is somebody else's, or held by
/// another driver.
fn own(path: &Path) -> Option<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    if let Ok(file) = options.open(path) {
        return file.try_lock().is_ok().then_some(file);
    }
    // One that an earlier driver has left.
    let file = plain::open(path, fs::OpenOptions::new().write(true)).ok()?;
    let data = file.metadata().ok()?;
    if !sandbox::is_ours(&data) || data.nlink() != 1 {
        return None;
    }
    file.try_lock().ok()?;
    file.set_len(0).ok()?;
    Some(file)
}

#[cfg(test)]
mod tests {
    use adapters::clock::Clock;

    use super::*;

    fn parse(text: &str) -> Option<(String, Option<String>)> {
        Sentinel::parse(text).map(|sentinel| (sentinel.word, sentinel.reason))
    }

    #[test]
    fn a_file_that_is_everybodys_to_make_is_held_by_one_and_never_followed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.phase");
        let held = own(&path).unwrap();
        assert!(own(&path).is_none());
        drop(held);
        fs::write(&path, "PHASE:done").unwrap();
        assert!(own(&path).is_some());
        assert_eq!(fs::read_to_string(&path).unwrap(), "");
        let link = directory.path().join("link.phase");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(own(&link).is_none());
    }

    #[test]
    fn what_an_agent_has_put_in_place_of_its_file_is_neither_read_nor_written() {
        let place = tempfile::tempdir().unwrap();
        let (outside, elsewhere) = (place.path().join("outside"), place.path().join("x.phase"));
        let directory = place.path().join("own");
        fs::write(&outside, "PHASE:done\n").unwrap();
        let mut files = PhaseFile::make(&directory, &elsewhere, Clock::default().bell()).unwrap();
        fs::remove_file(files.path()).unwrap();
        assert!(files.take().unwrap().is_none());
        std::os::unix::fs::symlink(&outside, files.path()).unwrap();
        assert!(files.take().is_err());
        fs::write(&elsewhere, "PHASE:failed\n").unwrap();
        assert_eq!(files.take().unwrap().unwrap().word, "failed");
        drop(files);
        let files = PhaseFile::make(&directory, &elsewhere, Clock::default().bell()).unwrap();
        assert_eq!(files.last.as_ref().unwrap().word, "failed");
        assert_eq!(fs::read_to_string(&outside).unwrap(), "PHASE:done\n");
        assert!(!files.path().is_symlink());
    }

    #[test]
    fn the_first_line_is_the_sentinel_and_a_reason_may_follow() {
        let some = |word: &str, reason: Option<&str>| Some((word.to_owned(), reason.map(str::to_owned)));
        assert_eq!(parse("PHASE:awaiting_ci\n"), some("awaiting_ci", None));
        assert_eq!(parse("  PHASE: done \n"), some("done", None));
        assert_eq!(parse("PHASE:failed\nReason: no disk\n"), some("failed", Some("no disk")));
        assert_eq!(parse("PHASE:failed\nReason:\n"), some("failed", None));
        for text in ["", "\n", "PHASE:", "awaiting_ci", "x PHASE:done", "\u{0}"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
