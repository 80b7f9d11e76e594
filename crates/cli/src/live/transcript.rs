//! The transcript of a run: what its agent says and does, as JSON lines beside the journal, for other terminals.
//!
//! Whoever drives the run appends; `warp watch` reads. Events are not repeated here: the journal has them. A transcript is
//! for looking on, so it may be deleted at any time and a run does not fail when it cannot be written.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

use adapters::{machine, secrets::redact_value};
use engine::Time;
use project::{Dirs, Place};
use serde_json::{Value, json};

/// The most that one transcript holds, in bytes; past it, the older half is dropped.
const LARGEST: u64 = 4 << 20;
/// How many transcripts of earlier runs are kept.
const EARLIER: usize = 15;
/// How the files end.
const SUFFIX: &str = ".jsonl";

/// Returns the directory of a project's transcripts; nothing if the project never had a run.
pub(crate) fn directory(place: &Place, dirs: &Dirs) -> io::Result<Option<PathBuf>> {
    let id = place.project_id().map_err(io::Error::other)?;
    Ok(id.map(|id| dirs.project(&id).join("live")))
}

/// Makes the directory if it is missing.
pub(crate) fn make(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Appends to the transcript of the run that is driven.
pub(crate) struct Transcript {
    place: Place,
    dirs: Dirs,
    /// The run and its issue; none before the first one begins.
    run: Option<(String, Option<String>)>,
    has_failed: bool,
}

impl Transcript {
    pub(crate) fn new(place: Place, dirs: Dirs) -> Self {
        Self { place, dirs, run: None, has_failed: false }
    }

    /// Notes which run the next lines are about.
    pub(super) fn follow(&mut self, run: &str, issue: Option<&str>) {
        if self.run.as_ref().is_none_or(|(known, _)| known != run) {
            self.run = Some((run.to_owned(), issue.map(str::to_owned)));
        }
    }

    /// Appends what is shown, with its lines as text; returns the first error, and no later one.
    pub(super) fn append(&mut self, mut shown: Value, lines: &str) -> Option<io::Error> {
        let (run, issue) = self.run.as_ref()?;
        shown["at"] = json!(machine::now());
        shown["run"] = json!(run);
        shown["issue"] = json!(issue);
        shown["lines"] = json!(lines);
        redact_value(&mut shown);
        let appended = directory(&self.place, &self.dirs)
            .and_then(|directory| directory.map_or(Ok(()), |directory| append(&directory, run, &shown)));
        appended.err().filter(|_| !std::mem::replace(&mut self.has_failed, true))
    }
}

fn append(directory: &Path, run: &str, line: &Value) -> io::Result<()> {
    let path = directory.join(format!("{run}{SUFFIX}"));
    let mut file = match OpenOptions::new().append(true).open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make(directory)?;
            remove_oldest(directory)?;
            OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?
        }
        opened => opened?,
    };
    file.write_all(format!("{line}\n").as_bytes())?;
    if file.metadata()?.len() > LARGEST { drop_older_half(directory, &path) } else { Ok(()) }
}

/// Puts the newer half of a file in its place.
fn drop_older_half(directory: &Path, path: &Path) -> io::Result<()> {
    let text = fs::read(path)?;
    let half = text.len() / 2;
    let newer = text[half..].iter().position(|byte| *byte == b'\n').map_or(half, |end| half + end + 1);
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(&text[newer..])?;
    file.persist(path)?;
    Ok(())
}

/// Makes room for one more file.
fn remove_oldest(directory: &Path) -> io::Result<()> {
    let mut files: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        files.push((entry.metadata()?.modified()?, entry.path()));
    }
    files.sort();
    files[..files.len().saturating_sub(EARLIER)].iter().try_for_each(|(_, path)| fs::remove_file(path))
}

/// A line of a transcript.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) at: Time,
    pub(crate) run: String,
    pub(crate) value: Value,
}

impl Told {
    fn parse(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        let at = serde_json::from_value(value.get("at")?.clone()).ok()?;
        Some(Self { at, run: value.get("run")?.as_str()?.to_owned(), value })
    }
}

/// Reads what is appended to the transcripts of a project.
pub(crate) struct Reader {
    directory: PathBuf,
    /// How far each file is read.
    read: BTreeMap<PathBuf, Position>,
}

#[derive(Default)]
struct Position {
    inode: u64,
    offset: u64,
    /// The last line, by which its place is found in a file that has lost its older half.
    last: String,
}

impl Reader {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { directory, read: BTreeMap::new() }
    }

    /// Returns the lines that were appended since the last call: of one run, or of all.
    pub(crate) fn read(&mut self, run: Option<&str>) -> io::Result<Vec<Told>> {
        let mut told = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let path = entry?.path();
            let name =
                path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(SUFFIX));
            if name.is_some_and(|name| run.is_none_or(|run| run == name)) {
                self.read_file(path, &mut told)?;
            }
        }
        Ok(told)
    }

    fn read_file(&mut self, path: PathBuf, told: &mut Vec<Told>) -> io::Result<()> {
        let mut file = match File::open(&path) {
            // It was the oldest one.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        let (inode, size) = (file.metadata()?.ino(), file.metadata()?.len());
        let position = self.read.entry(path).or_default();
        let is_same = position.inode == inode && position.offset <= size;
        file.seek(SeekFrom::Start(if is_same { position.offset } else { 0 }))?;
        let mut bytes = Vec::new();
        file.take(2 * LARGEST).read_to_end(&mut bytes)?;
        // A line that is being written is read when it is whole.
        bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1));
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().collect();
        let known = if is_same { None } else { lines.iter().rposition(|line| *line == position.last) };
        let new = &lines[known.map_or(0, |known| known + 1)..];
        told.extend(new.iter().filter_map(|line| Told::parse(line)));
        position.offset = if is_same { position.offset } else { 0 } + bytes.len() as u64;
        position.inode = inode;
        if let Some(last) = lines.last() {
            position.last = (*last).to_owned();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(number: usize) -> Value {
        json!({ "at": Time::from_millis(0), "run": "r", "number": number, "lines": "x".repeat(1000) })
    }

    fn numbers(reader: &mut Reader) -> Vec<u64> {
        let told = reader.read(Some("r")).unwrap();
        told.iter().map(|told| told.value["number"].as_u64().unwrap()).collect()
    }

    #[test]
    fn a_reader_misses_no_line_when_the_older_half_is_dropped() {
        let place = tempfile::tempdir().unwrap();
        let mut reader = Reader::new(place.path().to_owned());
        let most = LARGEST as usize / 1000;
        let mut seen = Vec::new();
        for number in 0..2 * most {
            append(place.path(), "r", &said(number)).unwrap();
            if number % 500 == 0 {
                seen.extend(numbers(&mut reader));
            }
        }
        seen.extend(numbers(&mut reader));
        assert_eq!(seen, (0..2 * most as u64).collect::<Vec<_>>());
        assert!(fs::metadata(place.path().join("r.jsonl")).unwrap().len() <= LARGEST);
        assert!(reader.read(Some("another")).unwrap().is_empty());
    }

    #[test]
    fn half_a_line_is_read_when_it_is_whole_and_what_is_no_line_is_skipped() {
        let place = tempfile::tempdir().unwrap();
        let mut reader = Reader::new(place.path().to_owned());
        let path = place.path().join("r.jsonl");
        let (line, half) = (said(7).to_string(), 30);
        fs::write(&path, format!("no JSON\n{}", &line[..half])).unwrap();
        assert!(numbers(&mut reader).is_empty());
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(format!("{}\n", &line[half..]).as_bytes()).unwrap();
        assert_eq!(numbers(&mut reader), [7]);
    }

    #[test]
    fn few_earlier_transcripts_are_kept() {
        let place = tempfile::tempdir().unwrap();
        for number in 0..EARLIER + 5 {
            append(place.path(), &format!("r{number:02}"), &said(number)).unwrap();
        }
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), EARLIER + 1);
    }
}
