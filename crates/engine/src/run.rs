//! A run: one issue on its way through one workflow, as folded from its changes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{EventName, PhaseName, RunId, Settings, Time};

/// How many rows of history a run carries with it; the journal keeps all of them.
pub(crate) const HISTORY_KEPT: usize = 50;
/// How many entries any other list of a run keeps.
pub(crate) const ENTRIES_KEPT: usize = 100;

/// How many files are counted in one phase; beyond it the least edited is forgotten.
pub(crate) const EDITS_KEPT: usize = 300;

/// How many names of tests are kept; those that evidence named are the last to go.
pub(crate) const TESTS_KEPT: usize = 200;

/// One issue on its way through one workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub id: RunId,
    pub workflow: String,
    /// The digest of the workflow text that the run is pinned to.
    pub workflow_digest: String,
    pub settings: Settings,
    /// The workspace's root directory.
    pub root: String,
    /// Set when the workspace was made for the run. In a person's own checkout branches are never moved back.
    #[serde(default)]
    pub owns_workspace: bool,
    pub level: u64,
    pub owner: Owner,
    pub github_user: String,
    pub issue: Option<String>,
    pub feature: Option<String>,
    pub branches: Branches,

    /// Files that were not committed when the run began, each with its mode and the id of its content.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dirty: BTreeMap<String, String>,

    pub phase: PhaseName,
    pub standing: Standing,
    /// The phase to return to, in phases that remember it.
    pub origin: Option<PhaseName>,
    /// Why the phase was entered, where it can be entered for several reasons.
    pub phase_reason: Option<String>,
    pub started_at: Time,
    /// When the session's clock was last set going.
    pub session_clock: Time,
    pub phase_started_at: Time,
    pub updated_at: Time,
    /// How many events the run has had.
    pub events: u64,
    pub counters: BTreeMap<String, u64>,
    pub trip: Option<Trip>,
    pub effect: Option<Effect>,
    pub last_failure: Option<Failure>,
    pub history: Vec<HistoryRow>,

    pub chunk: ChunkPlan,
    pub completed_chunks: Vec<CompletedChunk>,
    pub commit_hashes: Vec<String>,
    pub docs_updated: bool,
    pub tests_passed: bool,
    /// The tree that passed its tests last.
    #[serde(default)]
    pub tested_tree: Option<String>,
    /// The commit that passed the final test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tested_commit: Option<String>,
    pub committed: bool,
    pub report_filed: bool,
    pub aborted: bool,
    pub metrics: Metrics,
    pub edit_counts: BTreeMap<String, u64>,
    /// The tally of edits that was counted last, and up to which line.
    #[serde(default)]
    pub tally_taken: Option<(String, u64)>,
    pub doom_loop_events: Vec<DoomLoop>,
    /// Names of tests that were seen in a recorded run of the current issue.
    #[serde(default)]
    pub test_names: Vec<String>,

    /// The commit on which the current phase began, where it was looked at.
    #[serde(default)]
    pub phase_head: Option<String>,
    pub phases_completed: Vec<PhaseName>,
    pub artifacts: Artifacts,
    /// The pull request's address, if all that speaks for it is an agent's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubted_pr: Option<String>,
    pub receipts: Vec<Receipt>,
    pub checkpoints: Vec<Checkpoint>,
    pub errors: Vec<LoopError>,

    /// Fields of an adopted state file that nothing here knows; they are shown again as they were.
    #[serde(default)]
    pub unknown_fields: Map<String, Value>,
}

impl Run {
    /// Returns a counter; one that was never raised is zero.
    pub fn counter(&self, name: &str) -> u64 {
        self.counters.get(name).copied().unwrap_or(0)
    }

    /// Tells whether the run still holds its workspace.
    pub fn is_open(&self) -> bool {
        !matches!(self.standing, Standing::Ended { .. })
    }

    /// Returns when the current phase was entered. Its clock may have been set anew since.
    pub(crate) fn entered_at(&self) -> Time {
        self.history.last().map_or(self.phase_started_at, |row| row.at)
    }

    /// Tells whether the pull request's address came from warp's own push or from a person.
    pub fn has_proved_pr(&self) -> bool {
        let url = self.artifacts.pr_url.as_deref().filter(|url| !url.trim().is_empty());
        url.is_some() && url != self.doubted_pr.as_deref()
    }

    /// Returns the newest receipt of a phase.
    pub fn receipt(&self, phase: &PhaseName) -> Option<&Receipt> {
        self.receipts.iter().rev().find(|receipt| receipt.phase == *phase)
    }

    /// Returns the name of the present stay in the present phase; another stay has another.
    pub fn stay(&self) -> String {
        format!("{}.{}", self.id, self.effect.as_ref().map_or("-", |effect| effect.id.as_str()))
    }

    /// Returns the criteria of the current chunk.
    pub fn current_criteria(&self) -> &[String] {
        let index = usize::try_from(self.chunk.index).unwrap_or(usize::MAX);
        self.chunk.acs.get(index.wrapping_sub(1)).map(Vec::as_slice).unwrap_or_default()
    }
}

/// The process that carries a run on. A process id alone would be mistaken for a later one's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    pub pid: u32,
    /// The machine's boot id when the run began.
    pub boot_id: String,
    /// When the process started, in the kernel's ticks since boot.
    pub start_ticks: Option<u64>,
    /// The agent's own name for its session, if the process is an agent: whatever descends from it is the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// Branches, found when the run began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branches {
    pub branch: String,
    pub main_branch: String,
    pub session_branch: Option<String>,
    pub merge_target: String,
    pub merge_strategy: String,
}

/// The engine's own word beside the phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Standing {
    Active,
    /// Waits for a person's decision.
    Parked {
        decision: Decision,
    },
    Stopped,
    /// Over; the workspace is free.
    Ended {
        how: String,
    },
}

/// A durable question to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub id: String,
    pub question: String,
    pub options: Vec<String>,
    /// The budget or deadline that asks.
    pub reason: String,
    pub asked_at: Time,
}

/// That budgets were exceeded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trip {
    pub reasons: Vec<String>,
    pub at: Time,
    pub from_phase: PhaseName,
}

/// Work that has to be done in the world, by id; each try has a number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    pub id: String,
    pub attempt: u32,
    pub phase: PhaseName,
}

/// The last failed attempt, as far as progress is concerned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub signature: String,
    pub tree: String,
    /// How often it was seen in a row.
    pub times: u64,
}

/// One move from phase to phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryRow {
    pub phase: PhaseName,
    pub at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<PhaseName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<EventName>,
}

/// The chunks of the current issue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkPlan {
    /// The current chunk, from 1; 0 before there are any.
    pub index: u64,
    pub acs: Vec<Vec<String>>,
    /// The texts of the issue's criteria, where they could be read.
    pub texts: Vec<String>,
    /// The commit on which the current chunk began.
    pub base: Option<String>,
    /// The commit on which the first chunk of the issue began.
    #[serde(default)]
    pub first_base: Option<String>,
    /// How many criteria were ticked when the current chunk began.
    pub checked_before: Option<u64>,
    pub started_at: Option<Time>,
}

/// A chunk that is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletedChunk {
    pub index: u64,
    pub acs: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    pub at: Time,
}

/// What was done in the session so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metrics {
    pub commits: u64,
    pub reports_filed: u64,
    pub tests_run: u64,
    pub chunks_completed: u64,
}

/// A file that was edited too often in one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoomLoop {
    pub file: String,
    pub count: u64,
    pub phase: PhaseName,
    pub at: Time,
}

/// What a loop has produced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifacts {
    pub brainstorm_file: Option<String>,
    pub plan_file: Option<String>,
    pub acceptance_tests_file: Option<String>,
    pub progress_file: Option<String>,
    pub pr_url: Option<String>,
    pub branch: Option<String>,
}

impl Artifacts {
    /// The names of the entries, as state files and events use them.
    pub const FIELDS: &'static [&'static str] =
        &["brainstorm_file", "plan_file", "acceptance_tests_file", "progress_file", "pr_url", "branch"];

    /// Returns an entry by its name.
    pub fn entry(&self, name: &str) -> Option<&str> {
        let entry = match name {
            "brainstorm_file" => &self.brainstorm_file,
            "plan_file" => &self.plan_file,
            "acceptance_tests_file" => &self.acceptance_tests_file,
            "progress_file" => &self.progress_file,
            "pr_url" => &self.pr_url,
            "branch" => &self.branch,
            _ => return None,
        };
        entry.as_deref()
    }

    /// Sets an entry by its name; one that is not known is left out.
    pub(crate) fn set(&mut self, name: &str, value: String) {
        let entry = match name {
            "brainstorm_file" => &mut self.brainstorm_file,
            "plan_file" => &mut self.plan_file,
            "acceptance_tests_file" => &mut self.acceptance_tests_file,
            "progress_file" => &mut self.progress_file,
            "pr_url" => &mut self.pr_url,
            "branch" => &mut self.branch,
            _ => return,
        };
        *entry = Some(value);
    }
}

/// Proof that a phase did its work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub phase: PhaseName,
    pub artifact: Option<String>,
    pub git_sha: Option<String>,
    pub timestamp: Time,
    /// Set when the phase was left by force: this is a receipt for nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forced: bool,
    /// The digest of the artifact's content at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Why there is no artifact or commit, where one is usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What the next context has to know about a phase that is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub phase: PhaseName,
    pub summary: String,
    pub failed_approaches: Vec<String>,
    pub timestamp: Time,
}

/// An error that a loop met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopError {
    pub phase: PhaseName,
    pub message: String,
    pub iteration: u64,
    pub timestamp: Time,
}
