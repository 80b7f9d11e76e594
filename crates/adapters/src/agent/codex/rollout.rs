//! What a thread has used, by which model and within which limits, from the file in which the client keeps it.

use std::{
    env, fs,
    fs::OpenOptions,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use engine::Time;
use serde_json::Value;

use super::stream;
use crate::{agent::Usage, plain, sandbox::Walls};

/// How much of the end of the file is looked at; what was used is told after each request.
const LOOKED_AT: u64 = 4 * 1024 * 1024;
/// From which percentage on a window counts as used up. The last request may not fit into what is left, and the client is
/// then told of no window at all.
const USED_UP: f64 = 90.0;
/// Threads lie in directories by year, month and day.
const DEPTH: usize = 3;

/// Returns where the client keeps its threads.
pub(super) fn sessions(walls: Option<&Walls>) -> PathBuf {
    match walls {
        Some(walls) => walls.kept_of(".codex", "sessions"),
        None => Path::new(&env::var_os("HOME").unwrap_or_default()).join(".codex/sessions"),
    }
}

/// Contents of a thread file.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Rollout {
    /// What the whole thread has used.
    pub(super) usage: Option<Usage>,
    /// Tokens that its last request held.
    pub(super) context: u64,
    pub(super) model: Option<String>,
    /// When the window begins anew that is used up, or nearly so.
    pub(super) resets_at: Option<Time>,
}

/// Returns what is told of a thread so far, as far as that can be found out.
pub(super) fn told(sessions: &Path, thread: &str) -> Rollout {
    let file = find(sessions, &format!("-{thread}.jsonl"), DEPTH);
    let end = file.and_then(|file| end_of(&file).ok()).unwrap_or_default();
    let mut told = Rollout::default();
    // The last word counts.
    for line in end.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let payload = &line["payload"];
        if line["type"] == "turn_context" {
            told.model = payload["model"].as_str().map(ToOwned::to_owned).or(told.model);
        }
        if payload["type"] == "token_count" {
            told.usage = payload["info"].get("total_token_usage").map(stream::usage).or(told.usage);
            let last = &payload["info"]["last_token_usage"]["input_tokens"];
            told.context = last.as_u64().unwrap_or(told.context);
            told.resets_at = resets_at(&payload["rate_limits"]).unwrap_or(told.resets_at);
        }
    }
    told
}

/// Returns when the fullest window begins anew, if it is as good as used up; nothing where no window is told.
fn resets_at(limits: &Value) -> Option<Option<Time>> {
    let windows = ["primary", "secondary"].map(|name| &limits[name]).into_iter();
    let windows = windows.filter_map(|window| Some((window["used_percent"].as_f64()?, window)));
    let (used, window) = windows.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    let seconds = window["resets_at"].as_i64().filter(|_| used >= USED_UP);
    Some(seconds.map(|seconds| Time::from_millis(seconds.saturating_mul(1000))))
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
        assert_eq!(told(sessions.path(), "abc"), Rollout::default());
        let day = sessions.path().join("2026/11/16");
        fs::create_dir_all(&day).unwrap();
        let line = |input: u64| {
            format!(
                r#"{{"type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{{"input_tokens":{input},"cached_input_tokens":10,"output_tokens":7}},"last_token_usage":{{"input_tokens":{}}}}}}}}}"#,
                input / 2
            )
        };
        let text = format!("{}\n{}\n{{\"type\":\"other\"}}\n", line(100), line(300));
        fs::write(day.join("rollout-2026-11-16T15-02-55-abc.jsonl"), text).unwrap();
        fs::write(day.join("rollout-2026-11-16T15-02-56-abd.jsonl"), line(9)).unwrap();
        let wanted = Usage { input: 290, output: 7, cache_read: 10, cache_write: 0 };
        let found = told(sessions.path(), "abc");
        assert_eq!((found.usage, found.context), (Some(wanted), 150));
    }

    #[test]
    fn the_model_and_the_window_that_is_used_up_are_told_too() {
        let sessions = tempfile::tempdir().unwrap();
        let day = sessions.path().join("2026/11/16");
        fs::create_dir_all(&day).unwrap();
        let count = |limits: &str| {
            format!(
                r#"{{"type":"event_msg","payload":{{"type":"token_count","info":null,"rate_limits":{limits}}}}}"#
            )
        };
        let windows = |percent: u8| {
            count(&format!(
                r#"{{"primary":{{"used_percent":{percent}.0,"window_minutes":300,"resets_at":1788858959}},"secondary":{{"used_percent":15.0,"resets_at":1789445759}}}}"#
            ))
        };
        let model = r#"{"type":"turn_context","payload":{"cwd":"/x","model":"gpt-5.5"}}"#;
        let none = count(r#"{"primary":null,"secondary":null}"#);
        let of = |lines: &[&str]| {
            fs::write(day.join("rollout-x-abc.jsonl"), lines.join("\n")).unwrap();
            told(sessions.path(), "abc")
        };
        assert_eq!(of(&[model, &windows(40)]).resets_at, None);
        let found = of(&[model, &windows(98), &none]);
        assert_eq!(found.model.as_deref(), Some("gpt-5.5"));
        assert_eq!(found.resets_at, Some(Time::from_millis(1_788_858_959_000)));
        assert_eq!(of(&[&windows(98), &windows(3)]).resets_at, None, "it has begun anew");
    }
}
