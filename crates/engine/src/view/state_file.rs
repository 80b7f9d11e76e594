//! The seeds' state files, in their exact shapes. They are views: nothing is read back from them.

use serde_json::{Map, Value, json};

use crate::{
    Receipt, Run, Workflow,
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
    let mut text =
        serde_json::to_string_pretty(&state_json(workflow, run)).expect("a JSON value can be written");
    text.push('\n');
    Some(StateFileView { path: kind.path(), text })
}

/// Returns a run's state as JSON: the seed's shape where there is one.
pub fn state_json(workflow: &Workflow, run: &Run) -> Value {
    let mut value = match workflow.state_file {
        Some(StateFile::WarpDrive) => warp_drive(workflow, run),
        Some(StateFile::AutonomousLoop) => autonomous_loop(run),
        None => plain(run),
    };
    merge(&mut value, &run.unknown_fields);
    value
}

fn warp_drive(workflow: &Workflow, run: &Run) -> Value {
    let mut budgets = json!({
        "phase_started_at": run.phase_started_at,
        "retry_count": run.counter("retry_count"),
        "coding_cycles": run.counter("coding_cycles"),
    });
    if let Some(trip) = &run.trip {
        budgets["exceeded_reasons"] = json!(trip.reasons);
        budgets["exceeded_at"] = json!(trip.at);
        budgets["exceeded_from_phase"] = json!(trip.from_phase);
    }
    json!({
        "version": 1,
        "session": {
            "started_at": run.started_at,
            "started_at_epoch": run.started_at.millis(),
            "pid": run.owner.pid,
            "level": run.level,
            "github_user": run.github_user,
        },
        "phase": run.phase,
        "requirement": run.issue,
        "branch": run.branches.branch,
        "chunk": { "index": run.chunk.index, "total": run.chunk.acs.len(), "acs": run.chunk.acs },
        "checklist": {
            "docs_updated": run.docs_updated,
            "tests_passed": run.tests_passed,
            "committed": run.committed,
            "report_filed": run.report_filed,
        },
        "budgets": budgets,
        "aborted": run.aborted,
        "edit_counts": run.edit_counts,
        "doom_loop_events": run.doom_loop_events,
        "gates": gates(workflow, run),
        "completed_chunks": run.completed_chunks,
        "commit_hashes": run.commit_hashes,
        "history": run.history,
        "metrics": {
            "commits": run.metrics.commits,
            "reports_filed": run.metrics.reports_filed,
            "tests_run": run.metrics.tests_run,
            "chunks_completed": run.metrics.chunks_completed,
            "session_duration_minutes": run.updated_at.minutes_since(run.started_at),
        },
        "token_usage": {
            "session_total": null,
            "chunk_snapshots": [],
            "current_chunk_started_at": run.chunk.started_at,
        },
        "main_branch": run.branches.main_branch,
        "session_branch": run.branches.session_branch,
        "merge_target": run.branches.merge_target,
        "merge_strategy": run.branches.merge_strategy,
    })
}

/// The semantic gates of the workflow, with the configured commands as `targets` beside them.
fn gates(workflow: &Workflow, run: &Run) -> Value {
    let mut gates = Map::new();
    for row in workflow.phases.iter().flat_map(|phase| &phase.rows) {
        let semantic = row.gate.map(SemanticGate::name);
        let targets = run.settings.verification_gates(row.event.as_str());
        if semantic.is_none() && targets.is_empty() {
            continue;
        }
        let mut gate = Map::new();
        if let Some(name) = semantic {
            gate.insert("semantic".to_owned(), json!(name));
        }
        if !targets.is_empty() {
            gate.insert("targets".to_owned(), json!(targets));
        }
        gates.insert(row.event.to_string(), Value::Object(gate));
    }
    Value::Object(gates)
}

fn autonomous_loop(run: &Run) -> Value {
    let settings = &run.settings;
    json!({
        "version": 2,
        "feature": run.feature,
        "phase": run.phase,
        "phase_iteration": run.counter("phase_iteration"),
        "global_iteration": run.counter("global_iteration"),
        "max_iterations": settings.count("max_iterations"),
        "max_phase_iterations": settings.count("max_phase_iterations"),
        "fix_review_cycles": run.counter("fix_review_cycles"),
        "max_fix_cycles": settings.count("max_fix_cycles"),
        "phases_completed": run.phases_completed,
        "artifacts": run.artifacts,
        "receipts": run.receipts.iter().map(receipt).collect::<Vec<_>>(),
        "checkpoints": run.checkpoints,
        "errors": run.errors,
        "budget_limit_usd": settings.value("budget_limit_usd"),
        "completion_promise": settings.text("completion_promise"),
        "skip_brainstorm": settings.is_on("skip_brainstorm"),
        "skip_test_review": settings.is_on("skip_test_review"),
        "started_at": run.started_at,
        "last_updated": run.updated_at,
    })
}

/// A receipt as the schema has it; what else is known of it stays in the journal.
fn receipt(receipt: &Receipt) -> Value {
    json!(Receipt { digest: None, note: None, ..receipt.clone() })
}

/// The shape for workflows whose seeds had no state file of one.
fn plain(run: &Run) -> Value {
    json!({
        "version": 1,
        "workflow": run.workflow,
        "run": run.id,
        "phase": run.phase,
        "reason": run.phase_reason,
        "origin": run.origin,
        "standing": run.standing,
        "requirement": run.issue,
        "feature": run.feature,
        "counters": run.counters,
        "started_at": run.started_at,
        "phase_started_at": run.phase_started_at,
        "last_updated": run.updated_at,
        "history": run.history,
    })
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
