//! What Claude Code has written down of its sessions, read for what they used.
//!
//! Where a person works in the agent there is no proxy, and the transcripts are all there is. Their form is the agent's
//! own and may change with any release: what is not understood is passed over and counted. Several lines belong to one
//! answer of the model and repeat what it used, also in the files of resumed sessions, so answers are told apart by
//! their ids. Subagents have files of their own.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsStr,
    fs::{self, File},
    io::{self, BufRead as _, BufReader, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use engine::{Time, Usage};
use serde::Deserialize;

/// The most files of one workspace that are read, the newest first.
const MOST_FILES: usize = 500;
/// The most that is read at a time, in bytes.
const MOST_BYTES: u64 = 256 * 1024 * 1024;
/// The longest line that is kept while it is read, in bytes.
const LONGEST_LINE: u64 = 32 * 1024 * 1024;
/// How deep the files of a session are: `SESSION/subagents/FILE`.
const DEEPEST: usize = 3;

/// One answer of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The provider's name for it.
    pub id: String,
    pub at: Time,
    pub model: String,
    /// Without money: that is reckoned by the price list.
    pub usage: Usage,
}

/// The transcripts of a workspace, read as far as they go. Reading again reads only what is new.
#[derive(Debug)]
pub struct Transcripts {
    directory: PathBuf,
    since: Time,
    /// How far each file was read.
    read: BTreeMap<PathBuf, u64>,
    messages: BTreeMap<String, Message>,
    /// Lines that could not be read.
    pub broken: u64,
    /// Set when there was more than is read.
    pub is_cut: bool,
}

impl Transcripts {
    /// Finds the transcripts of a workspace; none if the agent never worked there.
    pub fn of(root: &Path, since: Time) -> Option<Self> {
        Self::in_home(&claude_home()?, root, since)
    }

    /// Finds the transcripts of a workspace in the agent's own directory.
    pub fn in_home(home: &Path, root: &Path, since: Time) -> Option<Self> {
        let directory = home.join("projects").join(slug(root));
        let (read, messages) = (BTreeMap::new(), BTreeMap::new());
        directory.is_dir().then_some(Self { directory, since, read, messages, broken: 0, is_cut: false })
    }

    /// Reads what has been written since.
    pub fn read(&mut self) -> io::Result<()> {
        let mut left = MOST_BYTES;
        for file in self.files()? {
            if left == 0 {
                self.is_cut = true;
                break;
            }
            left = left.saturating_sub(self.read_file(&file, left)?);
        }
        Ok(())
    }

    /// Returns every answer since the beginning, each once.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.messages.values()
    }

    /// Returns the files that have changed since the beginning, the newest first.
    fn files(&mut self) -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        let mut directories = vec![(self.directory.clone(), 1)];
        while let Some((directory, depth)) = directories.pop() {
            for entry in fs::read_dir(&directory)? {
                let entry = entry?;
                let kind = entry.file_type()?;
                let path = entry.path();
                if kind.is_dir() && depth < DEEPEST {
                    directories.push((path, depth + 1));
                } else if kind.is_file() && path.extension() == Some(OsStr::new("jsonl")) {
                    let changed = entry.metadata()?.modified()?;
                    let changed = changed.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
                    found.push((i64::try_from(changed).unwrap_or(i64::MAX), path));
                }
            }
        }
        found.retain(|(changed, _)| *changed >= self.since.millis());
        found.sort();
        if found.len() > MOST_FILES {
            self.is_cut = true;
        }
        Ok(found.into_iter().rev().take(MOST_FILES).map(|(_, path)| path).collect())
    }

    /// Reads the new lines of a file, up to the last that is whole; returns how many bytes that were.
    fn read_file(&mut self, path: &Path, most: u64) -> io::Result<u64> {
        let start = self.read.get(path).copied().unwrap_or(0);
        let mut file = File::open(path)?;
        if start >= file.metadata()?.len() {
            return Ok(0);
        }
        file.seek(SeekFrom::Start(start))?;
        let mut reader = BufReader::new(file);
        let (mut taken, mut line) = (0, Vec::new());
        while taken < most {
            line.clear();
            let length = io::Read::take(&mut reader, LONGEST_LINE).read_until(b'\n', &mut line)? as u64;
            let is_whole = line.last() == Some(&b'\n');
            if !is_whole && length < LONGEST_LINE {
                // The end of the file: nothing, or a line that is just being written.
                break;
            }
            taken += length;
            self.take_line(&line);
        }
        self.is_cut |= taken >= most;
        self.read.insert(path.to_owned(), start + taken);
        Ok(taken)
    }

    fn take_line(&mut self, line: &[u8]) {
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        if !line.starts_with(b"{") || !line.ends_with(b"}") {
            self.broken += 1;
            return;
        }
        // Most lines are long and say nothing of what was used.
        if !contains(line, b"\"usage\"") {
            return;
        }
        match serde_json::from_slice::<Line>(line) {
            Ok(line) => self.take(line),
            Err(_) => self.broken += 1,
        }
    }

    fn take(&mut self, line: Line) {
        let (Some(message), Some(at)) = (line.message, line.timestamp) else { return };
        let (Some(id), Some(used)) = (message.id, message.usage) else { return };
        if line.kind.as_deref() != Some("assistant") || at < self.since {
            return;
        }
        let model = message.model.unwrap_or_default();
        let known = self.messages.entry(id.clone());
        let known = known.or_insert(Message { id, at, model, usage: Usage::default() });
        let usage = &mut known.usage;
        // The lines of one answer say the same, or more as it goes on.
        usage.input_tokens = usage.input_tokens.max(used.input_tokens);
        usage.output_tokens = usage.output_tokens.max(used.output_tokens);
        usage.cache_read_tokens = usage.cache_read_tokens.max(used.cache_read_input_tokens);
        usage.cache_write_tokens = usage.cache_write_tokens.max(used.cache_creation_input_tokens);
        known.at = known.at.min(at);
    }
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: Option<String>,
    timestamp: Option<Time>,
    message: Option<Said>,
}

#[derive(Deserialize)]
struct Said {
    id: Option<String>,
    model: Option<String>,
    usage: Option<Used>,
}

#[derive(Deserialize)]
struct Used {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    #[serde(default)]
    cache_read_input_tokens: u64,
    #[serde(default)]
    cache_creation_input_tokens: u64,
}

/// Returns the agent's own directory.
pub(super) fn claude_home() -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("CLAUDE_CONFIG_DIR").or_else(|| absolute("HOME").map(|home| home.join(".claude")))
}

/// Returns the name under which the agent keeps what belongs to a directory.
fn slug(root: &Path) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    root.to_string_lossy().chars().map(plain).collect()
}

fn contains(line: &[u8], part: &[u8]) -> bool {
    line.windows(part.len()).any(|window| window == part)
}
