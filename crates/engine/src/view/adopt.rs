//! Adopting a state file of the original tools: a run that begins where the file says it stands.
//!
//! What nothing here knows is kept and shown again. Receipts are not carried over, for nobody checked them,
//! and a phase that gives permission for what is warp's own work is never landed in.

use serde_json::{Map, Value};

use super::state_json;
use crate::{
    Artifacts, BadSetting, Beginning, LoopError, PhaseName, Run, Step, Time, Workflow, begin,
    event::{DEEPEST, is_deeper},
    keys,
    run::{ENTRIES_KEPT, HistoryRow, Trip},
    step::begin_as,
    workflow::StateFile,
};

/// A state file that was read.
#[derive(Debug)]
pub struct Adopted {
    pub step: Step,
    /// What a person should know: what was left out or changed.
    pub notes: Vec<String>,
}

/// Why a state file cannot be adopted.
#[derive(Debug, thiserror::Error)]
pub enum AdoptError {
    #[error("it is not JSON: {0}")]
    NotJson(String),
    #[error("it is not a state file of Warp Drive or autonomous-loop: {0}")]
    Unknown(String),
    #[error("`{field}` {problem}")]
    Field { field: &'static str, problem: String },
    #[error("phase `{phase}` is not a phase of {workflow}")]
    Phase { phase: String, workflow: &'static str },
    #[error(transparent)]
    Setting(#[from] BadSetting),
}

/// Returns the kind of state file that `text` holds, and its fields.
fn read(text: &str) -> Result<(StateFile, Map<String, Value>), AdoptError> {
    let value: Value = serde_json::from_str(text).map_err(|error| AdoptError::NotJson(error.to_string()))?;
    if is_deeper(&value, DEEPEST) {
        return Err(AdoptError::Unknown(format!("it is nested deeper than {DEEPEST} levels")));
    }
    let Value::Object(fields) = value else {
        return Err(AdoptError::Unknown("it is no JSON object".to_owned()));
    };
    if fields.contains_key("session") && fields.contains_key("phase") {
        Ok((StateFile::WarpDrive, fields))
    } else if fields.contains_key("feature") && fields.contains_key("phase") {
        Ok((StateFile::AutonomousLoop, fields))
    } else {
        Err(AdoptError::Unknown("it has neither `session` nor `feature` beside `phase`".to_owned()))
    }
}

/// Begins a run where a state file of the original tools says it stands.
pub fn adopt(text: &str, beginning: Beginning) -> Result<(Workflow, Adopted), AdoptError> {
    let (kind, fields) = read(text)?;
    let mut notes = Vec::new();
    let (workflow, mut run) = match kind {
        StateFile::WarpDrive => warp_drive(&fields, beginning)?,
        StateFile::AutonomousLoop => autonomous_loop(&fields, beginning, &mut notes)?,
    };
    if workflow.ends_in(&run.phase) {
        return Err(AdoptError::Field {
            field: "phase",
            problem: format!("is `{}`: that run is over", run.phase),
        });
    }
    if workflow.gives_leave(&run.phase) {
        let before = workflow.origins(&run.phase).into_iter().next().cloned();
        let landing = before.unwrap_or_else(|| workflow.initial.clone());
        notes.push(format!(
            "`{}` gives permission, so the run stands in `{landing}`: its last step is done again",
            run.phase
        ));
        run.phase = landing;
    }
    if fields.get("receipts").and_then(Value::as_array).is_some_and(|receipts| !receipts.is_empty()) {
        notes.push("receipts were not carried over: nobody here has checked them".to_owned());
    }
    if let Some(effect) = &mut run.effect {
        effect.phase = run.phase.clone();
    }
    run.history = vec![HistoryRow { phase: run.phase.clone(), at: run.updated_at, from: None, event: None }];
    run.unknown_fields = unknown(&fields, &state_json(&workflow, &run));
    // A receipt that nobody checked is not a field that nobody knows.
    run.unknown_fields.remove("receipts");
    let step = begin_as(&workflow, run, "adopted");
    Ok((workflow, Adopted { step, notes }))
}

fn warp_drive(fields: &Map<String, Value>, beginning: Beginning) -> Result<(Workflow, Run), AdoptError> {
    let workflow = Workflow::built_in("warp-drive").expect("it is built in");
    let at = beginning.at;
    let mut run = begun(&workflow, beginning);
    run.phase = phase(fields, &workflow, "warp-drive")?;
    let session = table(fields, "session")?;
    if let Some(started) = time(session, "started_at")? {
        // The session's clock starts with the adoption: the time until then was another tool's.
        run.started_at = started.min(at);
    }
    if let Some(level) = count(session, "level")? {
        run.level = level;
    }
    if let Some(issue) = text(fields, "requirement")? {
        run.issue = Some(issue);
    }
    let chunk = table(fields, "chunk")?;
    if let Some(acs) = chunk.get("acs") {
        run.chunk.acs = serde_json::from_value(acs.clone()).map_err(|_| AdoptError::Field {
            field: "chunk.acs",
            problem: "must be a list of lists of criteria".to_owned(),
        })?;
    }
    run.chunk.index = count(chunk, "index")?.unwrap_or(0).min(run.chunk.acs.len() as u64);
    let checklist = table(fields, "checklist")?;
    run.docs_updated = flag(checklist, "docs_updated")?;
    run.tests_passed = flag(checklist, "tests_passed")?;
    run.committed = flag(checklist, "committed")?;
    run.report_filed = flag(checklist, "report_filed")?;
    run.aborted = flag(fields, "aborted")?;
    let budgets = table(fields, "budgets")?;
    for counter in ["retry_count", "coding_cycles"] {
        if let Some(value) = count(budgets, counter)? {
            run.counters.insert(counter.to_owned(), value);
        }
    }
    if run.phase == "budget_exceeded" {
        let reasons = budgets.get("exceeded_reasons").cloned().unwrap_or_default();
        let reasons = serde_json::from_value(reasons).unwrap_or_default();
        let from_phase =
            PhaseName::new(text(budgets, "exceeded_from_phase")?.unwrap_or_else(|| "coding".to_owned()));
        run.trip = Some(Trip { reasons, at: time(budgets, "exceeded_at")?.unwrap_or(at), from_phase });
    }
    let metrics = table(fields, "metrics")?;
    run.metrics.commits = count(metrics, "commits")?.unwrap_or(0);
    run.metrics.reports_filed = count(metrics, "reports_filed")?.unwrap_or(0);
    run.metrics.tests_run = count(metrics, "tests_run")?.unwrap_or(0);
    run.metrics.chunks_completed = count(metrics, "chunks_completed")?.unwrap_or(0);
    run.counters.insert("total_chunks".to_owned(), run.metrics.chunks_completed);
    if let Some(hashes) = fields.get("commit_hashes") {
        let hashes = serde_json::from_value(hashes.clone()).map_err(|_| AdoptError::Field {
            field: "commit_hashes",
            problem: "must be a list of texts".to_owned(),
        })?;
        run.commit_hashes = newest(hashes);
    }
    if fields.contains_key("session_branch") {
        run.branches.session_branch = text(fields, "session_branch")?;
    }
    for field in ["merge_target", "merge_strategy", "main_branch"] {
        if let Some(value) = text(fields, field)? {
            match field {
                "merge_target" => run.branches.merge_target = value,
                "merge_strategy" => run.branches.merge_strategy = value,
                _ => run.branches.main_branch = value,
            }
        }
    }
    Ok((workflow, run))
}

fn autonomous_loop(
    fields: &Map<String, Value>,
    mut beginning: Beginning,
    notes: &mut Vec<String>,
) -> Result<(Workflow, Run), AdoptError> {
    let workflow = Workflow::built_in("autonomous-loop").expect("it is built in");
    if count(fields, "version")?.unwrap_or(1) < 2 {
        notes.push("the file was of version 1 and was brought to version 2".to_owned());
    }
    let settings = [
        keys::MAX_ITERATIONS.name(),
        keys::MAX_PHASE_ITERATIONS.name(),
        keys::MAX_FIX_CYCLES.name(),
        keys::BUDGET_LIMIT_USD.name(),
        keys::COMPLETION_PROMISE.name(),
        keys::SKIP_BRAINSTORM.name(),
        keys::SKIP_TEST_REVIEW.name(),
    ];
    for setting in settings {
        if let Some(value) = fields.get(setting) {
            beginning.settings.set(setting, value.clone())?;
        }
    }
    let at = beginning.at;
    let mut run = begun(&workflow, beginning);
    run.feature = text(fields, "feature")?;
    run.phase = phase(fields, &workflow, "autonomous-loop")?;
    if let Some(started) = time(fields, "started_at")? {
        run.started_at = started.min(at);
    }
    for counter in ["phase_iteration", "global_iteration", "fix_review_cycles"] {
        run.counters.insert(counter.to_owned(), count(fields, counter)?.unwrap_or(0));
    }
    if let Some(completed) = fields.get("phases_completed") {
        let names: Vec<PhaseName> = serde_json::from_value(completed.clone()).map_err(|_| {
            AdoptError::Field { field: "phases_completed", problem: "must be a list of phases".to_owned() }
        })?;
        run.phases_completed = newest(names);
    }
    let artifacts = table(fields, "artifacts")?;
    run.artifacts = Artifacts {
        brainstorm_file: text(artifacts, "brainstorm_file")?,
        plan_file: text(artifacts, "plan_file")?,
        acceptance_tests_file: text(artifacts, "acceptance_tests_file")?,
        progress_file: text(artifacts, "progress_file")?,
        pr_url: text(artifacts, "pr_url")?,
        branch: text(artifacts, "branch")?.or(run.artifacts.branch),
    };
    if let Some(errors) = fields.get("errors").and_then(Value::as_array) {
        let errors =
            errors.iter().filter_map(|error| serde_json::from_value::<LoopError>(error.clone()).ok());
        run.errors = newest(errors.collect());
    }
    if let Some(checkpoints) = fields.get("checkpoints").and_then(Value::as_array) {
        let checkpoints = checkpoints.iter().filter_map(|one| serde_json::from_value(one.clone()).ok());
        run.checkpoints = newest(checkpoints.collect());
    }
    Ok((workflow, run))
}

/// Cuts a list to what a run keeps of it.
fn newest<T>(mut list: Vec<T>) -> Vec<T> {
    list.drain(..list.len().saturating_sub(ENTRIES_KEPT));
    list
}

fn begun(workflow: &Workflow, beginning: Beginning) -> Run {
    let mut run = begin(workflow, beginning).run;
    run.events = 0;
    run
}

fn phase(
    fields: &Map<String, Value>,
    workflow: &Workflow,
    name: &'static str,
) -> Result<PhaseName, AdoptError> {
    let phase = text(fields, "phase")?.unwrap_or_default();
    let known = workflow.phases.iter().find(|known| known.name == phase.as_str());
    known.map(|known| known.name.clone()).ok_or(AdoptError::Phase { phase, workflow: name })
}

fn table<'a>(
    fields: &'a Map<String, Value>,
    field: &'static str,
) -> Result<&'a Map<String, Value>, AdoptError> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    match fields.get(field) {
        None | Some(Value::Null) => Ok(&EMPTY),
        Some(Value::Object(table)) => Ok(table),
        Some(_) => Err(AdoptError::Field { field, problem: "must be a table".to_owned() }),
    }
}

fn text(fields: &Map<String, Value>, field: &'static str) -> Result<Option<String>, AdoptError> {
    match fields.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.chars().take(2000).collect())),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(_) => Err(AdoptError::Field { field, problem: "must be a text".to_owned() }),
    }
}

fn count(fields: &Map<String, Value>, field: &'static str) -> Result<Option<u64>, AdoptError> {
    match fields.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64().filter(|count| u32::try_from(*count).is_ok()) {
            Some(count) => Ok(Some(count)),
            None => Err(AdoptError::Field {
                field,
                problem: format!("must be a number of zero or more, not {value}"),
            }),
        },
    }
}

fn flag(fields: &Map<String, Value>, field: &'static str) -> Result<bool, AdoptError> {
    match fields.get(field) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(AdoptError::Field { field, problem: "must be true or false".to_owned() }),
    }
}

fn time(fields: &Map<String, Value>, field: &'static str) -> Result<Option<Time>, AdoptError> {
    match text(fields, field)? {
        None => Ok(None),
        Some(text) => match Time::parse(&text) {
            Ok(time) => Ok(Some(time)),
            Err(error) => Err(AdoptError::Field { field, problem: format!("is no time: {error}") }),
        },
    }
}

/// Returns the fields that the rendered state does not have, in tables within tables too.
fn unknown(fields: &Map<String, Value>, rendered: &Value) -> Map<String, Value> {
    let mut unknown = Map::new();
    for (name, value) in fields {
        match (value, rendered.get(name)) {
            (_, None) => {
                unknown.insert(name.clone(), value.clone());
            }
            // Tables that are keyed by file or event are data, not fields.
            (Value::Object(_), Some(_)) if ["edit_counts", "gates"].contains(&name.as_str()) => {}
            (Value::Object(inner), Some(known @ Value::Object(_))) => {
                let inner = self::unknown(inner, known);
                if !inner.is_empty() {
                    unknown.insert(name.clone(), Value::Object(inner));
                }
            }
            (_, Some(_)) => {}
        }
    }
    unknown
}
