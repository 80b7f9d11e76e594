//! What rows mean to the work itself: chunks, checklists, artifacts.
//!
//! An event is a fact, so its acts hold even if a budget sends the run elsewhere: a commit that was made is
//! made, and its report stays due.

use serde_json::{Map, Value};

use super::{Refused, budgets, draft::Draft, measure, receipts, reconcile};
use crate::{
    Actor, Ask, Change, Checkpoint, CompletedChunk, Failure, LoopError, PhaseName, Run, Seen, Time, Workflow,
    failure_signature, keys,
    workflow::{Act, Job, JobOutcome, Measure, Row, Target},
};

const MOST_CHUNKS: usize = 500;
const LONGEST_TEXT: usize = 2000;

/// Refuses data that the acts of a row cannot use. What is left out is fine.
pub(super) fn check(row: &Row, run: &Run, ask: &Ask) -> Result<(), Refused> {
    for act in row.acts.iter() {
        match act {
            Act::DefineChunks => {
                chunks(run, &ask.data)?;
            }
            Act::SelectWork => {
                requirement(&ask.data)?;
                text(&ask.data, "branch")?;
            }
            Act::MarkTestsFailed | Act::MarkDrift => {
                if let Some(failure) = ask.data.get("failure")
                    && !failure.is_string()
                {
                    return Err(Refused::data("failure", "must be the text of the failure"));
                }
            }
            Act::MarkTestsPassed => {
                text(&ask.data, "tree")?;
            }
            Act::MarkFinalTest => {
                text(&ask.data, "commit")?;
            }
            Act::CompletePhase => {
                artifacts(run, ask)?;
                checkpoint(run, &ask.data, ask.at)?;
            }
            Act::TakeNextChunk
            | Act::CompleteChunk
            | Act::MarkDocs
            | Act::MarkCommit
            | Act::MarkMended
            | Act::MarkReport
            | Act::MarkAborted
            | Act::StartOver
            | Act::RenewBudgets
            | Act::RenewOrigin => {}
        }
    }
    Ok(())
}

/// Whether somebody asked for a row, or the engine takes it by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    Asked,
    ByItself,
}

/// Carries out the acts of a row; [`check`] has seen the data.
pub(super) fn perform(draft: &mut Draft<'_>, row: &Row, ask: &Ask, taken: Taken) {
    for act in row.acts.iter() {
        match act {
            Act::SelectWork => select_work(draft, ask),
            Act::DefineChunks => define_chunks(draft, ask),
            Act::TakeNextChunk => take_next_chunk(draft, ask),
            Act::CompleteChunk => complete_chunk(draft),
            Act::MarkDocs => draft.change(Change::DocsUpdated { done: true }),
            Act::MarkTestsPassed => {
                let tree = tested_tree(ask);
                draft.change(Change::TestsRun { passed: true, tree });
                draft.change(Change::FailureSeen { failure: None });
            }
            Act::MarkTestsFailed => {
                draft.change(Change::TestsRun { passed: false, tree: None });
                draft.change(Change::DocsUpdated { done: false });
                see_failure(draft, ask);
            }
            Act::MarkDrift => {
                draft.change(Change::TestsUndone);
                draft.change(Change::DocsUpdated { done: false });
                see_failure(draft, ask);
            }
            Act::MarkCommit => mark_commit(draft, ask),
            Act::MarkMended => {
                // A commit of their own, or another one in the place of the chunk's: git knows.
                reconcile::commits(draft);
            }
            Act::MarkReport => draft.change(Change::ReportFiled),
            Act::MarkFinalTest => {
                // Warp says what it has tested; of a person it is taken to be what is there.
                let commit = text(&ask.data, "commit").ok().flatten().or_else(|| head(ask));
                draft.change(Change::FinallyTested { commit });
            }
            Act::MarkAborted => draft.change(Change::Aborted { aborted: true }),
            Act::StartOver => start_over(draft),
            Act::RenewBudgets => renew_budgets(draft, row),
            Act::RenewOrigin => renew_origin(draft, row),
            Act::CompletePhase => complete_phase(draft, ask, taken),
        }
    }
}

fn select_work(draft: &mut Draft<'_>, ask: &Ask) {
    let issue = requirement(&ask.data).ok().flatten();
    let branch = text(&ask.data, "branch").ok().flatten();
    draft.change(Change::IssueSelected { issue, branch });
    draft.change(Change::ChunksCleared);
    draft.change(Change::DocsUpdated { done: false });
    draft.change(Change::TestsUndone);
    draft.change(Change::ReportsReset);
}

fn define_chunks(draft: &mut Draft<'_>, ask: &Ask) {
    // Without a list there is one chunk, whose criteria are not known.
    let acs = chunks(&draft.run, &ask.data).ok().flatten().unwrap_or_else(|| vec![Vec::new()]);
    let texts = match &ask.observations.boxes {
        Some(Seen::Value(boxes)) => boxes.items.iter().map(|(_, text)| text.clone()).collect(),
        Some(Seen::Absent(_) | Seen::Failed(_)) | None => Vec::new(),
    };
    draft.change(Change::ChunksDefined { acs, texts });
    take_chunk(draft, 1, ask);
}

fn take_next_chunk(draft: &mut Draft<'_>, ask: &Ask) {
    let total = draft.run.chunk.acs.len() as u64;
    let next = draft.run.chunk.index.saturating_add(1);
    if next > total {
        let takes = draft.workflow.phases.iter().find(|phase| phase.job == Some(Job::TakeChunk));
        let ends = takes.and_then(|phase| phase.said(JobOutcome::RequirementDone));
        let ends = ends.map(|event| format!("; `{event}` ends the issue")).unwrap_or_default();
        draft.advise(format!("no chunk is left: {total} of {total} were taken{ends}"));
    }
    measure::chunk(draft);
    take_chunk(draft, next.min(total.max(1)), ask);
}

pub(super) fn take_chunk(draft: &mut Draft<'_>, index: u64, ask: &Ask) {
    let base = head(ask);
    let checked_before = match &ask.observations.boxes {
        Some(Seen::Value(boxes)) => Some(boxes.checked() as u64),
        Some(Seen::Absent(_) | Seen::Failed(_)) | None => None,
    };
    draft.change(Change::ChunkTaken { index, base, checked_before });
    draft.change(Change::FailureSeen { failure: None });
}

fn complete_chunk(draft: &mut Draft<'_>) {
    reconcile::chunk(draft);
    let (acs, open) = reconcile::met(draft);
    if !open.is_empty() {
        draft.advise(format!("{} not ticked in the issue, and not counted as met", reconcile::are(&open)));
    }
    let chunk = CompletedChunk {
        index: draft.run.chunk.index,
        acs,
        commit: draft.run.commit_hashes.last().cloned(),
        at: draft.at,
    };
    draft.change(Change::ChunkCompleted { chunk });
}

fn mark_commit(draft: &mut Draft<'_>, ask: &Ask) {
    let known = |hash: &String| {
        draft.run.chunk.base.as_ref() == Some(hash) || draft.run.commit_hashes.last() == Some(hash)
    };
    let hash = head(ask).filter(|hash| !known(hash));
    if hash.is_none() && ask.observations.head.is_some() {
        draft.advise("no new commit was found; none was recorded".to_owned());
    }
    draft.change(Change::Committed { hash });
}

/// Compares a failure with the one before: the same text on the same tree is no progress.
fn see_failure(draft: &mut Draft<'_>, ask: &Ask) {
    let failure = match (ask.data.get("failure").and_then(Value::as_str), &ask.observations.tree) {
        (Some(text), Some(Seen::Value(tree))) => {
            let signature = failure_signature(text);
            let before = draft.run.last_failure.as_ref();
            let same = before.filter(|last| last.signature == signature && last.tree == *tree);
            let times = same.map(|last| last.times).unwrap_or(0).saturating_add(1);
            Some(Failure { signature, tree: tree.clone(), times })
        }
        // A failure that nothing is known about is not taken for the same.
        (_, Some(Seen::Value(_) | Seen::Absent(_) | Seen::Failed(_)) | None) => None,
    };
    draft.change(Change::FailureSeen { failure });
}

fn start_over(draft: &mut Draft<'_>) {
    let names: Vec<String> = draft.run.counters.keys().cloned().collect();
    for name in names {
        draft.set_counter(&name, 0);
    }
    draft.change(Change::ChunksCleared);
    draft.change(Change::DocsUpdated { done: false });
    draft.change(Change::TestsUndone);
    draft.change(Change::ReportsReset);
    draft.change(Change::FailureSeen { failure: None });
    draft.change(Change::Aborted { aborted: false });
    draft.change(Change::SessionClockSet { at: draft.at });
}

fn renew_budgets(draft: &mut Draft<'_>, row: &Row) {
    let workflow = draft.workflow;
    let reasons = draft.run.trip.as_ref().map(|trip| trip.reasons.clone()).unwrap_or_default();
    // The trip stays on record, and the phase may since have been left and entered without one: a counter
    // that was renewed then is not renewed again.
    let is_used_up = |reason: &String| {
        let mut budgets = workflow.budgets.iter().filter(|budget| budget.reason == *reason);
        budgets.any(|budget| {
            !matches!(budget.measure, Measure::Counter(_))
                || budgets::is_tripped(budget, &draft.run, draft.at)
        })
    };
    let reasons: Vec<String> = reasons.into_iter().filter(is_used_up).collect();
    budgets::renew(draft, workflow, &reasons, &row.raises);
    // A chunk whose report is filed is done; going on means the next one.
    let next = draft.run.chunk.index.saturating_add(1);
    if draft.run.report_filed && next <= draft.run.chunk.acs.len() as u64 {
        let base = draft.run.commit_hashes.last().cloned();
        measure::chunk(draft);
        draft.change(Change::ChunkTaken { index: next, base, checked_before: None });
        draft.change(Change::FailureSeen { failure: None });
        reset_chunk_counters(draft);
    }
}

/// Returns where a run that works in chunks goes on when its budgets were renewed, if there is no chunk to be worked on:
/// where the event leads that a budget kept from its way.
///
/// Only where warp drives the run: whoever drives it by hand goes by the table, and knows what is left to do.
pub(super) fn renewed_at(workflow: &Workflow, run: &Run) -> Option<PhaseName> {
    workflow.deferral.as_ref().filter(|_| run.owns_workspace)?;
    let has_begun = run.chunk.index > 0;
    let is_done = run.report_filed && run.chunk.index >= run.chunk.acs.len() as u64;
    if has_begun && !is_done {
        return None;
    }
    let trip = run.trip.as_ref().filter(|trip| trip.at == run.phase_started_at)?;
    let event = run.history.last().and_then(|entered| entered.event.as_ref());
    let row = event.and_then(|event| workflow.row(&trip.from_phase, event.as_str()));
    match row.map(|row| &row.to) {
        Some(Target::Phase(to)) => Some(to.clone()),
        Some(Target::Origin) | None => Some(trip.from_phase.clone()),
    }
}

/// Sets back what is counted per chunk.
pub(super) fn reset_chunk_counters(draft: &mut Draft<'_>) {
    let workflow = draft.workflow;
    let rows = workflow.phases.iter().flat_map(|phase| &phase.rows);
    for row in rows.filter(|row| row.acts.contains(&Act::TakeNextChunk)) {
        for counter in row.resets.iter() {
            draft.set_counter(counter, 0);
        }
    }
}

fn renew_origin(draft: &mut Draft<'_>, row: &Row) {
    let workflow = draft.workflow;
    let origin = draft.run.origin.clone();
    let of_origin = |outcome: &crate::workflow::BudgetOutcome| outcome.phase == origin;
    let reasons: Vec<String> = workflow
        .budgets
        .iter()
        .filter(|budget| budget.outcomes.iter().any(of_origin))
        .map(|budget| budget.reason.to_string())
        .collect();
    budgets::renew(draft, workflow, &reasons, &row.raises);
}

fn complete_phase(draft: &mut Draft<'_>, ask: &Ask, taken: Taken) {
    let phase = draft.run.phase.clone();
    draft.change(Change::PhaseCompleted { phase });
    if taken == Taken::Asked {
        show(draft, ask);
    }
    let head = head(ask);
    if head != draft.run.phase_head {
        draft.change(Change::PhaseHeadSet { head });
    }
}

/// Takes down what an event shows of its phase: artifacts, the receipt, a checkpoint.
pub(super) fn show(draft: &mut Draft<'_>, ask: &Ask) {
    // The receipt comes first: what was looked up for it hangs on what was known before.
    receipts::record(draft, ask);
    if let Ok(artifacts) = artifacts(&draft.run, ask) {
        keep_artifacts(draft, artifacts, ask);
    }
    if let Ok(Some(checkpoint)) = checkpoint(&draft.run, &ask.data, draft.at) {
        add_checkpoint(draft, checkpoint);
    }
}

/// Reads `summary` and `failed_approaches`.
pub(super) fn checkpoint(
    run: &Run,
    fields: &Map<String, Value>,
    at: Time,
) -> Result<Option<Checkpoint>, Refused> {
    let (summary, failed_approaches) = (text(fields, "summary")?, texts(fields, "failed_approaches")?);
    match (summary, failed_approaches) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(Refused::data("summary", "is missing beside `failed_approaches`")),
        (Some(summary), failed_approaches) => Ok(Some(Checkpoint {
            phase: run.phase.clone(),
            summary,
            failed_approaches: failed_approaches.unwrap_or_default(),
            timestamp: at,
        })),
    }
}

pub(super) fn add_checkpoint(draft: &mut Draft<'_>, checkpoint: Checkpoint) {
    draft.change(Change::CheckpointAdded { checkpoint });
    keep_progress(draft);
}

pub(super) fn add_error(draft: &mut Draft<'_>, message: String) {
    let iteration = draft.run.counter("global_iteration");
    let error = LoopError { phase: draft.run.phase.clone(), message, iteration, timestamp: draft.at };
    draft.change(Change::ErrorAdded { error });
    keep_progress(draft);
}

/// A loop that has something to remember has a file for it.
fn keep_progress(draft: &mut Draft<'_>) {
    let workflow = draft.workflow;
    if workflow.progress_file.is_some() && draft.run.artifacts.progress_file.is_none() {
        let mut artifacts = draft.run.artifacts.clone();
        artifacts.progress_file.clone_from(&workflow.progress_file);
        draft.change(Change::ArtifactsSet { artifacts });
    }
}

/// Returns the tree on which the tests passed, if warp itself ran them.
fn tested_tree(ask: &Ask) -> Option<String> {
    let tree = text(&ask.data, "tree").ok().flatten();
    tree.filter(|_| ask.actor == Actor::Engine)
}

pub(super) fn head(ask: &Ask) -> Option<String> {
    match &ask.observations.head {
        Some(Seen::Value(hash)) => Some(hash.clone()),
        Some(Seen::Absent(_) | Seen::Failed(_)) | None => None,
    }
}

/// Reads `requirement`, which people write as a number or as a text.
fn requirement(data: &Map<String, Value>) -> Result<Option<String>, Refused> {
    match data.get("requirement") {
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        _ => text(data, "requirement"),
    }
}

pub(super) fn text(data: &Map<String, Value>, field: &str) -> Result<Option<String>, Refused> {
    match data.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() <= LONGEST_TEXT => Ok(Some(text.clone())),
        Some(_) => Err(Refused::data(field, format!("must be a text of at most {LONGEST_TEXT} bytes"))),
    }
}

fn texts(data: &Map<String, Value>, field: &str) -> Result<Option<Vec<String>>, Refused> {
    let Some(value) = data.get(field) else { return Ok(None) };
    let entries = value.as_array().filter(|entries| entries.len() <= 100);
    let entries = entries.ok_or_else(|| Refused::data(field, "must be a list of at most 100 texts"))?;
    let text = |entry: &Value| entry.as_str().filter(|text| text.len() <= LONGEST_TEXT).map(str::to_owned);
    let texts: Option<Vec<String>> = entries.iter().map(text).collect();
    texts
        .map(Some)
        .ok_or_else(|| Refused::data(field, format!("must hold texts of at most {LONGEST_TEXT} bytes")))
}

/// Reads `acs`: the criteria of each chunk, each criterion once.
fn chunks(run: &Run, data: &Map<String, Value>) -> Result<Option<Vec<Vec<String>>>, Refused> {
    let Some(value) = data.get("acs") else { return Ok(None) };
    let shape = || {
        Refused::data("acs", "must be a list of lists of criteria, like [[\"AC-01\",\"AC-02\"],[\"AC-03\"]]")
    };
    let lists = value.as_array().filter(|lists| !lists.is_empty()).ok_or_else(shape)?;
    if lists.len() > MOST_CHUNKS {
        return Err(Refused::data("acs", format!("has {} chunks; the most is {MOST_CHUNKS}", lists.len())));
    }
    let most = run.settings.get(keys::MAX_ACS_PER_COMMIT);
    let mut seen = std::collections::BTreeSet::new();
    let mut chunks = Vec::with_capacity(lists.len());
    for (index, list) in lists.iter().enumerate() {
        let list = list.as_array().ok_or_else(shape)?;
        let number = index + 1;
        if list.is_empty() {
            return Err(Refused::data("acs", format!("has no criterion in chunk {number}")));
        }
        if list.len() as u64 > most {
            let found = list.len();
            return Err(Refused::data(
                "acs",
                format!("has {found} criteria in chunk {number}; max_acs_per_commit is {most}"),
            ));
        }
        let mut criteria = Vec::with_capacity(list.len());
        for criterion in list {
            let criterion =
                criterion.as_str().map(str::trim).filter(|text| !text.is_empty()).ok_or_else(shape)?;
            if criterion.len() > LONGEST_TEXT {
                return Err(Refused::data(
                    "acs",
                    format!("has a criterion of more than {LONGEST_TEXT} bytes"),
                ));
            }
            if !seen.insert(criterion) {
                return Err(Refused::data(
                    "acs",
                    format!("has `{criterion}` twice; each criterion belongs to one chunk"),
                ));
            }
            criteria.push(criterion.to_owned());
        }
        chunks.push(criteria);
    }
    Ok(Some(chunks))
}

/// Reads artifacts, given as fields of their own or under `artifacts`, on top of those known.
pub(super) fn artifacts(run: &Run, ask: &Ask) -> Result<crate::Artifacts, Refused> {
    let data = &ask.data;
    let mut artifacts = run.artifacts.clone();
    let nested = match data.get("artifacts") {
        None => None,
        Some(Value::Object(fields)) => Some(fields),
        Some(_) => return Err(Refused::data("artifacts", "must be a table of paths")),
    };
    for fields in [Some(data), nested].into_iter().flatten() {
        for field in crate::Artifacts::FIELDS {
            if let Some(value) = text(fields, field)? {
                artifacts.set(field, value);
            }
        }
    }
    if ask.actor == Actor::Agent && run.has_proved_pr() {
        artifacts.pr_url.clone_from(&run.artifacts.pr_url);
    }
    if artifacts.progress_file != run.artifacts.progress_file
        && !artifacts.progress_file.as_deref().is_none_or(is_document)
    {
        return Err(Refused::data(
            "progress_file",
            "must be a Markdown file in the project, like docs/progress.md",
        ));
    }
    Ok(artifacts)
}

/// Keeps artifacts that [`artifacts`] has read. The pull request's address is believed of a person and of warp alone.
pub(super) fn keep_artifacts(draft: &mut Draft<'_>, artifacts: crate::Artifacts, ask: &Ask) {
    let run = &draft.run;
    let nested = ask.data.get("artifacts").and_then(|fields| fields.get("pr_url"));
    let told = ask.data.get("pr_url").or(nested).and_then(Value::as_str);
    let doubted = match ask.actor {
        Actor::Agent if artifacts.pr_url != run.artifacts.pr_url => artifacts.pr_url.clone(),
        Actor::Person | Actor::Engine if told.is_some() => None,
        Actor::Agent | Actor::Person | Actor::Engine => run.doubted_pr.clone(),
    };
    let stays = match (told, artifacts.pr_url.as_deref()) {
        (Some(told), Some(kept)) if told != kept => {
            Some(format!("`pr_url` stays {kept}, which was not yours"))
        }
        (Some(_) | None, Some(_) | None) => None,
    };
    if artifacts != draft.run.artifacts {
        draft.change(Change::ArtifactsSet { artifacts });
    }
    if doubted != draft.run.doubted_pr {
        draft.change(Change::PullRequestDoubted { url: doubted });
    }
    if let Some(stays) = stays {
        draft.advise(stays);
    }
}

/// Warp writes the progress file itself, so it must be a plain place: no hidden directory, nothing above.
fn is_document(path: &str) -> bool {
    let is_plain = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains('\\');
    path.ends_with(".md") && path.split('/').all(is_plain)
}
