//! The originals' state files, in their exact shapes. They are views: nothing is read back from them.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{
    Artifacts, Checkpoint, ChunkUsage, CompletedChunk, DoomLoop, EventName, HistoryRow, LoopError, PhaseName,
    Receipt, Run, RunId, Standing, Time, Usage, Workflow, keys,
    workflow::{SemanticGate, StateFile},
};

/// A state file: where it is in the workspace, and what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateFileView {
    pub path: &'static str,
    pub text: String,
}

impl StateFile {
    /// Returns where the file is kept, relative to the workspace.
    pub fn path(self) -> &'static str {
        match self {
            StateFile::WarpDrive => ".claude/.warp-drive-state.json",
            StateFile::AutonomousLoop => ".claude/autonomous-loop.json",
        }
    }
}

/// Returns the state file of a run; nothing if its workflow has none or the run is over.
pub fn state_file(workflow: &Workflow, run: &Run) -> Option<StateFileView> {
    let kind = workflow.state_file.filter(|_| run.is_open())?;
    let written = if run.unknown_fields.is_empty() {
        serde_json::to_string_pretty(&Shape::of(workflow, run))
    } else {
        serde_json::to_string_pretty(&state_json(workflow, run))
    };
    let mut text = written.expect("a run can be written as JSON");
    text.push('\n');
    Some(StateFileView { path: kind.path(), text })
}

/// Returns a run's state as JSON: the original's shape where there is one.
pub fn state_json(workflow: &Workflow, run: &Run) -> Value {
    let shape = Shape::of(workflow, run);
    let mut value = serde_json::to_value(shape).expect("a run can be written as JSON");
    merge(&mut value, &run.unknown_fields);
    value
}

/// A run in the shape of its state file. It is written with every event, so nothing is copied into it.
#[derive(Serialize)]
#[serde(untagged)]
enum Shape<'a> {
    WarpDrive(Box<WarpDrive<'a>>),
    AutonomousLoop(Box<AutonomousLoop<'a>>),
    Plain(Box<Plain<'a>>),
}

impl<'a> Shape<'a> {
    fn of(workflow: &'a Workflow, run: &'a Run) -> Self {
        match workflow.state_file {
            Some(StateFile::WarpDrive) => Self::WarpDrive(Box::new(WarpDrive::of(workflow, run))),
            Some(StateFile::AutonomousLoop) => Self::AutonomousLoop(Box::new(AutonomousLoop::of(run))),
            None => Self::Plain(Box::new(Plain::of(run))),
        }
    }
}

#[derive(Serialize)]
struct WarpDrive<'a> {
    version: u32,
    session: Session<'a>,
    phase: &'a PhaseName,
    requirement: &'a Option<String>,
    branch: &'a str,
    chunk: Chunk<'a>,
    checklist: Checklist,
    budgets: Budgets<'a>,
    aborted: bool,
    edit_counts: &'a BTreeMap<String, u64>,
    doom_loop_events: &'a [DoomLoop],
    gates: Gates<'a>,
    completed_chunks: &'a [CompletedChunk],
    commit_hashes: &'a [String],
    history: &'a [HistoryRow],
    metrics: Metrics,
    token_usage: TokenUsage<'a>,
    main_branch: &'a str,
    session_branch: &'a Option<String>,
    merge_target: &'a str,
    merge_strategy: &'a str,
}

#[derive(Serialize)]
struct Session<'a> {
    started_at: Time,
    started_at_epoch: i64,
    pid: u32,
    level: u64,
    github_user: &'a str,
}

#[derive(Serialize)]
struct Chunk<'a> {
    index: u64,
    total: usize,
    acs: &'a [Vec<String>],
}

#[derive(Serialize)]
struct Checklist {
    docs_updated: bool,
    tests_passed: bool,
    committed: bool,
    report_filed: bool,
}

#[derive(Serialize)]
struct Budgets<'a> {
    phase_started_at: Time,
    retry_count: u64,
    coding_cycles: u64,
    #[serde(flatten)]
    exceeded: Option<Exceeded<'a>>,
}

#[derive(Serialize)]
struct Exceeded<'a> {
    exceeded_reasons: &'a [String],
    exceeded_at: Time,
    exceeded_from_phase: &'a PhaseName,
}

#[derive(Serialize)]
struct Metrics {
    commits: u64,
    reports_filed: u64,
    tests_run: u64,
    chunks_completed: u64,
    session_duration_minutes: u64,
}

#[derive(Serialize)]
struct TokenUsage<'a> {
    /// None until the session has ended.
    session_total: Option<Tokens>,
    chunk_snapshots: Vec<ChunkSnapshot<'a>>,
    current_chunk_started_at: Option<Time>,
}

#[derive(Serialize)]
struct ChunkSnapshot<'a> {
    chunk: u64,
    requirement: &'a Option<String>,
    started_at: Option<Time>,
    ended_at: Time,
    #[serde(flatten)]
    tokens: Tokens,
}

#[derive(Serialize)]
struct Tokens {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_tokens: u64,
    cache_write_tokens: u64,
    total_tokens: u64,
    cost_usd: f64,
}

impl<'a> TokenUsage<'a> {
    fn of(run: &'a Run) -> Self {
        let snapshot = |chunk: &'a ChunkUsage| ChunkSnapshot {
            chunk: chunk.chunk,
            requirement: &chunk.issue,
            started_at: chunk.started_at,
            ended_at: chunk.ended_at,
            tokens: Tokens::of(&chunk.usage),
        };
        Self {
            session_total: (!run.is_open()).then(|| Tokens::of(&run.usage)),
            chunk_snapshots: run.chunk_usage.iter().map(snapshot).collect(),
            current_chunk_started_at: run.chunk.started_at,
        }
    }
}

impl Tokens {
    fn of(usage: &Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cache_read_tokens: usage.cache_read_tokens,
            cache_write_tokens: usage.cache_write_tokens,
            total_tokens: usage.tokens(),
            cost_usd: usage.micro_usd as f64 / 1_000_000.0,
        }
    }
}

/// Returns the line that is kept of a session that has ended; none while it goes on, or if nothing was used.
pub fn session_usage(workflow: &Workflow, run: &Run, project: &str) -> Option<String> {
    let Standing::Ended { how } = &run.standing else { return None };
    if workflow.state_file != Some(StateFile::WarpDrive) || run.usage.is_zero() {
        return None;
    }
    let line = SessionUsage {
        version: 1,
        run: &run.id,
        project,
        requirement: &run.issue,
        started_at: run.started_at,
        ended_at: run.updated_at,
        how,
        token_usage: TokenUsage::of(run),
    };
    Some(serde_json::to_string(&line).expect("a run can be written as JSON"))
}

#[derive(Serialize)]
struct SessionUsage<'a> {
    version: u32,
    run: &'a RunId,
    project: &'a str,
    requirement: &'a Option<String>,
    started_at: Time,
    ended_at: Time,
    how: &'a str,
    #[serde(flatten)]
    token_usage: TokenUsage<'a>,
}

impl<'a> WarpDrive<'a> {
    fn of(workflow: &'a Workflow, run: &'a Run) -> Self {
        Self {
            version: 1,
            session: Session {
                started_at: run.started_at,
                started_at_epoch: run.started_at.millis(),
                pid: run.owner.pid,
                level: run.level,
                github_user: &run.github_user,
            },
            phase: &run.phase,
            requirement: &run.issue,
            branch: &run.branches.branch,
            chunk: Chunk { index: run.chunk.index, total: run.chunk.acs.len(), acs: &run.chunk.acs },
            checklist: Checklist {
                docs_updated: run.docs_updated,
                tests_passed: run.tests_passed,
                committed: run.committed,
                report_filed: run.report_filed,
            },
            budgets: Budgets {
                phase_started_at: run.phase_started_at,
                retry_count: run.counter("retry_count"),
                coding_cycles: run.counter("coding_cycles"),
                exceeded: run.trip.as_ref().map(|trip| Exceeded {
                    exceeded_reasons: &trip.reasons,
                    exceeded_at: trip.at,
                    exceeded_from_phase: &trip.from_phase,
                }),
            },
            aborted: run.aborted,
            edit_counts: &run.edit_counts,
            doom_loop_events: &run.doom_loop_events,
            gates: Gates::of(workflow, run),
            completed_chunks: &run.completed_chunks,
            commit_hashes: &run.commit_hashes,
            history: &run.history,
            metrics: Metrics {
                commits: run.metrics.commits,
                reports_filed: run.metrics.reports_filed,
                tests_run: run.metrics.tests_run,
                chunks_completed: run.metrics.chunks_completed,
                session_duration_minutes: run.updated_at.minutes_since(run.started_at),
            },
            token_usage: TokenUsage::of(run),
            main_branch: &run.branches.main_branch,
            session_branch: &run.branches.session_branch,
            merge_target: &run.branches.merge_target,
            merge_strategy: &run.branches.merge_strategy,
        }
    }
}

/// The semantic gates of the workflow, with the configured commands as `targets` beside them, by event.
struct Gates<'a>(Vec<(&'a EventName, Gate)>);

#[derive(Serialize)]
struct Gate {
    #[serde(skip_serializing_if = "Option::is_none")]
    semantic: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    targets: Vec<String>,
}

impl<'a> Gates<'a> {
    fn of(workflow: &'a Workflow, run: &Run) -> Self {
        let has_targets = run.settings.has_verification_gates();
        let mut gates: Vec<(&EventName, Gate)> = Vec::new();
        for row in workflow.phases.iter().flat_map(|phase| &phase.rows) {
            let semantic = row.gate.map(SemanticGate::name);
            let targets =
                if has_targets { run.settings.verification_gates(row.event.as_str()) } else { Vec::new() };
            if semantic.is_none() && targets.is_empty() {
                continue;
            }
            let gate = Gate { semantic, targets };
            match gates.iter_mut().find(|(event, _)| **event == row.event) {
                Some((_, known)) => *known = gate,
                None => gates.push((&row.event, gate)),
            }
        }
        Self(gates)
    }
}

impl Serialize for Gates<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(event, gate)| (event, gate)))
    }
}

#[derive(Serialize)]
struct AutonomousLoop<'a> {
    version: u32,
    feature: &'a Option<String>,
    phase: &'a PhaseName,
    phase_iteration: u64,
    global_iteration: u64,
    max_iterations: u64,
    max_phase_iterations: u64,
    fix_review_cycles: u64,
    max_fix_cycles: u64,
    phases_completed: &'a [PhaseName],
    artifacts: &'a Artifacts,
    receipts: Vec<Receipt>,
    checkpoints: &'a [Checkpoint],
    errors: &'a [LoopError],
    budget_limit_usd: Option<&'a Value>,
    completion_promise: &'a str,
    skip_brainstorm: bool,
    skip_test_review: bool,
    started_at: Time,
    last_updated: Time,
}

impl<'a> AutonomousLoop<'a> {
    fn of(run: &'a Run) -> Self {
        let settings = &run.settings;
        // What else is known of a receipt stays in the journal.
        let receipt = |receipt: &Receipt| Receipt {
            digest: None,
            note: None,
            since: None,
            plan: None,
            ran: false,
            command: None,
            ..receipt.clone()
        };
        Self {
            version: 2,
            feature: &run.feature,
            phase: &run.phase,
            phase_iteration: run.counter("phase_iteration"),
            global_iteration: run.counter("global_iteration"),
            max_iterations: settings.get(keys::MAX_ITERATIONS),
            max_phase_iterations: settings.get(keys::MAX_PHASE_ITERATIONS),
            fix_review_cycles: run.counter("fix_review_cycles"),
            max_fix_cycles: settings.get(keys::MAX_FIX_CYCLES),
            phases_completed: &run.phases_completed,
            artifacts: &run.artifacts,
            receipts: run.receipts.iter().map(receipt).collect(),
            checkpoints: &run.checkpoints,
            errors: &run.errors,
            budget_limit_usd: settings.value(keys::BUDGET_LIMIT_USD.name()),
            completion_promise: settings.get(keys::COMPLETION_PROMISE),
            skip_brainstorm: settings.get(keys::SKIP_BRAINSTORM),
            skip_test_review: settings.get(keys::SKIP_TEST_REVIEW),
            started_at: run.started_at,
            last_updated: run.updated_at,
        }
    }
}

/// The shape for workflows whose originals had no state file of one.
#[derive(Serialize)]
struct Plain<'a> {
    version: u32,
    workflow: &'a str,
    run: &'a RunId,
    phase: &'a PhaseName,
    reason: &'a Option<String>,
    origin: &'a Option<PhaseName>,
    standing: &'a Standing,
    requirement: &'a Option<String>,
    feature: &'a Option<String>,
    counters: &'a BTreeMap<String, u64>,
    started_at: Time,
    phase_started_at: Time,
    last_updated: Time,
    history: &'a [HistoryRow],
}

impl<'a> Plain<'a> {
    fn of(run: &'a Run) -> Self {
        Self {
            version: 1,
            workflow: &run.workflow,
            run: &run.id,
            phase: &run.phase,
            reason: &run.phase_reason,
            origin: &run.origin,
            standing: &run.standing,
            requirement: &run.issue,
            feature: &run.feature,
            counters: &run.counters,
            started_at: run.started_at,
            phase_started_at: run.phase_started_at,
            last_updated: run.updated_at,
            history: &run.history,
        }
    }
}

/// Adds fields that are not there yet, in tables within tables too.
fn merge(value: &mut Value, unknown: &Map<String, Value>) {
    let Value::Object(fields) = value else { return };
    for (name, more) in unknown {
        match (fields.get_mut(name), more) {
            (Some(known @ Value::Object(_)), Value::Object(more)) => merge(known, more),
            (Some(_), _) => {}
            (None, _) => {
                fields.insert(name.clone(), more.clone());
            }
        }
    }
}
