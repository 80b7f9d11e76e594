//! What a thread has used, from the file in which the client keeps it.

use std::{
    env, fs,
    fs::OpenOptions,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::stream;
use crate::{agent::Usage, plain, sandbox::Walls};

/// How much of the end of the file is looked at; what was used is told after each request.
const LOOKED_AT: u64 = 4 * 1024 * 1024;
/// Threads lie in directories by year, month and day.
const DEPTH: usize = 3;

/// Returns where the client keeps its threads.
pub(super) fn sessions(walls: Option<&Walls>) -> PathBuf {
    match walls {
        Some(walls) => walls.kept_of(".codex", "sessions"),
        None => Path::new(&env::var_os("HOME").unwrap_or_default()).join(".codex/sessions"),
    }
}

/// Returns what a thread has used so far, if that can be found out.
pub(super) fn usage(sessions: &Path, thread: &str) -> Option<Usage> {
    let file = find(sessions, &format!("-{thread}.jsonl"), DEPTH)?;
    let end = end_of(&file).ok()?;
    let told = |line: &str| {
        let line: Value = serde_json::from_str(line).ok()?;
        let payload = line.get("payload").filter(|payload| payload["type"] == "token_count")?;
        payload["info"].get("total_token_usage").map(stream::usage)
    };
    end.lines().rev().find_map(told)
}

fn find(directory: &Path, name_end: &str, depth: usize) -> Option<PathBuf> {
    // An agent may have written here: a link to elsewhere is none of the client's.
    let is_own = |entry: &fs::DirEntry| {
        entry.file_type().is_ok_and(|kind| if depth == 0 { kind.is_file() } else { kind.is_dir() })
    };
    let entries = fs::read_dir(directory).ok()?.flatten().filter(is_own);
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    if depth == 0 {
        return entries.into_iter().find(|path| path.to_string_lossy().ends_with(name_end));
    }
    // The latest first.
    entries.sort_by(|one, other| other.cmp(one));
    entries.iter().find_map(|entry| find(entry, name_end, depth - 1))
}

fn end_of(path: &Path) -> io::Result<String> {
    let mut file = plain::open(path, OpenOptions::new().read(true))?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LOOKED_AT)))?;
    let mut bytes = Vec::new();
    file.take(LOOKED_AT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_has_used_is_what_its_file_tells_last() {
        let sessions = tempfile::tempdir().unwrap();
        assert_eq!(usage(sessions.path(), "abc"), None);
        let day = sessions.path().join("2026/11/16");
        fs::create_dir_all(&day).unwrap();
        let line = |input: u64| {
            format!(
                r#"{{"type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{{"input_tokens":{input},"cached_input_tokens":10,"output_tokens":7}}}}}}}}"#
            )
        };
        let text = format!("{}\n{}\n{{\"type\":\"other\"}}\n", line(100), line(300));
        fs::write(day.join("rollout-2026-11-16T15-02-55-abc.jsonl"), text).unwrap();
        fs::write(day.join("rollout-2026-11-16T15-02-56-abd.jsonl"), line(9)).unwrap();
        let wanted = Usage { input: 290, output: 7, cache_read: 10, cache_write: 0 };
        assert_eq!(usage(sessions.path(), "abc"), Some(wanted));
    }
}
