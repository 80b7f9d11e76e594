//! The original way, for comparison: a JSON file that bash and jq read, and that node reads and writes whole.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use super::{
    SHORT, SLOW,
    measure::{Prepare, Row},
    project::{COMMIT, grouped},
    sandbox::Sandbox,
};
use crate::{
    run::{Result, capture, root},
    system::found,
};

/// A history that the original still manages; at 100,000 rows each of its calls takes seconds.
const LONG: u64 = 10_000;

/// Makes the rows of the original; where a program is missing they say so.
pub(super) fn rows<'a>(sandbox: &Sandbox) -> Result<Vec<Row<'a>>> {
    let scripts = root().join("bench/original");
    let (bash, node) = (installed("bash"), installed("node"));
    let mut rows = Vec::new();
    for events in [SHORT, LONG] {
        let history = format!("{} rows", grouped(events));
        let coding = Project::new(sandbox, "coding", events)?;
        let missing = bash.as_ref().err().or(installed("jq").as_ref().err()).cloned();
        let commit = coding.said("Bash", json!({ "command": COMMIT, "description": "Commit" }))?;
        let call = sandbox.call(&program(&bash)).word(scripts.join("gate.sh")).reads(commit);
        rows.push(slow("original gate (bash, jq)", &history, call, 2, missing.clone()));

        let both = missing.clone().or_else(|| node.as_ref().err().cloned());
        let edits = Project::new(sandbox, "editing", events)?;
        let edit = edits.said("Edit", json!({ "file_path": edits.root.join("src/main.rs") }))?;
        let call = sandbox.call(&program(&bash)).word(scripts.join("edit-tracker.sh")).reads(edit);
        let mut row = slow("original edit tracker (bash, jq, node)", &history, call, 0, both);
        row.prepare = Prepare::Again { every: 1, act: Box::new(move || edits.restore()) };
        rows.push(row);

        let check = coding.said("Bash", json!({ "command": "cargo check" }))?;
        let call = sandbox.call(&program(&bash)).word(scripts.join("commit-detector.sh")).reads(check);
        rows.push(slow("original commit detector (bash, jq)", &history, call, 0, missing.clone()));

        let call = sandbox.call(&program(&node)).word(scripts.join("state-machine.js")).word("gate");
        let call = call.word(&coding.root).word("git_commit");
        rows.push(slow("original gate (node)", &history, call, 2, node.as_ref().err().cloned()));
    }
    for events in [SHORT, LONG] {
        let history = format!("{} rows", grouped(events));
        let merging = Project::new(sandbox, "merging", events)?;
        let missing = bash.as_ref().err().or(node.as_ref().err()).cloned();
        let call = sandbox.call(&program(&bash)).word(scripts.join("transition.sh"));
        let call = call.word(&merging.root).word("merge_failed");
        let mut row = slow("original transition (bash, node)", &history, call, 0, missing);
        row.prepare = Prepare::Again { every: 1, act: Box::new(move || merging.restore()) };
        rows.push(row);
    }
    Ok(rows)
}

/// Says which versions of the programs are compared with; the times differ much between them.
pub(super) fn versions() -> String {
    let version = |name: &str| {
        let program = found(name)?;
        let text = capture(std::process::Command::new(program).arg("--version")).ok()?;
        // The number is what has a digit: `jq-1.6`, `v20.1.0`, `GNU bash, version 5.2.15(1)-release (…)`.
        let word = text.split([' ', '-', '\n']).find(|word| word.contains(|c: char| c.is_ascii_digit()))?;
        Some(format!("{name} {}", word.trim_start_matches('v').split('(').next().unwrap_or(word)))
    };
    ["bash", "jq", "node"].into_iter().filter_map(version).collect::<Vec<_>>().join(", ")
}

fn installed(name: &str) -> std::result::Result<PathBuf, String> {
    found(name).ok_or_else(|| format!("{name} is not installed"))
}

fn program(found: &std::result::Result<PathBuf, String>) -> PathBuf {
    found.clone().unwrap_or_default()
}

fn slow<'a>(
    name: &str,
    history: &str,
    call: super::sandbox::Call,
    exit: i32,
    missing: Option<String>,
) -> Row<'a> {
    let is_exact = !name.contains("node");
    Row { every: SLOW, is_exact, missing, ..Row::new(name, history, call, exit) }
}

/// A project of the original tools.
struct Project {
    root: PathBuf,
    state: PathBuf,
    text: String,
}

impl Project {
    fn new(sandbox: &Sandbox, phase: &str, events: u64) -> Result<Self> {
        let root = sandbox.path(&format!("original-{phase}-{events}"));
        let claude = root.join(".claude");
        let failed = |error| format!("{}: {error}", root.display());
        fs::create_dir_all(&claude).map_err(failed)?;
        let settings = json!({ "_workflow": { "max_retries_per_chunk": 4_000_000_000_u64 } });
        fs::write(claude.join("settings.local.json"), settings.to_string()).map_err(failed)?;
        let text =
            serde_json::to_string_pretty(&state_json(phase, events)).map_err(|e| e.to_string())? + "\n";
        let state = claude.join(".warp-drive-state.json");
        let project = Self { root: root.clone(), state, text };
        project.restore()?;
        Ok(project)
    }

    /// Writes what a coding agent's client tells a hook, and returns the file.
    fn said(&self, tool: &str, input: Value) -> Result<PathBuf> {
        let file = self.root.join(format!("{tool}-{}.json", input.to_string().len()));
        fs::write(&file, hook_json(&self.root, tool, input).to_string())
            .map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(file)
    }

    /// Puts the state file back, so that its history stays as long as the row says.
    fn restore(&self) -> Result {
        fs::write(&self.state, &self.text).map_err(|error| format!("{}: {error}", self.state.display()))
    }
}

fn hook_json(root: &std::path::Path, tool: &str, input: Value) -> Value {
    json!({
        "session_id": "00000000-0000-4000-8000-000000000000",
        "transcript_path": "/home/user/.claude/projects/project/session.jsonl",
        "cwd": root,
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": tool,
        "tool_input": input,
        "tool_use_id": "toolu_00000000000000000000000000",
    })
}

/// The state file as the original documents it.
fn state_json(phase: &str, events: u64) -> Value {
    let now = super::project::now();
    let at = now.to_string();
    let row = |index: u64| match index {
        0 => json!({ "phase": "prerequisites", "at": at }),
        _ => json!({ "phase": phase, "at": at, "from": phase, "event": "merge_failed" }),
    };
    json!({
        "version": 1,
        "session": {
            "started_at": at, "started_at_epoch": now.millis(), "pid": 1, "level": 3, "github_user": "",
        },
        "phase": phase,
        "requirement": "42",
        "branch": "feature/issue-42-title",
        "chunk": { "index": 1, "total": 2, "acs": [["AC-01", "AC-02"], ["AC-03"]] },
        "checklist": {
            "docs_updated": false, "tests_passed": false, "committed": false, "report_filed": false,
        },
        "budgets": { "phase_started_at": at, "retry_count": 0, "coding_cycles": 0 },
        "aborted": false,
        "edit_counts": { "src/main.rs": 3 },
        "doom_loop_events": [],
        "gates": {
            "code_complete": { "semantic": "diff_relevance_check" },
            "docs_updated": { "semantic": "ac_count_check" },
        },
        "completed_chunks": [],
        "history": (0..events).map(row).collect::<Vec<_>>(),
        "metrics": {
            "commits": 0, "reports_filed": 0, "tests_run": 0, "chunks_completed": 0,
            "session_duration_minutes": 0,
        },
        "token_usage": { "session_total": null, "chunk_snapshots": [], "current_chunk_started_at": null },
        "main_branch": "master",
        "session_branch": null,
        "merge_target": "master",
        "merge_strategy": "ff-only",
    })
}
