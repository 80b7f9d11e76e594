//! What agents use, put down at the events at which the original tools put it down: when chunks are defined, when the
//! next one is taken, when the issue is done, and when the session ends.

use super::draft::Draft;
use crate::{
    Ask, Change, Run, Seen, Workflow,
    workflow::{Act, EvidenceScope, Row, Target},
};

/// Tells whether it has to be looked up what was used: of agents that warp starts itself it is known.
pub(super) fn wants_usage(workflow: &Workflow, run: &Run, row: &Row) -> bool {
    let is_driven = run.owns_workspace || run.owner.is_driver();
    let ends = match &row.to {
        Target::Phase(to) => workflow.ends_in(to),
        Target::Origin => false,
    };
    let takes_chunk = row.acts.iter().any(|act| matches!(act, Act::DefineChunks | Act::TakeNextChunk));
    let is_counted = takes_chunk || ends || row.evidence == Some(EvidenceScope::Issue);
    workflow.measures_usage && !is_driven && is_counted
}

/// Takes over what was looked up. What cannot be found any more was used all the same.
pub(super) fn note_usage(draft: &mut Draft<'_>, ask: &Ask) {
    let Some(Seen::Value(total)) = &ask.observations.usage else { return };
    let usage = total.since(&draft.run.usage);
    if !usage.is_zero() {
        draft.change(Change::Used { usage });
    }
}

/// Puts down what the current chunk has used, if there is one.
pub(super) fn chunk(draft: &mut Draft<'_>) {
    if draft.run.chunk.index > 0 {
        draft.change(Change::ChunkMeasured);
    }
}
