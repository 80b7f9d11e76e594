//! Progress, corrected by the world: git says which commits a chunk has, the issue says which criteria are met.
//!
//! What a run counts are events. A commit more, a page that was mended into another one, a box that a person ticked
//! in between: none of that is an event, and a count without it is wrong. So it is looked up when a chunk ends, unless
//! `reconcile_per_chunk` is off, and whatever was corrected is put down with the event.

use serde_json::json;

use super::draft::Draft;
use crate::{Boxes, Change, Probe, Run, Seen, keys};

/// Names what has to be looked up at the end of a chunk.
pub(super) fn probes(run: &Run) -> Vec<Probe> {
    if !run.settings.get(keys::RECONCILE_PER_CHUNK) {
        return Vec::new();
    }
    commit_probe(run).into_iter().chain(super::boxes_of(run)).collect()
}

/// Names the commits of the current chunk, if it is known where it began.
pub(super) fn commit_probe(run: &Run) -> Option<Probe> {
    run.chunk.base.clone().map(|since| Probe::Commits { since })
}

/// Corrects the commits and chunks of a run at the end of a chunk.
pub(super) fn chunk(draft: &mut Draft<'_>) {
    if !draft.run.settings.get(keys::RECONCILE_PER_CHUNK) {
        return;
    }
    let mut corrected: Vec<String> = commits(draft).into_iter().collect();
    corrected.extend(chunks_left(draft));
    for words in &corrected {
        draft.advise(format!("progress is corrected: {words}"));
    }
    if !corrected.is_empty() {
        draft.note("corrected", json!(corrected));
    }
}

/// Takes the commits of the current chunk from git; says what was wrong, if anything was.
pub(super) fn commits(draft: &mut Draft<'_>) -> Option<String> {
    let found = match &draft.seen.commits {
        Some(Seen::Value(found)) => found.clone(),
        Some(Seen::Failed(why)) => {
            draft.advise(format!("the chunk's commits could not be looked up: {why}"));
            return None;
        }
        Some(Seen::Absent(_)) | None => return None,
    };
    let chunk = &draft.run.chunk;
    // A chunk that began before this was kept cannot be told from those before it.
    let total = chunk.commits_before?.saturating_add(found.len() as u64);
    if chunk.commits == found && draft.run.metrics.commits == total {
        return None;
    }
    let counted = draft.run.metrics.commits;
    draft.change(Change::CommitsCorrected { hashes: found, total });
    Some(if counted == total {
        "a commit of the chunk is another one now".to_owned()
    } else {
        format!("git has {total} commits of this session, not {counted}")
    })
}

/// Takes criteria that are met already out of the chunks to come.
fn chunks_left(draft: &mut Draft<'_>) -> Option<String> {
    let Some(Seen::Value(boxes)) = &draft.seen.boxes else { return None };
    let run = &draft.run;
    let (mut acs, mut met) = (Vec::new(), Vec::new());
    for (index, criteria) in run.chunk.acs.iter().enumerate() {
        if index as u64 >= run.chunk.index {
            let (done, left): (Vec<String>, Vec<String>) = criteria
                .iter()
                .cloned()
                .partition(|criterion| is_ticked(run, boxes, criterion) == Some(true));
            if left.is_empty() && !done.is_empty() {
                met.extend(done);
                continue;
            }
            met.extend(done);
            acs.push(left);
        } else {
            acs.push(criteria.clone());
        }
    }
    if met.is_empty() {
        return None;
    }
    let (before, total) = (run.chunk.acs.len(), acs.len());
    draft.change(Change::ChunksCorrected { acs });
    let chunks =
        if before == total { String::new() } else { format!("; chunks in all: {total}, not {before}") };
    Some(format!("{} ticked in the issue already{chunks}", are(&met)))
}

/// Parts the current chunk's criteria into those that are met and those whose box is not ticked.
pub(super) fn met(draft: &Draft<'_>) -> (Vec<String>, Vec<String>) {
    let run = &draft.run;
    let is_open = |criterion: &String| match &draft.seen.boxes {
        Some(Seen::Value(boxes)) if run.settings.get(keys::RECONCILE_PER_CHUNK) => {
            is_ticked(run, boxes, criterion) == Some(false)
        }
        Some(Seen::Value(_) | Seen::Absent(_) | Seen::Failed(_)) | None => false,
    };
    run.current_criteria().iter().cloned().partition(|criterion| !is_open(criterion))
}

/// Tells whether a criterion is ticked, if it is in the issue as it was when the chunks were made.
fn is_ticked(run: &Run, boxes: &Boxes, criterion: &str) -> Option<bool> {
    let text = run.criterion_text(criterion);
    let place = run.chunk.texts.iter().position(|known| known == text)?;
    let is_same = |(_, found): &&(bool, String)| found == text;
    let found = boxes.items.get(place).filter(is_same).or_else(|| boxes.items.iter().find(is_same));
    found.map(|(ticked, _)| *ticked)
}

pub(super) fn are(criteria: &[String]) -> String {
    format!("{} {}", criteria.join(", "), if criteria.len() == 1 { "is" } else { "are" })
}
