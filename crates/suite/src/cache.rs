//! What is remembered of a project's tests, in its state directory: baselines by commit, command and environment, and
//! proofs by command and environment.
//!
//! Small files of JSON, written whole. Any of them can be deleted: what is not there is found out again. One that cannot be
//! read counts as not there.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use adapters::git::slot;
use engine::{Time, digest};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::report::TestReport;
use workspace::text;

/// The directory beside a project's journal.
const DIRECTORY: &str = "tests";
/// How many files are kept.
const MOST: usize = 100;
/// The largest file that is read, in bytes.
const LARGEST: u64 = 16 * 1024 * 1024;

/// Where a project's results are remembered.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    directory: PathBuf,
}

/// Recorded result of the tests on a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestRecord {
    pub passed: bool,
    /// Whether they passed only on the second run.
    #[serde(default)]
    pub second: bool,
    pub report: TestReport,
    #[serde(default)]
    pub flaky: Vec<String>,
    pub seconds: u64,
    pub at: Time,
    /// Summary and tail of the output.
    pub said: String,
    pub output: String,
}

/// Why the proof that tests can fail is not repeated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ProofStatus {
    /// With the source broken, they failed.
    Proved,
    /// A person accepted them as they are.
    Accepted,
}

impl Cache {
    /// Takes the cache of the project that a slot's tree belongs to; nothing if it is no slot's.
    pub(crate) fn of(root: &Path) -> Option<Self> {
        slot::marker(root)?;
        // projects/ID/slots/N/tree
        Some(Self { directory: root.ancestors().nth(3)?.join(DIRECTORY) })
    }

    /// Returns how the tests ended on a commit, if that is known.
    pub(crate) fn baseline(&self, key: &str) -> Option<TestRecord> {
        self.read("baseline", key)
    }

    pub(crate) fn keep_baseline(&self, key: &str, measured: &TestRecord) -> io::Result<()> {
        self.write("baseline", key, measured)
    }

    /// Returns why nobody has to look whether the tests can fail.
    pub(crate) fn proof(&self, key: &str) -> Option<ProofStatus> {
        self.read("proof", key)
    }

    pub(crate) fn keep_proof(&self, key: &str, settled: &ProofStatus) -> io::Result<()> {
        self.write("proof", key, settled)
    }

    /// Forgets a proof, so that it is looked for again.
    pub(crate) fn forget_proof(&self, key: &str) -> io::Result<()> {
        match fs::remove_file(self.file("proof", key)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn file(&self, kind: &str, key: &str) -> PathBuf {
        self.directory.join(format!("{kind}-{key}.json"))
    }

    fn read<T: DeserializeOwned>(&self, kind: &str, key: &str) -> Option<T> {
        serde_json::from_str(&text::read(&self.file(kind, key), LARGEST).ok()?).ok()
    }

    fn write(&self, kind: &str, key: &str, value: &impl Serialize) -> io::Result<()> {
        fs::create_dir_all(&self.directory)?;
        // Two runs may write the same one at once, so each has a draft of its own.
        let draft = tempfile::NamedTempFile::new_in(&self.directory)?;
        serde_json::to_writer(&draft, value)?;
        draft.persist(self.file(kind, key))?;
        self.prune()
    }

    /// Removes the oldest files beyond what is kept, and drafts that a killed process left.
    fn prune(&self) -> io::Result<()> {
        let mut files: Vec<(SystemTime, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            // Another process may have removed it just now.
            if let Ok(at) = entry.metadata().and_then(|data| data.modified()) {
                files.push((at, entry.path()));
            }
        }
        files.sort();
        let beyond = files.len().saturating_sub(MOST);
        for (_, path) in files.into_iter().take(beyond) {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Returns a key of these parts, in which none can be taken for a part of another.
pub(crate) fn key(parts: &[&str]) -> String {
    let mut text = String::new();
    for part in parts {
        text.push_str(&format!("{}:{part}\n", part.len()));
    }
    digest(text).chars().take(32).collect()
}
